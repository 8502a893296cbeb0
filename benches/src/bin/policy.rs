//! How the cost of reading a policy grows with its rules.
//!
//! `cargo run --release -p gatelog-bench --bin policy [-- RULES…]` makes policies of 2,000, 4,000 and 8,000 rules, and of
//! 20,000 relations that lead to each other, and prints the milliseconds that parsing, checking (lints included) and
//! formatting take, as medians, and their ratios.

use std::error::Error;
use std::fmt::Write as _;
use std::time::Instant;

use gatelog::monitor::Policy;
use gatelog::program::{NoIncludes, Program, check};
use gatelog::source::FileId;
use gatelog::syntax::{format, parse};

/// Runs that count.
const RUNS: usize = 5;

/// Milliseconds.
struct Times {
    parse: f64,
    check: f64,
    plan: f64,
    format: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut sizes = Vec::new();
    for size in std::env::args().skip(1) {
        sizes.push(size.parse()?);
    }
    if sizes.is_empty() {
        sizes = vec![2_000, 4_000, 8_000];
    }
    let mut before: Option<Times> = None;
    for &size in &sizes {
        let times = measured(&realistic(size))?;
        let ratios = before.map_or_else(String::new, |before| grown(&before, &times));
        println!("{size} rules: {}{ratios}", shown(&times));
        before = Some(times);
    }
    let times = measured(&chained(20_000))?;
    println!("20000 relations in a chain: {}", shown(&times));
    Ok(())
}

fn shown(times: &Times) -> String {
    let Times { parse, check, plan, format } = times;
    format!("parse {parse:.1} ms, check {check:.1} ms, plan {plan:.1} ms, format {format:.1} ms")
}

fn grown(before: &Times, after: &Times) -> String {
    let parse = after.parse / before.parse;
    let check = after.check / before.check;
    let format = after.format / before.format;
    format!("; times {parse:.2}, {check:.2}, {format:.2}")
}

fn measured(text: &str) -> Result<Times, Box<dyn Error>> {
    let mut times = [const { Vec::new() }; 4];
    let files = [("bench.dl".to_owned(), text.to_owned())];
    for _ in 0..RUNS {
        let begin = Instant::now();
        let (_, findings) = parse(FileId(1), text);
        times[0].push(since(begin));
        if let Some(finding) = findings.first() {
            return Err(finding.message.clone().into());
        }
        let begin = Instant::now();
        let program = checked(&files)?;
        times[1].push(since(begin));
        let begin = Instant::now();
        let policy = Policy::new(program);
        times[2].push(since(begin));
        drop(policy);
        let begin = Instant::now();
        let formatted = format(FileId(1), text).map_err(|_| "the policy cannot be formatted")?;
        times[3].push(since(begin));
        if formatted.is_empty() {
            return Err("nothing was formatted".into());
        }
    }
    let [parse, check, plan, format] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
    });
    Ok(Times { parse, check, plan, format })
}

fn checked(files: &[(String, String)]) -> Result<Program, Box<dyn Error>> {
    check(files, &mut NoIncludes).map_err(|refusal| {
        let message = refusal.findings.first().map_or(String::new(), |finding| finding.message.clone());
        message.into()
    })
}

fn since(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1e3
}

/// A policy of about so many rules, facts among them: for each tool relations of its own, an allow, a deny and an ask.
fn realistic(rules: usize) -> String {
    let mut text = String::new();
    for tool in 0..rules / 8 {
        let _ = write!(
            text,
            r#"// Where tool {tool} may write.
.decl Place{tool}(place: symbol, level: number)
Place{tool}("/srv/{tool}/**", 1).
Place{tool}("/home/{tool}/*.txt", {level}).

.decl Asked{tool}(idx: unsigned, path: symbol)
Asked{tool}(idx, path) :-
    Actions(idx, action), action = $CallTool("tool_{tool}", args), path = @path_normalize(@json_str(args, "path")).
.decl Known{tool}(path: symbol)
Known{tool}(path) :- CurrentDepends(record), ToolResult(record, "find_{tool}", args), SentMessage(record, message),
    path = @json_str(message.contents, "path"), @json_str(args, "kind") = "file".
Known{tool}(path) :- Known{before}(path), Place{tool}(place, level), level > 0, @glob_match(place, path) = 1.

// @id: allow-{tool}
// @tool_pattern: tool_{tool}
// @deny_message: tool_{tool} takes a path that was found
IsAuthorized(idx) :- Asked{tool}(idx, path), Known{tool}(path), Place{tool}(place, _), @glob_match(place, path) = 1.

// @id: deny-{tool}
// @deny_message: {{path}} was read from the web
// @suggestion: ask for another path
Unauthorized(idx) :-
    Asked{tool}(idx, path), CurrentDepends(record), ToolOutput(record, "fetch_{tool}", _), !Known{tool}(path).

// @id: ask-{tool}
// @deny_message: {{path}} is large
// @ask
Unauthorized(idx) :- Asked{tool}(idx, path), Actions(idx, action), action = $CallTool("tool_{tool}", args),
    @json_int(args, "size") > {level}000.

"#,
            level = tool % 7 + 1,
            before = tool - tool % 10,
        );
    }
    text
}

/// Relations each of which reads the one before it, and the first the last.
fn chained(relations: usize) -> String {
    let mut text = String::from(".decl R0(x: symbol)\nR0(x) :- Current(x).\n");
    for at in 1..relations {
        let _ = writeln!(text, ".decl R{at}(x: symbol)\nR{at}(x) :- R{}(x).", at - 1);
    }
    let _ = writeln!(text, "R0(x) :- R{}(x).\nIsAuthorized(i) :- R0(x), ActionRecord(i, x).", relations - 1);
    text
}
