//! What each slot's type is once nothing more is to be learnt.

use crate::program::classes::{Bound, Evidence, Mask};
use crate::program::draft::{DraftAtom, DraftKind, DraftTerm, Slot};
use crate::program::infer::{Inference, Inferred};
use crate::program::schema::{BROKEN, PRELUDE_FILE, Schema};
use crate::program::types::TypeId;
use crate::source::Diagnostic;
use crate::source::Span;
use crate::value::Kind;

impl Inference<'_> {
    /// Takes defaults, and checks heads by subtype.
    pub(crate) fn finish(mut self, terms: &[&DraftTerm], quiet: bool, before: usize) -> Inferred {
        let free = (0..self.draft.slots).map(|slot| {
            let mask = self.classes.mask(Slot(slot));
            mask.single().is_none() && !mask.and(Mask::of(Kind::Unsigned)).is_none()
        });
        let free: Vec<_> = free.collect();
        for slot in (0..self.draft.slots).map(Slot) {
            if let Some(kind) = self.classes.mask(slot).default_kind() {
                let span = Span { file: PRELUDE_FILE, start: 0, end: 0 };
                let evidence = Evidence { span, text: String::new() };
                // A kind that the mask holds cannot clash.
                let _ = self.classes.narrow(slot, Mask::of(kind), evidence);
            }
        }
        self.settle();
        let heads: Vec<_> = self.draft.heads.iter().collect();
        heads.into_iter().for_each(|head| self.head(head));
        let types: Vec<_> = (0..self.draft.slots).map(|slot| self.type_of(Slot(slot))).collect();
        let inferred = Inferred { types, free };
        if !quiet && self.findings.errors() == before {
            self.untold(terms, &inferred);
        }
        inferred
    }

    fn type_of(&mut self, slot: Slot) -> TypeId {
        let Some(kind) = self.classes.mask(slot).single() else { return BROKEN };
        match self.classes.bound(slot) {
            Bound::Types(types) => types.first().copied().unwrap_or(BROKEN),
            Bound::Any | Bound::Fits => Schema::primitive(kind).unwrap_or(BROKEN),
            Bound::Broken => BROKEN,
        }
    }

    fn head(&mut self, head: &DraftAtom) {
        let Some(relation) = head.relation.and_then(|id| self.schema.relation(id)) else { return };
        for (term, column) in head.terms.iter().zip(&relation.columns) {
            let Bound::Types(types) = self.classes.bound(term.slot) else { continue };
            if column.type_id == BROKEN || self.classes.mask(term.slot).is_none() {
                continue;
            }
            if let Some(&wide) = types.iter().find(|&&id| !self.schema.is_subtype(id, column.type_id)) {
                let (is, wanted) = (self.type_words(wide), self.schema.type_name(column.type_id));
                let message = format!(
                    "column `{}` of `{}` is of type `{wanted}`, and {} is {is}",
                    column.name,
                    relation.name,
                    self.shown(term.span)
                );
                let finding = Diagnostic::error("E0021", term.span, message)
                    .with_label("not narrow enough")
                    .with_help(format!("say `as(…, {wanted})` if the value is known to be one"));
                self.findings.push(finding);
            }
        }
    }

    /// Reports what has no type although nothing is wrong.
    fn untold(&mut self, terms: &[&DraftTerm], inferred: &Inferred) {
        for term in terms {
            term.walk(&mut |term| {
                let silent =
                    matches!(term.kind, DraftKind::Wildcard) || self.classes.mask(term.slot).is_none();
                if inferred.get(term.slot) == BROKEN && !silent {
                    let message = format!("the type of {} cannot be told", self.shown(term.span));
                    let finding = Diagnostic::error("E0022", term.span, message)
                        .with_help("bind it by a literal whose column has a type, or say `as(…, T)`");
                    self.findings.push(finding);
                }
            });
        }
    }
}
