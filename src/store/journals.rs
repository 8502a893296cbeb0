//! Journals of a gate: lines that are only ever added.
//!
//! A journal in SQLite is written by one thread. It takes all lines that wait, of all sessions, into one transaction, and
//! tells each writer once that is on disk: many sessions share one wait for the disk.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension as _, TransactionBehavior, params};

use crate::recording::journal::SessionKey;
use crate::store::query;

/// Most lines of one transaction.
const BATCH: usize = 4096;

/// How long a writer of another process is waited for.
const BUSY: Duration = Duration::from_secs(5);

/// Marks the file as ours: `gate` in ASCII.
const APPLICATION: i32 = 0x6761_7465;

const SCHEMA: &str = "
CREATE TABLE session (
    id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, app TEXT NOT NULL, user TEXT NOT NULL, session TEXT NOT NULL,
    UNIQUE (tenant, app, user, session)
);
CREATE TABLE line (
    session INTEGER NOT NULL REFERENCES session (id), number INTEGER NOT NULL, text TEXT NOT NULL,
    UNIQUE (session, number)
);
CREATE TRIGGER line_stays BEFORE UPDATE ON line BEGIN SELECT raise(ABORT, 'a journal is only added to'); END;
CREATE TRIGGER line_is_kept BEFORE DELETE ON line BEGIN SELECT raise(ABORT, 'a journal is only added to'); END;
";

/// Why a journal cannot be read or added to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says it")]
pub enum JournalsError {
    #[error("the store of journals cannot be used: {why}")]
    Unusable { why: String },
    #[error("`{path}` is a database, and no store of journals: name another file")]
    OtherDatabase { path: String },
    #[error(
        "`{path}` is marked as a store of journals, and has other tables than one: nothing of it is read; take it from a \
         backup"
    )]
    OtherSchema { path: String },
    #[error("the session has a line {number} already: someone else added to it")]
    Taken { number: u64 },
    #[error("the store of journals is closed")]
    Closed,
}

impl From<rusqlite::Error> for JournalsError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Unusable { why: error.to_string() }
    }
}

/// Is told once a line is kept for good, or why it is not.
pub type Done = Box<dyn FnOnce(Result<(), JournalsError>) + Send>;

/// A store of journals. Copies of the handle are the same store.
///
/// ```
/// use gatelog::recording::journal::SessionKey;
/// use gatelog::store::Journals;
/// let (store, key) = (Journals::memory(), SessionKey::default());
/// store.append(&key, 0, "{}".to_owned(), Box::new(|kept| assert!(kept.is_ok())));
/// store.append(&key, 0, "{}".to_owned(), Box::new(|kept| assert!(kept.is_err())));
/// assert_eq!(store.lines(&key), Ok(vec!["{}".to_owned()]));
/// ```
#[derive(Debug, Clone)]
pub struct Journals {
    place: Place,
}

#[derive(Debug, Clone)]
enum Place {
    Memory(Arc<Mutex<BTreeMap<SessionKey, Vec<String>>>>),
    Sqlite { path: Arc<PathBuf>, writer: mpsc::Sender<Append>, commits: Arc<AtomicU64> },
}

/// A line to be added.
struct Append {
    key: SessionKey,
    number: u64,
    line: String,
    done: Done,
}

impl std::fmt::Debug for Append {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Append").field("key", &self.key).field("number", &self.number).finish_non_exhaustive()
    }
}

impl Journals {
    /// A store that is gone with its last handle.
    #[must_use]
    pub fn memory() -> Self {
        Self { place: Place::Memory(Arc::default()) }
    }

    /// A store in a SQLite file, which is made where it is not there. Its writer ends with the last handle, after what it
    /// was given is kept.
    ///
    /// # Errors
    /// Where the file cannot be opened, or is another database.
    pub fn sqlite(path: &Path) -> Result<Self, JournalsError> {
        let connection = open(path)?;
        let (writer, lines) = mpsc::channel();
        let commits = Arc::<AtomicU64>::default();
        let counted = Arc::clone(&commits);
        std::thread::Builder::new()
            .name("journals".to_owned())
            .spawn(move || write_all(connection, &lines, &counted))
            .map_err(|error| JournalsError::Unusable { why: error.to_string() })?;
        Ok(Self { place: Place::Sqlite { path: Arc::new(path.to_owned()), writer, commits } })
    }

