//! Fields that are not there: what a rule does when an argument is left out, or is of another type.
//!
//! A rule is tried with the fields missing: functors give what they give on a miss, and each test comes out true, false,
//! without a value, or unknown.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::functor::{self, Argument, Cache, Mode, Output};
use crate::program::findings::Findings;
use crate::program::lints::absence::Absences;
use crate::program::lints::scope::{Scope, Source, calls_of, functor_of};
use crate::program::lints::view::{Keys, Looked, Side, View, variable};
use crate::program::lower::variables_of;
use crate::program::{Call, Comparison, Function, Literal, Operator, Term, VariableId};
use crate::source::{Diagnostic, Span};
use crate::value::{Kind, Symbol, Word};

/// How deep calls inside calls are followed.
const DEPTH: usize = 24;

/// Functors that look for what is dangerous in a text.
const ALARMS: [&str; 9] = [
    "cmd_invokes",
    "cmd_runs_sub",
    "cmd_egress_class",
    "cmd_hidden_in_code",
    "dangerous_rm",
    "has_unicode_tags",
    "has_deceptive_unicode",
    "deceptive_unicode_class",
    "host_is_private",
];

/// One field that a rule reads.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Field<'a> {
    /// The text that it is read from.
    text: VariableId,
    key: &'a str,
}

/// What a term is when fields are missing.
#[derive(Debug, Clone, PartialEq)]
enum Missed {
    /// The literal that holds it fails.
    NoValue,
    Value(Output),
    Unknown,
}

/// How a test comes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Holds,
    Fails,
    Unknown,
}

/// Warns of fields whose absence decides.
pub(crate) fn lint(view: &View<'_>, findings: &mut Findings) {
    let absences = absences(view);
    for looked in view.rules.iter().filter(|looked| !looked.is_hopeless()) {
        looked.rule().body.iter().for_each(|literal| look(&absences, looked, literal, findings));
        if looked.side == Side::Denies {
            for literal in read_alone(looked) {
                if let Literal::Test(test) = literal {
                    let fields = fields_of(&looked.scope, &[&test.left, &test.right]);
                    told(&absences, looked, literal, (test.span, fields), findings);
                }
            }
        }
    }
}

/// What every look at a literal needs to know of the policy.
pub(crate) fn absences<'v, 'a>(view: &'v View<'a>) -> Absences<'v, 'a> {
    Absences::new(view, caught)
}

/// Looks at one literal of a rule.
pub(crate) fn look(
    absences: &Absences<'_, '_>,
    looked: &Looked<'_>,
    literal: &Literal,
    findings: &mut Findings,
) {
    match looked.side {
        Side::Denies => slips(absences, looked, literal, findings),
        Side::Grants => {
            satisfied(looked, literal, findings);
            both_missing(looked, literal, findings);
        }
        Side::Both | Side::Neither => {}
    }
}

/// Whether a look at the literal can find something, whatever its variables stand for.
pub(crate) fn is_open(side: Side, literal: &Literal) -> bool {
    let is_zero = |term: &Term| matches!(term, Term::Constant(word) if word.0 == 0);
    let has_fields = |term: &Term| match term {
        Term::Variable(_) | Term::Call(_) => true,
        Term::Constant(_) | Term::Wildcard => false,
        Term::Construct(..) => {
            let mut calls = Vec::new();
            calls_of(term, &mut calls);
            !calls.is_empty()
        }
    };
    match (side, literal) {
        (Side::Denies, Literal::Negative(atom)) => atom.terms.iter().any(has_fields),
        (Side::Denies, Literal::Test(test)) => {
            test.operator != Operator::Equal || is_zero(&test.left) || is_zero(&test.right)
        }
        (Side::Grants, Literal::Test(test)) => {
            test.operator != Operator::Equal
                || is_zero(&test.left)
                || is_zero(&test.right)
                || (has_fields(&test.left) && has_fields(&test.right))
        }
        (Side::Denies, Literal::Positive(_) | Literal::Aggregate(_))
        | (Side::Grants, Literal::Positive(_) | Literal::Negative(_) | Literal::Aggregate(_))
        | (Side::Both | Side::Neither, _) => false,
    }
}

