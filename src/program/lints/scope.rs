//! One rule as lints read it: which variables are one, what each stands for, and where a value comes from.

use std::collections::BTreeMap;

use crate::functor;
use crate::functor::Functor;
use crate::program::lints::values::Target;
use crate::program::{
    Atom, Call, Comparison, Function, Literal, Program, RelationId, Rule, Term, VariableId,
};
use crate::syntax::ast::ComparisonOperator;
use crate::value::{ConstructorId, Kind, Symbol};

/// Where a text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The arguments of the action.
    Arguments,
    /// The arguments of a call that was made before.
    Past,
    /// `MessageMetadata`.
    Metadata,
    /// What a message says.
    Contents,
    /// The address of a request.
    Address,
    /// The host of a request.
    Host,
}

/// A rule with what can be told from it alone.
#[derive(Debug)]
pub(crate) struct Scope<'a> {
    pub(crate) program: &'a Program,
    pub(crate) rule: &'a Rule,
    /// For each variable the first of those that are equal to it.
    classes: Vec<VariableId>,
    /// Likewise, with an index and its action as one.
    actions: Vec<VariableId>,
    /// What a class is equal to.
    definitions: BTreeMap<VariableId, Vec<&'a Term>>,
    sources: BTreeMap<VariableId, Source>,
    /// Variables that are equal to a text.
    pub(crate) texts: Vec<(VariableId, Symbol)>,
    /// Actions and the names that they call.
    pub(crate) tools: Vec<(VariableId, &'a Term)>,
    /// Actions that are of a kind without a name.
    pub(crate) kinds: Vec<(VariableId, Target)>,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(program: &'a Program, rule: &'a Rule) -> Self {
        let all = || (0..rule.variables.len()).map(|at| VariableId(u32::try_from(at).unwrap_or(u32::MAX)));
        let mut scope = Self {
            program,
            rule,
            classes: all().collect(),
            actions: all().collect(),
            definitions: BTreeMap::new(),
            sources: BTreeMap::new(),
            texts: Vec::new(),
            tools: Vec::new(),
            kinds: Vec::new(),
        };
        for literal in &rule.body {
            match literal {
                Literal::Test(test) => scope.join_test(test),
                Literal::Positive(atom) => scope.join_atom(atom),
                Literal::Negative(_) | Literal::Aggregate(_) => {}
            }
        }
        for literal in &rule.body {
            match literal {
                Literal::Test(test) => scope.read_test(test),
                Literal::Positive(atom) => scope.read_atom(atom),
                Literal::Negative(_) | Literal::Aggregate(_) => {}
            }
        }
        scope
    }

    /// What stands for all variables that are equal to this one.
    pub(crate) fn class(&self, id: VariableId) -> VariableId {
        self.classes.get(id.0 as usize).copied().unwrap_or(id)
    }

    /// Likewise, with an index and its action as one.
    pub(crate) fn action(&self, id: VariableId) -> VariableId {
        self.actions.get(id.0 as usize).copied().unwrap_or(id)
    }

    fn join_test(&mut self, test: &Comparison) {
        if let (ComparisonOperator::Equal, Term::Variable(a), Term::Variable(b)) =
            (test.operator, &test.left, &test.right)
        {
            join(&mut self.classes, *a, *b);
            join(&mut self.actions, *a, *b);
        }
    }

    fn join_atom(&mut self, atom: &Atom) {
        if self.name(atom.relation) == "Actions"
            && let [Term::Variable(index), Term::Variable(action)] = &atom.terms[..]
        {
            join(&mut self.actions, *index, *action);
        }
    }

    fn read_test(&mut self, test: &'a Comparison) {
        if test.operator != ComparisonOperator::Equal {
            return;
        }
        for (side, other) in [(&test.left, &test.right), (&test.right, &test.left)] {
            let Term::Variable(id) = side else { continue };
            if !matches!(other, Term::Variable(_)) {
                self.definitions.entry(self.class(*id)).or_default().push(other);
            }
            if let (Term::Constant(word), Kind::Symbol) = (other, test.kind) {
                self.texts.push((*id, word.as_symbol()));
            }
            if let Term::Construct(constructor, terms) = other {
                self.read_construct(Some(*id), *constructor, terms);
            }
        }
    }

    fn read_construct(&mut self, of: Option<VariableId>, constructor: ConstructorId, terms: &'a [Term]) {
        match (self.program.types.constructor(constructor).name.as_str(), terms) {
            ("CallTool", [name, arguments]) => {
                self.mark(arguments, Source::Arguments);
                self.tools.extend(of.map(|id| (id, name)));
            }
            ("HTTPRequest", [url, ..]) => {
                self.mark(url, Source::Address);
                self.kinds.extend(of.map(|id| (id, Target::Request)));
            }
            ("SendAttempt", [message]) => {
                self.kinds.extend(of.map(|id| (id, Target::Message)));
                if let Term::Construct(constructor, terms) = message {
                    self.read_construct(None, *constructor, terms);
                }
            }
            ("Message", [contents, tools, ..]) => {
                self.mark(contents, Source::Contents);
                self.mark(tools, Source::Contents);
            }
            _ => {}
        }
    }

    fn read_atom(&mut self, atom: &'a Atom) {
        let column = |at: usize| atom.terms.get(at);
        let index = |at: usize| match atom.terms.get(at) {
            Some(Term::Variable(id)) => Some(*id),
            _ => None,
        };
        match self.name(atom.relation) {
            "Actions" => {
                if let Some(Term::Construct(constructor, terms)) = column(1) {
                    self.read_construct(index(0), *constructor, terms);
                }
            }
            "SentMessage" => {
                if let Some(Term::Construct(constructor, terms)) = column(1) {
                    self.read_construct(None, *constructor, terms);
                }
            }
            "IsTool" => self.tools.extend(index(0).zip(column(1))),
            "MessageMetadata" => column(1).into_iter().for_each(|term| self.mark(term, Source::Metadata)),
            "ToolResult" | "ToolOutput" => {
                column(2).into_iter().for_each(|term| self.mark(term, Source::Past));
            }
            "ToolOutcome" | "ProposedCall" => {
                column(3).into_iter().for_each(|term| self.mark(term, Source::Past));
            }
            "QueriesHost" => column(1).into_iter().for_each(|term| self.mark(term, Source::Host)),
            _ => {}
        }
    }

    fn mark(&mut self, term: &Term, source: Source) {
        if let Term::Variable(id) = term {
            self.sources.insert(self.class(*id), source);
        }
    }

    /// The name of a relation.
    pub(crate) fn name(&self, id: RelationId) -> &'a str {
        self.program.schema(id).map_or("", |relation| relation.name.as_str())
    }

    /// What the term is equal to, other than a variable: each definition of a variable, or the term itself.
    pub(crate) fn meanings<'t>(&self, term: &'t Term) -> Vec<&'t Term>
    where
        'a: 't,
    {
        match term {
            Term::Variable(id) => self.definitions.get(&self.class(*id)).cloned().unwrap_or_default(),
            Term::Constant(_) | Term::Wildcard | Term::Construct(..) | Term::Call(_) => vec![term],
        }
    }

    /// Where a text comes from, if it is taken as it is.
    pub(crate) fn source(&self, term: &Term) -> Option<Source> {
        match term {
            Term::Variable(id) => self.sources.get(&self.class(*id)).copied(),
            Term::Constant(_) | Term::Wildcard | Term::Construct(..) | Term::Call(_) => None,
        }
    }

    /// A text that the term is for sure.
    pub(crate) fn literal(&self, term: &Term) -> Option<&'a str> {
        let constant = |term: &&Term| matches!(term, Term::Constant(_));
        match self.meanings(term).into_iter().find(constant) {
            Some(Term::Constant(word)) => Some(self.program.pool.text(word.as_symbol())),
            _ => None,
        }
    }

    /// Every positive atom of that relation.
    pub(crate) fn atoms(&self, name: &str) -> impl Iterator<Item = &'a Atom> {
        let relation = self.program.relation(name);
        self.rule.body.iter().filter_map(move |literal| match literal {
            Literal::Positive(atom) if Some(atom.relation) == relation => Some(atom),
            _ => None,
        })
    }

    /// Every call in the rule, those inside others after them.
    pub(crate) fn calls(&self) -> Vec<&'a Call> {
        let mut found = Vec::new();
        self.rule.head.terms.iter().for_each(|term| calls_of(term, &mut found));
        calls_in(&self.rule.body, &mut found);
        found
    }
}

