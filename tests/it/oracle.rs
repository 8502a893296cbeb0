//! The least model by the plainest means: every rule over every combination of facts, again and again until nothing new
//! comes. It shares the checked program with the engine and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use gatelog::functor::{self, Argument, Cache, Mode, Output};
use gatelog::program::{
    Aggregate, AggregateFunction, Arithmetic, Atom, Call, Comparison, Function, Literal, Operator, Origin,
    Program, RelationId, Rule, Term, VariableId,
};
use gatelog::value::{ConstructorId, Kind, Symbol, Word};

/// A value outside any pool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Value {
    Number(i64),
    Unsigned(u64),
    Float(u64),
    Text(String),
    Compound(u32, Vec<Self>),
}

pub(crate) type Facts = BTreeMap<RelationId, BTreeSet<Vec<Value>>>;
type Bindings = BTreeMap<VariableId, Value>;

/// The model, or that an evaluation error was met on the way.
pub(crate) fn evaluate(program: &Program, given: &Facts, roots: &[RelationId]) -> Result<Facts, ()> {
    let needed = program.needed(roots);
    let mut oracle = Oracle { program, facts: given.clone(), failed: false };
    for stratum in &program.strata {
        if !stratum.relations.iter().any(|relation| needed[relation.0 as usize]) {
            continue;
        }
        // What the engine answers from the lineage is derived here by the rules that the prelude states for it.
        let stated = |rule: &&Rule| stratum.relations.contains(&rule.head.relation);
        let rules: Vec<&Rule> = stratum
            .rules
            .iter()
            .map(|rule| &program.rules[rule.0 as usize])
            .chain(program.lineage_rules.iter().filter(stated))
            .collect();
        // Every rule runs in every round, whether or not one before it found something.
        while rules.iter().map(|rule| oracle.apply(rule)).filter(|&grew| grew).count() > 0 {}
        if oracle.failed {
            return Err(());
        }
    }
    Ok(oracle.facts)
}

struct Oracle<'a> {
    program: &'a Program,
    facts: Facts,
    failed: bool,
}

