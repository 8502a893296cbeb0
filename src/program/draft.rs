//! A rule whose names are resolved and whose types are not yet told: one alternative of a source rule.

use std::collections::BTreeMap;

use crate::functor::FunctorId;
use crate::program::types::TypeId;
use crate::program::{Arithmetic, RelationId, VariableId};
use crate::source::Span;
use crate::syntax::ast;
use crate::syntax::ast::{AggregateKind, ComparisonOperator};
use crate::value::ConstructorId;

/// A place whose type is looked for, by its number in the draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot(pub(crate) usize);

/// A rule or the body of an aggregate, by its number in the draft. The rule is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ScopeId(pub(crate) usize);

#[derive(Debug)]
pub(crate) struct DraftVariable {
    /// As written; empty for one that the checker made.
    pub(crate) name: String,
    pub(crate) slot: Slot,
    pub(crate) scope: ScopeId,
}

/// `base.field`, read into a variable of its own.
#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) field: ast::Name,
    pub(crate) value: VariableId,
}

#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) variables: Vec<DraftVariable>,
    pub(crate) heads: Vec<DraftAtom>,
    pub(crate) body: Vec<DraftLiteral>,
    /// Fields that are read by dot access, by the variable before the dot and where it is read.
    pub(crate) accesses: BTreeMap<(VariableId, ScopeId), Vec<Access>>,
    /// The scope around each scope.
    pub(crate) parents: Vec<Option<ScopeId>>,
    /// Variables of the rule's own scope, by name.
    pub(crate) names: BTreeMap<String, VariableId>,
    pub(crate) slots: usize,
}

impl Draft {
    pub(crate) fn slot(&mut self) -> Slot {
        self.slots += 1;
        Slot(self.slots - 1)
    }

    pub(crate) fn variable(&mut self, name: &str, scope: ScopeId) -> VariableId {
        let slot = self.slot();
        let id = VariableId(u32::try_from(self.variables.len()).unwrap_or(u32::MAX));
        self.variables.push(DraftVariable { name: name.to_owned(), slot, scope });
        id
    }

    pub(crate) fn get(&self, id: VariableId) -> Option<&DraftVariable> {
        self.variables.get(id.0 as usize)
    }

    /// Whether `scope` is `outer` or lies inside it.
    pub(crate) fn is_inside(&self, scope: ScopeId, outer: ScopeId) -> bool {
        let mut at = Some(scope);
        // A scope's parent has a lower number, so this ends.
        while let Some(scope) = at {
            if scope == outer {
                return true;
            }
            at = self.parents.get(scope.0).copied().flatten();
        }
        false
    }
}

#[derive(Debug)]
pub(crate) struct DraftAtom {
    /// Absent where no relation has the name.
    pub(crate) relation: Option<RelationId>,
    pub(crate) terms: Vec<DraftTerm>,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) enum DraftLiteral {
    Positive(DraftAtom),
    Negative(DraftAtom),
    Test {
        operator: ComparisonOperator,
        left: DraftTerm,
        right: DraftTerm,
        span: Span,
    },
    Aggregate(Box<DraftAggregate>),
    /// The fields that are read of a variable.
    Access(VariableId, ScopeId),
    /// A row of any of the alternatives of an aggregate.
    Union {
        columns: Vec<VariableId>,
        alternatives: Vec<DraftAlternative>,
        scope: ScopeId,
        span: Span,
    },
    /// Never holds.
    Never(Span),
}

/// One alternative of an aggregate's body, in a scope of its own.
#[derive(Debug)]
pub(crate) struct DraftAlternative {
    pub(crate) body: Vec<DraftLiteral>,
    /// Its variables for the columns of the union.
    pub(crate) columns: Vec<VariableId>,
}

#[derive(Debug)]
pub(crate) struct DraftAggregate {
    pub(crate) function: AggregateKind,
    pub(crate) result: VariableId,
    pub(crate) target: Option<DraftTerm>,
    pub(crate) body: Vec<DraftLiteral>,
    pub(crate) scope: ScopeId,
    pub(crate) witnesses: Vec<VariableId>,
    /// Whether a variable stands twice in an atom of the body.
    pub(crate) repeats: bool,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) struct DraftTerm {
    pub(crate) kind: DraftKind,
    pub(crate) span: Span,
    pub(crate) slot: Slot,
}

#[derive(Debug)]
pub(crate) enum DraftKind {
    Variable(VariableId),
    Wildcard,
    Text(String),
    /// A literal without `u`, its sign applied.
    Integer(i128),
    Unsigned(u64),
    Float(f64),
    Nil,
    Record(Vec<DraftTerm>),
    Variant(ConstructorId, Vec<DraftTerm>),
    /// One of several functors of one name, told apart by their arguments.
    Functor {
        name: String,
        candidates: Vec<FunctorId>,
        arguments: Vec<DraftTerm>,
    },
    /// An operator with its spelling.
    Operator(Arithmetic, &'static str, Vec<DraftTerm>),
    Range(Vec<DraftTerm>),
    Cast(Box<DraftTerm>, TypeId),
    /// What could not be resolved; reported already.
    Unknown,
}

impl DraftTerm {
    /// The terms directly inside.
    pub(crate) fn parts(&self) -> &[Self] {
        match &self.kind {
            DraftKind::Record(terms)
            | DraftKind::Variant(_, terms)
            | DraftKind::Operator(_, _, terms)
            | DraftKind::Range(terms)
            | DraftKind::Functor { arguments: terms, .. } => terms,
            DraftKind::Cast(inner, _) => std::slice::from_ref(inner),
            DraftKind::Variable(_)
            | DraftKind::Wildcard
            | DraftKind::Text(_)
            | DraftKind::Integer(_)
            | DraftKind::Unsigned(_)
            | DraftKind::Float(_)
            | DraftKind::Nil
            | DraftKind::Unknown => &[],
        }
    }

    /// Visits the term and all terms inside it.
    pub(crate) fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Self)) {
        visit(self);
        self.parts().iter().for_each(|part| part.walk(visit));
    }
}

/// Visits every literal, those of aggregates after the aggregate.
pub(crate) fn walk_literals<'a>(body: &'a [DraftLiteral], visit: &mut dyn FnMut(&'a DraftLiteral)) {
    for literal in body {
        visit(literal);
        if let DraftLiteral::Aggregate(aggregate) = literal {
            walk_literals(&aggregate.body, visit);
        }
        if let DraftLiteral::Union { alternatives, .. } = literal {
            alternatives.iter().for_each(|alternative| walk_literals(&alternative.body, visit));
        }
    }
}

/// The terms that stand in a literal, those of an aggregate's body left out.
pub(crate) fn literal_terms(literal: &DraftLiteral) -> Vec<&DraftTerm> {
    match literal {
        DraftLiteral::Positive(atom) | DraftLiteral::Negative(atom) => atom.terms.iter().collect(),
        DraftLiteral::Test { left, right, .. } => vec![left, right],
        DraftLiteral::Aggregate(aggregate) => aggregate.target.iter().collect(),
        DraftLiteral::Access(..) | DraftLiteral::Union { .. } | DraftLiteral::Never(_) => Vec::new(),
    }
}
