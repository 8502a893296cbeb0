//! Paths into JSON, and texts that are hosts, addresses and paths of files.

use std::collections::BTreeMap;

use crate::functor::{self, Role};
use crate::program::findings::Findings;
use crate::program::include::Unit;
use crate::program::lints::scope::{Scope, Source, functor_of};
use crate::program::lints::view::{Looked, Side, View, rules_of};
use crate::program::normalise;
use crate::program::schema::PRELUDE_FILE;
use crate::program::{Call, Term};
use crate::source::{Diagnostic, Span};
use crate::syntax::ast;

/// How deep calls inside calls are followed; a definition may hold its own variable.
const DEPTH: usize = 24;

/// Warns of paths that never match, of tests that see only text, and of texts in two Unicode forms.
pub(crate) fn lint(view: &View<'_>, findings: &mut Findings) {
    for looked in &view.rules {
        for call in looked.scope.calls() {
            prefix(view, looked, call, findings);
            plain_text(looked, call, findings);
        }
    }
    view.units.iter().flat_map(rules_of).for_each(|rule| forms(rule, findings));
    mixed(view.units, findings);
}

/// `s:` on keys of metadata, and on nothing else.
fn prefix(view: &View<'_>, looked: &Looked<'_>, call: &Call, findings: &mut Findings) {
    let Some(functor) = functor_of(call).filter(|functor| functor.name.starts_with("json_")) else { return };
    let scope = &looked.scope;
    let (Some(text), Some(key)) = (call.arguments.first(), call.arguments.get(1)) else { return };
    let (Some(source), Some(path)) = (scope.source(text), scope.literal(key)) else { return };
    let is_path = functor.parameters.get(1).is_some_and(|parameter| parameter.role == Role::Path);
    let segments: Vec<&str> = if is_path { segments(path) } else { vec![path] };
    let is_prefixed = |segment: &&str| segment.starts_with("s:") || segment.starts_with('[');
    let written = view.argument(call.span, 1).filter(|term| matches!(term.kind, ast::TermKind::Text(_)));
    let span = written.map_or(call.span, |term| term.span);
    let finding = match source {
        Source::Metadata if !segments.iter().all(is_prefixed) => {
            Diagnostic::warning("W0018", span, format!("`{path}` is never found in metadata"))
                .with_label("keys of `MessageMetadata` begin with `s:`")
                .with_help(format!(
                    "the functor sees a missing field, and what the rule guards against passes: write `{}`",
                    rewritten(path, is_path, &|segment| {
                        if is_prefixed(&segment) { segment.to_owned() } else { format!("s:{segment}") }
                    })
                ))
        }
        Source::Arguments | Source::Past | Source::Contents
            if segments.iter().any(|key| key.starts_with("s:")) =>
        {
            Diagnostic::warning("W0019", span, format!("`{path}` reads keys that begin with `s:`"))
                .with_label("only keys of `MessageMetadata` do")
                .with_help(format!(
                    "the functor sees a missing field, and what the rule guards against passes: write `{}`",
                    rewritten(path, is_path, &stripped)
                ))
        }
        Source::Metadata
        | Source::Arguments
        | Source::Past
        | Source::Contents
        | Source::Address
        | Source::Host => return,
    };
    let change = |segment: &str| match source {
        Source::Metadata if !is_prefixed(&segment) => format!("s:{segment}"),
        Source::Metadata => segment.to_owned(),
        _ => stripped(segment),
    };
    let fixed = rewritten(path, is_path, &change);
    let is_plain = !path.contains(['"', '\\', '[']);
    let finding = match written {
        Some(term) if is_plain => {
            finding.with_fix(format!("write `{fixed}`"), vec![(term.span, format!("\"{fixed}\""))])
        }
        Some(_) | None => finding,
    };
    findings.push(finding);
}

fn stripped(segment: &str) -> String {
    segment.strip_prefix("s:").unwrap_or(segment).to_owned()
}

