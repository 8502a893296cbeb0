use crate::engine::Database;
use crate::plain::Channel;
use crate::plain::Format;
use crate::plain::value;
use crate::program::Program;
use crate::program::Relation;
use crate::program::types::TypeId;
use crate::value::Kind;
use crate::value::visible;

/// Longest piece of a fact file that a message shows.
pub(crate) const SHOWN: usize = 60;

/// What is wrong with a fact file. Lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactFault {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
    /// In words.
    pub what: String,
}

/// A fault at a byte of the text.
pub(crate) struct Fault {
    pub(crate) at: usize,
    pub(crate) what: String,
}

/// One field: where it starts, and what it says, with quotes decoded.
type Field<'a> = (usize, std::borrow::Cow<'a, str>);

/// Adds the facts of a file to a relation.
pub(crate) fn input(
    program: &Program,
    channel: &Channel,
    bytes: &[u8],
    database: &mut Database,
) -> Result<(), FactFault> {
    let Some(relation) = program.schema(channel.relation) else { return Ok(()) };
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let sound = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let sound = String::from_utf8_lossy(sound);
        place(&sound, Fault { at: sound.len(), what: "not UTF-8".to_owned() })
    })?;
    facts(program, channel, relation, text, database).map_err(|fault| place(text, fault))
}

fn place(text: &str, fault: Fault) -> FactFault {
    let before = text.get(..fault.at).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = before.matches('\n').count() + 1;
    let column = before.get(start..).unwrap_or_default().chars().count() + 1;
    FactFault { line, column, what: fault.what }
}

fn facts(
    program: &Program,
    channel: &Channel,
    relation: &Relation,
    text: &str,
    database: &mut Database,
) -> Result<(), Fault> {
    let mut at = 0;
    let mut header = channel.format.headers;
    let types: Vec<TypeId> = relation.columns.iter().map(|column| column.type_id).collect();
    while at < text.len() {
        let next = line_end(text, at).1;
        if std::mem::take(&mut header) {
            at = next;
            continue;
        }
        if types.is_empty() {
            // Any line says that a relation without columns holds.
            database.insert(channel.relation, &[]);
            return Ok(());
        }
        let start = at;
        let fields = row(program, &channel.format, &types, text, &mut at)?;
        let mut tuple = Vec::with_capacity(types.len());
        for (place, column) in relation.columns.iter().enumerate() {
            let from = channel.format.columns.as_ref().map_or(Some(place), |all| all.get(place).copied());
            let field = from.and_then(|from| fields.get(from));
            let Some((start, field)) = field else {
                let found = fields.len();
                let what = format!(
                    "a value for `{}` is missing: the row has {found} column{}",
                    column.name,
                    if found == 1 { "" } else { "s" }
                );
                return Err(Fault { at: start, what });
            };
            let word = value::read(program, column.type_id, field, &mut database.pool).map_err(|fault| {
                let what = format!("{} (column `{}`)", fault.what, column.name);
                // Quotes that were decoded hide where in the field the fault is.
                let inner = if text.get(*start..).is_some_and(|rest| rest.starts_with(&**field)) {
                    fault.at
                } else {
                    0
                };
                Fault { at: start + inner, what }
            })?;
            tuple.push(word);
        }
        database.insert(channel.relation, &tuple);
    }
    Ok(())
}

/// Where the line ends, without its line end, and where the next one starts.
fn line_end(text: &str, at: usize) -> (usize, usize) {
    let rest = text.get(at..).unwrap_or_default();
    let (end, next) = rest.find('\n').map_or((text.len(), text.len()), |end| (at + end, at + end + 1));
    let returns = text.get(at..end).is_some_and(|line| line.ends_with('\r'));
    (if returns { end - 1 } else { end }, next)
}

/// The fields of the row that starts at `at`, which moves to the next one.
fn row<'a>(
    program: &Program,
    format: &Format,
    types: &[TypeId],
    text: &'a str,
    at: &mut usize,
) -> Result<Vec<Field<'a>>, Fault> {
    let mut fields = Vec::new();
    let (mut end, mut next) = line_end(text, *at);
    loop {
        let start = *at;
        let quoted = format.quoted && text.get(start..end).is_some_and(|rest| rest.starts_with('"'));
        if quoted {
            let (field, after) = quoted_field(text, start)?;
            fields.push((start, field.into()));
            (end, next) = line_end(text, after);
            *at = after;
        } else {
            let rest = text.get(start..end).unwrap_or_default();
            let type_id = column_of(format, fields.len()).and_then(|column| types.get(column)).copied();
            let compound = type_id.filter(|&id| program.types.kind(id) == Kind::Compound);
            // The delimiter may also stand between the fields of a record.
            let skipped = if format.delimiter.contains(',') {
                compound.map_or(0, |id| value::length(program, id, rest))
            } else {
                0
            };
            let tail = rest.get(skipped..).unwrap_or_default();
            let length = tail.find(&format.delimiter).map_or(rest.len(), |found| skipped + found);
            fields.push((start, rest.get(..length).unwrap_or_default().into()));
            *at = start + length;
        }
        if *at >= end {
            *at = next;
            return Ok(fields);
        }
        if !text.get(*at..end).is_some_and(|rest| rest.starts_with(&format.delimiter)) {
            let what = "a delimiter is missing after a quoted field".to_owned();
            return Err(Fault { at: *at, what });
        }
        *at += format.delimiter.len();
    }
}

/// The column of the relation that a column of the file is for.
fn column_of(format: &Format, field: usize) -> Option<usize> {
    match &format.columns {
        None => Some(field),
        Some(columns) => columns.iter().position(|&column| column == field),
    }
}

/// A field in double quotes, doubled quotes decoded, and where it ends.
fn quoted_field(text: &str, start: usize) -> Result<(String, usize), Fault> {
    let mut field = String::new();
    let mut at = start + 1;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let Some(quote) = rest.find('"') else {
            return Err(Fault { at: start, what: "the closing quote of this field is missing".to_owned() });
        };
        field.push_str(rest.get(..quote).unwrap_or_default());
        at += quote + 1;
        if !text.get(at..).is_some_and(|rest| rest.starts_with('"')) {
            return Ok((field, at));
        }
        field.push('"');
        at += 1;
    }
}

/// A piece of a file as a message shows it.
pub(crate) fn shown(text: &str) -> String {
    visible(text, SHOWN)
}
