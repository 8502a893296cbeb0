//! Functors, operators, casts and number literals of a draft to calls and constants.

use crate::functor;
use crate::functor::{FunctorId, Role};
use crate::program::draft::{DraftKind, DraftTerm};
use crate::program::infer::parameter;
use crate::program::lower::{Lowering, Place};
use crate::program::schema::{BROKEN, kind_word};
use crate::program::terms;
use crate::program::types::TypeId;
use crate::program::{Arithmetic, Call, Comparison, Function, Literal, Term};
use crate::source::Diagnostic;
use crate::source::Span;
use crate::syntax::ast::ComparisonOperator;
use crate::value::{Kind, Word};

impl Lowering<'_> {
    /// A call where it may stand, else a fresh variable that equals it.
    pub(crate) fn placed(
        &mut self,
        call: Call,
        term: &DraftTerm,
        place: Place,
        out: &mut Vec<Literal>,
    ) -> Term {
        let generator = call.is_generator();
        let call = Term::Call(Box::new(call));
        let stays = match place {
            Place::Pattern => false,
            Place::Side => true,
            Place::Value => !generator,
        };
        if stays {
            return call;
        }
        let variable = self.fresh(self.inferred.get(term.slot));
        out.push(Literal::Test(Comparison {
            operator: ComparisonOperator::Equal,
            kind: self.kind(term.slot),
            left: Term::Variable(variable),
            right: call,
            span: term.span,
        }));
        Term::Variable(variable)
    }

    pub(crate) fn call(
        &mut self,
        function: Function,
        arguments: &[DraftTerm],
        span: Span,
        out: &mut Vec<Literal>,
    ) -> Call {
        let kinds = arguments.iter().map(|argument| self.kind(argument.slot)).collect();
        let arguments = arguments.iter().map(|argument| self.term(argument, Place::Value, out)).collect();
        Call { function, arguments, kinds, span }
    }

    pub(crate) fn functor(
        &mut self,
        term: &DraftTerm,
        candidates: &[FunctorId],
        arguments: &[DraftTerm],
        out: &mut Vec<Literal>,
    ) -> Call {
        let kinds: Vec<_> = arguments.iter().map(|argument| self.kind(argument.slot)).collect();
        let fits =
            |id: &&FunctorId| kinds.iter().enumerate().all(|(at, &kind)| parameter(**id, at) == Some(kind));
        let id = candidates.iter().find(fits).or(candidates.first()).copied().unwrap_or(FunctorId(0));
        let mut patterns = arguments
            .iter()
            .enumerate()
            .filter(|&(at, _)| matches!(terms::role(id, at), Some(Role::Pattern | Role::Glob)));
        let declared = functor::get(id);
        let has_patterns = patterns.clone().next().is_some();
        let literal =
            has_patterns && patterns.all(|(_, argument)| matches!(argument.kind, DraftKind::Text(_)));
        let fallible = declared.is_some_and(|functor| functor.fallible) && !literal;
        self.call(Function::Functor { id, fallible }, arguments, term.span, out)
    }

    pub(crate) fn operator(
        &mut self,
        term: &DraftTerm,
        operator: Arithmetic,
        operands: &[DraftTerm],
        out: &mut Vec<Literal>,
    ) -> Call {
        let kind = self.kind(term.slot);
        if operator == Arithmetic::Add
            && kind == Kind::Symbol
            && let Some(function) = Function::concatenation()
        {
            return self.call(function, operands, term.span, out);
        }
        let function = Function::Arithmetic(operator, kind);
        let mut call = self.call(function, operands, term.span, out);
        // `min` and `max` of many are taken two by two.
        while call.arguments.len() > 2 {
            let rest = call.arguments.split_off(2);
            let first = Call { kinds: vec![kind; 2], ..call };
            let arguments: Vec<_> = std::iter::once(Term::Call(Box::new(first))).chain(rest).collect();
            call = Call { function, kinds: vec![kind; arguments.len()], arguments, span: term.span };
        }
        call
    }

    pub(crate) fn cast(
        &mut self,
        term: &DraftTerm,
        inner: &DraftTerm,
        type_id: TypeId,
        place: Place,
        out: &mut Vec<Literal>,
    ) -> Term {
        let (from, to) = (self.kind(inner.slot), self.schema.types.kind(type_id));
        let numeric = |kind: Kind| matches!(kind, Kind::Number | Kind::Unsigned | Kind::Float);
        let same = from == to && (from != Kind::Compound || self.inferred.get(inner.slot) == type_id);
        if same {
            return self.term(inner, place, out);
        }
        if numeric(from) && numeric(to) {
            let call = self.call(Function::Cast(from, to), std::slice::from_ref(inner), term.span, out);
            return self.placed(call, term, place, out);
        }
        let message = format!("{} cannot be cast to `{}`", kind_word(from), self.schema.type_name(type_id));
        let help = self.cast_help(inner, from, to);
        self.findings.push(Diagnostic::error("E0025", term.span, message).with_help(help));
        Term::Wildcard
    }

    /// What to do in place of a cast that is not possible.
    fn cast_help(&self, inner: &DraftTerm, from: Kind, to: Kind) -> String {
        if from != Kind::Compound {
            return if to == Kind::Compound {
                "no cast makes a record; build it of its fields, as in `[a, b]`".to_owned()
            } else {
                "convert with `to_string`, `to_number`, `to_unsigned` or `to_float`".to_owned()
            };
        }
        let name = match inner.kind {
            DraftKind::Variable(id) => self.draft.get(id).map_or("x", |variable| variable.name.as_str()),
            _ => "x",
        };
        let id = self.inferred.get(inner.slot);
        if let Some(constructor) = self.schema.record(id) {
            let fields = &self.schema.types.constructor(constructor).fields;
            let fields: Vec<_> = fields.iter().map(|(field, _)| field.as_str()).collect();
            return format!(
                "a record cannot be converted; take it apart by `{name} = [{}]` and use its fields",
                fields.join(", ")
            );
        }
        if self.schema.type_name(id) == "Action" && to == Kind::Compound {
            return format!(
                "an action is nothing else: remove the condition, or take it apart by `{name} = $CallTool(tool, args)`; \
                 messages are read by `SentMessage(id, message)`"
            );
        }
        if self.schema.type_name(id) == "Action" {
            return format!(
                "an action cannot be converted; ask for its tool by `IsTool({name}, \"read\")`, or take it apart by \
                 `{name} = $CallTool(tool, args)`"
            );
        }
        format!("a variant cannot be converted; take it apart by `{name} = $Name(…)` and use its fields")
    }

    pub(crate) fn integer(&mut self, term: &DraftTerm, value: i128) -> Term {
        let word = match self.kind(term.slot) {
            Kind::Number => i64::try_from(value).ok().map(Word::number),
            Kind::Unsigned => u64::try_from(value).ok().map(Word::unsigned),
            // The nearest double, as for any number that is written with a fraction.
            #[expect(clippy::cast_precision_loss, reason = "a float literal is the nearest double")]
            Kind::Float => Some(Word::float(value as f64)),
            Kind::Symbol | Kind::Compound => None,
        };
        if let Some(word) = word {
            return Term::Constant(word);
        }
        if self.inferred.get(term.slot) != BROKEN {
            let free = self.inferred.free.get(term.slot.0).is_some_and(|&free| free);
            let message = format!("{value} does not fit 64 bits signed, the range of a number");
            let finding = Diagnostic::error("E0024", term.span, message)
                .with_label(if value < 0 { "too small" } else { "too large" })
                .with_help(if value < 0 {
                    "no number is below -9223372036854775808: a comparison with less than that is always or never true, so \
                     remove it, or declare the column `float`"
                        .to_owned()
                } else if free && u64::try_from(value).is_ok() {
                    format!("write `{value}u`, an unsigned")
                } else if u64::try_from(value).is_ok() {
                    "declare the column `unsigned`, which goes up to 18446744073709551615; no number is above \
                     9223372036854775807, so a comparison with more is always or never true"
                        .to_owned()
                } else {
                    "no number is above 9223372036854775807: a comparison with more than that is always or never true, so \
                     remove it, or declare the column `float`"
                        .to_owned()
                });
            self.findings.push(finding);
        }
        Term::Wildcard
    }
}
