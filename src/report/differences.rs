//! What two policies decide differently.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::decision::{Decision, Verdict};
use crate::report::json::{FileError, PolicyRow, ReasonRow, line, raw, reasons};
use crate::report::text::{Color, counted};
use crate::report::visible::{shortened, visible, visible_name};

/// Characters of a call's arguments.
const ARGUMENTS: usize = 60;

/// One call that two policies decide differently.
#[derive(Debug, Clone)]
pub struct Difference {
    /// The session.
    pub source: String,
    /// Number of the call's record.
    pub seq: u32,
    /// Its id.
    pub call_id: String,
    /// The agent.
    pub agent: String,
    /// The tool.
    pub tool: String,
    /// Its arguments, JSON text.
    pub arguments: String,
    /// Under the old policy.
    pub old: Decision,
    /// Under the new one.
    pub new: Decision,
    /// A call before it, by its record, which the new policy stops and without which this one may not have been made.
    pub after: Option<u32>,
}

impl Difference {
    /// Whether the new verdict lets less through.
    #[must_use]
    pub fn is_stricter(&self) -> bool {
        self.new.verdict > self.old.verdict
    }

    /// The rules that make the difference: what speaks against the call under the policy that is stricter.
    fn rules(&self) -> Vec<String> {
        let stricter = if self.is_stricter() { &self.new } else { &self.old };
        let other = if self.is_stricter() { &self.old } else { &self.new };
        let own = stricter.reasons.iter().filter(|reason| {
            // Rules are the same where they say the same of the call.
            !other.reasons.iter().any(|same| (same.kind, &same.text) == (reason.kind, &reason.text))
        });
        let mut rules: Vec<String> = own
            .map(|reason| {
                let place = format!("{}:{}", reason.file, reason.line);
                match (reason.rule.as_str(), reason.line) {
                    ("", _) => reason.kind.name().to_owned(),
                    (rule, 0) => rule.to_owned(),
                    (rule, _) if rule.ends_with(&place) => rule.to_owned(),
                    (rule, _) => format!("{rule} ({place})"),
                }
            })
            .collect();
        rules.sort();
        rules.dedup();
        rules
    }
}

/// All differences, and over how much.
#[derive(Debug, Clone, Default)]
pub struct Differences {
    /// In the order of the sessions and calls.
    pub all: Vec<Difference>,
    /// Sessions compared.
    pub sessions: usize,
    /// Calls compared.
    pub checks: usize,
}

impl Differences {
    fn count(&self, stricter: bool) -> usize {
        self.all.iter().filter(|one| one.is_stricter() == stricter).count()
    }

    /// Differences of the same verdicts for the same rules, those that let more through first.
    fn groups(&self) -> BTreeMap<Group, Vec<&Difference>> {
        let mut groups = BTreeMap::<Group, Vec<&Difference>>::new();
        for one in &self.all {
            let key = (one.is_stricter(), one.old.verdict, one.new.verdict, one.rules().join(", "));
            groups.entry(key).or_default().push(one);
        }
        groups
    }
}

/// Whether the new policy is stricter, both verdicts, and the rules.
type Group = (bool, Verdict, Verdict, String);

/// The differences for people, grouped by rule.
#[must_use]
pub fn text(differences: &Differences, color: Color) -> String {
    let mut out = String::new();
    for ((stricter, old, new, rules), members) in differences.groups() {
        let change = format!("{} -> {}", old.name(), new.name());
        let change = if stricter { color.green(&change) } else { color.red(&change) };
        let by = if rules.is_empty() { String::new() } else { format!("  {}", visible(&rules)) };
        out.push_str(&format!("{change}{by}  ({})\n", counted(members.len(), "call")));
        for one in members {
            let id = shortened(&visible(&one.call_id), 24);
            let arguments = shortened(&visible(&one.arguments), ARGUMENTS);
            let (source, tool) = (visible(&one.source), visible_name(&one.tool));
            out.push_str(&format!("  {source}  seq {}  {id}  {tool} {arguments}\n", one.seq));
            if let Some(after) = one.after {
                out.push_str(&format!(
                    "    may not have happened: it follows from the call at seq {after}, which the new policy stops\n"
                ));
            }
            let decision = if stricter { &one.new } else { &one.old };
            for reason in &decision.reasons {
                out.push_str(&format!("    {}: {}\n", reason.kind.name(), visible(&reason.text)));
            }
        }
    }
    let (stricter, looser) = (differences.count(true), differences.count(false));
    let compared = counted(differences.checks, "call");
    out.push_str(&format!("{compared} compared: {stricter} stricter, {looser} looser\n"));
    out
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    old: PolicyRow,
    new: PolicyRow,
    differences: Vec<DifferenceRow<'a>>,
    totals: TotalsRow,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<FileError>,
}

#[derive(Debug, Serialize)]
struct DifferenceRow<'a> {
    source: &'a str,
    seq: u32,
    call_id: &'a str,
    agent: &'a str,
    tool: &'a str,
    args: Box<RawValue>,
    stricter: bool,
    rules: Vec<String>,
    old: SideRow<'a>,
    new: SideRow<'a>,
    /// The call before it, by its record, without which it may not have happened.
    after: Option<u32>,
}

#[derive(Debug, Serialize)]
struct SideRow<'a> {
    verdict: &'static str,
    reasons: Vec<ReasonRow<'a>>,
}

#[derive(Debug, Serialize)]
struct TotalsRow {
    sessions: usize,
    checks: usize,
    stricter: usize,
    looser: usize,
}

fn side(decision: &Decision) -> SideRow<'_> {
    SideRow { verdict: decision.verdict.name(), reasons: reasons(&decision.reasons) }
}

/// The differences for machines, on one line.
#[must_use]
pub fn document(
    differences: &Differences,
    (old, new): (PolicyRow, PolicyRow),
    error: Option<FileError>,
) -> String {
    let row = |one: &'_ Difference| one.rules();
    let rows = differences.all.iter().map(|one| DifferenceRow {
        source: &one.source,
        seq: one.seq,
        call_id: &one.call_id,
        agent: &one.agent,
        tool: &one.tool,
        args: raw(&one.arguments),
        stricter: one.is_stricter(),
        rules: row(one),
        old: side(&one.old),
        new: side(&one.new),
        after: one.after,
    });
    let totals = TotalsRow {
        sessions: differences.sessions,
        checks: differences.checks,
        stricter: differences.count(true),
        looser: differences.count(false),
    };
    line(&Document { old, new, differences: rows.collect(), totals, error }) + "\n"
}
