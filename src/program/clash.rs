//! Findings about types that do not go together.

use std::collections::BTreeSet;

use crate::program::Relation;
use crate::program::classes::{Bound, Clash, Mask};
use crate::program::draft::{DraftKind, DraftTerm, Slot};
use crate::program::infer::Inference;
use crate::program::mend;
use crate::program::types::TypeId;
use crate::source::Diagnostic;
use crate::source::Span;
use crate::syntax::ast::ComparisonOperator;
use crate::value::Kind;

/// What takes a value, for a message about its type.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Taker<'a> {
    /// A column of a relation, counted from 0.
    Column(&'a Relation, usize),
    /// A field and the like, in words.
    Place(&'a str),
}

impl Taker<'_> {
    /// That it wants a value of that type.
    pub(crate) fn wants(self, kind: &str) -> String {
        match self {
            Self::Column(relation, at) => {
                let column = relation.columns.get(at).map_or("", |column| &column.name);
                let value = if kind.starts_with("of type") { "a value " } else { "" };
                let kind = format!("{value}{kind}");
                format!(
                    "`{}` takes {kind} as its {} argument `{column}`",
                    relation.name,
                    mend::ordinal(at + 1)
                )
            }
            Self::Place(what) => format!("{what} is {kind}"),
        }
    }
}

