//! One value as fact files write it.

use crate::plain::read::Fault;
use crate::plain::read::shown;
use crate::program::Program;
use crate::program::types::Shape;
use crate::program::types::TypeId;
use crate::value::ConstructorId;
use crate::value::Kind;
use crate::value::Pool;
use crate::value::Word;

/// The value that a whole field says.
pub(crate) fn read(program: &Program, type_id: TypeId, field: &str, pool: &mut Pool) -> Result<Word, Fault> {
    let kind = program.types.kind(type_id);
    if kind != Kind::Compound {
        return simple(kind, field, pool).ok_or_else(|| none(0, field, kind));
    }
    let (word, end) = compound(program, type_id, field, pool)?;
    let rest = field.get(end..).unwrap_or_default();
    if rest.trim().is_empty() {
        return Ok(word);
    }
    Err(Fault { at: end, what: format!("`{}` follows a complete value", shown(rest)) })
}

/// How many bytes at the start of the text a record or variant takes; 0 where there is none.
pub(crate) fn length(program: &Program, type_id: TypeId, text: &str) -> usize {
    compound(program, type_id, text, &mut Pool::default()).map_or(0, |(_, end)| end)
}

fn none(at: usize, text: &str, kind: Kind) -> Fault {
    let what = match kind {
        Kind::Number => "a number: a sign and decimal digits of 64 bits",
        Kind::Unsigned => "an unsigned: decimal digits, or `0x…`, `0b…`, of 64 bits",
        Kind::Float => "a float",
        Kind::Symbol => "a text",
        Kind::Compound => "a record or a variant",
    };
    Fault { at, what: format!("`{}` is not {what}", shown(text)) }
}

fn simple(kind: Kind, text: &str, pool: &mut Pool) -> Option<Word> {
    let number = text.trim_start_matches([' ', '\t']);
    match kind {
        Kind::Number => number.parse().ok().map(Word::number),
        Kind::Unsigned => unsigned(number).map(Word::unsigned),
        Kind::Float => float(number).map(Word::float),
        Kind::Symbol => Some(Word::symbol(pool.symbol(text))),
        Kind::Compound => None,
    }
}

fn unsigned(text: &str) -> Option<u64> {
    let radix = |prefix: &str, radix| {
        let digits = text.strip_prefix(prefix)?;
        // The standard library would take a sign.
        if digits.starts_with('+') { None } else { u64::from_str_radix(digits, radix).ok() }
    };
    radix("0x", 16).or_else(|| radix("0b", 2)).or_else(|| text.parse().ok())
}

/// As C reads floats: decimal with an optional exponent, `inf`, `nan`, or hexadecimal.
fn float(text: &str) -> Option<f64> {
    let (negative, size) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = match size.strip_prefix("0x").or_else(|| size.strip_prefix("0X")) {
        Some(digits) => hexadecimal(digits)?,
        None if size.starts_with(['+', '-']) => return None,
        None => size.parse().ok()?,
    };
    Some(if negative { -value } else { value })
}

