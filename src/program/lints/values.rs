//! Which texts a column can hold, and which actions a row can speak of.
//!
//! Sets grow from nothing until no rule adds to them, so that what is in none can never be there. `All` is what is not
//! known: columns that the host fills, results of functors.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::program::lints::scope::Scope;
use crate::program::{Literal, Operator, Origin, Program, RelationId, Term, VariableId};
use crate::value::{Kind, Symbol, Word};

/// Sets larger than this are not told apart from all.
const MOST: usize = 256;
/// How often the rules are looked at, on average.
const LOOKS: usize = 32;

/// Some values, or all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Set<T: Ord> {
    All,
    Only(BTreeSet<T>),
}

impl<T: Ord + Copy> Set<T> {
    pub(crate) fn none() -> Self {
        Self::Only(BTreeSet::new())
    }

    pub(crate) fn one(value: T) -> Self {
        Self::Only(BTreeSet::from([value]))
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Only(values) if values.is_empty())
    }

    /// The values, where they are known.
    pub(crate) fn known(&self) -> Option<&BTreeSet<T>> {
        match self {
            Self::All => None,
            Self::Only(values) => Some(values),
        }
    }

    /// Keeps what is in the other as well.
    pub(crate) fn narrow(&mut self, other: &Self) {
        match (&mut *self, other) {
            (_, Self::All) => {}
            (Self::All, Self::Only(_)) => *self = other.clone(),
            (Self::Only(own), Self::Only(others)) => own.retain(|value| others.contains(value)),
        }
    }

    /// True where the set grew.
    pub(crate) fn widen(&mut self, other: &Self) -> bool {
        let Self::Only(own) = self else { return false };
        let Self::Only(others) = other else {
            *self = Self::All;
            return true;
        };
        let before = own.len();
        own.extend(others);
        let grew = own.len() > before;
        if own.len() > MOST {
            *self = Self::All;
        }
        grew
    }
}

/// What an action is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// A call of that tool.
    Tool(Symbol),
    /// A request over HTTP.
    Request,
    /// A message.
    Message,
}

/// The possible contents of every column.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    /// By relation and place. What is not listed can hold anything.
    columns: Vec<Vec<Column>>,
}

/// The possible contents of one column. What its type cannot hold counts as all.
#[derive(Debug)]
struct Column {
    texts: Set<Symbol>,
    targets: Set<Target>,
}

impl Columns {
    fn column(&self, relation: RelationId, column: usize) -> Option<&Column> {
        self.columns.get(relation.0 as usize).and_then(|columns| columns.get(column))
    }

    /// The texts that the column can hold.
    pub(crate) fn texts(&self, relation: RelationId, column: usize) -> &Set<Symbol> {
        self.column(relation, column).map_or(&Set::All, |column| &column.texts)
    }

    /// The actions that the column, an index or an action, can speak of.
    pub(crate) fn targets(&self, relation: RelationId, column: usize) -> &Set<Target> {
        self.column(relation, column).map_or(&Set::All, |column| &column.targets)
    }

    /// Works through the rules until nothing is added. A rule is looked at again where a relation that it reads as it is
    /// has grown; a bound on the looks keeps hostile policies from costing more than they are worth, and then nothing is
    /// known of any column.
    pub(crate) fn of(program: &Program, scopes: &[Scope<'_>]) -> Self {
        let mut columns = Self::empty(program);
        let mut readers: Vec<Vec<usize>> = vec![Vec::new(); program.relations.len()];
        for (number, scope) in scopes.iter().enumerate() {
            for literal in &scope.rule.body {
                if let Literal::Positive(atom) = literal {
                    readers.get_mut(atom.relation.0 as usize).into_iter().for_each(|list| list.push(number));
                }
            }
        }
        let mut open: VecDeque<usize> = (0..scopes.len()).collect();
        let mut waits = vec![true; scopes.len()];
        for _ in 0..LOOKS.saturating_mul(scopes.len()) {
            let Some(number) = open.pop_front() else { return columns };
            waits.get_mut(number).into_iter().for_each(|waits| *waits = false);
            let Some(scope) = scopes.get(number).filter(|scope| columns.learn(scope)) else { continue };
            for &reader in readers.get(scope.rule.head.relation.0 as usize).into_iter().flatten() {
                if waits.get_mut(reader).is_some_and(|waits| !std::mem::replace(waits, true)) {
                    open.push_back(reader);
                }
            }
        }
        if open.is_empty() { columns } else { Self::default() }
    }

    /// Nothing in the columns that rules alone fill.
    fn empty(program: &Program) -> Self {
        let column = |kind: Kind| match kind {
            Kind::Symbol => Column { texts: Set::none(), targets: Set::All },
            Kind::Unsigned | Kind::Compound => Column { texts: Set::All, targets: Set::none() },
            Kind::Number | Kind::Float => Column { texts: Set::All, targets: Set::All },
        };
        let columns = program.relations.iter().map(|relation| match relation.origin {
            Origin::Rules => {
                relation.columns.iter().map(|own| column(program.types.kind(own.type_id))).collect()
            }
            Origin::Host | Origin::Lineage(_) => Vec::new(),
        });
        Self { columns: columns.collect() }
    }

    fn learn(&mut self, scope: &Scope<'_>) -> bool {
        let found = Possible::of(scope, self);
        if found.is_contradictory() {
            return false;
        }
        let head = &scope.rule.head;
        let columns = self.columns.get_mut(head.relation.0 as usize).into_iter().flatten();
        let mut grew = false;
        for (term, column) in head.terms.iter().zip(columns) {
            grew |= column.texts.widen(&found.text(scope, term));
            grew |= column.targets.widen(found.target(scope, term));
        }
        grew
    }
}

/// What the variables of one rule can be.
#[derive(Debug, Default)]
pub(crate) struct Possible {
    texts: BTreeMap<VariableId, Set<Symbol>>,
    targets: BTreeMap<VariableId, Set<Target>>,
}

impl Possible {
    pub(crate) fn of(scope: &Scope<'_>, columns: &Columns) -> Self {
        let mut found = Self::default();
        for literal in &scope.rule.body {
            match literal {
                Literal::Positive(atom) => {
                    for (at, term) in atom.terms.iter().enumerate() {
                        if let Term::Variable(id) = term {
                            found.narrow_text(scope, *id, columns.texts(atom.relation, at));
                            found.narrow_target(scope, *id, columns.targets(atom.relation, at));
                        }
                    }
                }
                Literal::Test(_) | Literal::Negative(_) | Literal::Aggregate(_) => {}
            }
        }
        for &(id, word) in &scope.texts {
            found.narrow_text(scope, id, &Set::one(word));
        }
        // What an action calls is told by the values that its name can have.
        for (action, name) in &scope.tools {
            let target = match &*found.text(scope, name) {
                Set::All => continue,
                Set::Only(names) => Set::Only(names.iter().copied().map(Target::Tool).collect()),
            };
            found.narrow_target(scope, *action, &target);
        }
        for &(action, target) in &scope.kinds {
            found.narrow_target(scope, action, &Set::one(target));
        }
        found
    }

