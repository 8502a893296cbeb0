//! Which library wrote a database, by its tables and columns.

use crate::recording::RecordingError;
use crate::recording::fields::shown;

/// A table of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: TableKind,
    /// Its columns, those left out that are computed.
    pub columns: Vec<String>,
}

/// What something is that can be read like a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableKind {
    /// A table whose rows have numbers.
    Stored,
    /// A table whose rows have no numbers.
    WithoutRows,
    /// A view: a query under a name.
    View,
    /// A table that some program computes.
    Virtual,
}

/// How a library stores events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Library {
    /// Events as JSON in one column: the Python and the JS library.
    EventData,
    /// An event in columns, with its actions pickled (older Python) or as JSON (Go).
    Columns,
    /// An event in columns, with the model's response and the actions as JSON: the Rust library.
    Rust,
    /// Events as JSON in one column, under the names that Kotlin gives.
    Room,
}

/// A table and the columns of it that are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    /// The table.
    pub table: &'static str,
    /// The columns, in the order in which their values are wanted.
    pub columns: Vec<&'static str>,
}

/// The tables of a session database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    library: Library,
    sessions: Columns,
    owners: Columns,
    events: Columns,
    app_states: Option<Columns>,
    user_states: Option<Columns>,
    ignored: Vec<String>,
}

impl Schema {
    /// How the library stores events.
    #[must_use]
    pub fn library(&self) -> Library {
        self.library
    }

    /// App, user, id, state and time of the last change of each session.
    #[must_use]
    pub fn sessions(&self) -> &Columns {
        &self.sessions
    }

    /// App, user and session of each event.
    #[must_use]
    pub fn owners(&self) -> &Columns {
        &self.owners
    }

    /// All that is read of an event.
    #[must_use]
    pub fn events(&self) -> &Columns {
        &self.events
    }

    /// App and state, where apps have a state.
    #[must_use]
    pub fn app_states(&self) -> Option<&Columns> {
        self.app_states.as_ref()
    }

    /// App, user and state, where users have a state.
    #[must_use]
    pub fn user_states(&self) -> Option<&Columns> {
        self.user_states.as_ref()
    }

    /// Columns of events that are not known.
    #[must_use]
    pub fn ignored(&self) -> &[String] {
        &self.ignored
    }

    /// The schema of these tables. `version` is what `adk_internal_metadata` says of itself, where it is there.
    ///
    /// # Errors
    /// Where they are not those of a session database, or of one that is not known yet.
    pub fn recognise(tables: &[Table], version: Option<&str>) -> Result<Self, RecordingError> {
        if let Some(why) = KNOWN.iter().find_map(|known| known.posing(tables)) {
            return Err(unusable(why));
        }
        let found: Vec<_> = KNOWN.iter().filter(|known| known.fits(tables)).collect();
        let known = match *found.as_slice() {
            [known] => known,
            [] => return Err(other(tables)),
            _ => {
                return Err(unusable(
                    "it has the events of two libraries: `events` and `StorageEvent`".into(),
                ));
            }
        };
        match version {
            None | Some("0" | "1") => {}
            Some(version) => {
                return Err(unusable(format!(
                    "its schema has version `{}`, and 1 is the newest known",
                    shown(version)
                )));
            }
        }
        known.schema(tables)
    }
}

/// Where `adk_internal_metadata` keeps the version of the schema.
pub(crate) const VERSION: (&str, &[&str], &str) =
    ("adk_internal_metadata", &["key", "value"], "schema_version");

impl Table {
    /// The columns of the table that says which version a schema has, and the key under which it stands there.
    #[must_use]
    pub fn version(tables: &[Self]) -> Option<(Columns, &'static str)> {
        let (table, columns, key) = VERSION;
        let there = tables.iter().any(|one| one.is(table) && columns.iter().all(|column| one.has(column)));
        there.then(|| (Columns { table, columns: columns.to_vec() }, key))
    }

    fn is(&self, name: &str) -> bool {
        self.name == name
    }

    fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|one| one == column)
    }
}

