//! Soufflé, compiled, where it is installed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use tempfile::TempDir;

use crate::fault::{Fault, Outcome};
use crate::ours::Answer;
use crate::peers::Facts;

const PROGRAM: &str = "
.decl edge(dest: unsigned, source: unsigned)
.input edge
.decl current(record: unsigned)
.input current
.decl barred(record: unsigned)
.input barred
.decl wanted(record: unsigned)
.input wanted
.decl reached(record: unsigned)
reached(record) :- current(record).
reached(source) :- reached(dest), edge(dest, source), !barred(source).
.decl found(record: unsigned)
found(record) :- reached(record), wanted(record).
.output found
";

/// The program, compiled once.
#[derive(Debug)]
pub struct Souffle {
    folder: TempDir,
    program: PathBuf,
}

/// Whether `souffle` can be run.
#[must_use]
pub fn is_installed() -> bool {
    Command::new("souffle").arg("--version").output().is_ok_and(|output| output.status.success())
}

impl Souffle {
    /// Compiles the program.
    ///
    /// # Errors
    /// Where that fails.
    pub fn new() -> Outcome<Self> {
        let folder = tempfile::tempdir()?;
        let (text, program) = (folder.path().join("walk.dl"), folder.path().join("walk"));
        std::fs::write(&text, PROGRAM)?;
        let status = Command::new("souffle").arg("-o").arg(&program).arg(&text).status()?;
        if !status.success() {
            return Err(Fault::new(format!("souffle ended with {status} when it compiled the program")));
        }
        Ok(Self { folder, program })
    }

    /// Writes the facts that the next runs read.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn load(&self, facts: &Facts) -> Outcome<()> {
        let edges = facts.edges.iter().fold(String::new(), |mut text, (dest, source)| {
            let _ = writeln!(text, "{dest}\t{source}");
            text
        });
        std::fs::write(self.file("edge.facts"), edges)?;
        let named = [("current", &facts.current), ("barred", &facts.barred), ("wanted", &facts.wanted)];
        for (name, records) in named {
            let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
            std::fs::write(self.file(&format!("{name}.facts")), lines)?;
        }
        Ok(())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs it as a process of its own: the answer, and the seconds.
    ///
    /// # Errors
    /// Where it fails.
    pub fn answer(&self) -> Outcome<(Answer, f64)> {
        let folder: &Path = self.folder.path();
        let begin = Instant::now();
        let status = Command::new(&self.program).arg("-F").arg(folder).arg("-D").arg(folder).status()?;
        let took = begin.elapsed().as_secs_f64();
        if !status.success() {
            return Err(Fault::new(format!("the program that souffle compiled ended with {status}")));
        }
        let found = std::fs::read_to_string(self.file("found.csv"))?;
        Ok((Answer::unless(!found.trim().is_empty()), took))
    }
}
