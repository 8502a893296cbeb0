//! A typed draft to what the engine runs.

use std::collections::BTreeSet;

use crate::program::draft::{
    Draft, DraftAggregate, DraftAlternative, DraftAtom, DraftKind, DraftLiteral, DraftTerm, ScopeId, Slot,
};
use crate::program::findings::Findings;
use crate::program::infer::Inferred;
use crate::program::schema::Schema;
use crate::program::types::TypeId;
use crate::program::union::Union;
use crate::program::{Aggregate, Atom, Comparison, Function, Literal, Term, Variable, VariableId};
use crate::source::Span;
use crate::syntax::ast::{AggregateKind, ComparisonOperator};
use crate::value::{ConstructorId, Kind, Pool, Word};

/// One alternative of a rule, ready to run, with all its heads.
#[derive(Debug)]
pub(crate) struct Lowered {
    pub(crate) heads: Vec<Atom>,
    pub(crate) body: Vec<Literal>,
    pub(crate) variables: Vec<Variable>,
    /// The unions that aggregates of the body read, under the relations of [`Union::placeholder`].
    pub(crate) unions: Vec<Union>,
}

/// Lowers a draft without faults; numbers that do not fit and casts that cannot be are found here.
pub(crate) fn lower(
    draft: &Draft,
    inferred: &Inferred,
    schema: &Schema,
    pool: &mut Pool,
    findings: &mut Findings,
) -> Lowered {
    let variables = draft
        .variables
        .iter()
        .map(|variable| Variable { name: variable.name.clone(), type_id: inferred.get(variable.slot) })
        .collect();
    let mut lowering = Lowering { draft, inferred, schema, pool, findings, variables, unions: Vec::new() };
    let mut body = Vec::new();
    draft.body.iter().for_each(|literal| lowering.literal(literal, &mut body));
    let heads = draft.heads.iter().filter_map(|head| lowering.atom(head, Place::Value, &mut body)).collect();
    Lowered { heads, body, variables: lowering.variables, unions: lowering.unions }
}

/// Where a term goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In a positive atom or a pattern: no calls.
    Pattern,
    /// A side of an equality: a call, or a pattern.
    Side,
    /// Anywhere else: calls, but of generators.
    Value,
}

pub(crate) struct Lowering<'a> {
    pub(crate) draft: &'a Draft,
    pub(crate) inferred: &'a Inferred,
    pub(crate) schema: &'a Schema,
    pool: &'a mut Pool,
    pub(crate) findings: &'a mut Findings,
    variables: Vec<Variable>,
    unions: Vec<Union>,
}

