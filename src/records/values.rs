//! Values of state and files as records: who wrote what is read.

use crate::json;
use crate::lineage::ContextId;
use crate::lineage::Position;
use crate::lineage::RecordId;
use crate::recording::Event;
use crate::records::Graph;
use crate::records::Role;
use crate::records::SessionFact;
use crate::records::agents::Read;
use crate::records::extend::Scene;
use crate::records::state::Known;
use crate::records::state::OBSERVED;
use crate::records::state::UNATTRIBUTED;
use crate::records::state::UNKNOWN_READS;
use crate::records::state::resource;
use crate::records::state::scope_of;
use crate::records::visible::Moment;
use crate::records::visible::Sight;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where a value stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Slot {
    /// A path of state.
    State(Vec<String>),
    /// A file by its name.
    Artifact(String),
}

impl Slot {
    /// Whether a rewind of the session restores what stood there: not what belongs to the user or the application.
    fn rewinds(&self) -> bool {
        match self {
            Self::State(path) => path.get(2).is_some_and(|scope| scope == "session" || scope == "temp"),
            Self::Artifact(file) => !file.starts_with("user:"),
        }
    }
}

/// A slot by its number in the session.
#[derive(Debug, Clone, Copy)]
struct SlotId(u32);

/// When a value was written, and by whom.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub(crate) moment: Moment,
    /// The records that wrote it; none where nobody knows.
    pub(crate) by: Arc<[RecordId]>,
    /// Whether all of them are done.
    pub(crate) finished: bool,
}

#[derive(Debug, Clone)]
struct Version {
    slot: SlotId,
    /// None for what stood there before the session began.
    written: Option<Written>,
    /// Ordinary JSON, empty where it was removed; none where it is not known.
    value: Option<String>,
    /// The version of a file; none where it is not known.
    number: Option<i64>,
    /// Its record, once it was read.
    record: Option<RecordId>,
}

/// A version of a value by its number in the session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VersionNumber(usize);

/// All versions of all values.
#[derive(Debug, Clone, Default)]
pub(crate) struct Values {
    versions: Vec<Version>,
    ids: BTreeMap<Slot, SlotId>,
    /// By [`SlotId`], as is `newest`.
    slots: Vec<Slot>,
    newest: Vec<Option<VersionNumber>>,
}

impl Values {
    /// Notes a value that was written.
    pub(crate) fn write(
        &mut self,
        slot: Slot,
        written: Written,
        value: Option<String>,
        number: Option<i64>,
    ) -> VersionNumber {
        let slot = self.id(slot);
        self.add(Version { slot, written: Some(written), value, number, record: None })
    }

    fn id(&mut self, slot: Slot) -> SlotId {
        if let Some(&id) = self.ids.get(&slot) {
            return id;
        }
        // A session of more values than a `u32` counts does not fit into memory.
        let id = SlotId(u32::try_from(self.slots.len()).unwrap_or(u32::MAX));
        self.ids.insert(slot.clone(), id);
        self.slots.push(slot);
        self.newest.push(None);
        id
    }

    fn add(&mut self, version: Version) -> VersionNumber {
        let number = VersionNumber(self.versions.len());
        if let Some(newest) = self.newest.get_mut(version.slot.0 as usize) {
            *newest = Some(number);
        }
        self.versions.push(version);
        number
    }

    /// What stands there now. Where nothing was written: what stood there before, which nobody knows.
    pub(crate) fn newest(&mut self, slot: Slot) -> VersionNumber {
        let slot = self.id(slot);
        match self.newest.get(slot.0 as usize) {
            Some(&Some(number)) => number,
            Some(None) | None => {
                self.add(Version { slot, written: None, value: None, number: None, record: None })
            }
        }
    }

    /// Whether a version is this value, or this version of a file.
    pub(crate) fn is(&self, number: VersionNumber, value: Option<&str>, version: Option<i64>) -> bool {
        let known = self.version(number);
        known.is_some_and(|known| match version {
            Some(_) => known.number == version,
            None => known.value.as_deref() == value,
        })
    }

    fn slot(&self, id: SlotId) -> Option<&Slot> {
        self.slots.get(id.0 as usize)
    }

    fn version(&self, number: VersionNumber) -> Option<&Version> {
        self.versions.get(number.0)
    }

