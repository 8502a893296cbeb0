//! Classes of slots that have one kind, and classes that have one type.
//!
//! The two sides of an operator share a kind but not a type: `x + 1` is any number, whatever subtype `x` has. The two
//! sides of a comparison share both.

use std::collections::BTreeSet;

use crate::program::draft::Slot;
use crate::program::schema::{Schema, kind_word};
use crate::program::types::TypeId;
use crate::source::Span;
use crate::value::Kind;

/// A set of kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mask(u8);

impl Mask {
    pub(crate) const ALL: Self = Self(31);
    /// Number, unsigned, float.
    pub(crate) const NUMERIC: Self = Self(7);
    /// Number, unsigned.
    pub(crate) const INTEGER: Self = Self(3);
    /// Number, float.
    pub(crate) const SIGNED: Self = Self(5);
    /// All but records and variants.
    pub(crate) const PLAIN: Self = Self(15);
    /// What is left after a conflict: reported, and silent from then on.
    pub(crate) const NONE: Self = Self(0);

    const KINDS: [Kind; 5] = [Kind::Number, Kind::Unsigned, Kind::Float, Kind::Symbol, Kind::Compound];

    pub(crate) fn of(kind: Kind) -> Self {
        Self(match kind {
            Kind::Number => 1,
            Kind::Unsigned => 2,
            Kind::Float => 4,
            Kind::Symbol => 8,
            Kind::Compound => 16,
        })
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The kind, where there is one.
    pub(crate) fn single(self) -> Option<Kind> {
        Self::KINDS.into_iter().find(|&kind| Self::of(kind) == self)
    }

    /// The kind to take where several are possible: literals are numbers by default.
    pub(crate) fn default_kind(self) -> Option<Kind> {
        if self == Self::ALL || self == Self::PLAIN {
            return None;
        }
        Self::KINDS.into_iter().find(|&kind| !self.and(Self::of(kind)).is_none())
    }

    /// In words.
    pub(crate) fn words(self) -> &'static str {
        match self.single() {
            Some(kind) => kind_word(kind),
            None if self == Self::INTEGER => "a whole number",
            None if self == Self::PLAIN => "a number or symbol",
            None => "a number",
        }
    }
}

/// Why a class has its kind.
#[derive(Debug, Clone)]
pub(crate) struct Evidence {
    pub(crate) span: Span,
    pub(crate) text: String,
}

/// The type of a class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Bound {
    /// Nothing is known.
    Any,
    /// A literal or a computed value, which fits every subtype of its kind.
    Fits,
    /// The widest types that all uses allow.
    Types(BTreeSet<TypeId>),
    /// Nothing in common; reported.
    Broken,
}

#[derive(Debug)]
struct KindClass {
    mask: Mask,
    evidence: Option<Evidence>,
}

#[derive(Debug)]
struct TypeClass {
    bound: Bound,
    evidence: Option<Span>,
}

/// Union-find over the slots of a draft, once for kinds and once for types.
#[derive(Debug)]
pub(crate) struct Classes {
    kind_parents: Vec<usize>,
    kinds: Vec<KindClass>,
    type_parents: Vec<usize>,
    types: Vec<TypeClass>,
}

/// Two kinds or types that do not go together.
#[derive(Debug)]
pub(crate) struct Clash {
    pub(crate) left: Mask,
    pub(crate) left_evidence: Option<Evidence>,
    pub(crate) right: Mask,
    pub(crate) right_evidence: Option<Evidence>,
}

impl Classes {
    pub(crate) fn new(slots: usize) -> Self {
        Self {
            kind_parents: (0..slots).collect(),
            kinds: (0..slots).map(|_| KindClass { mask: Mask::ALL, evidence: None }).collect(),
            type_parents: (0..slots).collect(),
            types: (0..slots).map(|_| TypeClass { bound: Bound::Any, evidence: None }).collect(),
        }
    }

    fn kind_root(&mut self, slot: Slot) -> usize {
        root(&mut self.kind_parents, slot.0)
    }

    fn type_root(&mut self, slot: Slot) -> usize {
        root(&mut self.type_parents, slot.0)
    }

    pub(crate) fn mask(&mut self, slot: Slot) -> Mask {
        let root = self.kind_root(slot);
        self.kinds.get(root).map_or(Mask::NONE, |class| class.mask)
    }

    pub(crate) fn bound(&mut self, slot: Slot) -> Bound {
        let root = self.type_root(slot);
        self.types.get(root).map_or(Bound::Broken, |class| class.bound.clone())
    }

    pub(crate) fn type_evidence(&mut self, slot: Slot) -> Option<Span> {
        let root = self.type_root(slot);
        self.types.get(root).and_then(|class| class.evidence)
    }

    /// Silences a slot whose fault is reported.
    pub(crate) fn break_slot(&mut self, slot: Slot) {
        let (kind, type_root) = (self.kind_root(slot), self.type_root(slot));
        if let Some(class) = self.kinds.get_mut(kind) {
            class.mask = Mask::NONE;
        }
        if let Some(class) = self.types.get_mut(type_root) {
            class.bound = Bound::Broken;
        }
    }