/// `digits[.digits][p[sign]digits]`, with up to 53 bits.
fn hexadecimal(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once(['p', 'P']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let bits = u64::from_str_radix(&digits, 16).ok().filter(|&bits| bits < 1 << 53)?;
    if digits.starts_with('+') {
        return None;
    }
    let places = i32::try_from(fraction.len()).ok()?.checked_mul(4)?;
    let exponent = exponent.parse::<i32>().ok()?.checked_sub(places)?.clamp(-2000, 2000);
    // Two steps, so that neither power leaves the range of a double before the product does.
    let half = exponent / 2;
    Some(bits as f64 * 2_f64.powi(half) * 2_f64.powi(exponent - half))
}

/// A record or variant that is being read.
struct Open {
    constructor: ConstructorId,
    words: Vec<Word>,
    close: char,
}

/// What stands at the start of a value.
enum Start {
    /// A whole value.
    Value(Word),
    /// The fields follow.
    Fields(Open),
}

/// The record or variant at the start of the text, and where it ends.
fn compound(program: &Program, type_id: TypeId, text: &str, pool: &mut Pool) -> Result<(Word, usize), Fault> {
    let (mut open, mut at, mut wanted) = (Vec::<Open>::new(), 0, type_id);
    loop {
        at = blanks(text, at);
        let mut word = match start(program, wanted, text, &mut at, pool)? {
            Start::Value(word) => word,
            Start::Fields(fields) => {
                wanted = field_type(program, &fields);
                open.push(fields);
                continue;
            }
        };
        loop {
            let Some(mut last) = open.pop() else { return Ok((word, at)) };
            last.words.push(word);
            at = blanks(text, at);
            let fields = program.types.constructor(last.constructor).fields.len();
            if last.words.len() < fields {
                expect(text, &mut at, ',')?;
                wanted = field_type(program, &last);
                open.push(last);
                break;
            }
            expect(text, &mut at, last.close)?;
            word = Word::compound(pool.compound(last.constructor, &last.words));
        }
    }
}

fn field_type(program: &Program, open: &Open) -> TypeId {
    let fields = &program.types.constructor(open.constructor).fields;
    fields.get(open.words.len()).map_or(TypeId::SYMBOL, |&(_, type_id)| type_id)
}

fn blanks(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + (rest.len() - rest.trim_start_matches([' ', '\t']).len())
}

fn expect(text: &str, at: &mut usize, wanted: char) -> Result<(), Fault> {
    if text.get(*at..).is_some_and(|rest| rest.starts_with(wanted)) {
        *at += wanted.len_utf8();
        return Ok(());
    }
    Err(Fault { at: *at, what: format!("`{wanted}` is missing") })
}

/// Reads a value without fields, or the beginning of one with fields.
fn start(
    program: &Program,
    wanted: TypeId,
    text: &str,
    at: &mut usize,
    pool: &mut Pool,
) -> Result<Start, Fault> {
    let rest = text.get(*at..).unwrap_or_default();
    let kind = program.types.kind(wanted);
    match &program.types.get(wanted).shape {
        Shape::Record(constructor) => {
            if let Some(after) = rest.strip_prefix("nil").filter(|after| !after.starts_with(is_word)) {
                *at = text.len() - after.len();
                return Ok(Start::Value(Word::compound(pool.compound(ConstructorId::NIL, &[]))));
            }
            if rest.starts_with('[') {
                *at += 1;
                return fields(program, *constructor, ']', text, at, pool);
            }
            Err(none(*at, rest, kind))
        }
        Shape::Variants(constructors) => {
            let name = rest.strip_prefix('$').unwrap_or_default();
            let name = name.split(|c| !is_word(c)).next().unwrap_or_default();
            let named = |id: &&ConstructorId| program.types.constructor(**id).name == name;
            let Some(&constructor) = constructors.iter().find(named) else {
                return Err(none(*at, rest, kind));
            };
            *at += 1 + name.len();
            if program.types.constructor(constructor).fields.is_empty() {
                return Ok(Start::Value(Word::compound(pool.compound(constructor, &[]))));
            }
            *at = blanks(text, *at);
            expect(text, at, '(')?;
            fields(program, constructor, ')', text, at, pool)
        }
        Shape::Primitive | Shape::Subtype(_) | Shape::Union(_) => leaf(kind, text, at, pool),
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '?')
}

fn fields(
    program: &Program,
    constructor: ConstructorId,
    close: char,
    text: &str,
    at: &mut usize,
    pool: &mut Pool,
) -> Result<Start, Fault> {
    if !program.types.constructor(constructor).fields.is_empty() {
        return Ok(Start::Fields(Open { constructor, words: Vec::new(), close }));
    }
    *at = blanks(text, *at);
    expect(text, at, close)?;
    Ok(Start::Value(Word::compound(pool.compound(constructor, &[]))))
}

/// A number or text inside a record: texts quoted, or bare up to the next comma or closing bracket.
fn leaf(kind: Kind, text: &str, at: &mut usize, pool: &mut Pool) -> Result<Start, Fault> {
    let rest = text.get(*at..).unwrap_or_default();
    if kind == Kind::Symbol && rest.starts_with('"') {
        let value = quoted(text, at)?;
        return Ok(Start::Value(Word::symbol(pool.symbol(&value))));
    }
    let end = rest.find([',', ']', ')']).unwrap_or(rest.len());
    let bare = rest.get(..end).unwrap_or_default();
    let bare = if kind == Kind::Symbol { bare } else { bare.trim_end() };
    let word = simple(kind, bare, pool).ok_or_else(|| none(*at, bare, kind))?;
    *at += end;
    Ok(Start::Value(word))
}

/// A text in double quotes with backslash escapes.
fn quoted(text: &str, at: &mut usize) -> Result<String, Fault> {
    let start = *at;
    let mut value = String::new();
    let mut letters = text.get(start + 1..).unwrap_or_default().char_indices();
    while let Some((place, letter)) = letters.next() {
        match letter {
            '"' => {
                *at = start + 1 + place + 1;
                return Ok(value);
            }
            '\\' => match letters.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 't')) => value.push('\t'),
                Some((_, 'r')) => value.push('\r'),
                Some((_, other)) => value.push(other),
                None => break,
            },
            other => value.push(other),
        }
    }
    Err(Fault { at: start, what: "the closing quote of this text is missing".to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_read_as_c_does() {
        let rows = [
            ("1", Some(1.0)),
            ("1e3", Some(1000.0)),
            (".5", Some(0.5)),
            ("-2.", Some(-2.0)),
            ("0x1p3", Some(8.0)),
            ("-0x1.8p-1", Some(-0.75)),
            ("0x.8", Some(0.5)),
            ("inf", Some(f64::INFINITY)),
            ("--1", None),
            ("0x", None),
            ("0xp1", None),
            ("1x", None),
            ("", None),
        ];
        for (text, expected) in rows {
            assert_eq!(float(text), expected, "{text}");
        }
    }

    #[test]
    fn unsigned_numbers_have_no_sign_behind_their_base() {
        let rows = [("16", Some(16)), ("0x10", Some(16)), ("0b11", Some(3)), ("0x+1", None), ("-1", None)];
        for (text, expected) in rows {
            assert_eq!(unsigned(text), expected, "{text}");
        }
    }
}