/// A schema as it is known.
struct Known {
    library: Library,
    sessions: (&'static str, &'static [&'static str]),
    events: &'static str,
    owners: &'static [&'static str],
    /// What tells it from the others, and has to be there.
    needed: &'static [&'static str],
    /// What some versions have.
    further: &'static [&'static str],
    states: [(&'static str, &'static [&'static str]); 2],
}

const SESSIONS: (&str, &[&str]) = ("sessions", &["app_name", "user_id", "id", "state", "update_time"]);
const OWNERS: &[&str] = &["app_name", "user_id", "session_id"];
const STATES: [(&str, &[&str]); 2] =
    [("app_states", &["app_name", "state"]), ("user_states", &["app_name", "user_id", "state"])];

const KNOWN: &[Known] = &[
    Known {
        library: Library::EventData,
        sessions: SESSIONS,
        events: "events",
        owners: OWNERS,
        needed: &["id", "invocation_id", "timestamp", "event_data"],
        further: &[],
        states: STATES,
    },
    Known {
        library: Library::Columns,
        sessions: SESSIONS,
        events: "events",
        owners: OWNERS,
        needed: &["id", "invocation_id", "timestamp", "author", "actions", "content"],
        further: &[
            "branch",
            "long_running_tool_ids_json",
            "grounding_metadata",
            "custom_metadata",
            "usage_metadata",
            "citation_metadata",
            "input_transcription",
            "output_transcription",
            "partial",
            "turn_complete",
            "interrupted",
            "error_code",
            "error_message",
            "routes_json",
            "output_json",
            "node_info_json",
            "requested_input_json",
            "isolation_scope",
        ],
        states: STATES,
    },
    Known {
        library: Library::Rust,
        sessions: ("sessions", &["app_name", "user_id", "session_id", "state", "updated_at"]),
        events: "events",
        owners: OWNERS,
        needed: &[
            "id",
            "invocation_id",
            "timestamp",
            "branch",
            "author",
            "llm_response",
            "actions",
            "long_running_tool_ids",
        ],
        further: &[],
        states: STATES,
    },
    Known {
        library: Library::Room,
        sessions: ("StorageSession", &["appName", "userId", "id", "state", "updateTime"]),
        events: "StorageEvent",
        owners: &["appName", "userId", "sessionId"],
        needed: &["id", "invocationId", "timestamp", "eventData"],
        further: &[],
        states: [
            ("StorageAppState", &["appName", "state"]),
            ("StorageUserState", &["appName", "userId", "state"]),
        ],
    },
];

/// What is asked of a database, for every refusal.
const EXPECTED: &str = "expected are `sessions` and `events` of the Python, JS, Go or Rust library, or `StorageSession` and \
                        `StorageEvent` of the Kotlin library";

impl Known {
    fn fits(&self, tables: &[Table]) -> bool {
        let whole = |name: &str, columns: &[&str]| {
            tables.iter().any(|table| table.is(name) && columns.iter().all(|column| table.has(column)))
        };
        // Events as JSON decide, so that no table is of two kinds.
        let other = self.library != Library::EventData
            && tables.iter().any(|table| table.is(self.events) && table.has("event_data"));
        whole(self.sessions.0, self.sessions.1)
            && whole(self.events, self.owners)
            && whole(self.events, self.needed)
            && !other
    }

    /// Why something under the name of a table cannot be read as one.
    fn posing(&self, tables: &[Table]) -> Option<String> {
        let [app, user] = self.states;
        let names = [self.sessions.0, self.events, app.0, user.0];
        tables.iter().filter(|table| names.contains(&table.name.as_str())).find_map(|table| {
            let name = &table.name;
            match table.kind {
                TableKind::Stored => None,
                TableKind::WithoutRows => Some(format!("the rows of `{name}` have no numbers")),
                TableKind::View => Some(format!("`{name}` is a view and no table")),
                TableKind::Virtual => Some(format!("`{name}` is computed by a program and no table")),
            }
        })
    }

    fn schema(&self, tables: &[Table]) -> Result<Schema, RecordingError> {
        let of =
            |(table, columns): (&'static str, &[&'static str])| Columns { table, columns: columns.to_vec() };
        let there = |name: &str| tables.iter().find(|table| table.is(name));
        let events = there(self.events);
        let further =
            self.further.iter().copied().filter(|column| events.is_some_and(|table| table.has(column)));
        let columns: Vec<_> = self.needed.iter().copied().chain(further).collect();
        let known =
            |column: &String| columns.contains(&column.as_str()) || self.owners.contains(&column.as_str());
        let ignored = events.map(|table| table.columns.iter().filter(|column| !known(column)));
        let ignored = ignored.into_iter().flatten().map(|column| shown(column)).collect();
        let [app, user] = self.states;
        let state = |(table, columns): (&'static str, &'static [&'static str])| match there(table) {
            None => Ok(None),
            Some(one) if columns.iter().all(|column| one.has(column)) => Ok(Some(of((table, columns)))),
            Some(_) => Err(unusable(format!("`{table}` has not the columns {}", quoted(columns)))),
        };
        Ok(Schema {
            library: self.library,
            sessions: of(self.sessions),
            owners: of((self.events, self.owners)),
            events: Columns { table: self.events, columns },
            app_states: state(app)?,
            user_states: state(user)?,
            ignored,
        })
    }
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn unusable(why: String) -> RecordingError {
    RecordingError::UnusableDatabase { why }
}

fn other(tables: &[Table]) -> RecordingError {
    const LISTED: usize = 8;
    let known: Vec<&str> = KNOWN.iter().flat_map(|known| [known.sessions.0, known.events]).collect();
    let describe = |table: &Table| {
        let columns: Vec<_> = table.columns.iter().take(LISTED).map(|column| shown(column)).collect();
        let more = if table.columns.len() > LISTED { ", …" } else { "" };
        // Of a table with the right name it is the columns that are wrong.
        let columns = if known.contains(&table.name.as_str()) {
            format!(" ({}{more})", columns.join(", "))
        } else {
            String::new()
        };
        format!("`{}`{columns}", shown(&table.name))
    };
    let mut found: Vec<_> = tables.iter().take(LISTED).map(describe).collect();
    if tables.len() > LISTED {
        found.push(format!("{} more", tables.len() - LISTED));
    }
    let found =
        if found.is_empty() { "no table".to_owned() } else { format!("the tables {}", found.join(", ")) };
    RecordingError::OtherDatabase { found, expected: EXPECTED }
}
