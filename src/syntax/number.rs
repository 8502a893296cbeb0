//! Number literals.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_while1};
use nom::character::complete::{digit1, one_of};
use nom::combinator::{opt, recognize};
use nom::sequence::{pair, preceded};
use nom::{IResult, Parser};

use crate::syntax::lexer::continues_word;
use crate::syntax::tokens::Kind;

/// What is wrong with a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No 64-bit type can hold it.
    TooLarge,
    /// Four numbers with dots between them.
    Address,
    /// Letters or digits that belong to no number.
    Malformed,
}

/// Reads the number that the text starts with: how many bytes it takes, and what it is.
pub(crate) fn read(input: &str) -> (usize, Result<Kind, Fault>) {
    let (rest, kind) = literal(input).unwrap_or((input, Err(Fault::Malformed)));
    let junk = rest.find(|letter| !continues_word(letter)).unwrap_or(rest.len());
    let length = input.len() - rest.len() + junk;
    if junk > 0 {
        return (length, Err(Fault::Malformed));
    }
    let dotted = rest.strip_prefix('.').is_some_and(|tail| tail.starts_with(|c: char| c.is_ascii_digit()));
    if dotted {
        let tail = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
        let written = rest.get(..tail).unwrap_or("");
        let end = written.trim_end_matches('.').len();
        return (length + end, Err(Fault::Address));
    }
    (length, kind)
}

/// `number = "0x" hex+ ["u"] | "0b" bit+ ["u"] | digit+ fraction | digit+ ["u"]`
fn literal(input: &str) -> IResult<&str, Result<Kind, Fault>> {
    let hexadecimal = (preceded(tag("0x"), take_while1(|c: char| c.is_ascii_hexdigit())), opt(tag("u")))
        .map(|(digits, u)| whole(digits, 16, u.is_some()));
    let binary = (preceded(tag("0b"), take_while1(|c| matches!(c, '0' | '1'))), opt(tag("u")))
        .map(|(digits, u)| whole(digits, 2, u.is_some()));
    let decimal = (digit1, opt(tag("u"))).map(|(digits, u)| whole(digits, 10, u.is_some()));
    alt((hexadecimal, binary, recognize(pair(digit1, fraction)).map(float), decimal)).parse(input)
}

/// `fraction = "." digit+ [exponent] | exponent`
fn fraction(input: &str) -> IResult<&str, &str> {
    alt((recognize((tag("."), digit1, opt(exponent))), exponent)).parse(input)
}

/// `exponent = ("e" | "E") ["+" | "-"] digit+`
fn exponent(input: &str) -> IResult<&str, &str> {
    recognize((one_of("eE"), opt(one_of("+-")), digit1)).parse(input)
}

fn whole(digits: &str, radix: u32, unsigned: bool) -> Result<Kind, Fault> {
    let value = u64::from_str_radix(digits, radix).map_err(|_| Fault::TooLarge)?;
    Ok(if unsigned { Kind::Unsigned(value) } else { Kind::Integer(value) })
}

fn float(digits: &str) -> Result<Kind, Fault> {
    match digits.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(Kind::Float(value)),
        Ok(_) => Err(Fault::TooLarge),
        Err(_) => Err(Fault::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let rows: [(&str, usize, Result<Kind, Fault>); 21] = [
            ("5", 1, Ok(Kind::Integer(5))),
            ("007)", 3, Ok(Kind::Integer(7))),
            ("5u,", 2, Ok(Kind::Unsigned(5))),
            ("0x1Fu", 5, Ok(Kind::Unsigned(31))),
            ("0b101", 5, Ok(Kind::Integer(5))),
            ("1.5", 3, Ok(Kind::Float(1.5))),
            ("1e3", 3, Ok(Kind::Float(1000.0))),
            ("1.5e-3.", 6, Ok(Kind::Float(0.0015))),
            ("1.", 1, Ok(Kind::Integer(1))),
            ("1.R(2)", 1, Ok(Kind::Integer(1))),
            ("18446744073709551615", 20, Ok(Kind::Integer(u64::MAX))),
            ("18446744073709551616", 20, Err(Fault::TooLarge)),
            ("0x10000000000000000", 19, Err(Fault::TooLarge)),
            ("1e999", 5, Err(Fault::TooLarge)),
            ("1.2.3.4.", 7, Err(Fault::Address)),
            ("12abc", 5, Err(Fault::Malformed)),
            ("0x", 2, Err(Fault::Malformed)),
            ("0b12", 4, Err(Fault::Malformed)),
            ("1e", 2, Err(Fault::Malformed)),
            ("5uu", 3, Err(Fault::Malformed)),
            ("1_000", 5, Err(Fault::Malformed)),
        ];
        for (text, length, kind) in rows {
            assert_eq!(read(text), (length, kind), "{text}");
        }
    }
}
