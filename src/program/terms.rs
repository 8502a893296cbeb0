//! Terms of the syntax tree to terms of a draft.

use crate::functor;
use crate::functor::{FunctorId, Mode, Role};
use crate::program::Arithmetic;
use crate::program::declarations::look_up;
use crate::program::draft::{DraftKind, DraftTerm};
use crate::program::resolve::{Position, Resolver, arity};
use crate::program::suggest;
use crate::source::Diagnostic;
use crate::source::Span;
use crate::syntax::ast;
use crate::syntax::ast::{BinaryOperator, TermKind, UnaryOperator};

impl<'e> Resolver<'_, 'e> {
    pub(crate) fn term(&mut self, term: &'e ast::Term, position: Position) -> DraftTerm {
        let kind = match &term.kind {
            TermKind::Variable(name) => DraftKind::Variable(self.variable(name)),
            TermKind::Wildcard => self.wildcard(term.span, position),
            TermKind::Text(text) => DraftKind::Text(text.clone()),
            TermKind::Integer(value) => DraftKind::Integer(i128::from(*value)),
            TermKind::Unsigned(value) => DraftKind::Unsigned(*value),
            TermKind::Float(value) => DraftKind::Float(*value),
            TermKind::Nil => DraftKind::Nil,
            TermKind::Record(terms) => DraftKind::Record(self.fields(terms, position)),
            TermKind::Variant(name, terms) => self.variant(name, terms, position, term.span),
            TermKind::Field(base, field) => self.field(base, field),
            TermKind::Functor(name, terms) => {
                let arguments: Vec<_> = terms.iter().collect();
                return self.functor(name, &arguments, false, term.span);
            }
            TermKind::Intrinsic(name, terms) => return self.intrinsic(name, terms, term.span),
            TermKind::Unary(operator, inner) => self.unary(*operator, inner),
            TermKind::Binary(operator, left, right) => {
                let (arithmetic, spelling) = binary(*operator);
                DraftKind::Operator(arithmetic, spelling, self.values(&[left, right]))
            }
            TermKind::Cast(inner, type_name) => {
                let inner = self.term(inner, Position::Value);
                DraftKind::Cast(Box::new(inner), look_up(type_name, self.schema, self.findings))
            }
            TermKind::Aggregate(aggregate) => DraftKind::Variable(self.aggregate_term(aggregate, term.span)),
        };
        self.made(kind, term.span)
    }

    fn made(&mut self, kind: DraftKind, span: Span) -> DraftTerm {
        let slot = match kind {
            DraftKind::Variable(id) => self.draft.get(id).map(|variable| variable.slot),
            _ => None,
        };
        let slot = slot.unwrap_or_else(|| self.draft.slot());
        DraftTerm { kind, span, slot }
    }

    fn values(&mut self, terms: &[&'e ast::Term]) -> Vec<DraftTerm> {
        terms.iter().map(|term| self.term(term, Position::Value)).collect()
    }

    fn fields(&mut self, terms: &'e [ast::Term], position: Position) -> Vec<DraftTerm> {
        let inside = match position {
            Position::Equality => Position::EqualityField,
            Position::Negated => Position::NegatedField,
            Position::NegatedField
            | Position::Head
            | Position::Pattern
            | Position::EqualityField
            | Position::Value => position,
        };
        terms.iter().map(|term| self.term(term, inside)).collect()
    }

    fn wildcard(&mut self, span: Span, position: Position) -> DraftKind {
        let (message, help) = match position {
            Position::Pattern | Position::Negated | Position::EqualityField => return DraftKind::Wildcard,
            Position::Head => ("`_` in a head has no value", "write a variable that the body binds"),
            Position::NegatedField => (
                "`_` inside a record under `!` has no value",
                "derive what is negated into a helper relation, and negate that",
            ),
            Position::Equality | Position::Value => {
                ("`_` has no value to compare or compute with", "write a variable that another literal binds")
            }
        };
        let finding = Diagnostic::error("E0031", span, message).with_label("no value").with_help(help);
        self.findings.push(finding);
        DraftKind::Unknown
    }

    fn variant(
        &mut self,
        name: &ast::Name,
        terms: &'e [ast::Term],
        position: Position,
        span: Span,
    ) -> DraftKind {
        let terms = self.fields(terms, position);
        let Some(&constructor) = self.schema.variants.get(&name.text) else {
            let known = self.schema.variants.keys().map(String::as_str);
            let help = suggest::nearest(&name.text, known).map_or_else(
                || "declare it in a `.type` with variants".to_owned(),
                |near| format!("did you mean `${near}`?"),
            );
            let finding =
                Diagnostic::error("E0015", name.span, format!("no variant is called `${}`", name.text))
                    .with_label("unknown variant")
                    .with_help(help);
            self.findings.push(finding);
            return DraftKind::Unknown;
        };
        let fields = &self.schema.types.constructor(constructor).fields;
        if fields.len() != terms.len() {
            let names: Vec<_> = fields.iter().map(|(name, _)| name.as_str()).collect();
            let finding = arity(&format!("`${}`", name.text), fields.len(), terms.len(), span)
                .with_help(format!("its fields are ({})", names.join(", ")));
            self.findings.push(finding);
            return DraftKind::Unknown;
        }
        DraftKind::Variant(constructor, terms)
    }

    fn field(&mut self, base: &'e ast::Term, field: &ast::Name) -> DraftKind {
        let resolved = self.term(base, Position::Value);
        if let DraftKind::Variable(id) = resolved.kind {
            return DraftKind::Variable(self.access(id, field));
        }
        if !matches!(resolved.kind, DraftKind::Unknown) {
            let message = format!("`.{}` is read of a value that is no variable", field.text);
            let finding = Diagnostic::error("E0014", base.span, message)
                .with_help("bind the value to a variable by `=` first");
            self.findings.push(finding);
        }
        DraftKind::Unknown
    }

    fn unary(&mut self, operator: UnaryOperator, inner: &'e ast::Term) -> DraftKind {
        match (operator, &inner.kind) {
            (UnaryOperator::Negate, TermKind::Integer(value)) => {
                return DraftKind::Integer(-i128::from(*value));
            }
            (UnaryOperator::Negate, TermKind::Float(value)) => return DraftKind::Float(-value),
            _ => {}
        }
        let (arithmetic, spelling) = match operator {
            UnaryOperator::Negate => (Arithmetic::Negate, "-"),
            UnaryOperator::BitNot => (Arithmetic::BitNot, "bnot"),
            UnaryOperator::LogicalNot => (Arithmetic::LogicalNot, "lnot"),
        };
        DraftKind::Operator(arithmetic, spelling, self.values(&[inner]))
    }

    fn intrinsic(&mut self, name: &ast::Name, terms: &'e [ast::Term], span: Span) -> DraftTerm {
        let given = terms.len();
        let arguments: Vec<_> = terms.iter().collect();
        let kind = match name.text.as_str() {
            "min" if given >= 2 => DraftKind::Operator(Arithmetic::Min, "min", self.values(&arguments)),
            "max" if given >= 2 => DraftKind::Operator(Arithmetic::Max, "max", self.values(&arguments)),
            "range" if given == 2 || given == 3 => DraftKind::Range(self.values(&arguments)),
            "min" | "max" | "range" => {
                let finding = arity(&format!("`{}`", name.text), 2, given, span);
                self.findings.push(finding);
                DraftKind::Unknown
            }
            "ord" => {
                let finding = Diagnostic::error(
                    "E0006",
                    span,
                    "`ord` is not there: it would be the number of a text in memory",
                )
                .with_help("compare texts by `<`, which is the order of their code points");
                self.findings.push(finding);
                DraftKind::Unknown
            }
            _ => return self.functor(name, &arguments, true, span),
        };
        self.made(kind, span)
    }

    pub(crate) fn functor(
        &mut self,
        name: &ast::Name,
        terms: &[&'e ast::Term],
        intrinsic: bool,
        span: Span,
    ) -> DraftTerm {
        let arguments = self.values(terms);
        let all = functor::overloads(&name.text, intrinsic);
        if all.is_empty() {
            self.unknown_functor(name, intrinsic);
            return self.made(DraftKind::Unknown, span);
        }
        let fits = |&id: &FunctorId| functor::get(id).is_some_and(|functor| functor.takes(arguments.len()));
        let candidates: Vec<_> = all.iter().copied().filter(fits).collect();
        if candidates.is_empty() {
            let sign = if intrinsic { "" } else { "@" };
            let declared = all.first().and_then(|&id| functor::get(id));
            let names: Vec<_> = declared
                .iter()
                .flat_map(|functor| functor.parameters)
                .map(|parameter| parameter.name)
                .collect();
            let finding = arity(&format!("`{sign}{}`", name.text), names.len(), arguments.len(), span)
                .with_help(format!("it is `{sign}{}({})`", name.text, names.join(", ")));
            self.findings.push(finding);
            return self.made(DraftKind::Unknown, span);
        }
        for &id in &candidates {
            self.check_literals(id, &arguments);
        }
        self.made(DraftKind::Functor { name: name.text.clone(), candidates, arguments }, span)
    }

    fn unknown_functor(&mut self, name: &ast::Name, intrinsic: bool) {
        let sign = if intrinsic { "" } else { "@" };
        if let Some(subject) = functor::reserved(&name.text) {
            let message =
                format!("`{sign}{}` is not supported yet: functors on {subject} are to come", name.text);
            let finding = Diagnostic::error("E0006", name.span, message)
                .with_help("test the text with `@regex_is_match` or `match` until then");
            self.findings.push(finding);
            return;
        }
        let known = functor::table()
            .iter()
            .filter(|functor| functor.intrinsic == intrinsic)
            .map(|functor| functor.name);
        let others = suggest::in_other_words(&name.text, known.clone());
        let others: Vec<_> = others.into_iter().map(|other| format!("`{sign}{other}`")).collect();
        let help = match suggest::nearest(&name.text, known.clone()) {
            _ if !others.is_empty() => format!("did you mean {}?", others.join(" or ")),
            Some(near) => format!("did you mean `{sign}{near}`?"),
            None => relatives(&name.text, sign, known),
        };
        let finding =
            Diagnostic::error("E0013", name.span, format!("no functor is called `{sign}{}`", name.text))
                .with_label("unknown functor")
                .with_help(help);
        self.findings.push(finding);
    }

    fn check_literals(&mut self, id: FunctorId, arguments: &[DraftTerm]) {
        for (at, argument) in arguments.iter().enumerate() {
            let DraftKind::Text(text) = &argument.kind else { continue };
            let Some(role) = role(id, at) else { continue };
            if let Err(why) = functor::check_literal(role, text) {
                let what = match role {
                    Role::Plain => continue,
                    Role::Path => "path",
                    Role::Pattern => "pattern",
                    Role::Glob => "glob",
                };
                let finding = Diagnostic::error(
                    "E0044",
                    argument.span,
                    format!("`{text}` is a malformed {what}: {why}"),
                )
                .with_label(format!("malformed {what}"))
                .with_help(literal_help(role));
                self.findings.push(finding);
            }
        }
    }

    /// Reports partial functors and generators where a value has to be there.
    pub(crate) fn check_total(&mut self, term: &DraftTerm, position: Position) {
        let mut found = Vec::new();
        term.walk(&mut |term| match &term.kind {
            DraftKind::Functor { name, candidates, .. } => {
                let mode = candidates
                    .first()
                    .and_then(|&id| functor::get(id))
                    .map_or(Mode::Total, |functor| functor.mode);
                match mode {
                    Mode::Total => {}
                    Mode::Partial => found.push((format!("`@{name}`"), "may have no value", term.span)),
                    Mode::Generator => {
                        found.push((format!("`@{name}`"), "gives any number of values", term.span));
                    }
                }
            }
            DraftKind::Range(_) => {
                found.push(("`range`".to_owned(), "gives any number of values", term.span));
            }
            _ => {}
        });
        let place = if position == Position::Head { "in a head" } else { "under `!`" };
        for (name, what, span) in found {
            let finding = Diagnostic::error("E0033", span, format!("{name} {what} and cannot stand {place}"))
                .with_label(what)
                .with_help(if position == Position::Head {
                    "bind its value to a variable by `=` in the body, and name that variable in the head"
                } else {
                    "derive the index of the actions where the test holds into a helper relation, as in \
                     `.decl Helper(i: unsigned)` and `Helper(i) :- Actions(i, a), …`, and write `!Helper(i)` here"
                });
            self.findings.push(finding);
        }
    }
}

/// The functors of the same family, where none is near.
fn relatives(name: &str, sign: &str, known: impl Iterator<Item = &'static str>) -> String {
    const SHOWN: usize = 8;
    let family = suggest::family(name, known);
    let shown: Vec<_> = family.iter().take(SHOWN).map(|near| format!("`{sign}{near}`")).collect();
    match (family.first().and_then(|first| first.split('_').next()), family.len().saturating_sub(SHOWN)) {
        (None, _) => "a policy that names a functor the host does not have cannot be loaded".to_owned(),
        (Some(first), 0) => format!("those on `{first}` are {}", shown.join(", ")),
        (Some(first), more) => format!("those on `{first}` are {}, and {more} more", shown.join(", ")),
    }
}

fn literal_help(role: Role) -> &'static str {
    match role {
        Role::Plain => "",
        Role::Path => {
            "segments are joined by `.`, `[0]` is a place in an array, and `[\\\"any key\\\"]` a key in quotes"
        }
        Role::Pattern => "brackets are closed and special characters escaped by `\\\\`",
        Role::Glob => "`*` and `?` stay within a path segment, `**` goes across",
    }
}