/// A deny that a missing argument gets past, where some rule allows the call without that argument.
fn slips(absences: &Absences<'_, '_>, looked: &Looked<'_>, literal: &Literal, findings: &mut Findings) {
    let scope = &looked.scope;
    let (span, fields) = match literal {
        Literal::Test(test) if excludes(scope, test) => {
            (test.span, fields_of(scope, &[&test.left, &test.right]))
        }
        Literal::Negative(atom) => {
            let terms: Vec<&Term> = atom.terms.iter().collect();
            (atom.span, fields_of(scope, &terms))
        }
        Literal::Test(_) | Literal::Positive(_) | Literal::Aggregate(_) => return,
    };
    told(absences, looked, literal, (span, fields), findings);
}

/// Tells of the first of the fields without which the literal of a deny fails.
fn told(
    absences: &Absences<'_, '_>,
    looked: &Looked<'_>,
    literal: &Literal,
    (span, fields): (Span, Vec<Field<'_>>),
    findings: &mut Findings,
) {
    let scope = &looked.scope;
    for field in
        fields.iter().filter(|field| scope.source(&Term::Variable(field.text)) == Some(Source::Arguments))
    {
        let missing = std::slice::from_ref(field);
        let passes = match literal {
            Literal::Test(test) => outcome(scope, test, missing) == Outcome::Fails,
            Literal::Negative(atom) => {
                atom.terms.iter().any(|term| value(scope, term, missing, DEPTH) == Missed::NoValue)
            }
            Literal::Positive(_) | Literal::Aggregate(_) => false,
        };
        let targets = looked.targets();
        if !passes || absences.is_caught(targets, field.key) || !absences.is_allowed(targets, field.key) {
            continue;
        }
        let (message, label) = if has_no_value(scope, literal, field) {
            (
                format!("this deny does not match when `{}` is missing", field.key),
                "has no value then, nor for a value of another type".to_owned(),
            )
        } else {
            let read = sentinel(scope, literal, field);
            (
                format!(
                    "a call without `{}` gets past this deny: what is missing reads as {read}",
                    field.key
                ),
                format!("not so for {read}"),
            )
        };
        let help = format!(
            "an agent can leave an argument out, or send text for a number and a list for a text: let the rules that allow the call read `{}` with `@json_int`, `@json_str` or their like, so that without it nothing allows",
            field.key
        );
        findings.push(Diagnostic::warning("W0015", span, message).with_label(label).with_help(help));
        return;
    }
}

/// The keys whose absence the rule looks for: a test holds without them, or a relation that reads them has to be empty.
fn caught<'a>(view: &View<'a>, looked: &Looked<'a>) -> Keys<'a> {
    let mut found = BTreeSet::new();
    for literal in &looked.rule().body {
        match literal {
            Literal::Test(test) if !is_definition(test) => {
                let fields = fields_of(&looked.scope, &[&test.left, &test.right]);
                for field in fields.iter().filter(|field| looked.reads(field.key)) {
                    if outcome(&looked.scope, test, std::slice::from_ref(field)) == Outcome::Holds {
                        found.insert(field.key);
                    }
                }
            }
            Literal::Negative(atom) => found.extend(view.keys_of(atom.relation)?.iter()),
            Literal::Test(_) | Literal::Positive(_) | Literal::Aggregate(_) => {}
        }
    }
    Some(Rc::new(found))
}

/// Whether the test asks that something is not so: a miss must not come out as such.
fn excludes(scope: &Scope<'_>, test: &Comparison) -> bool {
    match test.operator {
        Operator::Equal => is_refuted(scope, test) || is_alarm(scope, test),
        Operator::NotEqual
        | Operator::Less
        | Operator::LessOrEqual
        | Operator::Greater
        | Operator::GreaterOrEqual => true,
    }
}

/// `match(…) = 0`, `@json_bool(…) = 0`: a question that is answered by no.
fn is_refuted(scope: &Scope<'_>, test: &Comparison) -> bool {
    let zero = |term: &Term| matches!(term, Term::Constant(word) if word.0 == 0) && test.kind != Kind::Symbol;
    let asks = |term: &Term| {
        scope.meanings(term).iter().any(|term| match term {
            Term::Call(call) => functor_of(call).is_some_and(|functor| {
                matches!(
                    functor.name,
                    "match"
                        | "contains"
                        | "str_contains"
                        | "str_starts_with"
                        | "str_ends_with"
                        | "regex_is_match"
                        | "glob_match"
                        | "host_in_domain"
                        | "json_bool"
                )
            }),
            Term::Variable(_) | Term::Constant(_) | Term::Wildcard | Term::Construct(..) => false,
        })
    };
    // A definition is compared as it is written.
    (zero(&test.right) && asks(&test.left)) || (zero(&test.left) && asks(&test.right))
}

/// `@cmd_invokes(…) = 1`, `@deceptive_unicode_class(…) = "tag"`: an alarm that has to be seen to be heard. Texts that are
/// not there, or are lists, raise none.
fn is_alarm(scope: &Scope<'_>, test: &Comparison) -> bool {
    let constant = |term: &Term| matches!(term, Term::Constant(_));
    let alarms = |term: &Term| {
        scope.meanings(term).iter().any(|term| match term {
            Term::Call(call) => functor_of(call).is_some_and(|functor| ALARMS.contains(&functor.name)),
            Term::Variable(_) | Term::Constant(_) | Term::Wildcard | Term::Construct(..) => false,
        })
    };
    (constant(&test.right) && alarms(&test.left)) || (constant(&test.left) && alarms(&test.right))
}

/// `v = …`
fn is_definition(test: &Comparison) -> bool {
    test.operator == Operator::Equal
        && (matches!(test.left, Term::Variable(_)) || matches!(test.right, Term::Variable(_)))
}

/// Definitions of which nothing else in the rule reads the variable: they are there for a message, and the rule fails
/// without them.
fn read_alone<'a>(looked: &Looked<'a>) -> impl Iterator<Item = &'a Literal> {
    let rule = looked.rule();
    // The head of a decision has the action first, and then what its texts show.
    let read = if looked.decision.is_some() { 1 } else { rule.head.terms.len() };
    let mut readers: BTreeMap<VariableId, usize> = BTreeMap::new();
    let mut count = |variables: BTreeSet<VariableId>| {
        variables.into_iter().for_each(|variable| *readers.entry(variable).or_default() += 1);
    };
    rule.body.iter().for_each(|literal| count(variables_of(std::slice::from_ref(literal), None)));
    rule.head.terms.iter().take(read).for_each(|term| {
        let mut read = BTreeSet::new();
        term.variables(&mut read);
        count(read);
    });
    rule.body.iter().filter(move |literal| match literal {
        Literal::Test(Comparison { left: Term::Variable(id), operator: Operator::Equal, .. })
        | Literal::Test(Comparison { right: Term::Variable(id), operator: Operator::Equal, .. }) => {
            readers.get(id) == Some(&1)
        }
        Literal::Test(_) | Literal::Positive(_) | Literal::Negative(_) | Literal::Aggregate(_) => false,
    })
}

