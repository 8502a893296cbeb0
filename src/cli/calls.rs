//! The one call of a session that a name means.

use crate::monitor::Monitor;
use crate::recording::Recording;
use crate::records::CallNumber;
use crate::replay::{Halt, Turn, walk};
use crate::scenario::{CallName, known_calls};

/// Why there is no such call: a stable word, and the words for a person.
#[derive(Debug)]
pub(crate) struct NoCall {
    pub(crate) kind: &'static str,
    pub(crate) text: String,
}

/// Which moment of a call is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// When it was made.
    Made,
    /// When it was last judged: after a person's answer, where there is one.
    LastJudged,
}

/// What `take` gives for the call of that name, at that moment of the session.
pub(crate) fn at_call<T>(
    monitor: &mut Monitor,
    recording: &Recording,
    name: &CallName,
    moment: Moment,
    take: &mut dyn FnMut(&mut Monitor, CallNumber) -> T,
) -> Result<T, NoCall> {
    let mut found = Candidates { exact: Vec::new(), begun: None, ids: Vec::new() };
    let end = walk(monitor, recording, &mut |monitor, turn| match turn {
        Turn::Made(call) => found.made(monitor, call, name, take),
        Turn::Answered(call) if moment == Moment::LastJudged => found.again(monitor, call, take),
        Turn::Answered(_) | Turn::Judged(..) | Turn::JudgedAgain(..) => {}
    });
    found.only(name, end, monitor)
}

/// The calls that a name may mean.
struct Candidates<T> {
    /// Those of exactly that name.
    exact: Vec<(CallNumber, T)>,
    /// The first of those whose id begins so.
    begun: Option<(CallNumber, T)>,
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
            self.exact.push((call, take(monitor, call)));
        } else if name.begins(&id) {
            // Only one that is alone is shown.
            if self.begun.is_none() {
                self.begun = Some((call, take(monitor, call)));
            }
            self.ids.push(id);
        }
    }

    fn again(
        &mut self,
        monitor: &mut Monitor,
        call: CallNumber,
        take: &mut dyn FnMut(&mut Monitor, CallNumber) -> T,
    ) {
        let all = self.exact.iter_mut().chain(&mut self.begun);
        for (_, taken) in all.filter(|(number, _)| *number == call) {
            *taken = take(monitor, call);
        }
    }

    /// What was taken at the one call that is meant.
    fn only(mut self, name: &CallName, end: Result<(), Halt>, monitor: &Monitor) -> Result<T, NoCall> {
        const WAYS: &str = "name it by its id, by a beginning of the id that no other has, or by --seq N";
        let unknown = |text: String| NoCall { kind: "unknown_call", text };
        let taken = match (self.exact.len(), self.ids.len(), end) {
            (1, ..) => self.exact.pop(),
            (0, 1, Ok(())) => self.begun,
            (0, 1.., Err(Halt { stop, .. })) => {
                let why = "the session stopped, and a later call's id might have begun so too";
                let text = format!("write all of the id of {name}: {why}: {}", stop.text);
                return Err(NoCall { kind: stop.kind.name(), text });
            }
            (0, 0, Err(Halt { stop, .. })) => {
                let text = format!("there is no {name} before the session stopped: {}", stop.text);
                return Err(NoCall { kind: stop.kind.name(), text });
            }
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
        taken.map(|(_, taken)| taken).ok_or_else(|| unknown(format!("there is no {name}")))
    }
}
