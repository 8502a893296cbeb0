//! `gatelog explain`

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cli::agents::roster;
use crate::cli::arguments::{Explain, ProofFormat};
use crate::cli::calls::{Moment, NoCall, at_call};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::policy::{self, Audience};
use crate::cli::recordings;
use crate::cli::settings::settings;
use crate::column::Column;
use crate::decision::Verdict;
use crate::explain::Proof;
use crate::monitor::{Monitor, Policy, Settings};
use crate::recording::Recording;
use crate::records::CallNumber;
use crate::replay::{Asked, Turn, explain_check, walk};
use crate::report::cost::{self, CostRow};
use crate::report::json::FileError;
use crate::report::proof::{Detail, text};
use crate::report::proof_graph::{Drawing, graph};
use crate::report::proof_json::document;
use crate::report::visible::visible;
use crate::scenario::CallName;

/// Explains one call.
pub(crate) fn run(flags: &Explain, quiet: bool, console: &mut Console<'_>) -> Exit {
    let audience = match flags.format {
        ProofFormat::Json => Audience::Machines,
        ProofFormat::Text | ProofFormat::Dot | ProofFormat::Mermaid => Audience::People,
    };
    let policy = match policy::load(&flags.policy.policies, console) {
        Ok(policy) => policy,
        Err(no) => return policy::report(&no, audience, console),
    };
    if flags.cost && matches!(flags.format, ProofFormat::Dot | ProofFormat::Mermaid) {
        console.say("error: costs are printed as text or json\n");
        return Exit::Broken;
    }
    let explained = session(flags, console).and_then(|(settings, recording)| {
        if let Some(ticket) = &flags.check {
            let mut is_wanted = |asked: &Asked<'_>| asked.answer.ticket == *ticket;
            return of_check(flags, &policy, settings, &recording, &mut is_wanted);
        }
        let chosen = chosen(flags, &policy, &settings, &recording)?;
        if !quiet {
            console.say(&chosen.aside);
        }
        if flags.cost {
            let cost = cost_of(&policy, settings, &recording, &chosen.name).map_err(|no| unknown(flags, no));
            return cost.map(Explained::Cost);
        }
        let mut monitor = Monitor::new(Arc::clone(&policy), settings.clone());
        if recording.journal.is_some() {
            let call = at_call(&mut monitor, &recording, &chosen.name, Moment::Made, &mut |_, call| call);
            let call = call.map_err(|no| unknown(flags, no))?;
            let mut is_wanted = |asked: &Asked<'_>| asked.call == Some(call);
            return of_check(flags, &policy, settings, &recording, &mut is_wanted);
        }
        at_call(&mut monitor, &recording, &chosen.name, Moment::LastJudged, &mut |monitor, call| {
            monitor.explain(call)
        })
        .map(|proof| Explained::Proof(Box::new(proof)))
        .map_err(|no| unknown(flags, no))
    });
    match explained {
        Ok(Explained::Cost(rows)) => {
            if !quiet {
                console.print(&match audience {
                    Audience::Machines => cost::document(&rows),
                    Audience::People => cost::text(&rows, flags.full),
                });
            }
            Exit::Done
        }
        Ok(Explained::Proof(proof)) => {
            if !quiet {
                console.print(&printed(flags, &policy, &proof, console));
            }
            if proof.decision.verdict == Verdict::Allow { Exit::Done } else { Exit::Refused }
        }
        Err(error) => policy::report_file(&error, audience, console),
    }
}

/// What is printed.
enum Explained {
    Proof(Box<Proof>),
    Cost(Vec<CostRow>),
}

