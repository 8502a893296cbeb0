use crate::engine::tally::Counter;
use crate::engine::tuples::IndexId;
use crate::program::{Aggregate, Call, Comparison, LineageRelation, RelationId, RuleId, Term, VariableId};
use crate::value::ConstructorId;

/// Which rows of a relation a scan reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    /// All that were there when the round began.
    All,
    /// Those that the last round added.
    Recent,
    /// Those before the last round.
    Stable,
}

/// What a column of a scanned tuple has to be.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Pattern {
    /// Anything.
    Any,
    /// Anything; the variable takes it.
    Bind(VariableId),
    /// The value of a bound term.
    Equal(Term),
    /// Built with this constructor from such fields.
    Construct(ConstructorId, Vec<Self>),
}

/// How a stored relation is looked up.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Access {
    /// Every row.
    Full,
    /// The one row with these words.
    Member(Vec<Term>),
    /// The rows whose key columns hold these words.
    Index(IndexId, Vec<Term>),
}

/// One step of a rule's evaluation. A step runs once for each way in which the steps before it held.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// For each matching tuple of a stored relation. Patterns stand beside their columns.
    Scan { relation: RelationId, rows: Rows, access: Access, patterns: Vec<(usize, Pattern)> },
    /// For each matching tuple of a relation that the lineage answers.
    Lineage { relation: LineageRelation, patterns: Vec<Pattern> },
    /// Only where no tuple of a stored relation matches.
    Absent { relation: RelationId, access: Access },
    /// Only where no tuple of a lineage relation matches.
    AbsentLineage { relation: LineageRelation, patterns: Vec<Pattern> },
    /// Only where the comparison holds.
    Filter(Comparison),
    /// Where the term has a value that fits the pattern.
    Match { term: Term, pattern: Pattern },
    /// For each value of a generator that fits the pattern.
    Generate { call: Call, pattern: Pattern },
    /// For each result of an aggregate (one, or one for each witness).
    Aggregate(Box<AggregateStep>),
    /// Counts what the steps from here on look at; see `tally`.
    Counted(Counter),
    /// All of these, none before the other: each may raise an evaluation error, and none hides another's.
    Stage(Vec<Self>),
}

/// An aggregate with the steps of its body.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AggregateStep {
    pub(crate) aggregate: Aggregate,
    pub(crate) steps: Vec<Step>,
    /// What the result has to be.
    pub(crate) result: Pattern,
}

/// A rule as it is run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) rule: RuleId,
    /// The relation whose recent rows the plan starts from.
    pub(crate) recent: Option<RelationId>,
    pub(crate) steps: Vec<Step>,
    /// For each step, the places of its literals in the body.
    pub(crate) literals: Vec<Vec<usize>>,
    /// From this step on nothing binds a variable of the head: one way is enough.
    pub(crate) cut: usize,
    /// Whether a term of the rule can raise an evaluation error.
    pub(crate) fallible: bool,
}
