//! Rows of relations.

use serde_json::{Value, json};

use crate::monitor::Rows;
use crate::program::types::Datum;
use crate::program::{Program, Relation};
use crate::report::json::line;
use crate::source::is_invisible;

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowFormat {
    /// Soufflé's fact files: columns between tabs. Line ends, tabs and other control characters of a text are written as
    /// escapes, so that a row is one line; a backslash stays as it is.
    Tsv,
    /// RFC 4180, exact.
    Csv,
    /// One document, exact.
    Json,
}

/// The rows of relations. Where it is not one relation that was asked for, each is headed by its name and columns.
#[must_use]
pub fn relations(program: &Program, all: &[Rows], format: RowFormat, single: bool) -> String {
    let known = all.iter().filter_map(|rows| program.schema(rows.relation).map(|relation| (relation, rows)));
    if format == RowFormat::Json {
        let relations: Vec<_> = known.map(|(relation, rows)| json_rows(relation, rows)).collect();
        return line(&json!({ "relations": relations })) + "\n";
    }
    let mut out = String::new();
    for (relation, rows) in known {
        if !single {
            out.push_str(&format!(
                "---------------\n{}\n{}\n===============\n",
                relation.name,
                columns(relation)
            ));
        }
        for row in &rows.rows {
            let cells: Vec<_> = row.iter().map(|datum| cell(datum, format)).collect();
            // A row without columns is written as Soufflé writes it.
            let text = match (format, cells.is_empty()) {
                (_, true) => "()".to_owned(),
                (RowFormat::Csv, false) => cells.join(","),
                (RowFormat::Tsv | RowFormat::Json, false) => cells.join("\t"),
            };
            out.push_str(&text);
            out.push('\n');
        }
        if !single {
            out.push_str("===============\n");
        }
    }
    out
}

fn columns(relation: &Relation) -> String {
    relation.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join("\t")
}

fn json_rows(relation: &Relation, rows: &Rows) -> Value {
    let columns: Vec<_> = relation.columns.iter().map(|column| column.name.as_str()).collect();
    let rows: Vec<Vec<Value>> = rows.rows.iter().map(|row| row.iter().map(json_value).collect()).collect();
    json!({ "name": relation.name, "columns": columns, "rows": rows })
}

/// Records as lists, variants as `{"Name": […]}`, `nil` as null.
fn json_value(datum: &Datum) -> Value {
    match datum {
        Datum::Number(n) => json!(n),
        Datum::Unsigned(n) => json!(n),
        Datum::Float(n) if n.is_finite() => json!(n),
        Datum::Float(n) => json!(n.to_string()),
        Datum::Text(text) => json!(text),
        Datum::Nil => Value::Null,
        Datum::Record(fields) => fields.iter().map(json_value).collect(),
        Datum::Variant(name, fields) => {
            let fields: Vec<_> = fields.iter().map(json_value).collect();
            json!({ name.as_str(): fields })
        }
    }
}

fn cell(datum: &Datum, format: RowFormat) -> String {
    let text = match datum {
        Datum::Text(text) => text.clone(),
        other => value(other),
    };
    match format {
        RowFormat::Csv if text.contains(['"', ',', '\n', '\r']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        RowFormat::Csv | RowFormat::Json => text,
        RowFormat::Tsv => one_line(&text),
    }
}

/// A value as fact files write it; a text within a record is quoted where it could be mistaken.
fn value(datum: &Datum) -> String {
    let list = |fields: &[Datum]| fields.iter().map(value).collect::<Vec<_>>().join(", ");
    match datum {
        Datum::Number(n) => n.to_string(),
        Datum::Unsigned(n) => n.to_string(),
        Datum::Float(n) => n.to_string(),
        Datum::Text(text) => nested(text),
        Datum::Nil => "nil".to_owned(),
        Datum::Record(fields) => format!("[{}]", list(fields)),
        Datum::Variant(name, fields) if fields.is_empty() => format!("${name}"),
        Datum::Variant(name, fields) => format!("${name}({})", list(fields)),
    }
}

fn nested(text: &str) -> String {
    let plain = |c: char| !is_invisible(c) && !matches!(c, ',' | ']' | ')' | '"' | '\\');
    if !text.is_empty() && !text.starts_with(' ') && text.chars().all(plain) {
        return text.to_owned();
    }
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", one_line(&escaped))
}

fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_invisible(c) => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_line_and_csv_is_exact() {
        let text = |text: &str| Datum::Text(text.to_owned());
        let rows = [
            (text("a\tb\nc"), "a\\tb\\nc", "\"a\tb\nc\""),
            (text("{\"a\":\"\\\"\"}"), "{\"a\":\"\\\"\"}", "\"{\"\"a\"\":\"\"\\\"\"\"\"}\""),
            (text("x,y"), "x,y", "\"x,y\""),
            (text("a\u{202e}b\u{feff}"), "a\\u{202e}b\\u{feff}", "a\u{202e}b\u{feff}"),
            (Datum::Number(-1), "-1", "-1"),
            (
                Datum::Record(vec![text("a, b"), text("c"), Datum::Nil]),
                "[\"a, b\", c, nil]",
                "\"[\"\"a, b\"\", c, nil]\"",
            ),
            (Datum::Variant("V".to_owned(), Vec::new()), "$V", "$V"),
        ];
        for (datum, tsv, csv) in rows {
            assert_eq!(cell(&datum, RowFormat::Tsv), tsv);
            assert_eq!(cell(&datum, RowFormat::Csv), csv);
        }
    }
}
