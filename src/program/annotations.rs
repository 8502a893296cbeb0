//! What the comments above a rule say about it.

use std::ops::Range;

use crate::functor;
use crate::functor::Role;
use crate::program::DecisionKind;
use crate::program::findings::Findings;
use crate::program::suggest;
use crate::source::Diagnostic;
use crate::source::Span;
use crate::syntax::ast;

/// A key that a comment above a rule may carry.
#[derive(Debug, Clone, Copy)]
pub struct AnnotationKey {
    /// The key, without `@`.
    pub name: &'static str,
    /// Other spellings of it.
    pub aliases: &'static [&'static str],
    /// What follows it on the line.
    pub value: &'static str,
    /// The rules that it may stand on, by the relation of their heads.
    pub stands_on: &'static [&'static str],
    /// What it does there, in one sentence.
    pub documentation: &'static str,
}

const DECISIONS: &[&str] = &["IsAuthorized", "Unauthorized", "DenialReason"];

/// Every key that is read.
pub const ANNOTATIONS: &[AnnotationKey] = &[
    AnnotationKey {
        name: "id",
        aliases: &[],
        value: "name",
        stands_on: DECISIONS,
        documentation: "The name of the rule in reports, instead of its relation, file and line.",
    },
    AnnotationKey {
        name: "deny_message",
        aliases: &["message", "reason"],
        value: "text with placeholders",
        stands_on: &["IsAuthorized", "Unauthorized"],
        documentation: "The reason that is shown: for a deny or ask rule when it fires, for an allow rule when no \
                        allow rule fired and this one concerns the action.",
    },
    AnnotationKey {
        name: "suggestion",
        aliases: &["fix", "hint"],
        value: "text",
        stands_on: DECISIONS,
        documentation: "What to do instead, shown with the reason; may be repeated, and all are kept in order.",
    },
    AnnotationKey {
        name: "ask",
        aliases: &[],
        value: "",
        stands_on: &["Unauthorized"],
        documentation: "A person decides where the rule fires; it has to stand directly above the rule. With `self` an answer counts also if it comes from the principal that runs the session, or from nobody known.",
    },
    AnnotationKey {
        name: "tool_pattern",
        aliases: &[],
        value: "regular expression",
        stands_on: &["IsAuthorized"],
        documentation: "The rule's message and route are shown for calls of tools whose whole name matches.",
    },
    AnnotationKey {
        name: "url_pattern",
        aliases: &[],
        value: "regular expression",
        stands_on: &["IsAuthorized"],
        documentation: "The rule's message and route are shown for requests whose whole URL matches.",
    },
    AnnotationKey {
        name: "broad",
        aliases: &[],
        value: "anything or nothing",
        stands_on: DECISIONS,
        documentation: "Kept with the rule; decides nothing.",
    },
    AnnotationKey {
        name: "category",
        aliases: &[],
        value: "anything or nothing",
        stands_on: DECISIONS,
        documentation: "Kept with the rule; decides nothing.",
    },
    AnnotationKey {
        name: "tag",
        aliases: &[],
        value: "anything or nothing",
        stands_on: DECISIONS,
        documentation: "Kept with the rule; decides nothing.",
    },
];

/// Whether an annotation of that key is the message of a denial, in which `{name}` shows a variable.
#[must_use]
pub fn is_message(key: &str) -> bool {
    canonical(key) == Some("deny_message")
}

/// The relations that a decision is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// `IsAuthorized`
    Allow,
    /// `Unauthorized`
    Deny,
    /// `DenialReason`
    Reason,
}

impl Subject {
    /// What a rule with that head is about, if it is about the decision.
    pub(crate) fn of(relation: &str) -> Option<Self> {
        match relation {
            "IsAuthorized" => Some(Self::Allow),
            "Unauthorized" => Some(Self::Deny),
            "DenialReason" => Some(Self::Reason),
            _ => None,
        }
    }
}

/// A piece of a message as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Written {
    Text(String),
    Name(String),
}

/// The annotations of one rule.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub(crate) id: Option<String>,
    pub(crate) message: Option<(Vec<Written>, Span)>,
    pub(crate) suggestions: Vec<String>,
    pub(crate) ask: bool,
    pub(crate) tool_pattern: Option<String>,
    pub(crate) url_pattern: Option<String>,
    pub(crate) metadata: Vec<(String, String)>,
}

impl Notes {
    /// What a rule about that subject says when it fires.
    pub(crate) fn kind(&self, subject: Subject) -> DecisionKind {
        match subject {
            Subject::Allow => DecisionKind::Allow,
            Subject::Deny if self.ask => DecisionKind::Ask,
            Subject::Deny => DecisionKind::Deny,
            Subject::Reason => DecisionKind::Reason,
        }
    }
}

