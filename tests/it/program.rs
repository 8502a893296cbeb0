//! Policies that load, and policies that are refused with every finding.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gatelog::functor;
use gatelog::monitor::{Monitor, Policy, Request, Settings};
use gatelog::program::types::Datum;
use gatelog::program::{
    Atom, Function, Includes, Literal, NoIncludes, PRELUDE, Program, Rule, RuleId, Term, VariableId, check,
};
use gatelog::source::{Diagnostic, Severity, Sources, render};
use insta::{assert_snapshot, glob};
use proptest::prelude::{ProptestConfig, any, proptest};

#[expect(clippy::disallowed_methods, reason = "a test reads its fixtures")]
fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn file(path: &Path) -> (String, String) {
    (path.file_name().unwrap().to_string_lossy().into_owned(), text(path))
}

fn drawn(sources: &Sources, findings: &[Diagnostic]) -> String {
    let mut shown = String::new();
    for finding in findings {
        writeln!(shown, "{}\n", render(sources, finding, false)).unwrap();
    }
    shown
}

#[test]
fn refused_programs() {
    glob!("../../fixtures", "program/err/*.dl", |path| {
        let refusal = check(&[file(path)], &mut NoIncludes).unwrap_err();
        assert_snapshot!(drawn(&refusal.sources, &refusal.findings));
    });
}

#[test]
fn sound_programs() {
    glob!("../../fixtures", "program/ok/*.dl", |path| {
        let program = check(&[file(path)], &mut NoIncludes).unwrap_or_else(|refusal| {
            panic!("{} is refused:\n{}", path.display(), drawn(&refusal.sources, &refusal.findings))
        });
        // Those that look at the whole policy are shown with policies of their own.
        let warnings: Vec<_> =
            program.warnings.iter().filter(|warning| warning.code < "W0010").cloned().collect();
        assert_snapshot!(format!("{}{}", drawn(&program.sources, &warnings), rules(&program)));
    });
}

/// The rules of the policy stratum by stratum, as they run.
fn rules(program: &Program) -> String {
    let mut shown = String::new();
    for stratum in &program.strata {
        let own = |id: &&RuleId| program.rules[id.0 as usize].span.file.0 > 0;
        let rules: Vec<&RuleId> = stratum.rules.iter().filter(own).collect();
        if !rules.is_empty() {
            writeln!(shown, "{}", if stratum.recursive { "-- recursive" } else { "--" }).unwrap();
        }
        for id in rules {
            writeln!(shown, "{}", rule(program, &program.rules[id.0 as usize])).unwrap();
        }
    }
    for rule in &program.decision_rules {
        writeln!(
            shown,
            "{:?} {} {:?} {:?} {:?}",
            rule.kind, rule.id, rule.message, rule.suggestions, rule.metadata
        )
        .unwrap();
    }
    shown
}

fn rule(program: &Program, rule: &Rule) -> String {
    let body: Vec<String> = rule.body.iter().map(|part| literal(program, rule, part)).collect();
    let types: Vec<String> = rule
        .variables
        .iter()
        .enumerate()
        .filter(|(_, variable)| !variable.name.is_empty())
        .map(|(_, variable)| format!("{}: {}", variable.name, program.types.get(variable.type_id).name))
        .collect();
    format!("{} :- {}.  // {}", atom(program, rule, &rule.head), body.join(", "), types.join(", "))
}

fn atom(program: &Program, rule: &Rule, atom: &Atom) -> String {
    format!("{}({})", program.relations[atom.relation.0 as usize].name, terms(program, rule, &atom.terms))
}

fn literal(program: &Program, rule: &Rule, literal: &Literal) -> String {
    match literal {
        Literal::Positive(read) => atom(program, rule, read),
        Literal::Negative(read) => format!("!{}", atom(program, rule, read)),
        Literal::Test(test) => {
            format!(
                "{} {:?} {}",
                term(program, rule, &test.left),
                test.operator,
                term(program, rule, &test.right)
            )
        }
        Literal::Aggregate(aggregate) => {
            let names =
                |ids: &[VariableId]| ids.iter().map(|id| variable(rule, *id)).collect::<Vec<_>>().join(" ");
            let body: Vec<String> =
                aggregate.body.iter().map(|part| self::literal(program, rule, part)).collect();
            format!(
                "{} = {:?} {} : {{ {} }} over {} by {} of {} seen in {}",
                variable(rule, aggregate.result),
                aggregate.function,
                aggregate.target.as_ref().map_or(String::new(), |target| term(program, rule, target)),
                body.join(", "),
                aggregate
                    .distinct
                    .as_ref()
                    .map_or("tuples".to_owned(), |ids| format!("distinct [{}]", names(ids))),
                names(&aggregate.outer),
                program.types.types.iter().find(|t| t.kind == aggregate.kind).map_or("", |t| &t.name),
                names(&aggregate.witnesses)
            )
        }
    }
}

