use crate::engine::among::ByRecordId;
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
    /// For each matching tuple of a stored relation whose record is an ancestor of a `Current` record.
    Among(Box<AmongStep>),
    /// For each matching tuple of a relation that the lineage answers. With `live`, ways that agree in these variables
    /// and in what the step binds lead to the same tuples, so that one of them is enough.
    Lineage { relation: LineageRelation, patterns: Vec<Pattern>, live: Option<Box<[VariableId]>> },
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

/// A scan of a stored relation that goes on with ancestors alone.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AmongStep {
    pub(crate) relation: RelationId,
    pub(crate) rows: Rows,
    /// How it would be scanned otherwise.
    pub(crate) access: Access,
    /// Its rows by key and record.
    pub(crate) index: ByRecordId,
    pub(crate) key: Vec<Term>,
    /// The column of the record.
    pub(crate) record: usize,
    pub(crate) patterns: Vec<(usize, Pattern)>,
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
    /// The stored relations that it reads.
    pub(crate) reads: Vec<RelationId>,
    /// Those of them without a tuple of which it finds nothing.
    pub(crate) needs: Vec<RelationId>,
    /// Whether it reads edges.
    pub(crate) edges: bool,
    /// Whether it reads what the lineage answers.
    pub(crate) lineage: bool,
}

impl Plan {
    /// A plan of these steps.
    pub(crate) fn new(rule: RuleId, recent: Option<RelationId>, steps: Vec<Step>) -> Self {
        let mut plan = Self {
            rule,
            recent,
            steps: Vec::new(),
            literals: Vec::new(),
            cut: 0,
            fallible: false,
            reads: Vec::new(),
            needs: Vec::new(),
            edges: false,
            lineage: false,
        };
        plan.survey(&steps);
        let scanned = steps.iter().filter_map(|step| match step {
            Step::Scan { relation, .. } => Some(*relation),
            Step::Among(step) => Some(step.relation),
            _ => None,
        });
        plan.needs = scanned.collect();
        for list in [&mut plan.reads, &mut plan.needs] {
            list.sort();
            list.dedup();
        }
        plan.steps = steps;
        plan
    }

    /// Notes what the steps read. Stages hold no stages, and aggregates are as deep as they were written.
    fn survey(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Scan { relation, .. } | Step::Absent { relation, .. } => self.reads.push(*relation),
                Step::Among(step) => {
                    self.lineage = true;
                    self.reads.push(step.relation);
                }
                Step::Lineage { relation, .. } | Step::AbsentLineage { relation, .. } => {
                    self.lineage = true;
                    self.edges |= matches!(relation, LineageRelation::Edge | LineageRelation::EdgeData);
                }
                Step::Filter(_) | Step::Match { .. } | Step::Generate { .. } | Step::Counted(_) => {}
                Step::Aggregate(step) => self.survey(&step.steps),
                Step::Stage(steps) => self.survey(steps),
            }
        }
    }
}
