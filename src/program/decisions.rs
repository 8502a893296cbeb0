//! Rules of decision relations: each fires into a relation of its own, from which the decision relation is derived.

use std::ops::Range;

use crate::program::annotations::{self, Notes, Subject, Written};
use crate::program::build::{Alternative, Builder};
use crate::program::schema::Schema;
use crate::program::suggest;
use crate::program::types::TypeId;
use crate::program::{
    Atom, Call, Column, DecisionKind, DecisionRule, Function, Literal, Origin, Piece, Relation, RelationId,
    Rule, RuleId, Term, Variable, VariableId,
};
use crate::source::Diagnostic;
use crate::source::Sources;
use crate::source::Span;
use crate::syntax::ast;
use crate::value::{Kind, Word};

impl DecisionRule {
    /// The reason that is shown where the rule has no message: what the row of `DenialReason` holds too.
    #[must_use]
    pub fn default_message(&self, sources: &Sources) -> String {
        let place = format!("{}:{}", sources.file(self.span.file).name, sources.place(self.span).line);
        match self.kind {
            DecisionKind::Allow => format!("the rule at {place} does not allow it"),
            DecisionKind::Ask => format!("approval is required by the rule at {place}"),
            DecisionKind::Deny | DecisionKind::Reason => format!("denied by the rule at {place}"),
        }
    }
}

/// A placeholder: a name and the type that its values have in every alternative.
struct Placeholder {
    name: String,
    type_id: TypeId,
}

/// Adds the rules of one head of a decision rule.
pub(crate) fn add(
    builder: &mut Builder<'_>,
    head: (usize, &ast::Atom),
    alternatives: &[Alternative],
    subject: Subject,
    notes: Notes,
) {
    let (at, head) = head;
    let kind = notes.kind(subject);
    let placeholders = placeholders(builder, alternatives, &notes);
    let fired = fired(builder, head, subject, &placeholders);
    let mut rules = Vec::new();
    for alternative in alternatives {
        let Some(own) = alternative.lowered.heads.get(at) else { continue };
        let values = placeholders.iter().filter_map(|placeholder| alternative.names.get(&placeholder.name));
        let terms = own.terms.iter().cloned().chain(values.map(|&id| Term::Variable(id))).collect();
        rules.push(builder.add_rule(Rule {
            head: Atom { relation: fired, terms, span: head.span },
            body: alternative.lowered.body.clone(),
            variables: alternative.lowered.variables.clone(),
            span: head.span,
        }));
    }
    let id = notes.id.clone().unwrap_or_else(|| {
        let file = &builder.sources.file(head.span.file).name;
        format!("{}@{file}:{}", head.relation.text, builder.sources.place(head.span).line)
    });
    let message = notes.message.as_ref().map(|(written, _)| pieces(written, &placeholders));
    let decision = DecisionRule {
        kind,
        fired,
        id,
        span: head.span,
        message,
        suggestions: notes.suggestions,
        tool_pattern: notes.tool_pattern,
        url_pattern: notes.url_pattern,
        metadata: notes.metadata,
        rules,
    };
    derive(builder, &decision, &placeholders);
    builder.decision_rules.push(decision);
}

/// The relation that the rule fires into.
fn fired(
    builder: &mut Builder<'_>,
    head: &ast::Atom,
    subject: Subject,
    placeholders: &[Placeholder],
) -> RelationId {
    let column = |name: &str, type_id| Column { name: name.to_owned(), type_id };
    let mut columns = vec![column("idx", TypeId::UNSIGNED)];
    if subject == Subject::Reason {
        columns.extend(["kind", "reason", "suggestion"].map(|name| column(name, TypeId::SYMBOL)));
    }
    columns.extend(placeholders.iter().map(|placeholder| column(&placeholder.name, placeholder.type_id)));
    builder.schema.add_relation(Relation {
        name: format!("__fired_{}", builder.decision_rules.len()),
        columns,
        origin: Origin::Rules,
        span: head.span,
        documentation: String::new(),
        output: false,
    })
}