    /// Adds the line of that number, from 0, to the journal of a session. `done` is told once it is kept: in SQLite, on
    /// disk. A line whose number is taken is not kept.
    pub fn append(&self, key: &SessionKey, number: u64, line: String, done: Done) {
        match &self.place {
            Place::Memory(journals) => {
                let mut journals = journals.lock().unwrap_or_else(PoisonError::into_inner);
                let journal = journals.entry(key.clone()).or_default();
                let free = u64::try_from(journal.len()).is_ok_and(|lines| lines == number);
                if free {
                    journal.push(line);
                }
                done(if free { Ok(()) } else { Err(JournalsError::Taken { number }) });
            }
            Place::Sqlite { writer, .. } => {
                let append = Append { key: key.clone(), number, line, done };
                if let Err(mpsc::SendError(append)) = writer.send(append) {
                    (append.done)(Err(JournalsError::Closed));
                }
            }
        }
    }

    /// The lines of a session, in order; none for one that is not there.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn lines(&self, key: &SessionKey) -> Result<Vec<String>, JournalsError> {
        match &self.place {
            Place::Memory(journals) => {
                let journals = journals.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(journals.get(key).cloned().unwrap_or_default())
            }
            Place::Sqlite { path, .. } => lines(&read_only(path)?, key),
        }
    }

    /// The first line of a session, its opening; none for one that is not there.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn first(&self, key: &SessionKey) -> Result<Option<String>, JournalsError> {
        match &self.place {
            Place::Memory(journals) => {
                let journals = journals.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(journals.get(key).and_then(|lines| lines.first()).cloned())
            }
            Place::Sqlite { path, .. } => first(&read_only(path)?, key),
        }
    }

    /// Sessions with their first lines, in the order of their names: those that come after that one and are of its tenant,
    /// `most` at most.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn openings(
        &self,
        after: &SessionKey,
        most: usize,
    ) -> Result<Vec<(SessionKey, String)>, JournalsError> {
        match &self.place {
            Place::Memory(journals) => {
                let journals = journals.lock().unwrap_or_else(PoisonError::into_inner);
                let later = journals.range((Bound::Excluded(after), Bound::Unbounded));
                let own = later.take_while(|(key, _)| key.tenant == after.tenant);
                let opened =
                    own.filter_map(|(key, lines)| lines.first().map(|line| (key.clone(), line.clone())));
                Ok(opened.take(most).collect())
            }
            Place::Sqlite { path, .. } => openings(&read_only(path)?, after, most),
        }
    }

    /// How often lines were brought to disk since the store was opened; never in memory.
    #[must_use]
    pub fn commits(&self) -> u64 {
        match &self.place {
            Place::Memory(_) => 0,
            Place::Sqlite { commits, .. } => commits.load(Ordering::Relaxed),
        }
    }

    /// The sessions, in the order of their names.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn sessions(&self) -> Result<Vec<SessionKey>, JournalsError> {
        match &self.place {
            Place::Memory(journals) => {
                let journals = journals.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(journals.keys().cloned().collect())
            }
            Place::Sqlite { path, .. } => sessions(&read_only(path)?),
        }
    }
}

/// A store in a SQLite file, to be read.
#[derive(Debug)]
pub struct StoredJournals {
    connection: Connection,
}

impl StoredJournals {
    /// Opens a store that is there. Nothing of it is written.
    ///
    /// # Errors
    /// Where the file cannot be read, or is no store of journals.
    pub fn open(path: &Path) -> Result<Self, JournalsError> {
        Ok(Self { connection: read_only(path)? })
    }

    /// The sessions, in the order of their names.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn sessions(&self) -> Result<Vec<SessionKey>, JournalsError> {
        sessions(&self.connection)
    }

    /// The lines of a session, in order; none for one that is not there.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn lines(&self, key: &SessionKey) -> Result<Vec<String>, JournalsError> {
        lines(&self.connection, key)
    }

    /// Shows the lines of a session, in order, until one is refused; none for a session that is not there. One line is in
    /// memory at a time.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn visit(
        &self,
        key: &SessionKey,
        visit: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<(), JournalsError> {
        each(&self.connection, key, visit)
    }
}

