//! Whether a script for sed runs programs.

use crate::functor::command::word::HOLE;
use crate::functor::command::word::Word;

/// Long options that hold no script.
const PLAIN: &[&str] = &[
    "--quiet",
    "--silent",
    "--debug",
    "--follow-symlinks",
    "--in-place",
    "--posix",
    "--regexp-extended",
    "--sandbox",
    "--separate",
    "--unbuffered",
    "--null-data",
    "--zero-terminated",
    "--help",
    "--version",
];

/// Whether sed runs programs with these arguments, or may.
pub(super) fn may_run(arguments: &[Word]) -> bool {
    let mut words = arguments.iter();
    let mut scripts: Vec<&str> = Vec::new();
    let mut first = None;
    let mut has_file = false;
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if word.may_be_option() && first.is_none() && scripts.is_empty() {
            return true;
        }
        if let Some(long) = text.strip_prefix("--") {
            let (name, value) =
                long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            if long.is_empty() || PLAIN.contains(&text) || PLAIN.contains(&format!("--{name}").as_str()) {
                continue;
            }
            match value.or_else(|| words.next().map(|word| word.text.as_str())) {
                Some(script) if "expression".starts_with(name) => scripts.push(script),
                _ => return true,
            }
        } else if let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            let Some((letter, rest)) = option(letters) else { continue };
            let value =
                if rest.is_empty() { words.next().map_or("", |word| word.text.as_str()) } else { rest };
            match letter {
                'e' => scripts.push(value),
                'f' if is_fixed_file(value) => has_file = true,
                'l' => {}
                _ => return true,
            }
        } else {
            first = first.or(Some(text));
        }
    }
    if scripts.is_empty() && !has_file {
        scripts.extend(first);
    }
    scripts.into_iter().any(|script| !is_harmless(script))
}

/// The first letter of a bundle that takes a value, or is not known, and what is behind it.
fn option(letters: &str) -> Option<(char, &str)> {
    let place = letters.find(|c| !"nErsuz".contains(c))?;
    let (_, rest) = letters.split_at_checked(place)?;
    let mut chars = rest.chars();
    // What is behind `i` is the end of a name.
    chars.next().filter(|&letter| letter != 'i').map(|letter| (letter, chars.as_str()))
}

fn is_fixed_file(name: &str) -> bool {
    !name.contains(HOLE)
        && !name.is_empty()
        && name != "-"
        && !name.contains("/dev/")
        && !name.contains("/proc/")
}

/// Whether a script holds only commands that run nothing; what cannot be read is not harmless.
fn is_harmless(script: &str) -> bool {
    if script.contains(HOLE) {
        return false;
    }
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ';' | '{' | '}'));
        let Some(behind) = address(rest) else { return false };
        let mut chars = behind.chars();
        let Some(command) = chars.next() else { return true };
        match after(command, chars.as_str()) {
            Some(next) => rest = next,
            None => return false,
        }
    }
}

/// What stands behind the addresses of a command.
fn address(script: &str) -> Option<&str> {
    let is_sign = |c: char| c.is_ascii_digit() || matches!(c, '$' | ',' | '!' | '~' | '+' | ' ' | '\t' | '{');
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches(is_sign);
        let behind = match rest.strip_prefix('\\') {
            Some(custom) => custom,
            None if rest.starts_with('/') => rest,
            None => return Some(rest),
        };
        let mut chars = behind.chars();
        let mark = chars.next()?;
        rest = section(chars.as_str(), mark)?.trim_start_matches(['I', 'M']);
    }
}

/// What stands behind the next mark that no backslash escapes.
fn section(text: &str, mark: char) -> Option<&str> {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == mark {
            return Some(chars.as_str());
        }
        if c == '\\' {
            chars.next()?;
        }
    }
    None
}

/// What stands behind a command and its arguments, where it runs nothing.
fn after(command: char, rest: &str) -> Option<&str> {
    let behind = |end: Option<usize>| rest.get(end.unwrap_or(rest.len())..);
    match command {
        's' | 'y' => {
            let mut chars = rest.chars();
            let mark = chars.next().filter(|&mark| mark != '\n' && mark != '\\')?;
            let flags = section(section(chars.as_str(), mark)?, mark)?;
            let end = flags.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(flags.len());
            let (flags, rest) = flags.split_at_checked(end)?;
            match flags.contains(|c: char| !"gpiIMm0123456789".contains(c)) {
                true if flags.ends_with('w') && !flags.contains('e') => {
                    rest.get(rest.find('\n').unwrap_or(rest.len())..)
                }
                true => None,
                false => Some(rest),
            }
        }
        'a' | 'i' | 'c' | 'r' | 'R' | 'w' | 'W' | '#' => behind(line_end(rest)),
        ':' | 'b' | 't' | 'T' => behind(rest.find([';', '\n', '}'])),
        'q' | 'Q' | 'l' | 'L' => Some(rest.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit())),
        '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => Some(rest),
        _ => None,
    }
}

/// Where the line ends. A text over several lines is taken to end with its first, so that the others are looked at.
fn line_end(text: &str) -> Option<usize> {
    text.find('\n')
}
