//! regorus, an interpreter of Rego.

use std::fmt::Write as _;

use regorus::{Engine, Value};

use crate::fault::{Fault, Outcome};
use crate::ours::Answer;
use crate::peers::{Facts, Warm};

const POLICY: &str = r#"package bench
import rego.v1

default allow := false

reached := graph.reachable(data.graph, input.current)

confidential if {
    some record in data.wanted
    record in reached
}

forbidden if {
    input.action.amount > 100
    confidential
}

allow if {
    input.action.amount > 0
    not forbidden
}
"#;

/// A session that is loaded: its graph as the data that rules read.
pub struct Rego {
    engine: Engine,
    current: String,
}

impl std::fmt::Debug for Rego {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Rego")
    }
}

fn fault(error: impl std::fmt::Display) -> Fault {
    Fault::new(format!("regorus: {error}"))
}

/// Numbers as a JSON array of texts: keys of objects are texts.
fn names(numbers: &[u32]) -> String {
    let texts: Vec<_> = numbers.iter().map(|number| format!("\"{number}\"")).collect();
    format!("[{}]", texts.join(","))
}

impl Rego {
    /// Loads policy and session. Edges to what passes nothing on are left out beforehand.
    ///
    /// # Errors
    /// Where the engine refuses either.
    pub fn new(facts: &Facts) -> Outcome<Self> {
        let mut engine = Engine::new();
        engine.add_policy("bench.rego".to_owned(), POLICY.to_owned()).map_err(fault)?;
        let mut data = String::from(r#"{"graph":{"#);
        let mut before = None;
        let mut edges: Vec<_> = facts.passing().collect();
        edges.sort_unstable();
        for (dest, source) in edges {
            let _ = match before {
                Some(same) if same == dest => write!(data, r#","{source}""#),
                Some(_) => write!(data, r#"],"{dest}":["{source}""#),
                None => write!(data, r#""{dest}":["{source}""#),
            };
            before = Some(dest);
        }
        let end = if before.is_some() { "]" } else { "" };
        let _ = write!(data, r#"{end}}},"wanted":{}}}"#, names(&facts.wanted));
        engine.add_data(Value::from_json_str(&data).map_err(fault)?).map_err(fault)?;
        Ok(Self { engine, current: names(&facts.current) })
    }
}

impl Warm for Rego {
    fn answer(&mut self, arguments: &str) -> Outcome<Answer> {
        let input = format!(r#"{{"action":{arguments},"current":{}}}"#, self.current);
        self.engine.set_input_json(&input).map_err(fault)?;
        let allowed = self.engine.eval_rule("data.bench.allow".to_owned()).map_err(fault)?;
        Ok(Answer::unless(allowed != Value::from(true)))
    }
}

/// So many rules, each about a tool of its own, as in [`crate::policies::of_rules`].
#[must_use]
pub fn of_rules(rules: usize) -> String {
    let rule = |number: usize| {
        format!(
            "allow if {{\n    input.tool == \"tool_{number}\"\n    input.action.amount > {number}\n    \
             input.action.to != \"nobody-{number}\"\n}}\n\n"
        )
    };
    let rules: String = (0..rules).map(rule).collect();
    format!("package bench\nimport rego.v1\n\ndefault allow := false\n\n{rules}")
}

/// A policy from its text, ready to judge.
///
/// # Errors
/// Where it does not load.
pub fn ready(text: &str) -> Outcome<Engine> {
    let mut engine = Engine::new();
    engine.add_policy("bench.rego".to_owned(), text.to_owned()).map_err(fault)?;
    engine.compile_with_entrypoint(&"data.bench.allow".into()).map_err(fault)?;
    Ok(engine)
}

/// What such a policy says to a call.
///
/// # Errors
/// Where the engine fails.
pub fn judged(engine: &mut Engine, tool: &str, arguments: &str) -> Outcome<Answer> {
    engine.set_input_json(&format!(r#"{{"tool":"{tool}","action":{arguments}}}"#)).map_err(fault)?;
    let allowed = engine.eval_rule("data.bench.allow".to_owned()).map_err(fault)?;
    Ok(Answer::unless(allowed != Value::from(true)))
}
