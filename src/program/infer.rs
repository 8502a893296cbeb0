//! Which type each variable and term of a draft has.
//!
//! Positive atoms, functors, literals and comparisons tell types and narrow them; heads and negated atoms are checked
//! afterwards. Where nothing tells, a literal is a number.

use std::collections::BTreeSet;

use crate::functor;
use crate::functor::FunctorId;
use crate::program::clash::Taker;
use crate::program::classes::{Bound, Classes, Evidence, Mask};
use crate::program::draft::{
    Draft, DraftAtom, DraftKind, DraftLiteral, DraftTerm, Slot, literal_terms, walk_literals,
};
use crate::program::findings::Findings;
use crate::program::schema::{BROKEN, Schema};
use crate::program::types::TypeId;
use crate::program::{Arithmetic, VariableId};
use crate::source::Diagnostic;
use crate::source::Sources;
use crate::source::Span;
use crate::syntax::ast::{AggregateKind, ComparisonOperator};
use crate::value::Kind;

/// The types of a draft.
#[derive(Debug)]
pub(crate) struct Inferred {
    /// By slot; [`BROKEN`] where a fault is reported.
    pub(crate) types: Vec<TypeId>,
    /// By slot: whether nothing but the default keeps it from being an unsigned.
    pub(crate) free: Vec<bool>,
}

impl Inferred {
    pub(crate) fn get(&self, slot: Slot) -> TypeId {
        self.types.get(slot.0).copied().unwrap_or(BROKEN)
    }
}

/// Tells all types, or reports why not. With `quiet`, the draft has faults already, and a type that cannot be told is no
/// news.
pub(crate) fn infer(
    draft: &Draft,
    schema: &Schema,
    sources: &Sources,
    quiet: bool,
    findings: &mut Findings,
) -> Inferred {
    let before = findings.errors();
    let classes = Classes::new(draft.slots);
    let mut inference = Inference { draft, schema, sources, findings, classes, deferred: Vec::new() };
    walk_literals(&draft.body, &mut |literal| {
        if let DraftLiteral::Positive(atom) = literal {
            inference.positive(atom);
        }
    });
    let mut terms = Vec::new();
    walk_literals(&draft.body, &mut |literal| terms.extend(literal_terms(literal)));
    terms.extend(draft.heads.iter().flat_map(|head| &head.terms));
    // Literals first, so that a fault is told from the side of what takes them.
    for term in &terms {
        term.walk(&mut |term| inference.constant(term));
    }
    for term in &terms {
        term.walk(&mut |term| inference.own(term));
    }
    inference.settle();
    for term in &terms {
        term.walk(&mut |term| inference.operator(term));
    }
    inference.settle();
    walk_literals(&draft.body, &mut |literal| inference.literal(literal));
    inference.settle();
    walk_literals(&draft.body, &mut |literal| {
        if let DraftLiteral::Negative(atom) = literal {
            inference.checked(atom);
        }
    });
    draft.heads.iter().for_each(|head| inference.checked(head));
    inference.settle();
    inference.finish(&terms, quiet, before)
}

pub(crate) struct Inference<'a> {
    pub(crate) draft: &'a Draft,
    pub(crate) schema: &'a Schema,
    pub(crate) sources: &'a Sources,
    pub(crate) findings: &'a mut Findings,
    pub(crate) classes: Classes,
    /// Terms whose parts wait for the type of the whole, or the other way round.
    pub(crate) deferred: Vec<&'a DraftTerm>,
}

impl<'a> Inference<'a> {
    fn positive(&mut self, atom: &'a DraftAtom) {
        let Some(relation) = atom.relation.and_then(|id| self.schema.relation(id)) else {
            for term in &atom.terms {
                if let DraftKind::Variable(_) = term.kind {
                    // Its type is whatever the unknown relation says.
                    self.classes.break_slot(term.slot);
                }
            }
            return;
        };
        for (at, (term, column)) in atom.terms.iter().zip(&relation.columns).enumerate() {
            if !matches!(term.kind, DraftKind::Wildcard) {
                self.require(term.slot, column.type_id, term.span, Taker::Column(relation, at));
            }
        }
    }

