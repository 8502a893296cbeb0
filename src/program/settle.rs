//! Terms whose parts wait for the type of the whole, or the other way round: records, `nil`, overloaded functors, dot access.

use std::collections::BTreeSet;

use crate::functor;
use crate::functor::FunctorId;
use crate::program::clash::Taker;
use crate::program::classes::{Bound, Mask};
use crate::program::draft::{Access, DraftKind, DraftTerm, Slot};
use crate::program::infer::{Inference, parameter};
use crate::program::suggest;
use crate::program::types::TypeId;
use crate::source::Diagnostic;
use crate::value::Kind;

impl<'a> Inference<'a> {
    /// Lets waiting terms go on until none can.
    pub(crate) fn settle(&mut self) {
        let mut fields: Vec<_> = self.draft.accesses.iter().collect();
        loop {
            let (terms, waiting) = (std::mem::take(&mut self.deferred), fields.len());
            let before = terms.len() + waiting;
            for term in terms {
                if !self.advance(term) {
                    self.deferred.push(term);
                }
            }
            fields.retain(|((base, _), accesses)| {
                let Some(base) = self.draft.get(*base) else { return false };
                !self.access(base.slot, accesses)
            });
            if self.deferred.len() + fields.len() == before {
                return;
            }
        }
    }

    fn advance(&mut self, term: &'a DraftTerm) -> bool {
        match &term.kind {
            DraftKind::Record(arguments) => match self.classes.bound(term.slot) {
                Bound::Types(types) => types.first().is_none_or(|&id| self.record(term, id, arguments)),
                Bound::Broken => true,
                Bound::Any | Bound::Fits => self.classes.mask(term.slot).is_none(),
            },
            DraftKind::Nil => match self.classes.bound(term.slot) {
                Bound::Types(types) => {
                    let record = types.first().and_then(|&id| self.schema.record(id));
                    if record.is_none() {
                        let finding = Diagnostic::error(
                            "E0020",
                            term.span,
                            "`nil` is a record, and no record is wanted here",
                        )
                        .with_help("write a variant as `$Name(…)`, or drop the fact or condition");
                        self.findings.push(finding);
                        self.classes.break_slot(term.slot);
                    }
                    true
                }
                Bound::Broken => true,
                Bound::Any | Bound::Fits => self.classes.mask(term.slot).is_none(),
            },
            DraftKind::Functor { candidates, arguments, .. } => {
                let fitting = self.fitting(candidates, arguments);
                let [id] = fitting[..] else { return fitting.is_empty() };
                if let Some(functor) = functor::get(id) {
                    self.narrow(
                        term,
                        Mask::of(functor.result),
                        format!("`{}` gives {}", functor.name, Mask::of(functor.result).words()),
                    );
                }
                true
            }
            _ => true,
        }
    }

    fn fitting(&mut self, candidates: &[FunctorId], arguments: &[DraftTerm]) -> Vec<FunctorId> {
        let masks: Vec<_> = arguments.iter().map(|argument| self.classes.mask(argument.slot)).collect();
        let fits = |&id: &FunctorId| {
            masks.iter().enumerate().all(|(at, &mask)| {
                mask.is_none() || parameter(id, at).is_none_or(|kind| !mask.and(Mask::of(kind)).is_none())
            })
        };
        candidates.iter().copied().filter(fits).collect()
    }

    fn record(&mut self, term: &'a DraftTerm, id: TypeId, arguments: &'a [DraftTerm]) -> bool {
        let name = self.schema.type_name(id).to_owned();
        let Some(constructor) = self.schema.record(id) else {
            let message = format!("`[…]` is a record, and `{name}` is none");
            self.findings.push(
                Diagnostic::error("E0020", term.span, message).with_help("write a variant as `$Name(…)`"),
            );
            self.classes.break_slot(term.slot);
            return true;
        };
        let fields = &self.schema.types.constructor(constructor).fields;
        if fields.len() != arguments.len() {
            let names: Vec<_> = fields.iter().map(|(name, _)| name.as_str()).collect();
            let given = arguments.len();
            let are = if given == 1 { "is" } else { "are" };
            let message = format!("record `{name}` has {} fields, and {given} {are} given", fields.len());
            let finding = Diagnostic::error("E0011", term.span, message)
                .with_help(format!("its fields are [{}]", names.join(", ")));
            self.findings.push(finding);
            arguments.iter().for_each(|argument| self.classes.break_slot(argument.slot));
            return true;
        }
        for (argument, (field, type_id)) in arguments.iter().zip(fields) {
            if !matches!(argument.kind, DraftKind::Wildcard) {
                let what = format!("field `{field}` of `{name}`");
                self.require(argument.slot, *type_id, argument.span, Taker::Place(&what));
            }
        }
        true
    }

    /// Types the fields that are read of a variable; false while its own type is not known.
    fn access(&mut self, base: Slot, accesses: &[Access]) -> bool {
        let mask = self.classes.mask(base);
        let types = match self.classes.bound(base) {
            Bound::Types(types) => types,
            Bound::Any | Bound::Fits
                if mask.is_none() || mask.single().is_none_or(|kind| kind == Kind::Compound) =>
            {
                return mask.is_none();
            }
            Bound::Any | Bound::Fits | Bound::Broken => BTreeSet::new(),
        };
        let type_id = types.first().copied();
        let constructor = type_id.and_then(|id| self.schema.record(id));
        for access in accesses {
            let Some(slot) = self.draft.get(access.value).map(|variable| variable.slot) else { continue };
            let (name, span) = (&access.field.text, access.field.span);
            let Some(constructor) = constructor else {
                if !mask.is_none() {
                    let is = type_id.map_or(mask.words().to_owned(), |id| self.type_words(id));
                    let message = format!("`.{name}` is read of a value that is {is}, which has no fields");
                    let help = "only records have fields; take a variant apart by `= $Name(…)`";
                    self.findings.push(Diagnostic::error("E0014", span, message).with_help(help));
                }
                self.classes.break_slot(slot);
                continue;
            };
            let declared = self.schema.types.constructor(constructor);
            if let Some(&(_, field)) = declared.fields.iter().find(|(field, _)| field == name) {
                let what = format!("field `{name}` of `{}`", declared.name);
                self.require(slot, field, span, Taker::Place(&what));
                continue;
            }
            let known = declared.fields.iter().map(|(field, _)| field.as_str());
            let all = format!(
                "its fields are {}",
                known.clone().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
            );
            let finding =
                Diagnostic::error("E0014", span, format!("`{}` has no field `{name}`", declared.name))
                    .with_label("unknown field")
                    .with_help(suggest::did_you_mean(name, known, &all));
            self.findings.push(finding);
            self.classes.break_slot(slot);
        }
        true
    }
}