fn variable(rule: &Rule, id: VariableId) -> String {
    let name = &rule.variables[id.0 as usize].name;
    // Inner variables of aggregates may share a name with outer ones.
    if name.is_empty() { format!("v{}", id.0) } else { format!("{name}{}", id.0) }
}

fn terms(program: &Program, rule: &Rule, all: &[Term]) -> String {
    all.iter().map(|part| term(program, rule, part)).collect::<Vec<_>>().join(", ")
}

fn term(program: &Program, rule: &Rule, term: &Term) -> String {
    match term {
        Term::Variable(id) => variable(rule, *id),
        Term::Constant(word) => format!("#{}", word.0),
        Term::Wildcard => "_".to_owned(),
        Term::Construct(id, fields) => {
            format!("{}[{}]", program.types.constructor(*id).name, terms(program, rule, fields))
        }
        Term::Call(call) => {
            let name = match call.function {
                Function::Functor { id, .. } => functor::table()[usize::from(id.0)].name.to_owned(),
                Function::Arithmetic(operator, kind) => format!("{operator:?}{kind:?}"),
                Function::Range(kind) => format!("Range{kind:?}"),
                Function::Cast(from, to) => format!("Cast{from:?}{to:?}"),
                Function::Show(type_id) => format!("Show<{}>", program.types.get(type_id).name),
            };
            format!("{name}({})", terms(program, rule, &call.arguments))
        }
    }
}

/// Files by name: what an include finds.
struct Folder(BTreeMap<String, String>);

impl Includes for Folder {
    fn include(&mut self, _from: &str, path: &str) -> Result<(String, String), String> {
        let text = self.0.get(path).ok_or_else(|| "there is no such file".to_owned())?;
        Ok((text.clone(), path.to_owned()))
    }

    fn exists(&mut self, _from: &str, path: &str) -> bool {
        path == "locked/prelude.dl"
    }
}

/// Codes of the findings for a first file and the files that can be included.
fn codes(first: &str, others: &[(&str, &str)]) -> Vec<&'static str> {
    let others = others.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect();
    let found = match check(&[("first.dl".to_owned(), first.to_owned())], &mut Folder(others)) {
        Ok(program) => program.warnings,
        Err(refusal) => refusal.findings,
    };
    found.into_iter().map(|finding| finding.code).collect()
}

#[test]
fn a_file_is_taken_once_and_never_in_a_circle() {
    let more = ("more.dl", ".decl M(x: number)\nM(1).");
    assert_eq!(
        codes(".include \"more.dl\"\n.include \"more.dl\"\nIsAuthorized(0) :- M(1).", &[more]),
        [""; 0]
    );
    assert_eq!(
        codes(".include \"a.dl\"", &[("a.dl", ".include \"b.dl\""), ("b.dl", ".include \"a.dl\"")]),
        ["E0051"]
    );
    assert_eq!(codes(".include \"gone.dl\"", &[]), ["E0050"]);
    assert_eq!(codes(".include \"prelude.dl\"\n#include \"x/common_policy.dl\"", &[]), ["W0012"]);
    // A file of the prelude's name that is there counts as any other.
    assert_eq!(codes(".include \"prelude.dl\"", &[("prelude.dl", "Nothing(1).")]), ["E0010"]);
    assert_eq!(codes(".include \"locked/prelude.dl\"", &[]), ["E0050"]);
    let deep: Vec<(String, String)> =
        (0..40).map(|n| (format!("{n}.dl"), format!(".include \"{}.dl\"", n + 1))).collect();
    let deep: Vec<(&str, &str)> = deep.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    assert_eq!(codes(".include \"0.dl\"", &deep), ["E0051"]);
}

#[test]
fn a_copy_of_the_prelude_is_the_prelude() {
    let of = |files: &[(&str, &str)]| {
        let files: Vec<_> = files.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect();
        check(&files, &mut NoIncludes).map(|program| (program.rules.len(), program.digest))
    };
    let policy = ("p.dl", "IsAuthorized(0).");
    let alone = of(&[policy]).unwrap();
    assert_eq!(of(&[("policies/prelude.dl", PRELUDE), policy]).unwrap(), alone);
    assert_eq!(of(&[policy, ("renamed.dl", PRELUDE)]).unwrap(), alone);
    // Any other file of that name is a file like others.
    let other = format!("{PRELUDE}\n.decl Nothing(1)");
    assert!(of(&[("prelude.dl", &other), policy]).is_err());
    assert_ne!(of(&[("prelude.dl", "IsAuthorized(1)."), policy]).unwrap().0, alone.0);
    assert_eq!(codes(".include \"copy.dl\"\nIsAuthorized(0).", &[("copy.dl", PRELUDE)]), [""; 0]);
}

