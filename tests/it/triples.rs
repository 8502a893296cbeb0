//! Random policies, sessions and checks on which an engine that has seen the whole session, one that was started for the
//! check, and the oracle have to agree: on every derived tuple, on verdicts, and on the rules that fired.
//!
//! `PROPTEST_CASES=40000` judges ten thousand of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gatelog::decision::{Decision, ReasonKind};
use gatelog::json;
use gatelog::lineage::RecordId;
use gatelog::monitor::{Action, Caller, Monitor, Policy, Request, Settings};
use gatelog::program::{DecisionKind, RelationId};
use gatelog::recording::{Event, Part, PartKind};
use gatelog::records::{CallNumber, Given, ProposedCall, Role, RunChange, SessionFact};
use proptest::prelude::{ProptestConfig, Strategy, any, prop, prop_oneof, proptest};
use proptest::test_runner::TestRunner;

use crate::oracle::{self, Facts, Value};
use crate::random::{load, value};

/// An atom that random rules may hold: its name, its columns, and the level of its relation. A column is `r` for a
/// record, `t` for a tool, `u` for a status, `_` for anything.
const ATOMS: [(&str, &str, usize); 22] = [
    ("SentMessage", "r_", 0),
    ("ToolResult", "rt_", 0),
    ("ToolOutput", "rt_", 0),
    ("ProposedCall", "r_t_", 0),
    ("Kept", "r", 1),
    ("KeptBy", "rt", 2),
    ("Edge", "rr", 0),
    ("Edge", "rr", 0),
    ("Edge", "rr", 0),
    ("EdgeData", "rr_", 0),
    ("CurrentDepends", "r", 0),
    ("ReachableFrom", "rr", 0),
    ("Current", "r", 0),
    ("ActionRecord", "_r", 0),
    ("ToolOutcome", "r_t_u", 0),
    ("ToolOutcome", "r_t__", 0),
    ("Near", "r", 3),
    ("Near", "r", 3),
    ("Pairs", "rr", 4),
    ("Far", "r", 5),
    ("Far", "r", 5),
    ("Flag", "", 6),
];

/// What the status of an outcome may be.
const STATUSES: [&str; 3] = ["\"ok\"", "\"running\"", "_"];

/// The relations that rules derive: name and columns. The first two read what the host keeps, and nothing else.
const HEADS: [(&str, &str); 6] =
    [("Kept", "r"), ("KeptBy", "rt"), ("Near", "r"), ("Pairs", "rr"), ("Far", "r"), ("Flag", "")];

/// The atoms of [`ATOMS`] that read only what the host keeps.
const OF_SESSION: usize = 6;

const DECLARATIONS: &str = "
.decl Kept(a: symbol)
.decl KeptBy(a: symbol, t: symbol)
.decl Near(a: symbol)
.decl Pairs(a: symbol, b: symbol)
.decl Far(a: symbol)
.decl Flag()
.decl Count(n: number)
";

/// Rules that are often among those of a random policy: recursion over the lineage as policies write it.
const OFTEN: [&str; 10] = [
    "Near(y) :- Near(x), Edge(x, y), !Kept(y).\nNear(x) :- ToolResult(x, \"t0\", _).\n",
    "Near(x) :- Current(x).\nNear(x) :- Near(y), Edge(x, y).\n",
    "Far(x) :- Current(x).\nFar(x) :- Far(y), Edge(x, y), !KeptBy(x, \"t1\").\n",
    "Far(y) :- Near(x), Edge(x, y).\nFar(y) :- Far(x), Edge(x, y), SentMessage(y, _).\n",
    "Pairs(x, y) :- Current(y), Edge(x, y).\nPairs(x, z) :- Pairs(y, z), Edge(x, y), !Kept(x).\n",
    "Pairs(x, y) :- ToolResult(x, _, _), Edge(x, y).\nPairs(x, z) :- Pairs(x, y), Edge(y, z).\n",
    "Flag() :- ToolResult(x, \"t0\", _), Edge(x, _).\n",
    "Count(n) :- n = count : { Near(_) }.\n",
    "Count(n) :- Current(x), n = count : { Edge(_, x) }.\n",
    "Count(n) :- Far(x), n = count : { Edge(x, y), !Kept(y) }.\n",
];

