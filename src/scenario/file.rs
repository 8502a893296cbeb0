//! A test file as a tree of cases and checks.

use std::collections::BTreeSet;

use crate::monitor::{Action, Caller};
use crate::recording::Parts;
use crate::scenario::call::CallName;
use crate::scenario::entry::{self, Entry, Happening};
use crate::scenario::expect::{Expectation, ExpectedRows, expectation, facts};
use crate::scenario::fields::{self, Fields, fields};
use crate::source::Place;
use crate::yaml::{self, Fault, Node};

/// A test file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestFile {
    /// As named by the user.
    pub name: String,
    /// Its cases, at least one.
    pub cases: Vec<Case>,
}

/// The texts that make a policy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct PolicyTexts {
    /// Files, relative to the test file.
    pub files: Vec<String>,
    /// Text in the test file.
    pub source: Option<String>,
}

/// One session with its checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// Its name.
    pub name: String,
    pub(crate) place: Place,
    pub(crate) policy: PolicyTexts,
    pub(crate) config: Vec<[String; 3]>,
    pub(crate) caller: Caller,
    /// A recording, relative to the test file.
    pub(crate) session: Option<String>,
    /// What is read of it.
    pub(crate) parts: Parts,
    pub(crate) records: Vec<Entry>,
    pub(crate) steps: Vec<Step>,
    /// The code of a finding, or `any`: the policy must not load.
    pub(crate) error: Option<String>,
}

/// What happens next, and what is asked then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) place: Place,
    pub(crate) append: Vec<Entry>,
    pub(crate) check: Option<Check>,
}

/// One request and the answer that it has to get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Check {
    pub(crate) moment: Moment,
    /// None: the action of the moment.
    pub(crate) actions: Option<Vec<(Action, Vec<[String; 3]>)>>,
    pub(crate) expect: Option<Vec<Expectation>>,
    pub(crate) facts: Vec<ExpectedRows>,
}

/// When a check happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Now, computed from these records.
    Current(Vec<String>),
    /// When a call of the session was made.
    At(CallName),
}

/// Reads a test file.
///
/// # Errors
/// Every fault, in the order of the text.
pub fn parse(name: &str, text: &str) -> Result<TestFile, Vec<Fault>> {
    let root = yaml::read(text).map_err(|fault| vec![fault])?;
    let mut faults = Vec::new();
    let cases = file(&root, &mut faults);
    if faults.is_empty() {
        return Ok(TestFile { name: name.to_owned(), cases });
    }
    faults.sort_by_key(|fault| fault.place);
    Err(faults)
}

/// Reads rows of three texts, such as `PolicyMetadata` rows.
///
/// # Errors
/// Every fault.
pub fn rows(text: &str) -> Result<Vec<[String; 3]>, Vec<Fault>> {
    let root = yaml::read(text).map_err(|fault| vec![fault])?;
    let mut faults = Vec::new();
    let nodes = fields::list(&root, "the file", &mut faults);
    let rows = fields::triples(nodes, "a row", &mut faults);
    if faults.is_empty() { Ok(rows) } else { Err(faults) }
}

fn file(root: &Node, faults: &mut Vec<Fault>) -> Vec<Case> {
    let Some(map) = fields(root, "a test file", &["policy", "source", "config", "cases"], faults) else {
        return Vec::new();
    };
    let policy = policy(&map, faults);
    let config = config(&map, faults).unwrap_or_default();
    let cases: Vec<_> = map
        .list("cases", faults)
        .iter()
        .filter_map(|node| case(node, policy.as_ref(), &config, faults))
        .collect();
    if cases.is_empty() && faults.is_empty() {
        faults.push(Fault::new(root.place, "a test file with no case"));
    }
    cases
}

