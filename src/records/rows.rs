//! The records of a session as columns: what repeats is kept once, and what follows from something else is not kept.

use crate::column::Column;
use crate::column::Texts;
use crate::json;
use crate::json::Json;
use crate::lineage::RecordId;
use crate::records::Graph;
use crate::records::RecordEvent;
use crate::records::RecordKind;
use crate::records::Role;
use crate::records::Text;
use crate::records::draft::NO_CALLS;
use crate::records::draft::tools;
use crate::records::identity::hex;
use crate::records::metadata;
use crate::records::metadata::Field;
use crate::records::visible::Name;
use std::fmt;
use std::num::NonZeroU32;
use std::ops::Deref;

/// What the metadata of a record follows from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// There is none.
    None,
    /// Nothing: it is kept.
    Kept,
    /// Words, and nothing beside them.
    Words,
    /// The same, as a thought.
    Thought,
    /// A call with its id, name and arguments alone.
    Call,
    /// An answer that has id and name of its call, and a response.
    Answer,
}

/// Where a record came from, by its number in the session. Records of one event share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OriginId(NonZeroU32);

impl OriginId {
    // Numbers begin at 1, so that none takes no room of its own.
    fn at(place: usize) -> Self {
        // A session of more events than a `u32` counts does not fit into memory.
        Self(NonZeroU32::MIN.saturating_add(u32::try_from(place).unwrap_or(u32::MAX)))
    }

    fn place(self) -> u32 {
        self.0.get() - 1
    }
}

#[derive(Debug, Clone, Copy)]
struct Origin {
    invocation: Name,
    author: Name,
    branch: Name,
    /// Number of the event in its file, from 1.
    number: Option<NonZeroU32>,
    time: Packed,
}

/// What a record by hand has beside.
#[derive(Debug, Clone, Copy)]
struct Hand {
    agent: Name,
    entity: Name,
    principal: Name,
    seq: i64,
}

/// A record without its texts.
#[derive(Debug, Clone, Copy)]
struct Row {
    kind: RecordKind,
    role: Role,
    form: Form,
    origin: Option<OriginId>,
}

/// A record to be kept, its id and what it was computed from aside.
#[derive(Debug)]
pub(crate) struct Kept<'a> {
    pub(crate) kind: RecordKind,
    pub(crate) role: Role,
    pub(crate) form: Form,
    pub(crate) contents: &'a str,
    pub(crate) tools_json: &'a str,
    pub(crate) metadata: Option<&'a str>,
    pub(crate) origin: Option<OriginId>,
}

/// The fields of a record by hand that others have from their events.
#[derive(Debug)]
pub(crate) struct ByHand<'a> {
    pub(crate) id: &'a str,
    pub(crate) agent: Name,
    pub(crate) entity: Name,
    pub(crate) principal: Name,
    pub(crate) seq: i64,
}

/// Texts that few records have, by the numbers of the records.
#[derive(Debug, Clone, Default)]
struct Sparse {
    at: Column<u32>,
    texts: Texts,
}

impl Sparse {
    /// Numbers come in ascending order.
    fn push(&mut self, number: u32, text: &str) {
        self.at.push(number);
        self.texts.push(text);
    }

    fn place(&self, number: u32) -> Option<usize> {
        let place = self.at.partition_point(|&at| at < number);
        (self.at.get(place) == Some(&number)).then_some(place)
    }

    fn get(&self, number: u32) -> Option<&str> {
        self.place(number).map(|place| self.texts.get(place))
    }
}

/// All records, by their numbers.
// Invariant: `rows` and `contents` have an entry for each record, `origins` and `event_ids` one for each origin.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rows {
    rows: Column<Row>,
    contents: Texts,
    /// Metadata that follows from nothing else.
    metadata: Sparse,
    /// Calls that are not those of one function call.
    tools: Sparse,
    origins: Column<Origin>,
    event_ids: Texts,
    /// Times in another form than [`Packed`] has, by origin.
    times: Sparse,
    /// Ids of records by hand, with the rest of them in `hands`.
    ids: Sparse,
    hands: Column<Hand>,
}

