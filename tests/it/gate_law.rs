//! Sessions that nobody wrote: whatever a runner does, and wherever its gate is started anew, the replay of the journal says
//! what the gate said, byte for byte.

use std::sync::Arc;

use gatelog::decision::Verdict;
use gatelog::gate::{Checked, GatedSession};
use gatelog::monitor::Policy;
use gatelog::recording::journal::{Access, Ending, Question, Resource};
use gatelog::report::json::DecisionRow;
use gatelog::store::Journals;
use proptest::prelude::{ProptestConfig, Strategy, any, prop, proptest};
use tokio::runtime::Runtime;

use crate::gated::{SENSITIVE, gate, key, policy, replayed};

/// One thing that a runner does; numbers pick among what is there.
#[derive(Debug, Clone)]
enum Act {
    Say(u8),
    Call(u8, u8),
    Answer(u8, u8),
    Check(u8, u8),
    Finish(u8, u8),
    Confirm(u8, u8),
    Touch(u8, u8),
    Ask(u8, u8),
    Unsent(u8),
    Rewind(u8),
    Broken,
    Clear,
    Anew,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let pick = (any::<u8>(), any::<u8>());
    let act = (0..34_u8, pick).prop_map(|(kind, (a, b))| match kind {
        0..4 => Act::Say(a),
        4..10 => Act::Call(a, b),
        10..14 => Act::Answer(a, b),
        14..20 => Act::Check(a, b),
        20..23 => Act::Finish(a, b),
        23..25 => Act::Confirm(a, b),
        25..27 => Act::Touch(a, b),
        27..29 => Act::Ask(a, b),
        29 => Act::Unsent(a),
        30 => Act::Rewind(a),
        31 => Act::Clear,
        32 if a < 40 => Act::Broken,
        _ => Act::Anew,
    });
    prop::collection::vec(act, 1..40)
}