impl Oracle<'_> {
    fn apply(&mut self, rule: &Rule) -> bool {
        let kinds = self.column_kinds(rule.head.relation);
        let mut grew = false;
        for bindings in self.solve(&rule.body.iter().collect::<Vec<_>>(), Bindings::new()) {
            let values: Vec<Option<Value>> = rule
                .head
                .terms
                .iter()
                .zip(&kinds)
                .map(|(term, &kind)| self.value(term, kind, &bindings))
                .collect();
            if let Some(tuple) = values.into_iter().collect::<Option<Vec<Value>>>() {
                grew |= self.facts.entry(rule.head.relation).or_default().insert(tuple);
            }
        }
        grew
    }

    fn column_kinds(&self, relation: RelationId) -> Vec<Kind> {
        let schema = &self.program.relations[relation.0 as usize];
        schema.columns.iter().map(|column| self.program.types.kind(column.type_id)).collect()
    }

    /// All ways to satisfy the literals. Those that can raise an error come when no other is ready, all at once.
    fn solve(&mut self, literals: &[&Literal], bindings: Bindings) -> Vec<Bindings> {
        if literals.is_empty() {
            return vec![bindings];
        }
        let safe = |literal: &&Literal| !self.fallible(literal) && ready(literal, &bindings);
        if let Some(at) = literals.iter().position(safe) {
            let mut rest = literals.to_vec();
            let literal = rest.remove(at);
            let ways = self.literal(literal, &bindings);
            return ways.into_iter().flat_map(|way| self.solve(&rest, way)).collect();
        }
        let (now, rest): (Vec<&Literal>, Vec<&Literal>) =
            literals.iter().partition(|literal| ready(literal, &bindings));
        assert!(!now.is_empty(), "a grounded rule always has a literal that is ready");
        let before = self.failed;
        self.failed = false;
        let choices: Vec<Vec<Bindings>> =
            now.iter().map(|literal| self.literal(literal, &bindings)).collect();
        let failed = std::mem::replace(&mut self.failed, before);
        if failed {
            self.failed = true;
            return Vec::new();
        }
        let mut ways = vec![bindings];
        for choice in choices {
            let join = |way: &Bindings| {
                choice
                    .iter()
                    .map(|more| way.iter().chain(more).map(|(k, v)| (*k, v.clone())).collect())
                    .collect::<Vec<_>>()
            };
            ways = ways.iter().flat_map(join).collect();
        }
        ways.into_iter().flat_map(|way| self.solve(&rest, way)).collect()
    }

    fn fallible(&self, literal: &Literal) -> bool {
        match literal {
            Literal::Positive(_) => false,
            Literal::Negative(atom) => atom.terms.iter().any(fallible),
            Literal::Test(test) => fallible(&test.left) || fallible(&test.right),
            Literal::Aggregate(aggregate) => {
                (aggregate.function == AggregateFunction::Sum && aggregate.kind != Kind::Float)
                    || aggregate.target.iter().any(fallible)
                    || aggregate.body.iter().any(|literal| self.fallible(literal))
            }
        }
    }

    fn literal(&mut self, literal: &Literal, bindings: &Bindings) -> Vec<Bindings> {
        match literal {
            Literal::Positive(atom) => self.matching(atom, bindings),
            Literal::Negative(atom) => {
                let before = std::mem::replace(&mut self.failed, false);
                let ways = self.matching(atom, bindings);
                let failed = self.failed;
                self.failed |= before;
                if ways.is_empty() && !failed { vec![bindings.clone()] } else { Vec::new() }
            }
            Literal::Test(test) => self.test(test, bindings),
            Literal::Aggregate(aggregate) => self.aggregate(aggregate, bindings),
        }
    }

    fn matching(&mut self, atom: &Atom, bindings: &Bindings) -> Vec<Bindings> {
        let kinds = self.column_kinds(atom.relation);
        let tuples: Vec<_> = self.facts.get(&atom.relation).into_iter().flatten().cloned().collect();
        let mut ways = Vec::new();
        // A key that cannot be computed is an error also where there is no tuple to compare it with.
        for (term, &kind) in atom.terms.iter().zip(&kinds) {
            if bound(term, bindings) {
                self.value(term, kind, bindings);
            }
        }
        for tuple in tuples {
            let mut way = bindings.clone();
            if atom
                .terms
                .iter()
                .zip(&kinds)
                .zip(&tuple)
                .all(|((term, &kind), value)| self.unify(term, kind, value, &mut way))
            {
                ways.push(way);
            }
        }
        ways
    }

    fn unify(&mut self, term: &Term, kind: Kind, value: &Value, bindings: &mut Bindings) -> bool {
        match term {
            Term::Wildcard => true,
            Term::Variable(variable) => match bindings.get(variable) {
                Some(known) => known == value,
                None => {
                    bindings.insert(*variable, value.clone());
                    true
                }
            },
            Term::Construct(constructor, fields) if !bound(term, bindings) => {
                let Value::Compound(built_with, parts) = value else { return false };
                let kinds = self.field_kinds(*constructor);
                *built_with == constructor.0
                    && parts.len() == fields.len()
                    && fields
                        .iter()
                        .zip(&kinds)
                        .zip(parts)
                        .all(|((f, &k), part)| self.unify(f, k, part, bindings))
            }
            Term::Constant(_) | Term::Construct(..) | Term::Call(_) => {
                self.value(term, kind, bindings).is_some_and(|known| known == *value)
            }
        }
    }

    fn field_kinds(&self, constructor: ConstructorId) -> Vec<Kind> {
        let constructor = self.program.types.constructor(constructor);
        constructor.fields.iter().map(|(_, type_id)| self.program.types.kind(*type_id)).collect()
    }

    fn test(&mut self, test: &Comparison, bindings: &Bindings) -> Vec<Bindings> {
        if test.operator == Operator::Equal {
            for (value, pattern) in [(&test.left, &test.right), (&test.right, &test.left)] {
                if let Term::Call(call) = value
                    && generator(call)
                    && bound(value, bindings)
                {
                    let values = self.generate(call, bindings);
                    return self.take(values, pattern, test.kind, bindings);
                }
            }
            for (value, pattern) in [(&test.left, &test.right), (&test.right, &test.left)] {
                if bound(value, bindings) && !bound(pattern, bindings) {
                    let values = self.value(value, test.kind, bindings);
                    return self.take(values.into_iter().collect(), pattern, test.kind, bindings);
                }
            }
        }
        let left = self.value(&test.left, test.kind, bindings);
        let right = self.value(&test.right, test.kind, bindings);
        let (Some(left), Some(right)) = (left, right) else { return Vec::new() };
        let order = match (&left, &right) {
            (Value::Float(a), Value::Float(b)) => f64::from_bits(*a).partial_cmp(&f64::from_bits(*b)),
            _ => Some(left.cmp(&right)),
        };
        let holds = match test.operator {
            Operator::Equal => order.is_some_and(|order| order.is_eq()),
            Operator::NotEqual => order.is_none_or(|order| order.is_ne()),
            Operator::Less => order.is_some_and(|order| order.is_lt()),
            Operator::LessOrEqual => order.is_some_and(|order| order.is_le()),
            Operator::Greater => order.is_some_and(|order| order.is_gt()),
            Operator::GreaterOrEqual => order.is_some_and(|order| order.is_ge()),
        };
        if holds { vec![bindings.clone()] } else { Vec::new() }
    }

    fn take(&mut self, values: Vec<Value>, pattern: &Term, kind: Kind, bindings: &Bindings) -> Vec<Bindings> {
        let mut ways = Vec::new();
        for value in values {
            let mut way = bindings.clone();
            if self.unify(pattern, kind, &value, &mut way) {
                ways.push(way);
            }
        }
        ways
    }

    fn value(&mut self, term: &Term, kind: Kind, bindings: &Bindings) -> Option<Value> {
        match term {
            Term::Variable(variable) => bindings.get(variable).cloned(),
            Term::Constant(word) => Some(self.constant(*word, kind)),
            Term::Wildcard => None,
            Term::Construct(constructor, fields) => {
                let kinds = self.field_kinds(*constructor);
                let parts: Vec<_> =
                    fields.iter().zip(kinds).map(|(field, kind)| self.value(field, kind, bindings)).collect();
                Some(Value::Compound(constructor.0, parts.into_iter().collect::<Option<_>>()?))
            }
            Term::Call(call) => self.call(call, bindings),
        }
    }

    fn constant(&self, word: Word, kind: Kind) -> Value {
        match kind {
            Kind::Number => Value::Number(word.as_number()),
            Kind::Unsigned => Value::Unsigned(word.0),
            Kind::Float => Value::Float(word.0),
            Kind::Symbol => Value::Text(self.program.pool.text(word.as_symbol()).to_owned()),
            Kind::Compound => {
                let (constructor, words) = self.program.pool.fields(word.as_compound());
                let parts = words
                    .iter()
                    .zip(self.field_kinds(constructor))
                    .map(|(&word, kind)| self.constant(word, kind));
                Value::Compound(constructor.0, parts.collect())
            }
        }
    }

    fn arguments(&mut self, call: &Call, bindings: &Bindings) -> Option<Vec<Value>> {
        let values: Vec<_> = call
            .arguments
            .iter()
            .zip(&call.kinds)
            .map(|(term, &kind)| self.value(term, kind, bindings))
            .collect();
        values.into_iter().collect()
    }

    fn call(&mut self, call: &Call, bindings: &Bindings) -> Option<Value> {
        let values = self.arguments(call, bindings)?;
        let result = match call.function {
            Function::Functor { id, .. } => functor::call(id, &as_arguments(&values), &mut Cache::default())
                .map(|output| output.map(output_value))
                .map_err(|_| ()),
            Function::Arithmetic(operator, _) => arithmetic(operator, &values).map(Some),
            Function::Cast(..) => match values.as_slice() {
                [Value::Number(n)] => u64::try_from(*n).map(|n| Some(Value::Unsigned(n))).map_err(|_| ()),
                [Value::Unsigned(n)] => i64::try_from(*n).map(|n| Some(Value::Number(n))).map_err(|_| ()),
                _ => Ok(values.into_iter().next()),
            },
            Function::Show(type_id) => {
                let text = shown(self.program, &values[0], type_id);
                Ok(Some(Value::Text(gatelog::value::legible(&text, 200))))
            }
            Function::Range(_) => Ok(None),
        };
        result.unwrap_or_else(|()| {
            self.failed = true;
            None
        })
    }

    fn generate(&mut self, call: &Call, bindings: &Bindings) -> Vec<Value> {
        let Some(values) = self.arguments(call, bindings) else { return Vec::new() };
        match (call.function, values.as_slice()) {
            (Function::Functor { id, .. }, values) => {
                match functor::generate(id, &as_arguments(values), &mut Cache::default()) {
                    Ok(outputs) => outputs.into_iter().map(output_value).collect(),
                    Err(_) => {
                        self.failed = true;
                        Vec::new()
                    }
                }
            }
            (_, [Value::Number(from), Value::Number(to)]) if from <= to => {
                (*from..*to).map(Value::Number).collect()
            }
            (_, [Value::Number(from), Value::Number(to)]) => {
                (*to + 1..=*from).rev().map(Value::Number).collect()
            }
            (function, values) => panic!("no random program holds {function:?} of {values:?}"),
        }
    }

    fn aggregate(&mut self, aggregate: &Aggregate, bindings: &Bindings) -> Vec<Bindings> {
        let outer: Bindings = bindings
            .iter()
            .filter(|(variable, _)| aggregate.outer.contains(variable))
            .map(|(k, v)| (*k, v.clone()))
            .collect();
        let ways = self.solve(&aggregate.body.iter().collect::<Vec<_>>(), outer);
        let mut rows: Vec<(Vec<Value>, Option<Value>, Bindings)> = Vec::new();
        for way in ways {
            let key: Vec<Value> =
                aggregate.distinct.iter().flatten().filter_map(|v| way.get(v).cloned()).collect();
            if aggregate.distinct.is_some() && rows.iter().any(|(other, ..)| *other == key) {
                continue;
            }
            let target = match &aggregate.target {
                None => None,
                Some(term) => match self.value(term, aggregate.kind, &way) {
                    Some(value) => Some(value),
                    None => continue,
                },
            };
            rows.push((key, target, way));
        }
        let Some(result) = self.aggregated(aggregate, &rows) else { return Vec::new() };
        let chosen: Vec<&Bindings> = if aggregate.witnesses.is_empty() {
            vec![bindings]
        } else {
            rows.iter()
                .filter(|(_, target, _)| target.as_ref() == Some(&result))
                .map(|(.., way)| way)
                .collect()
        };
        let mut all = Vec::new();
        for chosen in chosen {
            let mut way = bindings.clone();
            for witness in &aggregate.witnesses {
                way.insert(*witness, chosen[witness].clone());
            }
            if self.unify(&Term::Variable(aggregate.result), aggregate.kind, &result, &mut way)
                && !all.contains(&way)
            {
                all.push(way);
            }
        }
        all
    }

    fn aggregated(
        &mut self,
        aggregate: &Aggregate,
        rows: &[(Vec<Value>, Option<Value>, Bindings)],
    ) -> Option<Value> {
        let targets: Vec<&Value> = rows.iter().filter_map(|(_, target, _)| target.as_ref()).collect();
        match aggregate.function {
            AggregateFunction::Count => Some(Value::Number(i64::try_from(rows.len()).unwrap())),
            AggregateFunction::Min => targets.into_iter().min().cloned(),
            AggregateFunction::Max => targets.into_iter().max().cloned(),
            AggregateFunction::Sum => {
                let sum: i128 = targets
                    .iter()
                    .map(|value| match value {
                        Value::Number(n) => i128::from(*n),
                        Value::Unsigned(n) => i128::from(*n),
                        other => panic!("no random program sums {other:?}"),
                    })
                    .sum();
                let fits = match aggregate.kind {
                    Kind::Unsigned => u64::try_from(sum).map(Value::Unsigned),
                    _ => i64::try_from(sum).map(Value::Number),
                };
                fits.map_err(|_| self.failed = true).ok()
            }
            AggregateFunction::Mean => panic!("no random program takes a mean"),
        }
    }
}

