use super::*;
use crate::functor::pattern::{Form, compile, is_plain};

#[test]
fn patterns_for_the_whole_text() {
    let rows = [
        ("a.*", "abc", "1"),
        ("b", "abc", "0"),
        ("", "", "1"),
        ("a|ab", "ab", "1"),
        ("cat|dog.*", "hotdog", "0"),
        ("^git (status|log)$", "git log", "1"),
        ("^git (status|log)$", "git log\n", "0"),
        ("git log", "git log\n", "0"),
        ("a.c", "a\nc", "0"),
        (".", "é", "1"),
        ("(?i)ABC", "abc", "1"),
        ("(?x) a b # letters", "ab", "1"),
        ("(?x) a b # letters", "ab\n", "0"),
        ("(?m)^a$", "a\nb", "0"),
        (
            "a\\",
            "a",
            "error: `a\\` is not a valid pattern: incomplete escape sequence, reached end of pattern prematurely",
        ),
        ("a)|(b", "a", "error: `a)|(b` is not a valid pattern: unopened group"),
        ("(", "a", "error: `(` is not a valid pattern: unclosed group"),
        (
            "a{2,1}",
            "a",
            "error: `a{2,1}` is not a valid pattern: invalid repetition count range, the start must be <= the end",
        ),
        (r"(a)\1", "aa", r"error: `(a)\1` is not a valid pattern: backreferences are not supported"),
        (
            r"\w{9999}",
            "a",
            r"error: `\w{9999}` is not a valid pattern: compiled, it takes more than 4194304 bytes",
        ),
    ];
    for (pattern, text, expected) in rows {
        assert_eq!(shown("match", &[T(pattern), T(text)]), expected, "{pattern} on {text:?}");
    }
    let deep: &'static str = Box::leak("(".repeat(5_000).into());
    assert!(shown("match", &[T(deep), T("")]).starts_with("error: "));
    let long: &'static str = Box::leak("a".repeat(LONG_PATTERN).into());
    assert!(shown("match", &[T(long), T("")]).ends_with("it is longer than 65536 bytes"));
}

const LONG_PATTERN: usize = 65_537;

#[test]
fn patterns_anywhere() {
    check(
        "regex_is_match",
        &[
            (&[T("hel+o"), T("say hello now")], "1"),
            (&[T("^hello$"), T("say hello")], "0"),
            (&[T(""), T("")], "1"),
            (
                &[T("[z-a]"), T("")],
                "error: `[z-a]` is not a valid pattern: invalid character class range, the start must be <= the end",
            ),
        ],
    );
    check(
        "regex_find",
        &[(&[T(r"\d+"), T("a12b3")], "12"), (&[T(r"\d"), T("a")], "none"), (&[T("x*"), T("a")], "")],
    );
    check(
        "regex_captures",
        &[
            (&[T(r"(\w)=(\d)?"), T("a=1 b= a=2"), U(1)], "|a|b|"),
            (&[T(r"(\w)=(\d)?"), T("a=1 b= a=2"), U(2)], "|1|2|"),
            (&[T(r"(\w)=(\d)?"), T("a=1 b= a=2"), U(0)], "|a=1|b=|a=2|"),
            (&[T("(a)"), T("a"), U(2)], "|"),
            (&[T("(a)"), T("a"), U(u64::MAX)], "|"),
        ],
    );
}

#[test]
fn globs() {
    let rows = [
        ("*.txt", "a.txt", "1"),
        ("*.txt", "a.txt.bak", "0"),
        ("*.txt", "d/a.txt", "0"),
        ("src/*.rs", "src/main.rs", "1"),
        ("src/*.rs", "src/a/b.rs", "0"),
        ("src/**", "src/a/b/c.rs", "1"),
        ("src/**", "src", "0"),
        ("a/**/b", "a/b", "1"),
        ("a/**/b", "a/x/y/b", "1"),
        ("a/**/b", "a/xb", "0"),
        ("**/b", "b", "1"),
        ("**/b", "ab", "0"),
        ("a**b", "a/x/b", "1"),
        ("a?c", "abc", "1"),
        ("a?c", "a/c", "0"),
        ("a?c", "ac", "0"),
        ("a.b", "axb", "0"),
        ("A.txt", "a.txt", "0"),
        ("[a](b)\\{c}$", "[a](b)\\{c}$", "1"),
        ("*", "a\nb", "1"),
        ("", "", "1"),
        ("work/**", "workshop/a", "0"),
    ];
    for (glob, text, expected) in rows {
        assert_eq!(shown("glob_match", &[T(glob), T(text)]), expected, "{glob} on {text:?}");
    }
}

#[test]
fn literals_are_checked() {
    assert_eq!(check_literal(Role::Plain, "("), Ok(()));
    assert_eq!(check_literal(Role::Path, "a.b[0]"), Ok(()));
    assert_eq!(check_literal(Role::Path, r#"["a.b]"#), Err("a quote in the path is never closed".to_owned()));
    assert_eq!(check_literal(Role::Pattern, "a|b"), Ok(()));
    assert_eq!(check_literal(Role::Pattern, "a)|(b"), Err("unopened group".to_owned()));
    assert_eq!(check_literal(Role::Glob, "[*"), Ok(()));
}

/// What is taken for well-formed without being compiled is so.
#[test]
fn short_globs_and_plain_patterns_compile() {
    let rows = ["?", "*", "**", "*a", "?*", "**/", "a/**/", "/*/?", "\u{1F512}", "?\u{e9}", "[", "\\", "a"];
    for part in rows {
        let text = part.repeat(256 / part.len());
        assert_eq!(check_literal(Role::Glob, &text), Ok(()));
        let (compiled, _) = compile(Form::Glob, &text);
        assert!(compiled.is_ok(), "{text}: {compiled:?}");
    }
    let plain: String = (0..128).map(char::from).filter(|c| is_plain(&c.to_string())).collect();
    for text in [plain.as_str(), "", "tool_12", &"a, b".repeat(64)] {
        assert!(is_plain(text), "{text}");
        let (compiled, _) = compile(Form::Whole, text);
        let matches = |other: &str| compiled.as_ref().is_ok_and(|regex| regex.is_match(other));
        assert!(matches(text) && !matches(&format!("{text}a")), "{text}");
    }
    for text in ["a.b", "a|b", "(?x)a", "\\d", "a*", "\u{e9}", &"a".repeat(257)] {
        assert!(!is_plain(text), "{text}");
    }
}
