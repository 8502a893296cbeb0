//! What a check looked at, literal by literal.

use serde::Serialize;

use crate::engine::LiteralCost;
use crate::program::{Literal, Program};
use crate::report::json::line;
use crate::report::visible::{shortened, visible};

/// Lines that are shown without `--full`.
const LINES: usize = 15;
/// Characters of a condition.
const CONDITION: usize = 80;

/// What one condition cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CostRow {
    /// The condition as written.
    pub text: String,
    /// Its file.
    pub file: String,
    /// Its line.
    pub line: u32,
    /// The head of its rule, as written.
    pub head: String,
    /// Tuples looked at.
    pub looked: u64,
    /// How often it was tried.
    pub tried: u64,
    /// How often it held.
    pub held: u64,
}

/// The costs with the conditions as they are written, in the order given.
#[must_use]
pub fn rows(program: &Program, costs: &[LiteralCost]) -> Vec<CostRow> {
    let row = |cost: &LiteralCost| {
        let rule = program.rules.get(cost.rule.0 as usize)?;
        let span = rule.body.get(cost.literal).map_or(rule.span, Literal::span);
        // What the checker put between a decision rule and its relation is no condition of the author's.
        if span == rule.span && !rule.body.is_empty() {
            return None;
        }
        let written = |span| program.sources.text(span).split_whitespace().collect::<Vec<_>>().join(" ");
        Some(CostRow {
            text: written(span),
            file: program.sources.file(span.file).name.clone(),
            line: program.sources.place(span).line,
            head: written(rule.span),
            looked: cost.looked,
            tried: cost.tried,
            held: cost.held,
        })
    };
    costs.iter().filter_map(row).collect()
}

/// The costs of one check for people; the dearest conditions first.
#[must_use]
pub fn text(rows: &[CostRow], full: bool) -> String {
    let total: u64 = rows.iter().map(|row| row.looked).sum();
    let mut out = format!("tuples looked at: {total}\n");
    out.push_str(&format!("  {:>8}  {:>8}  {:>8}  condition\n", "looked", "tried", "held"));
    let most = if full { usize::MAX } else { LINES };
    for row in rows.iter().take(most) {
        out.push_str(&format!(
            "  {:>8}  {:>8}  {:>8}  {}\n",
            row.looked,
            row.tried,
            row.held,
            described(row)
        ));
    }
    if rows.len() > most {
        out.push_str(&format!("  and {} more (--full shows all)\n", rows.len() - most));
    }
    out
}

/// The condition, and where it stands.
#[must_use]
pub fn described(row: &CostRow) -> String {
    let head = row.head.split('(').next().unwrap_or("");
    let condition = shortened(&visible(&row.text), CONDITION);
    format!("{condition}  ({}:{}, for {})", visible(&row.file), row.line, visible(head))
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    looked: u64,
    cost: &'a [CostRow],
}

/// The same for machines, on one line.
#[must_use]
pub fn document(rows: &[CostRow]) -> String {
    line(&Document { looked: rows.iter().map(|row| row.looked).sum(), cost: rows }) + "\n"
}
