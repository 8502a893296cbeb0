//! Programs with the rows that Soufflé gives for them.

use std::collections::{BTreeMap, BTreeSet};

use gatelog::engine::Budget;
use gatelog::plain::{FactFiles, Place, PlainError, Target, channels, run};
use gatelog::program::{Includes, Prelude, check_plain};

use crate::support::{root, text};

/// Why something else is given here: the names that `fixtures/souffle/pairs.txt` uses.
const REASONS: &[(&str, &str)] = &[
    ("address", "an address such as 1.2.3.4 is no number: it is more likely a mistake"),
    ("alternatives", "`;` inside an aggregate has an obvious meaning and is accepted"),
    ("answered", "their own check of a plan fails; the rules of groundedness give an answer"),
    ("autoinc", "a counter makes rows depend on the order of evaluation"),
    ("bare-variant", "`$X` stands for `$X()`, as in fact files"),
    ("cast", "a cast of a constant takes its bits, as a cast of any other value does"),
    ("choice", "a choice domain makes rows depend on the order of evaluation"),
    ("component", "components are templates of rules: not supported, and said so"),
    ("conversion", "a text is a number as a whole or not at all"),
    (
        "division",
        "a division by zero is an evaluation error, which names the rule, and not the end of the process",
    ),
    ("equals", "`==` can only mean `=` and is accepted"),
    ("escape", "`\\\" \\\\ \\n \\t \\r` are the escapes; any other one is an error"),
    ("exponent", "`1e5` is a float and is accepted"),
    ("float-text", "`to_string` gives the shortest digits that read back as the number"),
    ("guard", "what can fail is evaluated after the other literals of its rule, wherever it stands"),
    ("inline", "`inline` is a hint: its rules are checked as any others are"),
    ("ord", "`ord` would be the number of a text in memory"),
    ("overflow", "a result that does not fit is an evaluation error: a number never wraps"),
    (
        "pattern",
        "patterns run in linear time; what is none, or would need backtracking, is an error and no miss",
    ),
    ("preprocessor", "a program is parsed as it stands"),
    ("quoting", "a quoted field doubles its quotes, as RFC 4180 says, so that it can be read back"),
    ("refused", "what would end at run time is refused before"),
    ("subsumption", "subsumption is no Datalog: not supported, and said so"),
    ("unused", "an error in a rule that is evaluated is an error, be its value used or not"),
    ("utf-8", "text is UTF-8: a part of a text is never half a character"),
    ("width", "numbers have 64 bits, floats are doubles"),
];

/// What came of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    /// Rows, sorted, by relation; `stdout` for what was printed.
    Rows(BTreeMap<String, Vec<String>>),
    /// A fault of the program; the code is empty where any will do.
    Refused(String),
    /// A fault of a fact file.
    Unread,
    /// An evaluation error, with its text; theirs is the end of the process.
    Fails,
}

#[derive(Debug)]
struct Pair {
    line: usize,
    program: String,
    files: BTreeMap<String, String>,
    theirs: Outcome,
    ours: Option<(String, Outcome)>,
}

struct Files<'a>(&'a BTreeMap<String, String>);

impl FactFiles for Files<'_> {
    fn read(&mut self, place: &Place) -> Result<Vec<u8>, String> {
        let found = self.0.get(place.name()).map(|text| text.clone().into_bytes());
        found.ok_or_else(|| "there is no such file".to_owned())
    }
}

impl Includes for Files<'_> {
    fn include(&mut self, _from: &str, path: &str) -> Result<(String, String), String> {
        let found = self.0.get(path).map(|text| (text.clone(), path.to_owned()));
        found.ok_or_else(|| "there is no such file".to_owned())
    }
}

/// Runs a program as `gatelog eval --no-prelude -D FOLDER` does.
fn outcome(program: &str, files: &BTreeMap<String, String>) -> Outcome {
    let mut files = Files(files);
    let file = ("program.dl".to_owned(), program.to_owned());
    let program = match check_plain(&[file], Prelude::Absent, &mut files) {
        Ok(program) => program,
        Err(refusal) => {
            let error = refusal.findings.iter().find(|finding| finding.code.starts_with('E'));
            return Outcome::Refused(error.map_or("", |finding| finding.code).to_owned());
        }
    };
    let channels = match channels(&program, Target::Files) {
        Ok(channels) => channels,
        Err(faults) => return Outcome::Refused(faults[0].code.to_owned()),
    };
    match run(&program, &channels, &mut files, Budget::default()) {
        Ok(written) => {
            let mut rows: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for output in written {
                let name = match &output.place {
                    Place::File(name) => name.trim_end_matches(".csv"),
                    Place::Standard => "stdout",
                };
                let lines = output.text.lines().map(str::to_owned);
                rows.entry(name.to_owned()).or_default().extend(lines);
            }
            rows.values_mut().for_each(|rows| rows.sort());
            Outcome::Rows(rows)
        }
        Err(PlainError::Evaluation(_)) => Outcome::Fails,
        Err(PlainError::Missing { .. } | PlainError::Faulty { .. }) => Outcome::Unread,
    }
}