/// The keys of a path; quoted ones and places stay with their brackets.
fn segments(path: &str) -> Vec<&str> {
    if path.contains('"') {
        // Quoted keys may hold dots: such a path is left alone beyond its start.
        return path.split(['.', '[']).take(1).filter(|segment| !segment.is_empty()).collect();
    }
    path.split('.')
        .map(|segment| segment.split('[').next().unwrap_or(""))
        .filter(|key| !key.is_empty())
        .collect()
}

fn rewritten(path: &str, is_path: bool, change: &dyn Fn(&str) -> String) -> String {
    if !is_path || path.contains('"') {
        return change(path);
    }
    path.split('.').map(change).collect::<Vec<_>>().join(".")
}

/// What a text is, as far as its name or its origin tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Address,
    Host,
    Mailbox,
    Path,
}

/// What a text is, with its name for a person.
struct Named {
    meaning: Meaning,
    name: String,
    /// Whether fields of that name hold other things as well.
    is_vague: bool,
}

impl Named {
    fn sure(meaning: Meaning, name: String) -> Self {
        Self { meaning, name, is_vague: false }
    }
}

/// `contains`, prefixes and open patterns on addresses, hosts and paths.
fn plain_text(looked: &Looked<'_>, call: &Call, findings: &mut Findings) {
    if looked.side == Side::Neither {
        return;
    }
    let scope = &looked.scope;
    let Some(functor) = functor_of(call) else { return };
    let (text, part) = match functor.name {
        "contains" | "match" | "regex_is_match" | "glob_match" => {
            (call.arguments.get(1), call.arguments.first())
        }
        "str_contains" | "str_starts_with" | "str_ends_with" => {
            (call.arguments.first(), call.arguments.get(1))
        }
        _ => return,
    };
    let (Some(text), Some(part)) = (text, part) else { return };
    let literal = scope.literal(part);
    let named = named(scope, text, DEPTH).filter(|named| !named.is_vague || literal.is_none_or(is_mail));
    let found = named.map(|named| (named.meaning, named.name));
    let Some((meaning, name)) = found.or_else(|| mailbox(looked, text, functor.name, literal?, DEPTH)) else {
        return;
    };
    let is_open = match (functor.name, literal) {
        // A pattern without a gap names each text in full.
        ("match", Some(pattern)) => [".*", ".+", "[^", "\\S", "\\w"].iter().any(|gap| pattern.contains(gap)),
        // A glob sees where labels and folders end, but not where dots lead.
        ("glob_match", _) => meaning == Meaning::Path,
        // A single sign that must not occur is looked for in the text as it is.
        (_, Some(part)) => part.chars().any(char::is_alphanumeric) || part.len() > 2,
        (_, None) => true,
    };
    if !is_open || is_also_read(scope, text, meaning) {
        return;
    }
    let word = if functor.intrinsic { functor.name.to_owned() } else { format!("@{}", functor.name) };
    let (message, help) = match meaning {
        Meaning::Path => (
            format!("`{word}` compares the path {name} as text"),
            "`/data/../etc/passwd` has the prefix `/data/` and is elsewhere: compare `@path_normalize(…)`, with a `/` at the end of the prefix",
        ),
        Meaning::Address => (
            format!("`{word}` compares the address {name} as text"),
            "`https://good.example@evil.example/` has the prefix of a good address, and goes elsewhere: compare the host with `@host_in_domain(@url_host(…), …)`, and `@url_scheme` and `@url_path` where they matter",
        ),
        Meaning::Mailbox => (
            format!("`{word}` compares the mail address {name} as text"),
            "`ann@evilcorp.example` ends with `corp.example`, and a text may hold several addresses: compare `@email_domain(…)`, which is `\"\"` unless there is just one, by `=` or with `@host_in_domain`",
        ),
        Meaning::Host => (
            format!("`{word}` compares the host {name} as text"),
            "`good.example.evil.example` contains the good name, and `evilgood.example` ends with it: use `@host_in_domain`, which compares label by label",
        ),
    };
    let label = "a prefix or a part does not say where it leads";
    findings.push(Diagnostic::warning("W0020", call.span, message).with_label(label).with_help(help));
}

