//! The pages about the language: their snippets are policies, and their tables are the code's.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use gatelog::functor::{self, Functor, Mode};
use gatelog::program::{ANNOTATIONS, CODES, NoIncludes, Origin, PRELUDE, Program, Relation, check};
use gatelog::recording::Form;
use gatelog::syntax;
use gatelog::value::Kind;

use crate::support::{gatelog, root, text};

#[test]
fn every_form_of_recordings_is_in_the_table() {
    let page = text(&root().join("docs/recordings.md"));
    for form in Form::ALL {
        let rows = page.lines().filter(|line| line.starts_with(&format!("| `{}` |", form.name()))).count();
        assert_eq!(rows, 1, "docs/recordings.md has no row of its own for `{}`", form.name());
    }
}

/// What a fence opens: its line, the words after the backticks, and what stands inside.
struct Snippet {
    line: usize,
    words: Vec<String>,
    body: String,
}

fn snippets(page: &str) -> Vec<Snippet> {
    let mut snippets = Vec::new();
    let mut open: Option<Snippet> = None;
    for (number, line) in page.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(""), Some(_)) => snippets.extend(open.take()),
            (Some(words), None) => {
                let words = words.split_whitespace().map(str::to_owned).collect();
                open = Some(Snippet { line: number + 1, words, body: String::new() });
            }
            (_, Some(snippet)) => {
                snippet.body.push_str(line);
                snippet.body.push('\n');
            }
            (_, None) => assert!(!line.contains("```"), "line {}: a fence that is indented", number + 1),
        }
    }
    assert!(open.is_none(), "the last fence is not closed");
    snippets
}

/// A folder for what the snippets of one page are written into, empty at first.
fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("language");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn every_snippet_does_what_the_page_says() {
    let folder = folder();
    let snippets = snippets(&text(&root().join("docs/language.md")));
    let faults: Vec<String> = snippets
        .iter()
        .filter_map(|snippet| {
            let words: Vec<&str> = snippet.words.iter().map(String::as_str).collect();
            run(&folder, &words, &snippet.body).err().map(|why| format!("line {}: {why}", snippet.line))
        })
        .collect();
    assert_eq!(faults, Vec::<String>::new(), "docs/language.md");
    assert!(snippets.len() > 20, "{} snippets", snippets.len());
}

/// `prolog` is a policy, `yaml` a test of the policy above it, `json deny` a request and the verdict on its actions.
fn run(folder: &Path, words: &[&str], body: &str) -> Result<(), String> {
    match words {
        ["prolog"] => policy(folder, body),
        ["yaml"] => {
            let header = if body.contains("policy: ") { "" } else { "policy: [policy.dl]\n" };
            std::fs::write(folder.join("policy.test.yaml"), format!("{header}{body}")).unwrap();
            ends(folder, &["test", "policy.test.yaml"], 0)
        }
        ["json", verdict] => decided(folder, verdict, body),
        other => Err(format!("nothing checks a fence of `{}`", other.join(" "))),
    }
}

/// A policy whose first line is `// refused: E0030` is refused with that code alone. One whose first line is `// name.dl`
/// stays beside those below it. One draws no warnings but those that `// warns: W0014` names in its first lines.
fn policy(folder: &Path, body: &str) -> Result<(), String> {
    let first = body.lines().next().and_then(|line| line.strip_prefix("// ")).unwrap_or_default();
    if let Some(code) = first.strip_prefix("refused: ") {
        return refused(folder, code, body);
    }
    let name = if first.ends_with(".dl") { first } else { "policy.dl" };
    std::fs::write(folder.join(name), body).unwrap();
    ends(folder, &["check", name], 0)?;
    let told = body.lines().take(2).find_map(|line| line.strip_prefix("// warns: ")).unwrap_or_default();
    let found = codes_of(folder, name, "warning").0.join(", ");
    if found == told { Ok(()) } else { Err(format!("it warns of `{found}`, and `{told}` is said")) }
}

