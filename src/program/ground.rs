//! Which variables of a scope are bound, by name.
//!
//! A scope is a rule, or the body of one aggregate. Equalities bind between whole sides, never backwards through a
//! functor or arithmetic; records and variants bind both ways.

use std::collections::{BTreeMap, BTreeSet};

use crate::program::normalise::{self, Flat};
use crate::source::Span;
use crate::syntax::ast;
use crate::syntax::ast::{AggregateKind, ComparisonOperator, TermKind};

/// Where a variable stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Spot {
    Head,
    Negated,
    Compared,
    /// In a functor, arithmetic, a cast or before a dot.
    Argument,
    Target,
    /// Where it is bound.
    Bound,
}

/// A variable where it stands.
pub(crate) struct Mention<'a> {
    pub(crate) name: &'a str,
    pub(crate) span: Span,
    pub(crate) spot: Spot,
}

/// An aggregate of a scope, with what its body is made of.
pub(crate) struct Inner<'a> {
    pub(crate) aggregate: &'a ast::Aggregate,
    pub(crate) span: Span,
    /// Names of the target, always local.
    pub(crate) target: BTreeSet<&'a str>,
    /// Names of the body.
    pub(crate) names: BTreeSet<&'a str>,
}

/// What is known about the names of a scope.
pub(crate) struct Grounding<'a> {
    pub(crate) known: BTreeSet<&'a str>,
    /// Bound by the extreme rows of an aggregate.
    pub(crate) witnesses: BTreeSet<&'a str>,
    pub(crate) mentions: Vec<Mention<'a>>,
    pub(crate) aggregates: Vec<Inner<'a>>,
    /// Aggregates that wait for each other.
    pub(crate) stuck: Vec<Span>,
}

impl<'a> Grounding<'a> {
    /// Names of the scope that nothing binds, each with its first place and all spots.
    pub(crate) fn unbound(&self) -> Vec<(&'a str, Span, BTreeSet<Spot>)> {
        let mut found: BTreeMap<&str, (Span, BTreeSet<Spot>)> = BTreeMap::new();
        for mention in &self.mentions {
            if !self.known.contains(mention.name) && !self.witnesses.contains(mention.name) {
                found.entry(mention.name).or_insert((mention.span, BTreeSet::new())).1.insert(mention.spot);
            }
        }
        found.into_iter().map(|(name, (span, spots))| (name, span, spots)).collect()
    }

    /// Whether the scope itself names the variable, aggregates aside.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        self.mentions.iter().any(|mention| mention.name == name)
    }
}

/// Grounds a scope. `outer` are names bound outside of it.
pub(crate) fn ground<'a>(
    literals: &[Flat<'a>],
    heads: &[&'a ast::Term],
    target: Option<&'a ast::Term>,
    outer: &BTreeSet<&'a str>,
) -> Grounding<'a> {
    let mut mentions = Vec::new();
    heads.iter().for_each(|term| mention(term, Spot::Head, &mut mentions));
    target.iter().for_each(|term| mention(term, Spot::Target, &mut mentions));
    let mut aggregates = Vec::new();
    heads.iter().chain(&target).for_each(|term| collect_aggregates(term, &mut aggregates));
    for literal in literals {
        let spot = match literal {
            Flat::Atom { negated: true, .. } => Spot::Negated,
            Flat::Atom { .. } => Spot::Bound,
            Flat::Compare { .. } => Spot::Compared,
            Flat::Text { .. } => Spot::Argument,
            Flat::Never(_) => continue,
        };
        for term in literal.terms() {
            mention(term, spot, &mut mentions);
            collect_aggregates(term, &mut aggregates);
        }
    }
    // First with every aggregate taken as known: this tells which names of its body come from outside.
    let all: BTreeSet<Span> = aggregates.iter().map(|inner| inner.span).collect();
    let mut known = outer.clone();
    spread(literals, &all, &mut known);
    // Then with those alone whose outer names are known.
    let (mut ready, mut reached) = (BTreeSet::new(), outer.clone());
    loop {
        spread(literals, &ready, &mut reached);
        let waits = |inner: &Inner<'_>| {
            inner
                .names
                .iter()
                .any(|name| known.contains(name) && !inner.target.contains(name) && !reached.contains(name))
        };
        let more: BTreeSet<Span> =
            aggregates.iter().filter(|inner| !waits(inner)).map(|inner| inner.span).collect();
        if more == ready {
            break;
        }
        ready = more;
    }
    let stuck = all.difference(&ready).copied().collect();
    let mut grounding = Grounding { known, witnesses: BTreeSet::new(), mentions, aggregates, stuck };
    grounding.witnesses = witnesses(&grounding);
    // What equals a witness is bound too.
    let mut known = grounding.known.union(&grounding.witnesses).copied().collect();
    spread(literals, &all, &mut known);
    let witnesses: Vec<_> = known.difference(&grounding.known).copied().collect();
    grounding.witnesses.extend(witnesses);
    grounding
}