/// `DenialReason(i, kind, message, suggestion) :- __fired_N(i, v, …).` or its like.
fn derive(
    builder: &mut Builder<'_>,
    decision: &DecisionRule,
    placeholders: &[Placeholder],
) -> Option<RuleId> {
    let variable = |at: usize| VariableId(u32::try_from(at).unwrap_or(u32::MAX));
    let columns = builder.schema.relation(decision.fired)?.columns.clone();
    let variables: Vec<_> =
        columns.iter().map(|column| Variable { name: String::new(), type_id: column.type_id }).collect();
    let all: Vec<_> = (0..columns.len()).map(|at| Term::Variable(variable(at))).collect();
    let index = all.first()?.clone();
    let (relation, terms) = match decision.kind {
        DecisionKind::Allow => ("IsAuthorized", vec![index]),
        DecisionKind::Reason => ("DenialReason", all.clone()),
        DecisionKind::Deny | DecisionKind::Ask => {
            let kind = if decision.kind == DecisionKind::Ask { "ask" } else { "block" };
            let message = message(builder, decision, placeholders);
            let suggestion = decision.suggestions.first().map_or("", String::as_str);
            let texts = [builder.text(kind), message, builder.text(suggestion)];
            ("DenialReason", std::iter::once(index).chain(texts).collect())
        }
    };
    let used = decision.kind != DecisionKind::Allow;
    let read =
        all.into_iter().enumerate().map(|(at, term)| if at == 0 || used { term } else { Term::Wildcard });
    let body = vec![Literal::Positive(Atom {
        relation: decision.fired,
        terms: read.collect(),
        span: decision.span,
    })];
    let relation = builder.schema.relation_names.get(relation).copied()?;
    let rule =
        Rule { head: Atom { relation, terms, span: decision.span }, body, variables, span: decision.span };
    Some(builder.add_rule(rule))
}

/// The reason as a term over the columns of the `fired` relation.
fn message(builder: &mut Builder<'_>, decision: &DecisionRule, placeholders: &[Placeholder]) -> Term {
    let Some(pieces) = &decision.message else {
        let text = decision.default_message(builder.sources);
        return builder.text(&text);
    };
    let mut terms = Vec::new();
    for piece in pieces {
        terms.push(match piece {
            Piece::Text(text) => builder.text(text),
            Piece::Value { column, .. } => {
                let type_id = placeholders
                    .get(column.saturating_sub(1))
                    .map_or(TypeId::SYMBOL, |placeholder| placeholder.type_id);
                show(*column, type_id, builder.schema.types.kind(type_id), decision.span)
            }
        });
    }
    if let [one] = &terms[..] {
        return one.clone();
    }
    let Some(function) = Function::concatenation() else {
        return builder.text("");
    };
    let kinds = vec![Kind::Symbol; terms.len()];
    Term::Call(Box::new(Call { function, arguments: terms, kinds, span: decision.span }))
}

fn show(column: usize, type_id: TypeId, kind: Kind, span: Span) -> Term {
    let variable = Term::Variable(VariableId(u32::try_from(column).unwrap_or(u32::MAX)));
    Term::Call(Box::new(Call {
        function: Function::Show(type_id),
        arguments: vec![variable],
        kinds: vec![kind],
        span,
    }))
}

/// The placeholders of the message, each once. Faulty ones are reported and left out.
fn placeholders(builder: &mut Builder<'_>, alternatives: &[Alternative], notes: &Notes) -> Vec<Placeholder> {
    let Some((written, span)) = &notes.message else { return Vec::new() };
    let mut found: Vec<Placeholder> = Vec::new();
    for piece in written {
        let Written::Name(name) = piece else { continue };
        if found.iter().any(|placeholder| placeholder.name == *name) {
            continue;
        }
        match placeholder_type(builder, alternatives, name) {
            Ok(type_id) => found.push(Placeholder { name: name.clone(), type_id }),
            Err((message, help)) => {
                let place = place(builder.sources.text(*span), name);
                let span = place.map_or(*span, |at| annotations::inside(*span, at));
                let finding =
                    Diagnostic::error("E0053", span, message).with_label("in this message").with_help(help);
                builder.findings.push(finding);
            }
        }
    }
    found
}