/// Makes two variables one; the lower number stands for both.
fn join(classes: &mut [VariableId], a: VariableId, b: VariableId) {
    let class = |id: VariableId| classes.get(id.0 as usize).copied().unwrap_or(id);
    let (a, b) = (class(a), class(b));
    let (low, high) = (a.min(b), a.max(b));
    classes.iter_mut().filter(|class| **class == high).for_each(|class| *class = low);
}

fn calls_in<'a>(body: &'a [Literal], found: &mut Vec<&'a Call>) {
    for literal in body {
        match literal {
            Literal::Positive(atom) | Literal::Negative(atom) => {
                atom.terms.iter().for_each(|term| calls_of(term, found));
            }
            Literal::Test(test) => {
                calls_of(&test.left, found);
                calls_of(&test.right, found);
            }
            Literal::Aggregate(aggregate) => {
                aggregate.target.iter().for_each(|term| calls_of(term, found));
                calls_in(&aggregate.body, found);
            }
        }
    }
}

/// Adds the calls in a term.
pub(crate) fn calls_of<'a>(term: &'a Term, found: &mut Vec<&'a Call>) {
    match term {
        Term::Call(call) => {
            found.push(call);
            call.arguments.iter().for_each(|term| calls_of(term, found));
        }
        Term::Construct(_, terms) => terms.iter().for_each(|term| calls_of(term, found)),
        Term::Variable(_) | Term::Constant(_) | Term::Wildcard => {}
    }
}

/// The functor that a call applies.
pub(crate) fn functor_of(call: &Call) -> Option<&'static Functor> {
    match call.function {
        Function::Functor { id, .. } => functor::table().get(usize::from(id.0)),
        Function::Arithmetic(..) | Function::Range(_) | Function::Cast(..) | Function::Show(_) => None,
    }
}
