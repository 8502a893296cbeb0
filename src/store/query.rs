//! Questions to a database: whole tables in the order of their rows, and single rows by their numbers.
//!
//! Nothing of the file is run: no trigger, no view, no function from the schema; only names of our own stand in queries.

use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, Statement};

use crate::recording::database::{Cell, Columns, Table, TableKind, Unreadable};
use crate::store::StoreError;

/// Bytes of the largest value or row.
const WIDEST: i32 = 1 << 28;

/// Opens the copy of a database.
pub(crate) fn open(path: &Path) -> Result<Connection, StoreError> {
    // It is our own copy, and a log beside it may have to be taken in. The path is no URI: it may hold any character.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_PRIVATE_CACHE
        | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let connection = Connection::open_with_flags(path, flags)?;
    distrust(&connection)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    // With the only lock there needs no memory to be shared beside the copy.
    connection.pragma_update(None, "locking_mode", "exclusive")?;
    connection.pragma_update(None, "temp_store", "memory")?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

/// Lets nothing be run that the schema of a database holds but triggers.
pub(crate) fn distrust(connection: &Connection) -> Result<(), rusqlite::Error> {
    let settings = [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DDL, false),
    ];
    for (setting, on) in settings {
        connection.set_db_config(setting, on)?;
    }
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    connection.set_limit(Limit::SQLITE_LIMIT_WORKER_THREADS, 0)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, WIDEST)?;
    Ok(())
}

/// The tables of the database. What a program computes is not asked for its columns, since that would run the program.
pub(crate) fn tables(connection: &Connection) -> Result<Vec<Table>, StoreError> {
    let mut names = connection.prepare(
        "SELECT name, type, coalesce(rootpage, 0) FROM main.sqlite_schema WHERE type IN ('table', 'view') \
         AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
    )?;
    let mut rows = names.query([])?;
    let mut tables = Vec::new();
    while let Some(row) = rows.next()? {
        let name: String = row.get(0)?;
        let (kind, columns) = match (row.get::<_, String>(1)?.as_str(), row.get::<_, i64>(2)?) {
            ("view", _) => (TableKind::View, Vec::new()),
            (_, 0) => (TableKind::Virtual, Vec::new()),
            _ => {
                let columns = columns(connection, &name)?;
                (
                    if has_numbers(connection, &name, &columns) {
                        TableKind::Stored
                    } else {
                        TableKind::WithoutRows
                    },
                    columns,
                )
            }
        };
        tables.push(Table { name, kind, columns });
    }
    Ok(tables)
}

fn columns(connection: &Connection, table: &str) -> Result<Vec<String>, StoreError> {
    let mut names = connection.prepare("SELECT name, hidden FROM pragma_table_xinfo(?1)")?;
    let mut rows = names.query([table])?;
    let mut columns = Vec::new();
    while let Some(row) = rows.next()? {
        // Computed columns would be evaluated.
        if row.get::<_, i64>(1)? == 0 {
            columns.push(row.get(0)?);
        }
    }
    Ok(columns)
}

fn has_numbers(connection: &Connection, table: &str, columns: &[String]) -> bool {
    let quoted = table.replace('"', "\"\"");
    !columns.iter().any(|column| column.eq_ignore_ascii_case("_rowid_"))
        && connection.prepare(&format!("SELECT _rowid_ FROM main.\"{quoted}\"")).is_ok()
}

/// What is done with the number and the values of a row.
type Visit<'v> = dyn FnMut(i64, &[Cell]) -> Result<(), StoreError> + 'v;

/// Shows each row of a table in order, with its number.
pub(crate) fn scan(
    connection: &Connection,
    columns: &Columns,
    visit: &mut Visit<'_>,
) -> Result<(), StoreError> {
    let mut statement =
        connection.prepare(&format!("SELECT _rowid_, {} ORDER BY _rowid_", selected(columns)))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        visit(row.get(0)?, &cells(row, 1..=columns.columns.len())?)?;
    }
    Ok(())
}

fn selected(columns: &Columns) -> String {
    let names: Vec<_> = columns.columns.iter().map(|column| format!("\"{column}\"")).collect();
    format!("{} FROM main.\"{}\" NOT INDEXED", names.join(", "), columns.table)
}

/// Single rows of a table.
pub(crate) struct Rows<'c> {
    statement: Statement<'c>,
    count: usize,
}

impl<'c> Rows<'c> {
    pub(crate) fn by_number(connection: &'c Connection, columns: &Columns) -> Result<Self, rusqlite::Error> {
        let statement = connection.prepare(&format!("SELECT {} WHERE _rowid_ = ?1", selected(columns)))?;
        Ok(Self { statement, count: columns.columns.len() })
    }

    /// The values of the row of that number.
    pub(crate) fn one(&mut self, number: i64) -> Result<Vec<Cell>, rusqlite::Error> {
        let count = self.count;
        self.statement.query_row([number], |row| cells(row, 0..=count.saturating_sub(1)))
    }
}

fn cells(row: &Row<'_>, places: std::ops::RangeInclusive<usize>) -> Result<Vec<Cell>, rusqlite::Error> {
    let cell = |place| {
        Ok(match row.get_ref(place)? {
            ValueRef::Null => Cell::Null,
            ValueRef::Integer(value) => Cell::Integer(value),
            ValueRef::Real(value) => Cell::Real(value),
            ValueRef::Text(bytes) => Cell::Text(bytes.to_vec()),
            ValueRef::Blob(bytes) => Cell::Blob(bytes.to_vec()),
        })
    };
    places.map(cell).collect()
}

/// Why a row cannot be read.
pub(crate) fn unreadable(error: &rusqlite::Error) -> Unreadable {
    match error.sqlite_error_code() {
        Some(ErrorCode::TooBig | ErrorCode::OutOfMemory) => Unreadable::TooLarge,
        Some(_) | None => Unreadable::Damaged(words(error)),
    }
}

/// What SQLite says.
pub(crate) fn words(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(code, text) => {
            text.clone().unwrap_or_else(|| format!("error {}", code.extended_code))
        }
        rusqlite::Error::QueryReturnedNoRows => "the row is not there".to_owned(),
        _ => "a name in it is no text".to_owned(),
    }
}
