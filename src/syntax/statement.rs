//! From one statement to the next: what each is, and where reading goes on after a faulty one.

use std::iter::Peekable;
use std::slice::Iter;

use nom::{Err, Parser};

use crate::source::Diagnostic;
use crate::source::Span;
use crate::syntax::annotation;
use crate::syntax::ast::Comment;
use crate::syntax::ast::DirectiveKind;
use crate::syntax::ast::Item;
use crate::syntax::ast::Program;
use crate::syntax::declaration;
use crate::syntax::diagnosis;
use crate::syntax::lexer::DIRECTIVES;
use crate::syntax::rule;
use crate::syntax::tokens::Fault;
use crate::syntax::tokens::Kind;
use crate::syntax::tokens::Page;
use crate::syntax::tokens::Parsed;
use crate::syntax::tokens::Token;
use crate::syntax::tokens::Tokens;

/// A fault with the token that it was met at.
struct Refusal {
    finding: Diagnostic,
    met: u32,
}

/// `program = statement*`. Each faulty statement is left out, with one finding for the first of its faults.
pub(crate) fn program(page: &Page<'_>) -> (Program, Vec<Diagnostic>) {
    let comments = page.remarks.iter().map(|remark| Comment { span: remark.span }).collect();
    let mut program = Program { items: Vec::new(), comments };
    let mut findings = page.stray.clone();
    let mut spelling = page.faults.iter().peekable();
    let mut at = 0;
    while page.token(at).is_some() {
        let (next, read) = statement(page, at);
        let limit = page.token(next).map_or(u32::MAX, |token| token.span.start);
        match (read, first_before(&mut spelling, limit)) {
            (Ok(items), None) => program.items.extend(items),
            (Err(refusal), Some(fault)) if refusal.met < fault.primary.span.start => {
                findings.push(refusal.finding);
            }
            (_, Some(fault)) => findings.push(fault),
            (Err(refusal), None) => findings.push(refusal.finding),
        }
        at = next;
    }
    findings.sort_by_key(|finding| finding.primary.span);
    (program, findings)
}

/// The first of the faults that start before the limit; all of them are passed.
fn first_before(faults: &mut Peekable<Iter<'_, Diagnostic>>, limit: u32) -> Option<Diagnostic> {
    let first = faults.next_if(|fault| fault.primary.span.start < limit)?;
    while faults.next_if(|fault| fault.primary.span.start < limit).is_some() {}
    Some(first.clone())
}

/// `statement = directive | include | preprocessor line | rule`. Gives the place of the next one, which is further on.
fn statement(page: &Page<'_>, at: usize) -> (usize, Result<Vec<Item>, Refusal>) {
    let input = Tokens::new(page, at);
    let parsed = match input.kind(0) {
        Some(Kind::Directive) => directive(input),
        Some(Kind::Include) => declaration::include(input),
        Some(Kind::Preprocessor) => {
            // A backslash at the end of the line continues it and is no part of the word.
            let word = page.word(at).split_whitespace().next().unwrap_or("#").trim_end_matches('\\');
            Ok((input.rest(), unsupported(word, input.span())))
        }
        _ => rule_items(input),
    };
    match parsed {
        Ok((rest, items)) => (rest.at.max(at + 1), Ok(items)),
        Err(error) => {
            let fault = match error {
                Err::Error(fault) | Err::Failure(fault) => fault,
                Err::Incomplete(_) => input.wanted("more"),
            };
            let met = Tokens::new(page, fault.at).span().start;
            let next = resume(page, at, fault.at).max(at + 1);
            (next, Err(Refusal { finding: diagnosis::diagnose(page, at, fault), met }))
        }
    }
}

fn unsupported(what: &str, span: Span) -> Vec<Item> {
    vec![Item::Unsupported { what: what.to_owned(), span }]
}