    /// Restores what stood there before all that a rewind undid. Looks at each version once, since a rewind may bring back
    /// what an earlier one undid.
    pub(crate) fn rewound(&mut self, sight: &Sight) {
        let rewinds: Vec<bool> = self.slots.iter().map(Slot::rewinds).collect();
        self.newest.fill(None);
        for (number, version) in self.versions.iter().enumerate() {
            let slot = version.slot.0 as usize;
            let Some(newest) = self.newest.get_mut(slot) else { continue };
            let number = VersionNumber(number);
            match &version.written {
                // It stood there before all others, whenever it was read first.
                None => {
                    newest.get_or_insert(number);
                }
                Some(written)
                    if sight.is_alive(written.moment) || !rewinds.get(slot).copied().unwrap_or(true) =>
                {
                    *newest = Some(number);
                }
                Some(_) => {}
            }
        }
    }

    /// Notes that a rewind saved older contents of a file under a new version.
    fn saved_again(&mut self, file: &str, number: i64, moment: Moment) {
        let slot = Slot::Artifact(file.to_owned());
        let older = self.newest(slot);
        let Some(older) = self.version(older).cloned() else { return };
        let written = match older.written {
            Some(written) => Written { moment, ..written },
            None => Written { moment, by: Arc::default(), finished: false },
        };
        self.add(Version { number: Some(number), record: None, written: Some(written), ..older });
    }
}

/// A value that a model was shown.
#[derive(Debug, Clone)]
pub(crate) enum ReadRow {
    State { scope: String, key: String, value: String },
    Artifact { filename: String, version: i64 },
}

impl Graph {
    /// The records of what the instruction of an agent is filled with now.
    pub(crate) fn reads(&mut self, scene: &mut Scene<'_>) -> Vec<RecordId> {
        let stated = Arc::clone(&self.stated);
        let Some(agent) = stated.named(&scene.event.author).filter(|_| scene.by_agent()) else {
            return Vec::new();
        };
        let mut records = Vec::new();
        for read in &agent.reads {
            let slot = self.slot(read, scene.event);
            let number = self.values.newest(slot);
            records.push(self.value_record(scene, number));
            scene.reads.extend(self.row(read, number));
        }
        records
    }

    fn slot(&self, read: &Read, event: &Event) -> Slot {
        match read {
            Read::State(key) => Slot::State(self.session.state_path(key, &event.invocation_id)),
            Read::Artifact(file) => Slot::Artifact(file.clone()),
        }
    }

    fn row(&self, read: &Read, number: VersionNumber) -> Option<ReadRow> {
        let version = self.values.version(number)?;
        match read {
            Read::State(key) => {
                let (scope, key) = scope_of(key);
                let value = version.value.clone().unwrap_or_default();
                Some(ReadRow::State { scope: scope.to_owned(), key: key.to_owned(), value })
            }
            Read::Artifact(file) => {
                version.number.map(|version| ReadRow::Artifact { filename: file.clone(), version })
            }
        }
    }

    /// The record of a version of a value, made when it is first needed: its parents are what its writers were computed
    /// from and their records.
    pub(crate) fn value_record(&mut self, scene: &mut Scene<'_>, number: VersionNumber) -> RecordId {
        let version = self.values.version(number);
        if let Some(record) = version.and_then(|version| version.record) {
            return record;
        }
        let known = version.and_then(|version| version.written.clone());
        let known = known.filter(|written| !written.by.is_empty());
        let attributed = known.as_ref().is_some_and(|written| written.finished);
        let contents = version.map_or_else(String::new, |version| {
            let provenance = if attributed { OBSERVED } else { UNATTRIBUTED };
            let value = version.value.as_deref().and_then(|value| json::parse(value).ok());
            let value = match (&value, version.value.as_deref()) {
                (_, Some("")) => Known::Absent,
                (Some(value), _) => Known::Present(value),
                (None, _) => Known::Nothing,
            };
            let path = match self.values.slot(version.slot) {
                Some(Slot::State(path)) => path.clone(),
                Some(Slot::Artifact(file)) => self.session.artifact_path(file, version.number),
                None => Vec::new(),
            };
            resource(&path, provenance, value)
        });
        let inputs = known.as_ref().map_or(ContextId::EMPTY, |written| self.production(&written.by));
        let role = if known.is_some() { Role::Agent } else { Role::User };
        let record = self.resource(scene, contents.into(), role, inputs);
        if let Some(version) = self.values.versions.get_mut(number.0) {
            version.record = Some(record);
        }
        record
    }

