//! Programs written by hand for one question: what the hardware allows.

pub mod adjacency;
pub mod bfs;
pub mod mask;
pub mod parse;
pub mod sets;

pub use adjacency::Adjacency;

/// Tools that the questions speak of, each with a bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tools(u8);

impl Tools {
    /// No tool.
    pub const NONE: Self = Self(0);
    /// `read_confidential`
    pub const CONFIDENTIAL: Self = Self(1);
    /// `redact`
    pub const REDACT: Self = Self(2);
    /// Any other.
    pub const OTHER: Self = Self(4);

    /// The bit of a tool.
    #[must_use]
    pub fn of(name: &str) -> Self {
        match name {
            "read_confidential" => Self::CONFIDENTIAL,
            "redact" => Self::REDACT,
            _ => Self::OTHER,
        }
    }

    /// Both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether they share one.
    #[must_use]
    pub fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// The arguments of a payment.
#[derive(Debug, serde::Deserialize)]
struct Payment<'a> {
    amount: i64,
    #[serde(borrow)]
    to: &'a str,
}

/// Whether the payment is one that is asked about: more than 100, to somebody.
#[must_use]
pub fn is_large(arguments: &str) -> bool {
    serde_json::from_str::<Payment<'_>>(arguments)
        .is_ok_and(|payment| payment.amount > 100 && !payment.to.is_empty())
}