fn open(path: &Path) -> Result<Connection, JournalsError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    query::distrust(&connection)?;
    // Nothing of another database is changed.
    if (application(&connection)?, objects(&connection)?) != (0, 0) {
        check(&connection, path)?;
    }
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if (application(&transaction)?, objects(&transaction)?) == (0, 0) {
        transaction.execute_batch(SCHEMA)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
    }
    check(&transaction, path)?;
    transaction.commit()?;
    Ok(connection)
}

fn read_only(path: &Path) -> Result<Connection, JournalsError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    query::distrust(&connection)?;
    check(&connection, path)?;
    Ok(connection)
}

/// Whether a database says of itself that it is a store of journals.
pub(crate) fn is_marked(connection: &Connection) -> Result<bool, rusqlite::Error> {
    let id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    Ok(id == APPLICATION)
}

/// That the database is a store of journals and holds what one holds, and nothing that could be run in its place.
fn check(connection: &Connection, path: &Path) -> Result<(), JournalsError> {
    let path = || path.display().to_string();
    if application(connection)? != APPLICATION {
        return Err(JournalsError::OtherDatabase { path: path() });
    }
    let own = Connection::open_in_memory()?;
    own.execute_batch(SCHEMA)?;
    let expected = schema(&own, i64::MAX)?;
    let most = i64::try_from(expected.len()).unwrap_or(i64::MAX).saturating_add(1);
    if schema(connection, most)? == expected {
        Ok(())
    } else {
        Err(JournalsError::OtherSchema { path: path() })
    }
}

/// What a schema holds, as it was written.
type Object = (String, String, String, Option<String>);

