//! Cases to results.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::decision::{Decision, Reason};
use crate::engine::Budget;
use crate::monitor::{Action, Monitor, Policy, Request, Rows, Settings};
use crate::program::{self, Includes, Program, Refusal, RelationId, nearest};
use crate::recording::{self, Options, Stop, UnreadCall};
use crate::records::{CallNumber, ProposedCall};
use crate::replay::{Turn, walk};
use crate::scenario::apply::{Applied, apply};
use crate::scenario::call::{CallName, known_calls};
use crate::scenario::compare;
use crate::scenario::entry::Entry;
use crate::scenario::file::{Case, Check, Moment, PolicyTexts, TestFile};

/// What a test file names: filled by whoever may open files. Paths are relative to the test file.
pub trait Loader: Includes {
    /// Name and text of a policy file.
    ///
    /// # Errors
    /// Why it cannot be read, with its name.
    fn policy(&mut self, path: &str) -> Result<(String, String), String>;

    /// The name under which text in the test file is shown and includes other files.
    fn inline(&mut self) -> String;

    /// The bytes of a recording.
    ///
    /// # Errors
    /// Why it cannot be read, with its name.
    fn recording(&mut self, path: &str) -> Result<Vec<u8>, String>;
}

/// How a case went.
#[derive(Debug, Clone)]
pub struct CaseResult {
    /// The test file, as named by the user.
    pub file: String,
    /// The case.
    pub name: String,
    /// Line of the case in the file; 0 where that is not known.
    pub line: u32,
    /// What was not as expected; empty for a case that passed.
    pub failures: Vec<Failure>,
    /// What is likely a mistake in the case and fails nothing.
    pub doubts: Vec<String>,
    /// Why the case could not be run to its end: its policy, session or a name in it is broken.
    pub broken: Option<Broken>,
}

impl CaseResult {
    /// Whether everything was as expected.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.failures.is_empty() && self.broken.is_none()
    }
}

/// Why a case could not be run.
#[derive(Debug, Clone)]
pub enum Broken {
    /// Its policy does not load.
    Policy(Arc<Refusal>),
    /// Anything else, in words.
    Other(String),
}

/// One thing that was not as expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Number of the check in its case, from 0.
    pub check: usize,
    /// Line of the check in the file; 0 where that is not known.
    pub line: u32,
    /// Number of the action in its check, from 0; none where the failure is about relations or loading.
    pub action: Option<usize>,
    /// What is compared, such as `verdict` or ``rows of `R` ``.
    pub what: String,
    /// As expected.
    pub expected: String,
    /// As it came.
    pub got: String,
    /// The reasons that the action got.
    pub reasons: Vec<Reason>,
}

type Loaded = Result<Arc<Policy>, Broken>;

/// Runs the cases of a file that `wanted` names.
pub fn run(
    file: &TestFile,
    budget: Budget,
    wanted: &dyn Fn(&Case) -> bool,
    loader: &mut dyn Loader,
) -> Vec<CaseResult> {
    let mut programs = BTreeMap::new();
    let cases = file.cases.iter().filter(|case| wanted(case));
    cases
        .map(|case| {
            let program =
                programs.entry(case.policy.clone()).or_insert_with(|| load(&case.policy, loader)).clone();
            let mut result = CaseResult {
                file: file.name.clone(),
                name: case.name.clone(),
                line: case.place.line,
                failures: Vec::new(),
                doubts: Vec::new(),
                broken: None,
            };
            match (&case.error, program) {
                (Some(code), program) => refused(code, program, &mut result),
                (None, Err(broken)) => result.broken = Some(broken),
                (None, Ok(program)) => {
                    if let Err(text) = run_case(case, program, budget, loader, &mut result) {
                        result.broken = Some(Broken::Other(text));
                    }
                }
            }
            result
        })
        .collect()
}