impl Rows {
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Notes an event that records come from.
    pub(crate) fn add_origin(
        &mut self,
        [invocation, author, branch]: [Name; 3],
        (id, time, number): (&str, &str, Option<usize>),
    ) -> OriginId {
        let own = OriginId::at(self.origins.len());
        let packed = Packed::of(time);
        if packed.is_none() && !time.is_empty() {
            self.times.push(own.place(), time);
        }
        let number = number.and_then(|number| NonZeroU32::new(u32::try_from(number).ok()?.checked_add(1)?));
        let time = packed.unwrap_or_default();
        self.origins.push(Origin { invocation, author, branch, number, time });
        self.event_ids.push(id);
        own
    }

    pub(crate) fn push(&mut self, kept: &Kept<'_>, by_hand: Option<&ByHand<'_>>) {
        let number = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        let Kept { kind, role, form, contents, tools_json, metadata, origin } = *kept;
        self.contents.push(contents);
        match (form, metadata) {
            (Form::Kept, Some(metadata)) => self.metadata.push(number, metadata),
            (Form::Kept | Form::None | Form::Words | Form::Thought | Form::Call | Form::Answer, _) => {}
        }
        if kind != RecordKind::Call && tools_json != NO_CALLS {
            self.tools.push(number, tools_json);
        }
        if let Some(&ByHand { id, agent, entity, principal, seq }) = by_hand {
            self.ids.push(number, id);
            self.hands.push(Hand { agent, entity, principal, seq });
        }
        self.rows.push(Row { kind, role, form, origin });
    }

    /// The id of a record by hand.
    pub(crate) fn id_by_hand(&self, record: RecordId) -> Option<&str> {
        self.ids.get(record.0)
    }

    /// The time of an event, RFC 3339; may be empty.
    pub(crate) fn time(&self, origin: OriginId) -> Text {
        let packed = self.origins.get(origin.place() as usize).map(|row| row.time).unwrap_or_default();
        match packed.text() {
            Some(text) => text,
            None => self.times.get(origin.place()).unwrap_or_default().into(),
        }
    }

    pub(crate) fn event_id_of(&self, record: RecordId) -> &str {
        let origin = self.rows.get(record.0 as usize).and_then(|row| row.origin);
        origin.map_or("", |origin| self.event_id(origin))
    }

    fn event_id(&self, origin: OriginId) -> &str {
        self.event_ids.get(origin.place() as usize)
    }

    fn hand(&self, record: RecordId) -> Option<&Hand> {
        self.hands.get(self.ids.place(record.0)?)
    }

    fn origin(&self, origin: Option<OriginId>) -> Option<&Origin> {
        self.origins.get(origin?.place() as usize)
    }
}

/// The id of a record.
#[derive(Debug, Clone, Copy)]
pub enum Id<'a> {
    /// Made from the record: lower-case hexadecimal.
    Made([u8; 32]),
    /// Given by hand.
    Given(&'a str),
}

impl Id<'_> {
    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Made(digits) => std::str::from_utf8(digits).unwrap_or_default(),
            Self::Given(text) => text,
        }
    }
}

impl Deref for Id<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for Id<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One node of a session, as it is kept there.
#[derive(Clone, Copy)]
pub struct Record<'g> {
    graph: &'g Graph,
    number: RecordId,
    row: Row,
}

