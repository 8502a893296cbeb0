use crate::engine::{Budget, StopFlag};
use crate::program::{Program, RelationId};
use crate::source::Span;

/// Why evaluation stops at once: the budget is spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Halt {
    pub(crate) what: Spent,
    /// The relation that was growing.
    pub(crate) relation: RelationId,
}

/// What ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spent {
    Tuples(u64),
    Bytes(u64),
    Steps(u64),
    /// Whoever asked waits no longer.
    Stopped,
}

impl Halt {
    pub(crate) fn text(&self, program: &Program) -> String {
        let name = name_of(program, self.relation);
        let limit = match self.what {
            Spent::Stopped => return format!("the work was stopped while deriving `{name}`"),
            Spent::Tuples(limit) => format!("limit of {limit} derived tuples"),
            Spent::Bytes(limit) => format!("limit of {limit} bytes"),
            Spent::Steps(limit) => format!("limit of {limit} steps"),
        };
        format!("the {limit} was reached while deriving `{name}`")
    }
}

/// The name of a relation as the author knows it: for the firings of a decision rule, the rule.
pub(crate) fn name_of(program: &Program, relation: RelationId) -> String {
    let name = program.schema(relation).map_or("", |relation| relation.name.as_str());
    let rule = program.decision_rules.iter().find(|rule| rule.fired == relation);
    rule.map_or_else(|| name.to_owned(), |rule| rule.id.clone())
}

/// Steps between two looks at the stop flag: some microseconds.
const LOOK: u64 = 1 << 12;

/// What one check has used of its budget.
#[derive(Debug)]
pub(crate) struct Meter {
    budget: Budget,
    stop: Option<StopFlag>,
    steps: u64,
    /// Steps after which the budget of steps is spent, or the flag is looked at.
    due: u64,
    tuples: u64,
    tuple_bytes: u64,
    pool_at_start: usize,
    pool_bytes: u64,
}

impl Meter {
    pub(crate) fn new(budget: Budget, stop: Option<StopFlag>, pool_bytes: usize) -> Self {
        // Work that is stopped does not even begin.
        let due = if stop.is_some() { 0 } else { budget.steps };
        Self {
            budget,
            stop,
            steps: 0,
            due,
            tuples: 0,
            tuple_bytes: 0,
            pool_at_start: pool_bytes,
            pool_bytes: 0,
        }
    }

    /// Tuples looked at so far, rounds included.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// One tuple was looked at.
    pub(crate) fn step(&mut self, relation: RelationId) -> Result<(), Halt> {
        self.steps += 1;
        if self.steps > self.due { self.look(relation) } else { Ok(()) }
    }

    #[cold]
    fn look(&mut self, relation: RelationId) -> Result<(), Halt> {
        if self.steps > self.budget.steps {
            return Err(Halt { what: Spent::Steps(self.budget.steps), relation });
        }
        if self.stop.as_ref().is_some_and(StopFlag::is_raised) {
            return Err(Halt { what: Spent::Stopped, relation });
        }
        self.due = self.budget.steps.min(self.steps.saturating_add(LOOK));
        Ok(())
    }

    /// A round of recursion began. It costs about as much as that many tuples looked at, also where it finds little.
    pub(crate) fn round(&mut self, relation: RelationId) -> Result<(), Halt> {
        self.steps += 255;
        self.step(relation)
    }

    /// A new tuple of that many columns was derived.
    pub(crate) fn tuple(&mut self, columns: usize, relation: RelationId) -> Result<(), Halt> {
        self.tuples += 1;
        // Words, the row's place in its table, and a share of its indexes.
        self.tuple_bytes += columns as u64 * 8 + 16;
        if self.tuples > self.budget.tuples {
            return Err(Halt { what: Spent::Tuples(self.budget.tuples), relation });
        }
        self.bytes(relation)
    }

    /// The pool now takes that many bytes.
    pub(crate) fn pool(&mut self, bytes: usize, relation: RelationId) -> Result<(), Halt> {
        self.pool_bytes = bytes.saturating_sub(self.pool_at_start) as u64;
        self.bytes(relation)
    }

    fn bytes(&self, relation: RelationId) -> Result<(), Halt> {
        if self.tuple_bytes + self.pool_bytes > self.budget.bytes {
            return Err(Halt { what: Spent::Bytes(self.budget.bytes), relation });
        }
        Ok(())
    }
}

/// The evaluation errors of one stratum. All are met; the first by text is told, so that no order of rules or tuples
/// decides which.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    count: u64,
    first: Option<Fault>,
}

/// An evaluation error: what failed, where, and for which relation.
pub(crate) type Fault = (String, Span, RelationId);

impl Faults {
    pub(crate) fn note(&mut self, what: String, span: Span, head: RelationId) {
        self.count += 1;
        if self.first.as_ref().is_none_or(|(first, at, _)| (&what, span) < (first, *at)) {
            self.first = Some((what, span, head));
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn first(&self) -> Option<&Fault> {
        self.first.as_ref()
    }
}
