//! Values and literals as people read them.

use std::collections::BTreeSet;

use crate::engine::{Database, RecordNames};
use crate::explain::{Shown, Site};
use crate::json;
use crate::program::{Atom, Literal, Program, Rule, Term, TypeId, VariableId};
use crate::source::Span;
use crate::value::{Kind, Pool, Word, visible};

/// Characters of a value that are shown.
pub(crate) const LONGEST: usize = 400;
/// Characters of a value within an atom.
const WITHIN: usize = 40;
/// Types whose values are shown by the records and the call themselves.
const TOLD_ELSEWHERE: [&str; 2] = ["Message", "Action"];

/// A value of that type.
pub(crate) fn shown(program: &Program, database: &Database, word: Word, type_id: TypeId) -> Shown {
    let kind = program.types.kind(type_id);
    if kind == Kind::Compound {
        return Shown::Other(visible(&program.types.show(word, type_id, &database.pool), LONGEST));
    }
    shown_word(&database.pool, &database.names, word, kind)
}

/// A value of that kind; one of a compound kind by its number alone.
pub(crate) fn shown_word(pool: &Pool, names: &RecordNames, word: Word, kind: Kind) -> Shown {
    match kind {
        Kind::Number => Shown::Other(word.as_number().to_string()),
        Kind::Unsigned | Kind::Compound => Shown::Other(word.0.to_string()),
        Kind::Float => Shown::Other(format!("{:?}", word.as_float())),
        Kind::Symbol => match names.record(word.as_symbol()) {
            Some(record) => Shown::Record(record),
            None => Shown::Text(visible(pool.text(word.as_symbol()), LONGEST)),
        },
    }
}

impl Shown {
    /// The value on one line: a record as `#3`, a text in quotes, JSON bare, each cut after so many characters.
    #[must_use]
    pub fn line(&self, most: usize) -> String {
        let cut = |text: &str| {
            let mut short: String = text.chars().take(most).collect();
            if short.len() < text.len() {
                short.push('…');
            }
            short
        };
        match self {
            Self::Record(record) => format!("#{}", record.0),
            Self::Text(text) if text.starts_with(['{', '[']) => cut(text),
            Self::Text(text) => {
                let mut quoted = String::new();
                json::write_text(&mut quoted, &cut(text));
                // What is escaped already stays as it is shown.
                quoted.replace("\\\\u{", "\\u{")
            }
            Self::Other(text) => cut(text),
        }
    }
}

/// Whether values of a type say nothing here.
pub(crate) fn is_told_elsewhere(program: &Program, type_id: TypeId) -> bool {
    TOLD_ELSEWHERE.contains(&program.types.get(type_id).name.as_str())
}

/// The place of a span.
pub(crate) fn site(program: &Program, span: Span) -> Site {
    Site { file: program.sources.file(span.file).name.clone(), line: program.sources.place(span).line }
}

/// The text of a span on one line.
pub(crate) fn written(program: &Program, span: Span) -> String {
    program.sources.text(span).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `Relation(values)`; a column without a value is `_`.
pub(crate) fn atom_text(
    program: &Program,
    database: &Database,
    atom: &Atom,
    words: &[Option<Word>],
) -> String {
    let Some(schema) = program.schema(atom.relation) else { return String::new() };
    let cells = schema.columns.iter().zip(words).map(|(column, word)| match word {
        Some(word) => shown(program, database, *word, column.type_id).line(WITHIN),
        None => "_".to_owned(),
    });
    format!("{}({})", schema.name, cells.collect::<Vec<_>>().join(", "))
}

/// The literals of a body that were written as one condition, in the order of the text: what the checker made of a part of
/// a literal stands with it.
pub(crate) fn conditions(rule: &Rule) -> Vec<(Span, Vec<usize>)> {
    let mut places: Vec<(Span, usize)> =
        rule.body.iter().enumerate().map(|(place, literal)| (literal.span(), place)).collect();
    places.sort_by_key(|&(span, place)| (span.file, span.start, std::cmp::Reverse(span.end), place));
    let mut grouped: Vec<(Span, Vec<usize>)> = Vec::new();
    for (span, place) in places {
        match grouped.last_mut() {
            Some((whole, members)) if whole.file == span.file && span.end <= whole.end => members.push(place),
            Some(_) | None => grouped.push((span, vec![place])),
        }
    }
    grouped
}

/// A condition as written, on one line; a negated atom's place is that of the atom.
pub(crate) fn condition_text(program: &Program, rule: &Rule, span: Span, places: &[usize]) -> String {
    let negative = places.iter().any(|&place| {
        rule.body
            .get(place)
            .is_some_and(|literal| matches!(literal, Literal::Negative(_)) && literal.span() == span)
    });
    let text = written(program, span);
    if negative && !text.starts_with('!') { format!("!{text}") } else { text }
}

/// The variables of a literal; of an aggregate, those that are there outside of it.
pub(crate) fn variables(literal: &Literal) -> BTreeSet<VariableId> {
    let mut found = BTreeSet::new();
    match literal {
        Literal::Positive(atom) | Literal::Negative(atom) => {
            atom.terms.iter().for_each(|term| term.variables(&mut found));
        }
        Literal::Test(test) => {
            test.left.variables(&mut found);
            test.right.variables(&mut found);
        }
        Literal::Aggregate(aggregate) => {
            found.insert(aggregate.result);
            found.extend(&aggregate.outer);
            found.extend(&aggregate.witnesses);
        }
    }
    found
}

/// The variables that hold the number of an action: they say nothing about one.
pub(crate) fn action_numbers(program: &Program, rule: &Rule) -> BTreeSet<VariableId> {
    let atoms = rule.body.iter().filter_map(|literal| match literal {
        Literal::Positive(atom) | Literal::Negative(atom) => Some(atom),
        Literal::Test(_) | Literal::Aggregate(_) => None,
    });
    let mut found = BTreeSet::new();
    for atom in atoms.chain([&rule.head]) {
        let Some(schema) = program.schema(atom.relation) else { continue };
        for (term, column) in atom.terms.iter().zip(&schema.columns) {
            if let Term::Variable(variable) = term
                && column.name == "idx"
                && column.type_id == TypeId::UNSIGNED
            {
                found.insert(*variable);
            }
        }
    }
    found
}