impl<'g> Record<'g> {
    /// Its id: a truncated hash over everything that makes it what it is.
    #[must_use]
    pub fn id(&self) -> Id<'g> {
        match self.graph.rows.id_by_hand(self.number) {
            Some(id) => Id::Given(id),
            None => Id::Made(hex(&self.graph.trail.of_record(self.number))),
        }
    }

    /// What kind of part it came from.
    #[must_use]
    pub fn kind(&self) -> RecordKind {
        self.row.kind
    }

    /// Who produced it.
    #[must_use]
    pub fn role(&self) -> Role {
        self.row.role
    }

    /// Text, or ordinary JSON, or nothing.
    #[must_use]
    pub fn contents(&self) -> &'g str {
        self.graph.rows.contents.get(self.number.0 as usize)
    }

    /// `[]`, or the calls of the part: `[{"arguments":"…","name":"pay"}]`.
    #[must_use]
    pub fn tools_json(&self) -> Text {
        if self.row.kind == RecordKind::Call
            && let Some(call) = self.graph.book.of_record(self.number)
        {
            return tools([(call.name.as_str(), call.arguments.as_str())].into_iter());
        }
        self.graph.rows.tools.get(self.number.0).map_or(NO_CALLS, Text::from)
    }

    /// The event's author.
    #[must_use]
    pub fn agent(&self) -> &'g str {
        let by_hand = self.graph.rows.hand(self.number).map(|hand| hand.agent);
        let author = || self.graph.rows.origin(self.row.origin).map(|origin| origin.author);
        self.name(by_hand.or_else(author))
    }

    /// Its own label; may be empty.
    #[must_use]
    pub fn entity(&self) -> &'g str {
        self.name(self.graph.rows.hand(self.number).map(|hand| hand.entity))
    }

    /// The authenticated recorder; may be empty.
    #[must_use]
    pub fn principal(&self) -> &'g str {
        self.name(self.graph.rows.hand(self.number).map(|hand| hand.principal))
    }

    /// Canonical JSON of the part. It is written anew where it follows from the rest, which costs as much as it is long.
    #[must_use]
    pub fn metadata(&self) -> Option<Text> {
        match self.row.form {
            Form::None => None,
            Form::Kept => self.graph.rows.metadata.get(self.number.0).map(Text::from),
            Form::Words => metadata::encode(vec![("text", Field::Text(self.contents()))]).ok(),
            Form::Thought => {
                let fields = vec![("text", Field::Text(self.contents())), ("thought", Field::True)];
                metadata::encode(fields).ok()
            }
            Form::Call => {
                let call = self.graph.book.of_record(self.number)?;
                self.of_call("function_call", ("args", &call.arguments))
            }
            Form::Answer => self.of_call("function_response", ("response", self.contents())),
        }
    }

    fn of_call(&self, name: &str, (field, value): (&str, &str)) -> Option<Text> {
        let call = self.graph.book.of_record(self.number)?;
        let value: Json = json::parse(value).ok()?;
        let mut inner = vec![(field, Field::Value(&value))];
        metadata::add_named(&mut inner, &call.id, &call.name);
        metadata::encode(vec![(name, Field::Object(inner))]).ok()
    }

    /// Where it came from, where that is known.
    #[must_use]
    pub fn event(&self) -> Option<RecordEvent> {
        let (rows, id) = (&self.graph.rows, self.row.origin?);
        let origin = rows.origin(Some(id))?;
        let seq = rows.hand(self.number).map_or(i64::from(self.number.0), |hand| hand.seq);
        Some(RecordEvent {
            event_id: rows.event_id(id).into(),
            invocation_id: self.name(Some(origin.invocation)).into(),
            author: self.name(Some(origin.author)).into(),
            branch: self.name(Some(origin.branch)).into(),
            seq,
            time: rows.time(id),
            number: origin.number.map(|number| number.get() as usize - 1),
        })
    }

    /// Number of its event in its file, from 0, where that is known.
    #[must_use]
    pub fn event_number(&self) -> Option<usize> {
        self.graph.rows.origin(self.row.origin)?.number.map(|number| number.get() as usize - 1)
    }

    fn name(&self, name: Option<Name>) -> &'g str {
        name.map_or("", |name| self.graph.sight.text(name))
    }
}

impl fmt::Debug for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record")
            .field("id", &self.id().as_str())
            .field("kind", &self.kind())
            .field("contents", &self.contents())
            .field("tools_json", &self.tools_json())
            .field("agent", &self.agent())
            .field("role", &self.role())
            .field("entity", &self.entity())
            .field("principal", &self.principal())
            .field("metadata", &self.metadata())
            .field("event", &self.event())
            .finish()
    }
}

impl PartialEq for Record<'_> {
    fn eq(&self, other: &Self) -> bool {
        *self.id() == *other.id()
            && (self.kind(), self.role()) == (other.kind(), other.role())
            && (self.contents(), self.tools_json()) == (other.contents(), other.tools_json())
            && (self.agent(), self.entity(), self.principal())
                == (other.agent(), other.entity(), other.principal())
            && (self.metadata(), self.event()) == (other.metadata(), other.event())
    }
}

/// The records of a graph, by [`RecordId`].
#[derive(Clone, Copy)]
pub struct Records<'g> {
    graph: &'g Graph,
}

impl<'g> Records<'g> {
    pub(crate) fn of(graph: &'g Graph) -> Self {
        Self { graph }
    }

