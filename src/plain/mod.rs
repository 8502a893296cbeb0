//! Plain Datalog: a checked program and its fact files to what it puts out.
//!
//! In: a [`Program`], the [`Channel`]s that its `.input`, `.output` and `.printsize` ask for, the bytes of fact files. Out:
//! texts, each with the place where it belongs. Never: opens a file, or knows a session.

mod channel;
mod read;
mod value;
mod write;

pub use channel::{Channel, Format, Place, Task, channels};
pub use read::FactFault;

use crate::engine::Budget;
use crate::engine::Database;
use crate::engine::Engine;
use crate::engine::EvalError;
use crate::engine::Hosted;
use crate::engine::Progress;
use crate::lineage::Lineage;
use crate::program::Program;
use crate::program::RelationId;

/// Where the bytes of fact files come from: filled by whoever may open files.
pub trait FactFiles {
    /// The bytes of an input.
    ///
    /// # Errors
    /// Says why there are none, in words.
    fn read(&mut self, place: &Place) -> Result<Vec<u8>, String>;
}

/// Where what a program puts out without naming a place goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Each relation to a file of its own.
    Files,
    /// All to standard output, files that the program names among them.
    Standard,
}

/// One output of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Where it belongs.
    pub place: Place,
    /// All of it.
    pub text: String,
}

/// Why a program has no output.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlainError {
    /// A fact file cannot be had.
    #[error("facts of `{relation}`: {why}")]
    Missing {
        /// The relation.
        relation: String,
        /// In words.
        why: String,
    },
    /// A fact file holds something else than facts of its relation.
    #[error("facts of `{relation}`: {name}:{}:{}: {}", fault.line, fault.column, fault.what)]
    Faulty {
        /// The relation.
        relation: String,
        /// The file.
        name: String,
        /// What is wrong with it.
        fault: FactFault,
    },
    /// Evaluation failed.
    #[error("{0}")]
    Evaluation(#[from] EvalError),
}

/// Reads the inputs, evaluates what the outputs need, and writes the outputs in the order of the text. A relation's rows
/// are sorted: numbers by value, everything else as text.
///
/// ```
/// use gatelog::engine::Budget;
/// use gatelog::plain::{FactFiles, Place, Target, channels, run};
/// use gatelog::program::{NoIncludes, Prelude, check_plain};
///
/// struct NoFacts;
/// impl FactFiles for NoFacts {
///     fn read(&mut self, _place: &Place) -> Result<Vec<u8>, String> {
///         Err("there is no such file".to_owned())
///     }
/// }
/// let text = ".decl A(x: number) A(1). A(x + 1) :- A(x), x < 3. .output A(IO=stdout)";
/// let program = check_plain(&[("a.dl".to_owned(), text.to_owned())], Prelude::Absent, &mut NoIncludes).unwrap();
/// let channels = channels(&program, Target::Files).unwrap();
/// let written = run(&program, &channels, &mut NoFacts, Budget::default()).unwrap();
/// assert!(written[0].text.contains("\n1\n2\n3\n"));
/// ```
///
/// # Errors
/// The first input at fault, else the evaluation error met or the budget that ran out.
pub fn run(
    program: &Program,
    channels: &[Channel],
    files: &mut dyn FactFiles,
    budget: Budget,
) -> Result<Vec<Written>, PlainError> {
    let engine = Engine::new(program, &Hosted::default());
    let mut database = engine.database();
    for channel in channels.iter().filter(|channel| channel.task == Task::Read) {
        input(program, channel, files, &mut database)?;
    }
    let roots: Vec<RelationId> = channels
        .iter()
        .filter(|channel| channel.task != Task::Read)
        .map(|channel| channel.relation)
        .collect();
    let (lineage, mut progress) = (Lineage::default(), Progress::default());
    let agenda = engine.agenda(program, &roots);
    engine.feed(program, &mut database, &lineage, &mut progress, &agenda, budget)?;
    engine.evaluate(program, &mut database, &lineage, &agenda, budget)?;
    let mut written = Vec::new();
    for channel in channels {
        let rows = match channel.task {
            Task::Read => continue,
            Task::Write | Task::Count => engine.list(program, &mut database, &lineage, channel.relation),
        };
        let text = write::output(program, channel, rows, &database.pool).ok_or_else(|| {
            let name = program.schema(channel.relation).map_or("", |relation| relation.name.as_str());
            EvalError { what: format!("`{name}` holds a value that is too large to be written"), span: None }
        })?;
        written.push(Written { place: channel.place.clone(), text });
    }
    Ok(written)
}

fn input(
    program: &Program,
    channel: &Channel,
    files: &mut dyn FactFiles,
    database: &mut Database,
) -> Result<(), PlainError> {
    let name = program.schema(channel.relation).map_or("", |relation| relation.name.as_str());
    let relation = || name.to_owned();
    let bytes =
        files.read(&channel.place).map_err(|why| PlainError::Missing { relation: relation(), why })?;
    read::input(program, channel, &bytes, database).map_err(|fault| PlainError::Faulty {
        relation: relation(),
        name: channel.place.name().to_owned(),
        fault,
    })
}