/// An allow that holds because a field is missing.
fn satisfied(looked: &Looked<'_>, literal: &Literal, findings: &mut Findings) {
    let Literal::Test(test) = literal else { return };
    let scope = &looked.scope;
    if !excludes(scope, test) {
        return;
    }
    for field in fields_of(scope, &[&test.left, &test.right]) {
        let missing = std::slice::from_ref(&field);
        let asks_for_absence = scope.calls().iter().any(|call| {
            functor_of(call).is_some_and(|functor| {
                matches!(functor.name, "json_has_field" | "json_object_has_key" | "json_type")
            }) && field_of(scope, call).as_ref() == Some(&field)
        });
        if asks_for_absence
            || outcome(scope, test, missing) != Outcome::Holds
            || is_ruled_out(looked, test.span, missing)
        {
            continue;
        }
        let sentinel = sentinel(scope, literal, &field);
        let message =
            format!("this holds when `{}` is missing: what is missing reads as {sentinel}", field.key);
        let finding = Diagnostic::warning("W0016", test.span, message)
            .with_label(format!("also so for {sentinel}"))
            .with_help(format!(
                "what is left out must not allow: rule {sentinel} out, or read the field with a functor that has no value on a miss, such as `@json_str` or `@json_int`"
            ));
        findings.push(finding);
        return;
    }
}

