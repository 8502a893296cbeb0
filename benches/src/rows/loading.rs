//! R8: policy text to ready.

use crate::fault::Outcome;
use crate::markdown::Row;
use crate::rows::Plan;

#[cfg(not(feature = "peers"))]
/// R8 needs regorus.
///
/// # Errors
/// Never.
pub fn measure(_plan: &Plan, give: &mut dyn FnMut(Row)) -> Outcome<()> {
    give(Row::left(8, "policy text to ready", "built without other engines"));
    Ok(())
}

#[cfg(feature = "peers")]
/// R8.
///
/// # Errors
/// Where a policy does not load, or the members decide differently.
pub fn measure(plan: &Plan, give: &mut dyn FnMut(Row)) -> Outcome<()> {
    use crate::measure::{paired, repeated};
    use crate::ours::{answer, policy, settings};
    use crate::peers::rego;
    use crate::policies::of_rules;
    use gatelog::monitor::{Action, Monitor, Request};

    for (rules, limit) in [(1, 2.0), (200, 1.0)] {
        let (text, other) = (of_rules(rules), rego::of_rules(rules));
        let mut theirs = rego::ready(&other)?;
        let mut monitor = Monitor::new(policy(&text)?, settings());
        let tools = [0, rules - 1, rules].map(|number| format!("tool_{number}"));
        for (tool, amount) in tools.iter().flat_map(|tool| [(tool, 0), (tool, 100_000)]) {
            let arguments = format!(r#"{{"amount":{amount},"to":"somebody"}}"#);
            let action = Action::CallTool { tool: tool.clone(), arguments: arguments.clone() };
            let request = Request { actions: vec![(action, Vec::new())], ..Request::default() };
            let said: Vec<_> = monitor.judge(&request).iter().map(answer).collect();
            let reference = vec![rego::judged(&mut theirs, tool, &arguments)?];
            crate::rows::agree(&format!("R8, {rules} rules, {tool}"), &said, &reference)?;
        }
        let measured = paired(plan.pairs(), &mut || Ok(repeated(|| policy(&text).is_ok())), &mut || {
            Ok(repeated(|| rego::ready(&other).is_ok()))
        })?;
        let size = if rules == 1 { "1 rule".to_owned() } else { format!("{rules} rules") };
        give(Row::within(8, "policy text to ready", &size, measured, "regorus", limit));
    }
    Ok(())
}