fn rule_items(input: Tokens<'_>) -> Parsed<'_, Vec<Item>> {
    let begins = input.word().is_some_and(|_| input.kind(1) == Some(Kind::Open));
    let (rest, found) = match rule::rule(input) {
        Err(Err::Error(Fault { at, .. }) | Err::Failure(Fault { at, .. })) if at == input.at && !begins => {
            return Err(Err::Error(input.wanted("a fact, a rule or a directive")));
        }
        other => other?,
    };
    match found {
        rule::Statement::Rule(mut rule) => {
            rule.annotations = annotation::annotations(input.page, input.at);
            Ok((rest, vec![Item::Rule(*rule)]))
        }
        rule::Statement::Subsumption => {
            let after = Tokens::new(input.page, resume(input.page, input.at, rest.at));
            Ok((after, unsupported("subsumption `<=`", after.since(input.span()))))
        }
    }
}

/// `directive = "." word …`
fn directive(input: Tokens<'_>) -> Parsed<'_, Vec<Item>> {
    match input.page.word(input.at) {
        ".type" => declaration::type_declaration(input),
        ".decl" => declaration::relation.map(|items| documented(input, items)).parse(input),
        ".output" => declaration::directive(input, DirectiveKind::Output),
        ".input" => declaration::directive(input, DirectiveKind::Input),
        ".printsize" => declaration::directive(input, DirectiveKind::PrintSize),
        ".include" => declaration::include(input),
        ".pragma" => declaration::pragma(input),
        word if DIRECTIVES.iter().any(|known| word.strip_prefix('.') == Some(known)) => {
            let after = extent(input, word);
            Ok((after, unsupported(word, after.since(input.span()))))
        }
        word => input.tell(diagnosis::unknown_directive(word, input.span())),
    }
}

fn documented(input: Tokens<'_>, mut items: Vec<Item>) -> Vec<Item> {
    for item in &mut items {
        if let Item::Relation(declaration) = item {
            declaration.documentation = annotation::documentation(input.page, input.at);
        }
    }
    items
}

/// What follows an unsupported directive: a component ends with its brace, any other with its lines.
fn extent<'a>(input: Tokens<'a>, word: &str) -> Tokens<'a> {
    let page = input.page;
    if word == ".comp" {
        let ends = |token: &Token| matches!(token.kind, Kind::OpenBrace | Kind::Stop) || token.leads;
        let tail = page.tokens.get(input.at + 1..).unwrap_or_default();
        if let Some(brace) = tail.iter().find(|token| ends(token))
            && brace.kind == Kind::OpenBrace
        {
            return Tokens::new(page, brace.partner.map_or(page.tokens.len(), |close| close + 1));
        }
    }
    let mut rest = input.rest();
    let mut before = None;
    while let Some(token) = rest.first() {
        let goes_on =
            matches!(before, Some(Kind::Comma | Kind::Colon | Kind::Less | Kind::Equal | Kind::Open));
        if token.kind == Kind::Directive || (token.leads && !goes_on) {
            break;
        }
        before = Some(token.kind);
        rest = rest.rest();
        if token.kind == Kind::Stop {
            break;
        }
    }
    rest
}

/// Where reading goes on after a fault: behind the full stop that ends the statement, or at a line that starts
/// with a directive or, no further indented than the statement, with what can only be the next rule.
fn resume(page: &Page<'_>, start: usize, fault: usize) -> usize {
    let first = page.token(start);
    let directive = first.is_some_and(|token| matches!(token.kind, Kind::Directive | Kind::Include));
    let margin = first.map_or(0, |token| token.column);
    let mut at = fault.max(start);
    while let Some(token) = page.token(at) {
        let starts = at > start && (token.leads || directive);
        match token.kind {
            Kind::Stop if !begins_fraction(page, at) => return at + 1,
            Kind::Directive | Kind::Include | Kind::Preprocessor if starts => return at,
            Kind::Word
                if at > start
                    && token.leads
                    && ((directive && opens(page, at))
                        || (token.column <= margin && begins_rule(page, at))) =>
            {
                return at;
            }
            _ => {}
        }
        at += 1;
    }
    at
}

/// Whether the full stop was meant as a decimal point, as in `.5`.
fn begins_fraction(page: &Page<'_>, at: usize) -> bool {
    page.token(at + 1).is_some_and(|next| next.joined && matches!(next.kind, Kind::Integer(_)))
}

fn opens(page: &Page<'_>, at: usize) -> bool {
    page.token(at + 1).is_some_and(|token| token.kind == Kind::Open)
}