impl Lowering<'_> {
    pub(crate) fn kind(&self, slot: Slot) -> Kind {
        self.schema.types.kind(self.inferred.get(slot))
    }

    pub(crate) fn fresh(&mut self, type_id: TypeId) -> VariableId {
        let id = VariableId(u32::try_from(self.variables.len()).unwrap_or(u32::MAX));
        self.variables.push(Variable { name: String::new(), type_id });
        id
    }

    fn literal(&mut self, literal: &DraftLiteral, out: &mut Vec<Literal>) {
        match literal {
            DraftLiteral::Positive(atom) => {
                let mut tests = Vec::new();
                let atom = self.atom(atom, Place::Pattern, &mut tests);
                out.extend(atom.map(Literal::Positive));
                out.extend(tests);
            }
            DraftLiteral::Negative(atom) => {
                let atom = self.atom(atom, Place::Value, out);
                out.extend(atom.map(Literal::Negative));
            }
            DraftLiteral::Test { operator, left, right, span } => {
                let kind = self.kind(left.slot);
                let place = if *operator == ComparisonOperator::Equal { Place::Side } else { Place::Value };
                let left = self.term(left, place, out);
                // One side at most is enumerated.
                let place = if is_generator(&left) { Place::Value } else { place };
                let right = self.term(right, place, out);
                out.push(Literal::Test(Comparison { operator: *operator, kind, left, right, span: *span }));
            }
            DraftLiteral::Aggregate(aggregate) => {
                let aggregate = self.aggregate(aggregate);
                out.push(Literal::Aggregate(aggregate));
            }
            DraftLiteral::Union { columns, alternatives, scope, span } => {
                let atom = self.union(columns, alternatives, *scope, *span);
                out.push(Literal::Positive(atom));
            }
            DraftLiteral::Access(base, scope) => {
                let test = self.access(*base, *scope);
                out.extend(test.map(Literal::Test));
            }
            DraftLiteral::Never(span) => {
                let (left, right) = (Term::Constant(Word::number(0)), Term::Constant(Word::number(1)));
                let operator = ComparisonOperator::Equal;
                out.push(Literal::Test(Comparison {
                    operator,
                    kind: Kind::Number,
                    left,
                    right,
                    span: *span,
                }));
            }
        }
    }

    fn atom(&mut self, atom: &DraftAtom, place: Place, out: &mut Vec<Literal>) -> Option<Atom> {
        let relation = atom.relation?;
        let terms = atom.terms.iter().map(|term| self.term(term, place, out)).collect();
        Some(Atom { relation, terms, span: atom.span })
    }

    /// `base = [field, _, …]` with a variable for each field that is read.
    fn access(&mut self, base: VariableId, scope: ScopeId) -> Option<Comparison> {
        let accesses = self.draft.accesses.get(&(base, scope))?;
        let type_id = self.inferred.get(self.draft.get(base)?.slot);
        let constructor = self.schema.record(type_id)?;
        let fields = &self.schema.types.constructor(constructor).fields;
        let read = |name: &String| {
            let access = accesses.iter().find(|access| access.field.text == *name);
            access.map_or(Term::Wildcard, |access| Term::Variable(access.value))
        };
        let terms = fields.iter().map(|(name, _)| read(name)).collect();
        let span = accesses.first()?.field.span;
        Some(Comparison {
            operator: ComparisonOperator::Equal,
            kind: Kind::Compound,
            left: Term::Variable(base),
            right: Term::Construct(constructor, terms),
            span,
        })
    }

    fn union(
        &mut self,
        columns: &[VariableId],
        alternatives: &[DraftAlternative],
        scope: ScopeId,
        span: Span,
    ) -> Atom {
        let lower = |alternative: &DraftAlternative| {
            let mut body = Vec::new();
            alternative.body.iter().for_each(|literal| self.literal(literal, &mut body));
            (body, alternative.columns.clone())
        };
        let alternatives: Vec<_> = alternatives.iter().map(lower).collect();
        let used: BTreeSet<_> = alternatives.iter().flat_map(|(body, _)| variables_of(body, None)).collect();
        let from_outside = |id: &VariableId| {
            self.draft.get(*id).is_some_and(|variable| !self.draft.is_inside(variable.scope, scope))
        };
        let keys: Vec<_> = used.into_iter().filter(from_outside).collect();
        let relation = Union::placeholder(self.unions.len());
        let terms = keys.iter().chain(columns).map(|&id| Term::Variable(id)).collect();
        self.unions.push(Union { keys, columns: columns.to_vec(), alternatives, span });
        Atom { relation, terms, span }
    }

    fn aggregate(&mut self, aggregate: &DraftAggregate) -> Aggregate {
        let mut body = Vec::new();
        for literal in &aggregate.body {
            let mut lowered = Vec::new();
            self.literal(literal, &mut lowered);
            for literal in lowered {
                // A literal that is written twice is one.
                if !repeated(&body, &literal) {
                    body.push(literal);
                }
            }
        }
        let target = aggregate.target.as_ref().map(|target| self.term(target, Place::Value, &mut body));
        let kind = match aggregate.function {
            AggregateKind::Count => Kind::Number,
            AggregateKind::Mean => Kind::Float,
            AggregateKind::Sum | AggregateKind::Min | AggregateKind::Max => {
                self.draft.get(aggregate.result).map_or(Kind::Number, |result| self.kind(result.slot))
            }
        };
        let used = variables_of(&body, target.as_ref());
        let is_inner = |id: &VariableId| {
            self.draft.get(*id).is_none_or(|variable| self.draft.is_inside(variable.scope, aggregate.scope))
        };
        let outer =
            used.iter().copied().filter(|id| !is_inner(id) && !aggregate.witnesses.contains(id)).collect();
        let each = |literal: &Literal| match literal {
            Literal::Positive(_) => Some(false),
            Literal::Aggregate(_) => Some(true),
            Literal::Test(test) => (is_generator(&test.left) || is_generator(&test.right)).then_some(true),
            Literal::Negative(_) => None,
        };
        let parts: Vec<bool> = body.iter().filter_map(each).collect();
        let every_tuple = parts == [false] && !aggregate.repeats;
        let named = |id: &VariableId| {
            self.draft.get(*id).is_some_and(|variable| {
                !variable.name.is_empty()
                    && (variable.scope == aggregate.scope || aggregate.witnesses.contains(id))
            })
        };
        let distinct = (!every_tuple).then(|| used.iter().copied().filter(named).collect());
        Aggregate {
            function: aggregate.function,
            kind,
            result: aggregate.result,
            target,
            body,
            outer,
            distinct,
            witnesses: aggregate.witnesses.clone(),
            span: aggregate.span,
        }
    }

    pub(crate) fn term(&mut self, term: &DraftTerm, place: Place, out: &mut Vec<Literal>) -> Term {
        match &term.kind {
            DraftKind::Variable(id) => Term::Variable(*id),
            DraftKind::Wildcard => Term::Wildcard,
            DraftKind::Text(text) => Term::Constant(Word::symbol(self.pool.symbol(text))),
            DraftKind::Integer(value) => self.integer(term, *value),
            DraftKind::Unsigned(value) => Term::Constant(Word::unsigned(*value)),
            DraftKind::Float(value) => Term::Constant(Word::float(*value)),
            DraftKind::Nil => Term::Construct(ConstructorId::NIL, Vec::new()),
            DraftKind::Record(terms) => {
                let constructor =
                    self.schema.record(self.inferred.get(term.slot)).unwrap_or(ConstructorId::NIL);
                self.construct(constructor, terms, place, out)
            }
            DraftKind::Variant(constructor, terms) => self.construct(*constructor, terms, place, out),
            DraftKind::Functor { candidates, arguments, .. } => {
                let call = self.functor(term, candidates, arguments, out);
                self.placed(call, term, place, out)
            }
            DraftKind::Operator(operator, _, operands) => {
                let call = self.operator(term, *operator, operands, out);
                self.placed(call, term, place, out)
            }
            DraftKind::Range(arguments) => {
                let call = self.call(Function::Range(self.kind(term.slot)), arguments, term.span, out);
                self.placed(call, term, place, out)
            }
            DraftKind::Cast(inner, type_id) => self.cast(term, inner, *type_id, place, out),
            // Reported already; the rule is not run.
            DraftKind::Unknown => Term::Wildcard,
        }
    }

    fn construct(
        &mut self,
        constructor: ConstructorId,
        terms: &[DraftTerm],
        place: Place,
        out: &mut Vec<Literal>,
    ) -> Term {
        let inside = match place {
            Place::Pattern | Place::Side => Place::Pattern,
            Place::Value => Place::Value,
        };
        Term::Construct(constructor, terms.iter().map(|term| self.term(term, inside, out)).collect())
    }
}

