//! The `gatelog` binary.

fn main() -> std::process::ExitCode {
    gatelog::cli::run()
}
