//! Pickled actions of events: what is read of good ones, and that hostile ones are refused quickly and run nothing.

use std::time::{Duration, Instant};

use gatelog::json::Json;
use gatelog::recording::database::{self, Cell, Schema, SessionName, Stored, StoredEvent, Table, TableKind};
use gatelog::recording::{Options, Recording, StopKind};
use insta::assert_snapshot;
use proptest::prelude::*;

use crate::support::{files, name, root};

const CONTENT: &str =
    r#"{"parts": [{"function_call": {"id": "c1", "name": "pay", "args": {"amount": 5}}}], "role": "model"}"#;

/// The schema of the older Python library.
fn schema() -> Schema {
    let table = |name: &str, columns: &str| Table {
        name: name.to_owned(),
        kind: TableKind::Stored,
        columns: columns.split(' ').map(str::to_owned).collect(),
    };
    let tables = [
        table("sessions", "app_name user_id id state update_time"),
        table("events", "id app_name user_id session_id invocation_id author actions timestamp content"),
    ];
    Schema::recognise(&tables, None).unwrap()
}

/// A session whose one event has these actions.
fn read(actions: &[u8]) -> Recording {
    let schema = schema();
    let text = |text: &str| Cell::Text(text.into());
    let cells = schema.events().columns.iter().map(|column| match *column {
        "timestamp" => text("2026-01-05 10:00:00.000000"),
        "actions" => Cell::Blob(actions.to_vec()),
        "content" => text(CONTENT),
        column => text(column),
    });
    let stored = Stored {
        name: SessionName { app: "a".into(), user: "u".into(), id: "s".into() },
        row: None,
        app_state: Cell::Null,
        user_state: Cell::Null,
        events: vec![StoredEvent { row: 1, cells: Ok(cells.collect()) }],
    };
    database::read(&schema, stored, &Options::default())
}

/// Why the session stops; that its call is listed all the same.
fn refusal(actions: &[u8]) -> (StopKind, String) {
    let recording = read(actions);
    let stop = recording.stop.unwrap_or_else(|| panic!("{actions:?} is read"));
    assert_eq!((stop.event, stop.event_id.as_str()), (Some(0), "id"), "{actions:?}");
    assert!(recording.events.is_empty());
    let unread: Vec<_> = recording.unread_calls.iter().map(|call| (&*call.call_id, &*call.agent)).collect();
    assert_eq!(unread, [("c1", "author")], "{actions:?}");
    (stop.kind, stop.text)
}

fn shown(recording: &Recording) -> String {
    let Some(event) = recording.events.first() else {
        let stop = recording.stop.as_ref().map(|stop| format!("stop {}: {}", stop.kind.name(), stop.text));
        return stop.unwrap_or_default();
    };
    let actions = &event.actions;
    let mut lines: Vec<_> = actions
        .state_delta
        .iter()
        .map(|(key, value)| format!("state {key} = {}", value.ordinary()))
        .collect();
    lines.extend(actions.artifact_delta.iter().map(|(name, version)| format!("artifact {name} = {version}")));
    lines.push(format!("transfer {:?}, escalate {}", actions.transfer_to_agent, actions.escalate));
    lines.extend(actions.requested_confirmations.iter().map(|(call, asked)| {
        format!(
            "confirm {call} {:?} {}",
            asked.hint,
            asked.payload.as_ref().map(Json::ordinary).unwrap_or_default()
        )
    }));
    lines.extend(actions.requested_auth.iter().map(|call| format!("credential for {call}")));
    lines.extend(actions.compaction.iter().map(|compaction| format!("{compaction:?}")));
    lines.join("\n")
}

/// Each is read alike from every protocol that can hold it.
#[test]
fn pickles_of_the_library() {
    let mut all = Vec::new();
    for path in files(&root().join("fixtures/database/pickles"), ".pickle") {
        let file = name(&path);
        let case = file.split('.').next().unwrap_or_default().to_owned();
        let text = shown(&read(&std::fs::read(&path).unwrap()));
        match all.last() {
            Some((last, found)) if *last == case => assert_eq!(*found, text, "{file}"),
            _ => all.push((case, text)),
        }
    }
    let all: Vec<_> = all.into_iter().map(|(case, text)| format!("# {case}\n{text}")).collect();
    assert_snapshot!(all.join("\n\n"));
}

