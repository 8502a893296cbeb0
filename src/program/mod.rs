//! Syntax trees to a checked program.
//!
//! In: policy texts, with the prelude before them. Out: a [`Program`] that is typed, grounded and stratified, or every
//! [`Diagnostic`] at once. Never: evaluates, or stops at the first fault.

pub mod rule;
pub mod types;

mod aggregate;
mod analysis;
mod annotations;
mod build;
mod calls;
mod clash;
mod classes;
mod codes;
mod components;
mod decisions;
mod declarations;
mod describe;
mod draft;
mod explanations;
mod findings;
mod ground;
mod include;
mod infer;
mod lints;
mod lower;
mod mend;
mod names;
mod normalise;
mod relations;
mod resolve;
mod schema;
mod settle;
mod strata;
mod suggest;
mod tell;
mod terms;
mod unbound;
mod union;

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

use crate::program::build::Builder;
use crate::program::describe::Told;
use crate::program::findings::Findings;
use crate::program::include::Unit;
use crate::program::relations::Inputs;
use crate::program::schema::{PRELUDE_FILE, Schema};
use crate::source::{Diagnostic, Sources, Span};
use crate::syntax::ast;
use crate::value::Pool;

pub use annotations::{ANNOTATIONS, AnnotationKey, is_message};
pub use codes::CODES;
pub use describe::{Description, describe};
pub use explanations::{Explanation, explained, explanation};
pub use suggest::nearest;

pub use rule::{
    Aggregate, Arithmetic, Atom, Call, Comparison, Function, Literal, Rule, RuleId, Term, Variable,
    VariableId,
};
pub use types::{Constructor, TypeId, Types};

use crate::syntax::ast::{AggregateKind, ComparisonOperator};

/// A relation, by its number in [`Program::relations`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelationId(pub u32);

/// One column of a [`Relation`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub type_id: TypeId,
}

/// Where the tuples of a relation come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The host fills it (`.input` in the prelude), possibly besides rules of the prelude.
    Host,
    /// Rules and facts of the policy or the prelude.
    Rules,
    /// Answered from the lineage of the session, never stored. The rules that the prelude states for it are its meaning, and are not run.
    Lineage(LineageRelation),
}

/// The relations that [`Origin::Lineage`] answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineageRelation {
    /// `Edge(source_id, dest_id)`
    Edge,
    /// `EdgeData(source_id, dest_id, [proximal, message_index])`
    EdgeData,
    /// `CurrentDepends(id)`, empty unless `CurrentDependsPolicyRelevant()` holds.
    CurrentDepends,
    /// `ReachableFrom(s, d)`, empty unless `ReachableFromPolicyRelevant()` holds.
    ReachableFrom,
}

/// A relation as declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// Its name. Names that begin with `__` are the checker's own.
    pub name: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Who fills it.
    pub origin: Origin,
    /// Its declaration.
    pub span: Span,
    /// The comment above its declaration.
    pub documentation: String,
    /// Whether `.output` marks it.
    pub output: bool,
}

/// Relations whose rules depend on each other, and those rules. A stratum starts when all before it are complete.
/// Relations that the host alone fills stand in none; those that the lineage answers stand in one without rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stratum {
    /// The relations that this stratum completes.
    pub relations: Vec<RelationId>,
    /// Their rules (facts among them), in the order of the text.
    pub rules: Vec<RuleId>,
    /// Whether a rule reads a relation of the same stratum.
    pub recursive: bool,
}

/// What a decision rule says when it fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DecisionKind {
    /// `IsAuthorized`
    Allow,
    /// `Unauthorized`
    Deny,
    /// `Unauthorized` under `@ask`
    Ask,
    /// `DenialReason` written by the author; its head says kind, reason and suggestion.
    Reason,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text, braces decoded.
    Text(String),
    /// A placeholder: the variable's name and the column of [`DecisionRule::fired`] that holds its value.
    Value {
        /// Name of the variable.
        name: String,
        /// Column of the `fired` relation.
        column: usize,
    },
}