fn policy(map: &Fields<'_>, faults: &mut Vec<Fault>) -> Option<PolicyTexts> {
    if !map.has("policy") && !map.has("source") {
        return None;
    }
    let files = map.one_or_more("policy");
    let files = files.into_iter().filter_map(|node| fields::text(node, "`policy`", faults)).collect();
    // An empty text is a policy too: one that allows nothing.
    let source = match map.get("source") {
        Some(node) if node.is_null() => Some(String::new()),
        _ => map.text("source", faults),
    };
    Some(PolicyTexts { files, source })
}

fn config(map: &Fields<'_>, faults: &mut Vec<Fault>) -> Option<Vec<[String; 3]>> {
    map.has("config").then(|| fields::triples(map.list("config", faults), "a row of `config`", faults))
}

const CASE_KEYS: &[&str] = &[
    "name",
    "principal",
    "entity",
    "tenant",
    "session",
    "parts",
    "records",
    "checks",
    "policy",
    "source",
    "config",
    "error",
    "clock",
];

fn case(
    node: &Node,
    file_policy: Option<&PolicyTexts>,
    file_config: &[[String; 3]],
    faults: &mut Vec<Fault>,
) -> Option<Case> {
    let map = fields(node, "a case", CASE_KEYS, faults)?;
    let name = map.required("name", faults).unwrap_or_default();
    let Some(policy) = policy(&map, faults).or_else(|| file_policy.cloned()) else {
        faults.push(Fault::new(
            node.place,
            "no policy: neither the file nor the case has `policy` or `source`",
        ));
        return None;
    };
    let mut records: Vec<_> = clock(&map, faults).into_iter().collect();
    records.extend(entries(&map, "records", faults));
    let steps: Vec<_> = map.list("checks", faults).iter().filter_map(|node| step(node, faults)).collect();
    let error = map.text("error", faults);
    if error.is_some() && !steps.is_empty() {
        faults.push(map.fault("error", "a policy that must not load cannot be asked: `error` or `checks`"));
    }
    let asks = steps.iter().any(|step| step.check.is_some());
    // Faults inside its checks say enough.
    let faulty = map.has("checks") && !faults.is_empty();
    if error.is_none() && !asks && !faulty {
        faults.push(Fault::new(node.place, format!("the case `{name}` has no check")));
    }
    let case = Case {
        place: node.place,
        policy,
        config: config(&map, faults).unwrap_or_else(|| file_config.to_vec()),
        caller: caller(&map, faults),
        session: map.text("session", faults),
        parts: parts(&map, faults),
        records,
        steps,
        error,
        name,
    };
    repeated_ids(&case, faults);
    Some(case)
}

fn parts(map: &Fields<'_>, faults: &mut Vec<Fault>) -> Parts {
    let named = map.text("parts", faults);
    let parts = match named.as_deref() {
        None | Some("supported") => Parts::Supported,
        Some("full") => Parts::Full,
        Some(other) => {
            let text = format!("unknown parts `{other}`; known are `supported`, `full`");
            faults.push(map.fault("parts", text));
            Parts::Supported
        }
    };
    if named.is_some() && !map.has("session") {
        faults
            .push(map.fault("parts", "`parts` says how a recording is read, and the case has no `session`"));
    }
    parts
}

fn clock(map: &Fields<'_>, faults: &mut Vec<Fault>) -> Option<Entry> {
    let time = map.text("clock", faults)?;
    Some(Entry { place: map.place, event: Happening::Clock(time) })
}

fn entries(map: &Fields<'_>, key: &str, faults: &mut Vec<Fault>) -> Vec<Entry> {
    map.list(key, faults).iter().flat_map(|node| entry::entry(node, faults)).collect()
}

fn repeated_ids(case: &Case, faults: &mut Vec<Fault>) {
    let mut seen = BTreeSet::new();
    for entry in case.records.iter().chain(case.steps.iter().flat_map(|step| &step.append)) {
        let id = match &entry.event {
            Happening::Record { given, .. } => Some(&given.id),
            Happening::Outcome(outcome) => outcome.id.as_ref(),
            Happening::Confirm(_)
            | Happening::State { .. }
            | Happening::Artifact { .. }
            | Happening::ToolSource { .. }
            | Happening::SessionUser(_)
            | Happening::Clock(_) => None,
        };
        if let Some(id) = id
            && !seen.insert(id)
        {
            faults.push(Fault::new(entry.place, format!("the id `{id}` is used twice")));
        }
    }
}