/// The codes of the findings of that severity, each once, and the whole document.
fn codes_of(folder: &Path, name: &str, severity: &str) -> (Vec<String>, String) {
    let run = gatelog(folder, &["check", name, "--format", "json"], None);
    let document: serde_json::Value = serde_json::from_str(&run.stdout).unwrap_or_default();
    let findings = document.get("findings").and_then(|all| all.as_array()).cloned().unwrap_or_default();
    let text = |finding: &serde_json::Value, key: &str| {
        finding.get(key).and_then(|value| value.as_str()).unwrap_or_default().to_owned()
    };
    let found = findings.iter().filter(|finding| text(finding, "severity") == severity);
    let mut codes: Vec<String> = found.map(|finding| text(finding, "code")).collect();
    codes.sort();
    codes.dedup();
    (codes, run.stdout)
}

fn refused(folder: &Path, code: &str, body: &str) -> Result<(), String> {
    std::fs::write(folder.join("refused.dl"), body).unwrap();
    let (codes, document) = codes_of(folder, "refused.dl", "error");
    if codes == [code] { Ok(()) } else { Err(format!("{codes:?} instead of {code}:\n{document}")) }
}

/// Every action of the request gets that verdict.
fn decided(folder: &Path, verdict: &str, body: &str) -> Result<(), String> {
    let run = gatelog(folder, &["decide", "--policy", "policy.dl", "--format", "json"], Some(body));
    let document: serde_json::Value = serde_json::from_str(&run.stdout).unwrap_or_default();
    let checks = document.get("checks").and_then(|all| all.as_array()).cloned().unwrap_or_default();
    let all = checks.iter().all(|check| check.get("verdict").is_some_and(|given| given == verdict));
    if all && !checks.is_empty() {
        Ok(())
    } else {
        Err(format!("not {verdict}: {}{}", run.stdout, run.stderr))
    }
}

fn ends(folder: &Path, arguments: &[&str], wanted: i32) -> Result<(), String> {
    let run = gatelog(folder, arguments, None);
    if run.code == Some(wanted) {
        return Ok(());
    }
    Err(format!("exit {:?} instead of {wanted}:\n{}{}", run.code, run.stdout, run.stderr))
}

#[test]
fn the_reference_is_what_the_code_says() {
    let path = root().join("docs/reference.md");
    let wanted = reference();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = found.lines().zip(wanted.lines()).position(|(found, wanted)| found != wanted);
    let line = differs.unwrap_or_else(|| found.lines().count().min(wanted.lines().count())) + 1;
    assert!(
        found == wanted,
        "docs/reference.md is not what the code says, from line {line} on; \
         `UPDATE=1 cargo test --test it the_reference` writes it anew"
    );
}

fn reference() -> String {
    let program = check(&[], &mut NoIncludes).unwrap_or_else(|_| panic!("the prelude does not load"));
    let mut page = String::from(
        "# Reference\n\n\
         Written by a test from the code that defines what stands here, and compared with it by the same test. \
         [language.md](language.md)\nexplains the words.\n",
    );
    relations(&program, &mut page);
    types(&mut page);
    functors(&mut page);
    annotations(&mut page);
    codes(&mut page);
    page
}

fn line(page: &mut String, text: &str) {
    page.push_str(text);
    page.push('\n');
}

/// A heading with the header of a table under it.
fn table(page: &mut String, heading: &str, columns: &[&str]) {
    writeln!(page, "\n{heading}\n\n| {} |", columns.join(" | ")).unwrap();
    writeln!(page, "|{}", " --- |".repeat(columns.len())).unwrap();
}

/// A row of a table; a bar inside a cell would end it.
fn row(page: &mut String, cells: &[String]) {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
    writeln!(page, "| {} |", cells.join(" | ")).unwrap();
}

fn relations(program: &Program, page: &mut String) {
    line(
        page,
        "\n## Relations\n\n\
         A policy may read all of them. The host fills its own from the session and the request, the engine answers \
         those of\nancestry from the session's lineage, and the prelude has rules for the rest. A policy may write \
         rules only for those\nthat it fills.",
    );
    let mut section = String::new();
    for relation in program.relations.iter().filter(|relation| !relation.name.starts_with("__")) {
        let here = heading(relation);
        if here != section {
            table(page, &format!("### {}", capital(&here)), &["relation", "meaning", "filled by"]);
            section = here;
        }
        assert!(!relation.documentation.is_empty(), "the prelude says nothing about `{}`", relation.name);
        let columns = relation.columns.iter().map(|column| {
            let of = program.types.get(column.type_id);
            format!("{}: {}", column.name, of.name)
        });
        let columns: Vec<String> = columns.collect();
        let signature = format!("`{}({})`", relation.name, columns.join(", "));
        row(page, &[signature, spelled(&relation.documentation), filler(relation, &columns).to_owned()]);
    }
}

