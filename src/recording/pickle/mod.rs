//! Pickled actions of events to JSON, by reading and never by running.
//!
//! A pickle is a program for a small machine whose opcodes can call anything that has a name. Here only the opcodes that
//! make data are followed, and a short list of classes is known by its shape; whatever else a pickle names is refused with
//! its name. Time and memory are linear in the length of the pickle.

mod class;
mod heap;
mod machine;
mod moment;
mod number;
mod unfold;

use crate::json::Json;
use crate::recording::StopKind;
use crate::recording::fields::Wrong;

/// Bytes of the longest pickle that is read.
const LONGEST: usize = 16 << 20;

/// Why a pickle is not read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    kind: StopKind,
    text: String,
}

impl Fault {
    fn new(kind: StopKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }

    fn shape(text: impl Into<String>) -> Self {
        Self::new(StopKind::BadShape, text)
    }

    /// What is said of `name`, which is something that may not be called, made or changed.
    fn refused(what: &str, class: &class::Class) -> Self {
        let text = format!("{what} `{}.{}`, which is not done here", class.module, class.name);
        Self::new(StopKind::UnencodableValue, text)
    }
}

/// What a pickle of an event's actions holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unpickled {
    /// The actions as an object; none where the pickle says `None`.
    pub(crate) actions: Option<Json>,
    /// Whether a value is in it that JSON cannot hold, and that a wrapper stands for.
    pub(crate) wrapped: bool,
}

/// Reads the pickled actions of an event.
///
/// A value of user data that JSON cannot hold becomes an object of one key that says what it is: `bytes`, `bytearray`,
/// `tuple`, `set`, `frozenset`, `surrogates`, or `py:module:name`. A dictionary that looks like such an object, or has keys
/// that are no texts, stands under `py:builtins:dict` with the kind of each key before it, so that no data can imitate a
/// wrapper. Credentials are left out.
pub(crate) fn actions(bytes: &[u8]) -> Result<Unpickled, Wrong> {
    let read = || {
        if bytes.len() > LONGEST {
            return Err(Fault::new(
                StopKind::TooLarge,
                format!("it has more than {LONGEST} bytes, which is the most that is read"),
            ));
        }
        let (heap, root) = machine::run(bytes)?;
        unfold::actions(&heap, root, bytes.len())
    };
    read().map_err(|fault| {
        Wrong::new(fault.kind, format!("the pickle in `actions` cannot be read: {}", fault.text))
    })
}