    fn constant(&mut self, term: &DraftTerm) {
        let (mask, text) = match &term.kind {
            DraftKind::Text(_) => (Mask::of(Kind::Symbol), "a text in quotes"),
            DraftKind::Integer(value) if *value < 0 => (Mask::SIGNED, "a number literal"),
            DraftKind::Integer(_) => (Mask::NUMERIC, "a number literal"),
            DraftKind::Unsigned(_) => (Mask::of(Kind::Unsigned), "an unsigned literal"),
            DraftKind::Float(_) => (Mask::of(Kind::Float), "a float literal"),
            _ => return,
        };
        let evidence = Evidence { span: term.span, text: text.to_owned() };
        if let Err(clash) = self.classes.narrow(term.slot, mask, evidence) {
            // What takes the literal came first, and says what it wants.
            let wanted = clash.left_evidence.as_ref().map_or(clash.left.words(), |taker| &taker.text);
            let message = format!("{wanted}, and {} is {}", self.shown(term.span), mask.words());
            self.report_clash(&clash, term.span, message);
        }
        self.fits(term.slot, term.span);
    }

    /// What a term says about itself and its arguments.
    fn own(&mut self, term: &'a DraftTerm) {
        match &term.kind {
            DraftKind::Text(_) | DraftKind::Integer(_) | DraftKind::Unsigned(_) | DraftKind::Float(_) => {}
            DraftKind::Nil | DraftKind::Record(_) => {
                self.narrow(term, Mask::of(Kind::Compound), "a record".to_owned());
                self.deferred.push(term);
            }
            DraftKind::Variant(constructor, arguments) => {
                let declared = self.schema.types.constructor(*constructor);
                let what = format!("variant `${}`", declared.name);
                self.require(term.slot, declared.type_id, term.span, Taker::Place(&what));
                for (argument, (field, type_id)) in arguments.iter().zip(&declared.fields) {
                    if !matches!(argument.kind, DraftKind::Wildcard) {
                        let what = format!("field `{field}` of `${}`", declared.name);
                        self.require(argument.slot, *type_id, argument.span, Taker::Place(&what));
                    }
                }
            }
            DraftKind::Functor { .. } => self.functor(term),
            DraftKind::Range(arguments) => {
                self.narrow(term, Mask::NUMERIC, "`range` gives numbers".to_owned());
                self.fits(term.slot, term.span);
                arguments.iter().for_each(|argument| {
                    self.narrow(argument, Mask::NUMERIC, "`range` takes numbers".to_owned());
                });
            }
            DraftKind::Cast(_, type_id) => {
                self.require(term.slot, *type_id, term.span, Taker::Place("the cast"));
            }
            DraftKind::Unknown => self.classes.break_slot(term.slot),
            DraftKind::Variable(_) | DraftKind::Wildcard | DraftKind::Operator(..) => {}
        }
    }

    pub(crate) fn fits(&mut self, slot: Slot, span: Span) {
        // A literal or computed value never clashes by its type.
        let _ = self.classes.restrict(slot, &Bound::Fits, span, self.schema);
    }

    fn functor(&mut self, term: &'a DraftTerm) {
        let DraftKind::Functor { name, candidates, arguments } = &term.kind else { return };
        self.fits(term.slot, term.span);
        let results =
            candidates.iter().filter_map(|&id| functor::get(id)).map(|functor| Mask::of(functor.result));
        let result = results.fold(Mask::NONE, Mask::or);
        let sign = sign(candidates);
        self.narrow(term, result, format!("`{sign}{name}` gives {}", result.words()));
        for (at, argument) in arguments.iter().enumerate() {
            let mask = candidates
                .iter()
                .filter_map(|&id| parameter(id, at))
                .map(Mask::of)
                .fold(Mask::NONE, Mask::or);
            let place = parameter_name(candidates, at);
            self.narrow(argument, mask, format!("`{sign}{name}` takes {} as its `{place}`", mask.words()));
        }
        if candidates.len() > 1 {
            self.deferred.push(term);
        }
    }

    /// Operators: all operands and the result have one kind.
    fn operator(&mut self, term: &'a DraftTerm) {
        match &term.kind {
            DraftKind::Operator(operator, spelling, operands) => {
                let mask = operands_of(*operator, operands.len());
                self.fits(term.slot, term.span);
                for operand in operands {
                    self.narrow(operand, mask, format!("`{spelling}` takes {}", mask.words()));
                }
                self.narrow(term, mask, format!("`{spelling}` gives {}", mask.words()));
                for operand in operands {
                    self.together(operand, term, &format!("`{spelling}` needs one kind on all sides"));
                }
            }
            DraftKind::Range(arguments) => {
                for argument in arguments {
                    self.together(argument, term, "`range` needs one kind throughout");
                }
            }
            DraftKind::Variable(_)
            | DraftKind::Wildcard
            | DraftKind::Text(_)
            | DraftKind::Integer(_)
            | DraftKind::Unsigned(_)
            | DraftKind::Float(_)
            | DraftKind::Nil
            | DraftKind::Record(_)
            | DraftKind::Variant(..)
            | DraftKind::Functor { .. }
            | DraftKind::Cast(..)
            | DraftKind::Unknown => {}
        }
    }