/// Reads the annotations of a rule for one of its heads.
pub(crate) fn read(annotations: &[ast::Annotation], subject: Subject, findings: &mut Findings) -> Notes {
    let mut reader = Reader { notes: Notes::default(), subject, first: Vec::new(), findings };
    annotations.iter().for_each(|annotation| reader.annotation(annotation));
    reader.notes
}

/// Warns of annotations that nothing reads.
pub(crate) fn check_keys(annotations: &[ast::Annotation], findings: &mut Findings) {
    for annotation in annotations {
        let key = &annotation.key;
        if canonical(&key.text).is_none() {
            let known = ANNOTATIONS.iter().flat_map(|known| [&[known.name], known.aliases].concat());
            let help = suggest::nearest(&key.text, known).map_or_else(
                || "it is ignored; the known ones are listed in the language reference".to_owned(),
                |near| format!("did you mean `@{near}`?"),
            );
            let finding =
                Diagnostic::warning("W0002", key.span, format!("no annotation is called `@{}`", key.text))
                    .with_label("ignored")
                    .with_help(help);
            findings.push(finding);
        }
    }
}

fn canonical(key: &str) -> Option<&'static str> {
    let known = ANNOTATIONS.iter().find(|known| known.name == key || known.aliases.contains(&key));
    known.map(|known| known.name)
}

struct Reader<'a> {
    notes: Notes,
    subject: Subject,
    /// Keys that were met, with their places.
    first: Vec<(&'static str, ast::Name)>,
    findings: &'a mut Findings,
}

impl Reader<'_> {
    fn annotation(&mut self, annotation: &ast::Annotation) {
        let Some(key) = canonical(&annotation.key.text) else { return };
        let value = annotation.value.clone();
        match key {
            "deny_message" => self.message(annotation),
            "suggestion" => self.notes.suggestions.push(value),
            "ask" => self.ask(annotation),
            "tool_pattern" => {
                if self.pattern(key, annotation) {
                    self.notes.tool_pattern = Some(value);
                }
            }
            "url_pattern" => {
                if self.pattern(key, annotation) {
                    self.notes.url_pattern = Some(value);
                }
            }
            "id" => {
                if self.once(key, annotation) && self.has_value(annotation) {
                    self.notes.id = Some(value);
                }
            }
            _ => self.notes.metadata.push((key.to_owned(), value)),
        }
    }

    /// False, with a finding, where the key was there already.
    fn once(&mut self, key: &'static str, annotation: &ast::Annotation) -> bool {
        if let Some((_, first)) = self.first.iter().find(|(met, _)| *met == key) {
            let spelt = &annotation.key.text;
            let help = if *spelt == first.text {
                "keep one of the two; only `@suggestion` may be repeated".to_owned()
            } else {
                let other = if spelt == key { &first.text } else { spelt };
                format!("`@{other}` is another name for `@{key}`: keep one of the two")
            };
            let finding =
                Diagnostic::error("E0054", annotation.key.span, format!("the rule has a second `@{key}`"))
                    .with_label("given again")
                    .with_secondary(first.span, "given here first")
                    .with_help(help);
            self.findings.push(finding);
            return false;
        }
        self.first.push((key, annotation.key.clone()));
        true
    }

    fn has_value(&mut self, annotation: &ast::Annotation) -> bool {
        let given = !annotation.value.is_empty();
        if !given {
            let message = format!("`@{}` is given without a value", annotation.key.text);
            let finding = Diagnostic::warning("W0004", annotation.key.span, message)
                .with_help("write the value after it, on the same line");
            self.findings.push(finding);
        }
        given
    }

    fn refuse(&mut self, annotation: &ast::Annotation, message: &str, help: &str) {
        let finding = Diagnostic::error("E0052", annotation.key.span, message)
            .with_label("has no effect here")
            .with_help(help);
        self.findings.push(finding);
    }

    fn message(&mut self, annotation: &ast::Annotation) {
        if self.subject == Subject::Reason {
            let message = format!("`@{}` cannot stand on a `DenialReason` rule", annotation.key.text);
            self.refuse(annotation, &message, "the third column of the head is the reason");
            return;
        }
        if self.once("deny_message", annotation) && self.has_value(annotation) {
            match pieces(&annotation.value) {
                Ok(pieces) => self.notes.message = Some((pieces, annotation.value_span)),
                Err((why, at)) => {
                    let finding = Diagnostic::error("E0053", inside(annotation.value_span, at), why)
                        .with_help("`{name}` shows a variable of the rule; write `{{` for a brace");
                    self.findings.push(finding);
                }
            }
        }
    }

    fn ask(&mut self, annotation: &ast::Annotation) {
        match self.subject {
            Subject::Allow => {
                self.refuse(
                    annotation,
                    "`@ask` cannot stand on an `IsAuthorized` rule",
                    "put it above the `Unauthorized` rule that waits for approval",
                );
                return;
            }
            Subject::Reason => {
                self.refuse(
                    annotation,
                    "`@ask` cannot stand on a `DenialReason` rule",
                    "write `\"ask\"` as the second column of the head",
                );
                return;
            }
            Subject::Deny => {}
        }
        if !annotation.adjacent {
            self.refuse(
                annotation,
                "`@ask` must stand directly above its rule",
                "remove the blank line between `@ask` and the rule",
            );
        } else if annotation.value == "self" {
            self.notes.metadata.push(("ask".to_owned(), "self".to_owned()));
        } else if !annotation.value.is_empty() {
            let message = format!("`@ask` takes no value but `self`, and `{}` is given", annotation.value);
            let help = "write `@ask` alone, or `@ask: self` where the principal that runs the agent may say yes itself; the \
                        reason is a `@deny_message`";
            self.refuse(annotation, &message, help);
        }
        self.notes.ask = true;
    }

    fn pattern(&mut self, key: &'static str, annotation: &ast::Annotation) -> bool {
        if self.subject != Subject::Allow {
            let message = format!(
                "`@{key}` has no effect here: it says for which actions an `IsAuthorized` rule is a hint"
            );
            self.findings
                .push(Diagnostic::warning("W0004", annotation.key.span, message).with_help("remove it"));
            return false;
        }
        if !self.once(key, annotation) || !self.has_value(annotation) {
            return false;
        }
        if let Err(why) = functor::check_literal(Role::Pattern, &annotation.value) {
            let message = format!("`{}` is a malformed pattern: {why}", annotation.value);
            let finding = Diagnostic::error("E0044", annotation.value_span, message)
                .with_label("malformed pattern")
                .with_help("it is a regular expression that matches the whole name or address");
            self.findings.push(finding);
            return false;
        }
        true
    }
}