    /// What these writers were computed from, and they themselves.
    fn production(&mut self, writers: &[RecordId]) -> ContextId {
        let lineage = self.trail.lineage();
        let contexts: Vec<_> = writers.iter().map(|&writer| lineage.inputs(writer)).collect();
        let first = contexts.first().copied().unwrap_or(ContextId::EMPTY);
        let mut more = Vec::new();
        for &context in contexts.iter().skip(1).filter(|&&context| context != first) {
            more.extend(self.trail.lineage().members(context));
        }
        more.extend(writers);
        self.trail.extend(first, &more)
    }

    /// Adds the rows of what was read for a model output, and says that no one knows where in its request that stood.
    pub(crate) fn note_reads(&mut self, scene: &Scene<'_>) {
        for &record in &scene.parts {
            for read in &scene.reads {
                self.facts.push(match read.clone() {
                    ReadRow::State { scope, key, value } => {
                        let (scope, key, value) = (scope.into(), key.into(), value.into());
                        SessionFact::StateRead { record, scope, key, value }
                    }
                    ReadRow::Artifact { filename, version } => {
                        SessionFact::ArtifactRead { record, filename: filename.into(), version }
                    }
                });
            }
        }
    }

    /// Lets the last message stay the one before the output, where reads of its instruction follow it in the list.
    pub(crate) fn place_reads(&mut self, output: RecordId, reads: &[RecordId]) {
        let context = self.trail.lineage().inputs(output);
        let last =
            self.trail.lineage().members_backwards(context).find(|(_, record)| !reads.contains(record));
        let lineage = self.trail.lineage_mut();
        for &read in reads {
            lineage.state(read, output, Some(Position { proximal: 0, message_index: -1 }));
        }
        if let Some((index, record)) = last {
            let position = Position { proximal: 1, message_index: i64::from(index) };
            lineage.state(record, output, Some(position));
        }
    }

    /// Says what is not known of reads, where an agents file says something: agents that it leaves out, and tools.
    pub(crate) fn note_reader(&mut self, scene: &Scene<'_>) {
        if !self.state_written || self.stated.is_empty() {
            return;
        }
        if scene.by_agent() && self.stated.named(&scene.event.author).is_none() {
            self.assumptions.once("state_reads", UNKNOWN_READS);
        }
        if !scene.answers.is_empty() {
            let text = "which values of state and which files tools read is not in this session";
            self.assumptions.once("tool_reads", text);
        }
    }

