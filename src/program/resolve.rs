//! One alternative of a rule to a draft: names become numbers, aggregates and dot access get literals of their own.

use std::collections::{BTreeMap, BTreeSet};

use crate::program::VariableId;
use crate::program::declarations::reserved_reading;
use crate::program::draft::{Access, Draft, DraftAtom, DraftKind, DraftLiteral, DraftTerm, ScopeId};
use crate::program::findings::Findings;
use crate::program::ground::{self, Grounding, Inner, Spot};
use crate::program::normalise::{self, Flat, MAX_ALTERNATIVES};
use crate::program::relations::{unknown_head, unknown_relation};
use crate::program::schema::Schema;
use crate::program::unbound;
use crate::source::Diagnostic;
use crate::source::Span;
use crate::syntax::ast;
use crate::syntax::ast::{AggregateKind, ComparisonOperator, TermKind};

/// Where a term stands, as far as it matters for what may stand there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    Head,
    /// An argument of a positive atom, or a field of a record there.
    Pattern,
    /// An argument of a negated atom.
    Negated,
    /// A field of a record there.
    NegatedField,
    /// A side of an equality.
    Equality,
    /// A field of a record on a side of an equality.
    EqualityField,
    /// Anywhere else: in other comparisons, functors, arithmetic.
    Value,
}

/// Resolves one alternative of a rule. `budget` is how many alternatives its aggregates may still have.
pub(crate) fn resolve<'a>(
    rule: &'a ast::Rule,
    literals: &[Flat<'a>],
    elsewhere: &BTreeSet<&'a str>,
    budget: &mut Option<usize>,
    schema: &Schema,
    findings: &mut Findings,
) -> Draft {
    let mut resolver = Resolver {
        schema,
        findings,
        draft: Draft::default(),
        frames: Vec::new(),
        elsewhere: elsewhere.clone(),
        budget,
    };
    let heads: Vec<_> = rule.heads.iter().flat_map(|head| &head.terms).collect();
    let grounding = ground::ground(literals, &heads, None, &BTreeSet::new());
    if rule.body.is_some() {
        unbound::report(&grounding, (rule.span, literals), elsewhere, resolver.findings);
    } else {
        unbound::report_fact(&grounding, &rule.heads, schema, resolver.findings);
    }
    resolver.open(&grounding, BTreeMap::new(), Vec::new());
    let mut body = resolver.literals(literals);
    let heads = rule.heads.iter().map(|head| resolver.atom(head, Position::Head)).collect();
    body.extend(resolver.flush());
    resolver.draft.heads = heads;
    resolver.draft.body = body;
    if let Some(frame) = resolver.frames.pop() {
        resolver.draft.names = frame.names;
    }
    resolver.draft
}

/// What to do about an aggregate that waits for itself.
fn stuck_help(grounding: &Grounding<'_>, span: Span) -> String {
    let apart = "compute one of the values in a relation of its own, by a rule that does not use the other";
    if grounding.stuck.len() > 1 {
        return apart.to_owned();
    }
    let at = |name: &str, spot: Spot| {
        grounding.mentions.iter().any(|mention| mention.name == name && mention.spot == spot)
    };
    let inner = grounding.aggregates.iter().find(|inner| inner.span == span);
    let names = inner.into_iter().flat_map(|inner| inner.names.difference(&inner.target));
    let own = names
        .copied()
        .find(|&name| grounding.known.contains(name) && at(name, Spot::Compared) && !at(name, Spot::Bound));
    own.map_or_else(
        || format!("use another variable inside, or {apart}"),
        |name| format!("`{name}` outside is the result: use another variable than `{name}` inside"),
    )
}

/// The scope that is being resolved, or one around it.
pub(crate) struct Frame {
    pub(crate) id: ScopeId,
    /// Variables that are visible here; those from outside are entered when it opens.
    names: BTreeMap<String, VariableId>,
    /// Names that aggregates inside see as theirs to read.
    pub(crate) known: BTreeSet<String>,
    /// Names that the scope itself uses.
    used: BTreeSet<String>,
    /// Literals that go before the one that is being resolved.
    pub(crate) pending: Vec<DraftLiteral>,
    /// Variables of the scope outside that this aggregate binds.
    witnesses: Vec<VariableId>,
}

pub(crate) struct Resolver<'a, 'e> {
    pub(crate) schema: &'a Schema,
    pub(crate) findings: &'a mut Findings,
    pub(crate) draft: Draft,
    pub(crate) frames: Vec<Frame>,
    pub(crate) elsewhere: BTreeSet<&'e str>,
    pub(crate) budget: &'a mut Option<usize>,
}