fn load(policy: &PolicyTexts, loader: &mut dyn Loader) -> Loaded {
    let mut texts = Vec::new();
    for path in &policy.files {
        texts.push(loader.policy(path).map_err(Broken::Other)?);
    }
    if let Some(source) = &policy.source {
        texts.push((loader.inline(), source.clone()));
    }
    match program::check(&texts, loader) {
        Ok(program) => Ok(Arc::new(Policy::new(program))),
        Err(refusal) => Err(Broken::Policy(Arc::from(refusal))),
    }
}

/// The policy must not load.
fn refused(code: &str, program: Loaded, result: &mut CaseResult) {
    let failure = |got: String| Failure {
        check: 0,
        line: result.line,
        action: None,
        what: "policy".to_owned(),
        expected: format!("refused with {code}"),
        got,
        reasons: Vec::new(),
    };
    match program {
        Ok(_) => result.failures.push(failure("it loads".to_owned())),
        Err(Broken::Policy(refusal)) => {
            let codes: Vec<_> = refusal.findings.iter().map(|finding| finding.code).collect();
            if code != "any" && !codes.contains(&code) {
                result.failures.push(failure(format!("refused with {}", codes.join(", "))));
            }
        }
        Err(broken @ Broken::Other(_)) => result.broken = Some(broken),
    }
}

/// What a check at a moment of a recording got.
struct Answer {
    decisions: Vec<Decision>,
    rows: Result<Vec<Rows>, String>,
}

/// A call that a name may mean, and what the check got at it.
struct Named {
    /// Whether the name is all of the call's id, or its number.
    is_exact: bool,
    answer: Answer,
}

struct Session<'a> {
    case: &'a Case,
    monitor: Monitor,
    clock: Option<String>,
    /// Answers to checks at a moment of the recording, by number of the check.
    answers: BTreeMap<usize, Vec<Named>>,
    stop: Option<Stop>,
    unread: Vec<UnreadCall>,
}

fn run_case(
    case: &Case,
    policy: Arc<Policy>,
    budget: Budget,
    loader: &mut dyn Loader,
    result: &mut CaseResult,
) -> Result<(), String> {
    let (caller, metadata, parts) = (case.caller.clone(), case.config.clone(), case.parts);
    let settings = Settings { caller, metadata, budget, parts, ..Settings::default() };
    let mut session = Session {
        case,
        monitor: Monitor::new(policy, settings),
        clock: None,
        answers: BTreeMap::new(),
        stop: None,
        unread: Vec::new(),
    };
    // Names that do not exist are found before anything is judged.
    for (_, check) in checks(case) {
        relations(session.monitor.program(), check)?;
    }
    if let Some(path) = &case.session {
        record(&mut session, path, loader)?;
    }
    happen(&mut session, &case.records)?;
    let mut number = 0;
    for step in &case.steps {
        happen(&mut session, &step.append)?;
        if let Some(check) = &step.check {
            result.doubts.extend(strangers(&session.monitor, check, step.place.line));
            let answer = answer(&mut session, number, check)?;
            compare_check(&session, check, &answer, (number, step.place.line), &mut result.failures)?;
            number += 1;
        }
    }
    Ok(())
}

/// Names in `current` that are no records of the case: an action computed from them has no ancestors. Where a case has no
/// records at all, they are names and nothing more.
fn strangers(monitor: &Monitor, check: &Check, line: u32) -> Vec<String> {
    let Moment::Current(current) = &check.moment else { return Vec::new() };
    let records = monitor.graph().records();
    if records.is_empty() || current.is_empty() {
        return Vec::new();
    }
    let strange = current.iter().filter(|id| monitor.graph().record_of(id).is_none());
    strange
        .map(|id| {
            format!(
                "line {line}: `current` names `{id}`, which is no record of the case: it adds no ancestors"
            )
        })
        .collect()
}

fn checks(case: &Case) -> impl Iterator<Item = (usize, &Check)> {
    case.steps.iter().filter_map(|step| step.check.as_ref()).enumerate()
}

fn happen(session: &mut Session<'_>, entries: &[Entry]) -> Result<(), String> {
    for entry in entries {
        let line = entry.place.line;
        match apply(&mut session.monitor, &entry.event) {
            Ok(Applied::Done) => {}
            Ok(Applied::Clock(time)) => session.clock = Some(time),
            Err(text) if line == 0 => return Err(text),
            Err(text) => return Err(format!("line {line}: {text}")),
        }
    }
    Ok(())
}