#[test]
fn gates_that_nobody_writes_hold() {
    let of = |text: &str| {
        let program = check(&[("p.dl".to_owned(), text.to_owned())], &mut NoIncludes).unwrap();
        ["CurrentDependsPolicyRelevant", "ReachableFromPolicyRelevant"].map(|name| {
            let gate = program.relation(name).unwrap();
            let own = program.rules.iter().filter(|rule| rule.head.relation == gate);
            own.map(|found| rule(&program, found)).collect::<Vec<_>>().join(" ")
        })
    };
    let second = "CurrentDependsPolicyRelevant() :- ReachableFromPolicyRelevant().  // ";
    let follows = "ReachableFromPolicyRelevant() :- CurrentDependsPolicyRelevant().  // ";
    assert_eq!(of(""), [format!("{second} CurrentDependsPolicyRelevant() :- .  // "), follows.to_owned()]);
    let written = of("ReachableFromPolicyRelevant() :- IsTool(_, \"pay\").");
    assert_eq!(written[0], format!("{second} CurrentDependsPolicyRelevant() :- .  // "));
    assert!(!written[1].contains("CurrentDepends"), "{}", written[1]);
    let written = of("CurrentDependsPolicyRelevant() :- IsTool(_, \"pay\").");
    assert_eq!(written[1], follows);
    assert!(written[0].contains("IsTool") && !written[0].contains(":- ."), "{}", written[0]);
}

#[test]
fn the_digest_is_of_the_texts_and_not_of_their_names() {
    let of = |files: &[(&str, &str)]| {
        let files: Vec<_> = files.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect();
        check(&files, &mut NoIncludes).unwrap().digest
    };
    assert_eq!(of(&[("a.dl", "IsAuthorized(0).")]), of(&[("b.dl", "IsAuthorized(0).")]));
    assert_ne!(of(&[("a.dl", "IsAuthorized(0).")]), of(&[("a.dl", "IsAuthorized(1).")]));
    assert_ne!(of(&[("a.dl", "// x"), ("b.dl", "")]), of(&[("a.dl", ""), ("b.dl", "// x")]));
    assert!(of(&[]).starts_with("sha256:"));
}

#[test]
fn an_aggregate_over_alternatives_counts_each_row_once() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/program/ok/aggregates-over-alternatives.dl");
    let program = check(&[file(&path)], &mut NoIncludes).unwrap();
    let relations = ["Both", "PerKey"].map(|name| program.relation(name).unwrap());
    let mut monitor = Monitor::new(Arc::new(Policy::new(program)), Settings::default());
    let found = monitor.rows(&Request::default(), &relations).unwrap();
    let rows: Vec<_> = found.into_iter().map(|relation| relation.rows).collect();
    let (n, a) = (Datum::Number, || Datum::Text("a".to_owned()));
    assert_eq!(rows, [vec![vec![n(2)], vec![n(6)]], vec![vec![a(), n(1)], vec![a(), n(2)]]]);
}

/// Every fixture of a folder, in the order of names.
#[expect(clippy::disallowed_methods, reason = "a test reads its fixtures")]
fn fixtures() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/program");
    let names = |kind: &str| std::fs::read_dir(folder.join(kind)).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = names("ok").chain(names("err")).collect();
    paths.sort();
    paths.iter().map(|path| text(path)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// Whatever stands in a policy, it is a program or it is refused with an error whose places can be drawn.
    #[test]
    fn damaged_policies_are_refused_in_words(
        at in any::<proptest::sample::Index>(),
        other in any::<proptest::sample::Index>(),
        from in any::<proptest::sample::Index>(),
        to in any::<proptest::sample::Index>(),
    ) {
        let texts = fixtures();
        let (first, second): (Vec<char>, Vec<char>) =
            (at.get(&texts).chars().collect(), other.get(&texts).chars().collect());
        let (from, to) = (from.index(first.len()), to.index(second.len()));
        // The start of one policy with the end of another: cut anywhere.
        let text: String = first[..from].iter().chain(&second[to..]).collect();
        let again = check(&[("p.dl".to_owned(), text.clone())], &mut NoIncludes);
        match check(&[("p.dl".to_owned(), text)], &mut NoIncludes) {
            Ok(program) => assert_eq!(again.unwrap().rules, program.rules),
            Err(refusal) => {
                assert!(refusal.findings.iter().any(|finding| finding.severity == Severity::Error));
                assert_eq!(again.unwrap_err().findings, refusal.findings);
                assert!(!drawn(&refusal.sources, &refusal.findings).is_empty());
            }
        }
    }
}