    /// After a rewind: what stands in state and files is what stood there before.
    pub(crate) fn restore_values(&mut self, event: &Event, moment: Moment) {
        self.values.rewound(&self.sight);
        for (file, version) in &event.actions.artifact_delta {
            self.values.saved_again(file, *version, moment);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::records::Graph;
    use crate::records::Role;
    use crate::records::SessionFact;
    use crate::records::building::assumed;
    use crate::records::building::at;
    use crate::records::building::build_with;
    use crate::records::building::inputs;

    const READER: &str =
        "agents: [{name: bot}, {name: reader, instruction: '{k} {app:tone?} {artifact.a.txt}'}]";

    fn reads(graph: &Graph) -> Vec<String> {
        let row = |fact: &SessionFact| match fact {
            SessionFact::StateRead { record, scope, key, value } => {
                Some(format!("{} {scope} {key} {value}", record.0))
            }
            SessionFact::ArtifactRead { record, filename, version } => {
                Some(format!("{} {filename} {version}", record.0))
            }
            _ => None,
        };
        graph.facts().iter().filter_map(|fact| row(&fact)).collect()
    }

    /// The contents of the records of resources, by number.
    fn resources(graph: &Graph) -> Vec<String> {
        let all = graph.records().iter().enumerate();
        all.filter(|(_, record)| record.contents().contains("adk_resource"))
            .map(|(number, record)| format!("{number} {}", record.contents()))
            .collect()
    }

    #[test]
    fn instructions_read_what_was_written_with_its_writers() {
        let graph = build_with(
            READER,
            r#"user say go
               bot call c1 f {}
               & call c2 g {}
               bot answer c1 f {} @ "actions":{"stateDelta":{"k":1},"artifactDelta":{"a.txt":4}}
               & answer c2 g {}
               reader say done
               reader say again"#,
        );
        assert_eq!(
            resources(&graph),
            [
                r#"5 {"adk_resource":["state","app","session","ann","s1","k"],"provenance":"observed production","value":{"present":true,"value":1}}"#,
                r#"6 {"adk_resource":["state","app","app","tone"],"provenance":"unattributed external input"}"#,
                r#"7 {"adk_resource":["artifact","app","ann","s1","a.txt","4"],"provenance":"observed production"}"#,
            ]
        );
        assert_eq!((at(&graph, 5).role(), at(&graph, 6).role()), (Role::Agent, Role::User));
        assert_eq!((inputs(&graph, 5), inputs(&graph, 6)), (vec![1, 2, 3, 4], vec![]));
        assert_eq!(inputs(&graph, 8), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(inputs(&graph, 9), [0, 1, 2, 3, 4, 8, 5, 6, 7]);
        let rows = ["8 session k 1", "8 app tone ", "8 a.txt 4", "9 session k 1", "9 app tone ", "9 a.txt 4"];
        assert_eq!(reads(&graph), rows);
        let edges: Vec<_> = graph.lineage().edges_backwards(crate::lineage::RecordId(9)).collect();
        let of = |number: u32| edges.iter().find(|(source, _)| source.0 == number).and_then(|edge| edge.1);
        assert_eq!(of(8).map(|at| (at.proximal, at.message_index)), Some((1, 5)));
        assert_eq!(of(7).map(|at| (at.proximal, at.message_index)), Some((0, -1)));
        assert_eq!(assumed(&graph), ["tool_reads"]);
    }

    #[test]
    fn a_rewind_restores_what_stood_there_before() {
        let graph = build_with(
            "agents: [{name: bot, instruction: '{k} {user:k}'}]",
            r#"user say 0 @ "invocationId":"i0"
               bot say one @ "invocationId":"i0","actions":{"stateDelta":{"k":1,"user:k":1}}
               user say 2 @ "invocationId":"i1"
               bot say two @ "invocationId":"i1","actions":{"stateDelta":{"k":2,"user:k":2}}
               user nothing @ "invocationId":"r","actions":{"rewindBeforeInvocationId":"i1","stateDelta":{"k":1}}
               user say 4 @ "invocationId":"i2"
               bot say end @ "invocationId":"i2""#,
        );
        let last = graph.records().len() - 1;
        let rows: Vec<_> = reads(&graph).split_off(4);
        assert_eq!(rows, [format!("{last} session k 1"), format!("{last} user k 2")]);
    }

    #[test]
    fn a_rewind_that_is_undone_brings_back_what_it_took() {
        let graph = build_with(
            "agents: [{name: bot, instruction: '{k} {artifact.a.txt}'}]",
            r#"user say 0 @ "invocationId":"i0"
               bot say one @ "invocationId":"i0","actions":{"stateDelta":{"k":1},"artifactDelta":{"a.txt":0}}
               user say 2 @ "invocationId":"i1"
               bot say two @ "invocationId":"i1","actions":{"stateDelta":{"k":2},"artifactDelta":{"a.txt":1}}
               user nothing @ "invocationId":"r1","actions":{"rewindBeforeInvocationId":"i1"}
               bot say old @ "invocationId":"i2"
               user nothing @ "invocationId":"r2","actions":{"rewindBeforeInvocationId":"r1"}
               bot say new @ "invocationId":"i3""#,
        );
        let rows = reads(&graph).split_off(3);
        assert_eq!(rows, ["8 session k 1", "8 a.txt 0", "11 session k 2", "11 a.txt 1"]);
    }

    #[test]
    fn final_texts_are_kept_under_their_key_and_who_is_not_done_is_not_believed() {
        let graph = build_with(
            "agents: [{name: writer, output_key: draft}, {name: bot, instruction: '{draft} {ticket}'}]",
            r#"writer call c f {} @ "longRunningToolIds":["c"]
               writer answer c f {} @ "actions":{"stateDelta":{"ticket":"t"}}
               writer think hm
               & say dra
               & say ft
               bot say done"#,
        );
        assert_eq!(
            resources(&graph),
            [
                r#"5 {"adk_resource":["state","app","session","ann","s1","draft"],"provenance":"observed production","value":{"present":true,"value":"draft"}}"#,
                r#"6 {"adk_resource":["state","app","session","ann","s1","ticket"],"provenance":"unattributed external input","value":{"present":true,"value":"t"}}"#,
            ]
        );
        assert_eq!((inputs(&graph, 5), inputs(&graph, 6)), (vec![0, 1, 2, 3, 4], vec![0, 1]));
    }
}
