//! R3 and R4: other engines, asked the same on the same session.

use std::time::Instant;

use crate::fault::Outcome;
use crate::markdown::Row;
use crate::measure::{Measured, paired, repeated};
use crate::ours::{Answer, cold, warm};
use crate::peers::cedar::Cedar;
use crate::peers::rego::Rego;
use crate::peers::souffle::{self, Souffle};
use crate::peers::{COMPILED, Facts, Question, Warm, biscuit, cedar};
use crate::rows::case::{Case, Policies};
use crate::rows::{Plan, agree};
use crate::sessions::Shape;

/// The question, in words.
fn words(question: Question) -> &'static str {
    match question {
        Question::Ancestor => "some ancestor is of that tool",
        Question::Recursion => "a recursion of the policy's own",
    }
}

/// The least times that a warm check is to be faster than a warm regorus, where there is a bar.
fn bar(question: Question, messages: usize) -> Option<f64> {
    match (question, messages) {
        (Question::Ancestor, 1_000) => Some(1_000.0),
        (Question::Ancestor, 10_000..) => Some(20_000.0),
        (Question::Recursion, 10_000..) => Some(100.0),
        (Question::Ancestor | Question::Recursion, _) => None,
    }
}

/// R3 and R4 on one session.
///
/// # Errors
/// Where an engine decides differently.
pub fn measure(plan: &Plan, policies: &Policies, case: &Case, give: &mut dyn FnMut(Row)) -> Outcome<()> {
    if case.shape != Shape::Full || !(plan.wants(3) || plan.wants(4)) {
        return Ok(());
    }
    for question in [Question::Ancestor, Question::Recursion] {
        let policy = match question {
            Question::Ancestor => &policies.ancestor,
            Question::Recursion => &policies.recursion,
        };
        let facts = Facts::of(case, question);
        let begin = Instant::now();
        let (mut monitor, calls, said) = warm(policy, &case.graph)?;
        if said == Answer::Spent {
            let after = begin.elapsed().as_secs_f64();
            for number in [3, 4].into_iter().filter(|&number| plan.wants(number)) {
                give(Row::spent(number, words(question), &case.words(), after, "an answer"));
            }
            continue;
        }
        let mut calls = calls.iter().cycle();
        let mut ours = || Ok(repeated(|| calls.next().map(|&call| monitor.judge_call(call))));
        if plan.wants(3) {
            let mut rego = Rego::new(&facts)?;
            let measured = against(plan, case, said, &mut ours, "regorus", &mut rego)?;
            give(match bar(question, case.messages) {
                Some(limit) => Row::faster(
                    3,
                    &format!("warm: {}", words(question)),
                    &case.words(),
                    measured,
                    "regorus",
                    limit,
                ),
                None => {
                    Row::shown(3, &format!("warm: {}", words(question)), &case.words(), measured, "regorus")
                }
            });
        }
        if plan.wants(4) {
            compiled(plan, case, (question, &facts, said), &mut ours, give)?;
            others(plan, case, (question, &facts, said), &mut ours, give)?;
        }
    }
    Ok(())
}

type Ours<'a> = dyn FnMut() -> Outcome<f64> + 'a;
type Asked<'a> = (Question, &'a Facts, Answer);

/// A warm check beside one of another engine.
fn against(
    plan: &Plan,
    case: &Case,
    said: Answer,
    ours: &mut Ours<'_>,
    name: &str,
    peer: &mut dyn Warm,
) -> Outcome<Measured> {
    for arguments in &case.arguments {
        agree(&format!("{name}, {}", case.words()), &said, &peer.answer(arguments)?)?;
    }
    let mut arguments = case.arguments.iter().cycle();
    let theirs = &mut || Ok(repeated(|| arguments.next().map(|arguments| peer.answer(arguments).is_ok())));
    paired(plan.pairs(), ours, theirs)
}