/// The section of the prelude that a relation is declared in.
fn heading(relation: &Relation) -> String {
    let before = PRELUDE.get(..relation.span.start as usize).unwrap_or_default();
    let mut headings = before.lines().filter_map(|line| line.strip_prefix("// ---- "));
    headings.next_back().unwrap_or_default().trim_end_matches(['-', ' ']).to_owned()
}

fn filler(relation: &Relation, columns: &[String]) -> &'static str {
    let names: Vec<&str> = columns.iter().filter_map(|column| column.split(':').next()).collect();
    let atom = format!("{}({})", relation.name, names.join(", "));
    let rule = format!("{atom} :- {atom}.");
    let closed = check(&[("rule.dl".to_owned(), rule)], &mut NoIncludes)
        .is_err_and(|refusal| refusal.findings.iter().any(|finding| finding.code == "E0042"));
    match (relation.origin, closed) {
        (Origin::Host, _) => "host",
        (Origin::Lineage(_), _) => "engine",
        (Origin::Rules, true) => "prelude",
        (Origin::Rules, false) => "policy",
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// A comment as a sentence.
fn spelled(comment: &str) -> String {
    let text = comment.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.ends_with(['.', ')']) { text } else { format!("{text}.") }
}

fn types(page: &mut String) {
    table(page, "## Types", &["type", "meaning"]);
    let mut comment = String::new();
    let mut lines = PRELUDE.lines();
    while let Some(line) = lines.next() {
        if let Some(text) = line.strip_prefix("// ").filter(|text| !text.starts_with("----")) {
            comment.push_str(text);
            comment.push(' ');
            continue;
        }
        if let Some(definition) = line.strip_prefix(".type ") {
            // The lines that follow without a mark of their own belong to it.
            let more = lines.clone().take_while(|line| line.starts_with([' ', '|', ']', '}']));
            let whole: Vec<&str> =
                std::iter::once(definition).chain(more).flat_map(str::split_whitespace).collect();
            let whole = whole.join(" ").replace("[ ", "[").replace(" ]", "]");
            row(page, &[format!("`{whole}`"), spelled(&comment)]);
        }
        comment.clear();
    }
}

fn functors(page: &mut String) {
    line(
        page,
        "\n## Functors\n\n\
         A total functor always has one value. A partial one may have none, and a generator has any number: where there \
         is no\nvalue, the literal that the functor stands in fails. One that can fail ends the check with an error, \
         which denies: a\npattern computed at run time that is none, a text that is no number.",
    );
    let all = functor::table();
    let columns = ["functor", "mode", "value"];
    table(page, "### With `@`", &columns);
    all.iter().filter(|functor| !functor.intrinsic).for_each(|functor| row(page, &cells(functor)));
    table(page, "### Words of the language", &columns);
    let words = || all.iter().filter(|functor| functor.intrinsic);
    words().filter(|functor| !is_condition(functor)).for_each(|functor| row(page, &cells(functor)));
    let heading = "### Conditions on texts\n\nThese have no value: they stand alone in a body, with `!` before them for the \
                   opposite, and are compared with\nnothing.";
    table(page, heading, &["condition", "can fail", "holds if"]);
    for functor in words().filter(|functor| is_condition(functor)) {
        let [signature, mode, meaning] = cells(functor);
        let condition =
            signature.rsplit_once(": ").map_or(signature.clone(), |(before, _)| format!("{before}`"));
        let fails = if mode.ends_with("can fail") { "yes" } else { "no" };
        row(page, &[condition, fails.to_owned(), held(&meaning)]);
    }
    line(
        page,
        "\nBeside these the language has arithmetic, `min` and `max` of several values, `range` and `as`; see \
         [language.md](language.md#numbers-and-text).",
    );
}

/// Whether the word is a literal of its own and no value.
fn is_condition(functor: &Functor) -> bool {
    let rule = format!("IsAuthorized(i) :- Actions(i, _), {}(\"a\", \"a\").", functor.name);
    functor.parameters.len() == 2 && check(&[("rule.dl".to_owned(), rule)], &mut NoIncludes).is_ok()
}

/// The meaning of a condition, from that of its value.
fn held(meaning: &str) -> String {
    let told = meaning.strip_prefix("1 if ").unwrap_or_else(|| panic!("{meaning}"));
    told.replace(", else 0", "")
}

fn cells(functor: &Functor) -> [String; 3] {
    let parameters = functor.parameters.iter();
    let mut parameters: Vec<String> =
        parameters.map(|parameter| format!("{}: {}", parameter.name, kind(parameter.kind))).collect();
    if functor.variadic {
        parameters.push("…".to_owned());
    }
    let at = if functor.intrinsic { "" } else { "@" };
    let signature = format!("`{at}{}({}): {}`", functor.name, parameters.join(", "), kind(functor.result));
    let mode = match functor.mode {
        Mode::Total => "total",
        Mode::Partial => "partial",
        Mode::Generator => "generator",
    };
    let mode = if functor.fallible { format!("{mode}, can fail") } else { mode.to_owned() };
    [signature, mode, functor.documentation.to_owned()]
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Number => "number",
        Kind::Unsigned => "unsigned",
        Kind::Float => "float",
        Kind::Symbol => "symbol",
        Kind::Compound => "a record or variant",
    }
}

