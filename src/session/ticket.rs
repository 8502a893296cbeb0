//! Tickets: the names of checks, each for one use, which nobody guesses.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use crate::recording::journal::{Answer, Mode, Question, Word};
use crate::records::{Approval, CallNumber, UnseenNumber};
use crate::session::SessionError;
use crate::session::asking::{Asked, Considered};

/// What a check was about, and what became of it.
#[derive(Debug)]
pub(crate) struct Ticket {
    pub(crate) name: String,
    pub(crate) verdict: Word,
    /// What the gate did with its verdict.
    pub(crate) mode: Mode,
    /// The recorded call, where it is known.
    pub(crate) call: Option<CallNumber>,
    /// The call, where it was let run and is in no event.
    pub(crate) unseen: Option<UnseenNumber>,
    pub(crate) asked: Asked,
    /// The rules that the answer named: what a person who is asked was shown.
    pub(crate) rules: Vec<String>,
    /// The answer of a person with which it was allowed.
    pub(crate) approval: Option<Approval>,
    /// What it asked about, for reads.
    pub(crate) question: Question,
    /// Whether the call ended.
    pub(crate) used: bool,
    /// Whether a person answered.
    pub(crate) confirmed: bool,
}

impl Ticket {
    pub(crate) fn new(
        considered: &Considered,
        question: &Question,
        answer: &Answer,
        approval: Option<Approval>,
        mode: Mode,
    ) -> Self {
        Self {
            name: answer.ticket.clone(),
            verdict: answer.verdict,
            mode,
            call: considered.call(),
            unseen: None,
            asked: considered.asked().clone(),
            approval,
            question: question.clone(),
            rules: answer.rules.clone(),
            used: false,
            confirmed: false,
        }
    }
}

/// All tickets of a session.
#[derive(Debug)]
pub(crate) struct Tickets {
    secret: String,
    count: u64,
    all: BTreeMap<String, Ticket>,
}

impl Tickets {
    pub(crate) fn new(secret: &str) -> Self {
        Self { secret: secret.to_owned(), count: 0, all: BTreeMap::new() }
    }

    /// The name of the check that comes next.
    pub(crate) fn peek(&self) -> String {
        let hash = Sha256::digest(format!("{}:{}", self.count, self.secret));
        let digits = hash.iter().take(8).map(|byte| format!("{byte:02x}"));
        format!("{}-{}", self.count, digits.collect::<String>())
    }

    /// The same, and moves on.
    pub(crate) fn next(&mut self) -> String {
        let name = self.peek();
        self.count += 1;
        name
    }

    /// Gives the newest name back, which nobody got.
    pub(crate) fn withdraw(&mut self) {
        self.count = self.count.saturating_sub(1);
    }

    pub(crate) fn add(&mut self, ticket: Ticket) {
        self.all.insert(ticket.name.clone(), ticket);
    }

    /// The ticket of that name, which was not used.
    pub(crate) fn open(&mut self, name: &str) -> Result<&mut Ticket, SessionError> {
        match self.all.get_mut(name) {
            Some(ticket) if ticket.used => Err(SessionError::UsedTicket { ticket: name.to_owned() }),
            Some(ticket) => Ok(ticket),
            None => Err(SessionError::UnknownTicket { ticket: name.to_owned() }),
        }
    }
}
