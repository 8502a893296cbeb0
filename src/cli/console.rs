//! Where a command reads and writes.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};

use crate::cli::files::read_to;
use crate::report::text::Color;

/// The streams of a command. Writing goes on as if nothing had happened once the reader of a pipe is gone.
pub struct Console<'a> {
    input: &'a mut dyn Read,
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    color: Color,
    gone: bool,
    fault: Option<io::Error>,
}

impl fmt::Debug for Console<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Console").field("color", &self.color).finish_non_exhaustive()
    }
}

impl<'a> Console<'a> {
    /// A console on these streams; colour is for both.
    pub fn new(
        input: &'a mut dyn Read,
        out: &'a mut dyn Write,
        err: &'a mut dyn Write,
        color: Color,
    ) -> Self {
        Self { input, out, err, color, gone: false, fault: None }
    }

    /// Whether text may carry colour.
    #[must_use]
    pub fn color(&self) -> Color {
        self.color
    }

    /// All of the input.
    ///
    /// # Errors
    /// Where it cannot be read, or has more bytes than `most`.
    pub fn read(&mut self, most: u64) -> io::Result<Vec<u8>> {
        read_to(self.input, most)
    }

    /// Writes a result.
    pub fn print(&mut self, text: &str) {
        if self.gone || self.fault.is_some() {
            return;
        }
        match self.out.write_all(text.as_bytes()) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::BrokenPipe => self.gone = true,
            Err(error) => self.fault = Some(error),
        }
    }

    /// Writes what is said beside the result.
    pub fn say(&mut self, text: &str) {
        // There is nowhere left to say that this cannot be said.
        let _ = self.err.write_all(text.as_bytes());
    }

    /// Hands over what is still held back; none where the result could not be written.
    pub fn finish(&mut self) -> Option<()> {
        if let Err(error) = self.out.flush()
            && error.kind() != ErrorKind::BrokenPipe
        {
            self.fault.get_or_insert(error);
        }
        let Some(error) = self.fault.take() else { return Some(()) };
        self.say(&format!("error: the result cannot be written: {}\n", error.kind()));
        None
    }
}