/// Where a message has the placeholder first.
fn place(message: &str, name: &str) -> Option<Range<usize>> {
    let written = format!("{{{name}}}");
    let opens = |at: usize| {
        let before = message.get(..at).unwrap_or("");
        (before.len() - before.trim_end_matches('{').len()) % 2 == 0
    };
    let at = message.match_indices(&written).map(|(at, _)| at).find(|&at| opens(at))?;
    Some(at..at + written.len())
}

fn placeholder_type(
    builder: &Builder<'_>,
    alternatives: &[Alternative],
    name: &str,
) -> Result<TypeId, (String, String)> {
    let types: Vec<_> = alternatives
        .iter()
        .filter_map(|alternative| {
            let id = alternative.names.get(name)?;
            alternative.lowered.variables.get(id.0 as usize).map(|variable| variable.type_id)
        })
        .collect();
    let Some(&first) = types.first() else {
        let inner = |alternative: &Alternative| {
            alternative.lowered.variables.iter().any(|variable| variable.name == name)
        };
        if alternatives.iter().any(inner) {
            let help = format!(
                "show the aggregate's result, as in `n = count : {{ … }}` with `{{n}}`, or bind `{name}` by a literal \
                 outside of it too"
            );
            return Err((format!("`{{{name}}}` is bound inside an aggregate only"), help));
        }
        let known = alternatives.iter().flat_map(|alternative| alternative.names.keys().map(String::as_str));
        let otherwise = "name a variable of the rule, or write `{{` for a brace";
        return Err((
            format!("`{{{name}}}` names no variable of the rule"),
            suggest::did_you_mean(name, known, otherwise),
        ));
    };
    if types.len() < alternatives.len() {
        let message = format!("`{{{name}}}` has no value in one of the branches of `;`");
        return Err((message, "bind the variable in every branch, or split the rule".to_owned()));
    }
    if types.iter().all(|&type_id| type_id == first) {
        return Ok(first);
    }
    let kind = builder.schema.types.kind(first);
    let same_kind = types.iter().all(|&type_id| builder.schema.types.kind(type_id) == kind);
    match Schema::primitive(kind) {
        Some(primitive) if same_kind => Ok(primitive),
        Some(_) | None => {
            let message = format!("`{{{name}}}` has different types in the branches of `;`");
            Err((message, "split the rule, or use variables of two names".to_owned()))
        }
    }
}

fn pieces(written: &[Written], placeholders: &[Placeholder]) -> Vec<Piece> {
    let piece = |written: &Written| match written {
        Written::Text(text) => Some(Piece::Text(text.clone())),
        Written::Name(name) => {
            let at = placeholders.iter().position(|placeholder| placeholder.name == *name)?;
            Some(Piece::Value { name: name.clone(), column: at + 1 })
        }
    };
    written.iter().filter_map(piece).collect()
}

/// Reports a `DenialReason` head whose kind is a text that is no kind.
pub(crate) fn check_kind(builder: &mut Builder<'_>, head: &ast::Atom) {
    let Some(ast::Term { kind: ast::TermKind::Text(text), span }) = head.terms.get(1) else { return };
    if text != "block" && text != "ask" {
        let finding = Diagnostic::error("E0045", *span, format!("`{text}` is no kind of reason"))
            .with_label("must be \"block\" or \"ask\"")
            .with_help(suggest::did_you_mean(
                text,
                ["block", "ask"].into_iter(),
                "write \"block\" to deny, \"ask\" to wait for approval",
            ));
        builder.findings.push(finding);
    }
}

impl Builder<'_> {
    /// A text as a constant term.
    pub(crate) fn text(&mut self, text: &str) -> Term {
        Term::Constant(Word::symbol(self.pool.symbol(text)))
    }
}
