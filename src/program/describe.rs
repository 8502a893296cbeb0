//! What editors ask about a policy, whether it loads or not.

use std::collections::{BTreeMap, BTreeSet};

use crate::program::draft::{Draft, DraftKind, literal_terms, walk_literals};
use crate::program::infer::Inferred;
use crate::program::relations::Inputs;
use crate::program::schema::BROKEN;
use crate::program::types::{TypeId, Types};
use crate::program::{Checked, Includes, Prelude, Relation, checked};
use crate::source::{Diagnostic, Sources, Span};
use crate::syntax::ast;

/// Everything that checking a policy tells, be it faulty or not.
#[derive(Debug, Clone)]
pub struct Description {
    /// Every text, prelude first.
    pub sources: Sources,
    /// The syntax trees, by [`FileId`](crate::source::FileId). Faulty statements are left out of them.
    pub trees: Vec<ast::Program>,
    /// The types that are declared without fault.
    pub types: Types,
    /// The relations that are declared without fault.
    pub relations: Vec<Relation>,
    /// Every finding, by file and place.
    pub findings: Vec<Diagnostic>,
    type_names: BTreeMap<String, TypeId>,
    told: Told,
}

impl Description {
    /// The type of that name, or the one that it is an alias of.
    #[must_use]
    pub fn type_named(&self, name: &str) -> Option<TypeId> {
        self.type_names.get(name).copied().filter(|&id| id != BROKEN)
    }

    /// The names of all types, aliases among them, in order.
    pub fn type_names(&self) -> impl Iterator<Item = &str> {
        self.type_names.keys().map(String::as_str)
    }

    /// The type of the term that stands at exactly that place in a rule of the policy.
    #[must_use]
    pub fn term(&self, span: Span) -> Option<TypeId> {
        self.told.terms.get(&span).copied()
    }

    /// The types of a variable of the rule that stands at that place: none where they cannot be told, several where the
    /// alternatives or aggregates of the rule use the name for different things.
    #[must_use]
    pub fn variable(&self, rule: Span, name: &str) -> Vec<TypeId> {
        let key = (rule, name.to_owned());
        self.told.variables.get(&key).into_iter().flatten().copied().collect()
    }

    /// The type of a field of values of that type; none where they have no such field.
    #[must_use]
    pub fn field(&self, id: TypeId, name: &str) -> Option<TypeId> {
        let constructor = self.types.record_of(id)?;
        let fields = &self.types.constructor(constructor).fields;
        fields.iter().find(|(field, _)| field == name).map(|&(_, field)| field).filter(|&id| id != BROKEN)
    }
}

/// The types of what stands in rules.
#[derive(Debug, Clone, Default)]
pub(crate) struct Told {
    terms: BTreeMap<Span, TypeId>,
    /// By the rule and the name.
    variables: BTreeMap<(Span, String), BTreeSet<TypeId>>,
}

impl Told {
    /// Notes what was inferred for one alternative of a rule.
    pub(crate) fn note(&mut self, rule: Span, draft: &Draft, inferred: &Inferred) {
        let mut terms: Vec<_> = draft.heads.iter().flat_map(|head| &head.terms).collect();
        walk_literals(&draft.body, &mut |literal| terms.extend(literal_terms(literal)));
        for term in terms {
            term.walk(&mut |term| {
                let id = inferred.get(term.slot);
                if id != BROKEN && !matches!(term.kind, DraftKind::Wildcard) {
                    self.terms.insert(term.span, id);
                }
            });
        }
        for variable in draft.variables.iter().filter(|variable| !variable.name.is_empty()) {
            let id = inferred.get(variable.slot);
            if id != BROKEN {
                self.variables.entry((rule, variable.name.clone())).or_default().insert(id);
            }
        }
    }
}

/// Checks the policy that these files (name, text) make together, and keeps everything that was learnt on the way.
///
/// ```
/// use gatelog::program::{NoIncludes, describe};
///
/// let text = r#"Unauthorized(i) :- Actions(i, a), IsTool(a, "pay"), Missing(x)."#;
/// let description = describe(&[("pay.dl".to_owned(), text.to_owned())], &mut NoIncludes);
/// let gatelog::syntax::ast::Item::Rule(rule) = &description.trees[1].items[0] else { return };
/// let types = description.variable(rule.span, "a");
/// assert_eq!(description.types.get(types[0]).name, "Action");
/// assert_eq!(description.findings[0].code, "E0010");
/// ```
#[must_use]
pub fn describe(files: &[(String, String)], includes: &mut dyn Includes) -> Description {
    let Checked { units, type_names, told, outcome } =
        checked(files, Prelude::Loaded, Inputs::Refused, includes, Some(Told::default()));
    let (sources, types, relations, findings) = match outcome {
        Ok(program) => (program.sources, program.types, program.relations, program.warnings),
        Err(remains) => (remains.sources, remains.types, remains.relations, remains.findings),
    };
    Description {
        sources,
        trees: units.into_iter().map(|unit| unit.program.into_owned()).collect(),
        types,
        relations: relations.into_iter().filter(|relation| !relation.name.starts_with("__")).collect(),
        findings,
        type_names,
        told: told.unwrap_or_default(),
    }
}
