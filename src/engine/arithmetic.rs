use crate::program::Arithmetic;
use crate::value::{Kind, Word};

/// The value of an operator, or in words why there is none.
///
/// Numbers never wrap: overflow, division by zero and a shift out of range are faults. Floats follow IEEE.
pub(crate) fn apply(operator: Arithmetic, kind: Kind, left: Word, right: Word) -> Result<Word, String> {
    match kind {
        Kind::Number => signed(operator, left.as_number(), right.as_number()).map(Word::number),
        Kind::Unsigned => unsigned(operator, left.0, right.0).map(Word::unsigned),
        Kind::Float => Ok(Word::float(float(operator, left.as_float(), right.as_float()))),
        Kind::Symbol | Kind::Compound => Err("arithmetic on a value that is no number".to_owned()),
    }
}

fn overflow(operation: &str) -> String {
    format!("{operation} does not fit 64 bits")
}

fn signed(operator: Arithmetic, a: i64, b: i64) -> Result<i64, String> {
    let fits = |value: Option<i64>, sign: &str| value.ok_or_else(|| overflow(&format!("{a} {sign} {b}")));
    match operator {
        Arithmetic::Add => fits(a.checked_add(b), "+"),
        Arithmetic::Subtract => fits(a.checked_sub(b), "-"),
        Arithmetic::Multiply => fits(a.checked_mul(b), "*"),
        Arithmetic::Divide if b == 0 => Err(format!("division by zero: {a} / 0")),
        Arithmetic::Divide => fits(a.checked_div(b), "/"),
        Arithmetic::Remainder if b == 0 => Err(format!("division by zero: {a} % 0")),
        Arithmetic::Remainder => fits(a.checked_rem(b), "%"),
        Arithmetic::Power => signed_power(a, b),
        Arithmetic::Negate => a.checked_neg().ok_or_else(|| overflow(&format!("-({a})"))),
        Arithmetic::BitAnd => Ok(a & b),
        Arithmetic::BitOr => Ok(a | b),
        Arithmetic::BitXor => Ok(a ^ b),
        Arithmetic::BitNot => Ok(!a),
        Arithmetic::ShiftLeft => {
            let shifted = a << shift(b.try_into().ok(), b)?;
            fits(Some(shifted).filter(|&shifted| shifted >> b == a), "bshl")
        }
        Arithmetic::ShiftRight => Ok(a >> shift(b.try_into().ok(), b)?),
        Arithmetic::ShiftRightUnsigned => {
            Ok((a.cast_unsigned() >> shift(b.try_into().ok(), b)?).cast_signed())
        }
        Arithmetic::LogicalAnd => Ok(i64::from(a != 0 && b != 0)),
        Arithmetic::LogicalOr => Ok(i64::from(a != 0 || b != 0)),
        Arithmetic::LogicalXor => Ok(i64::from((a != 0) != (b != 0))),
        Arithmetic::LogicalNot => Ok(i64::from(a == 0)),
        Arithmetic::Min => Ok(a.min(b)),
        Arithmetic::Max => Ok(a.max(b)),
    }
}

/// A negative exponent rounds towards zero, as the quotient 1 / a^b does.
fn signed_power(a: i64, b: i64) -> Result<i64, String> {
    if b < 0 {
        return match a {
            0 => Err(format!("division by zero: 0 ^ {b}")),
            1 => Ok(1),
            -1 => Ok(if b % 2 == 0 { 1 } else { -1 }),
            _ => Ok(0),
        };
    }
    // Bases whose powers never grow take any exponent.
    if let -1..=1 = a {
        return Ok(if b == 0 || (a == -1 && b % 2 == 0) { 1 } else { a });
    }
    u32::try_from(b).ok().and_then(|b| a.checked_pow(b)).ok_or_else(|| overflow(&format!("{a} ^ {b}")))
}