/// The declarations and facts that a tag stands for.
fn before(tag: &str) -> Option<String> {
    let relation = |kind: &str| format!(".decl R(x: {kind})\n.output R\n");
    Some(match tag {
        "R" => relation("number"),
        "RS" => relation("symbol"),
        "RU" => relation("unsigned"),
        "RF" => relation("float"),
        "N" => format!(
            "{}.decl N(x: number) .decl P(x: number, y: number)\nN(1). N(2). N(5). P(1,2). P(2,3).\n",
            relation("number")
        ),
        "A" => format!(
            "{}.decl A(k: symbol, x: number) .decl K(k: symbol) .decl E(x: number)\n{}\n",
            relation("number"),
            r#"A("a",1). A("a",2). A("b",2). A("b",7). K("a"). K("b"). K("c")."#
        ),
        _ => return None,
    })
}

/// Adds what a line after `=` or `!` says to an outcome.
fn state(words: &str, so_far: Option<Outcome>) -> Outcome {
    let (first, code) = words.split_once(' ').unwrap_or((words, ""));
    match (first, so_far) {
        ("refused", None) => Outcome::Refused(code.to_owned()),
        ("unread", None) => Outcome::Unread,
        ("aborts" | "fails", None) => Outcome::Fails,
        (relation, Some(Outcome::Rows(mut rows))) => {
            rows.insert(relation.to_owned(), Vec::new());
            Outcome::Rows(rows)
        }
        (relation, None) => Outcome::Rows(BTreeMap::from([(relation.to_owned(), Vec::new())])),
        (_, Some(other)) => panic!("`{words}` after {other:?}"),
    }
}

fn pair(block: &[(usize, &str)]) -> Pair {
    let (line, opening) = block[0];
    let tags = opening.split(' ').filter_map(before);
    let mut program: String = tags.collect();
    let (mut files, mut theirs, mut ours) = (BTreeMap::new(), None, None::<(String, Outcome)>);
    let mut last = String::new();
    for &(_, text) in &block[1..] {
        // A row of one empty text has nothing after its bar.
        match text.split_once(' ').or((text == "|").then_some(("|", ""))) {
            Some(("<", rest)) => {
                let (name, text) = rest.split_once(' ').unwrap();
                files.insert(name.to_owned(), serde_json::from_str::<String>(text).unwrap());
            }
            Some(("=", rest)) => {
                theirs = Some(state(rest, theirs));
                rest.clone_into(&mut last);
            }
            Some(("!", rest)) => {
                let (reason, rest) = rest.split_once(' ').unwrap();
                ours = Some((reason.to_owned(), state(rest, ours.map(|(_, outcome)| outcome))));
                rest.clone_into(&mut last);
            }
            Some(("|", row)) => {
                let outcome = ours.as_mut().map_or(theirs.as_mut(), |(_, outcome)| Some(outcome));
                let Some(Outcome::Rows(rows)) = outcome else { panic!("line {line}: a row of no relation") };
                rows.get_mut(&last).unwrap().push(row.to_owned());
            }
            _ if text.is_empty() => {}
            _ => {
                program.push_str(text);
                program.push('\n');
            }
        }
    }
    Pair { line, program, files, theirs: theirs.unwrap(), ours }
}

fn pairs() -> Vec<Pair> {
    let text = text(&root().join("fixtures/souffle/pairs.txt"));
    let mut blocks: Vec<Vec<(usize, &str)>> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with("@ ") {
            blocks.push(Vec::new());
        }
        if let Some(block) = blocks.last_mut() {
            block.push((number, line));
        }
    }
    blocks.iter().map(|block| pair(block)).collect()
}

/// Whether a program did what is expected of it. Relations that are not spoken of do not count, and neither does the order
/// of rows.
fn is_as(found: &Outcome, expected: &Outcome) -> bool {
    match (found, expected) {
        (Outcome::Rows(found), Outcome::Rows(expected)) => expected.iter().all(|(name, rows)| {
            let mut rows = rows.clone();
            rows.sort();
            found.get(name) == Some(&rows)
        }),
        (Outcome::Refused(_), Outcome::Refused(code)) if code.is_empty() => true,
        _ => found == expected,
    }
}

#[test]
fn programs_give_what_they_give_there() {
    let pairs = pairs();
    assert!(pairs.len() > 290, "{} pairs", pairs.len());
    let (mut faults, mut reasons) = (Vec::new(), BTreeSet::new());
    for pair in &pairs {
        let found = outcome(&pair.program, &pair.files);
        let expected = match &pair.ours {
            Some((reason, ours)) => {
                reasons.insert(reason.as_str());
                // An end of their process is no result that could be the same.
                if pair.theirs != Outcome::Fails && is_as(&found, &pair.theirs) {
                    faults.push(format!("line {}: no difference, and `{reason}` says so", pair.line));
                }
                ours
            }
            None if pair.theirs == Outcome::Fails => {
                faults.push(format!("line {}: it aborts there, and nothing is said of here", pair.line));
                continue;
            }
            None => &pair.theirs,
        };
        if !is_as(&found, expected) {
            faults.push(format!("line {}: {expected:?} expected, {found:?} found", pair.line));
        }
    }
    let known: BTreeSet<&str> = REASONS.iter().map(|&(name, _)| name).collect();
    faults.extend(
        reasons.symmetric_difference(&known).map(|name| format!("`{name}` has no pair or no reason")),
    );
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
