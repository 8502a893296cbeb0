//! Eval sets: the turns of each case, whichever of the five forms they have.
//!
//! A case is read turn by turn, so that a fault in one leaves those before it.

use crate::json::Json;
use crate::recording::adk::Ignored;
use crate::recording::compose;
use crate::recording::fields::{Fields, Wrong, camel, is_blank, is_hollow, shown};
use crate::recording::mixed;
use crate::recording::reading::{self, Dialect, Names};
use crate::recording::scan::{self, Slot, Span};
use crate::recording::skim;
use crate::recording::strict;
use crate::recording::turn::{self, Told};
use crate::recording::{Form, Notice, Options, Recording, StopKind, UnreadCall};

/// The keys of a case that are read.
const CASE: &[&str] = &["evalId", "conversation", "sessionInput", "name", "data", "initialSession"];

/// The keys of a case that say what is to be asked, or how its runs are judged.
const SILENT: &[&str] = &["conversationScenario", "creationTimestamp", "finalSessionState", "rubrics"];

/// The keys of an eval set.
const SET: &[&str] = &["evalSetId", "name", "description", "evalCases", "creationTimestamp"];

/// Where the cases of an eval set stand.
#[derive(Debug)]
pub(crate) struct Cases {
    /// The list of them; none where the file is one case.
    pub(crate) list: Option<Span>,
    pub(crate) slots: Vec<Slot>,
    /// Whether the list is one of turns, and so one case without a name.
    pub(crate) bare: bool,
}

/// One case in its place.
struct Case {
    name: String,
    names: Names,
    /// What the state held before the first turn.
    state: Option<Json>,
    turns: Vec<Slot>,
    /// A fault before the turns, or one that makes it unclear which they are.
    before: Option<Wrong>,
    /// A fault after them.
    after: Option<Wrong>,
    ignored: Ignored,
}

/// Reads the cases of an eval set, one recording each.
pub(crate) fn read(bytes: &[u8], cases: &Cases, options: &Options) -> Vec<Recording> {
    let mut unread = Ignored::default();
    let outer = outer(bytes, cases, &mut unread);
    if cases.bare {
        let turns = cases.slots.clone();
        let (name, names) = (String::new(), Names::default());
        let case = Case { name, names, state: None, turns, before: outer, after: None, ignored: unread };
        return vec![recording(bytes, &case, options)];
    }
    let read = |slot: &Slot| {
        let mut case = case(bytes, *slot);
        case.before = outer.clone().or(case.before);
        unread.names().for_each(|name| case.ignored.note(name));
        recording(bytes, &case, options)
    };
    let mut recordings: Vec<_> = cases.slots.iter().map(read).collect();
    reading::tell_apart(&mut recordings);
    recordings
}

/// A fault of the file outside its cases.
fn outer(bytes: &[u8], cases: &Cases, ignored: &mut Ignored) -> Option<Wrong> {
    let list = cases.list?;
    if cases.slots.last().is_some_and(|last| !last.whole) {
        // The end of a broken list is not known: its last case says what is wrong.
        return None;
    }
    let whole = Span { start: 0, end: bytes.len() };
    match strict::parse_around(bytes, whole, list) {
        Ok(set @ Json::Object(_)) => {
            let known = [SET, mixed::NESTED].concat();
            Fields::new(&set, "", &known).and_then(|fields| note(&fields, SET, ignored)).err()
        }
        Ok(_) => None,
        Err(flaw) => Some(flaw.wrong()),
    }
}

/// Notes the keys that are not known. Those that hold events are refused: nobody would read them.
fn note(fields: &Fields<'_>, known: &[&str], ignored: &mut Ignored) -> Result<(), Wrong> {
    for (key, _) in fields.others(known).filter(|(_, value)| !is_blank(value)) {
        if mixed::NESTED.contains(&&*camel(key)) {
            let text = format!(
                "`{}` stands beside the turns of an eval set: which of them happened is not known",
                shown(key)
            );
            return Err(Wrong::new(StopKind::BadShape, text));
        }
        ignored.note(key);
    }
    Ok(())
}

