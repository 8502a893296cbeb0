//! Rows of a session database to sessions.
//!
//! Which library wrote a database is told by its tables and columns alone. Every schema gives the same: the names of its
//! sessions, the rows of one of them, and from those rows a [`Recording`] or a session document.

mod cell;
mod document;
mod event;
mod schema;
mod state;

use std::cmp::Ordering;

use jiff::Timestamp;

use crate::json::Json;
use crate::recording::adk::Ignored;
use crate::recording::database::event::Placed;
use crate::recording::fields::Wrong;
use crate::recording::reading::{self, Dialect, Names, Unread};
use crate::recording::{Form, Notice, Options, Recording, StopKind};

pub use crate::recording::database::cell::Cell;
pub use crate::recording::database::document::document;
pub use crate::recording::database::schema::{Columns, Library, Schema, Table, TableKind};

/// What names a session: no two of a database have the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionName {
    /// The app.
    pub app: String,
    /// The user.
    pub user: String,
    /// The session's own id.
    pub id: String,
}

impl std::fmt::Display for SessionName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}", self.app, self.user, self.id)
    }
}

impl SessionName {
    /// The name in three cells of a row; the number of the one that is no text where there is one.
    ///
    /// # Errors
    /// Where a cell holds something else than text.
    pub fn of(app: &Cell, user: &Cell, id: &Cell) -> Result<Self, usize> {
        let text = |place: usize, cell: &Cell| cell.plain_text().ok_or(place);
        Ok(Self { app: text(0, app)?, user: text(1, user)?, id: text(2, id)? })
    }
}

/// All rows that belong to one session.
#[derive(Debug, Clone)]
pub struct Stored {
    /// What names it.
    pub name: SessionName,
    /// `state` and the time of the last change; none where events are there without the session they belong to.
    pub row: Option<(Cell, Cell)>,
    /// `state` of the app.
    pub app_state: Cell,
    /// `state` of the user.
    pub user_state: Cell,
    /// Its events, in the order of their rows.
    pub events: Vec<StoredEvent>,
}

/// The row of one event.
#[derive(Debug, Clone)]
pub struct StoredEvent {
    /// The number of the row.
    pub row: i64,
    /// Its values in the order of the columns asked for.
    pub cells: Result<Vec<Cell>, Unreadable>,
}

/// Why a row cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreadable {
    /// It, or its session so far, is larger than what is read.
    TooLarge,
    /// The file is damaged there, as said.
    Damaged(String),
}

/// The recording of one session.
#[must_use]
pub fn read(schema: &Schema, stored: Stored, options: &Options) -> Recording {
    let merged = state::merged(&stored);
    let has_row = stored.row.is_some();
    let names = Names {
        session: stored.name.id.clone(),
        app: stored.name.app.clone(),
        user: stored.name.user.clone(),
    };
    let (mut placed, unplaced) = placed(schema, stored.events);
    let notices = notices(schema, &placed, has_row);
    // A fault that leaves unclear what came first stops the session before its first event.
    let before = unplaced.or(merged.err());
    let name = stored.name.to_string();
    let dialect = dialect(schema.library());
    let values = placed.drain(..).map(|one| match (&before, one.value) {
        (None, value) => value,
        (Some(wrong), value) => Err(value.map_or_else(
            |unread| Unread { wrong: wrong.clone(), ..unread },
            |row| Unread::of_value(wrong.clone(), &row.tree()),
        )),
    });
    let mut recording = reading::of_rows((Form::Database, dialect), names, values, options);
    if let Some(wrong) = before {
        recording.stop = Some(reading::stop_of(wrong, None, String::new()));
    }
    recording.name = name;
    recording.notices.extend(notices);
    recording
}

/// How the parts of messages are spelled in the database of a library.
fn dialect(library: Library) -> Dialect {
    match library {
        Library::EventData | Library::Columns | Library::Room => Dialect::Adk,
        Library::Rust => Dialect::Rust,
    }
}

/// The events in order of time, and of their rows where times are equal; and the fault because of which their order is not
/// known.
fn placed(schema: &Schema, events: Vec<StoredEvent>) -> (Vec<Placed>, Option<Wrong>) {
    let mut placed: Vec<_> = events.into_iter().map(|event| event::placed(schema, event)).collect();
    let unplaced = placed.iter().find(|one| one.time.is_none()).map(|one| {
        let text = format!(
            "row {} of `{}` has no time that can be read, so the order of the events is not known",
            one.row,
            schema.events().table
        );
        match &one.value {
            Err(unread) => unread.wrong.clone(),
            Ok(_) => Wrong::new(StopKind::BadShape, text),
        }
    });
    if unplaced.is_none() {
        placed.sort_by(before);
    }
    (placed, unplaced)
}

fn before(one: &Placed, other: &Placed) -> Ordering {
    one.time.cmp(&other.time).then(one.row.cmp(&other.row))
}

fn notices(schema: &Schema, placed: &[Placed], has_row: bool) -> Vec<Notice> {
    let mut notices = Vec::new();
    let mut say = |kind: &str, text: String| notices.push(Notice { kind: kind.to_owned(), text });
    let tied = placed.windows(2).filter(|pair| match pair {
        [one, other] => one.time.is_some() && one.time == other.time,
        _ => false,
    });
    let tied = tied.count();
    if tied > 0 {
        let text =
            format!("events with the time of the event before them stand in the order of their rows: {tied}");
        say("tied_times", text);
    }
    if placed.iter().any(|one| one.without_zone) {
        say(
            "times_without_zone",
            "times without a zone were taken as UTC; old writers stored local time".to_owned(),
        );
    }
    if !has_row {
        let text =
            format!("`{}` has no row of this session, only its events are there", schema.sessions().table);
        say("no_session_row", text);
    }
    let mut ignored = Ignored::default();
    schema.ignored().iter().for_each(|name| ignored.note(name));
    if let Some(names) = ignored.listed() {
        say("unknown_columns", format!("columns that are not known were ignored: {names}"));
    }
    notices
}

/// The time of an event, and whether its text named no zone.
type Time = (Timestamp, bool);

/// An object to which a member is added unless it is null.
#[derive(Debug, Default)]
struct Members(Vec<(Box<str>, Json)>);

impl Members {
    fn add(&mut self, key: &str, value: Json) {
        if value != Json::Null {
            self.0.push((key.into(), value));
        }
    }

    fn add_text(&mut self, key: &str, text: Option<String>) {
        if let Some(text) = text {
            self.0.push((key.into(), Json::Text(text.into())));
        }
    }
}