fn schema(connection: &Connection, most: i64) -> Result<Vec<Object>, JournalsError> {
    let mut query = connection
        .prepare("SELECT type, name, tbl_name, sql FROM main.sqlite_schema ORDER BY name, type LIMIT ?1")?;
    let objects = query.query_map([most], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    Ok(objects.collect::<Result<_, _>>()?)
}

fn objects(connection: &Connection) -> Result<i64, JournalsError> {
    Ok(connection.query_row("SELECT count(*) FROM main.sqlite_schema", [], |row| row.get(0))?)
}

fn application(connection: &Connection) -> Result<i32, JournalsError> {
    Ok(connection.pragma_query_value(None, "application_id", |row| row.get(0))?)
}

fn sessions(connection: &Connection) -> Result<Vec<SessionKey>, JournalsError> {
    let mut query = connection
        .prepare("SELECT tenant, app, user, session FROM session ORDER BY tenant, app, user, session")?;
    let keys = query.query_map([], |row| {
        Ok(SessionKey { tenant: row.get(0)?, app: row.get(1)?, user: row.get(2)?, session: row.get(3)? })
    })?;
    Ok(keys.collect::<Result<_, _>>()?)
}

fn lines(connection: &Connection, key: &SessionKey) -> Result<Vec<String>, JournalsError> {
    let mut lines = Vec::new();
    each(connection, key, &mut |line| {
        lines.push(line.to_owned());
        ControlFlow::Continue(())
    })?;
    Ok(lines)
}

fn each(
    connection: &Connection,
    key: &SessionKey,
    visit: &mut dyn FnMut(&str) -> ControlFlow<()>,
) -> Result<(), JournalsError> {
    let mut query = connection.prepare(
        "SELECT text FROM line JOIN session ON line.session = session.id \
         WHERE tenant = ?1 AND app = ?2 AND user = ?3 AND session.session = ?4 ORDER BY number",
    )?;
    let mut lines = query.query(params![key.tenant, key.app, key.user, key.session])?;
    while let Some(line) = lines.next()? {
        let text = line.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
        if visit(text).is_break() {
            break;
        }
    }
    Ok(())
}

fn first(connection: &Connection, key: &SessionKey) -> Result<Option<String>, JournalsError> {
    let mut query = connection.prepare(
        "SELECT text FROM line JOIN session ON line.session = session.id AND line.number = 0 \
         WHERE tenant = ?1 AND app = ?2 AND user = ?3 AND session.session = ?4",
    )?;
    let names = params![key.tenant, key.app, key.user, key.session];
    Ok(query.query_row(names, |row| row.get(0)).optional()?)
}

fn openings(
    connection: &Connection,
    after: &SessionKey,
    most: usize,
) -> Result<Vec<(SessionKey, String)>, JournalsError> {
    let mut query = connection.prepare(
        "SELECT tenant, app, user, session.session, text \
         FROM session JOIN line ON line.session = session.id AND line.number = 0 \
         WHERE tenant = ?1 AND (app, user, session.session) > (?2, ?3, ?4) \
         ORDER BY app, user, session.session LIMIT ?5",
    )?;
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let rows = query.query_map(params![after.tenant, after.app, after.user, after.session, most], |row| {
        let key =
            SessionKey { tenant: row.get(0)?, app: row.get(1)?, user: row.get(2)?, session: row.get(3)? };
        Ok((key, row.get(4)?))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Writes what comes until nothing more can.
fn write_all(mut connection: Connection, lines: &mpsc::Receiver<Append>, commits: &AtomicU64) {
    let mut rows = BTreeMap::new();
    while let Ok(first) = lines.recv() {
        let mut batch = vec![first];
        batch.extend(lines.try_iter().take(BATCH));
        match write(&mut connection, &mut rows, &batch) {
            Ok(kept) => {
                commits.fetch_add(1, Ordering::Relaxed);
                for (append, kept) in batch.into_iter().zip(kept) {
                    (append.done)(kept);
                }
            }
            Err(error) => {
                // Rows of sessions that were made in the transaction are gone with it.
                rows.clear();
                for append in batch {
                    (append.done)(Err(error.clone()));
                }
            }
        }
    }
}

type Kept = Vec<Result<(), JournalsError>>;

/// Writes lines in one transaction. What is wrong with one of them leaves the others alone.
fn write(
    connection: &mut Connection,
    rows: &mut BTreeMap<SessionKey, i64>,
    batch: &[Append],
) -> Result<Kept, JournalsError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // A line must follow the one before: nobody leaves a gap.
    let mut insert = transaction.prepare(
        "INSERT OR IGNORE INTO line (session, number, text) SELECT ?1, ?2, ?3 \
         WHERE ?2 = 0 OR EXISTS (SELECT 1 FROM line WHERE session = ?1 AND number = ?2 - 1)",
    )?;
    let mut kept = Vec::with_capacity(batch.len());
    for append in batch {
        let session = match rows.get(&append.key) {
            Some(&session) => session,
            None => {
                let session = session_row(&transaction, &append.key)?;
                rows.insert(append.key.clone(), session);
                session
            }
        };
        let number = i64::try_from(append.number).unwrap_or(i64::MAX);
        let changed = insert.execute(params![session, number, append.line])?;
        kept.push(if changed == 1 { Ok(()) } else { Err(JournalsError::Taken { number: append.number }) });
    }
    drop(insert);
    transaction.commit()?;
    Ok(kept)
}

fn session_row(connection: &Connection, key: &SessionKey) -> Result<i64, JournalsError> {
    let names = params![key.tenant, key.app, key.user, key.session];
    let known = connection
        .query_row(
            "SELECT id FROM session WHERE tenant = ?1 AND app = ?2 AND user = ?3 AND session = ?4",
            names,
            |row| row.get(0),
        )
        .optional()?;
    if let Some(known) = known {
        return Ok(known);
    }
    connection.execute("INSERT INTO session (tenant, app, user, session) VALUES (?1, ?2, ?3, ?4)", names)?;
    Ok(connection.last_insert_rowid())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(session: &str) -> SessionKey {
        SessionKey { session: session.to_owned(), ..SessionKey::default() }
    }

    /// Adds lines, and says of each whether it was kept.
    fn add(store: &Journals, lines: &[(&str, u64, &str)]) -> Vec<bool> {
        let (told, kept) = mpsc::channel();
        for (at, (session, number, line)) in lines.iter().enumerate() {
            let told = told.clone();
            let done =
                Box::new(move |kept: Result<(), JournalsError>| told.send((at, kept.is_ok())).unwrap());
            store.append(&key(session), *number, (*line).to_owned(), done);
        }
        let mut kept: Vec<_> = kept.iter().take(lines.len()).collect();
        kept.sort_unstable();
        kept.into_iter().map(|(_, kept)| kept).collect()
    }

    #[test]
    fn lines_are_added_in_order_and_never_twice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.db");
        for store in [Journals::memory(), Journals::sqlite(&path).unwrap()] {
            let lines = [("a", 0, "x"), ("b", 0, "y"), ("a", 1, "z"), ("a", 1, "w"), ("b", 2, "gap")];
            assert_eq!(add(&store, &lines), [true, true, true, false, false]);
            assert_eq!(store.lines(&key("a")).unwrap(), ["x", "z"]);
            assert_eq!(store.lines(&key("c")).unwrap(), [""; 0]);
            assert_eq!(store.sessions().unwrap(), [key("a"), key("b")]);
            let all = [(key("a"), "x".to_owned()), (key("b"), "y".to_owned())];
            assert_eq!(store.openings(&SessionKey::default(), 9).unwrap(), all);
            assert_eq!(store.openings(&SessionKey::default(), 1).unwrap(), all[..1]);
            assert_eq!(store.openings(&key("a"), 9).unwrap(), all[1..]);
            let other = SessionKey { tenant: "t".to_owned(), ..SessionKey::default() };
            assert_eq!(store.openings(&other, 9).unwrap(), []);
            assert_eq!(
                (store.first(&key("b")).unwrap(), store.first(&other).unwrap()),
                (Some("y".to_owned()), None)
            );
        }
        let again = Journals::sqlite(&path).unwrap();
        assert_eq!(add(&again, &[("a", 2, "v"), ("b", 1, "u")]), [true, true]);
        let mut seen = Vec::new();
        let stored = StoredJournals::open(&path).unwrap();
        let visited = stored.visit(&key("a"), &mut |line| {
            seen.push(line.to_owned());
            if line == "z" { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!((visited, seen.join(" ")), (Ok(()), "x z".to_owned()));
        assert_eq!(again.lines(&key("a")).unwrap(), ["x", "z", "v"]);
        let connection = Connection::open(&path).unwrap();
        assert!(connection.execute("UPDATE line SET text = ''", []).is_err());
        assert!(connection.execute("DELETE FROM line", []).is_err());
    }

    /// The attempt: a store whose tables are views that never end, or that has more than a store has.
    #[test]
    fn a_store_with_another_schema_is_not_read() {
        const ENDLESS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";
        let folder = tempfile::tempdir().unwrap();
        let made = [
            format!(
                "CREATE VIEW session AS {ENDLESS} SELECT i AS id, '' AS tenant, '' AS app, '' AS user, '' AS session FROM n;
                 CREATE VIEW line AS {ENDLESS} SELECT 1 AS session, i AS number, '' AS text FROM n;"
            ),
            format!("{SCHEMA} CREATE TRIGGER more AFTER INSERT ON line BEGIN SELECT count(*) FROM line; END;"),
            format!("{SCHEMA} CREATE VIEW zz AS {ENDLESS} SELECT i FROM n;"),
            SCHEMA.replace("text TEXT NOT NULL", "text TEXT AS (number || '')"),
        ];
        for (number, made) in made.iter().enumerate() {
            let path = folder.path().join(format!("{number}.db"));
            let connection = Connection::open(&path).unwrap();
            connection.execute_batch(made).unwrap();
            connection.pragma_update(None, "application_id", APPLICATION).unwrap();
            drop(connection);
            for refused in [StoredJournals::open(&path).err(), Journals::sqlite(&path).err()] {
                assert!(matches!(refused, Some(JournalsError::OtherSchema { .. })), "{made}: {refused:?}");
            }
            let refused = crate::store::open(&path).err();
            assert!(refused.is_some_and(|refused| refused.to_string().contains("journal export")), "{made}");
        }
    }

    #[test]
    fn another_database_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other.db");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE events (id TEXT)").unwrap();
        let refused = Journals::sqlite(&path).err();
        assert!(matches!(refused, Some(JournalsError::OtherDatabase { .. })), "{refused:?}");
        assert!(StoredJournals::open(&path).is_err());
    }
}