/// The proof of the last of the wanted checks that a gate was asked for.
fn of_check(
    flags: &Explain,
    policy: &Arc<Policy>,
    settings: Settings,
    recording: &Recording,
    is_wanted: &mut dyn FnMut(&Asked<'_>) -> bool,
) -> Result<Explained, FileError> {
    let mut monitor = Monitor::new(Arc::clone(policy), settings);
    let (kind, text) = match explain_check(&mut monitor, recording, is_wanted) {
        Ok(Some(proof)) => return Ok(Explained::Proof(Box::new(proof))),
        Ok(None) if recording.journal.is_none() => {
            ("unknown_call", "a check is named by its ticket in the journal of a gate alone".to_owned())
        }
        Ok(None) => ("unknown_call", "there is no such check in the journal".to_owned()),
        Err(halt) => (halt.stop.kind.name(), halt.stop.text),
    };
    Err(unknown(flags, NoCall { kind, text }))
}

/// What judging the call looks at, in a session that is judged with counters from its beginning.
fn cost_of(
    policy: &Policy,
    settings: Settings,
    recording: &Recording,
    name: &CallName,
) -> Result<Vec<CostRow>, NoCall> {
    let (counted, costs) = policy.counted();
    let mut monitor = Monitor::new(Arc::new(counted), settings);
    at_call(&mut monitor, recording, name, Moment::LastJudged, &mut |monitor, call| {
        // What went before belongs to others, and the replay itself judges the call after this.
        drop(costs.take());
        drop(monitor.judge_call(call));
        cost::rows(policy.program(), &costs.take())
    })
}

fn printed(flags: &Explain, policy: &Policy, proof: &Proof, console: &Console<'_>) -> String {
    let detail = if flags.full { Detail::Full } else { Detail::Short };
    match flags.format {
        ProofFormat::Text => text(proof, detail, console.color()),
        ProofFormat::Json => document(policy.program(), proof),
        ProofFormat::Dot => graph(proof, Drawing::Dot),
        ProofFormat::Mermaid => graph(proof, Drawing::Mermaid),
    }
}

fn unknown(flags: &Explain, no: NoCall) -> FileError {
    FileError { kind: no.kind, file: flags.session.display().to_string(), text: no.text }
}

/// The session, and what holds for its checks.
fn session(flags: &Explain, console: &mut Console<'_>) -> Result<(Settings, Recording), FileError> {
    let settings = settings(&flags.settings, &flags.reading, console)?;
    let mut roster = roster(&flags.reading, console)?;
    let recording = recordings::one(&flags.session, &flags.reading, console)?;
    roster.note(roster.met_in(&recording));
    roster.unmet()?;
    Ok((Settings { agents: roster.agents, ..settings }, recording))
}

/// Which call is explained, and what is said about the choice.
struct Chosen {
    name: CallName,
    aside: String,
}

/// The call that the flags name; else the last one that is not allowed, or the last one of all.
fn chosen(
    flags: &Explain,
    policy: &Arc<Policy>,
    settings: &Settings,
    recording: &Recording,
) -> Result<Chosen, FileError> {
    let named = flags.call.clone().map(CallName::Id).or(flags.seq.map(CallName::Seq));
    if let Some(name) = named {
        return Ok(Chosen { name, aside: String::new() });
    }
    let mut monitor = Monitor::new(Arc::clone(policy), settings.clone());
    let mut verdicts: BTreeMap<CallNumber, Verdict> = BTreeMap::new();
    // A session that stops has the calls before.
    let _ = walk(&mut monitor, recording, &mut |_, turn| match turn {
        Turn::Judged(call, decision) | Turn::JudgedAgain(call, decision) => {
            verdicts.insert(call, decision.verdict);
        }
        Turn::Made(_) | Turn::Answered(_) => {}
    });
    let refused: Vec<CallNumber> =
        verdicts.iter().filter(|(_, verdict)| **verdict != Verdict::Allow).map(|(call, _)| *call).collect();
    let call = refused.last().copied().or_else(|| verdicts.keys().last().copied());
    let calls = monitor.graph().calls();
    let record = |call: CallNumber| calls.get(call.0 as usize).map(|call| call.record.0);
    let Some(seq) = call.and_then(record) else {
        let (kind, file) = ("unknown_call", flags.session.display().to_string());
        return Err(FileError { kind, file, text: "the session has no calls to explain".to_owned() });
    };
    Ok(Chosen { name: CallName::Seq(seq), aside: others(&refused, calls) })
}

/// Calls that are named beside the one that is explained.
const OTHERS: usize = 8;

fn others(refused: &[CallNumber], calls: &Column<crate::records::ProposedCall>) -> String {
    let before = refused.split_last().map_or(&[][..], |(_, before)| before);
    if before.is_empty() {
        return String::new();
    }
    let named = before.iter().rev().take(OTHERS).filter_map(|call| calls.get(call.0 as usize));
    let named: Vec<_> =
        named.map(|call| format!("{} (--seq {})", visible(&call.tool), call.record.0)).collect();
    let more = if before.len() > OTHERS { ", …" } else { "" };
    format!("not allowed either: {}{more}\n", named.join(", "))
}