/// An atom with the numbers that choose it and its terms.
#[derive(Debug, Clone)]
struct RawAtom {
    pick: usize,
    terms: [usize; 3],
}

#[derive(Debug, Clone)]
struct RawRule {
    positive: Vec<RawAtom>,
    negative: Option<RawAtom>,
    /// Choose the head's terms among the variables that the body binds.
    head: [usize; 2],
}

#[derive(Debug, Clone)]
struct RawPolicy {
    rules: Vec<(usize, RawRule)>,
    often: Vec<usize>,
    /// The kind of each (allow, deny, ask), and how its action is read.
    decisions: Vec<(usize, usize, RawRule)>,
}

fn raw_atom() -> impl Strategy<Value = RawAtom> {
    (any::<usize>(), any::<[usize; 3]>()).prop_map(|(pick, terms)| RawAtom { pick, terms })
}

fn raw_rule(atoms: std::ops::Range<usize>) -> impl Strategy<Value = RawRule> {
    let negative = prop::option::weighted(0.4, raw_atom());
    (prop::collection::vec(raw_atom(), atoms), negative, any::<[usize; 2]>())
        .prop_map(|(positive, negative, head)| RawRule { positive, negative, head })
}

fn raw_policy() -> impl Strategy<Value = RawPolicy> {
    let rules = prop::collection::vec((0..HEADS.len(), raw_rule(1..4)), 0..6);
    let often = prop::collection::vec(0..OFTEN.len(), 0..4);
    let decisions = prop::collection::vec((0..3_usize, 0..4_usize, raw_rule(0..3)), 1..4);
    (rules, often, decisions).prop_map(|(rules, often, decisions)| RawPolicy { rules, often, decisions })
}

/// The variables that an atom may bind so far, by what they hold.
#[derive(Default)]
struct Bound {
    records: Vec<&'static str>,
    tools: Vec<&'static str>,
}

fn chosen<'a>(from: &[&'a str], pick: usize) -> Option<&'a str> {
    from.get(pick.checked_rem(from.len())?).copied()
}

/// A positive atom binds what it names.
fn positive(level: usize, raw: &RawAtom, bound: &mut Bound) -> String {
    let mut terms = raw.terms.iter();
    atom(level, raw.pick, |column| {
        let pick = if column == '_' { 0 } else { terms.next().copied().unwrap_or_default() };
        match column {
            'r' => {
                let name = ["x", "y", "z", "x", "y", "_"][pick % 6];
                bound.records.extend((name != "_").then_some(name));
                name
            }
            't' => {
                let name = ["\"t0\"", "\"t1\"", "s", "_"][pick % 4];
                bound.tools.extend((name == "s").then_some(name));
                name
            }
            'u' => STATUSES[pick % STATUSES.len()],
            _ => "_",
        }
    })
}

/// A negative one names what is bound, or anything. Its relation lies below.
fn negative(level: usize, raw: &RawAtom, bound: &Bound) -> String {
    let mut terms = raw.terms.iter();
    let text = atom(level.saturating_sub(1), raw.pick, |column| {
        let pick = if column == '_' { 0 } else { terms.next().copied().unwrap_or_default() };
        match column {
            'r' => chosen(&bound.records, pick).unwrap_or("_"),
            't' if pick % 2 == 0 => "\"t0\"",
            't' => chosen(&bound.tools, pick).unwrap_or("\"t1\""),
            'u' => STATUSES[pick % STATUSES.len()],
            _ => "_",
        }
    });
    format!("!{text}")
}

