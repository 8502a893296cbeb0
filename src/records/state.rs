//! What events write: state, files.

use crate::json::Json;
use crate::lineage::RecordId;
use crate::recording::PartKind;
use crate::records::Graph;
use crate::records::SessionFact;
use crate::records::extend::Scene;
use crate::records::notices::quoted;
use crate::records::secret::holds_credential;
use crate::records::secret::redacted;
use crate::records::values::Slot;
use crate::records::values::Written;
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

/// The mark on records of values whose writers are records too.
pub(crate) const OBSERVED: &str = "observed production";

/// What is assumed where nothing says what agents and tools read.
pub(crate) const UNKNOWN_READS: &str = "which values of state and which files were read, by tools or for instructions, is \
                                        not in this session";

/// Scope and key of a state key as written: `app:`, `user:` and `temp:` name a scope.
pub(crate) fn scope_of(key: &str) -> (&'static str, &str) {
    let scopes = [("app:", "app"), ("user:", "user"), ("temp:", "temp")];
    scopes
        .into_iter()
        .find_map(|(prefix, scope)| key.strip_prefix(prefix).map(|rest| (scope, rest)))
        .unwrap_or(("session", key))
}

/// Most bytes of a state key that libraries take.
const KEY_BYTES: usize = 256;

/// Why libraries refuse a state key, in words.
fn odd_key(key: &str) -> Option<&'static str> {
    let rows = [
        (key.is_empty(), "is empty"),
        (key.len() > KEY_BYTES, "has more than 256 bytes"),
        (key.contains(['/', '\\']), "has a path separator"),
        (key.contains('\0'), "has a zero byte"),
    ];
    rows.into_iter().find(|(holds, _)| *holds).map(|(_, why)| why)
}

impl SessionNames {
    /// The path of a state value, as `adk_resource` names it.
    pub(crate) fn state_path(&self, key: &str, invocation: &str) -> Vec<String> {
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

    /// The path of a version of a file; of an unknown version, empty, where that is not known.
    pub(crate) fn artifact_path(&self, file: &str, version: Option<i64>) -> Vec<String> {
        let scope = if file.starts_with("user:") { "user" } else { self.session.as_str() };
        let version = version.map_or_else(String::new, |version| version.to_string());
        [&self.app, &self.user, scope, file, &version].iter().fold(
            vec!["artifact".to_owned()],
            |mut path, name| {
                path.push((*name).to_owned());
                path
            },
        )
    }

    /// Contents of the record that stands for an agent's run that this session does not show.
    pub(crate) fn unseen_run(&self, agent: &str, call: &str) -> String {
        let names = ["agent-run", &self.app, &self.user, &self.session, agent, call];
        resource(&names.map(str::to_owned), UNATTRIBUTED, Known::Nothing)
    }
}

/// What is known of the value of a resource.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Known<'a> {
    Nothing,
    /// It was removed.
    Absent,
    Present(&'a Json),
}

/// Contents of the record of a resource. The value is left out where it is not known.
pub(crate) fn resource(path: &[String], provenance: &str, value: Known<'_>) -> String {
    let path = path.iter().map(|name| Json::Text(name.as_str().into())).collect();
    let mut fields = vec![
        ("adk_resource".into(), Json::Array(path)),
        ("provenance".into(), Json::Text(provenance.into())),
    ];
    let present = |is: bool| ("present".into(), Json::Bool(is));
    let value = match value {
        Known::Nothing => None,
        Known::Absent => Some(vec![present(false)]),
        Known::Present(value) => Some(vec![present(true), ("value".into(), value.clone())]),
    };
    fields.extend(value.map(|value| ("value".into(), Json::Object(value))));
    Json::Object(fields).ordinary()
}

/// A state value, unless it holds a credential, which the framework keeps in state too.
pub(crate) fn shown(value: &Json) -> Cow<'_, Json> {
    if holds_credential(value) { Cow::Owned(redacted()) } else { Cow::Borrowed(value) }
}

