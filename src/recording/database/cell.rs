//! One value of a row.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::json::Json;
use crate::recording::StopKind;
use crate::recording::database::Time;
use crate::recording::fields::Wrong;
use crate::recording::scan::Span;
use crate::recording::strict;
use crate::recording::time;

/// One value of a row, as it is stored: a column of SQLite may hold any kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// NULL
    Null,
    /// An integer.
    Integer(i64),
    /// A double.
    Real(f64),
    /// A text. Nothing says that it is UTF-8.
    Text(Vec<u8>),
    /// Bytes.
    Blob(Vec<u8>),
}

impl Cell {
    /// The text of a text that is UTF-8.
    #[must_use]
    pub fn plain_text(&self) -> Option<String> {
        match self {
            Self::Text(bytes) => String::from_utf8(bytes.clone()).ok(),
            Self::Null | Self::Integer(_) | Self::Real(_) | Self::Blob(_) => None,
        }
    }

    /// The time it says, as RFC 3339 in UTC; empty where it says none.
    #[must_use]
    pub fn moment(&self) -> String {
        self.time().map(|(time, _)| time.to_string()).unwrap_or_default()
    }

    /// What it is, in words.
    #[must_use]
    pub fn words(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Integer(_) | Self::Real(_) => "a number",
            Self::Text(_) => "text",
            Self::Blob(_) => "bytes",
        }
    }

    /// How many bytes it takes.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::Null | Self::Integer(_) | Self::Real(_) => 8,
            Self::Text(bytes) | Self::Blob(bytes) => bytes.len(),
        }
    }

    fn wrong(&self, column: &str, wanted: &str) -> Wrong {
        Wrong::new(StopKind::BadShape, format!("`{column}` holds {} and not {wanted}", self.words()))
    }

    /// The text of a column; none for NULL.
    pub(crate) fn text(&self, column: &str) -> Result<Option<String>, Wrong> {
        match self {
            Self::Null => Ok(None),
            Self::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(Some(text.to_owned())),
                Err(_) => Err(Wrong::new(StopKind::BadUnicode, format!("`{column}` is not UTF-8"))),
            },
            Self::Integer(_) | Self::Real(_) | Self::Blob(_) => Err(self.wrong(column, "text")),
        }
    }

    /// The truth value of a column.
    pub(crate) fn flag(&self, column: &str) -> Result<Json, Wrong> {
        match self {
            Self::Null => Ok(Json::Null),
            Self::Integer(0) => Ok(Json::Bool(false)),
            Self::Integer(1) => Ok(Json::Bool(true)),
            Self::Integer(_) | Self::Real(_) | Self::Text(_) | Self::Blob(_) => {
                Err(Wrong::new(StopKind::BadShape, format!("`{column}` holds something else than 0 or 1")))
            }
        }
    }

    /// The JSON in the text of a column; null for NULL.
    pub(crate) fn json(&self, column: &str) -> Result<Json, Wrong> {
        match self {
            Self::Null => Ok(Json::Null),
            Self::Text(bytes) => parsed(bytes, column),
            Self::Integer(_) | Self::Real(_) | Self::Blob(_) => Err(self.wrong(column, "JSON as text")),
        }
    }

    /// The time of a column: a text with or without a zone, or a number of seconds or milliseconds.
    pub(crate) fn time(&self) -> Option<Time> {
        let number = |digits: String| Some((time::instant_of(&Json::Number(digits.into()))?, false));
        match self {
            Self::Integer(value) => number(value.to_string()),
            Self::Real(value) if value.is_finite() => number(format!("{value:?}")),
            Self::Text(bytes) => {
                let text = std::str::from_utf8(bytes).ok()?;
                if let Ok(time) = text.parse::<Timestamp>() {
                    return Some((time, false));
                }
                let civil = text.parse::<DateTime>().ok()?;
                let time = TimeZone::UTC.to_timestamp(civil).ok()?;
                Some((time, true))
            }
            Self::Null | Self::Real(_) | Self::Blob(_) => None,
        }
    }
}

/// Strict JSON that fills all of the bytes.
pub(crate) fn parsed(bytes: &[u8], column: &str) -> Result<Json, Wrong> {
    strict::parse(bytes, Span { start: 0, end: bytes.len() }).map_err(|flaw| {
        let wrong = flaw.wrong();
        Wrong { text: format!("`{column}`: {}", wrong.text), ..wrong }
    })
}

/// A time as the number of its seconds.
pub(crate) fn seconds(time: Timestamp) -> Json {
    let nanoseconds = time.as_nanosecond();
    let (whole, rest) = (nanoseconds / 1_000_000_000, (nanoseconds % 1_000_000_000).abs());
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let fraction = format!("{rest:09}");
    let fraction = fraction.trim_end_matches('0');
    let fraction = if fraction.is_empty() { "0" } else { fraction };
    Json::Number(format!("{sign}{}.{fraction}", whole.abs()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_every_library() {
        let text = |text: &str| Cell::Text(text.into());
        let rows = [
            (text("2026-11-30 14:06:26.794673"), "2026-11-30T14:06:26.794673Z", true),
            (text("2026-11-30 14:06:26"), "2026-11-30T14:06:26Z", true),
            (text("2026-11-30T14:11:56.076684531+00:00"), "2026-11-30T14:11:56.076684531Z", false),
            (text("2026-11-30 15:06:26.5+01:00"), "2026-11-30T14:06:26.5Z", false),
            (Cell::Real(1_796_047_564.208_969), "2026-11-30T14:06:04.208969Z", false),
            (Cell::Integer(1_796_047_577_718), "2026-11-30T14:06:17.718Z", false),
        ];
        for (cell, time, without_zone) in rows {
            let found = cell.time().map(|(time, bare)| (time.to_string(), bare));
            assert_eq!(found, Some((time.to_owned(), without_zone)), "{cell:?}");
        }
        for cell in [Cell::Null, Cell::Real(f64::NAN), text("yesterday"), text(""), Cell::Blob(vec![1])] {
            assert_eq!(cell.time(), None, "{cell:?}");
        }
    }

    #[test]
    fn seconds_keep_their_digits() {
        let rows = [(1_796_047_586_794_673_000, "1796047586.794673"), (-1_500_000_000, "-1.5"), (0, "0.0")];
        for (nanoseconds, text) in rows {
            let time = Timestamp::from_nanosecond(nanoseconds).unwrap();
            assert_eq!(seconds(time), Json::Number(text.into()));
        }
    }
}