    fn narrow_text(&mut self, scope: &Scope<'_>, id: VariableId, set: &Set<Symbol>) {
        if set.known().is_some() {
            self.texts.entry(scope.class(id)).or_insert(Set::All).narrow(set);
        }
    }

    fn narrow_target(&mut self, scope: &Scope<'_>, id: VariableId, set: &Set<Target>) {
        if set.known().is_some() {
            self.targets.entry(scope.action(id)).or_insert(Set::All).narrow(set);
        }
    }

    /// The texts that a term can be.
    pub(crate) fn text(&self, scope: &Scope<'_>, term: &Term) -> Cow<'_, Set<Symbol>> {
        match term {
            Term::Constant(word) => Cow::Owned(Set::one(word.as_symbol())),
            Term::Variable(id) => Cow::Borrowed(self.texts.get(&scope.class(*id)).unwrap_or(&Set::All)),
            Term::Wildcard | Term::Construct(..) | Term::Call(_) => Cow::Borrowed(&Set::All),
        }
    }

    /// The actions that a term can speak of.
    pub(crate) fn target(&self, scope: &Scope<'_>, term: &Term) -> &Set<Target> {
        match term {
            Term::Variable(id) => self.targets.get(&scope.action(*id)).unwrap_or(&Set::All),
            Term::Constant(_) | Term::Wildcard | Term::Construct(..) | Term::Call(_) => &Set::All,
        }
    }

    /// Whether no values satisfy the rule.
    pub(crate) fn is_contradictory(&self) -> bool {
        self.texts.values().any(Set::is_empty) || self.targets.values().any(Set::is_empty)
    }
}

/// Whether the numbers that a rule asks of one variable leave none.
pub(crate) fn numbers_contradict(scope: &Scope<'_>) -> bool {
    let mut ranges: BTreeMap<VariableId, (i128, i128)> = BTreeMap::new();
    for literal in &scope.rule.body {
        let Literal::Test(test) = literal else { continue };
        let signed = |word: Word| match test.kind {
            Kind::Number => Some(i128::from(word.as_number())),
            Kind::Unsigned => Some(i128::from(word.0)),
            Kind::Float | Kind::Symbol | Kind::Compound => None,
        };
        let (operator, id, word) = match (&test.left, &test.right) {
            (Term::Variable(id), Term::Constant(word)) => (test.operator, *id, *word),
            (Term::Constant(word), Term::Variable(id)) => (turned(test.operator), *id, *word),
            (Term::Constant(left), Term::Constant(right)) => {
                let differ = test.operator == Operator::Equal && test.kind != Kind::Float && left != right;
                if differ {
                    return true;
                }
                continue;
            }
            _ => continue,
        };
        let Some(value) = signed(word) else { continue };
        let range = ranges.entry(scope.class(id)).or_insert((i128::MIN, i128::MAX));
        match operator {
            Operator::Equal => *range = (range.0.max(value), range.1.min(value)),
            Operator::Less => range.1 = range.1.min(value - 1),
            Operator::LessOrEqual => range.1 = range.1.min(value),
            Operator::Greater => range.0 = range.0.max(value + 1),
            Operator::GreaterOrEqual => range.0 = range.0.max(value),
            Operator::NotEqual => {}
        }
    }
    ranges.values().any(|(least, most)| least > most)
}

/// The operator with its sides changed.
pub(crate) fn turned(operator: Operator) -> Operator {
    match operator {
        Operator::Equal | Operator::NotEqual => operator,
        Operator::Less => Operator::Greater,
        Operator::LessOrEqual => Operator::GreaterOrEqual,
        Operator::Greater => Operator::Less,
        Operator::GreaterOrEqual => Operator::LessOrEqual,
    }
}
