//! The `gatelog` binary.

/// Records and rows are many small texts, which this allocator hands out faster than the system's. It asks for no huge
/// pages: to clear one costs more than a short session does, and most of it is never touched.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    gatelog::cli::run()
}
