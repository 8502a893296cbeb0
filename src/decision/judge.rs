use crate::decision::{Decision, Reason, ReasonKind, Route, RouteStatus, Verdict};
use crate::engine::{Agenda, Budget, Database, Engine, EvalError, SHOWN};
use crate::functor::{self, Argument, Cache};
use crate::lineage::Lineage;
use crate::program::{DecisionKind, DecisionRule, Literal, Piece, Program, RelationId};
use crate::records::{Approval, ApprovalScope};
use crate::source::Span;
use crate::value::{Symbol, Word, legible, visible};

/// The relations that a decision is read from.
#[derive(Debug, Clone)]
pub struct Roots {
    is_authorized: Option<RelationId>,
    unauthorized: Option<RelationId>,
    denial_reason: Option<RelationId>,
    authorized: Option<RelationId>,
    has_principal: Option<RelationId>,
    apply_transform: Option<RelationId>,
    allow_passthrough: Option<RelationId>,
    deny_unauthorized: Option<RelationId>,
}

impl Roots {
    /// Looks them up.
    #[must_use]
    pub fn of(program: &Program) -> Self {
        Self {
            is_authorized: program.relation("IsAuthorized"),
            unauthorized: program.relation("Unauthorized"),
            denial_reason: program.relation("DenialReason"),
            authorized: program.relation("Authorized"),
            has_principal: program.relation("HasPrincipal"),
            apply_transform: program.relation("ApplyTransform"),
            allow_passthrough: program.relation("AllowPassthrough"),
            deny_unauthorized: program.relation("DenyUnauthorized"),
        }
    }

    /// What has to be evaluated for a decision.
    #[must_use]
    pub fn relations(&self) -> Vec<RelationId> {
        [self.authorized, self.has_principal].into_iter().chain(self.by_action()).flatten().collect()
    }

    /// Those whose first column is the index of an action.
    fn by_action(&self) -> [Option<RelationId>; 6] {
        [
            self.is_authorized,
            self.unauthorized,
            self.denial_reason,
            self.apply_transform,
            self.allow_passthrough,
            self.deny_unauthorized,
        ]
    }
}

/// What a hint pattern is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject<'a> {
    /// A call of this tool.
    Tool(&'a str),
    /// A request to this URL.
    Url(&'a str),
    /// A message.
    Message,
}

/// One action to decide about.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// What it is.
    pub subject: Subject<'a>,
    /// A person's answer that counts for it.
    pub approval: Option<&'a Approval>,
}

/// A complete model and what it belongs to.
#[derive(Debug)]
pub struct Judged<'a> {
    /// The policy.
    pub program: &'a Program,
    /// The policy, ready to run.
    pub engine: &'a Engine,
    /// Where decisions are read from.
    pub roots: &'a Roots,
    /// What the model was made by.
    pub agenda: &'a Agenda,
    /// The model.
    pub database: &'a mut Database,
    /// The session.
    pub lineage: &'a Lineage,
    /// For finding out how far allow rules came.
    pub budget: Budget,
}

/// Reads one decision for each question (action 0, 1, …) from the model.
///
/// # Errors
/// A decision row that belongs to no action of the request, or a reason of an unknown kind: evaluation errors both.
pub fn decide(judged: &mut Judged<'_>, questions: &[Question<'_>]) -> Result<Vec<Decision>, EvalError> {
    sound(judged, questions.len())?;
    let (database, allows) = (&*judged.database, judged.roots.is_authorized);
    let allowed =
        |index: u64| allows.is_some_and(|relation| database.holds(relation, &[Word::unsigned(index)]));
    if !(0_u64..).zip(questions).all(|(index, _)| allowed(index)) {
        let Judged { engine, program, lineage, agenda, budget, .. } = *judged;
        engine.complete(program, judged.database, lineage, agenda, budget)?;
    }
    let numbered = (0_u64..).zip(questions);
    Ok(numbered.map(|(index, question)| decide_one(judged, index, question)).collect())
}