fn bound(term: &Term, bindings: &Bindings) -> bool {
    match term {
        Term::Variable(variable) => bindings.contains_key(variable),
        Term::Constant(_) => true,
        Term::Wildcard => false,
        Term::Construct(_, fields) => fields.iter().all(|field| bound(field, bindings)),
        Term::Call(call) => call.arguments.iter().all(|argument| bound(argument, bindings)),
    }
}

fn takes(term: &Term, bindings: &Bindings) -> bool {
    match term {
        Term::Variable(_) | Term::Constant(_) | Term::Wildcard => true,
        Term::Construct(_, fields) => fields.iter().all(|field| takes(field, bindings)),
        Term::Call(_) => bound(term, bindings),
    }
}

fn ready(literal: &Literal, bindings: &Bindings) -> bool {
    match literal {
        Literal::Positive(_) => true,
        Literal::Negative(atom) => {
            atom.terms.iter().all(|term| *term == Term::Wildcard || bound(term, bindings))
        }
        Literal::Test(test) => {
            let (left, right) = (bound(&test.left, bindings), bound(&test.right, bindings));
            let equal = test.operator == Operator::Equal;
            (left && right)
                || (equal && left && takes(&test.right, bindings))
                || (equal && right && takes(&test.left, bindings))
        }
        Literal::Aggregate(aggregate) => {
            aggregate.outer.iter().all(|variable| bindings.contains_key(variable))
        }
    }
}

