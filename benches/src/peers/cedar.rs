//! Cedar, whose hierarchy of entities is closed when it is loaded.

use cedar_policy::{Authorizer, Context, Decision, Entities, EntityUid, PolicySet, Request};
use serde_json::{Value, json};

use crate::fault::{Fault, Outcome};
use crate::ours::Answer;
use crate::peers::{Facts, Warm};

/// The largest session that it is asked about: it keeps every ancestor of every entity, the square of the session.
pub const MOST: usize = 1_000;

const POLICY: &str = r#"
permit(principal, action == Action::"pay", resource) when { context.amount > 0 };
forbid(principal, action == Action::"pay", resource in Tool::"read_confidential") when { context.amount > 100 };
"#;

/// A session that is loaded: each record and context is an entity whose parents are what it was made of.
#[derive(Debug)]
pub struct Cedar {
    policies: PolicySet,
    entities: Entities,
    principal: EntityUid,
    action: EntityUid,
    resource: EntityUid,
}

fn fault(error: impl std::fmt::Display) -> Fault {
    Fault::new(format!("cedar-policy: {error}"))
}

fn named(kind: &str, name: &str) -> Outcome<EntityUid> {
    EntityUid::from_json(json!({"type": kind, "id": name})).map_err(fault)
}

fn record(number: u32) -> Value {
    json!({"type": "Record", "id": number.to_string()})
}

impl Cedar {
    /// Loads policy and session. Edges to what passes nothing on are left out beforehand: it has no recursion of its own.
    ///
    /// # Errors
    /// Where the engine refuses either.
    pub fn new(facts: &Facts) -> Outcome<Self> {
        let mut parents: std::collections::BTreeMap<u32, Vec<Value>> = std::collections::BTreeMap::new();
        for (dest, source) in facts.passing() {
            parents.entry(dest).or_default().push(record(source));
        }
        for &wanted in &facts.wanted {
            parents.entry(wanted).or_default().push(json!({"type": "Tool", "id": "read_confidential"}));
        }
        let mut entities: Vec<Value> = parents
            .into_iter()
            .map(|(dest, parents)| json!({"uid": record(dest), "attrs": {}, "parents": parents}))
            .collect();
        let current: Vec<Value> = facts.current.iter().map(|&number| record(number)).collect();
        entities.push(json!({"uid": {"type": "Call", "id": "now"}, "attrs": {}, "parents": current}));
        Ok(Self {
            policies: POLICY.parse().map_err(fault)?,
            entities: Entities::from_json_value(Value::Array(entities), None).map_err(fault)?,
            principal: named("User", "user")?,
            action: named("Action", "pay")?,
            resource: named("Call", "now")?,
        })
    }
}

impl Warm for Cedar {
    fn answer(&mut self, arguments: &str) -> Outcome<Answer> {
        let context = Context::from_json_str(arguments, None).map_err(fault)?;
        let [principal, action, resource] = [&self.principal, &self.action, &self.resource].map(Clone::clone);
        let request = Request::new(principal, action, resource, context, None).map_err(fault)?;
        let response = Authorizer::new().is_authorized(&request, &self.policies, &self.entities);
        if let Some(error) = response.diagnostics().errors().next() {
            return Err(fault(error));
        }
        Ok(Answer::unless(response.decision() == Decision::Deny))
    }
}
