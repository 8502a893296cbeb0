//! How a command ended.

use std::process::ExitCode;

/// How a command ended, as its exit code says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// 0: all is allowed, all passed.
    Done,
    /// 1: something was denied, needs an answer, failed; or there are warnings and they were not wanted.
    Refused,
    /// 2: the policy, the input or the command line is broken, or a session stopped.
    Broken,
    /// 3: nothing was checked.
    Nothing,
}

impl Exit {
    /// The number.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Refused => 1,
            Self::Broken => 2,
            Self::Nothing => 3,
        }
    }

    /// Of two ends, the one that counts: what could not be checked is graver than what was refused, and both are graver
    /// than that nothing was there.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let gravity = |exit: Self| match exit {
            Self::Done => 0,
            Self::Nothing => 1,
            Self::Refused => 2,
            Self::Broken => 3,
        };
        if gravity(other) > gravity(self) { other } else { self }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}
