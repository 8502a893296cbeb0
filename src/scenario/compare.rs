//! What was expected against what came.

use std::collections::BTreeSet;

use crate::decision::{Decision, ReasonKind};
use crate::program::types::Datum;
use crate::scenario::expect::Expectation;
use crate::value::visible;
use crate::yaml::{Key, Node, Value};

/// One thing that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) what: String,
    pub(crate) expected: String,
    pub(crate) got: String,
}

/// Rows named in a message about rows, at most.
const SHOWN: usize = 10;

/// Everything in which a decision is not what was expected.
pub(crate) fn decision(expected: &Expectation, got: &Decision) -> Vec<Difference> {
    let mut differences = Vec::new();
    let mut differs = |what: &str, expected: String, got: String| {
        differences.push(Difference { what: what.to_owned(), expected, got });
    };
    if let Some(verdict) = expected.verdict
        && verdict != got.verdict
    {
        differs("verdict", verdict.name().to_owned(), got.verdict.name().to_owned());
    }
    if let Some(kinds) = &expected.kinds {
        let found: BTreeSet<_> = got.reasons.iter().map(|reason| reason.kind).collect();
        if !(kinds == &found || expected.more && kinds.is_subset(&found)) {
            differs("kinds", kind_names(kinds), kind_names(&found));
        }
    }
    if let Some(reasons) = &expected.reasons
        && !reasons_match(reasons, got, expected.more)
    {
        differs("reasons", quoted(reasons.iter()), quoted(got.reasons.iter().map(|reason| &reason.text)));
    }
    if let Some(suggestions) = &expected.suggestions {
        let found: BTreeSet<_> = got.reasons.iter().flat_map(|reason| reason.suggestions.clone()).collect();
        if !(suggestions == &found || expected.more && suggestions.is_subset(&found)) {
            differs("suggestions", quoted(suggestions.iter()), quoted(found.iter()));
        }
    }
    if let Some(rule) = &expected.rule
        && !got.reasons.iter().any(|reason| &reason.rule == rule)
    {
        differs("rule", rule.clone(), quoted(got.reasons.iter().map(|reason| &reason.rule)));
    }
    if let Some(transforms) = &expected.transforms {
        let found: BTreeSet<_> = got.transforms.iter().cloned().collect();
        if transforms != &found {
            differs("transforms", quoted(transforms.iter()), quoted(found.iter()));
        }
    }
    differences
}

/// Each expected text is part of some reason's, and, unless there may be more, each reason has such a text.
fn reasons_match(expected: &[String], got: &Decision, more: bool) -> bool {
    // Messages show the values of placeholders with control characters escaped; the test may state the value itself.
    let shown: Vec<_> = expected.iter().map(|part| (part, visible(part, part.len()))).collect();
    let holds = |(part, shown): &(&String, String), text: &str| {
        text.contains(part.as_str()) || text.contains(shown.as_str())
    };
    shown.iter().all(|part| got.reasons.iter().any(|reason| holds(part, &reason.text)))
        && (more || got.reasons.iter().all(|reason| shown.iter().any(|part| holds(part, &reason.text))))
}

fn kind_names(kinds: &BTreeSet<ReasonKind>) -> String {
    format!("[{}]", kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", "))
}

fn quoted<'a>(texts: impl Iterator<Item = &'a String>) -> String {
    format!("[{}]", texts.map(|text| format!("{text:?}")).collect::<Vec<_>>().join(", "))
}

/// How the rows of a relation differ from those expected; both are sets.
pub(crate) fn rows(relation: &str, expected: &[Vec<Node>], got: &[Vec<Datum>]) -> Option<Difference> {
    let same = |cells: &[Node], row: &[Datum]| {
        cells.len() == row.len() && cells.iter().zip(row).all(|(cell, datum)| is(cell, datum))
    };
    let missing: Vec<_> = expected.iter().filter(|cells| !got.iter().any(|row| same(cells, row))).collect();
    let surplus: Vec<_> = got.iter().filter(|row| !expected.iter().any(|cells| same(cells, row))).collect();
    if missing.is_empty() && surplus.is_empty() {
        return None;
    }
    let missing = missing.into_iter().map(|cells| cells_text(cells));
    let surplus = surplus.into_iter().map(|row| format!("[{}]", data(row)));
    let expected = format!("{} rows; not there: {}", expected.len(), shortened(missing));
    let got = format!("{} rows; not expected: {}", got.len(), shortened(surplus));
    Some(Difference { what: format!("rows of `{relation}`"), expected, got })
}

