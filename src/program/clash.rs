//! Findings about types that do not go together.

use crate::program::Relation;
use crate::program::classes::{Bound, Clash, Mask};
use crate::program::draft::DraftTerm;
use crate::program::infer::Inference;
use crate::program::mend;
use crate::program::types::TypeId;
use crate::source::Diagnostic;
use crate::source::Span;

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
    pub(crate) fn compared(&mut self, left: &DraftTerm, right: &DraftTerm, span: Span) {
        if let Err(clash) = self.classes.same_kind(left.slot, right.slot) {
            let (left, right) = (self.shown(left.span), self.shown(right.span));
            let message = format!(
                "{left} is {} and {right} is {}, which cannot be compared",
                clash.left.words(),
                clash.right.words()
            );
            self.report_clash(&clash, span, message);
        } else if let Err(before) = self.classes.same_type(left.slot, right.slot, span, self.schema) {
            let message = format!(
                "{} is {}, which has nothing in common with the type of {}",
                self.shown(left.span),
                self.bound_words(&before),
                self.shown(right.span)
            );
            let finding = Diagnostic::error("E0020", span, message)
                .with_label("no value is of both types")
                .with_help("bring both to one type by `as(x, T)`");
            self.findings.push(finding);
        }
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
        let mut finding = Diagnostic::error("E0020", span, message).with_label("types do not go together");
        for evidence in [&clash.left_evidence, &clash.right_evidence].into_iter().flatten() {
            let inside = evidence.span.file == span.file
                && span.start <= evidence.span.start
                && evidence.span.end <= span.end;
            if !inside {
                finding = finding.with_secondary(evidence.span, evidence.text.clone());
            }
        }
        let literal = mend::literal(self.sources.text(span), clash.left, clash.right);
        let help = literal.unwrap_or_else(|| mend::conversion(clash.left, clash.right).to_owned());
        self.findings.push(finding.with_help(help));
    }
}
