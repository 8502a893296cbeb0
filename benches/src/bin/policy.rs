//! How the cost of reading a policy grows with its rules.
//!
//! `cargo run --profile bench -p gatelog-bench --bin policy [-- SHAPE…]` makes policies of each shape in a size, in twice that
//! size and in four times that size, and prints the milliseconds that parsing, checking (lints included), planning and
//! formatting take, as medians, how often checking and formatting cost what parsing alone does, and how each has grown
//! since the size before. The shapes are listed in `SHAPES`.

use std::error::Error;
use std::fmt::Write as _;
use std::time::Instant;

use gatelog::monitor::Policy;
use gatelog::program::{NoIncludes, Program, check};
use gatelog::source::FileId;
use gatelog::syntax::{format, parse};

/// Runs that count.
const RUNS: usize = 5;

/// A kind of policy.
struct Shape {
    name: &'static str,
    /// What its size counts.
    what: &'static str,
    size: usize,
    text: fn(usize) -> String,
}

const SHAPES: [Shape; 12] = [
    Shape { name: "realistic", what: "rules", size: 2_000, text: realistic },
    Shape {
        name: "chain",
        what: "relations that lead to each other in a circle",
        size: 5_000,
        text: chained,
    },
    Shape { name: "line", what: "relations that each read two before", size: 5_000, text: line },
    Shape { name: "fan", what: "relations that one reads", size: 2_000, text: fan },
    Shape { name: "union", what: "rules of one relation", size: 2_000, text: union },
    Shape { name: "allows", what: "allows of one tool", size: 2_000, text: allows },
    Shape {
        name: "denies",
        what: "denies of one tool, each with a key of its own",
        size: 2_000,
        text: denies,
    },
    Shape { name: "alike", what: "denies that differ in one number", size: 2_000, text: alike },
    Shape { name: "notes", what: "annotations, and warnings that comments allow", size: 2_000, text: notes },
    Shape { name: "facts", what: "facts", size: 5_000, text: facts },
    Shape { name: "wide", what: "conditions of one rule", size: 500, text: wide },
    Shape {
        name: "dead",
        what: "rules that cannot fire, of relations that nothing reads",
        size: 2_000,
        text: dead,
    },
];

/// Milliseconds.
struct Times {
    parse: f64,
    check: f64,
    plan: f64,
    format: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if let Some(other) = wanted.iter().find(|name| SHAPES.iter().all(|shape| shape.name != name.as_str())) {
        let names: Vec<&str> = SHAPES.iter().map(|shape| shape.name).collect();
        return Err(format!("no shape is called `{other}`: there are {}", names.join(", ")).into());
    }
    for shape in
        SHAPES.iter().filter(|shape| wanted.is_empty() || wanted.iter().any(|name| name == shape.name))
    {
        println!("{}: {}", shape.name, shape.what);
        let mut before: Option<Times> = None;
        for size in [shape.size, 2 * shape.size, 4 * shape.size] {
            let times = measured(&(shape.text)(size))?;
            println!(
                "  {size:>6} {}{}",
                shown(&times),
                before.map_or_else(String::new, |before| grown(&before, &times))
            );
            before = Some(times);
        }
    }
    Ok(())
}

fn shown(times: &Times) -> String {
    let Times { parse, check, plan, format } = times;
    let (checks, formats) = (check / parse, format / parse);
    format!(
        "parse {parse:6.1} ms, check {check:7.1} ms ({checks:4.1} parses), plan {plan:6.1} ms, format {format:6.1} ms ({formats:4.1} parses)"
    )
}