    /// Number of records.
    #[must_use]
    pub fn len(self) -> usize {
        self.graph.rows.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The record of that number.
    #[must_use]
    pub fn get(self, number: usize) -> Option<Record<'g>> {
        let row = *self.graph.rows.rows.get(number)?;
        Some(Record { graph: self.graph, number: RecordId(u32::try_from(number).ok()?), row })
    }

    /// The newest record.
    #[must_use]
    pub fn last(self) -> Option<Record<'g>> {
        self.get(self.len().checked_sub(1)?)
    }

    /// The records in order.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Record<'g>> + ExactSizeIterator + Clone {
        (0..self.len()).map(move |number| Record {
            graph: self.graph,
            number: RecordId(u32::try_from(number).unwrap_or(u32::MAX)),
            row: self.graph.rows.rows.get(number).copied().unwrap_or(NOTHING),
        })
    }
}

/// Stands where no record is.
const NOTHING: Row = Row { kind: RecordKind::Resource, role: Role::Agent, form: Form::None, origin: None };

impl fmt::Debug for Records<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl PartialEq for Records<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

/// A time in UTC as RFC 3339 writes it, in 64 bits; 0 for any other text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Packed(u64);

/// Bits of each number of a time, and how many digits it has.
const PARTS: [(u32, usize); 6] = [(14, 4), (4, 2), (5, 2), (5, 2), (6, 2), (6, 2)];
/// What stands after each of them.
const MARKS: [u8; 5] = *b"--T::";
/// Bits of a fraction, which has six digits at most, and of their number.
const FRACTION: (u32, u32) = (20, 3);

impl Packed {
    /// None for a text that would not come back as it is.
    fn of(text: &str) -> Option<Self> {
        let mut rest = text.as_bytes();
        // A one before it all: no time is 0.
        let mut packed = 1_u64;
        for (at, (bits, digits)) in PARTS.into_iter().enumerate() {
            let value = number(rest.get(..digits)?).filter(|&value| value < 1 << bits)?;
            packed = packed << bits | value;
            rest = rest.get(digits..)?;
            if let Some(mark) = MARKS.get(at) {
                rest = rest.strip_prefix(std::slice::from_ref(mark))?;
            }
        }
        let rest = rest.strip_suffix(b"Z")?;
        let fraction =
            if rest.is_empty() { rest } else { rest.strip_prefix(b".").filter(|f| !f.is_empty())? };
        let digits = u64::try_from(fraction.len()).ok().filter(|&digits| digits <= 6)?;
        let value = number(fraction)?;
        Some(Self((packed << FRACTION.0 | value) << FRACTION.1 | digits))
    }

    fn text(self) -> Option<Text> {
        use std::fmt::Write as _;
        if self.0 == 0 {
            return None;
        }
        let mut rest = self.0;
        let mut take = |bits: u32| {
            let value = rest & ((1 << bits) - 1);
            rest >>= bits;
            value
        };
        let digits = usize::try_from(take(FRACTION.1)).ok()?;
        let fraction = take(FRACTION.0);
        let [second, minute, hour, day, month, year] = [6, 6, 5, 5, 4, 14].map(take);
        let mut out = Text::with_capacity(27);
        // Writing to a text cannot fail.
        let _ = write!(out, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
        if digits > 0 {
            let _ = write!(out, ".{fraction:0digits$}");
        }
        out.push('Z');
        Some(out)
    }
}

/// The number that these digits, and nothing else, write; 0 for none.
fn number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |number, digit| {
        digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_packed_only_where_it_comes_back_as_it_was() {
        for time in ["2026-09-21T14:13:20.512Z", "9999-12-31T23:59:60Z", "0000-00-00T00:00:00.000001Z"] {
            assert_eq!(Packed::of(time).and_then(Packed::text).as_deref(), Some(time));
        }
        for other in [
            "",
            "2026-09-21T14:13:20",
            "2026-09-21T14:13:20.Z",
            "2026-09-21T14:13:20.1234567Z",
            "2026-09-21 14:13:20Z",
            "2026-09-21T14:13:20+00:00",
            "2026-16-21T14:13:20Z",
            "é026-09-21T14:13:20Z",
        ] {
            assert_eq!(Packed::of(other), None, "{other}");
        }
    }
}
