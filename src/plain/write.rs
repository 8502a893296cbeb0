use std::cmp::Ordering;

use crate::plain::Channel;
use crate::plain::Task;
use crate::program::Program;
use crate::program::types::TypeId;
use crate::value::Kind;
use crate::value::Pool;
use crate::value::Word;

/// Decimal digits that tell any two doubles apart.
const DIGITS: usize = 17;

/// Most bytes of one value. One that shares its parts can be far larger than the memory it takes.
const LARGEST: usize = 64 << 20;

/// A row, and its cells as they are written.
type Shown = (Vec<Word>, Vec<String>);

/// The text of an output: texts as they are, nothing escaped, unless fields are quoted. None where a value is larger than
/// can be written.
pub(crate) fn output(
    program: &Program,
    channel: &Channel,
    rows: Vec<Vec<Word>>,
    pool: &Pool,
) -> Option<String> {
    let relation = program.schema(channel.relation)?;
    if channel.task == Task::Count {
        return Some(format!("{}\t{}\n", relation.name, rows.len()));
    }
    let format = &channel.format;
    let kinds: Vec<Kind> = relation.columns.iter().map(|column| program.types.kind(column.type_id)).collect();
    let show = |row: Vec<Word>| {
        let columns = row.iter().zip(&relation.columns);
        let cells = columns.map(|(&word, column)| cell(program, word, column.type_id, pool, format.quoted));
        let cells: Option<Vec<_>> = cells.collect();
        cells.map(|cells| (row, cells))
    };
    let mut shown: Vec<Shown> = rows.into_iter().map(show).collect::<Option<_>>()?;
    shown.sort_by(|a, b| order(&kinds, a, b));
    let mut out = String::new();
    if format.framed {
        out.push_str(&format!("---------------\n{}\n", relation.name));
    }
    if format.headers {
        let names: Vec<_> = relation.columns.iter().map(|column| column.name.as_str()).collect();
        out.push_str(&names.join(&format.delimiter));
        out.push('\n');
    }
    if format.framed {
        out.push_str("===============\n");
    }
    for (_, cells) in &shown {
        let line = if cells.is_empty() { "()".to_owned() } else { cells.join(&format.delimiter) };
        out.push_str(&line);
        out.push('\n');
    }
    if format.framed {
        out.push_str("===============\n");
    }
    Some(out)
}

fn order(kinds: &[Kind], a: &Shown, b: &Shown) -> Ordering {
    let words = a.0.iter().zip(&b.0);
    let texts = a.1.iter().zip(&b.1);
    let columns = kinds.iter().zip(words).zip(texts);
    let orders = columns.map(|((kind, (x, y)), (s, t))| match kind {
        Kind::Number => x.as_number().cmp(&y.as_number()),
        Kind::Unsigned => x.0.cmp(&y.0),
        Kind::Float => x.as_float().total_cmp(&y.as_float()),
        Kind::Symbol | Kind::Compound => s.cmp(t),
    });
    orders.fold(Ordering::Equal, Ordering::then)
}

fn cell(program: &Program, word: Word, type_id: TypeId, pool: &Pool, quoted: bool) -> Option<String> {
    let mut text = String::new();
    if !program.types.write(word, type_id, pool, &float, LARGEST, &mut text) {
        return None;
    }
    Some(match program.types.kind(type_id) {
        Kind::Symbol | Kind::Compound if quoted => format!("\"{}\"", text.replace('"', "\"\"")),
        Kind::Symbol | Kind::Compound | Kind::Number | Kind::Unsigned | Kind::Float => text,
    })
}

/// As C prints a double with 17 significant digits in its shorter form (`%.17g`).
fn float(value: f64) -> String {
    if !value.is_finite() {
        let sign = if value.is_sign_negative() { "-" } else { "" };
        return format!("{sign}{}", if value.is_nan() { "nan" } else { "inf" });
    }
    let scientific = format!("{value:.*e}", DIGITS - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let short = |text: &str| {
        let text = if text.contains('.') { text.trim_end_matches('0') } else { text };
        text.trim_end_matches('.').to_owned()
    };
    // The digits of a double end before its 1100th place.
    match usize::try_from(i32::try_from(DIGITS).unwrap_or(0) - 1 - exponent) {
        Ok(places) if exponent >= -4 => short(&format!("{value:.places$}")),
        _ => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{}e{sign}{:02}", short(mantissa), exponent.unsigned_abs())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_c_does() {
        let rows = [
            (1.0, "1"),
            (0.1, "0.10000000000000001"),
            (2.0 / 3.0, "0.66666666666666663"),
            (1e9, "1000000000"),
            (1e16, "10000000000000000"),
            (1e17, "1e+17"),
            (1e100, "1e+100"),
            (0.0001, "0.0001"),
            (0.00001, "1.0000000000000001e-05"),
            (-2.5, "-2.5"),
            (-0.0, "-0"),
            (0.0, "0"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN.copysign(1.0), "nan"),
            (f64::NAN.copysign(-1.0), "-nan"),
        ];
        for (value, expected) in rows {
            assert_eq!(float(value), expected);
        }
    }
}