/// The denial that an evaluation error is.
#[must_use]
pub fn denied_by_error(program: &Program, error: &EvalError) -> Decision {
    let (file, line) = error.span.map_or((String::new(), 0), |span| place(program, span));
    let text = if line == 0 {
        format!("the policy could not be evaluated: {}", error.what)
    } else {
        format!("the rule at {file}:{line} could not be evaluated: {}", error.what)
    };
    Decision::deny(Reason {
        kind: ReasonKind::EngineError,
        file,
        line,
        text,
        rule: String::new(),
        suggestions: Vec::new(),
    })
}

fn place(program: &Program, span: Span) -> (String, u32) {
    (program.sources.file(span.file).name.clone(), program.sources.place(span).line)
}

fn sound(judged: &Judged<'_>, actions: usize) -> Result<(), EvalError> {
    let (program, database) = (judged.program, &*judged.database);
    for relation in judged.roots.by_action().into_iter().flatten() {
        let indexes = database.tuples(relation).filter_map(|tuple| tuple.first().map(|word| word.0));
        if let Some(index) =
            indexes.filter(|&index| usize::try_from(index).is_ok_and(|index| index >= actions)).min()
        {
            let name = program.schema(relation).map_or("", |schema| schema.name.as_str());
            let what = format!("`{name}` holds {index}, which is no action of the request");
            return Err(EvalError { what, span: None });
        }
    }
    let kinds = judged.roots.denial_reason.into_iter().flat_map(|relation| database.tuples(relation));
    let kinds = kinds.filter_map(|tuple| tuple.get(1).map(|word| database.pool.text(word.as_symbol())));
    match kinds.filter(|kind| !matches!(*kind, "block" | "ask")).min() {
        Some(kind) => {
            let what = format!("`{}` is no kind of reason; `block` and `ask` are", visible(kind, 60));
            Err(EvalError { what, span: None })
        }
        None => Ok(()),
    }
}

fn decide_one(judged: &mut Judged<'_>, index: u64, question: &Question<'_>) -> Decision {
    let mut reasons = fired(judged, index);
    let database = &*judged.database;
    let word = Word::unsigned(index);
    let holds =
        |relation: Option<RelationId>| relation.is_some_and(|relation| database.holds(relation, &[word]));
    let signed_in = judged.roots.has_principal.is_some_and(|relation| database.holds(relation, &[]));
    let allowed = holds(judged.roots.is_authorized);
    let denied = holds(judged.roots.unauthorized);
    let authorized = holds(judged.roots.authorized);
    if !signed_in {
        reasons.push(own(ReasonKind::NotAuthenticated, "nobody is signed in".to_owned()));
    }
    let mut routes = Vec::new();
    if !allowed {
        reasons.extend(hints(judged, question));
        routes = find_routes(judged, index, question);
    }
    let asks = reasons.iter().any(|reason| reason.kind == ReasonKind::ApprovalRequired);
    let verdict = if denied || !allowed || !signed_in {
        Verdict::Deny
    } else if asks {
        answered(&mut reasons, question.approval)
    } else if authorized {
        Verdict::Allow
    } else {
        Verdict::Deny
    };
    if verdict == Verdict::Allow {
        reasons.clear();
    }
    reasons.sort();
    reasons.dedup();
    let database = &*judged.database;
    let mut transforms: Vec<String> = judged
        .roots
        .apply_transform
        .into_iter()
        .flat_map(|relation| database.tuples(relation))
        .filter(|tuple| tuple.first() == Some(&word))
        .filter_map(|tuple| tuple.get(1).map(|word| database.pool.text(word.as_symbol()).to_owned()))
        .collect();
    transforms.sort();
    let holds =
        |relation: Option<RelationId>| relation.is_some_and(|relation| database.holds(relation, &[word]));
    Decision {
        verdict,
        reasons,
        routes,
        transforms,
        passthrough: holds(judged.roots.allow_passthrough),
        refuse_aloud: holds(judged.roots.deny_unauthorized),
    }
}

