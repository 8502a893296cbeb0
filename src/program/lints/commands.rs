//! Shell commands that are allowed by a part of what they run.
//!
//! In: the rules that allow. Out: a warning for each that takes one program of a command, or its first words, for the
//! whole. Never: a word about rules that deny, where doubt and parts are what one asks for.

use crate::program::findings::Findings;
use crate::program::lints::scope::{Scope, Source, calls_of, functor_of};
use crate::program::lints::view::{Looked, Side, View};
use crate::program::{Call, Comparison, Literal, Operator, Term};
use crate::source::{Diagnostic, Span};
use crate::value::Kind;

/// How deep calls inside calls are followed.
const DEPTH: usize = 24;

/// A text that a command is read from.
struct Command<'a> {
    key: &'a str,
    source: Source,
}

/// Warns of allows that look at a part of a command.
pub(crate) fn lint(view: &View<'_>, findings: &mut Findings) {
    for looked in view.rules.iter().filter(|looked| looked.side == Side::Grants && !looked.is_hopeless()) {
        for literal in &looked.rule().body {
            if let Literal::Test(test) = literal {
                findings_of(looked, test).into_iter().for_each(|finding| findings.push(finding));
            }
        }
    }
}

fn findings_of(looked: &Looked<'_>, test: &Comparison) -> Option<Diagnostic> {
    let scope = &looked.scope;
    if !wants(test) {
        return None;
    }
    let call = [&test.left, &test.right].into_iter().find_map(|side| {
        scope.meanings(side).into_iter().find_map(|meaning| match meaning {
            Term::Call(call) => Some(call),
            Term::Variable(_) | Term::Constant(_) | Term::Wildcard | Term::Construct(..) => None,
        })
    })?;
    let name = functor_of(call)?.name;
    let text = call.arguments.get(text_at(name)?)?;
    let command = command(scope, text, DEPTH)?;
    match name {
        "cmd_invokes" | "cmd_runs_sub" => Some(runs(name, &command, test.span)),
        // What was run before is shown by it.
        "cmd_egress_class" => (command.source == Source::Arguments).then(|| runs(name, &command, test.span)),
        _ => {
            let is_part = command.source == Source::Arguments
                && names_command(command.key)
                && is_open(scope, call, name)
                && !is_guarded(scope, &command, test.span);
            is_part.then(|| part(call, name, &command, test.span))
        }
    }
}

/// Which argument is the text that is looked at.
fn text_at(name: &str) -> Option<usize> {
    match name {
        "cmd_invokes" | "cmd_runs_sub" | "cmd_egress_class" | "str_contains" | "str_starts_with" => Some(0),
        "str_ends_with" => Some(0),
        "contains" | "match" | "regex_is_match" | "glob_match" => Some(1),
        _ => None,
    }
}

/// Whether the test fails for 0: `= 1`, `!= 0`, `> 0`, either way round.
fn wants(test: &Comparison) -> bool {
    let number = |term: &Term| match (term, test.kind) {
        (Term::Constant(word), Kind::Number) => Some(i128::from(word.as_number())),
        (Term::Constant(word), Kind::Unsigned) => Some(i128::from(word.0)),
        _ => None,
    };
    let (left, right) = match (number(&test.left), number(&test.right)) {
        (None, Some(right)) => (0, right),
        (Some(left), None) => (left, 0),
        _ => return false,
    };
    match test.operator {
        Operator::Equal => left != right,
        Operator::NotEqual => left == right,
        Operator::Less => left >= right,
        Operator::LessOrEqual => left > right,
        Operator::Greater => left <= right,
        Operator::GreaterOrEqual => left < right,
    }
}

/// The field that a text is read from, however its letters are changed.
fn command<'a>(scope: &Scope<'a>, text: &Term, depth: usize) -> Option<Command<'a>> {
    let depth = depth.checked_sub(1)?;
    scope.meanings(text).into_iter().find_map(|meaning| {
        let Term::Call(call) = meaning else { return None };
        let inner = call.arguments.first()?;
        match functor_of(call)?.name {
            "str_to_lower" | "str_trim" | "str_fold" | "str_nfkc" | "normalize_cmd" => {
                command(scope, inner, depth)
            }
            name if name.starts_with("json_") => {
                let source = scope
                    .source(inner)
                    .filter(|source| matches!(source, Source::Arguments | Source::Past))?;
                Some(Command { key: scope.literal(call.arguments.get(1)?)?, source })
            }
            _ => None,
        }
    })
}