/// Whether the literal is an atom that is there already.
fn repeated(body: &[Literal], literal: &Literal) -> bool {
    let Literal::Positive(atom) = literal else { return false };
    body.iter().any(|other| match other {
        Literal::Positive(other) => other.relation == atom.relation && other.terms == atom.terms,
        Literal::Negative(_) | Literal::Test(_) | Literal::Aggregate(_) => false,
    })
}

fn is_generator(term: &Term) -> bool {
    match term {
        Term::Call(call) => call.is_generator(),
        Term::Variable(_) | Term::Constant(_) | Term::Wildcard | Term::Construct(..) => false,
    }
}

/// The variables of literals and a target.
pub(crate) fn variables_of(body: &[Literal], target: Option<&Term>) -> BTreeSet<VariableId> {
    let mut found = BTreeSet::new();
    target.iter().for_each(|term| term.variables(&mut found));
    for literal in body {
        match literal {
            Literal::Positive(atom) | Literal::Negative(atom) => {
                atom.terms.iter().for_each(|term| term.variables(&mut found));
            }
            Literal::Test(test) => {
                test.left.variables(&mut found);
                test.right.variables(&mut found);
            }
            Literal::Aggregate(inner) => {
                found.insert(inner.result);
                found.extend(variables_of(&inner.body, inner.target.as_ref()));
            }
        }
    }
    found
}
