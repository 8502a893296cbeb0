//! All rules of all files, one by one, to rules that run.

use std::collections::{BTreeMap, BTreeSet};

use crate::program::annotations::{self, Subject};
use crate::program::decisions;
use crate::program::findings::Findings;
use crate::program::ground;
use crate::program::infer::infer;
use crate::program::lints;
use crate::program::lower::{Lowered, lower};
use crate::program::normalise::{self, Flat};
use crate::program::relations::check_open;
use crate::program::resolve::{check_alternatives, resolve};
use crate::program::schema::{PRELUDE_FILE, Schema};
use crate::program::union;
use crate::program::{
    Atom, DecisionRule, LineageRelation, Literal, Origin, RelationId, Rule, RuleId, Term, Variable,
    VariableId,
};
use crate::source::Sources;
use crate::syntax::ast;
use crate::value::Pool;

/// One alternative of a source rule.
pub(crate) struct Alternative {
    pub(crate) lowered: Lowered,
    /// Variables of the rule's own scope.
    pub(crate) names: BTreeMap<String, VariableId>,
}

/// What the rules are built into.
pub(crate) struct Builder<'a> {
    pub(crate) schema: &'a mut Schema,
    pub(crate) sources: &'a Sources,
    pub(crate) findings: &'a mut Findings,
    pub(crate) pool: Pool,
    pub(crate) rules: Vec<Rule>,
    pub(crate) lineage_rules: Vec<Rule>,
    pub(crate) decision_rules: Vec<DecisionRule>,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(schema: &'a mut Schema, sources: &'a Sources, findings: &'a mut Findings) -> Self {
        Self {
            schema,
            sources,
            findings,
            pool: Pool::default(),
            rules: Vec::new(),
            lineage_rules: Vec::new(),
            decision_rules: Vec::new(),
        }
    }

    pub(crate) fn add_rule(&mut self, rule: Rule) -> RuleId {
        self.rules.push(rule);
        RuleId(u32::try_from(self.rules.len() - 1).unwrap_or(u32::MAX))
    }

    /// Checks one rule as written and adds what it becomes. A rule with faults adds nothing.
    pub(crate) fn rule(&mut self, rule: &ast::Rule) {
        let before = self.findings.errors();
        let of_prelude = rule.span.file == PRELUDE_FILE;
        if !of_prelude {
            rule.heads.iter().for_each(|head| check_open(head, self.schema, self.findings));
            annotations::check_keys(&rule.annotations, self.findings);
        }
        let budget = check_alternatives(rule, self.findings);
        if budget.is_none() {
            return;
        }
        let alternatives = self.alternatives(rule, budget);
        if !of_prelude {
            lints::single_use(rule, self.findings);
        }
        let notes: Vec<_> = rule
            .heads
            .iter()
            .map(|head| {
                self.schema.prelude_relation(&head.relation.text).filter(|_| !of_prelude)?;
                let subject = Subject::of(&head.relation.text)?;
                if subject == Subject::Reason {
                    decisions::check_kind(self, head);
                }
                Some((subject, annotations::read(&rule.annotations, subject, self.findings)))
            })
            .collect();
        if self.findings.errors() != before {
            return;
        }
        for (at, (head, notes)) in rule.heads.iter().zip(notes).enumerate() {
            match notes {
                Some((subject, notes)) => decisions::add(self, (at, head), &alternatives, subject, notes),
                None => self.plain(at, head, &alternatives),
            }
        }
    }

    fn alternatives(&mut self, rule: &ast::Rule, mut budget: Option<usize>) -> Vec<Alternative> {
        let bodies =
            rule.body.as_ref().map_or_else(|| vec![Vec::new()], |body| normalise::alternatives(body, false));
        let bound: Vec<BTreeSet<&str>> = if bodies.len() > 1 {
            bodies.iter().map(|body| ground::ground(body, &[], None, &BTreeSet::new()).known).collect()
        } else {
            Vec::new()
        };
        let elsewhere: BTreeSet<&str> = bound.into_iter().flatten().collect();
        bodies.iter().map(|body| self.alternative(rule, body, &elsewhere, &mut budget)).collect()
    }

    fn alternative<'r>(
        &mut self,
        rule: &'r ast::Rule,
        body: &[Flat<'r>],
        elsewhere: &BTreeSet<&'r str>,
        budget: &mut Option<usize>,
    ) -> Alternative {
        let before = self.findings.errors();
        let draft = resolve(rule, body, elsewhere, budget, self.schema, self.findings);
        let quiet = self.findings.errors() != before;
        let inferred = infer(&draft, self.schema, self.sources, quiet, self.findings);
        let mut lowered = lower(&draft, &inferred, self.schema, &mut self.pool, self.findings);
        if self.findings.errors() == before {
            union::add(self, &mut lowered, rule.span);
        }
        Alternative { lowered, names: draft.names }
    }

    fn plain(&mut self, at: usize, head: &ast::Atom, alternatives: &[Alternative]) {
        for alternative in alternatives {
            let Some(own) = alternative.lowered.heads.get(at) else { continue };
            let rule = Rule {
                head: own.clone(),
                body: alternative.lowered.body.clone(),
                variables: alternative.lowered.variables.clone(),
                span: head.span,
            };
            if self.is_lineage(rule.head.relation) {
                self.lineage_rules.push(rule);
            } else {
                self.add_rule(rule);
            }
        }
    }

    fn is_lineage(&self, id: RelationId) -> bool {
        self.schema.relation(id).is_some_and(|relation| match relation.origin {
            Origin::Lineage(LineageRelation::CurrentDepends | LineageRelation::ReachableFrom) => true,
            Origin::Lineage(LineageRelation::Edge | LineageRelation::EdgeData)
            | Origin::Host
            | Origin::Rules => false,
        })
    }

    /// A gate that the author does not write holds; the second follows the first.
    pub(crate) fn gates(&mut self, written: &BTreeSet<&str>) {
        let find = |schema: &Schema, name: &str| {
            let id = schema.prelude_relation(name)?;
            schema.relation(id).map(|relation| (id, relation.span))
        };
        let (first, second) = ("CurrentDependsPolicyRelevant", "ReachableFromPolicyRelevant");
        let Some((first_id, first_span)) = find(self.schema, first) else { return };
        let Some((second_id, second_span)) = find(self.schema, second) else { return };
        let atom = |relation, span| Atom { relation, terms: Vec::new(), span };
        if !written.contains(first) {
            self.nullary(atom(first_id, first_span), Vec::new());
        }
        if !written.contains(second) {
            let body = vec![Literal::Positive(atom(first_id, second_span))];
            self.nullary(atom(second_id, second_span), body);
        }
    }

    fn nullary(&mut self, head: Atom, body: Vec<Literal>) {
        let span = head.span;
        self.add_rule(Rule { head, body, variables: Vec::new(), span });
    }

    /// `R(y, x) :- R(x, y).  R(x, z) :- R(x, y), R(y, z).  R(x, x) :- R(x, _).`
    pub(crate) fn equivalences(&mut self) {
        for (relation, span) in self.schema.equivalences.clone() {
            let Some(type_id) = self
                .schema
                .relation(relation)
                .and_then(|relation| relation.columns.first())
                .map(|column| column.type_id)
            else {
                continue;
            };
            let variable = |at: u32| Term::Variable(VariableId(at));
            let atom = |a: Term, b: Term| Atom { relation, terms: vec![a, b], span };
            let names = |names: &[&str]| {
                names.iter().map(|&name| Variable { name: name.to_owned(), type_id }).collect::<Vec<_>>()
            };
            let read = |a, b| Literal::Positive(atom(a, b));
            let (x, y, z) = (variable(0), variable(1), variable(2));
            let rules = [
                (atom(y.clone(), x.clone()), vec![read(x.clone(), y.clone())], names(&["x", "y"])),
                (
                    atom(x.clone(), z.clone()),
                    vec![read(x.clone(), y.clone()), read(y, z)],
                    names(&["x", "y", "z"]),
                ),
                (atom(x.clone(), x.clone()), vec![read(x, Term::Wildcard)], names(&["x"])),
            ];
            for (head, body, variables) in rules {
                self.add_rule(Rule { head, body, variables, span });
            }
        }
    }
}
