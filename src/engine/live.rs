//! What the rest of a plan still reads, so that a walk over edges need not come to the same place twice.

use std::collections::BTreeSet;

use crate::engine::plan::{Access, Pattern, Step};
use crate::program::{LineageRelation, Term, VariableId};

/// Walks are not shared where more variables than these tell them apart: the key would cost more than the walk.
const MOST_LIVE: usize = 16;

/// Notes at each lineage step which variables that were bound before it the later steps and the head read: ways through
/// it that agree in these and in what it binds itself lead to the same tuples. For the steps of a rule; in an aggregate
/// each way counts.
pub(crate) fn mark(steps: &mut [Step], head: &[Term]) {
    let mut live = BTreeSet::new();
    head.iter().for_each(|term| term.variables(&mut live));
    for step in steps.iter_mut().rev() {
        let shares = match step {
            Step::Lineage { relation, patterns, .. } => {
                live.len() <= MOST_LIVE && shares(*relation, patterns, &live)
            }
            _ => false,
        };
        let mut bound = Vec::new();
        binds(step, &mut bound);
        bound.iter().for_each(|variable| {
            live.remove(variable);
        });
        if let Step::Lineage { live: slot, .. } = step {
            *slot = shares.then(|| live.iter().copied().collect());
        }
        reads(step, &mut live);
    }
}

/// Whether walks of the step have anything to share, given what is read after it. A walk leads from one end of the
/// relation to records at the other. What it lists is the same whichever record it began at, unless that one is read
/// again, be it through the variables that name it or as what the step binds.
fn shares(relation: LineageRelation, patterns: &[Pattern], live: &BTreeSet<VariableId>) -> bool {
    let [source, dest] = patterns else { return false };
    // What is known of a position belongs to one edge.
    if relation == LineageRelation::EdgeData {
        return false;
    }
    let known = |pattern: &Pattern| matches!(pattern, Pattern::Equal(_));
    let mut read = BTreeSet::new();
    pattern_reads(source, &mut read);
    pattern_reads(dest, &mut read);
    match (source, dest) {
        // From each record to its inputs.
        (Pattern::Any | Pattern::Bind(_), Pattern::Bind(variable)) => !live.contains(variable),
        (Pattern::Bind(variable), Pattern::Equal(_)) if read.contains(variable) => false,
        _ if known(source) && known(dest) => false,
        _ => read.is_empty() || !read.is_subset(live),
    }
}

fn reads(step: &Step, into: &mut BTreeSet<VariableId>) {
    match step {
        Step::Scan { access, patterns, .. } => {
            access_reads(access, into);
            patterns.iter().for_each(|(_, pattern)| pattern_reads(pattern, into));
        }
        Step::Among(step) => {
            access_reads(&step.access, into);
            step.key.iter().for_each(|term| term.variables(into));
            step.patterns.iter().for_each(|(_, pattern)| pattern_reads(pattern, into));
        }
        Step::Lineage { patterns, .. } | Step::AbsentLineage { patterns, .. } => {
            patterns.iter().for_each(|pattern| pattern_reads(pattern, into));
        }
        Step::Absent { access, .. } => access_reads(access, into),
        Step::Filter(test) => [&test.left, &test.right].into_iter().for_each(|term| term.variables(into)),
        Step::Match { term, pattern } => {
            term.variables(into);
            pattern_reads(pattern, into);
        }
        Step::Generate { call, pattern } => {
            call.arguments.iter().for_each(|term| term.variables(into));
            pattern_reads(pattern, into);
        }
        Step::Aggregate(step) => {
            into.extend(&step.aggregate.outer);
            pattern_reads(&step.result, into);
        }
        Step::Counted(_) => {}
        // Stages hold no stages.
        Step::Stage(steps) => steps.iter().for_each(|step| reads(step, into)),
    }
}

fn access_reads(access: &Access, into: &mut BTreeSet<VariableId>) {
    match access {
        Access::Full => {}
        Access::Member(key) | Access::Index(_, key) => key.iter().for_each(|term| term.variables(into)),
    }
}

fn pattern_reads(pattern: &Pattern, into: &mut BTreeSet<VariableId>) {
    match pattern {
        Pattern::Any | Pattern::Bind(_) => {}
        Pattern::Equal(term) => term.variables(into),
        Pattern::Construct(_, fields) => fields.iter().for_each(|field| pattern_reads(field, into)),
    }
}

/// The variables that a step binds.
pub(crate) fn binds(step: &Step, into: &mut Vec<VariableId>) {
    match step {
        Step::Scan { patterns, .. } => patterns.iter().for_each(|(_, pattern)| pattern_binds(pattern, into)),
        Step::Among(step) => step.patterns.iter().for_each(|(_, pattern)| pattern_binds(pattern, into)),
        Step::Lineage { patterns, .. } => patterns.iter().for_each(|pattern| pattern_binds(pattern, into)),
        Step::Absent { .. } | Step::AbsentLineage { .. } | Step::Filter(_) | Step::Counted(_) => {}
        Step::Match { pattern, .. } | Step::Generate { pattern, .. } => pattern_binds(pattern, into),
        Step::Aggregate(step) => {
            pattern_binds(&step.result, into);
            into.extend_from_slice(&step.aggregate.witnesses);
        }
        Step::Stage(steps) => steps.iter().for_each(|step| binds(step, into)),
    }
}

fn pattern_binds(pattern: &Pattern, into: &mut Vec<VariableId>) {
    match pattern {
        Pattern::Bind(variable) => into.push(*variable),
        Pattern::Any | Pattern::Equal(_) => {}
        Pattern::Construct(_, fields) => fields.iter().for_each(|field| pattern_binds(field, into)),
    }
}
