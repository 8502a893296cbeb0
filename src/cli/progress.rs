//! How far a long work is, for whoever waits for it at a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar on standard error for work over a second; where that is no terminal, nothing.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    drawn: bool,
}

impl Progress {
    /// A bar for that many files. For one file, or where nothing but errors is wanted, there is none.
    pub(crate) fn over(files: usize, quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(Some(files as u64), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos} of {len} files, {eta} left") {
            bar.set_style(style);
        }
        Self { bar, drawn: files < 2 || quiet }
    }

    /// One file more is done.
    pub(crate) fn step(&mut self) {
        if !self.drawn && self.bar.elapsed() > Duration::from_secs(1) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.drawn = true;
        }
        self.bar.inc(1);
    }

    /// Writes something without the bar in its way.
    pub(crate) fn aside(&self, write: impl FnOnce()) {
        self.bar.suspend(write);
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
