//! The row of one event to the event as a session document has it.

use jiff::Timestamp;

use crate::json::{self, Json};
use crate::recording::StopKind;
use crate::recording::database::cell::{parsed, seconds};
use crate::recording::database::{Cell, Library, Members, Schema, StoredEvent, Time, Unreadable};
use crate::recording::event::Event;
use crate::recording::fields::{Wrong, camel};
use crate::recording::pickle;
use crate::recording::reading::{self, Unread};
use crate::recording::time;
use crate::recording::usual;

/// An event with what says where it stands.
#[derive(Debug)]
pub(crate) struct Placed {
    pub(crate) row: i64,
    pub(crate) time: Option<Timestamp>,
    /// Whether its time came from a text that names no zone.
    pub(crate) without_zone: bool,
    pub(crate) value: Result<reading::Row, Unread>,
    /// Whether it holds a value that JSON has not, which a wrapper stands for.
    pub(crate) wrapped: bool,
}

/// Reads the row of an event.
pub(crate) fn placed(schema: &Schema, event: StoredEvent) -> Placed {
    let StoredEvent { row, cells } = event;
    let cells = match cells {
        Ok(cells) => cells,
        Err(why) => {
            let wrong = unreadable(schema, row, &why);
            let unread = Unread { wrong, id: String::new(), text: Vec::new() };
            return Placed { row, time: None, without_zone: false, value: Err(unread), wrapped: false };
        }
    };
    let mut row = Row { number: row, names: &schema.events().columns, cells };
    match schema.library() {
        Library::EventData => row.whole(["id", "invocation_id", "event_data"]),
        Library::Room => row.whole(["id", "invocationId", "eventData"]),
        Library::Columns => row.in_columns(&Row::columns),
        Library::Rust => row.in_columns(&Row::rust),
    }
}

fn unreadable(schema: &Schema, row: i64, why: &Unreadable) -> Wrong {
    let table = schema.events().table;
    match why {
        Unreadable::TooLarge => Wrong::new(
            StopKind::TooLarge,
            format!("row {row} of `{table}` makes the session larger than what is read"),
        ),
        Unreadable::Damaged(how) => Wrong::new(
            StopKind::BadShape,
            format!("the database is damaged at row {row} of `{table}`: {how}"),
        ),
    }
}

struct Row<'a> {
    number: i64,
    names: &'a [&'static str],
    cells: Vec<Cell>,
}

/// An event, and whether wrappers are in it.
type Built = Result<(Json, bool), Wrong>;

