//! A proof for machines. Steps refer to each other by number, so that the document is never deeper than it is wide.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::explain::{Binding, Condition, Failed, Firing, Ground, Mention, Miss, Proof, Shown, Site, Step};
use crate::program::{DecisionKind, Program};
use crate::records::{Approval, ApprovalScope};
use crate::report::json::{DecisionRow, PolicyRow, line, raw};
use crate::report::records::kind;

#[derive(Debug, Serialize)]
struct Document<'a> {
    policy: PolicyRow,
    call: CallRow<'a>,
    #[serde(flatten)]
    decision: DecisionRow<'a>,
    approval: Option<ApprovalRow<'a>>,
    firings: Vec<FiringRow<'a>>,
    steps: Vec<StepRow<'a>>,
    misses: Vec<MissRow<'a>>,
    records: Vec<RecordRow<'a>>,
    fault: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct CallRow<'a> {
    seq: Option<u32>,
    call_id: &'a str,
    agent: &'a str,
    tool: &'a str,
    args: Box<RawValue>,
}

#[derive(Debug, Serialize)]
struct ApprovalRow<'a> {
    confirmed: bool,
    record: Option<u32>,
    principal: Option<&'a str>,
    time: Option<&'a str>,
    rules: Option<&'a [String]>,
}

#[derive(Debug, Serialize)]
struct FiringRow<'a> {
    kind: &'static str,
    rule: &'a str,
    text: &'a str,
    step: u32,
    more: usize,
}

#[derive(Debug, Serialize)]
struct StepRow<'a> {
    relation: &'a str,
    head: &'a str,
    #[serde(flatten)]
    site: SiteRow<'a>,
    conditions: Vec<ConditionRow<'a>>,
    fault: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct SiteRow<'a> {
    file: &'a str,
    line: u32,
}

#[derive(Debug, Serialize)]
struct ConditionRow<'a> {
    text: &'a str,
    #[serde(flatten)]
    site: SiteRow<'a>,
    values: Vec<BindingRow<'a>>,
    #[serde(flatten)]
    ground: GroundRow<'a>,
}

#[derive(Debug, Serialize)]
struct BindingRow<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a str>,
}

/// Why a condition held; what is there depends on `ground`.
#[derive(Debug, Serialize)]
#[serde(tag = "ground", rename_all = "snake_case")]
enum GroundRow<'a> {
    Holds,
    Request,
    Session,
    Fact { stated: SiteRow<'a> },
    Path { records: Vec<u32> },
    Step { step: u32 },
    Absent { tuple: &'a str },
    Rows { count: u64, first: Vec<Vec<BindingRow<'a>>> },
    Open { why: &'a str },
}

#[derive(Debug, Serialize)]
struct MissRow<'a> {
    rule: &'a str,
    head: &'a str,
    #[serde(flatten)]
    site: SiteRow<'a>,
    held: &'a [String],
    failed: FailedRow<'a>,
    elsewhere: bool,
}

#[derive(Debug, Serialize)]
struct FailedRow<'a> {
    text: &'a str,
    #[serde(flatten)]
    site: SiteRow<'a>,
    ways: u64,
    what: Option<&'a str>,
    seen: Vec<Vec<BindingRow<'a>>>,
    closest: &'a [String],
    inner: Vec<MissRow<'a>>,
}

#[derive(Debug, Serialize)]
struct RecordRow<'a> {
    seq: u32,
    id: &'a str,
    event: Option<usize>,
    agent: &'a str,
    kind: &'static str,
    tool: Option<&'a str>,
    excerpt: &'a str,
}

/// The proof as one document on one line.
#[must_use]
pub fn document(program: &Program, proof: &Proof) -> String {
    let subject = &proof.subject;
    let document = Document {
        policy: PolicyRow::new(program),
        call: CallRow {
            seq: subject.seq,
            call_id: &subject.call_id,
            agent: &subject.agent,
            tool: &subject.tool,
            args: raw(&subject.arguments),
        },
        decision: DecisionRow::new(&proof.decision),
        approval: proof.approval.as_ref().map(approval),
        firings: proof.firings.iter().map(firing).collect(),
        steps: proof.steps.iter().map(step).collect(),
        misses: proof.misses.iter().map(miss).collect(),
        records: proof.records.iter().map(record).collect(),
        fault: some(&proof.fault),
    };
    line(&document) + "\n"
}