/// What a person's answer makes of an action that is allowed, not denied, and asked about.
fn answered(reasons: &mut Vec<Reason>, approval: Option<&Approval>) -> Verdict {
    let Some(approval) = approval else { return Verdict::Ask };
    if !approval.confirmed {
        reasons.push(own(ReasonKind::Denied, "approval rejected".to_owned()));
        return Verdict::Deny;
    }
    let covered = |reason: &Reason| match &approval.scope {
        ApprovalScope::All => true,
        ApprovalScope::Rules(rules) => rules.contains(&reason.rule),
    };
    reasons.retain(|reason| reason.kind != ReasonKind::ApprovalRequired || !covered(reason));
    if reasons.iter().any(|reason| reason.kind == ReasonKind::ApprovalRequired) {
        Verdict::Ask
    } else {
        Verdict::Allow
    }
}

fn own(kind: ReasonKind, text: String) -> Reason {
    Reason { kind, file: String::new(), line: 0, text, rule: String::new(), suggestions: Vec::new() }
}

/// A reason for each firing of a deny or ask rule on the action.
fn fired(judged: &Judged<'_>, index: u64) -> Vec<Reason> {
    let (program, database) = (judged.program, &*judged.database);
    let mut reasons = Vec::new();
    let firing = judged.engine.firing(database).filter_map(|number| program.decision_rules.get(number));
    for rule in firing {
        for tuple in database.tuples(rule.fired).filter(|tuple| tuple.first() == Some(&Word::unsigned(index)))
        {
            let text = |column: usize| {
                tuple.get(column).map_or("", |word| database.pool.text(word.as_symbol())).to_owned()
            };
            let mut suggestions = rule.suggestions.clone();
            let (kind, text) = match rule.kind {
                DecisionKind::Allow => continue,
                DecisionKind::Deny => (ReasonKind::Denied, filled(program, database, rule, tuple)),
                DecisionKind::Ask => (ReasonKind::ApprovalRequired, filled(program, database, rule, tuple)),
                DecisionKind::Reason => {
                    let own = text(3);
                    if !own.is_empty() && !suggestions.contains(&own) {
                        suggestions.insert(0, own);
                    }
                    let asks = text(1) == "ask";
                    (if asks { ReasonKind::ApprovalRequired } else { ReasonKind::Denied }, text(2))
                }
            };
            let (file, line) = place(program, rule.span);
            reasons.push(Reason { kind, file, line, text, rule: rule.id.clone(), suggestions });
        }
    }
    reasons
}

/// The message of a rule that fired, its placeholders filled.
fn filled(program: &Program, database: &Database, rule: &DecisionRule, tuple: &[Word]) -> String {
    let Some(message) = &rule.message else { return rule.default_message(&program.sources) };
    let columns = program.schema(rule.fired).map_or(&[][..], |schema| &schema.columns);
    message
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Value { column, .. } => match (tuple.get(*column), columns.get(*column)) {
                (Some(&word), Some(schema)) => {
                    legible(&program.types.show(word, schema.type_id, &database.pool), SHOWN)
                }
                _ => String::new(),
            },
        })
        .collect()
}

/// What the allow rules that concern the action say, or our words where none says anything.
fn hints(judged: &mut Judged<'_>, question: &Question<'_>) -> Vec<Reason> {
    let program = judged.program;
    let mut reasons = Vec::new();
    for rule in &program.decision_rules {
        let Some(message) = rule.message.as_ref().filter(|_| rule.kind == DecisionKind::Allow) else {
            continue;
        };
        if !concerns(rule, question, &mut judged.database.cache) {
            continue;
        }
        let text = message.iter().map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Value { name, .. } => format!("{{{name}}}"),
        });
        let (file, line) = place(program, rule.span);
        let (rule, suggestions) = (rule.id.clone(), rule.suggestions.clone());
        reasons.push(Reason {
            kind: ReasonKind::NotAllowed,
            file,
            line,
            text: text.collect(),
            rule,
            suggestions,
        });
    }
    if reasons.is_empty() {
        let what = match &question.subject {
            Subject::Tool(tool) => format!("no rule allows this call of `{}`", visible(tool, 80)),
            Subject::Url(url) => format!("no rule allows this request to `{}`", visible(url, 80)),
            Subject::Message => "no rule allows this message".to_owned(),
        };
        reasons.push(own(ReasonKind::NotAllowed, what));
    }
    reasons
}