fn shortened(rows: impl ExactSizeIterator<Item = String>) -> String {
    let more = rows.len().saturating_sub(SHOWN);
    let mut shown: Vec<_> = rows.take(SHOWN).collect();
    match (shown.is_empty(), more) {
        (true, _) => "none".to_owned(),
        (false, 0) => shown.join(", "),
        (false, _) => {
            shown.push(format!("and {more} more"));
            shown.join(", ")
        }
    }
}

/// Whether a cell as written stands for that value: texts by their text, numbers by their value, records as lists,
/// variants as `{Variant: [..]}` or by their name alone.
fn is(cell: &Node, datum: &Datum) -> bool {
    match (datum, &cell.value) {
        (Datum::Number(n), Value::Plain(text) | Value::Quoted(text)) => text.parse() == Ok(*n),
        (Datum::Unsigned(n), Value::Plain(text) | Value::Quoted(text)) => text.parse() == Ok(*n),
        (Datum::Float(n), Value::Plain(text) | Value::Quoted(text)) => {
            text.parse::<f64>().is_ok_and(|wanted| wanted == *n || wanted.is_nan() && n.is_nan())
        }
        (Datum::Text(text), Value::Plain(wanted) | Value::Quoted(wanted)) => text == wanted,
        (Datum::Nil, Value::Plain(text) | Value::Quoted(text)) => text == "nil" || cell.is_null(),
        (Datum::Record(fields), Value::List(cells)) => all_are(cells, fields),
        (Datum::Variant(name, fields), Value::Plain(text) | Value::Quoted(text)) => {
            fields.is_empty() && text.strip_prefix('$').unwrap_or(text) == name
        }
        (Datum::Variant(name, fields), Value::Map(pairs)) => match (pairs.as_slice(), fields.as_slice()) {
            ([(key, Node { value: Value::List(cells), .. })], _) => {
                key.text.strip_prefix('$').unwrap_or(&key.text) == name && all_are(cells, fields)
            }
            _ => false,
        },
        (
            Datum::Number(_) | Datum::Unsigned(_) | Datum::Float(_) | Datum::Text(_) | Datum::Nil,
            Value::List(_) | Value::Map(_),
        )
        | (Datum::Record(_), Value::Plain(_) | Value::Quoted(_) | Value::Map(_))
        | (Datum::Variant(..), Value::List(_)) => false,
    }
}

fn all_are(cells: &[Node], fields: &[Datum]) -> bool {
    cells.len() == fields.len() && cells.iter().zip(fields).all(|(cell, datum)| is(cell, datum))
}

fn cells_text(cells: &[Node]) -> String {
    format!("[{}]", cells.iter().map(cell_text).collect::<Vec<_>>().join(", "))
}

