//! The `gatelog` binary.

/// Records and rows are many small texts, which this allocator hands out faster than the system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    gatelog::cli::run()
}