/// A part of a text that stands at that place.
pub(crate) fn inside(span: Span, part: Range<usize>) -> Span {
    let place = |at: usize| span.start.saturating_add(u32::try_from(at).unwrap_or(u32::MAX)).min(span.end);
    Span { start: place(part.start), end: place(part.end), ..span }
}

/// Splits a message at its placeholders.
fn pieces(message: &str) -> Result<Vec<Written>, (String, Range<usize>)> {
    let (mut pieces, mut text) = (Vec::new(), String::new());
    let mut rest = message;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        text.push_str(before);
        if let Some(after) = from.strip_prefix("{{") {
            text.push('{');
            rest = after;
        } else if let Some(after) = from.strip_prefix("}}") {
            text.push('}');
            rest = after;
        } else if let Some(after) = from.strip_prefix('}') {
            text.push('}');
            rest = after;
        } else {
            let inside = from.strip_prefix('{').unwrap_or(from);
            let Some((name, after)) = inside.split_once('}') else {
                let at = message.len() - from.len();
                return Err(("`{` opens a placeholder that is not closed".to_owned(), at..message.len()));
            };
            let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '?')
                && name.chars().next().is_some_and(|c| !c.is_ascii_digit());
            if !is_name {
                let at = message.len() - from.len();
                let why = format!("`{{{name}}}` is no placeholder: it holds no variable's name");
                return Err((why, at..at + name.len() + 2));
            }
            if !text.is_empty() {
                pieces.push(Written::Text(std::mem::take(&mut text)));
            }
            pieces.push(Written::Name(name.to_owned()));
            rest = after;
        }
    }
    text.push_str(rest);
    if !text.is_empty() {
        pieces.push(Written::Text(text));
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_names_in_braces() {
        let text = |text: &str| Written::Text(text.to_owned());
        let name = |name: &str| Written::Name(name.to_owned());
        let rows = [
            ("plain", Ok(vec![text("plain")])),
            ("{t} by {who}", Ok(vec![name("t"), text(" by "), name("who")])),
            ("{{a}} {b}}}", Ok(vec![text("{a} "), name("b"), text("}")])),
            ("a } b", Ok(vec![text("a } b")])),
            ("", Ok(Vec::new())),
        ];
        for (message, expected) in rows {
            assert_eq!(pieces(message), expected, "{message}");
        }
        for message in ["{", "{}", "{m.contents}", "{\"a\": 1}", "{ a }"] {
            assert!(pieces(message).is_err(), "{message}");
        }
    }
}