/// Whether an allow rule's hint is about the action: its pattern for this kind of action matches, or it has none at all.
fn concerns(rule: &DecisionRule, question: &Question<'_>, cache: &mut Cache) -> bool {
    let (pattern, text) = match question.subject {
        Subject::Tool(tool) => (&rule.tool_pattern, tool),
        Subject::Url(url) => (&rule.url_pattern, url),
        Subject::Message => (&None, ""),
    };
    match pattern {
        Some(pattern) => matches_whole(pattern, text, cache),
        None => rule.tool_pattern.is_none() && rule.url_pattern.is_none(),
    }
}

/// The patterns were checked at load; one that does not compile matches nothing.
fn matches_whole(pattern: &str, text: &str, cache: &mut Cache) -> bool {
    // Patterns are remembered by their text; the symbols play no part.
    let arguments = [Argument::Text(pattern, Symbol(0)), Argument::Text(text, Symbol(1))];
    functor::find("match", true)
        .and_then(|id| functor::call(id, &arguments, cache).ok().flatten())
        .is_some_and(|output| matches!(output, functor::Output::Number(1) | functor::Output::Unsigned(1)))
}

/// Whether a literal asks which action is meant, and for nothing else.
fn asks_for_action(program: &Program, literal: &Literal) -> bool {
    match literal {
        Literal::Positive(atom) => program
            .schema(atom.relation)
            .is_some_and(|relation| matches!(relation.name.as_str(), "Actions" | "IsTool" | "IsToolCall")),
        Literal::Negative(_) | Literal::Test(_) | Literal::Aggregate(_) => false,
    }
}

/// The allow rules that concern an action, by their places in `Program::decision_rules`.
#[must_use]
pub fn concerning(program: &Program, question: &Question<'_>, cache: &mut Cache) -> Vec<usize> {
    let rules = program.decision_rules.iter().enumerate();
    rules
        .filter(|(_, rule)| rule.kind == DecisionKind::Allow && concerns(rule, question, cache))
        .map(|(number, _)| number)
        .collect()
}

/// How far each allow rule that concerns the action came.
fn find_routes(judged: &mut Judged<'_>, index: u64, question: &Question<'_>) -> Vec<Route> {
    let program = judged.program;
    let mut routes = Vec::new();
    for (number, rule) in program.decision_rules.iter().enumerate() {
        if rule.kind != DecisionKind::Allow || !concerns(rule, question, &mut judged.database.cache) {
            continue;
        }
        let (engine, lineage, budget) = (judged.engine, judged.lineage, judged.budget);
        let Some(reach) = engine.reach(program, judged.database, lineage, number, index, budget) else {
            continue;
        };
        let status = if reach.open { RouteStatus::Possible } else { RouteStatus::Blocked };
        let literal = program.rules.get(reach.rule.0 as usize).and_then(|rule| rule.body.get(reach.literal));
        let span = literal.map_or(rule.span, Literal::span);
        let text = program.sources.text(span).split_whitespace().collect::<Vec<_>>().join(" ");
        let elsewhere = !reach.open && literal.is_some_and(|literal| asks_for_action(program, literal));
        let line = program.sources.place(span).line;
        routes.push(Route { rule: rule.id.clone(), status, line, text, elsewhere });
    }
    routes.sort();
    routes.dedup();
    routes
}