impl<'e> Resolver<'_, 'e> {
    /// Opens a scope inside the current one. `names` are the variables of other scopes that are seen in it.
    pub(crate) fn open(
        &mut self,
        grounding: &Grounding<'_>,
        names: BTreeMap<String, VariableId>,
        witnesses: Vec<VariableId>,
    ) -> ScopeId {
        let parent = self.frames.last().map(|frame| frame.id);
        let id = ScopeId(self.draft.parents.len());
        self.draft.parents.push(parent);
        let known = grounding.known.iter().map(|&name| name.to_owned()).collect();
        let used = grounding.mentions.iter().map(|mention| mention.name.to_owned()).collect();
        self.frames.push(Frame { id, names, known, used, pending: Vec::new(), witnesses });
        for &span in &grounding.stuck {
            let finding = Diagnostic::error(
                "E0035",
                span,
                "the aggregate needs its own result, directly or through others",
            )
            .with_label("waits for itself")
            .with_help(stuck_help(grounding, span));
            self.findings.push(finding);
        }
        for inner in &grounding.aggregates {
            self.check_witnesses(grounding, inner);
        }
        id
    }

    fn check_witnesses(&mut self, grounding: &Grounding<'_>, inner: &Inner<'_>) {
        if matches!(inner.aggregate.kind, AggregateKind::Min | AggregateKind::Max) {
            return;
        }
        for &name in inner.names.difference(&inner.target) {
            if !grounding.known.contains(name) && grounding.mentions(name) {
                let finding = unbound::leaking(name, inner.span, grounding);
                self.findings.push(finding);
            }
        }
    }

    fn scope(&self) -> ScopeId {
        self.frames.last().map_or(ScopeId(0), |frame| frame.id)
    }

    pub(crate) fn flush(&mut self) -> Vec<DraftLiteral> {
        self.frames.last_mut().map(|frame| std::mem::take(&mut frame.pending)).unwrap_or_default()
    }

    pub(crate) fn literals(&mut self, literals: &[Flat<'e>]) -> Vec<DraftLiteral> {
        let mut body = Vec::new();
        for literal in literals {
            let resolved = self.literal(literal);
            body.extend(self.flush());
            body.extend(resolved);
        }
        body
    }

    fn literal(&mut self, literal: &Flat<'e>) -> Option<DraftLiteral> {
        match *literal {
            Flat::Atom { atom, negated: false } => {
                Some(DraftLiteral::Positive(self.atom(atom, Position::Pattern)))
            }
            Flat::Atom { atom, negated: true } => {
                Some(DraftLiteral::Negative(self.atom(atom, Position::Negated)))
            }
            Flat::Compare { operator, left, right, span, negated } => {
                self.comparison(operator, left, right, span, negated)
            }
            Flat::Text { test, pattern, text, span, negated } => {
                let name = match test {
                    ast::TextTest::Match => "match",
                    ast::TextTest::Contains => "contains",
                };
                let name = ast::Name { text: name.to_owned(), span };
                let call = self.functor(&name, &[pattern, text], true, span);
                if negated {
                    self.check_total(&call, Position::Negated);
                }
                let slot = self.draft.slot();
                let right = DraftTerm { kind: DraftKind::Integer(i128::from(!negated)), span, slot };
                Some(DraftLiteral::Test { operator: ComparisonOperator::Equal, left: call, right, span })
            }
            Flat::Never(span) => Some(DraftLiteral::Never(span)),
        }
    }

    fn comparison(
        &mut self,
        operator: ComparisonOperator,
        left: &'e ast::Term,
        right: &'e ast::Term,
        span: Span,
        negated: bool,
    ) -> Option<DraftLiteral> {
        if operator == ComparisonOperator::Equal {
            // `n = count : { … }` needs no variable of its own for the result.
            for (side, other) in [(left, right), (right, left)] {
                if let (TermKind::Variable(name), TermKind::Aggregate(aggregate)) = (&side.kind, &other.kind)
                {
                    let result = self.variable(name);
                    self.aggregate(aggregate, result, other.span);
                    return None;
                }
            }
        }
        let position =
            if operator == ComparisonOperator::Equal { Position::Equality } else { Position::Value };
        let left = self.term(left, position);
        let right = self.term(right, position);
        if has_wildcard(&left) && has_wildcard(&right) {
            let finding =
                Diagnostic::error("E0031", span, "`_` stands on both sides, so neither has a value")
                    .with_help("bind the fields of one side by literals of their own");
            self.findings.push(finding);
        }
        if negated {
            self.check_total(&left, Position::Negated);
            self.check_total(&right, Position::Negated);
        }
        Some(DraftLiteral::Test { operator, left, right, span })
    }

    fn atom(&mut self, atom: &'e ast::Atom, position: Position) -> DraftAtom {
        let terms: Vec<_> = atom.terms.iter().map(|term| self.term(term, position)).collect();
        if matches!(position, Position::Head | Position::Negated) {
            terms.iter().for_each(|term| self.check_total(term, position));
        }
        let name = &atom.relation;
        let mut relation = self.schema.relation_names.get(&name.text).copied();
        if name.text.starts_with("__") {
            reserved_reading(name, self.findings);
            relation = None;
        } else if relation.is_none() {
            let finding = match position {
                Position::Head => unknown_head(name, self.schema),
                _ => unknown_relation(name, self.schema),
            };
            self.findings.push(finding);
        }
        if let Some(declared) = relation.and_then(|id| self.schema.relation(id)) {
            let expected = declared.columns.len();
            if expected != terms.len() {
                let columns: Vec<_> = declared.columns.iter().map(|column| column.name.as_str()).collect();
                let finding = arity(&format!("`{}`", name.text), expected, terms.len(), atom.span)
                    .with_secondary(declared.span, "declared here")
                    .with_help(format!("its columns are ({})", columns.join(", ")));
                self.findings.push(finding);
                relation = None;
            }
        }
        DraftAtom { relation, terms, span: atom.span }
    }

    /// The variable of that name in the innermost scope.
    pub(crate) fn variable(&mut self, name: &str) -> VariableId {
        let scope = self.scope();
        if let Some(&id) = self.frames.last().and_then(|frame| frame.names.get(name)) {
            return id;
        }
        let id = self.draft.variable(name, scope);
        if let Some(frame) = self.frames.last_mut() {
            frame.names.insert(name.to_owned(), id);
        }
        id
    }

    /// A variable that takes the value of an aggregate.
    pub(crate) fn aggregate_term(&mut self, aggregate: &'e ast::Aggregate, span: Span) -> VariableId {
        let scope = self.scope();
        let result = self.draft.variable("", scope);
        self.aggregate(aggregate, result, span);
        result
    }

    pub(crate) fn uses(&self, name: &str) -> bool {
        self.frames.last().is_some_and(|frame| frame.used.contains(name))
    }

    /// The variable that takes a field of a variable, or of a field of it.
    pub(crate) fn access(&mut self, base: VariableId, field: &ast::Name) -> VariableId {
        // The field is read where the variable is bound, so that inner scopes share it.
        let scope = self
            .frames
            .iter()
            .rev()
            .find(|frame| frame.witnesses.contains(&base))
            .map(|frame| frame.id)
            .or_else(|| self.draft.get(base).map(|variable| variable.scope))
            .unwrap_or(ScopeId(0));
        let known = self.draft.accesses.get(&(base, scope));
        if let Some(found) =
            known.and_then(|accesses| accesses.iter().find(|access| access.field.text == field.text))
        {
            return found.value;
        }
        let first = known.is_none();
        let value = self.draft.variable("", scope);
        let access = Access { field: field.clone(), value };
        self.draft.accesses.entry((base, scope)).or_default().push(access);
        if first && let Some(frame) = self.frames.iter_mut().find(|frame| frame.id == scope) {
            frame.pending.push(DraftLiteral::Access(base, scope));
        }
        value
    }
}

