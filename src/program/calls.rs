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
        let help = "convert with `to_string`, `to_number`, `to_unsigned` or `to_float`";
        self.findings.push(Diagnostic::error("E0025", term.span, message).with_help(help));
        Term::Wildcard
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
            let message = format!("{value} does not fit 64 bits signed, the range of a number");
            let finding = Diagnostic::error("E0024", term.span, message)
                .with_label("too large")
                .with_help("numbers go from -9223372036854775808 to 9223372036854775807; write an unsigned literal with `u`, as in `5u`");
            self.findings.push(finding);
        }
        Term::Wildcard
    }
}
