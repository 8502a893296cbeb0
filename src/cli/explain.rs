//! `gatelog explain`

use std::sync::Arc;

use crate::cli::agents::roster;
use crate::cli::arguments::{Explain, ProofFormat};
use crate::cli::calls::{NoCall, reported};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::policy::{self, Audience};
use crate::cli::recordings;
use crate::cli::settings::settings;
use crate::decision::Verdict;
use crate::explain::{Proof, Subject};
use crate::monitor::{Monitor, Policy, Settings};
use crate::recording::Recording;
use crate::replay::{CallReport, at_judgement, explain_check, replay};
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
            return of_check(flags, &policy, settings, &recording, ticket);
        }
        let chosen = chosen(flags, &policy, &settings, &recording)?;
        if !quiet {
            console.say(&chosen.aside);
        }
        if flags.cost {
            return cost_of(&policy, settings, &recording, &chosen.row)
                .map(Explained::Cost)
                .map_err(|no| unknown(flags, no));
        }
        let mut monitor = Monitor::new(Arc::clone(&policy), settings);
        let judged = chosen.row.judgement.is_some();
        let proof = Box::new(proved(&mut monitor, &recording, chosen.row));
        Ok(Explained::Proof(proof, judged))
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
        Ok(Explained::Proof(proof, judged)) => {
            if !quiet {
                console.print(&printed(flags, &policy, &proof, console));
            }
            match (proof.decision.verdict, judged) {
                // The session stopped before the call.
                (_, false) => Exit::Broken,
                (Verdict::Allow, true) => Exit::Done,
                (Verdict::Ask | Verdict::Deny, true) => Exit::Refused,
            }
        }
        Err(error) => policy::report_file(&error, audience, console),
    }
}

/// What is printed.
enum Explained {
    /// And whether the call was judged.
    Proof(Box<Proof>, bool),
    Cost(Vec<CostRow>),
}

/// The proof of the check of that ticket.
fn of_check(
    flags: &Explain,
    policy: &Arc<Policy>,
    settings: Settings,
    recording: &Recording,
    ticket: &str,
) -> Result<Explained, FileError> {
    let mut monitor = Monitor::new(Arc::clone(policy), settings);
    let (kind, text) =
        match explain_check(&mut monitor, recording, &mut |asked| asked.answer.ticket == ticket) {
            Ok(Some(proof)) => return Ok(Explained::Proof(Box::new(proof), true)),
            Ok(None) if recording.journal.is_none() => {
                ("unknown_call", "a check is named by its ticket in the journal of a gate alone".to_owned())
            }
            Ok(None) => ("unknown_call", "there is no such check in the journal".to_owned()),
            Err(halt) => (halt.stop.kind.name(), halt.stop.text),
        };
    Err(unknown(flags, NoCall { kind, text }))
}

/// The proof of the decision that the replay gives for the call.
fn proved(monitor: &mut Monitor, recording: &Recording, row: CallReport) -> Proof {
    let proof = row.judgement.and_then(|judgement| {
        at_judgement(monitor, recording, judgement, &mut |monitor, due| due.explain(monitor))
    });
    proof.unwrap_or_else(|| {
        let CallReport { seq, call_id, agent, tool, arguments, decision, .. } = row;
        Proof::of_fault(Subject { seq, call_id, agent, tool, arguments }, decision)
    })
}

/// What judging the call looks at, in a session that is judged with counters from its beginning.
fn cost_of(
    policy: &Policy,
    settings: Settings,
    recording: &Recording,
    row: &CallReport,
) -> Result<Vec<CostRow>, NoCall> {
    let (counted, costs) = policy.counted();
    let mut monitor = Monitor::new(Arc::new(counted), settings);
    let counted = row.judgement.and_then(|judgement| {
        at_judgement(&mut monitor, recording, judgement, &mut |monitor, due| {
            // What went before belongs to others, and the replay itself judges the call after this.
            drop(costs.take());
            drop(due.judge(monitor));
            cost::rows(policy.program(), &costs.take())
        })
    });
    let why = || row.decision.reasons.first().map(|reason| reason.text.clone()).unwrap_or_default();
    counted.ok_or_else(|| NoCall { kind: "not_judged", text: format!("nothing is counted: {}", why()) })
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
    row: CallReport,
    aside: String,
}

/// The call that the flags name; else the last one that is not allowed, or the last one of all.
fn chosen(
    flags: &Explain,
    policy: &Arc<Policy>,
    settings: &Settings,
    recording: &Recording,
) -> Result<Chosen, FileError> {
    let mut report = replay(policy, settings, "", recording);
    let named = flags.call.clone().map(CallName::Id).or(flags.seq.map(CallName::Seq));
    if let Some(name) = named {
        let row = reported(&report, &name).map_err(|no| unknown(flags, no))?.clone();
        return Ok(Chosen { row, aside: String::new() });
    }
    // A session that stops has the calls before.
    if report.checks.iter().any(|row| row.judgement.is_some()) {
        report.checks.retain(|row| row.judgement.is_some());
    }
    let refused: Vec<_> = report.checks.iter().filter(|row| row.decision.verdict != Verdict::Allow).collect();
    let Some(row) = refused.last().copied().or(report.checks.last()) else {
        let (kind, file) = ("unknown_call", flags.session.display().to_string());
        return Err(FileError { kind, file, text: "the session has no calls to explain".to_owned() });
    };
    let aside = if let Some((last, others)) = refused.split_last() {
        format!("the last call that is not allowed: {}{}\n", named_row(last), also(others))
    } else {
        format!("no call is denied or asked about: this is the last of all, {}\n", named_row(row))
    };
    Ok(Chosen { row: row.clone(), aside })
}

/// Calls that are named beside the one that is explained.
const OTHERS: usize = 8;

fn also(others: &[&CallReport]) -> String {
    if others.is_empty() {
        return String::new();
    }
    let named: Vec<_> = others.iter().rev().take(OTHERS).map(|row| named_row(row)).collect();
    let more = if others.len() > OTHERS { ", …" } else { "" };
    format!("; not allowed either: {}{more}", named.join(", "))
}

/// A call by its tool, and how to name it.
fn named_row(row: &CallReport) -> String {
    let tool = visible(&row.tool);
    match row.seq {
        Some(seq) => format!("{tool} (--seq {seq})"),
        None if row.call_id.is_empty() => tool,
        None => format!("{tool} (--call {})", visible(&row.call_id)),
    }
}