/// Two fields that are equal when both are missing.
fn both_missing(looked: &Looked<'_>, literal: &Literal, findings: &mut Findings) {
    let Literal::Test(test) = literal else { return };
    if test.operator != Operator::Equal {
        return;
    }
    let scope = &looked.scope;
    // A variable with two definitions compares them.
    let sides = match (&test.left, &test.right) {
        (own @ Term::Variable(_), other @ Term::Call(_))
        | (other @ Term::Call(_), own @ Term::Variable(_)) => {
            let first = scope.meanings(own).into_iter().next().filter(|first| *first != other);
            first.map(|first| (first, other))
        }
        (left, right) => Some((left, right)),
    };
    let Some((left, right)) = sides else { return };
    let (own, others) = (fields_of(scope, &[left]), fields_of(scope, &[right]));
    for field in &own {
        for other in others.iter().filter(|other| *other != field) {
            let missing = [field.clone(), other.clone()];
            let (a, b) = (value(scope, left, &missing, DEPTH), value(scope, right, &missing, DEPTH));
            let same = matches!((&a, &b), (Missed::Value(a), Missed::Value(b)) if a == b);
            if !same || is_ruled_out(looked, test.span, &missing) {
                continue;
            }
            let Missed::Value(sentinel) = a else { continue };
            let sentinel = shown(&sentinel);
            let message = if field.key == other.key {
                format!("two `{}` fields are compared, and are equal when both are missing", field.key)
            } else {
                format!("`{}` and `{}` are equal when both are missing", field.key, other.key)
            };
            let finding = Diagnostic::warning("W0017", test.span, message)
                .with_label(format!("both read as {sentinel} then"))
                .with_help(format!(
                    "two absences are no agreement: add a test against {sentinel}, or read the fields with functors that have no value on a miss, such as `@json_str`"
                ));
            findings.push(finding);
            return;
        }
    }
}

/// Whether another literal of the rule fails, or may fail, with the fields missing.
fn is_ruled_out(looked: &Looked<'_>, span: Span, missing: &[Field<'_>]) -> bool {
    let scope = &looked.scope;
    looked.rule().body.iter().any(|literal| match literal {
        Literal::Test(test) if test.span == span => false,
        Literal::Test(test) => match outcome(scope, test, missing) {
            Outcome::Fails => true,
            Outcome::Holds => false,
            Outcome::Unknown => !is_definition(test) && touches(scope, &[&test.left, &test.right], missing),
        },
        // What a relation holds is not known here.
        Literal::Positive(atom) | Literal::Negative(atom) => {
            let terms: Vec<&Term> = atom.terms.iter().collect();
            touches(scope, &terms, missing)
        }
        Literal::Aggregate(_) => false,
    })
}

fn touches(scope: &Scope<'_>, terms: &[&Term], missing: &[Field<'_>]) -> bool {
    fields_of(scope, terms).iter().any(|field| missing.contains(field))
}

/// The fields that the terms are computed from.
fn fields_of<'a>(scope: &Scope<'a>, terms: &[&Term]) -> Vec<Field<'a>> {
    let mut found = Vec::new();
    for term in terms {
        collect(scope, term, DEPTH, &mut found);
    }
    found
}

fn collect<'a>(scope: &Scope<'a>, term: &Term, depth: usize, found: &mut Vec<Field<'a>>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    for meaning in scope.meanings(term) {
        let mut calls = Vec::new();
        calls_of(meaning, &mut calls);
        for call in calls {
            match field_of(scope, call) {
                Some(field) if !found.contains(&field) => found.push(field),
                Some(_) => {}
                None => {
                    let variables = call.arguments.iter().filter(|term| matches!(term, Term::Variable(_)));
                    variables.for_each(|term| collect(scope, term, depth, found));
                }
            }
        }
    }
}