/// `EventActions` whose state has this value, which comes as opcodes.
fn with_value(value: &[u8]) -> Vec<u8> {
    let head = b"\x80\x04cgoogle.adk.events.event_actions\nEventActions\n)\x81}(U\x08__dict__}U\x0bstate_delta}U\x01v";
    [head, value, b"ssub."].concat()
}

/// Opcodes of the first protocols, which the library no longer writes.
#[test]
fn old_opcodes_of_data() {
    let rows: [(&[u8], &str); 18] = [
        (b"I5\n", "5"),
        (b"I01\n", "true"),
        (b"I00\n", "false"),
        (b"L-18446744073709551616L\n", "-18446744073709551616"),
        (b"F1.5\n", "1.5"),
        (b"S'ab'\n", "\"ab\""),
        (b"S\"ab\"\n", "\"ab\""),
        (b"Va\\u00e9\xe9\\U0001f600\n", "\"aéé😀\""),
        (b"(I1\nI2\nl", "[1,2]"),
        (b"(lp0\nI1\nag0\n0", "[1]"),
        (b"(I1\nI2\nt", "{\"tuple\":[1,2]}"),
        (b"(S'a'\nI1\nd", "{\"a\":1}"),
        (b"]q\x05h\x05(K\x01K\x02e0", "[1,2]"),
        (b"]r\x00\x01\x00\x00j\x00\x01\x00\x000", "[]"),
        (b"K\x012\x86", "{\"tuple\":[1,1]}"),
        (b"(K\x011N", "null"),
        (b"T\x02\x00\x00\x00ab", "\"ab\""),
        (b"\x8b\x02\x00\x00\x00\x00\x01", "256"),
    ];
    for (opcodes, expected) in rows {
        let recording = read(&with_value(opcodes));
        let state = recording.events.first().map(|event| event.actions.state_delta.clone());
        let found = state.and_then(|state| state.first().map(|(_, value)| value.ordinary()));
        assert_eq!(found.as_deref(), Some(expected), "{opcodes:?}: {:?}", recording.stop);
    }
}

/// What would run something, or refers to something outside, is refused with its name.
#[test]
fn nothing_is_run() {
    let rows: [(&[u8], &str); 27] = [
        (b"cos\nsystem\n(S'touch x'\ntR", "`os.system`"),
        (b"cposix\nsystem\n(S'touch x'\ntR", "`posix.system`"),
        (b"cbuiltins\neval\n(S'1'\ntR", "`builtins.eval`"),
        (b"c__builtin__\nexec\n(S'1'\ntR", "`__builtin__.exec`"),
        (b"cbuiltins\ngetattr\n(cbuiltins\nlist\nS'__class__'\ntR", "`builtins.getattr`"),
        (b"csubprocess\nPopen\n(S'x'\ntR", "`subprocess.Popen`"),
        (b"ccopyreg\n_reconstructor\n(cbuiltins\nlist\ncbuiltins\nobject\nNtR", "`copyreg._reconstructor`"),
        (b"c_codecs\nencode\n(S'a'\nS'latin1'\ntR", "`_codecs.encode`"),
        (
            b"cgoogle.adk.events.event_actions\nEventActions.__init__\n)R",
            "`google.adk.events.event_actions.EventActions.__init__`",
        ),
        (b"\x8c\x02os\x8c\x06system\x93\x8c\x01x\x85R", "`os.system`"),
        (b"\x8c\x00\x8c\x00\x93", "`.`"),
        (b"\x8c\x01\n\x8c\x09os\nsystem\x93", "which is none of the classes"),
        (b"(ios\nsystem\n", "`os.system`"),
        (b"(ibuiltins\nset\n", "`builtins.set`"),
        (b"(cbuiltins\nset\no", "an object of an old kind"),
        (b"Pos.system\n", "an object outside"),
        (b"NQ", "an object outside"),
        (b"\x82\x01", "a registered extension"),
        (b"\x83\x01\x00", "a registered extension"),
        (b"\x84\x01\x00\x00\x00", "a registered extension"),
        (b"\x97", "a buffer outside"),
        (b"N\x98", "a buffer outside"),
        (b"cbuiltins\nlist\n)R", "`builtins.list`"),
        (b"cdatetime\ndate\n}b", "`datetime.date`"),
        (b"cuuid\nUUID\n)\x81}b}b", "`uuid.UUID`"),
        (b"cuuid\nUUID\n)}\x92)b", "`uuid.UUID`"),
        (b"cgoogle.adk.events.event_actions\nEventActions\n)R", "EventActions`"),
    ];
    for (opcodes, named) in rows {
        let (kind, text) = refusal(&with_value(opcodes));
        assert_eq!(kind, StopKind::UnencodableValue, "{opcodes:?}: {text}");
        assert!(text.contains(named), "{opcodes:?}: {text}");
    }
    // A call of what a call gave.
    let nested = b"cbuiltins\nset\n)R)R";
    assert_eq!(refusal(&with_value(nested)).0, StopKind::UnencodableValue);
}