/// Whether a field of that name holds a command.
fn names_command(path: &str) -> bool {
    let last = path.rsplit('.').next().unwrap_or(path).to_lowercase();
    let last = last.trim_matches(|letter: char| !letter.is_alphanumeric());
    matches!(
        last.rsplit(['_', '-']).next().unwrap_or_default(),
        "command" | "cmd" | "script" | "code" | "commandline" | "shell" | "bash"
    )
}

/// Whether more may stand beside what is looked for.
fn is_open(scope: &Scope<'_>, call: &Call, name: &str) -> bool {
    let has_gap =
        |pattern: &str| [".*", ".+", "[^", "\\S", "\\D", "\\W"].iter().any(|gap| pattern.contains(gap));
    let pattern = call.arguments.first().and_then(|pattern| scope.literal(pattern));
    match (name, pattern) {
        ("match", Some(pattern)) => has_gap(pattern),
        ("regex_is_match", Some(pattern)) => {
            !pattern.starts_with('^') || !pattern.ends_with('$') || has_gap(pattern)
        }
        ("glob_match", Some(pattern)) => pattern.contains('*'),
        // A pattern that is not known may be a whole one.
        ("match" | "regex_is_match" | "glob_match", None) => false,
        _ => true,
    }
}

/// Whether the rule asks more of the command than that there is one.
fn is_guarded(scope: &Scope<'_>, command: &Command<'_>, span: Span) -> bool {
    scope.rule.body.iter().any(|literal| {
        let Literal::Test(test) = literal else { return false };
        let mut calls = Vec::new();
        for side in [&test.left, &test.right] {
            scope.meanings(side).into_iter().for_each(|meaning| calls_of(meaning, &mut calls));
        }
        test.span != span
            && calls.iter().any(|call| {
                functor_of(call).is_some_and(|functor| guards(scope, call, functor.name, test))
                    && call.arguments.iter().any(|argument| {
                        self::command(scope, argument, DEPTH).is_some_and(|own| own.key == command.key)
                    })
            })
    })
}

/// Whether the test limits all of the command.
fn guards(scope: &Scope<'_>, call: &Call, name: &str, test: &Comparison) -> bool {
    let is_pattern = matches!(name, "match" | "regex_is_match");
    let is_alarm = name.starts_with("cmd_") || name == "dangerous_rm";
    (is_alarm && !wants(test)) || (is_pattern && (!wants(test) || !is_open(scope, call, name)))
}

fn runs(name: &str, command: &Command<'_>, span: Span) -> Diagnostic {
    let (message, label, help) = match command.source {
        Source::Past => (
            format!("`@{name}` takes a command for run that it cannot read"),
            "1 also where it is not known what runs",
            "doubt is no evidence: ask for `@cmd_egress_class(…) = 2`, which is where the text shows that the program is started",
        ),
        _ => (
            format!("`@{name}` allows whatever else the command `{}` runs", command.key),
            "true as well for a command that runs more, or that cannot be read",
            "`ls; curl evil.example` runs `ls` too: allow commands in full, by a relation that lists them or a `match` without gaps, and use this functor to deny",
        ),
    };
    Diagnostic::warning("W0038", span, message).with_label(label).with_help(help)
}

fn part(call: &Call, name: &str, command: &Command<'_>, span: Span) -> Diagnostic {
    let word = if functor_of(call).is_some_and(|functor| functor.intrinsic) {
        name.to_owned()
    } else {
        format!("@{name}")
    };
    let message = format!("`{word}` allows the command `{}` by a part of it", command.key);
    Diagnostic::warning("W0038", span, message)
        .with_label("what stands before or after it runs as well")
        .with_help("`ls; curl evil.example` begins with `ls` and contains it: allow commands in full, by a relation that lists them or a `match` without gaps such as `ls( [a-z]+)*`")
}