/// Inner names of `min` and `max` that are used outside and bound nowhere else.
fn witnesses<'a>(grounding: &Grounding<'a>) -> BTreeSet<&'a str> {
    let extreme =
        |inner: &&Inner<'_>| matches!(inner.aggregate.kind, AggregateKind::Min | AggregateKind::Max);
    let names =
        grounding.aggregates.iter().filter(extreme).flat_map(|inner| inner.names.difference(&inner.target));
    names.copied().filter(|name| !grounding.known.contains(name) && grounding.mentions(name)).collect()
}

fn spread<'a>(literals: &[Flat<'a>], ready: &BTreeSet<Span>, known: &mut BTreeSet<&'a str>) {
    loop {
        let before = known.len();
        for literal in literals {
            match *literal {
                Flat::Atom { atom, negated: false } => {
                    atom.terms.iter().for_each(|term| bind(term, known));
                }
                Flat::Compare { operator: ComparisonOperator::Equal, left, right, .. } => {
                    if is_ground(right, known, ready) {
                        bind(left, known);
                    }
                    if is_ground(left, known, ready) {
                        bind(right, known);
                    }
                }
                Flat::Atom { .. } | Flat::Compare { .. } | Flat::Text { .. } | Flat::Never(_) => {}
            }
        }
        if known.len() == before {
            return;
        }
    }
}

fn bind<'a>(term: &'a ast::Term, known: &mut BTreeSet<&'a str>) {
    match &term.kind {
        TermKind::Variable(name) => {
            known.insert(name);
        }
        TermKind::Record(terms) | TermKind::Variant(_, terms) => {
            terms.iter().for_each(|term| bind(term, known));
        }
        TermKind::Wildcard
        | TermKind::Text(_)
        | TermKind::Integer(_)
        | TermKind::Unsigned(_)
        | TermKind::Float(_)
        | TermKind::Nil
        | TermKind::Field(..)
        | TermKind::Functor(..)
        | TermKind::Intrinsic(..)
        | TermKind::Unary(..)
        | TermKind::Binary(..)
        | TermKind::Cast(..)
        | TermKind::Aggregate(_) => {}
    }
}

fn is_ground(term: &ast::Term, known: &BTreeSet<&str>, ready: &BTreeSet<Span>) -> bool {
    match &term.kind {
        TermKind::Variable(name) => known.contains(name.as_str()),
        TermKind::Wildcard => false,
        TermKind::Aggregate(_) => ready.contains(&term.span),
        TermKind::Text(_)
        | TermKind::Integer(_)
        | TermKind::Unsigned(_)
        | TermKind::Float(_)
        | TermKind::Nil
        | TermKind::Record(_)
        | TermKind::Variant(..)
        | TermKind::Field(..)
        | TermKind::Functor(..)
        | TermKind::Intrinsic(..)
        | TermKind::Unary(..)
        | TermKind::Binary(..)
        | TermKind::Cast(..) => normalise::parts(term).into_iter().all(|part| is_ground(part, known, ready)),
    }
}

fn mention<'a>(term: &'a ast::Term, spot: Spot, into: &mut Vec<Mention<'a>>) {
    if let TermKind::Variable(name) = &term.kind {
        into.push(Mention { name, span: term.span, spot });
    }
    let inside = match spot {
        _ if matches!(term.kind, TermKind::Record(_) | TermKind::Variant(..)) => spot,
        Spot::Bound | Spot::Compared => Spot::Argument,
        Spot::Head | Spot::Negated | Spot::Argument | Spot::Target => spot,
    };
    normalise::parts(term).into_iter().for_each(|part| mention(part, inside, into));
}

fn collect_aggregates<'a>(term: &'a ast::Term, into: &mut Vec<Inner<'a>>) {
    if let TermKind::Aggregate(aggregate) = &term.kind {
        let (target, names) = names_of(aggregate);
        into.push(Inner { aggregate, span: term.span, target, names });
    }
    normalise::parts(term).into_iter().for_each(|part| collect_aggregates(part, into));
}

/// The names of an aggregate's target, and those of its body.
pub(crate) fn names_of(aggregate: &ast::Aggregate) -> (BTreeSet<&str>, BTreeSet<&str>) {
    let (mut target, mut body) = (BTreeSet::new(), BTreeSet::new());
    aggregate.target.iter().for_each(|term| names_in(term, &mut target));
    let mut terms = Vec::new();
    normalise::terms_of(&aggregate.body, &mut terms);
    terms.into_iter().for_each(|term| names_in(term, &mut body));
    (target, body)
}

/// The names of a term; of an aggregate inside it, those that may come from outside of that.
fn names_in<'a>(term: &'a ast::Term, into: &mut BTreeSet<&'a str>) {
    if let TermKind::Variable(name) = &term.kind {
        into.insert(name);
    }
    if let TermKind::Aggregate(aggregate) = &term.kind {
        let (target, names) = names_of(aggregate);
        into.extend(names.difference(&target));
    }
    normalise::parts(term).into_iter().for_each(|part| names_in(part, into));
}