/// What the argument at that place is; the last parameter of a variadic functor repeats.
pub(crate) fn role(id: FunctorId, at: usize) -> Option<Role> {
    functor::get(id)?.parameter(at).map(|parameter| parameter.role)
}

fn binary(operator: BinaryOperator) -> (Arithmetic, &'static str) {
    match operator {
        BinaryOperator::Add => (Arithmetic::Add, "+"),
        BinaryOperator::Subtract => (Arithmetic::Subtract, "-"),
        BinaryOperator::Multiply => (Arithmetic::Multiply, "*"),
        BinaryOperator::Divide => (Arithmetic::Divide, "/"),
        BinaryOperator::Remainder => (Arithmetic::Remainder, "%"),
        BinaryOperator::Power => (Arithmetic::Power, "^"),
        BinaryOperator::BitAnd => (Arithmetic::BitAnd, "band"),
        BinaryOperator::BitOr => (Arithmetic::BitOr, "bor"),
        BinaryOperator::BitXor => (Arithmetic::BitXor, "bxor"),
        BinaryOperator::ShiftLeft => (Arithmetic::ShiftLeft, "bshl"),
        BinaryOperator::ShiftRight => (Arithmetic::ShiftRight, "bshr"),
        BinaryOperator::ShiftRightUnsigned => (Arithmetic::ShiftRightUnsigned, "bshru"),
        BinaryOperator::LogicalAnd => (Arithmetic::LogicalAnd, "land"),
        BinaryOperator::LogicalOr => (Arithmetic::LogicalOr, "lor"),
        BinaryOperator::LogicalXor => (Arithmetic::LogicalXor, "lxor"),
    }
}