/// Engines of compiled rules: each for scale, and the fastest against the bar.
fn compiled(
    plan: &Plan,
    case: &Case,
    (question, facts, said): Asked<'_>,
    ours: &mut Ours<'_>,
    give: &mut dyn FnMut(Row),
) -> Outcome<()> {
    let what = format!("warm beside cold: {}", words(question));
    let mut best: Option<(Measured, String)> = None;
    let mut note = |measured: Measured, name: &str, give: &mut dyn FnMut(Row)| {
        if best.as_ref().is_none_or(|(fastest, _)| measured.reference < fastest.reference) {
            best = Some((measured, name.to_owned()));
        }
        give(Row::shown(4, &what, &case.words(), measured, name));
    };
    for engine in COMPILED {
        for arguments in &case.arguments {
            agree(&format!("{}, {}", engine.name, case.words()), &said, &engine.answer(facts, arguments))?;
        }
        let mut arguments = case.arguments.iter().cycle();
        let theirs =
            &mut || Ok(repeated(|| arguments.next().map(|arguments| engine.answer(facts, arguments))));
        note(paired(plan.pairs(), ours, theirs)?, engine.name, give);
    }
    if souffle::is_installed() {
        let souffle = Souffle::new()?;
        souffle.load(facts)?;
        agree(&format!("souffle, {}", case.words()), &said, &souffle.answer()?.0)?;
        note(paired(plan.pairs(), ours, &mut || souffle.answer().map(|(_, took)| took))?, "souffle", give);
    }
    if let Some((measured, name)) = best.filter(|_| case.messages >= 1_000) {
        let what = format!("warm beside the best from cold facts: {}", words(question));
        give(Row::faster(4, &what, &case.words(), measured, &name, 5.0));
    }
    Ok(())
}

/// Engines that can only be asked about small sessions.
fn others(
    plan: &Plan,
    case: &Case,
    (question, facts, said): Asked<'_>,
    ours: &mut Ours<'_>,
    give: &mut dyn FnMut(Row),
) -> Outcome<()> {
    let what = |state: &str| format!("warm beside {state}: {}", words(question));
    if case.messages <= biscuit::MOST {
        agree(&format!("biscuit-auth, {}", case.words()), &said, &biscuit::answer(facts, 150)?)?;
        let theirs = &mut || Ok(repeated(|| biscuit::answer(facts, 150).is_ok()));
        let measured = paired(plan.pairs(), ours, theirs)?;
        give(Row::shown(4, &what("cold"), &case.words(), measured, "biscuit-auth"));
    }
    if case.messages <= cedar::MOST {
        let mut ready = Cedar::new(facts)?;
        let measured = against(plan, case, said, ours, "cedar-policy", &mut ready)?;
        give(Row::shown(4, &what("closed when loaded"), &case.words(), measured, "cedar-policy"));
        let theirs = &mut || Ok(repeated(|| Cedar::new(facts).is_ok()));
        let measured = paired(plan.pairs(), ours, theirs)?;
        give(Row::shown(4, &what("loading"), &case.words(), measured, "cedar-policy"));
    }
    Ok(())
}

/// What is left out, by name.
pub fn left(plan: &Plan, give: &mut dyn FnMut(Row)) {
    if !plan.wants(4) {
        return;
    }
    let mut name = |what: &str, why: &str| give(Row::left(4, what, why));
    if !souffle::is_installed() {
        name("Soufflé, compiled", "`souffle` is not on PATH");
    }
    name(
        "biscuit-auth, past 100 messages",
        "each round joins all facts again, and a session takes a round for each message",
    );
    name(
        "cedar-policy, past 1,000 messages",
        "it keeps every ancestor of every entity, which is the square of the session",
    );
    name(
        "biscuit-auth, cedar-policy and regorus, recursion past what was redacted",
        "they cannot say it, so they were given the graph without the edges that it drops",
    );
}

/// Both cold: everything from records, beside everything from facts.
///
/// # Errors
/// Where an engine decides differently.
pub fn both_cold(plan: &Plan, policies: &Policies, case: &Case, give: &mut dyn FnMut(Row)) -> Outcome<()> {
    if case.shape != Shape::Full || !plan.wants(4) {
        return Ok(());
    }
    let facts = Facts::of(case, Question::Ancestor);
    let Some(&call) = case.payments.first() else { return Ok(()) };
    let Some(arguments) = case.arguments.first() else { return Ok(()) };
    for engine in COMPILED {
        let ours = &mut || {
            let monitor = cold(&policies.ancestor, &case.graph);
            Ok(crate::measure::once(monitor, |monitor| monitor.judge_call(call)))
        };
        let theirs = &mut || Ok(repeated(|| engine.answer(&facts, arguments)));
        let measured = paired(plan.pairs(), ours, theirs)?;
        give(Row::shown(
            4,
            "cold beside cold: some ancestor is of that tool",
            &case.words(),
            measured,
            engine.name,
        ));
    }
    Ok(())
}