impl Row<'_> {
    fn cell(&self, column: &str) -> &Cell {
        let place = self.names.iter().position(|name| *name == column);
        place.and_then(|place| self.cells.get(place)).unwrap_or(&Cell::Null)
    }

    fn text(&self, column: &str) -> Result<Option<String>, Wrong> {
        self.cell(column).text(column)
    }

    fn json(&self, column: &str) -> Result<Json, Wrong> {
        self.cell(column).json(column)
    }

    /// A fault of this row, with what of it may still show calls.
    fn unread(&self, wrong: Wrong, column: &str) -> Unread {
        let text = match self.cell(column) {
            Cell::Text(bytes) | Cell::Blob(bytes) => bytes.clone(),
            Cell::Null | Cell::Integer(_) | Cell::Real(_) => Vec::new(),
        };
        Unread { wrong, id: self.cell("id").plain_text().unwrap_or_default(), text }
    }

    /// An event that stands in one column as a whole. The time beside it says where it stands, the one in it only where there
    /// is no other.
    fn whole(&mut self, [id, invocation, column]: [&str; 3]) -> Placed {
        let beside = self.cell("timestamp").time();
        if let Some((event, time)) = self.usual([id, invocation, column], beside) {
            let event = Box::new(event);
            let value = Ok(reading::Row::Usual { event, text: self.take_bytes(column) });
            let (time, without_zone) = beside.map_or((Some(time), false), |beside| split(Some(beside)));
            return Placed { row: self.number, time, without_zone, value, wrapped: false };
        }
        let event = self.json(column).and_then(|json| self.with_names(json, [id, invocation, column]));
        let event = event.and_then(|members| same_time(&members, beside, column).map(|()| members));
        match event {
            Ok(mut members) => {
                let own = member(&members.0, "timestamp").map(|value| (time::instant_of(value), false));
                if own.is_none() {
                    members.add("timestamp", beside.map_or(Json::Null, |(time, _)| seconds(time)));
                }
                let (time, without_zone) = match (own, beside) {
                    // A time that cannot be read leaves the order unknown, whatever stands beside it.
                    (Some((None, _)), _) => (None, false),
                    (_, Some(_)) => split(beside),
                    (Some(own), None) if *self.cell("timestamp") == Cell::Null => own,
                    (_, None) => (None, false),
                };
                let value = Ok(reading::Row::Tree(Json::Object(members.0)));
                Placed { row: self.number, time, without_zone, value, wrapped: false }
            }
            Err(wrong) => {
                let (time, without_zone) = split(beside);
                let value = Err(self.unread(wrong, column));
                Placed { row: self.number, time, without_zone, value, wrapped: false }
            }
        }
    }

    /// A usual event with its time, if it says by itself all that stands beside it.
    fn usual(&self, [id, invocation, column]: [&str; 3], beside: Option<Time>) -> Option<(Event, Timestamp)> {
        let Cell::Text(bytes) = self.cell(column) else { return None };
        let event = usual::event(std::str::from_utf8(bytes).ok()?, 0)?;
        let same = |column: &str, own: &str| match self.cell(column) {
            Cell::Null => !own.is_empty(),
            Cell::Text(text) => !own.is_empty() && text == own.as_bytes(),
            Cell::Integer(_) | Cell::Real(_) | Cell::Blob(_) => false,
        };
        if !same(id, &event.id) || !same(invocation, &event.invocation_id) {
            return None;
        }
        let own: Timestamp = event.time.parse().ok()?;
        let placed = match beside {
            Some((beside, _)) => is_near(own, beside),
            None => *self.cell("timestamp") == Cell::Null,
        };
        placed.then_some((event, own))
    }

    /// The bytes of a column, which has none afterwards.
    fn take_bytes(&mut self, column: &str) -> Vec<u8> {
        let place = self.names.iter().position(|name| *name == column);
        match place.and_then(|place| self.cells.get_mut(place)) {
            Some(Cell::Text(bytes) | Cell::Blob(bytes)) => std::mem::take(bytes),
            Some(Cell::Null | Cell::Integer(_) | Cell::Real(_)) | None => Vec::new(),
        }
    }

    /// The members of an event with the names that stand beside it. Names that differ are a fault: one of them was changed.
    fn with_names(&self, json: Json, [id, invocation, column]: [&str; 3]) -> Result<Members, Wrong> {
        let Json::Object(members) = json else {
            return Err(Wrong::new(StopKind::BadShape, format!("`{column}` holds no event")));
        };
        let mut members = Members(members);
        for (beside, key) in [(id, "id"), (invocation, "invocationId")] {
            let beside_text = self.text(beside)?;
            match (member(&members.0, key), beside_text) {
                (Some(Json::Text(inside)), Some(beside_text)) if **inside != *beside_text => {
                    let text = format!("`{beside}` and the same in `{column}` differ");
                    return Err(Wrong::new(StopKind::BadShape, text));
                }
                (Some(_), _) => {}
                (None, text) => {
                    members.0.retain(|(name, _)| camel(name) != key);
                    members.add_text(if key == "id" { "id" } else { "invocation_id" }, text);
                }
            }
        }
        Ok(members)
    }

    fn in_columns(&self, build: &dyn Fn(&Self, Option<Time>) -> Built) -> Placed {
        let beside = self.cell("timestamp").time();
        let (time, without_zone) = split(beside);
        let (value, wrapped) = match build(self, beside) {
            Ok((json, wrapped)) => (Ok(reading::Row::Tree(json)), wrapped),
            Err(wrong) => (Err(self.unread_columns(wrong)), false),
        };
        Placed { row: self.number, time, without_zone, value, wrapped }
    }

    fn unread_columns(&self, wrong: Wrong) -> Unread {
        let response = self.unread(wrong.clone(), "llm_response");
        if !response.text.is_empty() {
            return response;
        }
        let content = self.unread(wrong, "content");
        if content.text.is_empty() {
            return content;
        }
        let mut author = String::new();
        json::write_text(&mut author, &self.cell("author").plain_text().unwrap_or_default());
        let text = [format!("{{\"author\":{author},\"content\":").as_bytes(), &content.text, b"}"].concat();
        Unread { text, ..content }
    }

    /// An event of the older Python library or of the Go library.
    fn columns(&self, time: Option<Time>) -> Built {
        let mut event = Members::default();
        for column in
            ["id", "invocation_id", "author", "branch", "isolation_scope", "error_code", "error_message"]
        {
            event.add_text(column, self.text(column)?);
        }
        event.add("timestamp", time.map_or(Json::Null, |(time, _)| seconds(time)));
        for column in ["partial", "turn_complete", "interrupted"] {
            event.add(column, self.cell(column).flag(column)?);
        }
        for column in [
            "content",
            "grounding_metadata",
            "custom_metadata",
            "usage_metadata",
            "citation_metadata",
            "input_transcription",
            "output_transcription",
        ] {
            event.add(column, self.json(column)?);
        }
        for (column, key) in [
            ("long_running_tool_ids_json", "long_running_tool_ids"),
            ("routes_json", "routes"),
            ("output_json", "output"),
            ("node_info_json", "node_info"),
            ("requested_input_json", "requested_input"),
        ] {
            event.add(key, self.json(column)?);
        }
        let (actions, wrapped) = self.actions()?;
        event.add("actions", actions);
        Ok((Json::Object(event.0), wrapped))
    }

    /// Actions as JSON or as a pickle. No pickle begins like an object of JSON.
    fn actions(&self) -> Built {
        let column = "actions";
        let bytes = match self.cell(column) {
            Cell::Null => return Ok((Json::Null, false)),
            Cell::Text(_) => return Ok((self.json(column)?, false)),
            Cell::Blob(bytes) => bytes,
            other @ (Cell::Integer(_) | Cell::Real(_)) => {
                let text = format!("`{column}` holds {} and not bytes", other.words());
                return Err(Wrong::new(StopKind::BadShape, text));
            }
        };
        let start = bytes.trim_ascii_start();
        match start.first() {
            None => Ok((Json::Null, false)),
            Some(b'{') => Ok((parsed(bytes, column)?, false)),
            Some(_) if start == b"null" => Ok((Json::Null, false)),
            Some(_) => {
                let read = pickle::actions(bytes)?;
                Ok((read.actions.unwrap_or(Json::Null), read.wrapped))
            }
        }
    }

    /// An event of the Rust library, as its session documents have it.
    fn rust(&self, _: Option<Time>) -> Built {
        let Json::Object(response) = self.json("llm_response")? else {
            return Err(Wrong::new(StopKind::BadShape, "`llm_response` holds no object".to_owned()));
        };
        let mut event = Members::default();
        for column in ["id", "timestamp", "invocation_id", "branch", "author"] {
            event.add_text(column, self.text(column)?);
        }
        for column in ["actions", "long_running_tool_ids"] {
            event.add(column, self.json(column)?);
        }
        for (key, value) in response {
            if member(&event.0, &camel(&key)).is_some() {
                let text = format!("`llm_response` has a `{key}`, which is a column of its own");
                return Err(Wrong::new(StopKind::DuplicateKey, text));
            }
            event.0.push((key, value));
        }
        Ok((Json::Object(event.0), false))
    }
}