fn unsigned(operator: Arithmetic, a: u64, b: u64) -> Result<u64, String> {
    let fits = |value: Option<u64>, sign: &str| value.ok_or_else(|| overflow(&format!("{a} {sign} {b}")));
    match operator {
        Arithmetic::Add => fits(a.checked_add(b), "+"),
        Arithmetic::Subtract => fits(a.checked_sub(b), "-"),
        Arithmetic::Multiply => fits(a.checked_mul(b), "*"),
        Arithmetic::Divide => a.checked_div(b).ok_or_else(|| format!("division by zero: {a} / 0")),
        Arithmetic::Remainder => a.checked_rem(b).ok_or_else(|| format!("division by zero: {a} % 0")),
        Arithmetic::Power if a <= 1 => Ok(if b == 0 { 1 } else { a }),
        Arithmetic::Power => fits(u32::try_from(b).ok().and_then(|b| a.checked_pow(b)), "^"),
        Arithmetic::Negate if a == 0 => Ok(0),
        Arithmetic::Negate => Err(overflow(&format!("-({a}) unsigned"))),
        Arithmetic::BitAnd => Ok(a & b),
        Arithmetic::BitOr => Ok(a | b),
        Arithmetic::BitXor => Ok(a ^ b),
        Arithmetic::BitNot => Ok(!a),
        Arithmetic::ShiftLeft => {
            let shifted = a << shift(b.try_into().ok(), b)?;
            fits(Some(shifted).filter(|&shifted| shifted >> b == a), "bshl")
        }
        Arithmetic::ShiftRight | Arithmetic::ShiftRightUnsigned => Ok(a >> shift(b.try_into().ok(), b)?),
        Arithmetic::LogicalAnd => Ok(u64::from(a != 0 && b != 0)),
        Arithmetic::LogicalOr => Ok(u64::from(a != 0 || b != 0)),
        Arithmetic::LogicalXor => Ok(u64::from((a != 0) != (b != 0))),
        Arithmetic::LogicalNot => Ok(u64::from(a == 0)),
        Arithmetic::Min => Ok(a.min(b)),
        Arithmetic::Max => Ok(a.max(b)),
    }
}

fn shift(by: Option<u32>, written: impl std::fmt::Display) -> Result<u32, String> {
    by.filter(|&by| by < 64).ok_or_else(|| format!("a shift by {written} is out of range 0 to 63"))
}

fn float(operator: Arithmetic, a: f64, b: f64) -> f64 {
    let flag = |holds: bool| f64::from(u8::from(holds));
    match operator {
        Arithmetic::Add => a + b,
        Arithmetic::Subtract => a - b,
        Arithmetic::Multiply => a * b,
        Arithmetic::Divide => a / b,
        Arithmetic::Remainder => a % b,
        Arithmetic::Power => a.powf(b),
        Arithmetic::Negate => -a,
        Arithmetic::LogicalAnd => flag(a != 0.0 && b != 0.0),
        Arithmetic::LogicalOr => flag(a != 0.0 || b != 0.0),
        Arithmetic::LogicalXor => flag((a != 0.0) != (b != 0.0)),
        Arithmetic::LogicalNot => flag(a == 0.0),
        Arithmetic::Min => a.min(b),
        Arithmetic::Max => a.max(b),
        // The checker gives no bitwise operator a float.
        Arithmetic::BitAnd
        | Arithmetic::BitOr
        | Arithmetic::BitXor
        | Arithmetic::BitNot
        | Arithmetic::ShiftLeft
        | Arithmetic::ShiftRight
        | Arithmetic::ShiftRightUnsigned => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_never_wrap() {
        let max = i64::MAX;
        let min = i64::MIN;
        for (operator, a, b) in [
            (Arithmetic::Add, max, 1),
            (Arithmetic::Subtract, min, 1),
            (Arithmetic::Multiply, max, 2),
            (Arithmetic::Divide, min, -1),
            (Arithmetic::Divide, 1, 0),
            (Arithmetic::Remainder, 1, 0),
            (Arithmetic::Remainder, min, -1),
            (Arithmetic::Power, 10, 19),
            (Arithmetic::Power, 0, -1),
            (Arithmetic::Negate, min, 0),
            (Arithmetic::ShiftLeft, 1, 64),
            (Arithmetic::ShiftLeft, 1, -1),
            (Arithmetic::ShiftLeft, 1, 63),
            (Arithmetic::ShiftRight, 1, 64),
        ] {
            assert!(signed(operator, a, b).is_err(), "{operator:?} {a} {b}");
        }
        for (operator, a, b, value) in [
            (Arithmetic::Add, max - 1, 1, max),
            (Arithmetic::Power, 10, 18, 1_000_000_000_000_000_000),
            (Arithmetic::Power, -1, 1_000_000_000_001, -1),
            (Arithmetic::Power, 2, -1, 0),
            (Arithmetic::Remainder, -7, 3, -1),
            (Arithmetic::ShiftLeft, 1, 62, 1 << 62),
            (Arithmetic::ShiftRight, -8, 1, -4),
        ] {
            assert_eq!(signed(operator, a, b), Ok(value), "{operator:?} {a} {b}");
        }
        assert!(unsigned(Arithmetic::Subtract, 0, 1).is_err());
        assert_eq!(unsigned(Arithmetic::Add, u64::MAX - 1, 1), Ok(u64::MAX));
    }
}
