//! What events write: state, files.

use crate::json::Json;
use crate::lineage::RecordId;
use crate::recording::Event;
use crate::records::Graph;
use crate::records::Role;
use crate::records::SessionFact;
use crate::records::draft::redacted;
use crate::records::extend::Scene;
use crate::records::notices::quoted;
use std::borrow::Cow;

/// The names of the session, for records of resources.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionNames {
    pub(crate) app: String,
    pub(crate) user: String,
    pub(crate) session: String,
}

/// The mark on records whose origin nobody knows.
pub(crate) const UNATTRIBUTED: &str = "unattributed external input";

/// Scope and key of a state key as written: `app:`, `user:` and `temp:` name a scope.
pub(crate) fn scope_of(key: &str) -> (&'static str, &str) {
    let scopes = [("app:", "app"), ("user:", "user"), ("temp:", "temp")];
    scopes
        .into_iter()
        .find_map(|(prefix, scope)| key.strip_prefix(prefix).map(|rest| (scope, rest)))
        .unwrap_or(("session", key))
}

impl SessionNames {
    /// The path of a state value, as `adk_resource` names it.
    fn state_path(&self, key: &str, invocation: &str) -> Vec<String> {
        let (scope, rest) = scope_of(key);
        let mut path = vec!["state".to_owned(), self.app.clone(), scope.to_owned()];
        match scope {
            "session" => path.extend([self.user.clone(), self.session.clone()]),
            "user" => path.push(self.user.clone()),
            "temp" => path.extend([self.user.clone(), self.session.clone(), invocation.to_owned()]),
            _ => {}
        }
        path.push(rest.to_owned());
        path
    }

    /// Contents of the record of a state value that nobody is known to have written; none where a key was removed.
    pub(crate) fn unattributed_state(&self, key: &str, value: Option<&Json>, invocation: &str) -> String {
        let mut fields = vec![("present".into(), Json::Bool(value.is_some()))];
        fields.extend(value.map(|value| ("value".into(), value.clone())));
        resource(&self.state_path(key, invocation), Some(Json::Object(fields)))
    }

    /// Contents of the record that stands for an agent's run that this session does not show.
    pub(crate) fn unseen_run(&self, agent: &str, call: &str) -> String {
        let names = ["agent-run", &self.app, &self.user, &self.session, agent, call];
        resource(&names.map(str::to_owned), None)
    }
}

fn resource(path: &[String], value: Option<Json>) -> String {
    let path = path.iter().map(|name| Json::Text(name.as_str().into())).collect();
    let mut fields = vec![
        ("adk_resource".into(), Json::Array(path)),
        ("provenance".into(), Json::Text(UNATTRIBUTED.into())),
    ];
    fields.extend(value.map(|value| ("value".into(), value)));
    Json::Object(fields).ordinary()
}

/// The rows of what the event writes, once for each of the records that wrote it.
pub(crate) fn writes(event: &Event, writers: &[RecordId]) -> Vec<SessionFact> {
    let mut rows = Vec::new();
    for &record in writers {
        for (key, value) in &event.actions.state_delta {
            let (scope, key) = scope_of(key);
            let (scope, key) = (scope.to_owned(), key.to_owned());
            rows.push(SessionFact::StateWrite { record, scope, key, value: shown(value).ordinary() });
        }
        for key in &event.actions.state_removed {
            let (scope, key) = scope_of(key);
            let (scope, key) = (scope.to_owned(), key.to_owned());
            rows.push(SessionFact::StateWrite { record, scope, key, value: String::new() });
        }
        for (filename, version) in &event.actions.artifact_delta {
            let filename = filename.clone();
            rows.push(SessionFact::ArtifactWrite { record, filename, version: *version });
        }
    }
    rows
}

/// A state value, unless it is a credential, which the framework keeps in state too.
pub(crate) fn shown(value: &Json) -> Cow<'_, Json> {
    if holds_credential(value) { Cow::Owned(redacted()) } else { Cow::Borrowed(value) }
}

/// Keys under which the framework's credential objects stand.
const CREDENTIAL_KEYS: [&str; 8] = [
    "authType",
    "auth_type",
    "rawAuthCredential",
    "raw_auth_credential",
    "exchangedAuthCredential",
    "exchanged_auth_credential",
    "authCredential",
    "auth_credential",
];

/// Whether a credential stands anywhere inside. JSON from outside is nested at most as deep as its reader allows.
fn holds_credential(value: &Json) -> bool {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Json::Object(fields) => {
                if fields.iter().any(|(key, _)| CREDENTIAL_KEYS.contains(&&**key)) {
                    return true;
                }
                open.extend(fields.iter().map(|(_, value)| value));
            }
            Json::Array(items) => open.extend(items),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => {}
        }
    }
    false
}