fn cell_text(cell: &Node) -> String {
    match &cell.value {
        Value::Plain(text) => text.clone(),
        Value::Quoted(text) => format!("{text:?}"),
        Value::List(cells) => cells_text(cells),
        Value::Map(pairs) => {
            let pair = |(key, cell): &(Key, Node)| format!("{}: {}", key.text, cell_text(cell));
            format!("{{{}}}", pairs.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
    }
}

fn data(row: &[Datum]) -> String {
    row.iter().map(datum_text).collect::<Vec<_>>().join(", ")
}

/// A value as an expectation would write it.
fn datum_text(datum: &Datum) -> String {
    match datum {
        Datum::Number(n) => n.to_string(),
        Datum::Unsigned(n) => n.to_string(),
        Datum::Float(n) => n.to_string(),
        Datum::Text(text) => format!("{text:?}"),
        Datum::Nil => "nil".to_owned(),
        Datum::Record(fields) => format!("[{}]", data(fields)),
        Datum::Variant(name, fields) => format!("{{{name}: [{}]}}", data(fields)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::{Reason, Verdict};
    use crate::yaml::read;

    fn reason(kind: ReasonKind, text: &str) -> Reason {
        let (file, rule) = (String::new(), "r".to_owned());
        Reason { kind, file, line: 0, text: text.to_owned(), rule, suggestions: vec!["try".to_owned()] }
    }

    fn denied() -> Decision {
        Decision {
            verdict: Verdict::Deny,
            reasons: vec![
                reason(ReasonKind::Denied, "amount 900 is over the limit"),
                reason(ReasonKind::Denied, "closed at night"),
            ],
            routes: Vec::new(),
            transforms: vec!["t".to_owned()],
            passthrough: false,
            refuse_aloud: false,
        }
    }

    #[test]
    fn what_is_said_has_to_hold_and_lists_are_complete() {
        let rows: &[(&str, &[&str])] = &[
            ("expect: [deny]", &[]),
            ("expect: [allow]", &["verdict"]),
            ("expect: [{verdict: deny, kinds: [denied]}]", &[]),
            ("expect: [{kinds: [denied, not_allowed]}]", &["kinds"]),
            ("expect: [{kinds: []}]", &["kinds"]),
            ("expect: [{kinds: [], more: true}]", &[]),
            ("expect: [{reasons: [night, limit]}]", &[]),
            ("expect: [{reasons: [night]}]", &["reasons"]),
            ("expect: [{reasons: [night], more: true}]", &[]),
            ("expect: [{reasons: [day], more: true}]", &["reasons"]),
            ("expect: [{suggestions: [try]}]", &[]),
            ("expect: [{suggestions: []}]", &["suggestions"]),
            ("expect: [{rule: r}]", &[]),
            ("expect: [{rule: q, transforms: []}]", &["rule", "transforms"]),
        ];
        for (text, expected) in rows {
            let file =
                format!("source: x\ncases: [{{name: a, checks: [{{actions: [{{tool: t}}], {text}}}]}}]");
            let case = crate::scenario::parse("t", &file).unwrap().cases.remove(0);
            let wanted = case.steps.into_iter().next().unwrap().check.unwrap().expect.unwrap().remove(0);
            let found = decision(&wanted, &denied());
            let found: Vec<_> = found.iter().map(|difference| difference.what.as_str()).collect();
            assert_eq!(&found, expected, "{text}");
        }
    }

    #[test]
    fn cells_stand_for_values_of_their_type() {
        let variant = |fields: Vec<Datum>| Datum::Variant("V".to_owned(), fields);
        let table = [
            ("7", Datum::Number(7), true),
            ("+7", Datum::Number(7), true),
            ("7", Datum::Text("7".to_owned()), true),
            ("'7'", Datum::Text("7".to_owned()), true),
            ("yes", Datum::Text("yes".to_owned()), true),
            ("-1", Datum::Unsigned(1), false),
            ("0.50", Datum::Float(0.5), true),
            ("nil", Datum::Nil, true),
            (
                "[1, [a]]",
                Datum::Record(vec![Datum::Number(1), Datum::Record(vec![Datum::Text("a".into())])]),
                true,
            ),
            ("[1]", Datum::Record(vec![Datum::Number(1), Datum::Nil]), false),
            ("{V: [1]}", variant(vec![Datum::Number(1)]), true),
            ("{$V: [1]}", variant(vec![Datum::Number(1)]), true),
            ("{W: [1]}", variant(vec![Datum::Number(1)]), false),
            ("V", variant(Vec::new()), true),
            ("{V: []}", variant(Vec::new()), true),
            ("V", variant(vec![Datum::Number(1)]), false),
        ];
        for (text, datum, expected) in table {
            assert_eq!(is(&read(text).unwrap(), &datum), expected, "{text}");
        }
    }

    #[test]
    fn rows_are_sets_and_complete() {
        let expected = |text: &str| match read(text).unwrap().value {
            Value::List(rows) => rows
                .into_iter()
                .map(|row| match row.value {
                    Value::List(cells) => cells,
                    other => panic!("{other:?}"),
                })
                .collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        let got = [vec![Datum::Text("a".to_owned())], vec![Datum::Text("b".to_owned())]];
        assert_eq!(rows("R", &expected("[[b], [a], [a]]"), &got), None);
        let difference = rows("R", &expected("[[a], [c]]"), &got).unwrap();
        assert_eq!(difference.expected, "2 rows; not there: [c]");
        assert_eq!(difference.got, "2 rows; not expected: [\"b\"]");
        assert_eq!(rows("N", &expected("[[]]"), &[Vec::new()]), None);
        assert!(rows("N", &expected("[]"), &[Vec::new()]).is_some());
        assert!(rows("N", &expected("[[]]"), &[]).is_some());
    }
}
