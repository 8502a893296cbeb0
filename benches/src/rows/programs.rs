//! The programs that rows run as processes of their own.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fault::{Fault, Outcome};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs cargo with this profile, or without one where this program has none of its own either. Both profiles build into one
/// folder.
fn build(profile: &str, arguments: &[&str]) -> Outcome<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root()).args(["build", "--quiet", "--locked"]).args(arguments);
    if !cfg!(debug_assertions) {
        command.args(["--profile", profile]);
    }
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(Fault::new(format!("cargo build ended with {status}"))) }
}

/// The folder that this program was built into.
fn folder() -> Outcome<PathBuf> {
    let own = std::env::current_exe()?;
    own.parent().map(Path::to_owned).ok_or_else(|| Fault::new("this program lies in no folder"))
}

/// A program of this folder, built with the features of this one.
///
/// # Errors
/// Where it cannot be built.
pub fn own(name: &str) -> Outcome<PathBuf> {
    let mut arguments = vec!["-p", "gatelog-bench", "--bin", name];
    if !cfg!(feature = "peers") {
        arguments.push("--no-default-features");
    }
    build("bench", &arguments)?;
    Ok(folder()?.join(name))
}

/// The program that is shipped.
///
/// # Errors
/// Where it cannot be built.
pub fn shipped() -> Outcome<PathBuf> {
    build("release", &["-p", "gatelog", "--bin", "gatelog"])?;
    Ok(folder()?.join("gatelog"))
}

/// What a program prints.
///
/// # Errors
/// Where it ends otherwise than it should.
pub fn printed(program: &Path, arguments: &[&str]) -> Outcome<String> {
    let output = Command::new(program).args(arguments).output()?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(Fault::new(format!("{} ended with {}: {words}", program.display(), output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