fn some(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

fn approval(approval: &Approval) -> ApprovalRow<'_> {
    ApprovalRow {
        confirmed: approval.confirmed,
        record: approval.record.map(|record| record.0),
        principal: approval.principal.as_deref(),
        time: some(&approval.time),
        rules: match &approval.scope {
            ApprovalScope::All => None,
            ApprovalScope::Rules(rules) => Some(rules),
        },
    }
}

fn firing(firing: &Firing) -> FiringRow<'_> {
    let kind = match firing.kind {
        DecisionKind::Allow => "allow",
        DecisionKind::Deny => "deny",
        DecisionKind::Ask => "ask",
        DecisionKind::Reason => "reason",
    };
    FiringRow { kind, rule: &firing.rule, text: &firing.text, step: firing.step.0, more: firing.more }
}

fn step(step: &Step) -> StepRow<'_> {
    StepRow {
        relation: &step.relation,
        head: &step.head,
        site: site(&step.site),
        conditions: step.conditions.iter().map(condition).collect(),
        fault: some(&step.fault),
    }
}

fn site(site: &Site) -> SiteRow<'_> {
    SiteRow { file: &site.file, line: site.line }
}

fn condition(condition: &Condition) -> ConditionRow<'_> {
    ConditionRow {
        text: &condition.text,
        site: site(&condition.site),
        values: bindings(&condition.values),
        ground: ground(&condition.ground),
    }
}

fn bindings(values: &[Binding]) -> Vec<BindingRow<'_>> {
    values
        .iter()
        .map(|binding| {
            let (record, text, value) = match &binding.value {
                Shown::Record(record) => (Some(record.0), None, None),
                Shown::Text(text) => (None, Some(text.as_str()), None),
                Shown::Other(value) => (None, None, Some(value.as_str())),
            };
            BindingRow { name: &binding.name, record, text, value }
        })
        .collect()
}

fn ground(ground: &Ground) -> GroundRow<'_> {
    match ground {
        Ground::Holds => GroundRow::Holds,
        Ground::Request => GroundRow::Request,
        Ground::Session => GroundRow::Session,
        Ground::Fact(stated) => GroundRow::Fact { stated: site(stated) },
        Ground::Path(way) => GroundRow::Path { records: way.iter().map(|record| record.0).collect() },
        Ground::Step(step) => GroundRow::Step { step: step.0 },
        Ground::Absent(tuple) => GroundRow::Absent { tuple },
        Ground::Rows(count, first) => {
            GroundRow::Rows { count: *count, first: first.iter().map(|row| bindings(row)).collect() }
        }
        Ground::Open(why) => GroundRow::Open { why },
    }
}

// Misses are nested no deeper than the room that finds them follows rules.
fn miss(one: &Miss) -> MissRow<'_> {
    MissRow {
        rule: &one.rule,
        head: &one.head,
        site: site(&one.site),
        held: &one.held,
        failed: failed(&one.failed),
        elsewhere: one.elsewhere,
    }
}

fn failed(failed: &Failed) -> FailedRow<'_> {
    FailedRow {
        text: &failed.text,
        site: site(&failed.site),
        ways: failed.ways,
        what: some(&failed.what),
        seen: failed.seen.iter().map(|row| bindings(row)).collect(),
        closest: &failed.closest,
        inner: failed.inner.iter().map(miss).collect(),
    }
}

fn record(mention: &Mention) -> RecordRow<'_> {
    RecordRow {
        seq: mention.record.0,
        id: &mention.id,
        event: mention.event,
        agent: &mention.agent,
        kind: kind(mention.kind),
        tool: some(&mention.tool),
        excerpt: &mention.excerpt,
    }
}