impl Graph {
    /// Notes what the event writes, and who wrote it.
    pub(crate) fn note_writes(&mut self, scene: &mut Scene<'_>) {
        let actions = &scene.event.actions;
        let state = actions.state_delta.iter().map(|(key, value)| (key, Some(shown(value))));
        let state: Vec<_> = state.chain(actions.state_removed.iter().map(|key| (key, None))).collect();
        let nothing = state.is_empty() && actions.artifact_delta.is_empty();
        if nothing || (scene.marker && actions.rewind_before.is_some()) {
            return;
        }
        let text = "which values of state and which files were read, by tools or for instructions, is not in this session";
        self.assumptions.once("state_reads", text);
        let writers = self.writers(scene);
        if writers.is_empty() {
            for (key, value) in state {
                let invocation = &scene.event.invocation_id;
                let contents = self.session.unattributed_state(key, value.as_deref(), invocation);
                let record = self.resource(scene, contents, Role::User);
                let (scope, key) = scope_of(key);
                self.facts.push(SessionFact::StateWrite {
                    record,
                    scope: scope.to_owned(),
                    key: key.to_owned(),
                    value: value.map_or_else(String::new, |value| value.ordinary()),
                });
            }
            if !actions.artifact_delta.is_empty() {
                let text = format!(
                    "event {} writes files, and nothing says who wrote them",
                    quoted(&scene.event.id)
                );
                self.warnings.add("unknown_writer", text);
            }
            return;
        }
        self.facts.extend(writes(scene.event, &writers));
    }

    /// The records that wrote what the event writes: its answers, else its parts, else its author's last output.
    fn writers(&self, scene: &Scene<'_>) -> Vec<RecordId> {
        if !scene.answers.is_empty() {
            return scene.answers.clone();
        }
        if !scene.parts.is_empty() {
            return scene.parts.clone();
        }
        self.last_output.get(&scene.author).copied().into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::building::assumed;
    use crate::records::building::at;
    use crate::records::building::build;
    use crate::records::building::inputs;

    #[test]
    fn keys_name_their_scope_and_paths_are_full() {
        let names = SessionNames { app: "a".into(), user: "u".into(), session: "s".into() };
        let rows = [
            ("k", r#"["state","a","session","u","s","k"]"#),
            ("app:k", r#"["state","a","app","k"]"#),
            ("user:k.l", r#"["state","a","user","u","k.l"]"#),
            ("temp:k", r#"["state","a","temp","u","s","e-1","k"]"#),
            ("note:k", r#"["state","a","session","u","s","note:k"]"#),
        ];
        for (key, path) in rows {
            let value = Json::Number("1.0".into());
            assert_eq!(
                names.unattributed_state(key, Some(&value), "e-1"),
                format!(
                    r#"{{"adk_resource":{path},"provenance":"unattributed external input","value":{{"present":true,"value":1.0}}}}"#
                )
            );
        }
    }

    #[test]
    fn credentials_in_state_are_left_out() {
        let secret = crate::json::parse(r#"{"x":[{"authType":"apiKey","apiKey":"hush"}]}"#).unwrap();
        assert_eq!(shown(&secret).ordinary(), r#"{"redacted":true}"#);
        let plain = crate::json::parse(r#"{"x":[1]}"#).unwrap();
        assert_eq!(shown(&plain).ordinary(), r#"{"x":[1]}"#);
    }

    #[test]
    fn writers_of_state_are_answers_then_parts_then_the_last_output() {
        let (graph, _) = build(
            r#"bot nothing @ "actions":{"stateDelta":{"user:early":1}}
               bot call c1 f {}
               & call c2 g {}
               bot answer c1 f {"x":1}
               & answer c2 g {"x":2}
               bot say done @ "actions":{"stateDelta":{"app:out":"done"},"artifactDelta":{"a.txt":3}}
               bot nothing @ "actions":{"stateDelta":{"k":{"authType":"x"}}}
               user nothing @ "actions":{"stateDelta":{"k":0},"rewindBeforeInvocationId":"no"}"#,
        );
        let rows: Vec<_> = graph
            .facts()
            .iter()
            .filter_map(|fact| match fact {
                SessionFact::StateWrite { record, scope, key, value } => {
                    Some(format!("{} {scope} {key} {value}", record.0))
                }
                SessionFact::ArtifactWrite { record, filename, version } => {
                    Some(format!("{} {filename} {version}", record.0))
                }
                _ => None,
            })
            .collect();
        assert_eq!(
            rows,
            ["0 user early 1", r#"5 app out "done""#, "5 a.txt 3", r#"5 session k {"redacted":true}"#]
        );
        assert_eq!(at(&graph, 0).role, Role::User);
        assert!(at(&graph, 0).contents.contains("unattributed external input"));
        assert_eq!(inputs(&graph, 1), [0; 0]);
        assert!(assumed(&graph).contains(&"state_reads"));
        let merged = build(
            r#"bot call c1 f {}
               & call c2 g {}
               bot answer c1 f {} @ "actions":{"stateDelta":{"k":1}}
               & answer c2 g {"x":2}"#,
        );
        let writes =
            merged.0.facts().iter().filter(|fact| matches!(fact, SessionFact::StateWrite { .. })).count();
        assert_eq!(writes, 2);
    }
}
