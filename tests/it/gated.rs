//! What the tests of the gate share: a session by hand, and the replay of its journal.

use std::sync::Arc;
use std::time::Duration;

use gatelog::decision::Decision;
use gatelog::engine::Budget;
use gatelog::gate::{Appended, Builder, Checked, Gate, GateError, GatedSession};
use gatelog::monitor::{Caller, Policy, Settings};
use gatelog::program::{NoIncludes, check};
use gatelog::recording::journal::{Ending, Question, SessionKey};
use gatelog::recording::{Form, Options, Parts, Recording, read};
use gatelog::replay::{SessionReport, replay};
use gatelog::store::Journals;
use tokio::runtime::Runtime;

/// Everything that a verdict may hang on: what runs, what came back, what nobody knows, what a person says.
pub(crate) const SENSITIVE: &str = r#"
IsAuthorized(i) :- Actions(i, _).
// @id: twice
Unauthorized(i) :- Actions(i, $CallTool(tool, _)), ToolOutcome(_, _, tool, _, "running").
// @id: unknown
Unauthorized(i) :- Actions(i, _), DependsOnUnattributedInput().
// @id: after
Unauthorized(i) :- Actions(i, _), CurrentDepends(r), ToolResult(r, "transfer_to_agent", _).
// @id: large
// @ask
Unauthorized(i) :- Actions(i, $CallTool(_, args)), @json_float(args, "amount") > 10.0.
// @id: own
// @ask: self
Unauthorized(i) :- Actions(i, $CallTool(_, args)), @json_float(args, "tip") > 1.0.
"#;

pub(crate) fn policy(text: &str) -> Arc<Policy> {
    let program = check(&[("p.dl".to_owned(), text.to_owned())], &mut NoIncludes);
    Arc::new(Policy::new(program.unwrap_or_else(|refusal| panic!("{refusal:?}"))))
}

pub(crate) fn key(session: &str) -> SessionKey {
    let of = str::to_owned;
    SessionKey { tenant: of("t"), app: of("app"), user: of("ann"), session: of(session) }
}

pub(crate) fn gate(policy: &Arc<Policy>, store: Journals) -> Gate {
    building(policy, store).build().unwrap()
}

pub(crate) fn building(policy: &Arc<Policy>, store: Journals) -> Builder {
    let caller = Caller { principal: Some("svc".to_owned()), ..Caller::default() };
    Gate::builder()
        .policy(Arc::clone(policy))
        .store(store)
        .caller(caller)
        .parts(Parts::Full)
        .deadline(Duration::from_secs(120))
}

pub(crate) fn replayed(
    policy: &Arc<Policy>,
    store: &Journals,
    key: &SessionKey,
) -> (Recording, SessionReport) {
    let lines: Vec<String> = store.lines(key).unwrap().into_iter().map(|line| line + "\n").collect();
    let mut recordings = read(lines.concat().as_bytes(), &Options::default()).unwrap();
    let recording = recordings.pop().unwrap();
    assert_eq!((recording.form, recordings.len()), (Form::Journal, 0));
    // What the flags say does not count: the journal does.
    let settings = Settings { budget: Budget { steps: 1, ..Budget::default() }, ..Settings::default() };
    let report = replay(policy, &settings, "j", &recording);
    (recording, report)
}

/// The law: each decision of the replay is that of the gate.
pub(crate) fn agrees(
    policy: &Arc<Policy>,
    store: &Journals,
    key: &SessionKey,
    decided: &[Decision],
) -> SessionReport {
    let (_, report) = replayed(policy, store, key);
    let again: Vec<&Decision> = report.checks.iter().map(|check| &check.decision).collect();
    assert_eq!(again, decided.iter().collect::<Vec<_>>());
    assert!(!report.warnings.iter().any(|notice| notice.kind == "gate_differs"), "{:?}", report.warnings);
    report
}

/// A session by hand, and what is asked about it.
pub(crate) struct Hand {
    pub(crate) runtime: Runtime,
    pub(crate) policy: Arc<Policy>,
    pub(crate) store: Journals,
    pub(crate) gate: Gate,
    pub(crate) session: GatedSession,
}

impl Hand {
    pub(crate) fn new(policy_text: &str) -> Self {
        let (runtime, policy, store) = (Runtime::new().unwrap(), policy(policy_text), Journals::memory());
        let gate = gate(&policy, store.clone());
        let session = runtime.block_on(async { gate.session(key("s")) });
        Self { runtime, policy, store, gate, session }
    }

    pub(crate) fn append(&self, id: &str, author: &str, part: &str) -> Result<Appended, GateError> {
        let event = format!(
            r#"{{"id":"{id}","author":"{author}","invocationId":"i","content":{{"parts":[{part}]}}}}"#
        );
        self.runtime.block_on(self.session.append(&event))
    }

    pub(crate) fn calls(&self, id: &str, tool: &str, arguments: &str) {
        let part = format!(r#"{{"functionCall":{{"id":"{id}","name":"{tool}","args":{arguments}}}}}"#);
        self.append(&format!("call-{id}"), "bot", &part).unwrap();
    }

    pub(crate) fn answers(&self, id: &str, tool: &str, response: &str) {
        let part = format!(r#"{{"functionResponse":{{"id":"{id}","name":"{tool}","response":{response}}}}}"#);
        self.append(&format!("answer-{id}"), "bot", &part).unwrap();
    }

    pub(crate) fn check(&self, id: &str, tool: &str, arguments: &str) -> Checked {
        let (events, digest) = self.runtime.block_on(self.session.history()).unwrap();
        let (call_id, tool, arguments) = (id.to_owned(), tool.to_owned(), arguments.to_owned());
        let agent = "bot".to_owned();
        let question = Question { call_id, tool, arguments, agent, events, digest, ..Question::default() };
        self.runtime.block_on(self.session.check(question))
    }

    pub(crate) fn finish(
        &self,
        checked: &Checked,
        ending: Ending,
        ran: Option<&str>,
    ) -> Result<(), GateError> {
        self.runtime.block_on(self.session.finish(&checked.ticket, ending, ran))
    }

    pub(crate) fn confirm(
        &self,
        checked: &Checked,
        yes: bool,
        principal: Option<&str>,
    ) -> Result<(), GateError> {
        self.runtime.block_on(self.session.confirm(&checked.ticket, yes, principal))
    }

    pub(crate) fn report(&self) -> SessionReport {
        replayed(&self.policy, &self.store, &key("s")).1
    }
}

pub(crate) const RETURNED: Ending = Ending::Returned(None);

pub(crate) fn why(checked: &Checked) -> String {
    checked.decision.reasons.iter().map(|reason| reason.text.clone()).collect::<Vec<_>>().join("; ")
}

/// A policy whose evaluation takes longer than any deadline here.
pub(crate) const SLOW: &str = r#"
IsAuthorized(i) :- Actions(i, _).
.decl N(x: number)
N(0).
N(x + 1) :- N(x), x < 3000.
Unauthorized(i) :- Actions(i, $CallTool("slow", _)), N(x), N(y), N(z), x + y + z = -1.
"#;