/// A rule (or fact) of a decision relation, with what its annotations say.
///
/// The checker lowers `Unauthorized(i) :- body.` to `__fired_N(i, v, …) :- body.` with a column for each placeholder,
/// `DenialReason(i, kind, message, first suggestion) :- __fired_N(i, v, …).`, and the prelude has
/// `Unauthorized(i) :- DenialReason(i, "block", _, _).` A direct `DenialReason` rule fires into
/// `__fired_N(i, kind, reason, suggestion)`; an `IsAuthorized` rule into `__fired_N(i, v, …)`, which `IsAuthorized` copies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionRule {
    /// What it says.
    pub kind: DecisionKind,
    /// Holds a tuple for each firing: the index of the action, then placeholders (or the columns of `DenialReason`).
    pub fired: RelationId,
    /// `@id`, else `Relation@file:line`.
    pub id: String,
    /// The head.
    pub span: Span,
    /// `@deny_message`, or none. In a message, a piece is text or a placeholder.
    pub message: Option<Vec<Piece>>,
    /// `@suggestion`s, in order.
    pub suggestions: Vec<String>,
    /// `@tool_pattern`: an anchored full match.
    pub tool_pattern: Option<String>,
    /// `@url_pattern`: an anchored full match.
    pub url_pattern: Option<String>,
    /// `@broad`, `@category`, `@tag` and their values.
    pub metadata: Vec<(String, String)>,
    /// The lowered rules of this source rule, one for each disjunct.
    pub rules: Vec<RuleId>,
}

/// A policy that is typed, grounded and stratified.
#[derive(Debug, Clone)]
pub struct Program {
    /// Every text, prelude first.
    pub sources: Sources,
    /// The types.
    pub types: Types,
    /// The relations, by [`RelationId`].
    pub relations: Vec<Relation>,
    /// The rules and facts, by [`RuleId`].
    pub rules: Vec<Rule>,
    /// All strata, in an order in which they can be evaluated.
    pub strata: Vec<Stratum>,
    /// The rules that the prelude states for `CurrentDepends` and `ReachableFrom`: their meaning, for whoever wants to
    /// compare. They are in no stratum and are not run.
    pub lineage_rules: Vec<Rule>,
    /// The rules of decision relations, in the order of the files and lines.
    pub decision_rules: Vec<DecisionRule>,
    /// For each relation, the relations that its rules read, in ascending order.
    pub reads: Vec<Vec<RelationId>>,
    /// The constants of the rules.
    pub pool: Pool,
    /// `.input`, `.output` and `.printsize` of the files, the prelude's aside, in the order of the text.
    pub directives: Vec<ast::Directive>,
    /// Warnings met on the way.
    pub warnings: Vec<Diagnostic>,
    /// `sha256:…` over the policy texts (the prelude is the version's).
    pub digest: String,
    // Invariant: says of each relation's name where it stands.
    names: BTreeMap<String, RelationId>,
}

impl Program {
    /// The relation of that name.
    #[must_use]
    pub fn relation(&self, name: &str) -> Option<RelationId> {
        self.names.get(name).copied()
    }

    /// What was declared for a relation.
    #[must_use]
    pub fn schema(&self, id: RelationId) -> Option<&Relation> {
        self.relations.get(id.0 as usize)
    }

    /// For each relation, whether it has to be evaluated for one of the roots: it is one, or their rules read it,
    /// directly or through others. Costs as much as what is needed reads.
    #[must_use]
    pub fn needed(&self, roots: &[RelationId]) -> Vec<bool> {
        let mut needed = vec![false; self.relations.len()];
        let mut open = roots.to_vec();
        while let Some(at) = open.pop() {
            let slot = needed.get_mut(at.0 as usize);
            if slot.is_some_and(|slot| !std::mem::replace(slot, true)) {
                open.extend(self.reads.get(at.0 as usize).into_iter().flatten());
            }
        }
        needed
    }

    /// For each relation, whether it can change once one of the sources does: it is one, or its rules read one, directly
    /// or through others.
    #[must_use]
    pub fn affected(&self, sources: &[RelationId]) -> Vec<bool> {
        let readers = (0_u32..).zip(&self.reads);
        let steps = readers.flat_map(|(reader, read)| read.iter().map(move |read| (read.0, reader)));
        let reached = analysis::reached(sources.iter().map(|source| source.0), steps);
        (0..).take(self.relations.len()).map(|at: u32| reached.contains(&at)).collect()
    }
}

/// The policy that is always loaded, as its author would write it.
pub const PRELUDE: &str = include_str!("../../policies/prelude.dl");

/// The name that messages show for [`PRELUDE`].
pub const PRELUDE_NAME: &str = "prelude.dl";