/// The relations whose rows a check names.
fn relations(program: &Program, check: &Check) -> Result<Vec<RelationId>, String> {
    let mut ids = Vec::new();
    for wanted in &check.facts {
        let Some(id) = program.relation(&wanted.relation) else {
            let names = program.relations.iter().map(|relation| relation.name.as_str());
            let near = nearest(&wanted.relation, names.filter(|name| !name.starts_with("__")));
            let hint = near.map_or_else(String::new, |near| format!("; did you mean `{near}`"));
            return Err(format!("there is no relation `{}`{hint}", wanted.relation));
        };
        let columns = program.schema(id).map_or(0, |relation| relation.columns.len());
        if let Some(row) = wanted.rows.iter().find(|row| row.len() != columns) {
            return Err(format!(
                "a row of `{}` has {columns} columns, and {} are written",
                wanted.relation,
                row.len()
            ));
        }
        ids.push(id);
    }
    Ok(ids)
}

/// Reads the recording of a case, and answers its checks that name a moment in it.
fn record(session: &mut Session<'_>, path: &str, loader: &mut dyn Loader) -> Result<(), String> {
    let bytes = loader.recording(path)?;
    let options = Options { parts: session.case.parts, ..Options::default() };
    let recordings = recording::read(&bytes, &options).map_err(|error| format!("`{path}`: {error}"))?;
    let [recording] = <[_; 1]>::try_from(recordings)
        .map_err(|all| format!("`{path}` holds {} sessions, and a case is about one", all.len()))?;
    let (case, answers) = (session.case, &mut session.answers);
    let stopped = walk(&mut session.monitor, &recording, &mut |monitor, turn| {
        let Turn::Made(call) = turn else { return };
        for (number, check) in checks(case) {
            if let Moment::At(name) = &check.moment
                && let Some(is_exact) =
                    monitor.graph().calls().get(call.0 as usize).and_then(|made| meant(name, made))
            {
                let answer = answer_at(monitor, call, check);
                answers.entry(number).or_default().push(Named { is_exact, answer });
            }
        }
    });
    session.stop = stopped.err().map(|halt| halt.stop);
    session.unread = recording.unread_calls;
    Ok(())
}

/// Whether the call is named in full; none where it is not named at all.
fn meant(name: &CallName, call: &ProposedCall) -> Option<bool> {
    if name.names(call) { Some(true) } else { name.begins(&call.call_id).then_some(false) }
}

fn answer_at(monitor: &mut Monitor, call: CallNumber, check: &Check) -> Answer {
    let relations = relations(monitor.program(), check).unwrap_or_default();
    let Some(actions) = &check.actions else {
        let rows = monitor.rows_at_call(call, &relations).map_err(|error| error.to_string());
        return Answer { decisions: vec![monitor.judge_call(call)], rows };
    };
    let graph = monitor.graph();
    let made = graph.calls().get(call.0 as usize);
    let ids = made.into_iter().flat_map(|made| made.current.iter());
    let current =
        ids.filter_map(|id| graph.records().get(id.0 as usize)).map(|record| record.id().to_string());
    let clock = made.map(|made| made.time.to_string()).filter(|time| !time.is_empty());
    let request = Request { current: current.collect(), actions: actions.clone(), clock };
    Answer {
        decisions: monitor.judge(&request),
        rows: monitor.rows(&request, &relations).map_err(|error| error.to_string()),
    }
}

fn answer(session: &mut Session<'_>, number: usize, check: &Check) -> Result<Answer, String> {
    match &check.moment {
        Moment::At(name) => answer_of_moment(session, number, name, check),
        Moment::Current(current) => {
            if let Some(stop) = &session.stop {
                return Ok(stopped(stop, check.actions.as_ref().map_or(0, Vec::len)));
            }
            let relations = relations(session.monitor.program(), check)?;
            let actions = check.actions.clone().unwrap_or_default();
            let request = Request { current: current.clone(), actions, clock: session.clock.clone() };
            let decisions = session.monitor.judge(&request);
            let rows = session.monitor.rows(&request, &relations).map_err(|error| error.to_string());
            Ok(Answer { decisions, rows })
        }
    }
}