fn case(bytes: &[u8], slot: Slot) -> Case {
    let own = bytes.get(..slot.span.end).unwrap_or_default();
    let members = scan::members(own, slot.span.start);
    let text = |wanted: &str| {
        let found = members.iter().find(|(key, _)| camel(key) == wanted);
        found.map(|(_, span)| scan::text(own, *span)).filter(|text| !text.is_empty())
    };
    let lists = |key: &&(String, Span)| matches!(&*camel(&key.0), "conversation" | "data");
    let list =
        members.iter().filter(lists).map(|(_, span)| *span).find(|span| own.get(span.start) == Some(&b'['));
    let mut case = Case {
        name: text("evalId").or_else(|| text("name")).unwrap_or_default(),
        names: Names::default(),
        state: None,
        turns: list.map_or_else(Vec::new, |list| scan::elements(own, list.start)),
        before: None,
        after: None,
        ignored: Ignored::default(),
    };
    let hollow = match list {
        Some(list) if slot.whole => strict::parse_around(bytes, slot.span, list),
        Some(_) | None => strict::parse(bytes, slot.span),
    };
    match hollow {
        Ok(_) if list.is_none() => case.before = Some(no_turns()),
        Ok(json) => case.before = about(&json, &mut case).err(),
        Err(flaw) => {
            let start = list.map_or(usize::MAX, |list| list.start);
            let doubled =
                flaw.twice.as_deref().is_some_and(|key| matches!(&*camel(key), "conversation" | "data"));
            if flaw.at < start || doubled {
                case.before = Some(flaw.wrong());
            } else {
                case.after = Some(flaw.wrong());
            }
        }
    }
    if slot.unseparated {
        case.before = Some(strict::Flaw::unseparated(slot.span.start).wrong());
    }
    case
}

fn no_turns() -> Wrong {
    let text = "this case has no turns: it says what is to be asked, and no run was recorded in it";
    Wrong::new(StopKind::BadShape, text.to_owned())
}

/// Reads what a case says around its turns.
fn about(json: &Json, case: &mut Case) -> Result<(), Wrong> {
    let known = [CASE, SILENT, mixed::NESTED].concat();
    let fields = Fields::new(json, "", &known)?;
    note(&fields, &[CASE, SILENT].concat(), &mut case.ignored)?;
    if fields.value("conversation").is_some() && fields.value("data").is_some() {
        let text = "`conversation` and `data` both hold the turns of this case".to_owned();
        return Err(Wrong::new(StopKind::BadShape, text));
    }
    fields.text("evalId")?;
    for key in ["sessionInput", "initialSession"] {
        let Some(session) = fields.object(key, &["appName", "userId", "state"])? else { continue };
        session.entries("state")?;
        case.names =
            Names { session: String::new(), app: session.text("appName")?, user: session.text("userId")? };
        case.state = session.value("state").filter(|state| !is_hollow(state)).cloned();
    }
    Ok(())
}

/// The events of a case, and the calls of turns that cannot be read, by the number of their event.
struct Events {
    values: Vec<Result<Json, Wrong>>,
    unread: Vec<UnreadCall>,
}

fn recording(bytes: &[u8], case: &Case, options: &Options) -> Recording {
    let mut told = Told::default();
    let mut events = Events { values: Vec::new(), unread: Vec::new() };
    events.values.extend(case.state.clone().map(|state| Ok(compose::state_before(state))));
    for slot in &case.turns {
        if let Err(wrong) = add_turn(&mut events, bytes, *slot, &mut told) {
            let index = events.values.len();
            events.unread.extend(calls_of_turn(bytes, *slot, index));
            events.values.push(Err(wrong));
        }
    }
    let form = (Form::EvalSet, Dialect::Adk);
    let mut recording = match &case.before {
        Some(wrong) => reading::halted(form, case.names.clone(), wrong.clone(), events.values, options),
        None => reading::of_values(form, case.names.clone(), events.values, options),
    };
    reading::add_unread(&mut recording, events.unread);
    if let Some(wrong) = case.after.clone().filter(|_| recording.stop.is_none()) {
        recording.stop = Some(reading::stop_of(wrong, None, String::new()));
    }
    recording.name.clone_from(&case.name);
    recording.notices.extend(notices(&told));
    if let Some(names) = case.ignored.listed() {
        let text = format!("fields around the turns that were not read: {names}");
        recording.notices.push(Notice { kind: "unread_fields".to_owned(), text });
    }
    recording
}