fn grown(before: &Times, after: &Times) -> String {
    let parse = after.parse / before.parse;
    let check = after.check / before.check;
    let plan = after.plan / before.plan;
    let format = after.format / before.format;
    format!("; times {parse:.2}, {check:.2}, {plan:.2}, {format:.2}")
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

/// Relations each of which reads the two before it.
fn line(relations: usize) -> String {
    let mut text = String::from(
        ".decl R0(x: symbol)\nR0(x) :- Current(x).\n.decl R1(x: symbol)\nR1(x) :- R0(x), Current(x).\n",
    );
    for at in 2..relations {
        let (one, two) = (at - 1, at - 2);
        let _ = writeln!(text, ".decl R{at}(x: symbol)\nR{at}(x) :- R{one}(x), R{two}(x), !Off{at}(x).");
        let _ = writeln!(text, ".decl Off{at}(x: symbol)\nOff{at}(x) :- R{two}(x), x = \"{at}\".");
    }
    let _ = writeln!(text, "IsAuthorized(i) :- R{}(x), ActionRecord(i, x).", relations - 1);
    text
}

/// Many relations that one rule each leads to a single one.
fn fan(relations: usize) -> String {
    let mut text = String::from(".decl All(x: symbol)\n");
    for at in 0..relations {
        let _ = writeln!(
            text,
            ".decl R{at}(x: symbol)\nR{at}(x) :- ToolResult(x, \"t{at}\", _).\nAll(x) :- R{at}(x)."
        );
    }
    text.push_str("IsAuthorized(i) :- All(x), ActionRecord(i, x).\n");
    text
}

fn union(rules: usize) -> String {
    let mut text = String::from(".decl Seen(x: symbol, path: symbol)\n");
    for at in 0..rules {
        let _ = writeln!(
            text,
            "Seen(x, path) :- ToolResult(x, \"find_{at}\", args), path = @json_str(args, \"path_{at}\")."
        );
    }
    text.push_str("IsAuthorized(i) :- Seen(x, _), ActionRecord(i, x).\n");
    text
}

fn allows(rules: usize) -> String {
    let mut text = String::new();
    for at in 0..rules {
        let _ = writeln!(
            text,
            "IsAuthorized(i) :- Actions(i, a), a = $CallTool(\"send\", args), @json_str(args, \"to\") = \"{at}@example.org\"."
        );
    }
    text.push_str(
        "Unauthorized(i) :- Actions(i, a), a = $CallTool(\"send\", args), @json_int(args, \"size\") > 1000.\n",
    );
    text
}

fn denies(rules: usize) -> String {
    let mut text = String::from("IsAuthorized(i) :- Actions(i, a), IsTool(a, \"send\").\n");
    for at in 0..rules {
        let _ = writeln!(
            text,
            "Unauthorized(i) :- Actions(i, a), a = $CallTool(\"send\", args), @json_int(args, \"size_{at}\") > 1000."
        );
    }
    text
}

fn alike(rules: usize) -> String {
    let mut text = String::from("IsAuthorized(i) :- Actions(i, a), IsTool(a, \"send\").\n");
    for at in 0..rules {
        let _ = writeln!(
            text,
            "Unauthorized(i) :- Actions(i, a), a = $CallTool(\"send\", args), CurrentDepends(r), MessageMetadata(r, m), @json_int(m, \"s:size\") > {at}, @json_str(args, \"to\") = \"{at}\"."
        );
    }
    text
}

fn notes(rules: usize) -> String {
    let mut text = String::new();
    for at in 0..rules / 4 {
        let _ = writeln!(
            text,
            "// gatelog: allow(W0001, W0011)\n// @id: rule-{at}\n// @deny_message: {{i}} is not for {at}\n// @tag: t{at}\n// @suggestion: ask {at}\nUnauthorized(i) :- Actions(i, a), a = $CallTool(\"tool_{at}\", args), CurrentDepends(once).\n"
        );
        let _ = writeln!(text, "IsAuthorized(i) :- Actions(i, a), IsTool(a, \"tool_{at}\").\n");
    }
    text
}

fn facts(facts: usize) -> String {
    let mut text = String::from(".decl Place(tool: symbol, path: symbol, level: number)\n");
    for at in 0..facts {
        let _ = writeln!(text, "Place(\"tool_{at}\", \"/srv/{at}/**\", {}).", at % 7);
    }
    text.push_str(
        "IsAuthorized(i) :- Actions(i, a), a = $CallTool(tool, args), Place(tool, glob, level), level > 1, @glob_match(glob, @path_normalize(@json_str(args, \"path\"))) = 1.\n",
    );
    text
}

fn wide(conditions: usize) -> String {
    let mut text = String::from(
        "IsAuthorized(i) :- Actions(i, a), IsTool(a, \"send\").\nUnauthorized(i) :- Actions(i, a), a = $CallTool(\"send\", args)",
    );
    for at in 0..conditions {
        let _ = write!(text, ",\n    x{at} = @json_str(args, \"k{at}\"), x{at} != \"{at}\"");
    }
    text.push_str(".\n");
    text
}

fn dead(rules: usize) -> String {
    let mut text = String::from("IsAuthorized(i) :- Actions(i, a), IsTool(a, \"send\").\n");
    for at in 0..rules / 2 {
        let _ = writeln!(
            text,
            ".decl Dead{at}(x: symbol)\n.decl Never{at}(x: symbol)\nDead{at}(x) :- Never{at}(x), Current(x)."
        );
        let _ = writeln!(
            text,
            "Unauthorized(i) :- Dead{at}(x), ActionRecord(i, x), x = \"{at}\", x = \"other\"."
        );
    }
    text
}