    /// Narrows the kind; the clash if nothing is left.
    pub(crate) fn narrow(&mut self, slot: Slot, mask: Mask, evidence: Evidence) -> Result<(), Box<Clash>> {
        let root = self.kind_root(slot);
        let Some(class) = self.kinds.get_mut(root) else { return Ok(()) };
        if class.mask.is_none() || mask.is_none() {
            return Ok(());
        }
        let left = class.mask.and(mask);
        if left.is_none() {
            let clash = Clash {
                left: class.mask,
                left_evidence: class.evidence.clone(),
                right: mask,
                right_evidence: Some(evidence),
            };
            self.break_slot(slot);
            return Err(Box::new(clash));
        }
        if left != class.mask {
            class.mask = left;
            class.evidence = Some(evidence);
        }
        Ok(())
    }

    /// Gives two slots one kind.
    pub(crate) fn same_kind(&mut self, a: Slot, b: Slot) -> Result<(), Box<Clash>> {
        let (x, y) = (self.kind_root(a), self.kind_root(b));
        let (Some(left), Some(right)) = (self.kinds.get(x), self.kinds.get(y)) else { return Ok(()) };
        if x == y {
            return Ok(());
        }
        let both = left.mask.and(right.mask);
        let broken = left.mask.is_none() || right.mask.is_none();
        let evidence = if left.mask == both { &left.evidence } else { &right.evidence };
        let evidence = evidence.clone().or_else(|| left.evidence.clone()).or_else(|| right.evidence.clone());
        let clash = Clash {
            left: left.mask,
            left_evidence: left.evidence.clone(),
            right: right.mask,
            right_evidence: right.evidence.clone(),
        };
        if let Some(parent) = self.kind_parents.get_mut(y) {
            *parent = x;
        }
        if let Some(class) = self.kinds.get_mut(x) {
            *class = KindClass { mask: both, evidence };
        }
        if both.is_none() && !broken { Err(Box::new(clash)) } else { Ok(()) }
    }

    /// Narrows the type; the types it had if nothing is left.
    pub(crate) fn restrict(
        &mut self,
        slot: Slot,
        bound: &Bound,
        span: Span,
        schema: &Schema,
    ) -> Result<(), Bound> {
        let root = self.type_root(slot);
        let Some(class) = self.types.get_mut(root) else { return Ok(()) };
        let before = class.bound.clone();
        let after = meet(&before, bound, schema);
        let clash = after == Bound::Broken && before != Bound::Broken && *bound != Bound::Broken;
        if class.evidence.is_none() || after != before {
            class.evidence.get_or_insert(span);
        }
        class.bound = after;
        if clash { Err(before) } else { Ok(()) }
    }

    /// Gives two slots one type; the type of the first if they have nothing in common.
    pub(crate) fn same_type(&mut self, a: Slot, b: Slot, span: Span, schema: &Schema) -> Result<(), Bound> {
        let (x, y) = (self.type_root(a), self.type_root(b));
        if x == y {
            return Ok(());
        }
        let other = self.bound(b);
        if let Some(parent) = self.type_parents.get_mut(y) {
            *parent = x;
        }
        self.restrict(a, &other, span, schema)
    }
}

fn root(parents: &mut [usize], start: usize) -> usize {
    let mut at = start;
    while let Some(&parent) = parents.get(at) {
        if parent == at {
            break;
        }
        at = parent;
    }
    if let Some(entry) = parents.get_mut(start) {
        *entry = at;
    }
    at
}

fn meet(a: &Bound, b: &Bound, schema: &Schema) -> Bound {
    match (a, b) {
        (Bound::Broken, _) | (_, Bound::Broken) => Bound::Broken,
        (Bound::Any, other) | (other, Bound::Any) => other.clone(),
        (Bound::Fits, _) | (_, Bound::Fits) => Bound::Fits,
        (Bound::Types(a), Bound::Types(b)) => {
            let all: BTreeSet<_> =
                a.iter().flat_map(|&x| b.iter().flat_map(move |&y| schema.meet(x, y))).collect();
            let covered = |&x: &TypeId| all.iter().any(|&y| x != y && schema.is_subtype(x, y));
            let widest: BTreeSet<_> = all.iter().copied().filter(|x| !covered(x)).collect();
            if widest.is_empty() { Bound::Broken } else { Bound::Types(widest) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::FileId;

    #[test]
    fn a_literal_takes_the_kind_of_what_it_meets_and_a_text_does_not() {
        let span = Span { file: FileId(0), start: 0, end: 0 };
        let evidence = |text: &str| Evidence { span, text: text.to_owned() };
        let mut classes = Classes::new(3);
        assert!(classes.narrow(Slot(0), Mask::NUMERIC, evidence("5")).is_ok());
        assert!(classes.narrow(Slot(1), Mask::of(Kind::Unsigned), evidence("column")).is_ok());
        assert!(classes.same_kind(Slot(0), Slot(1)).is_ok());
        assert_eq!(classes.mask(Slot(0)).single(), Some(Kind::Unsigned));
        assert!(classes.narrow(Slot(2), Mask::of(Kind::Symbol), evidence("text")).is_ok());
        let clash = classes.same_kind(Slot(2), Slot(0)).unwrap_err();
        assert_eq!((clash.left.words(), clash.right.words()), ("a symbol", "an unsigned"));
        // What clashed once is silent from then on.
        assert!(classes.narrow(Slot(1), Mask::of(Kind::Float), evidence("again")).is_ok());
    }
}