    fn literal(&mut self, literal: &'a DraftLiteral) {
        match literal {
            DraftLiteral::Test { operator, left, right, span } => {
                self.compared(*operator, left, right, *span);
                self.ordered(*operator, left, right, *span);
            }
            DraftLiteral::Aggregate(aggregate) => {
                let Some(result) = self.draft.get(aggregate.result).map(|variable| variable.slot) else {
                    return;
                };
                self.fits(result, aggregate.span);
                let mask = match aggregate.function {
                    AggregateKind::Count => Mask::of(Kind::Number),
                    AggregateKind::Mean => Mask::of(Kind::Float),
                    AggregateKind::Sum | AggregateKind::Min | AggregateKind::Max => Mask::NUMERIC,
                };
                let word = word(aggregate.function);
                if let Some(target) = &aggregate.target {
                    self.narrow(target, mask, format!("`{word}` goes over {}", mask.words()));
                }
                let evidence =
                    Evidence { span: aggregate.span, text: format!("`{word}` gives {}", mask.words()) };
                self.narrow_slot(result, mask, evidence, aggregate.span);
                if let Some(target) = &aggregate.target
                    && let Err(clash) = self.classes.same_kind(target.slot, result)
                {
                    self.clash(&clash, aggregate.span, &format!("the result of `{word}` is what it is over"));
                }
            }
            DraftLiteral::Union { columns, alternatives, span, .. } => {
                for alternative in alternatives {
                    for (&column, &own) in columns.iter().zip(&alternative.columns) {
                        self.column(column, own, *span);
                    }
                }
            }
            DraftLiteral::Positive(_)
            | DraftLiteral::Negative(_)
            | DraftLiteral::Access(..)
            | DraftLiteral::Never(_) => {}
        }
    }

    /// A column of a union and the variable that an alternative has for it.
    fn column(&mut self, column: VariableId, own: VariableId, span: Span) {
        let (Some(column), Some(own)) = (self.draft.get(column), self.draft.get(own)) else { return };
        let what = format!("the branches of `;` give `{}` one type", own.name);
        if let Err(clash) = self.classes.same_kind(column.slot, own.slot) {
            let message = format!("{what}: here are {} and {}", clash.left.words(), clash.right.words());
            let to_text = [clash.left, clash.right].map(Mask::single).contains(&Some(Kind::Symbol))
                && ![clash.left, clash.right].map(Mask::single).contains(&Some(Kind::Compound));
            let example = if to_text {
                format!(", as in `Helper(to_string({})) :- …`", own.name)
            } else {
                String::new()
            };
            let help = format!(
                "every branch must bind the same variables with the same types; else put the branches into a helper \
                 relation, a rule for each, that gives `{}` one type{example}, and aggregate over that",
                own.name
            );
            self.report_clash_with(&clash, span, message, Some(help));
        } else if self.classes.same_type(column.slot, own.slot, span, self.schema).is_err() {
            let finding = Diagnostic::error("E0020", span, format!("{what}: here they share none"))
                .with_help("bring the values to one type by `as(x, T)`");
            self.findings.push(finding);
        }
    }

    fn ordered(&mut self, operator: ComparisonOperator, left: &DraftTerm, right: &DraftTerm, span: Span) {
        if matches!(operator, ComparisonOperator::Equal | ComparisonOperator::NotEqual) {
            return;
        }
        if self.classes.mask(left.slot).single() == Some(Kind::Compound) {
            let bound = self.classes.bound(left.slot);
            let help = self.apart((left, &bound), (right, &bound), operator).unwrap_or_else(|| {
                "take them apart, as in `x = [p]`, and compare a field of each".to_owned()
            });
            let finding = Diagnostic::error("E0023", span, "records and variants have no order")
                .with_label("cannot be ordered")
                .with_help(help);
            self.findings.push(finding);
        }
    }

    /// Atoms that are checked and do not narrow: heads and negated ones.
    fn checked(&mut self, atom: &'a DraftAtom) {
        let Some(relation) = atom.relation.and_then(|id| self.schema.relation(id)) else { return };
        for (at, (term, column)) in atom.terms.iter().zip(&relation.columns).enumerate() {
            let taker = Taker::Column(relation, at);
            match term.kind {
                DraftKind::Wildcard => {}
                DraftKind::Record(_) | DraftKind::Nil | DraftKind::Variant(..) => {
                    self.require(term.slot, column.type_id, term.span, taker);
                }
                _ if column.type_id == BROKEN => {}
                _ => {
                    let mask = Mask::of(self.schema.types.kind(column.type_id));
                    self.narrow(term, mask, taker.wants(&self.type_words(column.type_id)));
                }
            }
        }
    }