fn caller(map: &Fields<'_>, faults: &mut Vec<Fault>) -> Caller {
    let (principal, roles) = match map.get("principal") {
        None => (Some("test".to_owned()), Vec::new()),
        Some(node) if node.is_null() => (None, Vec::new()),
        Some(node) => match fields(node, "`principal`", &["id", "roles"], faults) {
            None => (None, Vec::new()),
            Some(principal) => (principal.required("id", faults), principal.texts("roles", faults)),
        },
    };
    let tenant = map.text("tenant", faults).unwrap_or_else(|| "default".to_owned());
    Caller { principal, roles, entity: map.text("entity", faults), tenant: Some(tenant) }
}

fn step(node: &Node, faults: &mut Vec<Fault>) -> Option<Step> {
    let mut known = vec!["append", "current", "at", "actions", "expect", "facts"];
    known.extend(entry::HAPPENING_KEYS);
    let map = fields(node, "a check", &known, faults)?;
    let mut append = entries(&map, "append", faults);
    append.extend(entry::happenings(&map, faults));
    let asks = ["current", "at", "actions", "expect", "facts"].into_iter().any(|key| map.has(key));
    if !asks && append.is_empty() && faults.is_empty() {
        faults.push(Fault::new(node.place, "a check with nothing in it"));
    }
    let check = if asks { check(&map, faults) } else { None };
    Some(Step { place: node.place, append, check })
}

fn check(map: &Fields<'_>, faults: &mut Vec<Fault>) -> Option<Check> {
    let moment = moment(map, faults)?;
    let before = faults.len();
    let actions: Option<Vec<_>> = map
        .some("actions")
        .map(|_| map.list("actions", faults).iter().filter_map(|node| entry::action(node, faults)).collect());
    let expect: Option<Vec<_>> = map
        .some("expect")
        .map(|_| map.list("expect", faults).iter().filter_map(|node| expectation(node, faults)).collect());
    let facts = facts(map, faults);
    if faults.len() > before {
        return None;
    }
    if expect.is_none() && facts.is_empty() {
        faults.push(Fault::new(map.place, "a check with no `expect` and no `facts`"));
    }
    let asked = match (&actions, &moment) {
        (Some(actions), _) => actions.len(),
        (None, Moment::At(_)) => 1,
        (None, Moment::Current(_)) => 0,
    };
    if let Some(expect) = &expect
        && expect.len() != asked
    {
        let text = match expect.len() > asked {
            true => format!("an expectation with no matching action: {} for {asked}", expect.len()),
            false => format!("an action with no expectation: {asked} and {} expected", expect.len()),
        };
        faults.push(map.fault("expect", text));
    }
    Some(Check { moment, actions, expect, facts })
}