/// Refuses an event whose time is another than that of its row, by more than what either is rounded to.
fn same_time(members: &Members, beside: Option<Time>, column: &str) -> Result<(), Wrong> {
    let own = member(&members.0, "timestamp").and_then(time::instant_of);
    let (Some(own), Some((beside, _))) = (own, beside) else { return Ok(()) };
    if is_near(own, beside) {
        return Ok(());
    }
    let text =
        format!("`timestamp` and the same in `{column}` differ by more than a second: {beside} and {own}");
    Err(Wrong::new(StopKind::BadShape, text))
}

/// Whether two times are at most as far apart as what either is rounded to.
fn is_near(own: Timestamp, beside: Timestamp) -> bool {
    own.duration_since(beside).unsigned_abs() <= std::time::Duration::from_secs(1)
}

fn split(time: Option<Time>) -> (Option<Timestamp>, bool) {
    time.map_or((None, false), |(time, without_zone)| (Some(time), without_zone))
}

/// The value of a key in either spelling; none where it is null.
fn member<'a>(members: &'a [(Box<str>, Json)], key: &str) -> Option<&'a Json> {
    let named = |name: &str| name == key || name.contains('_') && camel(name) == key;
    members.iter().find(|(name, value)| named(name) && *value != Json::Null).map(|(_, value)| value)
}