fn has_wildcard(term: &DraftTerm) -> bool {
    let mut found = false;
    term.walk(&mut |term| found |= matches!(term.kind, DraftKind::Wildcard));
    found
}

/// Whether a variable stands twice in an atom.
pub(crate) fn repeats(literal: &Flat<'_>) -> bool {
    let Flat::Atom { negated: false, .. } = literal else { return false };
    let mut names = Vec::new();
    literal.terms().into_iter().for_each(|term| variables_of(term, &mut names));
    let distinct: BTreeSet<_> = names.iter().collect();
    distinct.len() < names.len()
}

fn variables_of<'a>(term: &'a ast::Term, into: &mut Vec<&'a str>) {
    if let TermKind::Variable(name) = &term.kind {
        into.push(name);
    }
    normalise::parts(term).into_iter().for_each(|part| variables_of(part, into));
}

/// A wrong number of arguments.
pub(crate) fn arity(what: &str, expected: usize, given: usize, span: Span) -> Diagnostic {
    let are = if given == 1 { "is" } else { "are" };
    let plural = if expected == 1 { "argument" } else { "arguments" };
    Diagnostic::error("E0011", span, format!("{what} takes {expected} {plural}, and {given} {are} given"))
        .with_label(format!("{given} given"))
}

/// Reports a body with too many alternatives; else how many its aggregates may have.
pub(crate) fn check_alternatives(rule: &ast::Rule, findings: &mut Findings) -> Option<usize> {
    let alternatives = rule.body.as_ref().map_or(1, |body| normalise::count(body, false));
    let left = MAX_ALTERNATIVES.checked_sub(alternatives);
    if left.is_none() {
        findings.push(too_many("the body", alternatives, rule.span));
    }
    left
}

/// More alternatives than a rule may have.
pub(crate) fn too_many(what: &str, alternatives: usize, span: Span) -> Diagnostic {
    let message =
        format!("{what} has {alternatives} alternatives, and a rule has {MAX_ALTERNATIVES} at most in all");
    Diagnostic::error("E0036", span, message).with_help("give some of the `;` groups a relation of their own")
}