/// The field that a call reads, if it reads one.
fn field_of<'a>(scope: &Scope<'a>, call: &Call) -> Option<Field<'a>> {
    let functor = functor_of(call)?;
    if !functor.name.starts_with("json_") || functor.mode == Mode::Generator {
        return None;
    }
    let text = variable(call.arguments.first())?;
    let key = scope.literal(call.arguments.get(1)?)?;
    Some(Field { text: scope.class(text), key })
}

/// How a comparison comes out with the fields missing.
fn outcome(scope: &Scope<'_>, test: &Comparison, missing: &[Field<'_>]) -> Outcome {
    let left = typed(scope, &test.left, test.kind, missing, DEPTH);
    let right = typed(scope, &test.right, test.kind, missing, DEPTH);
    let (left, right) = match (left, right) {
        (Missed::NoValue, _) | (_, Missed::NoValue) => return Outcome::Fails,
        (Missed::Value(left), Missed::Value(right)) => (left, right),
        (Missed::Unknown, _) | (_, Missed::Unknown) => return Outcome::Unknown,
    };
    let order = match (&left, &right) {
        (Output::Text(a), Output::Text(b)) => a.partial_cmp(b),
        (Output::Float(a), Output::Float(b)) => a.partial_cmp(b),
        _ => whole(&left).zip(whole(&right)).map(|(a, b)| a.cmp(&b)),
    };
    let Some(order) = order else { return Outcome::Unknown };
    let holds = match test.operator {
        Operator::Equal => order.is_eq(),
        Operator::NotEqual => order.is_ne(),
        Operator::Less => order.is_lt(),
        Operator::LessOrEqual => order.is_le(),
        Operator::Greater => order.is_gt(),
        Operator::GreaterOrEqual => order.is_ge(),
    };
    if holds { Outcome::Holds } else { Outcome::Fails }
}

fn whole(output: &Output) -> Option<i128> {
    match output {
        Output::Number(value) => Some(i128::from(*value)),
        Output::Unsigned(value) => Some(i128::from(*value)),
        Output::Text(_) | Output::Float(_) => None,
    }
}

fn value(scope: &Scope<'_>, term: &Term, missing: &[Field<'_>], depth: usize) -> Missed {
    let Some(depth) = depth.checked_sub(1) else { return Missed::Unknown };
    match term {
        Term::Variable(_) => {
            let meanings = scope.meanings(term);
            let values = meanings.into_iter().map(|meaning| value(scope, meaning, missing, depth));
            let mut known = Missed::Unknown;
            for found in values {
                match found {
                    Missed::NoValue => return Missed::NoValue,
                    Missed::Value(_) => known = found,
                    Missed::Unknown => {}
                }
            }
            known
        }
        Term::Call(call) => result(scope, call, missing, depth),
        Term::Constant(_) | Term::Wildcard | Term::Construct(..) => Missed::Unknown,
    }
}

/// A side of a comparison, or an argument, with its kind: constants are values there.
fn typed(scope: &Scope<'_>, term: &Term, kind: Kind, missing: &[Field<'_>], depth: usize) -> Missed {
    match term {
        Term::Constant(word) => constant(scope, *word, kind),
        Term::Variable(_) => {
            let constants = scope.meanings(term).into_iter().find_map(|meaning| match meaning {
                Term::Constant(word) => Some(*word),
                _ => None,
            });
            match (value(scope, term, missing, depth), constants) {
                // What it is compared with elsewhere says less than what it is computed from.
                (Missed::Unknown, Some(word)) => constant(scope, word, kind),
                (computed, _) => computed,
            }
        }
        Term::Call(_) | Term::Wildcard | Term::Construct(..) => value(scope, term, missing, depth),
    }
}

fn constant(scope: &Scope<'_>, word: Word, kind: Kind) -> Missed {
    match kind {
        Kind::Number => Missed::Value(Output::Number(word.as_number())),
        Kind::Unsigned => Missed::Value(Output::Unsigned(word.0)),
        Kind::Float => Missed::Value(Output::Float(word.as_float())),
        Kind::Symbol => Missed::Value(Output::Text(scope.program.pool.text(word.as_symbol()).to_owned())),
        Kind::Compound => Missed::Unknown,
    }
}

