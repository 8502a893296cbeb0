//! Session databases on disk, and the journals and decision logs of gates.
//!
//! In: the path of a SQLite file, or of a log. Out: the names of its sessions, and the rows of one after another; lines of
//! journals and logs, kept once they are said to be. Never: interprets a row or a line, writes beside a session database, locks out its writer, or
//! runs anything that it holds.

mod copy;
#[cfg(feature = "gate")]
mod decisions;
mod journals;
mod query;

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;

#[cfg(feature = "gate")]
pub use crate::store::decisions::{
    DecisionLog, Extent, LogError, LogState, Logged, files_of, key_file, read_file,
};
pub use crate::store::journals::{Done, Journals, JournalsError, StoredJournals};

use crate::recording::database::{self, Cell, Schema, SessionName, Stored, StoredEvent, Table, Unreadable};
use crate::recording::{Options, Recording, RecordingError};
use crate::store::query::Rows;

/// Bytes of the rows of the largest session that is read.
const LARGEST: usize = 1 << 30;

/// Why a database cannot be read.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says it")]
pub enum StoreError {
    #[error("{0}")]
    File(#[source] std::io::Error),
    #[error("it is no regular file")]
    NoFile,
    #[error("it cannot be copied to a temporary folder, from which it is read: {0}")]
    Copy(#[source] std::io::Error),
    #[error("it changes all the time: try again when less is written to it, or read a backup of it")]
    Changing,
    #[error(
        "a change to it is not finished: its writer is at it, or has died; open it once with the program that writes it"
    )]
    Unfinished,
    #[error("the database is damaged, or no database: {why}")]
    Damaged { why: String },
    #[error("row {row} of `{table}` has no text in `{column}`")]
    NoText { table: &'static str, row: i64, column: &'static str },
    #[error("`{table}` has two rows for `{name}`")]
    Twice { table: &'static str, name: String },
    #[error(
        "it is a store of journals: print the journal of one session with `gatelog journal export`, and name the file that \
         holds it"
    )]
    Journals,
    #[error("{0}")]
    Recording(#[from] RecordingError),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Damaged { why: query::words(&error) }
    }
}

/// An open session database.
///
/// What is read is a private copy, made when the database was opened: it holds what was committed at one moment, whatever
/// is written meanwhile.
#[derive(Debug)]
pub struct Database {
    schema: Schema,
    entries: Vec<Entry>,
    connection: Connection,
    /// Held until the connection is closed.
    _copy: copy::Copy,
}

/// The rows of one session, by their numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    name: SessionName,
    row: Option<i64>,
    app_row: Option<i64>,
    user_row: Option<i64>,
    events: Vec<i64>,
    updated: String,
}

impl Entry {
    /// What names the session.
    #[must_use]
    pub fn name(&self) -> &SessionName {
        &self.name
    }

    /// How many events it has.
    #[must_use]
    pub fn events(&self) -> usize {
        self.events.len()
    }

    /// The time of its last change as RFC 3339 in UTC; empty where none is known.
    #[must_use]
    pub fn updated(&self) -> &str {
        &self.updated
    }
}

/// Opens a database and lists its sessions, in the order of their rows; then those of which only events are there, by name.
/// Time is linear in the size of the file, memory in the number of its events.
///
/// # Errors
/// Where it is no session database, is damaged, or changes all the time.
pub fn open(path: &Path) -> Result<Database, StoreError> {
    let copy = copy::of(path)?;
    let connection = query::open(&copy.path())?;
    if journals::is_marked(&connection)? {
        return Err(StoreError::Journals);
    }
    let tables = query::tables(&connection)?;
    copy.hide();
    let version = version(&connection, &tables)?;
    let schema = Schema::recognise(&tables, version.as_deref())?;
    let entries = entries(&connection, &schema)?;
    Ok(Database { schema, entries, connection, _copy: copy })
}

impl Database {
    /// Its sessions.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Reads one session. What is wrong inside stops it, and is no error.
    ///
    /// # Errors
    /// Where the database cannot be asked.
    pub fn recording(&self, entry: &Entry, options: &Options) -> Result<Recording, StoreError> {
        Ok(database::read(&self.schema, self.stored(entry)?, options))
    }

    /// One session as a session document; why it cannot be one, where it holds what a document cannot.
    ///
    /// # Errors
    /// Where the database cannot be asked.
    pub fn document(&self, entry: &Entry) -> Result<Result<String, String>, StoreError> {
        Ok(database::document(&self.schema, self.stored(entry)?))
    }