    pub(crate) fn require(&mut self, slot: Slot, type_id: TypeId, span: Span, taker: Taker<'_>) {
        if type_id == BROKEN {
            self.classes.break_slot(slot);
            return;
        }
        let mask = Mask::of(self.schema.types.kind(type_id));
        let evidence = Evidence { span, text: taker.wants(&self.type_words(type_id)) };
        if !self.narrow_slot(slot, mask, evidence, span) {
            return;
        }
        let first = self.classes.type_evidence(slot);
        let bound = Bound::Types(BTreeSet::from([type_id]));
        if let Err(before) = self.classes.restrict(slot, &bound, span, self.schema) {
            let wants = taker.wants(&self.type_words(type_id));
            let message = format!("{wants}, and {} is {}", self.shown(span), self.bound_words(&before));
            let mut finding =
                Diagnostic::error("E0020", span, message).with_label("no value is of both types");
            if let Some(first) = first.filter(|&first| first != span) {
                finding = finding.with_secondary(first, "its other type comes from here");
            }
            let help = if self.schema.types.kind(type_id) == Kind::Compound {
                "these types share no value; take the value apart, as in `x = [a]`, and use its fields"
            } else {
                "these types share no value; `as(x, T)` brings a subtype to another one"
            };
            self.findings.push(finding.with_help(help));
        }
    }

    pub(crate) fn narrow(&mut self, term: &DraftTerm, mask: Mask, text: String) -> bool {
        self.narrow_slot(term.slot, mask, Evidence { span: term.span, text }, term.span)
    }

    fn narrow_slot(&mut self, slot: Slot, mask: Mask, evidence: Evidence, span: Span) -> bool {
        let text = evidence.text.clone();
        match self.classes.narrow(slot, mask, evidence) {
            Ok(()) => true,
            Err(clash) => {
                let message = format!("{text}, and {} is {}", self.shown(span), clash.left.words());
                let help = self.action_help(&clash, span, mask);
                self.report_clash_with(&clash, span, message, help);
                false
            }
        }
    }

    fn together(&mut self, a: &DraftTerm, b: &DraftTerm, what: &str) {
        if let Err(clash) = self.classes.same_kind(a.slot, b.slot) {
            self.clash(&clash, b.span, what);
        }
    }
}

fn sign(candidates: &[FunctorId]) -> &'static str {
    if candidates.first().and_then(|&id| functor::get(id)).is_some_and(|functor| functor.intrinsic) {
        ""
    } else {
        "@"
    }
}

/// The kind of the parameter at that place.
pub(crate) fn parameter(id: FunctorId, at: usize) -> Option<Kind> {
    functor::get(id)?.parameter(at).map(|parameter| parameter.kind)
}

fn parameter_name(candidates: &[FunctorId], at: usize) -> &'static str {
    let functor = candidates.first().and_then(|&id| functor::get(id));
    functor
        .and_then(|functor| functor.parameters.get(at).or(functor.parameters.last()))
        .map_or("argument", |parameter| parameter.name)
}

fn operands_of(operator: Arithmetic, operands: usize) -> Mask {
    match operator {
        Arithmetic::Add | Arithmetic::Min | Arithmetic::Max => Mask::PLAIN,
        Arithmetic::Subtract | Arithmetic::Multiply | Arithmetic::Divide | Arithmetic::Power => Mask::NUMERIC,
        Arithmetic::Negate if operands == 1 => Mask::SIGNED,
        Arithmetic::Negate => Mask::NUMERIC,
        Arithmetic::Remainder
        | Arithmetic::BitAnd
        | Arithmetic::BitOr
        | Arithmetic::BitXor
        | Arithmetic::BitNot
        | Arithmetic::ShiftLeft
        | Arithmetic::ShiftRight
        | Arithmetic::ShiftRightUnsigned
        | Arithmetic::LogicalAnd
        | Arithmetic::LogicalOr
        | Arithmetic::LogicalXor
        | Arithmetic::LogicalNot => Mask::INTEGER,
    }
}

fn word(function: AggregateKind) -> &'static str {
    match function {
        AggregateKind::Count => "count",
        AggregateKind::Sum => "sum",
        AggregateKind::Min => "min",
        AggregateKind::Max => "max",
        AggregateKind::Mean => "mean",
    }
}
