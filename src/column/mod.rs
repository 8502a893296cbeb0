//! Lists of a session that only grow, in little more room than what they hold.
//!
//! In: entries and texts, one after another. Out: the same by their places. Never: moves an entry to a larger place, or
//! forgets one.
//!
//! ```
//! use gatelog::column::{Column, Texts};
//! let (mut numbers, mut texts) = (Column::default(), Texts::default());
//! numbers.push(7);
//! texts.push("seven");
//! assert_eq!((numbers.get(0), texts.get(0)), (Some(&7), "seven"));
//! ```

mod chunks;
mod texts;

pub use chunks::Column;
pub use texts::Texts;