impl Graph {
    /// Notes what the event writes, and who wrote it. What a rewind writes is what stood there before, and is read so.
    pub(crate) fn note_writes(&mut self, scene: &mut Scene<'_>) {
        let actions = &scene.event.actions;
        self.notice_keys(scene);
        if scene.marker && actions.rewind_before.is_some() {
            return;
        }
        let delta = actions.state_delta.iter().map(|(key, value)| (key.as_str(), shown(value).ordinary()));
        let mut values: Vec<(&str, String)> = delta.collect();
        values.extend(actions.state_removed.iter().map(|key| (key.as_str(), String::new())));
        let said = self.kept_text(scene);
        values.extend(said.as_ref().map(|(key, text)| (key.as_str(), text.ordinary())));
        if values.is_empty() && actions.artifact_delta.is_empty() {
            return;
        }
        self.note_unknown_reads(scene);
        let writers = self.writers(scene);
        for &record in &writers {
            for (key, value) in &values {
                self.write_row(record, key, value);
            }
            for (filename, version) in &actions.artifact_delta {
                let (filename, version) = (filename.as_str().into(), *version);
                self.facts.push(SessionFact::ArtifactWrite { record, filename, version });
            }
        }
        let written = Written { moment: scene.moment, by: writers.into(), finished: !scene.waits };
        for (key, value) in &values {
            let slot = Slot::State(self.session.state_path(key, &scene.event.invocation_id));
            let number = self.values.write(slot, written.clone(), Some(value.clone()), None);
            if written.by.is_empty() {
                let record = self.value_record(scene, number);
                self.write_row(record, key, value);
            }
        }
        for (filename, version) in &actions.artifact_delta {
            let slot = Slot::Artifact(filename.clone());
            self.values.write(slot, written.clone(), None, Some(*version));
        }
        if written.by.is_empty() && !actions.artifact_delta.is_empty() {
            let text =
                format!("event {} writes files, and nothing says who wrote them", quoted(&scene.event.id));
            self.warnings.add("unknown_writer", text);
        }
    }

    /// Says which keys other libraries would refuse.
    fn notice_keys(&mut self, scene: &Scene<'_>) {
        for (key, _) in &scene.event.actions.state_delta {
            if let Some(why) = odd_key(key) {
                let text = format!(
                    "event {} writes the state key {}, which {why}: adk-core refuses such keys",
                    quoted(&scene.event.id),
                    quoted(key)
                );
                self.warnings.add("state_key", text);
            }
        }
    }

    /// A row of what is written; the value is ordinary JSON, and empty where the key is removed.
    pub(crate) fn write_row(&mut self, record: RecordId, key: &str, value: &str) {
        let (scope, key) = scope_of(key);
        let (scope, key) = (scope.into(), key.into());
        self.facts.push(SessionFact::StateWrite { record, scope, key, value: value.into() });
    }

    /// Without a word about the agents, what they read is unknown.
    fn note_unknown_reads(&mut self, scene: &Scene<'_>) {
        self.state_written = true;
        if self.stated.is_empty() {
            self.assumptions.once("state_reads", UNKNOWN_READS);
        } else {
            self.note_reader(scene);
        }
    }

    /// The final text of an agent, where its agents file says that it is kept, and the event does not.
    fn kept_text(&self, scene: &Scene<'_>) -> Option<(String, Json)> {
        let key = &self.stated.named(&scene.event.author)?.output_key;
        let kept = scene.event.actions.state_delta.iter().any(|(other, _)| other == key);
        if key.is_empty() || kept || !scene.by_agent() {
            return None;
        }
        let mut text = String::new();
        for part in &scene.event.parts {
            match &part.kind {
                PartKind::Text(words) if !part.thought => text.push_str(words),
                PartKind::Text(_) | PartKind::Empty => {}
                PartKind::Call { .. }
                | PartKind::Response { .. }
                | PartKind::Code
                | PartKind::CodeResult { .. }
                | PartKind::ServerCall { .. }
                | PartKind::ServerAnswer { .. } => return None,
            }
        }
        (!text.is_empty()).then(|| (key.clone(), Json::Text(text.into())))
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
    use crate::records::Role;
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
                resource(&names.state_path(key, "e-1"), UNATTRIBUTED, Known::Present(&value)),
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
        assert_eq!(at(&graph, 0).role(), Role::User);
        assert!(at(&graph, 0).contents().contains("unattributed external input"));
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