fn moment(map: &Fields<'_>, faults: &mut Vec<Fault>) -> Option<Moment> {
    let Some(at) = map.some("at") else {
        return Some(Moment::Current(map.texts("current", faults)));
    };
    if map.has("current") {
        faults.push(map.fault("at", "`at` and `current` in one check: one of them says when"));
    }
    let at = fields(at, "`at`", &["call", "seq"], faults)?;
    match (at.text("call", faults), at.number("seq", faults)) {
        (Some(id), None) => Some(Moment::At(CallName::Id(id))),
        (None, Some(seq)) if u32::try_from(seq).is_ok() => {
            Some(Moment::At(CallName::Seq(u32::try_from(seq).unwrap_or_default())))
        }
        (Some(_), Some(_)) | (None, Some(_) | None) => {
            faults.push(Fault::new(at.place, "`at` names one call, by `call` or by `seq`"));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> String {
        match parse("t", text) {
            Ok(file) => format!("{} cases", file.cases.len()),
            Err(faults) => faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        }
    }

    fn in_case(rest: &str) -> String {
        faults(&format!("source: \"\"\ncases:\n  - name: a\n    {rest}\n"))
    }

    #[test]
    fn what_would_test_nothing_is_a_fault() {
        let rows = [
            ("checks: [{expect: [deny], actions: [{tool: x}]}]", "1 cases"),
            ("checks: []", "3:5: the case `a` has no check"),
            ("records: []", "3:5: the case `a` has no check"),
            ("checks: [{append: [{id: x}]}]", "3:5: the case `a` has no check"),
            ("checks: [{actions: [{tool: x}]}]", "4:14: a check with no `expect` and no `facts`"),
            ("checks: [{expect: [deny]}]", "4:23: an expectation with no matching action: 1 for 0"),
            (
                "checks: [{actions: [{tool: x}, {tool: y}], expect: [deny]}]",
                "4:56: an action with no expectation: 2 and 1 expected",
            ),
            ("checks: [{actions: [{tool: x}], expect: [{}]}]", "4:46: an expectation that says nothing"),
            (
                "checks: [{actions: [{tol: x}], expect: [deny]}]",
                "4:25: unknown key `tol` in an action; did you mean `tool`\n4:25: an action is one of `tool` (with `args`), `http`, `send`",
            ),
            (
                "checks: [{actions: [{tool: x}], expect: [{kinds: [refused]}]}]",
                "4:54: unknown kind `refused`; known are `not_authenticated`, `denied`, `approval_required`, `not_allowed`, `engine_error`",
            ),
            ("records: [{id: r}, {id: r}]\n    checks: [{facts: {A: []}}]", "4:24: the id `r` is used twice"),
            ("error: any", "1 cases"),
        ];
        for (text, expected) in rows {
            let got = in_case(text);
            if expected.contains('\n') {
                assert!(got.contains("did you mean `tool`"), "{text}: {got}");
            } else {
                assert_eq!(got, expected, "{text}");
            }
        }
        assert_eq!(faults("source: x\ncases: []"), "1:1: a test file with no case");
        assert_eq!(
            faults("cases: [{name: a, checks: [{facts: {A: []}}]}]"),
            "1:9: no policy: neither the file nor the case has `policy` or `source`"
        );
    }

    #[test]
    fn callers_default_to_test_and_null_is_nobody() {
        let caller = |rest: &str| {
            let text = format!("source: \"\"\ncases: [{{name: a, error: any{rest}}}]");
            parse("t", &text).unwrap().cases.remove(0).caller
        };
        assert_eq!(caller("").principal.as_deref(), Some("test"));
        assert_eq!(caller("").tenant.as_deref(), Some("default"));
        assert_eq!(caller(", principal: null").principal, None);
        assert_eq!(caller(", principal: {id: ann, roles: [a, b]}").roles, ["a", "b"]);
    }

    #[test]
    fn arguments_are_ordinary_json_or_the_text_given() {
        let arguments = |args: &str| {
            let text = format!(
                "source: \"\"\ncases: [{{name: a, checks: [{{actions: [{{tool: t, args: {args}}}], expect: [deny]}}]}}]"
            );
            let case = parse("t", &text).unwrap().cases.remove(0);
            match case.steps.into_iter().next().unwrap().check.unwrap().actions.unwrap().remove(0).0 {
                Action::CallTool { arguments, .. } => arguments,
                other => format!("{other:?}"),
            }
        };
        let rows = [
            (
                "{b: 1.0, a: [yes, true, 9007199254740993, \"7\"]}",
                r#"{"a":["yes",true,9007199254740993,"7"],"b":1.0}"#,
            ),
            ("'{ \"b\":1}'", r#"{ "b":1}"#),
            ("not json", "not json"),
            ("[1, x]", r#"[1,"x"]"#),
            ("~", "{}"),
        ];
        for (args, expected) in rows {
            assert_eq!(arguments(args), expected, "{args}");
        }
    }
}