fn named(scope: &Scope<'_>, term: &Term, depth: usize) -> Option<Named> {
    let depth = depth.checked_sub(1)?;
    match scope.source(term) {
        Some(Source::Address) => return Some(Named::sure(Meaning::Address, "of a request".to_owned())),
        Some(Source::Host) => return Some(Named::sure(Meaning::Host, "of a request".to_owned())),
        Some(Source::Arguments | Source::Past | Source::Metadata | Source::Contents) | None => {}
    }
    scope.meanings(term).into_iter().find_map(|meaning| {
        let Term::Call(call) = meaning else { return None };
        let functor = functor_of(call)?;
        match functor.name {
            "url_host" => Some(Named::sure(Meaning::Host, "of an address".to_owned())),
            "email_domain" => Some(Named::sure(Meaning::Host, "of a mailbox".to_owned())),
            "str_to_lower" | "str_trim" | "str_fold" | "str_nfkc" => {
                call.arguments.first().and_then(|inner| named(scope, inner, depth))
            }
            name if name.starts_with("json_") => {
                let source = scope.source(call.arguments.first()?)?;
                let key = scope.literal(call.arguments.get(1)?)?;
                let is_call = matches!(source, Source::Arguments | Source::Past | Source::Metadata);
                let (meaning, is_vague) = by_name(key).filter(|_| is_call)?;
                Some(Named { meaning, name: format!("`{key}`"), is_vague })
            }
            _ => None,
        }
    })
}

/// An argument of any name that is compared with a piece of a mail address. In a denial that looks into a text, such a
/// piece may be what is sought.
fn mailbox(
    looked: &Looked<'_>,
    text: &Term,
    functor: &str,
    part: &str,
    depth: usize,
) -> Option<(Meaning, String)> {
    let depth = depth.checked_sub(1)?;
    let is_asked = looked.side == Side::Grants || functor == "str_ends_with";
    let (_, domain) = part.rsplit_once('@').filter(|_| is_asked)?;
    let is_domain = domain.contains('.') && !domain.contains(char::is_whitespace);
    is_domain.then_some(())?;
    looked.scope.meanings(text).into_iter().find_map(|meaning| {
        let Term::Call(call) = meaning else { return None };
        let inner = call.arguments.first()?;
        match functor_of(call)?.name {
            "str_to_lower" | "str_trim" | "str_fold" | "str_nfkc" => {
                mailbox(looked, inner, functor, part, depth)
            }
            name if name.starts_with("json_") => {
                looked.scope.source(inner).filter(|source| *source == Source::Arguments)?;
                let key = looked.scope.literal(call.arguments.get(1)?)?;
                Some((Meaning::Mailbox, format!("`{key}`")))
            }
            _ => None,
        }
    })
}

/// Whether the text looks like a piece of a mail address.
fn is_mail(part: &str) -> bool {
    let is_label = |label: &str| label.starts_with(char::is_alphanumeric) || label.starts_with('\\');
    part.contains('@') || part.trim_end_matches('.').split_once('.').is_some_and(|(_, rest)| is_label(rest))
}

/// What an argument of that name holds, and whether such arguments hold other things as well.
fn by_name(path: &str) -> Option<(Meaning, bool)> {
    let last = path.rsplit(['.', ':']).next().unwrap_or(path).to_lowercase();
    let last = last.trim_matches(|letter: char| !letter.is_alphanumeric());
    let words: Vec<&str> = last.split(['_', '-']).collect();
    match words.last().copied().unwrap_or_default() {
        "url" | "uri" | "href" | "link" | "endpoint" | "webhook" => Some((Meaning::Address, false)),
        "host" | "hostname" | "domain" => Some((Meaning::Host, false)),
        "cc" | "bcc" | "email" | "mailbox" | "mail" => Some((Meaning::Mailbox, false)),
        "to" | "recipient" | "recipients" | "address" | "emails" | "mails" => Some((Meaning::Mailbox, true)),
        "path" | "file" | "filename" | "filepath" | "dir" | "directory" | "folder" => {
            Some((Meaning::Path, false))
        }
        _ => None,
    }
}