fn add_turn(events: &mut Events, bytes: &[u8], slot: Slot, told: &mut Told) -> Result<(), Wrong> {
    if slot.unseparated {
        return Err(strict::Flaw::unseparated(slot.span.start).wrong());
    }
    let json = strict::parse(bytes, slot.span).map_err(|flaw| flaw.wrong())?;
    let values = turn::events(&json, told)?;
    events.values.extend(values.into_iter().map(Ok));
    Ok(())
}

/// The calls of a turn that cannot be read, as far as they can be made out.
fn calls_of_turn(bytes: &[u8], slot: Slot, index: usize) -> Vec<UnreadCall> {
    let own = bytes.get(..slot.span.end).unwrap_or_default();
    let in_messages = skim::calls(skim::events(own, &[Slot { whole: false, ..slot }], index, Dialect::Adk));
    let mut calls: Vec<_> = in_messages.into_iter().map(|call| UnreadCall { event: index, ..call }).collect();
    let lists = |members: &[(String, Span)]| -> Vec<Span> {
        let is_list = |(key, _): &&(String, Span)| matches!(&*camel(key), "toolUses" | "expectedToolUse");
        members.iter().filter(is_list).map(|(_, span)| *span).collect()
    };
    let turn = scan::members(own, slot.span.start);
    let mut uses = lists(&turn);
    for (_, span) in turn.iter().filter(|(key, _)| camel(key) == "intermediateData") {
        uses.extend(lists(&scan::members(own, span.start)));
    }
    for list in uses.into_iter().filter(|list| own.get(list.start) == Some(&b'[')) {
        let items = scan::elements(own, list.start);
        calls.extend(items.iter().map(|item| call_of(own, item.span, index)));
    }
    calls
}

/// An expected or recorded use of a tool, as far as it can be made out.
fn call_of(bytes: &[u8], span: Span, event: usize) -> UnreadCall {
    let members = scan::members(bytes, span.start);
    let member =
        |keys: [&str; 2]| members.iter().find(|(key, _)| keys.contains(&&*camel(key))).map(|(_, span)| *span);
    let text = |keys| member(keys).map(|span| scan::text(bytes, span)).unwrap_or_default();
    let arguments = member(["args", "toolInput"]).and_then(|span| strict::parse(bytes, span).ok());
    UnreadCall {
        event,
        event_id: String::new(),
        agent: turn::AGENT.to_owned(),
        call_id: text(["id", "id"]),
        tool: text(["name", "toolName"]),
        arguments: arguments.map_or_else(|| "{}".to_owned(), |json| json.ordinary()),
    }
}

fn notices(told: &Told) -> Vec<Notice> {
    let mut notices = Vec::new();
    let mut say = |kind: &str, text: String| notices.push(Notice { kind: kind.to_owned(), text });
    say(
        "eval_set",
        "this is a case of an eval set: its events have no ids and no times, its final responses are taken to be by the \
         agent that spoke last"
            .to_owned(),
    );
    if told.expected > 0 {
        let text = format!("calls that a test expects are taken as made: {}", told.expected);
        say("expected_calls", text);
    }
    if told.unordered {
        let text = "in what order calls, answers and messages of a turn came is not in this form: calls are taken one \
                    after another, each with its answer, and messages after them";
        say("assumed_order", text.to_owned());
    }
    if told.unanswered > 0 {
        let text = format!("calls whose answers are not in this form: {}", told.unanswered);
        say("missing_answers", text);
    }
    if told.nameless {
        let text =
            format!("which agent called and spoke is not in this form: it is taken to be `{}`", turn::AGENT);
        say("assumed_agent", text);
    }
    if let Some(names) = told.ignored.listed() {
        say("unread_fields", format!("fields of the turns that were not read: {names}"));
    }
    notices
}