fn atom(level: usize, pick: usize, mut term: impl FnMut(char) -> &'static str) -> String {
    let atoms = if level <= 2 { &ATOMS[..OF_SESSION] } else { &ATOMS[..] };
    let allowed: Vec<_> = atoms.iter().filter(|(.., own)| *own <= level).collect();
    let (name, columns, _) = allowed[pick % allowed.len()];
    let terms: Vec<&str> = columns.chars().map(&mut term).collect();
    format!("{name}({})", terms.join(", "))
}

fn body(level: usize, raw: &RawRule, bound: &mut Bound) -> Vec<String> {
    let mut literals: Vec<String> = raw.positive.iter().map(|atom| positive(level, atom, bound)).collect();
    literals.extend(raw.negative.iter().map(|atom| negative(level, atom, bound)));
    literals
}

fn rule(head: usize, raw: &RawRule) -> Option<String> {
    let (name, columns) = HEADS[head];
    let mut bound = Bound::default();
    let literals = body(head + 1, raw, &mut bound);
    let terms = columns.chars().zip(raw.head).map(|(column, pick)| match column {
        'r' => chosen(&bound.records, pick),
        _ => Some(chosen(&bound.tools, pick).unwrap_or("\"t1\"")),
    });
    let terms: Vec<&str> = terms.collect::<Option<_>>()?;
    Some(format!("{name}({}) :- {}.\n", terms.join(", "), literals.join(", ")))
}

fn decision(at: usize, kind: usize, action: usize, raw: &RawRule) -> String {
    let mut bound = Bound::default();
    let read = match action {
        0 => "Actions(i, a), IsTool(a, \"t0\")".to_owned(),
        1 => "Actions(i, _)".to_owned(),
        2 => {
            bound.records.push("x");
            "Actions(i, _), ActionRecord(i, x)".to_owned()
        }
        _ => {
            bound.tools.push("s");
            "Actions(i, a), a = $CallTool(s, _)".to_owned()
        }
    };
    let literals: Vec<String> = std::iter::once(read).chain(body(HEADS.len(), raw, &mut bound)).collect();
    let (note, head) = [("", "IsAuthorized"), ("", "Unauthorized"), ("// @ask\n", "Unauthorized")][kind];
    format!("// @id: rule-{at}\n{note}{head}(i) :- {}.\n", literals.join(", "))
}

fn written(policy: &RawPolicy) -> String {
    let mut text = DECLARATIONS.to_owned();
    text.extend(policy.rules.iter().filter_map(|(head, raw)| rule(*head, raw)));
    let often: BTreeSet<_> = policy.often.iter().collect();
    text.extend(often.into_iter().map(|&at| OFTEN[at]));
    text.push_str("// @id: deny-count\nUnauthorized(i) :- Actions(i, _), Count(2).\n");
    text.push_str("// @id: allow-t1\nIsAuthorized(i) :- Actions(i, a), IsTool(a, \"t1\").\n");
    text.extend(
        policy
            .decisions
            .iter()
            .enumerate()
            .map(|(at, (kind, action, raw))| decision(at, *kind, *action, raw)),
    );
    text
}

/// What happens next in a session.
#[derive(Debug, Clone)]
enum Next {
    /// An event: who, on which branch, with which parts.
    Event { author: &'static str, branch: &'static str, parts: Vec<RawPart> },
    /// A record by hand with any inputs.
    Given { inputs: Vec<prop::sample::Index>, result_of: Option<usize> },
    /// A check by hand: what is current, and the tools asked for.
    Check { current: Vec<prop::sample::Index>, tools: Vec<usize> },
}

#[derive(Debug, Clone)]
enum RawPart {
    Text(usize),
    Call(usize),
    /// An answer to one of the calls so far.
    Answer(prop::sample::Index),
}

