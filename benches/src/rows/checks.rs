//! R1, R2, R5: a check, warm and cold.

use std::sync::Arc;
use std::time::Instant;

use gatelog::monitor::Policy;

use crate::fault::Outcome;
use crate::markdown::Row;
use crate::measure::{once, paired, repeated};
use crate::ours::{Answer, answer, cold, warm};
use crate::references::mask::Mask;
use crate::references::{Adjacency, Tools, bfs, is_large};
use crate::rows::case::{Case, Policies};
use crate::rows::{Plan, agree, count};
use crate::sessions::{Shape, Taint};

const ANCESTOR: &str = "warm check: some ancestor is of that tool";
const RECURSION: &str = "warm check: a recursion of the policy's own";
const COLD: &str = "cold check: records in memory, nothing indexed";

/// R1, R2 and R5 on one session.
///
/// # Errors
/// Where the members decide differently.
pub fn measure(plan: &Plan, policies: &Policies, case: &Case, give: &mut dyn FnMut(Row)) -> Outcome<()> {
    if plan.wants(1) {
        give(ancestor(plan, policies, case)?);
    }
    if plan.wants(2) {
        give(recursion(plan, policies, case)?);
    }
    if plan.wants(5) {
        give(cold_check(plan, policies, case)?);
    }
    Ok(())
}

fn ancestor(plan: &Plan, policies: &Policies, case: &Case) -> Outcome<Row> {
    let (mut monitor, calls, said) = warm(&policies.ancestor, &case.graph)?;
    let mask = Mask::of(&case.adjacency);
    let by_mask =
        |arguments: &str| Answer::unless(mask.forbids(&case.current, arguments, Tools::CONFIDENTIAL));
    for arguments in &case.arguments {
        agree(&format!("R1, {}", case.words()), &said, &by_mask(arguments))?;
    }
    let (mut calls, mut arguments) = (calls.iter().cycle(), case.arguments.iter().cycle());
    let measured = paired(
        plan.pairs(),
        &mut || Ok(repeated(|| calls.next().map(|&call| monitor.judge_call(call)))),
        &mut || Ok(repeated(|| arguments.next().map(|arguments| by_mask(arguments)))),
    )?;
    Ok(Row::within(1, ANCESTOR, &case.words(), measured, "mask", 3.0))
}

/// What the recursion comes to, by hand.
fn by_walk(case: &Case, arguments: &str) -> Answer {
    let found = bfs::finds(&case.adjacency, &case.current, Tools::CONFIDENTIAL, Tools::REDACT);
    Answer::unless(is_large(arguments) && found)
}

fn recursion(plan: &Plan, policies: &Policies, case: &Case) -> Outcome<Row> {
    let begin = Instant::now();
    let (mut monitor, calls, said) = warm(&policies.recursion, &case.graph)?;
    if said == Answer::Spent {
        let after = begin.elapsed().as_secs_f64();
        return Ok(Row::spent(2, RECURSION, &case.words(), after, "at most 3 ×"));
    }
    for arguments in &case.arguments {
        agree(&format!("R2, {}", case.words()), &said, &by_walk(case, arguments))?;
    }
    let (mut calls, mut arguments) = (calls.iter().cycle(), case.arguments.iter().cycle());
    let measured = paired(
        plan.pairs(),
        &mut || Ok(repeated(|| calls.next().map(|&call| monitor.judge_call(call)))),
        &mut || Ok(repeated(|| arguments.next().map(|arguments| by_walk(case, arguments)))),
    )?;
    Ok(Row::within(2, RECURSION, &case.words(), measured, "bfs", 3.0))
}

fn cold_check(plan: &Plan, policies: &Policies, case: &Case) -> Outcome<Row> {
    let policy = &policies.ancestor;
    let mut said = None;
    let ours = &mut || {
        let monitor = cold(policy, &case.graph);
        let call = case.payments.first().copied();
        Ok(once(monitor, |monitor| {
            said = call.map(|call| answer(&monitor.judge_call(call)));
        }))
    };
    let mut found = false;
    let reference = &mut || {
        Ok(repeated(|| {
            let adjacency = Adjacency::of(&case.graph);
            found = bfs::finds(&adjacency, &case.current, Tools::CONFIDENTIAL, Tools::NONE);
        }))
    };
    let measured = paired(plan.pairs(), ours, reference)?;
    agree(&format!("R5, {}", case.words()), &said, &Some(Answer::unless(found)))?;
    Ok(Row::within(5, COLD, &case.words(), measured, "bfs", 3.0))
}

/// R1: the largest session beside the smallest.
///
/// # Errors
/// Where a session that was made stops.
pub fn growth(plan: &Plan, policies: &Policies, give: &mut dyn FnMut(Row)) -> Outcome<()> {
    if !plan.wants(1) {
        return Ok(());
    }
    for (shape, taint) in
        [(Shape::Full, Taint::Clean), (Shape::Full, Taint::Tainted), (Shape::Branches, Taint::Clean)]
    {
        let large = Case::new(policies, shape, taint, plan.largest())?;
        let small = Case::new(policies, shape, taint, plan.smallest())?;
        let measured = beside(plan, &policies.ancestor, &large, &small)?;
        let size = format!(
            "{} beside {}, {}, {}",
            count(large.messages),
            count(small.messages),
            shape.words(),
            taint.words()
        );
        give(Row::within(1, "warm check: growth", &size, measured, "the smaller", 1.2));
    }
    Ok(())
}

fn beside(
    plan: &Plan,
    policy: &Arc<Policy>,
    large: &Case,
    small: &Case,
) -> Outcome<crate::measure::Measured> {
    let (mut one, calls, _) = warm(policy, &large.graph)?;
    let (mut other, others, _) = warm(policy, &small.graph)?;
    let (mut calls, mut others) = (calls.iter().cycle(), others.iter().cycle());
    paired(plan.pairs(), &mut || Ok(repeated(|| calls.next().map(|&call| one.judge_call(call)))), &mut || {
        Ok(repeated(|| others.next().map(|&call| other.judge_call(call))))
    })
}