fn fallible(term: &Term) -> bool {
    match term {
        Term::Variable(_) | Term::Constant(_) | Term::Wildcard => false,
        Term::Construct(_, fields) => fields.iter().any(fallible),
        Term::Call(call) => {
            let own = match call.function {
                Function::Functor { fallible, .. } => fallible,
                Function::Arithmetic(operator, kind) => operator.fallible(kind),
                Function::Range(_) | Function::Cast(..) => true,
                Function::Show(_) => false,
            };
            own || call.arguments.iter().any(fallible)
        }
    }
}

fn generator(call: &Call) -> bool {
    match call.function {
        Function::Range(_) => true,
        Function::Functor { id, .. } => functor::table()[usize::from(id.0)].mode == Mode::Generator,
        Function::Arithmetic(..) | Function::Cast(..) | Function::Show(_) => false,
    }
}

fn as_arguments(values: &[Value]) -> Vec<Argument<'_>> {
    let argument = |(at, value)| match value {
        &Value::Number(n) => Argument::Number(n),
        &Value::Unsigned(n) => Argument::Unsigned(n),
        &Value::Float(bits) => Argument::Float(f64::from_bits(bits)),
        // Each call has a cache of its own, so that any distinct symbols do.
        Value::Text(text) => Argument::Text(text, Symbol(at)),
        Value::Compound(..) => panic!("no functor takes a record"),
    };
    (0..).zip(values).map(argument).collect()
}