#[test]
fn broken_ones_are_refused() {
    let rows: [(&[u8], StopKind); 20] = [
        (b"\xff", StopKind::BadShape),
        (b"\x80\x06", StopKind::BadShape),
        (b"0000000000", StopKind::BadShape),
        (b"t", StopKind::BadShape),
        (b"h\x63", StopKind::BadShape),
        (b"g-1\n", StopKind::BadShape),
        (b"(K\x01u", StopKind::BadShape),
        (b"(K\x01d", StopKind::BadShape),
        (b"NNa", StopKind::BadShape),
        (b"NNNs", StopKind::BadShape),
        (b"N(\x90", StopKind::BadShape),
        (b"\x95\xff\xff\xff\xff\xff\xff\xff\xff", StopKind::BadShape),
        (b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7f", StopKind::BadShape),
        (b"B\xff\xff\xff\xff", StopKind::BadShape),
        (b"\x8b\xff\xff\xff\x7f", StopKind::BadShape),
        (b"Inine\n", StopKind::BadShape),
        (b"\x8c\x01\xff", StopKind::BadUnicode),
        (b"V\\ud80\n", StopKind::BadShape),
        (b"(U\x01aNU\x01aNd", StopKind::DuplicateKey),
        (b"G\x7f\xf8\x00\x00\x00\x00\x00\x00", StopKind::BadNumber),
    ];
    for (opcodes, kind) in rows {
        assert_eq!(refusal(&with_value(opcodes)).0, kind, "{opcodes:?}");
    }
    for whole in [&b"N"[..], b"}.", b"N.N", b"\x80\x04]."] {
        assert_eq!(refusal(whole).0, StopKind::BadShape, "{whole:?}");
    }
    assert_eq!(read(b"\x80\x04N.").stop, None);
}

/// What is small on disk and would be large, deep or slow.
#[test]
fn bombs_are_refused_in_time() {
    for (case, opcodes, expected) in bombs() {
        let start = Instant::now();
        let pickle = with_value(&opcodes);
        let found = read(&pickle).stop.map(|stop| stop.kind);
        assert_eq!(found, expected, "{case}");
        assert!(start.elapsed() < Duration::from_secs(5), "{case}: {:?}", start.elapsed());
    }
}

fn bombs() -> Vec<(&'static str, Vec<u8>, Option<StopKind>)> {
    let doubling = |opcodes: &[u8], times: usize| [&b"]"[..], &opcodes.repeat(times)].concat();
    let long = |text: &[u8], times: usize| text.repeat(times);
    let giant = [&b"\x8b"[..], &1_000_000_u32.to_le_bytes(), &vec![1; 1_000_000]].concat();
    let shared_calls = [
        &b"("[..],
        &long(b"K\x01", 5_000),
        b"lq\x01",
        b"(",
        &long(b"cbuiltins\nset\nh\x01\x85R", 2_000),
        b"l\x86",
    ]
    .concat();
    let frames = [&b"N0"[..], &long(b"\x95\x01\x00\x00\x00\x00\x00\x00\x00", 100_000), b"N"].concat();
    vec![
        ("a list in itself", b"]q\x00h\x00a".to_vec(), Some(StopKind::TooDeep)),
        ("a dictionary in itself", b"}q\x00U\x01kh\x00s".to_vec(), Some(StopKind::TooDeep)),
        (
            "a tuple around a list with the tuple",
            b"]q\x00h\x00\x85q\x01ah\x01".to_vec(),
            Some(StopKind::BadShape),
        ),
        (
            "two of the last, again and again",
            [&b"("[..], &doubling(b"q\x00]h\x00ah\x00a", 100), b"l"].concat(),
            Some(StopKind::TooLarge),
        ),
        ("tuples of the last", [&b")"[..], &long(b"2\x86", 100)].concat(), Some(StopKind::TooLarge)),
        ("lists in lists", [long(b"]", 100_000), long(b"a", 99_999)].concat(), Some(StopKind::TooDeep)),
        ("marks", [long(b"(", 100_000), long(b"l", 100_000)].concat(), Some(StopKind::TooDeep)),
        ("a giant integer", giant, Some(StopKind::TooLarge)),
        ("digits", [&b"I"[..], &long(b"9", 1_000_000), b"\n"].concat(), Some(StopKind::TooLarge)),
        (
            "a long text many times",
            [&b"X\xa0\x86\x01\x00"[..], &long(b"x", 100_000), b"q\x00(", &long(b"h\x00", 100_000), b"l\x86"]
                .concat(),
            Some(StopKind::TooLarge),
        ),
        ("sets of one list", shared_calls, Some(StopKind::TooLarge)),
        ("one item at a time", [&b"]"[..], &long(b"Na", 300_000)].concat(), None),
        (
            "one key at a time",
            [
                &b"}"[..],
                &(0..100_000_u32)
                    .flat_map(|key| [&b"J"[..], &key.to_le_bytes(), b"Ns"].concat())
                    .collect::<Vec<u8>>(),
            ]
            .concat(),
            None,
        ),
        ("frames", frames, None),
        ("memos", [&b"N"[..], &long(b"\x94", 300_000)].concat(), None),
        (
            "more bytes than are read",
            [&b"B\x01\x00\x00\x01"[..], &vec![0; (16 << 20) + 1]].concat(),
            Some(StopKind::TooLarge),
        ),
    ]
}

fn good() -> Vec<Vec<u8>> {
    files(&root().join("fixtures/database/pickles"), ".pickle")
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect()
}

#[test]
fn a_pickle_cut_short_is_refused_wherever_it_is_cut() {
    for pickle in good() {
        for end in 1..pickle.len() {
            let cut = pickle.get(..end).unwrap_or_default();
            // An empty column is no pickle, and one blank byte is as good as empty.
            if !cut.trim_ascii().is_empty() {
                refusal(cut);
            }
        }
    }
}

proptest! {
    #[test]
    fn changed_pickles_do_no_harm(which in any::<prop::sample::Index>(), changes in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 1..8)) {
        let good = good();
        let mut pickle = good.get(which.index(good.len())).cloned().unwrap_or_default();
        for (at, byte) in changes {
            let at = at.index(pickle.len());
            pickle.splice(at..=at, [byte]);
        }
        let recording = read(&pickle);
        prop_assert_eq!(recording.stop.is_some(), recording.events.is_empty());
    }

    #[test]
    fn any_opcodes_do_no_harm(opcodes in prop::collection::vec(any::<u8>(), 0..200)) {
        let recording = read(&with_value(&opcodes));
        prop_assert_eq!(recording.stop.is_some(), recording.events.is_empty());
    }
}
