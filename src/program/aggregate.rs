//! Aggregates of the syntax tree to aggregates of a draft: which names come from outside, which are its own.

use std::collections::BTreeSet;

use crate::program::VariableId;
use crate::program::draft::{DraftAggregate, DraftAlternative, DraftLiteral, ScopeId};
use crate::program::ground::{self, Grounding};
use crate::program::normalise::{self, Flat};
use crate::program::resolve::{Position, Resolver, repeats, too_many};
use crate::program::unbound;
use crate::source::Span;
use crate::syntax::ast;
use crate::syntax::ast::AggregateKind;

/// The names of an aggregate.
struct Names<'e> {
    /// Known outside, and therefore the outer value.
    outer: BTreeSet<&'e str>,
    /// Bound by the rows that reach the extreme, and used outside.
    witnesses: BTreeSet<&'e str>,
    /// Known outside, whether used inside or not.
    visible: BTreeSet<String>,
}

impl<'e> Resolver<'_, 'e> {
    pub(crate) fn aggregate(&mut self, aggregate: &'e ast::Aggregate, result: VariableId, span: Span) {
        let alternatives = normalise::count(&aggregate.body, false);
        if alternatives > 1 {
            // Aggregates inside a union are drafted once for each alternative, so the budget is one for all of them.
            // It is gone once that is reported.
            let Some(budget) = *self.budget else { return };
            *self.budget = budget.checked_sub(alternatives);
            if self.budget.is_none() {
                self.findings.push(too_many("the aggregate", alternatives, span));
                return;
            }
        }
        let names = self.names(aggregate);
        let mut bodies = normalise::alternatives(&aggregate.body, false);
        let drafted = match (bodies.pop(), bodies.is_empty()) {
            (Some(only), true) => self.single(aggregate, &names, &only, result, span),
            (last, _) => {
                bodies.extend(last);
                self.union(aggregate, &names, &bodies, result, span)
            }
        };
        if let Some(frame) = self.frames.last_mut() {
            frame.pending.push(DraftLiteral::Aggregate(Box::new(drafted)));
        }
    }

    fn names(&self, aggregate: &'e ast::Aggregate) -> Names<'e> {
        let (target, body) = ground::names_of(aggregate);
        let visible = self.frames.last().map(|frame| frame.known.clone()).unwrap_or_default();
        let extreme = matches!(aggregate.kind, AggregateKind::Min | AggregateKind::Max);
        let own: BTreeSet<&str> = body.difference(&target).copied().collect();
        let (outer, inner): (BTreeSet<&str>, BTreeSet<&str>) =
            own.into_iter().partition(|&name| visible.contains(name));
        let witnesses = inner.into_iter().filter(|name| extreme && self.uses(name)).collect();
        Names { outer, witnesses, visible }
    }

    /// Opens the aggregate's scope; the variables of its witnesses.
    fn enter(&mut self, names: &Names<'e>, grounding: &Grounding<'_>) -> (ScopeId, Vec<VariableId>) {
        let witnesses: Vec<_> = names.witnesses.iter().map(|name| self.variable(name)).collect();
        let shared = names.outer.union(&names.witnesses);
        let seen = shared.map(|&name| (name.to_owned(), self.variable(name))).collect();
        (self.open(grounding, seen, witnesses.clone()), witnesses)
    }

    fn single(
        &mut self,
        aggregate: &'e ast::Aggregate,
        names: &Names<'e>,
        literals: &[Flat<'e>],
        result: VariableId,
        span: Span,
    ) -> DraftAggregate {
        let grounding = ground::ground(literals, &[], aggregate.target.as_ref(), &names.outer);
        unbound::report_inner(&grounding, &names.visible, &self.elsewhere, self.findings);
        let (scope, witnesses) = self.enter(names, &grounding);
        let mut body = self.literals(literals);
        let target = aggregate.target.as_ref().map(|term| self.term(term, Position::Value));
        body.extend(self.flush());
        self.frames.pop();
        let repeats = literals.iter().any(repeats);
        DraftAggregate { function: aggregate.kind, result, target, body, scope, witnesses, repeats, span }
    }

    /// An aggregate over alternatives is one over a relation that each alternative derives.
    fn union(
        &mut self,
        aggregate: &'e ast::Aggregate,
        names: &Names<'e>,
        bodies: &[Vec<Flat<'e>>],
        result: VariableId,
        span: Span,
    ) -> DraftAggregate {
        let groundings: Vec<_> =
            bodies.iter().map(|body| ground::ground(body, &[], None, &names.outer)).collect();
        let mentioned =
            groundings.iter().flat_map(|grounding| &grounding.mentions).map(|mention| mention.name);
        let inner: BTreeSet<&str> = mentioned.filter(|name| !names.outer.contains(name)).collect();
        for grounding in &groundings {
            unbound::report_inner(grounding, &names.visible, &inner, self.findings);
            let missing = |name: &&&str| !grounding.known.contains(**name) && !grounding.mentions(name);
            for name in inner.iter().filter(missing) {
                self.findings.push(unbound::missing(name, span));
            }
        }
        let known = inner.union(&names.outer).copied().collect();
        let around = ground::ground(&[], &[], aggregate.target.as_ref(), &known);
        unbound::report_inner(&around, &names.visible, &self.elsewhere, self.findings);
        let (scope, witnesses) = self.enter(names, &around);
        let outer: Vec<_> = names.outer.iter().map(|&name| (name.to_owned(), self.variable(name))).collect();
        let columns = inner.iter().map(|name| self.variable(name)).collect();
        let mut alternatives = Vec::new();
        for (literals, grounding) in bodies.iter().zip(&groundings) {
            self.open(grounding, outer.iter().cloned().collect(), Vec::new());
            let mut body = self.literals(literals);
            let columns = inner.iter().map(|name| self.variable(name)).collect();
            body.extend(self.flush());
            self.frames.pop();
            alternatives.push(DraftAlternative { body, columns });
        }
        let target = aggregate.target.as_ref().map(|term| self.term(term, Position::Value));
        let mut body = vec![DraftLiteral::Union { columns, alternatives, scope, span }];
        body.extend(self.flush());
        self.frames.pop();
        DraftAggregate {
            function: aggregate.kind,
            result,
            target,
            body,
            scope,
            witnesses,
            repeats: false,
            span,
        }
    }
}