    fn stored(&self, entry: &Entry) -> Result<Stored, StoreError> {
        let mut own = Rows::by_number(&self.connection, self.schema.sessions())?;
        let row = match entry.row {
            Some(number) => match own.one(number)?.as_slice() {
                [_, _, _, state, updated] => Some((state.clone(), updated.clone())),
                _ => None,
            },
            None => None,
        };
        let state = |columns: Option<&database::Columns>, number: Option<i64>| match (columns, number) {
            (Some(columns), Some(number)) => {
                let cells = Rows::by_number(&self.connection, columns)?.one(number)?;
                Ok(cells.last().cloned().unwrap_or(Cell::Null))
            }
            (_, _) => Ok(Cell::Null),
        };
        let app_state = state(self.schema.app_states(), entry.app_row);
        let user_state = state(self.schema.user_states(), entry.user_row);
        Ok(Stored {
            name: entry.name.clone(),
            row,
            app_state: app_state.map_err(|error: rusqlite::Error| StoreError::from(error))?,
            user_state: user_state?,
            events: self.events(entry)?,
        })
    }

    fn events(&self, entry: &Entry) -> Result<Vec<StoredEvent>, StoreError> {
        let mut rows = Rows::by_number(&self.connection, self.schema.events())?;
        let mut events = Vec::with_capacity(entry.events.len());
        let mut size = 0_usize;
        for row in &entry.events {
            let cells = if size > LARGEST {
                Err(Unreadable::TooLarge)
            } else {
                rows.one(*row).map_err(|error| query::unreadable(&error))
            };
            size = size.saturating_add(cells.iter().flatten().map(Cell::size).sum());
            events.push(StoredEvent { row: *row, cells });
        }
        Ok(events)
    }
}

fn version(connection: &Connection, tables: &[Table]) -> Result<Option<String>, StoreError> {
    let Some((columns, key)) = Table::version(tables) else { return Ok(None) };
    let mut version = None;
    query::scan(connection, &columns, &mut |_, cells| {
        if let [name, value] = cells
            && name.plain_text().as_deref() == Some(key)
        {
            version = Some(value.plain_text().unwrap_or_else(|| value.words().to_owned()));
        }
        Ok(())
    })?;
    Ok(version)
}

/// The rows of all sessions by their names.
fn entries(connection: &Connection, schema: &Schema) -> Result<Vec<Entry>, StoreError> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut places: BTreeMap<SessionName, usize> = BTreeMap::new();
    let columns = schema.sessions();
    query::scan(connection, columns, &mut |row, cells| {
        let (name, updated) = match cells {
            [app, user, id, _, updated] => (named(columns, row, [app, user, id])?, updated),
            _ => return Ok(()),
        };
        let twice = || StoreError::Twice { table: columns.table, name: name.to_string() };
        if places.insert(name.clone(), entries.len()).is_some() {
            return Err(twice());
        }
        let updated = updated.moment();
        entries.push(Entry {
            name,
            row: Some(row),
            app_row: None,
            user_row: None,
            events: Vec::new(),
            updated,
        });
        Ok(())
    })?;
    let mut orphans: BTreeMap<SessionName, Vec<i64>> = BTreeMap::new();
    let columns = schema.owners();
    query::scan(connection, columns, &mut |row, cells| {
        let [app, user, id] = cells else { return Ok(()) };
        let name = named(columns, row, [app, user, id])?;
        match places.get(&name).and_then(|place| entries.get_mut(*place)) {
            Some(entry) => entry.events.push(row),
            None => orphans.entry(name).or_default().push(row),
        }
        Ok(())
    })?;
    entries.extend(orphans.into_iter().map(|(name, events)| Entry {
        name,
        row: None,
        app_row: None,
        user_row: None,
        events,
        updated: String::new(),
    }));
    states(connection, schema, &mut entries)?;
    Ok(entries)
}

fn named(columns: &database::Columns, row: i64, cells: [&Cell; 3]) -> Result<SessionName, StoreError> {
    let [app, user, id] = cells;
    SessionName::of(app, user, id).map_err(|place| StoreError::NoText {
        table: columns.table,
        row,
        column: columns.columns.get(place).copied().unwrap_or_default(),
    })
}

/// Notes where the states of apps and users stand.
fn states(connection: &Connection, schema: &Schema, entries: &mut [Entry]) -> Result<(), StoreError> {
    let mut rows: BTreeMap<Vec<String>, i64> = BTreeMap::new();
    for columns in [schema.app_states(), schema.user_states()].into_iter().flatten() {
        query::scan(connection, columns, &mut |row, cells| {
            let owner = cells.split_last().map_or(&[][..], |(_, owner)| owner);
            let text = |(place, cell): (usize, &Cell)| {
                let column = columns.columns.get(place).copied().unwrap_or_default();
                cell.plain_text().ok_or(StoreError::NoText { table: columns.table, row, column })
            };
            let owner = owner.iter().enumerate().map(text).collect::<Result<Vec<_>, _>>()?;
            let name = owner.join("/");
            match rows.insert(owner, row) {
                Some(_) => Err(StoreError::Twice { table: columns.table, name }),
                None => Ok(()),
            }
        })?;
    }
    for entry in entries {
        entry.app_row = rows.get([entry.name.app.clone()].as_slice()).copied();
        entry.user_row = rows.get([entry.name.app.clone(), entry.name.user.clone()].as_slice()).copied();
    }
    Ok(())
}