fn output_value(output: Output) -> Value {
    match output {
        Output::Text(text) => Value::Text(text),
        Output::Number(n) => Value::Number(n),
        Output::Unsigned(n) => Value::Unsigned(n),
        Output::Float(f) => Value::Float(f.to_bits()),
    }
}

/// Over numbers alone, in 128 bits: what does not come back to 64 is an error.
fn arithmetic(operator: Arithmetic, values: &[Value]) -> Result<Value, ()> {
    let wide = |value: &Value| match value {
        Value::Number(n) => i128::from(*n),
        other => panic!("no random program computes with {other:?}"),
    };
    let a = wide(&values[0]);
    let b = values.get(1).map_or(0, wide);
    let result = match operator {
        Arithmetic::Add => a + b,
        Arithmetic::Subtract => a - b,
        Arithmetic::Multiply => a * b,
        Arithmetic::Divide => a.checked_div(b).ok_or(())?,
        Arithmetic::Remainder => a.checked_rem(b).ok_or(())?,
        Arithmetic::Negate => -a,
        Arithmetic::Min => a.min(b),
        Arithmetic::Max => a.max(b),
        other => panic!("no random program holds {other:?}"),
    };
    i64::try_from(result).map(Value::Number).map_err(|_| ())
}

fn shown(program: &Program, value: &Value, type_id: gatelog::program::TypeId) -> String {
    match value {
        Value::Number(n) => n.to_string(),
        Value::Unsigned(n) => n.to_string(),
        Value::Float(bits) => f64::from_bits(*bits).to_string(),
        Value::Text(text) => text.clone(),
        Value::Compound(..) => panic!("no random program shows a {}", program.types.get(type_id).name),
    }
}

/// The relations that are neither the host's nor the lineage's.
pub(crate) fn derived(program: &Program) -> Vec<RelationId> {
    (0..)
        .map(RelationId)
        .zip(&program.relations)
        .filter(|(_, relation)| relation.origin == Origin::Rules)
        .map(|(id, _)| id)
        .collect()
}