/// Whether the rule also reads the text for what it is.
fn is_also_read(scope: &Scope<'_>, text: &Term, meaning: Meaning) -> bool {
    let wanted: &[&str] = match meaning {
        Meaning::Path => &["path_normalize"],
        Meaning::Address => &["url_host", "host_in_domain", "registrable_domain", "host_is_private"],
        Meaning::Mailbox => &["email_domain"],
        Meaning::Host => &["host_in_domain", "registrable_domain"],
    };
    let own = scope.meanings(text);
    let same = |other: &Term| {
        let class = |term: &Term| match term {
            Term::Variable(id) => Some(scope.class(*id)),
            Term::Constant(_) | Term::Wildcard | Term::Construct(..) | Term::Call(_) => None,
        };
        let is_one = class(text).is_some() && class(text) == class(other);
        is_one || scope.meanings(other).iter().any(|meaning| {
            let alike = |own: &&Term| matches!((own, meaning), (Term::Call(a), Term::Call(b)) if a.function == b.function && a.arguments == b.arguments);
            own.iter().any(alike)
        })
    };
    scope.calls().iter().any(|call| {
        functor_of(call).is_some_and(|functor| wanted.contains(&functor.name))
            && call.arguments.first().is_some_and(same)
    })
}

/// Texts of a rule that are not in the composed form that most systems write.
fn forms(rule: &ast::Rule, findings: &mut Findings) {
    if rule.span.file == PRELUDE_FILE {
        return;
    }
    let mut texts = Vec::new();
    literals(rule, &mut texts);
    for (text, span) in texts {
        let composed = functor::composed(text);
        if composed != *text {
            let finding = Diagnostic::warning("W0033", span, "this text is written with combining characters")
                .with_label("looks like another text and is not equal to it")
                .with_help("texts are compared by code points, and most senders write the composed form: write it composed, or compare both sides after `@str_nfkc`");
            findings.push(finding);
        }
    }
}

/// Texts that differ in their Unicode form alone.
fn mixed(units: &[Unit], findings: &mut Findings) {
    let mut seen: BTreeMap<String, (&str, Span)> = BTreeMap::new();
    for rule in units.iter().flat_map(rules_of).filter(|rule| rule.span.file != PRELUDE_FILE) {
        let mut texts = Vec::new();
        literals(rule, &mut texts);
        for (text, span) in texts.into_iter().filter(|(text, _)| !text.is_ascii()) {
            let (first, place) = *seen.entry(functor::compatible(text)).or_insert((text, span));
            let told = functor::composed(text) != *text;
            if first != text && !told {
                let finding = Diagnostic::warning("W0033", span, "the policy writes this text in two Unicode forms")
                    .with_label("not equal to the other one")
                    .with_secondary(place, "the other one")
                    .with_help("texts are compared by code points: write both alike, or compare both sides after `@str_nfkc`");
                findings.push(finding);
            }
        }
    }
}

fn literals<'a>(rule: &'a ast::Rule, into: &mut Vec<(&'a String, Span)>) {
    let mut terms: Vec<&ast::Term> = rule.heads.iter().flat_map(|head| &head.terms).collect();
    rule.body.iter().for_each(|body| normalise::terms_of(body, &mut terms));
    while let Some(term) = terms.pop() {
        match &term.kind {
            ast::TermKind::Text(text) => into.push((text, term.span)),
            ast::TermKind::Aggregate(aggregate) => {
                terms.extend(&aggregate.target);
                normalise::terms_of(&aggregate.body, &mut terms);
            }
            _ => terms.extend(normalise::parts(term)),
        }
    }
    into.sort_by_key(|(_, span)| *span);
}