fn answer_of_moment(
    session: &mut Session<'_>,
    number: usize,
    name: &CallName,
    check: &Check,
) -> Result<Answer, String> {
    let mut found = session.answers.remove(&number).unwrap_or_default();
    if found.is_empty() {
        // A call among the records written by hand.
        let calls = session.monitor.graph().calls().iter().enumerate();
        let by_hand: Vec<_> = calls.filter_map(|(at, call)| Some((at, meant(name, call)?))).collect();
        for (at, is_exact) in by_hand {
            let call = CallNumber(u32::try_from(at).unwrap_or(u32::MAX));
            let answer = answer_at(&mut session.monitor, call, check);
            found.push(Named { is_exact, answer });
        }
    }
    // A whole id goes before those that begin so.
    let is_whole = found.iter().any(|named| named.is_exact);
    found.retain(|named| named.is_exact || !is_whole);
    let unread = |call: &&UnreadCall| {
        matches!(name, CallName::Id(id) if id == &call.call_id) || name.begins(&call.call_id)
    };
    if let (Some(stop), true, true) =
        (&session.stop, !is_whole, session.unread.iter().any(|call| unread(&call)))
    {
        return Ok(stopped(stop, check.actions.as_ref().map_or(1, Vec::len)));
    }
    match found.len() {
        0 => Err(format!("there is no {name}; {}", known_calls(&session.monitor))),
        1 => found.pop().map(|named| named.answer).ok_or_else(String::new),
        n if !is_whole => {
            Err(format!("{n} calls have ids that begin so ({name}); {}", known_calls(&session.monitor)))
        }
        n => Err(format!(
            "there are {n} calls with that id: name the {name} by `seq`; {}",
            known_calls(&session.monitor)
        )),
    }
}

/// Nothing can be judged once a session stopped.
fn stopped(stop: &Stop, actions: usize) -> Answer {
    let text = format!("the session stopped: {}", stop.text);
    let decision = Decision::fault(text.clone());
    Answer { decisions: vec![decision; actions], rows: Err(text) }
}

fn compare_check(
    session: &Session<'_>,
    check: &Check,
    answer: &Answer,
    (number, line): (usize, u32),
    failures: &mut Vec<Failure>,
) -> Result<(), String> {
    let mut fail = |action, difference: compare::Difference, reasons: &[Reason]| {
        let compare::Difference { what, expected, got } = difference;
        let reasons = reasons.to_vec();
        failures.push(Failure { check: number, line, action, what, expected, got, reasons });
    };
    for (action, expected) in check.expect.iter().flatten().enumerate() {
        let Some(decision) = answer.decisions.get(action) else {
            return Err(format!("action {action} of check {number} got no decision"));
        };
        for difference in compare::decision(expected, decision) {
            fail(Some(action), difference, &decision.reasons);
        }
    }
    if check.facts.is_empty() {
        return Ok(());
    }
    let program = session.monitor.program();
    for wanted in &check.facts {
        let difference = match &answer.rows {
            Err(text) => Some(compare::Difference {
                what: format!("rows of `{}`", wanted.relation),
                expected: format!("{} rows", wanted.rows.len()),
                got: text.clone(),
            }),
            Ok(all) => {
                let id = program.relation(&wanted.relation);
                let found = all.iter().find(|rows| Some(rows.relation) == id);
                compare::rows(&wanted.relation, &wanted.rows, found.map_or(&[], |rows| &rows.rows))
            }
        };
        if let Some(difference) = difference {
            fail(None, difference, &[]);
        }
    }
    Ok(())
}

/// An action as a person names it.
#[must_use]
pub fn action_text(action: &Action) -> String {
    match action {
        Action::CallTool { tool, arguments } => format!("{tool} {arguments}"),
        Action::HttpRequest { url, .. } => format!("http {url}"),
        Action::Send { contents, .. } => format!("send {contents:?}"),
    }
}