fn annotations(page: &mut String) {
    table(page, "## Annotations", &["annotation", "also", "on rules of", "meaning"]);
    let quoted = |words: &[&str], sign: &str| {
        words.iter().map(|word| format!("`{sign}{word}`")).collect::<Vec<_>>().join(", ")
    };
    for annotation in ANNOTATIONS {
        let name = match annotation.value {
            "" => format!("`// @{}`", annotation.name),
            value => format!("`// @{}: {value}`", annotation.name),
        };
        let (also, on) = (quoted(annotation.aliases, "@"), quoted(annotation.stands_on, ""));
        row(page, &[name, also, on, annotation.documentation.to_owned()]);
    }
}

fn codes(page: &mut String) {
    line(page, "\n## Codes of findings");
    table(page, "An `E` keeps the policy from loading, a `W` is a warning.", &["code", "means"]);
    // A code that two rooms give is told once.
    let all: BTreeMap<&str, &str> = CODES.iter().chain(syntax::CODES).copied().collect();
    all.iter().for_each(|(code, meaning)| row(page, &[(*code).to_owned(), (*meaning).to_owned()]));
}

#[test]
fn an_annotation_stands_where_the_reference_says() {
    for annotation in ANNOTATIONS {
        for (head, whole) in [
            ("IsAuthorized", "IsAuthorized(i)"),
            ("Unauthorized", "Unauthorized(i)"),
            ("DenialReason", "DenialReason(i, \"block\", \"no\", \"\")"),
        ] {
            for key in [&[annotation.name], annotation.aliases].concat() {
                let value = if annotation.value.is_empty() { "" } else { ": word" };
                let rule = format!("// @{key}{value}\n{whole} :- Actions(i, a), IsTool(a, \"t\").");
                let codes = match check(&[("rule.dl".to_owned(), rule.clone())], &mut NoIncludes) {
                    Ok(program) => program.warnings,
                    Err(refusal) => refusal.findings,
                };
                let codes: Vec<_> = codes.iter().map(|finding| finding.code).collect();
                let taken = !codes.iter().any(|code| ["E0052", "W0002", "W0004"].contains(code));
                assert_eq!(taken, annotation.stands_on.contains(&head), "{rule}: {codes:?}");
            }
        }
    }
}

#[test]
fn links_lead_somewhere() {
    for page in ["README.md", "docs/language.md", "docs/reference.md", "docs/architecture.md"] {
        let path = root().join(page);
        let content = text(&path);
        for link in content.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link)
        {
            if link.starts_with("http") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            assert!(target.exists(), "{page}: {link} is not there");
            let anchors = if anchor.is_empty() { Vec::new() } else { anchors(&text(&target)) };
            assert!(
                anchor.is_empty() || anchors.iter().any(|known| known == anchor),
                "{page}: {link}: {anchors:?}"
            );
        }
    }
}

/// The anchors that a page's headings get.
fn anchors(page: &str) -> Vec<String> {
    let headings = page.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#'));
    let kept = |letter: &char| letter.is_alphanumeric() || ['-', '_', ' '].contains(letter);
    headings
        .map(|heading| {
            heading.trim().to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
        })
        .collect()
}