/// What a call gives: on a miss its sentinel, else what the functor makes of such values.
fn result(scope: &Scope<'_>, call: &Call, missing: &[Field<'_>], depth: usize) -> Missed {
    let (Function::Functor { id, .. }, Some(functor)) = (call.function, functor_of(call)) else {
        return arguments(scope, call.arguments.iter().zip(&call.kinds), missing, depth)
            .err()
            .unwrap_or(Missed::Unknown);
    };
    let is_missed = field_of(scope, call).is_some_and(|field| missing.contains(&field));
    if functor.mode == Mode::Generator {
        return Missed::Unknown;
    }
    let outputs = if is_missed {
        // Nothing is there to be read.
        let rest = call.arguments.iter().zip(&call.kinds).skip(1);
        match arguments(scope, rest, missing, depth) {
            Ok(rest) => std::iter::once(Output::Text("{}".to_owned())).chain(rest).collect(),
            Err(other) => return other,
        }
    } else if functor.name.starts_with("json_") {
        return Missed::Unknown;
    } else {
        match arguments(scope, call.arguments.iter().zip(&call.kinds), missing, depth) {
            Ok(outputs) => outputs,
            Err(other) => return other,
        }
    };
    let borrowed: Vec<Argument<'_>> =
        (0_u32..).zip(&outputs).map(|(at, output)| borrow(output, at)).collect();
    match functor::call(id, &borrowed, &mut Cache::default()) {
        Ok(Some(output)) => Missed::Value(output),
        Ok(None) => Missed::NoValue,
        Err(_) => Missed::Unknown,
    }
}

/// The values of all arguments, or what the call is because one has none.
fn arguments<'t>(
    scope: &Scope<'_>,
    terms: impl Iterator<Item = (&'t Term, &'t Kind)>,
    missing: &[Field<'_>],
    depth: usize,
) -> Result<Vec<Output>, Missed> {
    let mut outputs = Vec::new();
    let mut unknown = false;
    for (argument, &kind) in terms {
        match typed(scope, argument, kind, missing, depth) {
            Missed::NoValue => return Err(Missed::NoValue),
            Missed::Unknown => unknown = true,
            Missed::Value(output) => outputs.push(output),
        }
    }
    if unknown { Err(Missed::Unknown) } else { Ok(outputs) }
}

fn borrow(output: &Output, at: u32) -> Argument<'_> {
    match output {
        Output::Text(text) => Argument::Text(text, Symbol(at)),
        Output::Number(value) => Argument::Number(*value),
        Output::Unsigned(value) => Argument::Unsigned(*value),
        Output::Float(value) => Argument::Float(*value),
    }
}

/// Whether the literal fails because a term has no value.
fn has_no_value(scope: &Scope<'_>, literal: &Literal, field: &Field<'_>) -> bool {
    let missing = std::slice::from_ref(field);
    let none = |term: &Term| value(scope, term, missing, DEPTH) == Missed::NoValue;
    match literal {
        Literal::Test(test) => none(&test.left) || none(&test.right),
        Literal::Negative(atom) | Literal::Positive(atom) => atom.terms.iter().any(none),
        Literal::Aggregate(_) => false,
    }
}

/// What the missing field reads as, in words.
fn sentinel(scope: &Scope<'_>, literal: &Literal, field: &Field<'_>) -> String {
    let Literal::Test(_) = literal else { return "nothing".to_owned() };
    let missing = std::slice::from_ref(field);
    let own = scope.calls().into_iter().find(|call| field_of(scope, call).as_ref() == Some(field));
    match own.map(|call| result(scope, call, missing, DEPTH)) {
        Some(Missed::Value(output)) => shown(&output),
        Some(Missed::NoValue | Missed::Unknown) | None => "no value".to_owned(),
    }
}

fn shown(output: &Output) -> String {
    match output {
        Output::Text(text) => format!("`\"{text}\"`"),
        Output::Number(value) => format!("`{value}`"),
        Output::Unsigned(value) => format!("`{value}`"),
        Output::Float(value) => format!("`{value}`"),
    }
}
