//! R11: the proof of a denial.

use std::sync::Arc;

use gatelog::decision::Verdict;
use gatelog::monitor::Policy;

use crate::fault::{Fault, Outcome};
use crate::markdown::Row;
use crate::measure::{paired, repeated};
use crate::ours::{Answer, warm};
use crate::references::{Tools, bfs};
use crate::rows::Plan;
use crate::rows::case::{Case, Policies};
use crate::sessions::{Shape, Taint};

/// R11 on tainted sessions: an ancestor of that tool, and a recursion of the policy's own.
///
/// # Errors
/// Where the proof is of another decision than the check's.
pub fn measure(plan: &Plan, policies: &Policies, give: &mut dyn FnMut(Row)) -> Outcome<()> {
    for &messages in plan.sizes() {
        for shape in Shape::ALL {
            let case = Case::new(policies, shape, Taint::Tainted, messages)?;
            let ancestor = "proof of a denial: an ancestor of that tool";
            give(proof(plan, ancestor, &policies.ancestor, &case, Tools::NONE)?);
            let recursion = "proof of a denial: a recursion of the policy's own";
            give(proof(plan, recursion, &policies.recursion, &case, Tools::REDACT)?);
        }
    }
    Ok(())
}

fn proof(plan: &Plan, what: &str, policy: &Arc<Policy>, case: &Case, barred: Tools) -> Outcome<Row> {
    let (mut monitor, calls, said) = warm(policy, &case.graph)?;
    if said == Answer::Spent {
        return Err(Fault::new(format!("R11, {}: the check ran out of its budget", case.words())));
    }
    for &call in &calls {
        let (proof, judged) = (monitor.explain(call), monitor.judge_call(call));
        let whole = proof.fault.is_empty() && !proof.steps.is_empty();
        if proof.decision.verdict != judged.verdict || (judged.verdict == Verdict::Deny && !whole) {
            return Err(Fault::new(format!("R11, {}: {what}: {}", case.words(), proof.fault)));
        }
    }
    let mut calls = calls.iter().cycle();
    let measured = paired(
        plan.pairs(),
        &mut || Ok(repeated(|| calls.next().map(|&call| monitor.explain(call)))),
        &mut || Ok(repeated(|| bfs::finds(&case.adjacency, &case.current, Tools::CONFIDENTIAL, barred))),
    )?;
    Ok(Row::within(11, what, &case.words(), measured, "bfs", 3.0))
}