/// Where the texts of included files come from: filled by whoever may open files.
pub trait Includes {
    /// What the file named `from` means by `path`: its text, and the name to show for it. One file has one name.
    ///
    /// # Errors
    /// Says why there is none, in words (outside the policy's root, not there, unreadable).
    fn include(&mut self, from: &str, path: &str) -> Result<(String, String), String>;

    /// Whether there is a file at that path, be it readable or not. Asked for the prelude's names alone, after
    /// [`include`](Self::include) gave none: including the prelude does nothing where there is no such file.
    fn exists(&mut self, _from: &str, _path: &str) -> bool {
        false
    }
}

/// No file may be included.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoIncludes;

impl Includes for NoIncludes {
    fn include(&mut self, _from: &str, path: &str) -> Result<(String, String), String> {
        Err(format!("`{path}` cannot be read here"))
    }
}

/// What a refused policy comes back as: the texts, so that findings can be drawn, and every finding (warnings too).
#[derive(Debug, Clone)]
pub struct Refusal {
    /// Every text, prelude first.
    pub sources: Sources,
    /// At least one error.
    pub findings: Vec<Diagnostic>,
}

/// Whether the prelude stands before a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prelude {
    /// Its types and relations are there.
    Loaded,
    /// Nothing is there but what the program declares.
    Absent,
}

/// Checks the policy that these files (name, text) make together.
///
/// ```
/// use gatelog::program::{NoIncludes, check};
///
/// let text = r#"IsAuthorized(i) :- Actions(i, a), IsTool(a, "read")."#;
/// let program = check(&[("read.dl".to_owned(), text.to_owned())], &mut NoIncludes).unwrap();
/// assert_eq!(program.decision_rules[0].id, "IsAuthorized@read.dl:1");
///
/// let refusal = check(&[("read.dl".to_owned(), "IsAuthorized(i).".to_owned())], &mut NoIncludes).unwrap_err();
/// assert_eq!(refusal.findings[0].code, "E0032");
/// ```
///
/// # Errors
/// Every finding, where at least one is an error.
pub fn check(files: &[(String, String)], includes: &mut dyn Includes) -> Result<Program, Box<Refusal>> {
    check_with(files, Prelude::Loaded, Inputs::Refused, includes)
}

/// Checks a program that decides nothing: its own `.input` relations are filled by whoever runs it, and without the
/// prelude no relation has a meaning of its own.
///
/// ```
/// use gatelog::program::{NoIncludes, Prelude, check_plain};
///
/// let text = ".decl A(x: number) .input A .output A";
/// let program = check_plain(&[("a.dl".to_owned(), text.to_owned())], Prelude::Absent, &mut NoIncludes).unwrap();
/// assert_eq!(program.directives.len(), 2);
/// ```
///
/// # Errors
/// Every finding, where at least one is an error.
pub fn check_plain(
    files: &[(String, String)],
    prelude: Prelude,
    includes: &mut dyn Includes,
) -> Result<Program, Box<Refusal>> {
    check_with(files, prelude, Inputs::Read, includes)
}

fn check_with(
    files: &[(String, String)],
    prelude: Prelude,
    inputs: Inputs,
    includes: &mut dyn Includes,
) -> Result<Program, Box<Refusal>> {
    checked(files, prelude, inputs, includes, None).outcome.map_err(|remains| {
        let Remains { sources, findings, .. } = *remains;
        Box::new(Refusal { sources, findings })
    })
}

/// What checking leaves behind.
struct Checked {
    units: Vec<Unit>,
    type_names: BTreeMap<String, TypeId>,
    /// There if it was asked for.
    told: Option<Told>,
    outcome: Result<Program, Box<Remains>>,
}

/// What there is of a policy that does not load.
struct Remains {
    sources: Sources,
    types: Types,
    relations: Vec<Relation>,
    findings: Vec<Diagnostic>,
}