/// Whether a head with its arguments stands there, and nothing before it asks for more.
fn begins_rule(page: &Page<'_>, at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| page.token(at)).map(|token| token.kind);
    let ended = matches!(
        before,
        Some(Kind::Close | Kind::CloseBracket | Kind::CloseBrace | Kind::Word | Kind::Text | Kind::Bad)
            | Some(Kind::Integer(_) | Kind::Unsigned(_) | Kind::Float(_))
    );
    let close = page.token(at + 1).filter(|token| token.kind == Kind::Open).and_then(|token| token.partner);
    let after = close.and_then(|close| page.token(close + 1)).map(|token| token.kind);
    ended && matches!(after, Some(Kind::If | Kind::Stop))
}

#[cfg(test)]
mod tests {
    use crate::source::FileId;
    use crate::source::Sources;
    use crate::syntax::ast::Item;
    use crate::syntax::parse;

    #[test]
    fn unsupported_constructs_are_kept_whole() {
        let rows = [
            ("m(x) <= m(y) :- x < y, x = 1.5.", "subsumption `<=`"),
            (".plan 0: (2, 1), 1:\n  (1, 2)", ".plan"),
            (".comp C<T> : B\n{ .decl q(x: number)\n q(1). .comp D { q(2). } }", ".comp"),
            (".init c = C<number>", ".init"),
            (".functor f(x: number): number stateful", ".functor"),
            (".override q", ".override"),
            (".limitsize m(n=3)", ".limitsize"),
            (".lattice L<> { Bottom -> @b }", ".lattice"),
            (".number_type N", ".number_type"),
            ("#define A(x) ((x) + '1') \\\n more \\q", "#define"),
            ("#define\\\n A 1", "#define"),
        ];
        for (text, wanted) in rows {
            let whole = format!("A(1). {text}\nB(2).\n").replacen("A(1). #", "A(1).\n#", 1);
            let mut sources = Sources::default();
            let file = sources.add("p.dl", &whole);
            let (program, findings) = parse(file, &whole);
            assert_eq!(findings, [], "{text}");
            let [Item::Rule(_), Item::Unsupported { what, span }, Item::Rule(_)] = program.items.as_slice()
            else {
                panic!("{text}: {:?}", program.items)
            };
            assert_eq!((what.as_str(), sources.text(*span)), (wanted, text));
        }
    }

    #[test]
    fn a_refused_qualifier_keeps_its_relation() {
        for (text, wanted) in [
            ("choice-domain x, (x, y)", "choice-domain"),
            ("choice-domain x", "choice-domain"),
            ("overridable", "overridable"),
        ] {
            let whole = format!(".decl A(x: number) {text}\nB(2).");
            let (program, findings) = parse(FileId(0), &whole);
            assert_eq!(findings, [], "{text}");
            let [Item::Relation(_), Item::Unsupported { what, span }, Item::Rule(_)] =
                program.items.as_slice()
            else {
                panic!("{text}: {:?}", program.items)
            };
            assert_eq!(what, wanted);
            assert_eq!(whole.get(span.start as usize..span.end as usize), Some(text));
        }
    }

    /// Which statements are read, and at which lines findings start.
    #[test]
    fn reading_goes_on_after_a_fault() {
        let rows: [(&str, usize, &[u32]); 12] = [
            ("A(1,).\nB(2).", 1, &[1]),
            ("A(1)\nB(2).\nC(3).", 2, &[1]),
            ("A(x) :-\n  B(x)\n  C(x).\nD(1).", 1, &[2]),
            ("A(x) :-\nB(x,),\nC(x).\nD(1).", 1, &[2]),
            (".decl A(x)\nB(2).", 1, &[1]),
            (".decl A(x\n.decl B()\nC(1).", 2, &[1]),
            ("A(x :- B(x)\n.output A\nC(1).", 2, &[1]),
            ("A(\"\\q\", 99999999999999999999, &, ).\nB(1).", 1, &[1]),
            ("A(1, , &).\nB(1).", 1, &[1]),
            ("A(\"open).\nB(1).", 1, &[1]),
            ("A(.5).\nB(1).", 1, &[1]),
            (").\n]\n}.\nB(1).", 1, &[1, 2]),
        ];
        for (text, read, lines) in rows {
            let mut sources = Sources::default();
            let file = sources.add("p.dl", text);
            let (program, findings) = parse(file, text);
            let found: Vec<u32> =
                findings.iter().map(|finding| sources.place(finding.primary.span).line).collect();
            assert_eq!((program.items.len(), found.as_slice()), (read, lines), "{text}");
        }
    }
}
