//! `gatelog eval`

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::cli::arguments::Eval;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::files;
use crate::cli::policy::{self, Audience};
use crate::plain::{self, FactFiles, Place, PlainError, Target, Written};
use crate::program::{Prelude, Program};
use crate::report::findings::findings;
use crate::report::json::FileError;
use crate::report::visible::visible;

/// Runs a program and writes its outputs. Nothing is written unless all of it succeeded.
pub(crate) fn run(flags: &Eval, quiet: bool, console: &mut Console<'_>) -> Exit {
    let prelude = if flags.no_prelude { Prelude::Absent } else { Prelude::Loaded };
    let program = match policy::check_plain(&flags.program, prelude, console) {
        Ok(program) => program,
        Err(no) => return policy::report(&no, Audience::People, console),
    };
    if !quiet && !program.warnings.is_empty() {
        let text = findings(&program.sources, &program.warnings, console.color());
        console.say(&text);
    }
    let folder = flags.outputs.as_deref().filter(|folder| folder.as_os_str() != "-");
    let target = if folder.is_some() { Target::Files } else { Target::Standard };
    let channels = match plain::channels(&program, target) {
        Ok(channels) => channels,
        Err(faults) => {
            let text = findings(&program.sources, &faults, console.color());
            console.say(&text);
            return Exit::Broken;
        }
    };
    let mut facts = FactFolder { folder: &flags.facts, console };
    let written = match plain::run(&program, &channels, &mut facts, flags.budget.budget()) {
        Ok(written) => written,
        Err(error) => return failed(&program, &error, console),
    };
    match write(&written, folder, console) {
        Ok(()) => Exit::Done,
        Err(error) => {
            policy::report_file(&error, Audience::People, console);
            Exit::Broken
        }
    }
}

fn failed(program: &Program, error: &PlainError, console: &mut Console<'_>) -> Exit {
    let (at, exit) = match error {
        PlainError::Evaluation(error) => (error.span, Exit::Refused),
        PlainError::Missing { .. } | PlainError::Faulty { .. } => (None, Exit::Broken),
    };
    let at = at.map_or_else(String::new, |span| {
        let place = program.sources.place(span);
        format!("{}:{}:{}: ", program.sources.file(span.file).name, place.line, place.column)
    });
    console.say(&format!("error: {}\n", visible(&format!("{at}{error}"))));
    exit
}

/// The folder of fact files.
struct FactFolder<'a, 'c> {
    folder: &'a Path,
    console: &'a mut Console<'c>,
}

impl FactFiles for FactFolder<'_, '_> {
    fn read(&mut self, place: &Place) -> Result<Vec<u8>, String> {
        let bytes = match place {
            Place::Standard => files::bytes(Path::new("-"), self.console),
            Place::File(name) => files::inside(self.folder, name).and_then(|path| files::file_bytes(&path)),
        };
        bytes.map_err(|error| error.text)
    }
}

/// Writes each file once: what one relation adds to a file of another stands below.
fn write(written: &[Written], folder: Option<&Path>, console: &mut Console<'_>) -> Result<(), FileError> {
    let mut texts: BTreeMap<PathBuf, String> = BTreeMap::new();
    for output in written {
        match (&output.place, folder) {
            (Place::File(name), Some(_)) => {
                texts.entry(PathBuf::from(name)).or_default().push_str(&output.text);
            }
            (Place::Standard, _) | (Place::File(_), None) => console.print(&output.text),
        }
    }
    if let Some(folder) = folder {
        files::make_folder(folder)?;
        for (name, text) in &texts {
            files::write_inside(folder, name, text)?;
        }
    }
    Ok(())
}
