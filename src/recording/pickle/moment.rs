//! Times and durations of Python to the texts by which it writes them.

use std::fmt::Write as _;

use crate::recording::pickle::Fault;
use crate::recording::pickle::class::{Class, Kind};
use crate::recording::pickle::heap::{Heap, Node, Ref};

/// A date, time, date with time, duration or zone as text.
pub(crate) fn text(heap: &Heap, class: &'static Class, arguments: &[Ref]) -> Result<String, Fault> {
    let wrong = || Fault::refused("it makes from other arguments than are known", class);
    let packed = |at: Option<&Ref>| match at.map(|at| heap.node(*at)) {
        Some(Node::Bytes(bytes)) => Ok(&**bytes),
        _ => Err(wrong()),
    };
    let zone = |at: Option<&Ref>| at.map_or(Ok(String::new()), |at| offset_of(heap, *at).ok_or_else(wrong));
    let rest = |known: usize| if arguments.len() > known { Err(wrong()) } else { Ok(()) };
    match class.kind {
        Kind::Date => {
            rest(1)?;
            date(packed(arguments.first())?).ok_or_else(wrong)
        }
        Kind::Time => {
            rest(2)?;
            let zone = zone(arguments.get(1))?;
            Ok(time(packed(arguments.first())?).ok_or_else(wrong)? + &zone)
        }
        Kind::DateTime => {
            rest(2)?;
            let zone = zone(arguments.get(1))?;
            let (day, hour) = packed(arguments.first())?.split_at_checked(4).ok_or_else(wrong)?;
            let (day, hour) = (date(day).ok_or_else(wrong)?, time(hour).ok_or_else(wrong)?);
            Ok(format!("{day}T{hour}{zone}"))
        }
        Kind::TimeDelta => {
            let [days, seconds, micros] = delta(heap, arguments).ok_or_else(wrong)?;
            Ok(format!("{days}d{seconds}s{micros}us"))
        }
        Kind::TimeZone => {
            rest(2)?;
            let offset = arguments.first().and_then(|at| zone_offset(heap, *at)).ok_or_else(wrong)?;
            match arguments.get(1).map(|at| heap.node(*at)) {
                None => Ok(offset),
                Some(Node::Text(name)) => Ok(format!("{offset} {name}")),
                Some(_) => Err(wrong()),
            }
        }
        Kind::Actions
        | Kind::Model
        | Kind::Message
        | Kind::Secret
        | Kind::Enumeration
        | Kind::Set
        | Kind::FrozenSet
        | Kind::ByteArray
        | Kind::Complex
        | Kind::OrderedDict
        | Kind::DefaultDict
        | Kind::Decimal
        | Kind::Uuid
        | Kind::Path
        | Kind::Factory => Err(wrong()),
    }
}

/// A date in four bytes; the first bit of the month says which of two equal hours is meant.
fn date(bytes: &[u8]) -> Option<String> {
    let [high, low, month, day] = *bytes else { return None };
    let (year, month) = (u16::from_be_bytes([high, low]), month & 0x7f);
    let sound = (1..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    sound.then(|| format!("{year:04}-{month:02}-{day:02}"))
}

fn time(bytes: &[u8]) -> Option<String> {
    let [hour, minute, second, high, middle, low] = *bytes else { return None };
    let (hour, micros) = (hour & 0x7f, u32::from_be_bytes([0, high, middle, low]));
    if hour > 23 || minute > 59 || second > 59 || micros > 999_999 {
        return None;
    }
    let fraction = if micros == 0 { String::new() } else { format!(".{micros:06}") };
    Some(format!("{hour:02}:{minute:02}:{second:02}{fraction}"))
}

fn delta(heap: &Heap, arguments: &[Ref]) -> Option<[i64; 3]> {
    let [days, seconds, micros] = *arguments else { return None };
    let number = |at: Ref| match heap.node(at) {
        Node::Integer(digits) => digits.parse::<i64>().ok(),
        _ => None,
    };
    let [days, seconds, micros] = [number(days)?, number(seconds)?, number(micros)?];
    let sound =
        days.abs() <= 999_999_999 && (0..86_400).contains(&seconds) && (0..1_000_000).contains(&micros);
    sound.then_some([days, seconds, micros])
}

/// The offset of a zone, or nothing where there is none.
fn offset_of(heap: &Heap, zone: Ref) -> Option<String> {
    match heap.node(zone) {
        Node::None => Some(String::new()),
        Node::Instance(instance) if instance.class.kind == Kind::TimeZone => {
            heap.arguments(instance).first().and_then(|at| zone_offset(heap, *at))
        }
        _ => None,
    }
}

fn zone_offset(heap: &Heap, at: Ref) -> Option<String> {
    let Node::Instance(instance) = heap.node(at) else { return None };
    if instance.class.kind != Kind::TimeDelta {
        return None;
    }
    let [days, seconds, micros] = delta(heap, heap.arguments(instance))?;
    let all = (days * 86_400 + seconds) * 1_000_000 + micros;
    if all.abs() >= 86_400_000_000 {
        return None;
    }
    let sign = if all < 0 { '-' } else { '+' };
    let (seconds, micros) = (all.abs() / 1_000_000, all.abs() % 1_000_000);
    let mut out = format!("{sign}{:02}:{:02}", seconds / 3600, seconds / 60 % 60);
    // Writing to a String cannot fail.
    if seconds % 60 > 0 || micros > 0 {
        let _ = write!(out, ":{:02}", seconds % 60);
    }
    if micros > 0 {
        let _ = write!(out, ".{micros:06}");
    }
    Some(out)
}