fn next() -> impl Strategy<Value = Next> {
    let part = prop_oneof![
        3 => (0..3_usize).prop_map(RawPart::Text),
        2 => (0..2_usize).prop_map(RawPart::Call),
        3 => any::<prop::sample::Index>().prop_map(RawPart::Answer),
    ];
    let place = (
        prop::sample::select(&["user", "a", "a", "b"][..]),
        prop::sample::select(&["", "", "r.a", "r.b"][..]),
    );
    let picks = || prop::collection::vec(any::<prop::sample::Index>(), 0..4);
    prop_oneof![
        5 => (place, prop::collection::vec(part, 1..4))
            .prop_map(|((author, branch), parts)| Next::Event { author, branch, parts }),
        1 => (picks(), prop::option::of(0..2_usize))
            .prop_map(|(inputs, result_of)| Next::Given { inputs, result_of }),
        2 => (picks(), prop::collection::vec(0..3_usize, 1..4))
            .prop_map(|(current, tools)| Next::Check { current, tools }),
    ]
}

/// What a session is made of once its choices are made: a second engine is fed the same.
#[derive(Debug, Clone)]
enum Done {
    Event(Box<Event>),
    Given(Box<Given>),
    /// The call was allowed.
    Ran(CallNumber),
}

fn event(
    at: usize,
    author: &str,
    branch: &str,
    parts: &[RawPart],
    calls: &mut Vec<(String, usize)>,
) -> Event {
    let object = |text: &str| json::parse(text).ok();
    let mut list = Vec::new();
    for part in parts {
        let kind = match part {
            RawPart::Text(text) => PartKind::Text(format!("said {text}")),
            RawPart::Call(_) if author == "user" => PartKind::Text("asked".to_owned()),
            RawPart::Call(tool) => {
                let id = format!("c{}", calls.len());
                calls.push((id.clone(), *tool));
                PartKind::Call { id, name: format!("t{tool}"), arguments: object("{}") }
            }
            RawPart::Answer(_) if calls.is_empty() => PartKind::Text("nothing".to_owned()),
            RawPart::Answer(pick) => {
                let (id, tool) = &calls[pick.index(calls.len())];
                let (id, name) = (id.clone(), format!("t{tool}"));
                PartKind::Response { id, name, response: object(r#"{"result":"done"}"#) }
            }
        };
        list.push(Part { kind, ..Part::default() });
    }
    Event {
        index: at,
        id: format!("e{at}"),
        invocation_id: "i0".to_owned(),
        author: author.to_owned(),
        branch: branch.to_owned(),
        time: format!("2026-01-01T00:00:{:02}Z", at % 60),
        role: if author == "user" { "user" } else { "model" }.to_owned(),
        has_content: true,
        parts: list,
        has_actions: true,
        ..Event::default()
    }
}

/// One case on its way: the engine that sees everything, and what it was fed.
struct Case {
    policy: Arc<Policy>,
    relations: Vec<RelationId>,
    monitor: Monitor,
    done: Vec<Done>,
    /// How many checks were compared, by their verdicts.
    verdicts: BTreeMap<&'static str, usize>,
    /// How many derived tuples of the policy's own relations were compared.
    tuples: usize,
}

fn settings() -> Settings {
    let caller = Caller { principal: Some("p".to_owned()), ..Caller::default() };
    Settings { caller, ..Settings::default() }
}

impl Case {
    fn new(text: &str) -> Self {
        let program = load(text).unwrap_or_else(|| panic!("refused:\n{text}"));
        let relations = oracle::derived(&program).into_iter().filter(|relation| {
            let columns = &program.relations[relation.0 as usize].columns;
            columns.iter().all(|column| program.types.get(column.type_id).name != "Action")
        });
        let lineage = ["CurrentDepends", "ReachableFrom"].map(|name| program.relation(name).unwrap());
        let relations = relations.chain(lineage).collect();
        let policy = Arc::new(Policy::new(program));
        let monitor = Monitor::new(Arc::clone(&policy), settings());
        Self { policy, relations, monitor, done: Vec::new(), verdicts: BTreeMap::new(), tuples: 0 }
    }

    fn go(&mut self, steps: &[Next]) {
        let mut calls = Vec::new();
        for (at, next) in steps.iter().enumerate() {
            let records = self.monitor.graph().records().len();
            let names = |picks: &[prop::sample::Index]| -> Vec<String> {
                let all = self.monitor.graph().records();
                let ids = picks
                    .iter()
                    .filter(|_| records > 0)
                    .map(|pick| all.get(pick.index(records)).unwrap().id().to_string());
                ids.collect::<BTreeSet<_>>().into_iter().collect()
            };
            match next {
                Next::Event { author, branch, parts } => {
                    let event = event(at, author, branch, parts, &mut calls);
                    self.observe(event);
                }
                Next::Given { inputs, result_of } => {
                    let mut given = Given::new(&format!("g{at}"), Role::Agent, "by hand");
                    given.inputs = names(inputs);
                    given.result_of = result_of.map(|tool| (format!("t{tool}"), "{}".to_owned()));
                    self.monitor.graph_mut().add(given.clone()).unwrap();
                    self.done.push(Done::Given(Box::new(given)));
                }
                Next::Check { current, tools } => {
                    let current = names(current);
                    self.by_hand(current, tools);
                }
            }
        }
    }

    /// Adds an event, and judges the calls that it proposes.
    fn observe(&mut self, event: Event) {
        let observed = self.monitor.observe(&event).unwrap();
        self.done.push(Done::Event(Box::new(event)));
        for number in observed.calls {
            let call = self.monitor.graph().calls().get(number.0 as usize).unwrap().clone();
            let facts = self.facts_of_call(&call);
            let ours = self.monitor.judge_call(number);
            let theirs = self.fresh().judge_call(number);
            assert_eq!(ours, theirs, "call {number:?}");
            self.judged_alike(std::slice::from_ref(&ours), &facts);
            if ours.verdict == gatelog::decision::Verdict::Allow {
                self.done.push(Done::Ran(number));
            }
        }
    }

    fn by_hand(&mut self, current: Vec<String>, tools: &[usize]) {
        let action = |tool: &usize| {
            let (tool, arguments) = (format!("t{tool}"), r#"{"by":"hand"}"#.to_owned());
            (Action::CallTool { tool, arguments }, Vec::new())
        };
        let request = Request { current, actions: tools.iter().map(action).collect(), clock: None };
        let mut facts = self.host_facts(&request.current);
        for (index, (action, _)) in (0..).zip(&request.actions) {
            let Action::CallTool { tool, arguments } = action else { continue };
            self.add_action(&mut facts, index, tool, arguments);
        }
        let mut fresh = self.fresh();
        let ours = self.monitor.judge(&request);
        assert_eq!(ours, fresh.judge(&request), "{request:?}");
        let model = self.judged_alike(&ours, &facts);
        // A second look, after a check: what the first one left behind must not show.
        for rows in [self.monitor.rows(&request, &self.relations), fresh.rows(&request, &self.relations)] {
            for rows in rows.unwrap() {
                let program = self.policy.program();
                let ours: BTreeSet<Vec<Value>> = rows
                    .rows
                    .iter()
                    .map(|row| row.iter().map(|cell| value(program, cell)).collect())
                    .collect();
                let name = &program.relations[rows.relation.0 as usize].name;
                let theirs = model.get(&rows.relation).cloned().unwrap_or_default();
                assert_eq!(ours, theirs, "`{name}` at {request:?}");
                self.tuples += if HEADS.iter().any(|(head, _)| head == name) { ours.len() } else { 0 };
            }
        }
    }

    /// An engine that is started now, for this check alone.
    fn fresh(&self) -> Monitor {
        let mut monitor = Monitor::new(Arc::clone(&self.policy), settings());
        for done in &self.done {
            match done {
                Done::Event(event) => drop(monitor.observe(event).unwrap()),
                Done::Given(given) => {
                    monitor.graph_mut().add((**given).clone()).unwrap();
                }
                Done::Ran(number) => monitor.graph_mut().start(*number),
            }
        }
        monitor
    }

    /// Verdicts and the rules behind them are those of the oracle's model, which comes back.
    fn judged_alike(&mut self, decisions: &[Decision], facts: &Facts) -> Facts {
        let program = self.policy.program();
        let model = oracle::evaluate(program, facts, &self.relations).unwrap();
        for (index, decision) in (0..).zip(decisions) {
            let fired = |kinds: &[DecisionKind]| -> BTreeSet<&str> {
                let rules = program.decision_rules.iter().filter(|rule| {
                    let rows = model.get(&rule.fired).into_iter().flatten();
                    kinds.contains(&rule.kind) && rows.into_iter().any(|row| row[0] == Value::Unsigned(index))
                });
                rules.map(|rule| rule.id.as_str()).collect()
            };
            let allowed = !fired(&[DecisionKind::Allow]).is_empty();
            let (denies, asks) = (fired(&[DecisionKind::Deny]), fired(&[DecisionKind::Ask]));
            let verdict = match (allowed && denies.is_empty(), asks.is_empty()) {
                (false, _) => "deny",
                (true, false) => "ask",
                (true, true) => "allow",
            };
            assert_eq!(decision.verdict.name(), verdict, "{decision:?}");
            let given: BTreeSet<&str> = decision
                .reasons
                .iter()
                .filter(|reason| matches!(reason.kind, ReasonKind::Denied | ReasonKind::ApprovalRequired))
                .map(|reason| reason.rule.as_str())
                .collect();
            assert_eq!(given, denies.union(&asks).copied().collect::<BTreeSet<_>>(), "{decision:?}");
            *self.verdicts.entry(verdict).or_default() += 1;
        }
        model
    }

    fn relation(&self, name: &str) -> RelationId {
        self.policy.program().relation(name).unwrap()
    }

    fn add_action(&self, facts: &mut Facts, index: u64, tool: &str, arguments: &str) {
        let variant = self.policy.program().types.variant("CallTool").unwrap().0;
        let call = Value::Compound(variant, vec![text(tool), text(arguments)]);
        facts.entry(self.relation("Actions")).or_default().insert(vec![Value::Unsigned(index), call]);
    }

    fn facts_of_call(&self, call: &ProposedCall) -> Facts {
        let records = self.monitor.graph().records();
        let id = |record: &RecordId| records.get(record.0 as usize).unwrap().id().to_string();
        let current: Vec<String> = call.current.iter().map(id).collect();
        let mut facts = self.host_facts(&current);
        self.add_action(&mut facts, 0, &call.tool, &call.arguments);
        let own = vec![Value::Unsigned(0), text(&id(&call.record))];
        facts.entry(self.relation("ActionRecord")).or_default().insert(own);
        facts
    }

    /// What the host states about the session so far: records, their inputs one by one, calls and answers.
    fn host_facts(&self, current: &[String]) -> Facts {
        let mut facts = Facts::new();
        self.add_records(&mut facts);
        self.add_notes(&mut facts);
        for id in current {
            self.add(&mut facts, "Current", vec![text(id)]);
        }
        self.add(&mut facts, "Principal", vec![text("p")]);
        facts
    }

    fn add(&self, facts: &mut Facts, name: &str, tuple: Vec<Value>) {
        facts.entry(self.relation(name)).or_default().insert(tuple);
    }

    fn id(&self, record: RecordId) -> Value {
        text(&self.monitor.graph().records().get(record.0 as usize).unwrap().id())
    }

    fn add_records(&self, facts: &mut Facts) {
        let (types, graph) = (&self.policy.program().types, self.monitor.graph());
        let position = types.record("EdgeDataRecord").unwrap().0;
        for (at, record) in (0..).map(RecordId).zip(graph.records().iter()) {
            let role = match record.role() {
                Role::Assistant => "Assistant",
                Role::System => "SystemRole",
                Role::User => "UserRole",
                Role::Agent => "AgentType",
            };
            let role = Value::Compound(types.variant(role).unwrap().0, Vec::new());
            let texts = [record.contents(), &record.tools_json(), record.agent()].map(text);
            let mut fields = texts.to_vec();
            fields.extend([role, text(record.entity()), text(record.principal())]);
            let message = Value::Compound(types.record("Message").unwrap().0, fields);
            self.add(facts, "SentMessage", vec![self.id(at), message]);
            for (source, place) in graph.lineage().edges_backwards(at) {
                self.add(facts, "Edge", vec![self.id(source), self.id(at)]);
                if let Some(place) = place {
                    let numbers = [place.proximal, place.message_index].map(Value::Number);
                    let place = Value::Compound(position, numbers.to_vec());
                    self.add(facts, "EdgeData", vec![self.id(source), self.id(at), place]);
                }
            }
        }
    }

    fn add_notes(&self, facts: &mut Facts) {
        let graph = self.monitor.graph();
        let row = |record: RecordId, texts: &[&str]| {
            std::iter::once(self.id(record)).chain(texts.iter().map(|part| text(part))).collect()
        };
        for fact in graph.facts().iter() {
            let (name, row) = match &fact {
                SessionFact::ToolResult { record, tool, arguments } => {
                    ("ToolResult", row(*record, &[tool, arguments]))
                }
                SessionFact::ToolOutput { record, tool, arguments } => {
                    ("ToolOutput", row(*record, &[tool, arguments]))
                }
                SessionFact::ProposedCall { record, call_id, tool, arguments } => {
                    ("ProposedCall", row(*record, &[call_id, tool, arguments]))
                }
                SessionFact::ToolOutcome { record, call_id, tool, arguments, status } => {
                    ("ToolOutcome", row(*record, &[call_id, tool, arguments, status.name()]))
                }
                other => panic!("no random session has {other:?}"),
            };
            self.add(facts, name, row);
        }
        let mut running = BTreeSet::new();
        for change in graph.runs() {
            match change {
                RunChange::Started(call) => running.insert(*call),
                RunChange::Settled(call) => running.remove(call),
                RunChange::UnseenStarted(_) | RunChange::UnseenSettled(_) => {
                    panic!("no gate watches: {change:?}")
                }
            };
        }
        for call in running {
            let call = graph.calls().get(call.0 as usize).unwrap();
            let texts = [&call.call_id, &call.tool, &call.arguments].map(|text| text.as_str());
            let [call_id, tool, arguments] = texts;
            self.add(facts, "ToolOutcome", row(call.record, &[call_id, tool, arguments, "running"]));
        }
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// A quarter of the cases that other properties get: each case is many checks.
fn config() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { failure_persistence: None, cases: usual.cases / 4, ..usual }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn old_engine_new_engine_and_oracle_agree(policy in raw_policy(), steps in prop::collection::vec(next(), 1..12)) {
        let text = written(&policy);
        Case::new(&text).go(&steps);
    }
}

/// The cases are about something: rules derive, and verdicts differ.
#[test]
fn the_cases_derive_tuples_and_reach_every_verdict() {
    use proptest::strategy::ValueTree as _;
    let mut runner = TestRunner::deterministic();
    let (mut verdicts, mut tuples) = (BTreeSet::new(), 0);
    for _ in 0..24 {
        let policy = raw_policy().new_tree(&mut runner).unwrap().current();
        let steps = prop::collection::vec(next(), 8..12).new_tree(&mut runner).unwrap().current();
        let mut case = Case::new(&written(&policy));
        case.go(&steps);
        verdicts.extend(case.verdicts.into_keys());
        tuples += case.tuples;
    }
    assert_eq!(verdicts.into_iter().collect::<Vec<_>>(), ["allow", "ask", "deny"]);
    assert!(tuples > 200, "{tuples} tuples are too few to compare");
}