fn checked(
    files: &[(String, String)],
    prelude: Prelude,
    inputs: Inputs,
    includes: &mut dyn Includes,
    told: Option<Told>,
) -> Checked {
    let mut findings = Findings::default();
    let (sources, units) = include::load(files, prelude, includes, &mut findings);
    let mut schema = declared(&units, inputs, &mut findings);
    let mut builder = Builder::new(&mut schema, &sources, &mut findings);
    builder.told = told;
    let mut gates = BTreeSet::new();
    for rule in units.iter().flat_map(rules) {
        builder.rule(rule);
        if rule.span.file != PRELUDE_FILE {
            gates.extend(rule.heads.iter().map(|head| head.relation.text.as_str()));
        }
    }
    builder.equivalences();
    builder.gates(&gates);
    let Builder { pool, rules: built, lineage_rules, mut decision_rules, told, .. } = builder;
    names::check(units.iter().flat_map(rules), &schema, &mut findings);
    let before = findings.errors();
    strata::check(units.iter().flat_map(rules), &schema, &mut findings);
    // Strata of rules that have none would be reported a second time.
    let stratified = findings.errors() == before;
    decision_rules.sort_by_key(|rule| rule.span);
    let ordered = stratified.then(|| strata::order(&schema, &built, &lineage_rules, &mut findings));
    let Schema { types, relations, type_names, relation_names: names, .. } = schema;
    let Some((strata, reads)) = ordered.filter(|_| findings.errors() == 0) else {
        let findings = lints::silence(&units, &sources, findings.sorted());
        let outcome = Err(Box::new(Remains { sources, types, relations, findings }));
        return Checked { units, type_names, told, outcome };
    };
    let mut program = Program {
        types,
        relations,
        rules: built,
        strata,
        lineage_rules,
        decision_rules,
        reads,
        pool,
        directives: units.iter().skip(1).flat_map(directives).cloned().collect(),
        warnings: Vec::new(),
        digest: digest(&sources),
        sources,
        names,
    };
    // A program for fact files that decides nothing is no policy.
    if inputs == Inputs::Refused || program.decision_rules.iter().any(|rule| rule.span.file != PRELUDE_FILE) {
        lints::lint(&program, &units, &mut findings);
    } else {
        lints::lint_plain(&program, &units, &mut findings);
    }
    program.warnings = lints::silence(&units, &program.sources, findings.sorted());
    Checked { units, type_names, told, outcome: Ok(program) }
}

/// Enters what the files declare, and looks at everything that is no rule.
fn declared(units: &[Unit], inputs: Inputs, findings: &mut Findings) -> Schema {
    let mut schema = Schema::default();
    let items = || units.iter().flat_map(|unit| &unit.program.items);
    let types = items().filter_map(|item| match item {
        ast::Item::Type(declaration) => Some(declaration),
        _ => None,
    });
    declarations::types(types, &mut schema, findings);
    for item in items() {
        match item {
            ast::Item::Relation(declaration) => relations::declare(declaration, &mut schema, findings),
            ast::Item::Unsupported { what, span } => {
                findings.push(relations::unsupported(&construct(what), *span));
            }
            ast::Item::Pragma(pragma) => {
                let message = format!("no pragma is called `{}`", pragma.name.text);
                let finding = Diagnostic::warning("W0003", pragma.span, message)
                    .with_label("ignored")
                    .with_help("remove it: nothing here depends on a pragma");
                findings.push(finding);
            }
            ast::Item::Type(_) | ast::Item::Rule(_) | ast::Item::Directive(_) | ast::Item::Include(_) => {}
        }
    }
    for directive in units.iter().flat_map(directives) {
        relations::direct(directive, inputs, &mut schema, findings);
    }
    schema
}

/// A construct's words with its directive in backticks.
fn construct(what: &str) -> String {
    if what.starts_with(['.', '#']) && !what.contains('`') { format!("`{what}`") } else { what.to_owned() }
}

fn directives(unit: &Unit) -> impl Iterator<Item = &ast::Directive> {
    unit.program.items.iter().filter_map(|item| match item {
        ast::Item::Directive(directive) => Some(directive),
        _ => None,
    })
}

fn rules(unit: &Unit) -> impl Iterator<Item = &ast::Rule> {
    unit.program.items.iter().filter_map(|item| match item {
        ast::Item::Rule(rule) => Some(rule),
        _ => None,
    })
}

/// Over the texts, each with its length before it. Names of files do not count.
fn digest(sources: &Sources) -> String {
    let mut hash = Sha256::new();
    for (_, file) in sources.iter().filter(|&(id, _)| id != PRELUDE_FILE) {
        hash.update(u64::try_from(file.text.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(file.text.as_bytes());
    }
    let bytes = hash.finalize();
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{digits}")
}

// The operators of the syntax tree are those of the checked rules.
/// Comparison operators.
pub type Operator = ComparisonOperator;
/// Aggregates.
pub type AggregateFunction = AggregateKind;
