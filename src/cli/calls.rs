//! The one call of a session that a name means.

use std::collections::BTreeSet;

use crate::monitor::Monitor;
use crate::recording::{Recording, Stop};
use crate::records::CallNumber;
use crate::replay::{CallReport, Halt, SessionReport, Turn, walk};
use crate::scenario::{CallName, known_calls};

/// Why there is no such call: a stable word, and the words for a person.
#[derive(Debug)]
pub(crate) struct NoCall {
    pub(crate) kind: &'static str,
    pub(crate) text: String,
}

const WAYS: &str = "name it by its id, by a beginning of the id that no other has, or by --seq N";

impl NoCall {
    fn unknown(text: String) -> Self {
        Self { kind: "unknown_call", text }
    }

    /// A later call's id might begin like the one that is given.
    fn unsure(name: &CallName, stop: &Stop) -> Self {
        let why = "the session stopped, and a later call's id might have begun so too";
        let text = format!("write all of the id of {name}: {why}: {}", stop.text);
        Self { kind: stop.kind.name(), text }
    }

    fn before_stop(name: &CallName, stop: &Stop) -> Self {
        let text = format!("there is no {name} before the session stopped: {}", stop.text);
        Self { kind: stop.kind.name(), text }
    }
}

/// The call of that name as the replay reports it: of several checks of one call the last.
pub(crate) fn reported<'r>(report: &'r SessionReport, name: &CallName) -> Result<&'r CallReport, NoCall> {
    let rows = &report.checks;
    let is_named = |row: &&CallReport| match name {
        CallName::Id(id) => row.call_id == *id,
        CallName::Seq(seq) => row.seq == Some(*seq),
    };
    let exact: Vec<_> = rows.iter().filter(is_named).collect();
    if !exact.is_empty() {
        return one_of(&exact, rows, name);
    }
    let begun: Vec<_> = rows.iter().filter(|row| name.begins(&row.call_id)).collect();
    let ids: BTreeSet<&str> = begun.iter().map(|row| row.call_id.as_str()).collect();
    match (ids.len(), &report.error) {
        (0, Some(stop)) => Err(NoCall::before_stop(name, stop)),
        (0, None) => Err(NoCall::unknown(format!("there is no {name}; {}; {WAYS}", listed(rows)))),
        (1, None) => one_of(&begun, rows, name),
        (_, Some(stop)) => Err(NoCall::unsure(name, stop)),
        (_, None) => {
            let (n, calls) = (begun.len(), listed(rows));
            Err(NoCall::unknown(format!("{n} calls have ids that begin so; {calls}; {WAYS}")))
        }
    }
}

/// The one of these rows that is meant. Checks that are about no recorded call are told apart by when they were judged alone.
fn one_of<'r>(
    named: &[&'r CallReport],
    rows: &[CallReport],
    name: &CallName,
) -> Result<&'r CallReport, NoCall> {
    let recorded = named.iter().filter(|row| row.seq.is_some()).count();
    if recorded > 1 {
        let calls = listed(rows);
        return Err(NoCall::unknown(format!(
            "there are {recorded} calls with that id: name the {name} by --seq; {calls}"
        )));
    }
    let last = named.iter().max_by_key(|row| row.judgement);
    last.copied().ok_or_else(|| NoCall::unknown(format!("there is no {name}")))
}

/// The calls of a session, for a message about one that is not among them.
fn listed(rows: &[CallReport]) -> String {
    const SHOWN: usize = 20;
    let name = |row: &CallReport| {
        let seq = row.seq.map_or_else(String::new, |seq| format!(", seq {seq}"));
        format!("`{}` ({}{seq})", row.call_id, row.tool)
    };
    let mut names: Vec<_> = rows.iter().take(SHOWN).map(name).collect();
    if rows.len() > SHOWN {
        names.push(format!("and {} more", rows.len() - SHOWN));
    }
    if names.is_empty() {
        "the session has no calls".to_owned()
    } else {
        format!("its calls are {}", names.join(", "))
    }
}

/// What `take` gives for the call of that name, at the moment when it was made.
pub(crate) fn at_call<T>(
    monitor: &mut Monitor,
    recording: &Recording,
    name: &CallName,
    take: &mut dyn FnMut(&mut Monitor, CallNumber) -> T,
) -> Result<T, NoCall> {
    let mut found = Candidates { exact: Vec::new(), begun: None, ids: Vec::new() };
    let end = walk(monitor, recording, &mut |monitor, turn| match turn {
        Turn::Made(call) => found.made(monitor, call, name, take),
        Turn::Answered(_) | Turn::Judged(..) | Turn::JudgedAgain(..) => {}
    });
    found.only(name, end, monitor)
}

/// The calls that a name may mean.
struct Candidates<T> {
    /// Those of exactly that name.
    exact: Vec<T>,
    /// The first of those whose id begins so.
    begun: Option<T>,
    /// The ids of all of those.
    ids: Vec<String>,
}

impl<T> Candidates<T> {
    fn made(
        &mut self,
        monitor: &mut Monitor,
        call: CallNumber,
        name: &CallName,
        take: &mut dyn FnMut(&mut Monitor, CallNumber) -> T,
    ) {
        let Some(made) = monitor.graph().calls().get(call.0 as usize) else { return };
        let id = made.call_id.to_string();
        if name.names(made) {
            self.exact.push(take(monitor, call));
        } else if name.begins(&id) {
            // Only one that is alone is shown.
            if self.begun.is_none() {
                self.begun = Some(take(monitor, call));
            }
            self.ids.push(id);
        }
    }

    /// What was taken at the one call that is meant.
    fn only(mut self, name: &CallName, end: Result<(), Halt>, monitor: &Monitor) -> Result<T, NoCall> {
        let unknown = NoCall::unknown;
        let taken = match (self.exact.len(), self.ids.len(), end) {
            (1, ..) => self.exact.pop(),
            (0, 1, Ok(())) => self.begun,
            (0, 1.., Err(Halt { stop, .. })) => return Err(NoCall::unsure(name, &stop)),
            (0, 0, Err(Halt { stop, .. })) => return Err(NoCall::before_stop(name, &stop)),
            (0, 0, Ok(())) => {
                return Err(unknown(format!("there is no {name}; {}; {WAYS}", known_calls(monitor))));
            }
            (0, n, Ok(())) => {
                let calls = known_calls(monitor);
                return Err(unknown(format!("{n} calls have ids that begin so; {calls}; {WAYS}")));
            }
            (n, ..) => {
                let calls = known_calls(monitor);
                return Err(unknown(format!(
                    "there are {n} calls with that id: name the {name} by --seq; {calls}"
                )));
            }
        };
        taken.ok_or_else(|| unknown(format!("there is no {name}")))
    }
}
