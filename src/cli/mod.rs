//! The command line.

/// Runs the command that the arguments name.
#[must_use]
pub fn run() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