const AGENTS: [&str; 2] = ["bot", "far"];
const TOOLS: [&str; 3] = ["f", "g", "transfer_to_agent"];
const ARGUMENTS: [&str; 4] = ["{}", r#"{"amount":11}"#, r#"{"tip":2}"#, r#"{"n":1.0}"#];

fn of<T: Copy>(all: &[T], pick: u8) -> T {
    all[usize::from(pick) % all.len()]
}

/// A session under way: what was said, called, decided.
struct Run {
    policy: Arc<Policy>,
    store: Journals,
    session: GatedSession,
    /// Agent, id, tool and arguments of each call.
    calls: Vec<(&'static str, String, &'static str, &'static str)>,
    contents: Vec<String>,
    checked: Vec<Checked>,
    events: usize,
}

impl Run {
    async fn new(policy: Arc<Policy>) -> Self {
        let store = Journals::memory();
        let session = gate(&policy, store.clone()).session(key("s"));
        let (calls, contents, checked) = (Vec::new(), Vec::new(), Vec::new());
        Self { policy, store, session, calls, contents, checked, events: 0 }
    }

    async fn event(&mut self, author: &str, more: &str) {
        self.events += 1;
        let (id, invocation) = (self.events, self.events / 6);
        let event = format!(r#"{{"id":"e{id}","author":"{author}","invocationId":"i{invocation}"{more}}}"#);
        // A session that has stopped takes nothing in, which is what happens then.
        let _stopped = self.session.append(&event).await;
    }

    async fn part(&mut self, author: &str, part: &str) {
        self.contents.push(format!(r#"{{"role":"model","parts":[{part}]}}"#));
        self.event(author, &format!(r#","content":{{"parts":[{part}]}}"#)).await;
    }

    /// Does one thing. What the gate refuses leaves nothing behind, and the law holds for the rest.
    async fn act(&mut self, act: &Act) {
        match *act {
            Act::Say(a) => {
                let text = format!(r#"{{"text":"word {}"}}"#, a % 5);
                self.part(["user", "bot", "far"][usize::from(a) % 3], &text).await;
            }
            Act::Call(a, b) => {
                let (agent, tool, arguments) = (of(&AGENTS, a), of(&TOOLS, b), of(&ARGUMENTS, a / 2));
                // Now and then an id is used again.
                let id = format!("c{}", if b > 230 { 0 } else { self.calls.len() });
                let part =
                    format!(r#"{{"functionCall":{{"id":"{id}","name":"{tool}","args":{arguments}}}}}"#);
                self.calls.push((agent, id, tool, arguments));
                self.part(agent, &part).await;
            }
            Act::Answer(a, b) => {
                let Some((agent, id, tool, _)) = self.calls.get(usize::from(a) % self.calls.len().max(1))
                else {
                    return;
                };
                let response =
                    of(&[r#"{"ok":1}"#, r#"{"error":"no"}"#, r#"{"status":"pending"}"#, r#"{"ok":2}"#], b);
                let part = format!(
                    r#"{{"functionResponse":{{"id":"{id}","name":"{tool}","response":{response}}}}}"#
                );
                let agent = *agent;
                self.part(agent, &part).await;
            }
            Act::Check(a, b) => self.check(a, b).await,
            Act::Rewind(a) => {
                let more = format!(r#","actions":{{"rewindBeforeInvocationId":"i{}"}}"#, a % 4);
                self.event("user", &more).await;
            }
            Act::Broken => self.event("user", r#","content":{"parts":[{"text":NaN}]}"#).await,
            Act::Anew => self.session = gate(&self.policy, self.store.clone()).session(key("s")),
            Act::Finish(..)
            | Act::Confirm(..)
            | Act::Touch(..)
            | Act::Ask(..)
            | Act::Unsent(_)
            | Act::Clear => {
                self.tell(act).await;
            }
        }
    }

    async fn tell(&mut self, act: &Act) {
        let session = &self.session;
        let ticket = |a: u8| {
            let checked = self.checked.get(usize::from(a) % self.checked.len().max(1));
            checked.map_or_else(String::new, |checked| checked.ticket.clone())
        };
        let _refused = match *act {
            Act::Finish(a, b) => {
                let value = Some(r#"{"ok":1}"#.to_owned());
                let ending = match b % 6 {
                    0 => Ending::Failed,
                    1 => Ending::NotRun,
                    2 => Ending::Pending,
                    3 => Ending::Returned(value),
                    _ => Ending::Returned(None),
                };
                let ran = (b > 225).then_some(r#"{"other":1}"#);
                session.finish(&ticket(a), ending, ran).await
            }
            Act::Confirm(a, b) => {
                let person = of(&[Some("ann"), Some("svc"), None], b);
                session.confirm(&ticket(a), b % 5 > 0, person).await
            }
            Act::Touch(a, b) => {
                let (key, value) = (format!("k{}", b % 2), Some((b % 3).to_string()));
                let resource = Resource::State { key, value };
                let access = Access { ticket: ticket(a), resource, refused: false };
                if b > 127 { session.read(access).await } else { session.write(access).await }
            }
            Act::Ask(a, b) => {
                let from = usize::from(b) % (self.contents.len() + 1) * usize::from(b > 200);
                let contents = self.contents.get(from..).unwrap_or_default().join(",");
                let request =
                    format!(r#"{{"contents":[{contents}],"config":{{"systemInstruction":"s{}"}}}}"#, b % 2);
                session.model_request(of(&AGENTS, a), &format!("i{}", (self.events + 1) / 6), &request).await
            }
            Act::Unsent(a) => {
                let ids: Vec<String> = (0..a % 3).map(|n| format!("lost-{}-{n}", a / 3)).collect();
                session.unsent(&ids, "lost").await
            }
            _ => session.clear().await,
        };
    }

    async fn check(&mut self, a: u8, b: u8) {
        let place = usize::from(a) % (self.calls.len() + 1);
        let unseen = ("bot", "unseen".to_owned(), "f", "{}");
        let (agent, call_id, tool, arguments) = self.calls.get(place).cloned().unwrap_or(unseen);
        let arguments = if b > 240 {
            "{"
        } else if b > 220 {
            of(&ARGUMENTS, b)
        } else {
            arguments
        };
        let Ok((events, digest)) = self.session.history().await else { return };
        let question = Question {
            call_id,
            tool: tool.to_owned(),
            arguments: arguments.to_owned(),
            agent: agent.to_owned(),
            events: events + u64::from(b < 12),
            digest,
            // A clock that goes forth and back.
            clock: format!("2026-01-{:02}T00:00:00Z", b % 28 + 1),
            ..Question::default()
        };
        self.checked.push(self.session.check(question).await);
    }
}

fn row(decision: &gatelog::decision::Decision) -> String {
    serde_json::to_string(&DecisionRow::new(decision)).unwrap()
}

async fn law(policy: Arc<Policy>, acts: &[Act]) {
    let mut run = Run::new(Arc::clone(&policy)).await;
    for act in acts {
        run.act(act).await;
    }
    for checked in &run.checked {
        let explained =
            run.session.explain(&checked.ticket).await.unwrap_or_else(|error| panic!("{error}: {checked:?}"));
        assert_eq!(row(&explained.proof.decision), row(&checked.decision));
        let allowed = checked.decision.verdict == Verdict::Allow;
        assert_eq!(checked.may_run, allowed);
    }
    if !run.store.lines(&key("s")).unwrap().is_empty() {
        let (_, report) = replayed(&policy, &run.store, &key("s"));
        assert!(!report.warnings.iter().any(|notice| notice.kind == "gate_differs"), "{:?}", report.warnings);
        let decided: Vec<String> = run.checked.iter().map(|checked| row(&checked.decision)).collect();
        // A row is the last check of its call.
        for check in &report.checks {
            assert!(decided.contains(&row(&check.decision)), "{:?}", check.decision);
        }
    }
}

/// How many sessions are made; `GATE_SESSIONS` says otherwise.
fn sessions() -> ProptestConfig {
    let cases = std::env::var("GATE_SESSIONS").map_or(24, |count| count.parse().unwrap());
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

proptest! {
    #![proptest_config(sessions())]

    #[test]
    fn what_a_gate_says_is_what_its_journal_says(acts in acts()) {
        Runtime::new().unwrap().block_on(law(policy(SENSITIVE), &acts));
    }
}