impl Inference<'_> {
    /// The user's text, cut where it is long, in backticks.
    pub(crate) fn shown(&self, span: Span) -> String {
        let text = self.sources.text(span).split_whitespace().collect::<Vec<_>>().join(" ");
        if text.chars().count() > 40 {
            let start: String = text.chars().take(37).collect();
            format!("`{start}…`")
        } else {
            format!("`{text}`")
        }
    }

    /// Gives the sides of a comparison one type.
    pub(crate) fn compared(
        &mut self,
        operator: ComparisonOperator,
        left: &DraftTerm,
        right: &DraftTerm,
        span: Span,
    ) {
        let other = self.classes.bound(right.slot);
        if let Err(clash) = self.classes.same_kind(left.slot, right.slot) {
            let message = format!(
                "{} is {} and {} is {}, which cannot be compared",
                self.shown(left.span),
                clash.left.words(),
                self.shown(right.span),
                clash.right.words()
            );
            let help = self
                .tool_help(operator, left, right)
                .or_else(|| self.constant_help(operator, left, right, &clash));
            self.report_clash_with(&clash, span, message, help);
        } else if let Err(before) = self.classes.same_type(left.slot, right.slot, span, self.schema) {
            let message = format!(
                "{} is {}, which has nothing in common with the type of {}",
                self.shown(left.span),
                self.bound_words(&before),
                self.shown(right.span)
            );
            let help = self
                .apart((left, &before), (right, &other), operator)
                .unwrap_or_else(|| "bring both to one type by `as(x, T)`".to_owned());
            let finding = Diagnostic::error("E0020", span, message)
                .with_label("no value is of both types")
                .with_help(help);
            self.findings.push(finding);
        }
    }

    fn is_action(&mut self, slot: Slot) -> bool {
        match self.classes.bound(slot) {
            Bound::Types(types) => types.iter().any(|&id| self.schema.type_name(id) == "Action"),
            Bound::Any | Bound::Fits | Bound::Broken => false,
        }
    }

    /// How to read an action where a text is wanted.
    pub(crate) fn action_help(&self, clash: &Clash, span: Span, wanted: Mask) -> Option<String> {
        let mut evidence = [&clash.left_evidence, &clash.right_evidence].into_iter().flatten();
        // Types are told after kinds: by now there is only what a column says of itself.
        if wanted.single() != Some(Kind::Symbol)
            || !evidence.any(|found| found.text.contains("of type `Action`"))
        {
            return None;
        }
        let action = self.sources.text(span);
        let is_name = action.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        let action = if is_name { action } else { "action" };
        Some(format!(
            "an action is no text: take it apart with `{action} = $CallTool(tool, args)`, and read an argument with `@json_str(args, \"…\")`"
        ))
    }

    /// How to ask for the tool of an action that is compared with a name.
    fn tool_help(
        &mut self,
        operator: ComparisonOperator,
        left: &DraftTerm,
        right: &DraftTerm,
    ) -> Option<String> {
        let not = match operator {
            ComparisonOperator::Equal => "",
            ComparisonOperator::NotEqual => "!",
            ComparisonOperator::Less
            | ComparisonOperator::LessOrEqual
            | ComparisonOperator::Greater
            | ComparisonOperator::GreaterOrEqual => return None,
        };
        let mut is_action = |term: &DraftTerm| self.is_action(term.slot);
        let is_text = |term: &DraftTerm| matches!(term.kind, DraftKind::Text(_));
        let (action, name) = match (left, right) {
            (action, name) if is_text(name) && is_action(action) => (action, name),
            (name, action) if is_text(name) && is_action(action) => (action, name),
            _ => return None,
        };
        // The prelude's relation; a program without it has none of that name.
        self.schema.relation_names.get("IsTool")?;
        let (action, name) = (self.sources.text(action.span), self.sources.text(name.span));
        Some(format!("an action is no name: `{not}IsTool({action}, {name})` asks for the tool that it calls"))
    }

    /// What to do about a constant that is compared with a value of another kind.
    fn constant_help(
        &self,
        operator: ComparisonOperator,
        left: &DraftTerm,
        right: &DraftTerm,
        clash: &Clash,
    ) -> Option<String> {
        let nil = |term: &DraftTerm| matches!(term.kind, DraftKind::Nil);
        if nil(left) || nil(right) {
            return Some("only a record can be `nil`: drop the comparison".to_owned());
        }
        let literal = |term: &&DraftTerm| {
            matches!(
                term.kind,
                DraftKind::Text(_) | DraftKind::Integer(_) | DraftKind::Unsigned(_) | DraftKind::Float(_)
            )
        };
        let constant = [left, right].into_iter().find(literal)?;
        let instead = mend::literal(self.sources.text(constant.span), clash.left, clash.right)?;
        let text = clash.left.single() == Some(Kind::Symbol) || clash.right.single() == Some(Kind::Symbol);
        let both = literal(&left) && literal(&right);
        if !text && !both && matches!(constant.kind, DraftKind::Float(_)) {
            return Some(format!("{instead}, or convert the other side with `to_float`"));
        }
        if !text || matches!(constant.kind, DraftKind::Text(_)) {
            return Some(instead);
        }
        let equal = matches!(operator, ComparisonOperator::Equal | ComparisonOperator::NotEqual);
        let conversion = mend::conversion(clash.left, clash.right);
        match (both, equal) {
            (true, _) => Some(instead),
            (false, true) => Some(format!("{instead} if a text is meant; else {conversion}")),
            (false, false) => None,
        }
    }

    /// How to compare fields of two values in place of the values.
    pub(crate) fn apart(
        &self,
        left: (&DraftTerm, &Bound),
        right: (&DraftTerm, &Bound),
        operator: ComparisonOperator,
    ) -> Option<String> {
        let first = |bound: &Bound| match bound {
            Bound::Types(types) => types.first().copied(),
            Bound::Any | Bound::Fits | Bound::Broken => None,
        };
        let (one, other) = (first(left.1)?, first(right.1)?);
        let compound = |id: TypeId| self.schema.types.kind(id) == Kind::Compound;
        if !compound(one) || !compound(other) {
            return None;
        }
        let [left, right] = [left.0.span, right.0.span].map(|span| self.sources.text(span));
        let [p, q] = self.new_names();
        let (Some(one), Some(other)) = (self.pattern(one, &p), self.pattern(other, &q)) else {
            return Some(format!("take them apart, as in `{left} = $Name({p})`, and compare the fields"));
        };
        let operator = operator.sign();
        Some(format!("take their fields apart: `{left} = {one}, {right} = {other}, {p} {operator} {q}`"))
    }

    /// Two names that no variable of the rule has.
    fn new_names(&self) -> [String; 2] {
        let taken: BTreeSet<&str> =
            self.draft.variables.iter().map(|variable| variable.name.as_str()).collect();
        let pairs = std::iter::once(["p".to_owned(), "q".to_owned()])
            .chain((1_u32..).map(|at| [format!("p{at}"), format!("q{at}")]));
        let mut free = pairs.filter(|pair| !pair.iter().any(|name| taken.contains(name.as_str())));
        free.next().unwrap_or_default()
    }

    /// A pattern for records of a type that names their first field.
    fn pattern(&self, id: TypeId, name: &str) -> Option<String> {
        let fields = &self.schema.types.constructor(self.schema.record(id)?).fields;
        let rest = fields.iter().skip(1).map(|_| "_");
        Some(format!("[{}]", std::iter::once(name).chain(rest).collect::<Vec<_>>().join(", ")))
    }

    /// A type in words.
    pub(crate) fn type_words(&self, id: TypeId) -> String {
        match id {
            TypeId::NUMBER | TypeId::UNSIGNED | TypeId::FLOAT | TypeId::SYMBOL => {
                Mask::of(self.schema.types.kind(id)).words().to_owned()
            }
            _ => format!("of type `{}`", self.schema.type_name(id)),
        }
    }

    pub(crate) fn bound_words(&self, bound: &Bound) -> String {
        match bound {
            Bound::Types(types) => {
                types.iter().map(|&id| self.type_words(id)).collect::<Vec<_>>().join(" or ")
            }
            Bound::Any | Bound::Fits | Bound::Broken => "of another type".to_owned(),
        }
    }

    /// Reports two kinds that meet in one place.
    pub(crate) fn clash(&mut self, clash: &Clash, span: Span, what: &str) {
        let message = format!("{what}: here are {} and {}", clash.left.words(), clash.right.words());
        self.report_clash(clash, span, message);
    }

    pub(crate) fn report_clash(&mut self, clash: &Clash, span: Span, message: String) {
        self.report_clash_with(clash, span, message, None);
    }

    /// Reports two kinds that meet in one place, with what to do where that is known.
    pub(crate) fn report_clash_with(
        &mut self,
        clash: &Clash,
        span: Span,
        message: String,
        help: Option<String>,
    ) {
        let mut finding = Diagnostic::error("E0020", span, message).with_label("types do not go together");
        for evidence in [&clash.left_evidence, &clash.right_evidence].into_iter().flatten() {
            let inside = evidence.span.file == span.file
                && span.start <= evidence.span.start
                && evidence.span.end <= span.end;
            if !inside {
                finding = finding.with_secondary(evidence.span, evidence.text.clone());
            }
        }
        let literal = || mend::literal(self.sources.text(span), clash.left, clash.right);
        let help =
            help.or_else(literal).unwrap_or_else(|| mend::conversion(clash.left, clash.right).to_owned());
        self.findings.push(finding.with_help(help));
    }
}
