use super::*;
use proptest::prelude::*;

/// A text argument; the place keeps the symbols of one call apart.
enum Given {
    T(&'static str),
    N(i64),
    U(u64),
    F(f64),
}

use Given::F;
use Given::N;
use Given::T;
use Given::U;

fn arguments(given: &[Given]) -> Vec<Argument<'_>> {
    let of = |(place, given): (usize, &Given)| match *given {
        T(text) => Argument::Text(text, Symbol(u32::try_from(place).unwrap())),
        N(value) => Argument::Number(value),
        U(value) => Argument::Unsigned(value),
        F(value) => Argument::Float(value),
    };
    given.iter().enumerate().map(of).map(|argument| -> Argument<'_> { argument }).collect()
}

fn kind_of(argument: &Argument<'_>) -> Kind {
    match argument {
        Argument::Text(..) => Kind::Symbol,
        Argument::Number(_) => Kind::Number,
        Argument::Unsigned(_) => Kind::Unsigned,
        Argument::Float(_) => Kind::Float,
    }
}

/// The value as text, `none`, values between bars, or `error: …`.
fn shown(name: &str, given: &[Given]) -> String {
    let arguments = arguments(given);
    let candidates = [overloads(name, false), overloads(name, true)].concat();
    let fits = |id: &&FunctorId| {
        let functor = &table()[usize::from(id.0)];
        functor.variadic || functor.parameters.iter().map(|p| p.kind).eq(arguments.iter().map(kind_of))
    };
    let id = *candidates.iter().find(fits).unwrap_or_else(|| panic!("no `{name}` takes these"));
    let mut cache = Cache::default();
    let text = |output: Output| match output {
        Output::Text(text) => text,
        Output::Number(value) => value.to_string(),
        Output::Unsigned(value) => value.to_string(),
        Output::Float(value) => format!("{value:?}"),
    };
    let result = if table()[usize::from(id.0)].mode == Mode::Generator {
        generate(id, &arguments, &mut cache).map(|values| {
            values.into_iter().map(|value| format!("|{}", text(value))).collect::<String>() + "|"
        })
    } else {
        call(id, &arguments, &mut cache).map(|value| value.map_or("none".to_owned(), text))
    };
    result.unwrap_or_else(|error| format!("error: {error}"))
}

fn check(name: &str, rows: &[(&[Given], &str)]) {
    for (row, (given, expected)) in rows.iter().enumerate() {
        assert_eq!(shown(name, given), *expected, "{name}, row {row}");
    }
}

/// Rows of one text in and one text out.
fn check_texts(name: &str, rows: &[(&'static str, &str)]) {
    for (given, expected) in rows {
        assert_eq!(shown(name, &[T(given)]), *expected, "{name} of {given:?}");
    }
}

/// Rows of one text in, under which the flag is set.
fn check_flag(name: &str, flag: &str, rows: &[&'static str]) {
    for given in rows {
        assert_eq!(shown(name, &[T(given)]), flag, "{name} of {given:?}");
    }
}

#[test]
fn the_table_is_sorted_and_found_by_name() {
    let names: Vec<_> = table().iter().map(|functor| (functor.name, functor.intrinsic)).collect();
    assert!(names.is_sorted());
    for (place, functor) in table().iter().enumerate() {
        let id = FunctorId(u16::try_from(place).unwrap());
        assert!(overloads(functor.name, functor.intrinsic).contains(&id), "{}", functor.name);
        assert!(functor.documentation.ends_with('.'), "{}", functor.name);
        assert!(reserved(functor.name).is_none());
    }
    assert_eq!(find("str_len", true), None);
    assert_eq!(find("strlen", false), None);
    assert_eq!(find("nothing", false), None);
    assert_eq!(overloads("to_string", true).len(), 4);
    assert_eq!(reserved("dangerous_rm"), Some("shell commands"));
    assert_eq!(reserved("has_unicode_tags"), Some("hidden Unicode"));
}

#[test]
fn every_promised_functor_is_there() {
    let named = "json_get_str json_get_int json_has_field json_get_str_path json_get_int_path json_array_len \
        json_array_get_str json_array_get_field_str json_object_has_key json_object_field_int json_str json_int \
        json_unsigned json_float json_bool json_value json_type json_each json_each_str json_each_int json_keys \
        json_walk_str str_contains str_starts_with str_ends_with str_to_lower str_len str_chars str_trim str_nfkc \
        str_fold str_replace str_split regex_find regex_is_match regex_captures glob_match path_normalize sha256_hex \
        url_host url_scheme url_port url_path host_is_private registrable_domain host_in_domain count_urls urls_in \
        email_domain hours_between seconds_between epoch_seconds weekday hour_of_day llm_check_fn";
    for name in named.split_whitespace() {
        assert!(find(name, false).is_some(), "{name}");
    }
    for name in "match contains cat strlen substr to_number to_unsigned to_float to_string".split(' ') {
        assert!(find(name, true).is_some(), "{name}");
    }
}

#[test]
fn wrong_calls_are_refused() {
    let mut cache = Cache::default();
    let id = find("str_len", false).unwrap();
    let refused = Err(FunctorError::Arguments { functor: "str_len" });
    assert_eq!(call(id, &[], &mut cache), refused);
    assert_eq!(call(id, &[Argument::Number(1)], &mut cache), refused);
    assert!(generate(id, &[Argument::Text("", Symbol(0))], &mut cache).is_err());
    assert!(call(FunctorId(u16::MAX), &[], &mut cache).is_err());
}

const DOCUMENT: &str = r#"{"a":{"b":["x",{"c":"y"}],"n":4},"k.d":"z","r":[10,20],"t":true,"f":5.7,"e":"","u":"caf\u00e9","z":null,"m":-7,"w":7.0,"top":18446744073709551615,"far":1e400,"nz":-0,"k":"7"}"#;

#[test]
fn json_reference_pairs() {
    let rows = [
        ("a.b[0]", "x"),
        ("a.b[1].c", "y"),
        ("a.b[-1]", ""),
        ("a.b[9]", ""),
        ("a[0]", ""),
        ("k.d", ""),
        ("a", ""),
        ("t", ""),
        (r#"["k.d"]"#, "z"),
        ("u", "café"),
        ("..a..b.[0].", "x"),
        ("a.b.0", ""),
        ("", ""),
    ];
    for (path, expected) in rows {
        assert_eq!(shown("json_get_str_path", &[T(DOCUMENT), T(path)]), expected, "{path}");
    }
    check("json_get_str", &[(&[T(DOCUMENT), T("k.d")], "z"), (&[T(DOCUMENT), T("f")], "")]);
    for (path, expected) in [("a.n", "4"), ("r[1]", "20"), ("f", "-1"), ("k", "-1"), ("w", "7"), ("nz", "0")]
    {
        assert_eq!(shown("json_get_int_path", &[T(DOCUMENT), T(path)]), expected, "{path}");
    }
    check(
        "json_has_field",
        &[(&[T(DOCUMENT), T("z")], "1"), (&[T(DOCUMENT), T("a.n")], "0"), (&[T("[]"), T("a")], "0")],
    );
    check("json_get_int", &[(&[T(DOCUMENT), T("m")], "-7"), (&[T(DOCUMENT), T("far")], "-1")]);
}

#[test]
fn json_partial_values() {
    let rows: [(&str, &str, &str); 26] = [
        ("json_str", "e", ""),
        ("json_str", "missing", "none"),
        ("json_str", "f", "none"),
        ("json_int", "a.n", "4"),
        ("json_int", "k", "none"),
        ("json_int", "f", "none"),
        ("json_int", "top", "none"),
        ("json_unsigned", "top", "18446744073709551615"),
        ("json_unsigned", "m", "none"),
        ("json_float", "f", "5.7"),
        ("json_float", "m", "-7.0"),
        ("json_float", "nz", "0.0"),
        ("json_float", "far", "none"),
        ("json_bool", "t", "1"),
        ("json_bool", "z", "none"),
        ("json_value", "f", "5.7"),
        ("json_value", "w", "7"),
        ("json_value", "far", "1e400"),
        ("json_value", "a", r#"{"b":["x",{"c":"y"}],"n":4}"#),
        ("json_value", "u", r#""café""#),
        ("json_type", "z", "null"),
        ("json_type", "t", "boolean"),
        ("json_type", "r", "array"),
        ("json_type", "", "object"),
        ("json_type", "k", "string"),
        ("json_type", "a[", "none"),
    ];
    for (name, path, expected) in rows {
        assert_eq!(shown(name, &[T(DOCUMENT), T(Box::leak(path.into()))]), expected, "{name} {path}");
    }
    check("json_bool", &[(&[T("[false]"), T("[0]")], "0")]);
}

#[test]
fn json_arrays_and_objects() {
    let text = r#"{"w":["a",7,null],"p":[{"n":"ann"},{"n":1}],"s":{"nut.m4":{"c":{"n":12}},"b":7}}"#;
    check(
        "json_array_len",
        &[(&[T(text), T("w")], "3"), (&[T(text), T("s")], "0"), (&[T(text), T("]")], "0")],
    );
    check(
        "json_array_get_str",
        &[
            (&[T(text), T("w"), U(0)], "a"),
            (&[T(text), T("w"), U(1)], ""),
            (&[T(text), T("w"), U(u64::MAX)], ""),
            (&[T(text), T("s"), U(0)], ""),
        ],
    );
    check(
        "json_array_get_field_str",
        &[(&[T(text), T("p"), U(0), T("n")], "ann"), (&[T(text), T("p"), U(1), T("n")], "")],
    );
    check(
        "json_object_has_key",
        &[(&[T(text), T("s"), T("nut.m4")], "1"), (&[T(text), T(""), T("s.b")], "0")],
    );
    check(
        "json_object_field_int",
        &[
            (&[T(text), T("s"), T("nut.m4"), T("c.n")], "12"),
            (&[T(text), T("s"), T("b"), T("")], "7"),
            (&[T(text), T("s"), T("b"), T("[")], "-1"),
            (&[T(text), T("s"), T("nut"), T("m4.c.n")], "-1"),
        ],
    );
}

#[test]
fn json_generators() {
    let text = r#"{"i":["a",1,"a",true,null,2.0,2.5,1.0,{"y":1,"x":"b"},["c"]],"o":{"p":1,"q.r":{"s":2}}}"#;
    check(
        "json_each",
        &[
            (&[T(text), T("i")], r#"|"a"|1|true|null|2|2.5|{"x":"b","y":1}|["c"]|"#),
            (&[T(text), T("o")], "|"),
            (&[T("{"), T("")], "|"),
        ],
    );
    check("json_each_str", &[(&[T(text), T("i")], "|a|")]);
    check("json_each_int", &[(&[T(text), T("i")], "|1|2|")]);
    check("json_keys", &[(&[T(text), T("o")], "|p|q.r|"), (&[T(text), T("i")], "|")]);
    check_texts("json_walk_str", &[(text, "|a|b|c|"), (r#""x""#, "|x|"), ("x", "|")]);
}

#[test]
fn texts_that_are_no_json_are_misses() {
    let deep: &'static str = Box::leak(("[".repeat(10_000) + &"]".repeat(10_000)).into());
    for text in
        [r#"{"a":1,"a":2}"#, r#"{"a":"x"} junk"#, r#"{"a":1"#, r#"{"a":NaN}"#, r#"{"a":"\ud83d"}"#, deep]
    {
        assert_eq!(shown("json_has_field", &[T(text), T("a")]), "0");
        assert_eq!(shown("json_type", &[T(text), T("")]), "none");
    }
    assert_eq!(shown("json_array_len", &[T("[1,2,"), T("")]), "0");
}

#[test]
fn texts() {
    check(
        "str_contains",
        &[(&[T("abc"), T("b")], "1"), (&[T("abc"), T("")], "1"), (&[T("b"), T("abc")], "0")],
    );
    check("contains", &[(&[T("b"), T("abc")], "1"), (&[T(""), T("abc")], "1"), (&[T("B"), T("abc")], "0")]);
    check("str_starts_with", &[(&[T("abc"), T("ab")], "1"), (&[T("abc"), T("bc")], "0")]);
    check("str_ends_with", &[(&[T("abc"), T("bc")], "1"), (&[T("abc"), T("ab")], "0")]);
    check_texts("str_to_lower", &[("ÄÖÜ Éa", "äöü éa"), ("ПРИВЕТ", "привет"), ("", "")]);
    check_texts("str_len", &[("café", "5"), ("", "0"), ("\u{1F600}", "4")]);
    check_texts("strlen", &[("café", "5")]);
    check_texts("str_chars", &[("café", "4"), ("e\u{301}", "2")]);
    check_texts("str_trim", &[("  a b \t\n", "a b"), ("\u{3000}x\u{a0}", "x"), ("  ", "")]);
    check_texts("str_nfkc", &[("\u{FB01}n", "fin"), ("\u{FF21}", "A"), ("e\u{301}", "é"), ("x\u{b2}", "x2")]);
    let same =
        [("Admin", "aDMIN"), ("Straße", "STRASSE"), ("\u{FF41}dmin", "ADMIN"), ("É", "e\u{301}"), ("ς", "Σ")];
    for (a, b) in same {
        assert_eq!(shown("str_fold", &[T(a)]), shown("str_fold", &[T(b)]), "{a} {b}");
    }
    assert_ne!(shown("str_fold", &[T("\u{430}dmin")]), shown("str_fold", &[T("admin")]));
    check(
        "str_replace",
        &[
            (&[T("a-b--c-"), T("-"), T("")], "abc"),
            (&[T("aaaaa"), T("aa"), T("b")], "bba"),
            (&[T("abc"), T(""), T("x")], "abc"),
            (&[T("ab"), T("b"), T("bb")], "abb"),
        ],
    );
    check(
        "str_split",
        &[
            (&[T("a,b,c"), T(",")], "|a|b|c|"),
            (&[T("b,,b"), T(",")], "|b||"),
            (&[T("abc"), T("")], "|abc|"),
            (&[T(""), T(",")], "||"),
        ],
    );
    check("cat", &[(&[], ""), (&[T("a")], "a"), (&[T("a"), T("é"), T("c")], "aéc")]);
    check_texts(
        "sha256_hex",
        &[
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("café", "850f7dc43910ff890f8879c0ed26fe697c93a067ad93a7d50f466a7028a9bf4e"),
        ],
    );
    check("llm_check_fn", &[(&[T("is it?"), T("x")], "0")]);
}

#[test]
fn parts_of_texts() {
    let rows: [(&'static str, i64, i64, &str); 14] = [
        ("hello", 1, 3, "ell"),
        ("hello", 3, 100, "lo"),
        ("hello", 1, -1, "ello"),
        ("hello", 0, 0, ""),
        ("hello", 5, 1, ""),
        ("hello", 6, 1, ""),
        ("hello", -1, 2, ""),
        ("", 0, 1, ""),
        ("é", 0, 1, ""),
        ("é", 0, 2, "é"),
        ("aéb", 2, 2, "b"),
        ("aéb", 0, 2, "a"),
        ("aéb", 1, i64::MAX, "éb"),
        ("aéb", i64::MAX, i64::MIN, ""),
    ];
    for (text, start, length, expected) in rows {
        assert_eq!(shown("substr", &[T(text), N(start), N(length)]), expected, "{text} {start} {length}");
    }
}

#[test]
fn texts_that_would_grow_too_long() {
    let long: &'static str = Box::leak("a".repeat(1 << 20).into());
    let limit = "error: a text of more than 16777216 bytes";
    check("str_replace", &[(&[T(long), T("a"), T(long)], limit)]);
    check("cat", &[(&[T(long); 0], "")]);
    let many: Vec<Given> = (0..17).map(|_| T(long)).collect();
    assert_eq!(shown("cat", &many), limit);
}

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
fn plain_paths() {
    check_texts(
        "path_normalize",
        &[
            ("a/./b/../c", "a/c"),
            ("/etc/../srv/x", "/srv/x"),
            ("a\\b\\..\\c", "a/c"),
            ("../x", "../x"),
            ("a/../../x", "../x"),
            ("a/../../../x/..", "../.."),
            ("./a", "a"),
            ("a//b/", "a/b"),
            ("/../x", "/../x"),
            ("/", "/"),
            ("//a", "/a"),
            ("", ""),
            (".", "."),
            ("a/..", "."),
            ("/data/a/..", "/data"),
            ("/data\0/../etc/passwd", "/etc/passwd"),
            ("/data/%2e%2e/x", "/data/%2e%2e/x"),
            ("/data/..\\..\\etc\\passwd", "/../etc/passwd"),
        ],
    );
}

#[test]
fn numbers_from_texts() {
    check_texts(
        "to_number",
        &[
            ("42", "42"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("+4", "4"),
            ("006", "6"),
            ("-0", "0"),
            ("12abc", "error: `12abc` cannot be read as `number`"),
            (" 7", "error: ` 7` cannot be read as `number`"),
            ("", "error: `` cannot be read as `number`"),
            ("-", "error: `-` cannot be read as `number`"),
            ("+-1", "error: `+-1` cannot be read as `number`"),
            ("0x10", "error: `0x10` cannot be read as `number`"),
            ("1.0", "error: `1.0` cannot be read as `number`"),
            ("1_0", "error: `1_0` cannot be read as `number`"),
            ("٣", "error: `٣` cannot be read as `number`"),
            ("9223372036854775808", "error: `9223372036854775808` cannot be read as `number`"),
            ("7\n", "error: `7\\n` cannot be read as `number`"),
        ],
    );
    let long: &'static str = Box::leak("9".repeat(500).into());
    assert_eq!(
        shown("to_number", &[T(long)]),
        format!("error: `{}…` cannot be read as `number`", "9".repeat(80))
    );
    check_texts(
        "to_unsigned",
        &[
            ("18446744073709551615", "18446744073709551615"),
            ("+1", "1"),
            ("-1", "error: `-1` cannot be read as `unsigned`"),
            ("18446744073709551616", "error: `18446744073709551616` cannot be read as `unsigned`"),
        ],
    );
    check_texts(
        "to_float",
        &[
            ("1.5", "1.5"),
            ("-7", "-7.0"),
            ("1e3", "1000.0"),
            ("+1.5E-2", "0.015"),
            ("1e400", "error: `1e400` cannot be read as `float`"),
            ("inf", "error: `inf` cannot be read as `float`"),
            ("NaN", "error: `NaN` cannot be read as `float`"),
            (".5", "error: `.5` cannot be read as `float`"),
            ("1.", "error: `1.` cannot be read as `float`"),
            ("1e", "error: `1e` cannot be read as `float`"),
            ("--1", "error: `--1` cannot be read as `float`"),
            ("1.5 ", "error: `1.5 ` cannot be read as `float`"),
        ],
    );
}

#[test]
fn numbers_from_numbers() {
    check(
        "to_number",
        &[
            (&[U(7)], "7"),
            (&[U(u64::MAX)], "error: `18446744073709551615` cannot be read as `number`"),
            (&[F(-2.9)], "-2"),
            (&[F(-9_223_372_036_854_775_808.0)], "-9223372036854775808"),
            (&[F(9_223_372_036_854_775_808.0)], "error: `9223372036854776000` cannot be read as `number`"),
            (&[F(f64::NAN)], "error: `nan` cannot be read as `number`"),
            (&[F(f64::NEG_INFINITY)], "error: `-inf` cannot be read as `number`"),
        ],
    );
    check(
        "to_unsigned",
        &[
            (&[N(7)], "7"),
            (&[N(-1)], "error: `-1` cannot be read as `unsigned`"),
            (&[F(-0.5)], "0"),
            (&[F(-1.0)], "error: `-1` cannot be read as `unsigned`"),
            (&[F(1.8446744073709552e19)], "error: `18446744073709552000` cannot be read as `unsigned`"),
            (&[F(f64::NAN)], "error: `nan` cannot be read as `unsigned`"),
        ],
    );
    check("to_float", &[(&[N(-3)], "-3.0"), (&[U(u64::MAX)], "1.8446744073709552e19")]);
    check(
        "to_string",
        &[
            (&[N(-5)], "-5"),
            (&[U(u64::MAX)], "18446744073709551615"),
            (&[T("s")], "s"),
            (&[F(1.0)], "1"),
            (&[F(0.1)], "0.1"),
            (&[F(1e300)], "1e300"),
            (&[F(-1.5e-30)], "-1.5e-30"),
            (&[F(-0.0)], "-0"),
            (&[F(f64::INFINITY)], "inf"),
            (&[F(f64::NAN)], "nan"),
        ],
    );
}

#[test]
fn hosts_of_urls() {
    check_texts(
        "url_host",
        &[
            ("https://h.example#f", "h.example"),
            ("https://h.example?x=@evil.example/", "h.example"),
            ("https://a@b@c.example/", "c.example"),
            ("https://u:p@h.example:8443/x", "h.example"),
            ("https://[::1]:80/", "::1"),
            ("https://[2001:DB8::7]/", "2001:db8::7"),
            ("https://[::ffff:127.0.0.1]/", "::ffff:7f00:1"),
            ("https://API.Example.com", "api.example.com"),
            ("http://h.example\\@evil.example/", "h.example"),
            ("https://2130706433/", "127.0.0.1"),
            ("https://0x7f.1/", "127.0.0.1"),
            ("https://h%2Eexample/", "h.example"),
            ("https://bücher.example/", "xn--bcher-kva.example"),
            ("https://h.example./x", "h.example"),
            ("https://h.example../x", "h.example"),
            ("https://h。example/", "h.example"),
            (" https://h.example ", "h.example"),
            ("ht\ttps:\n//h.example", "h.example"),
            ("https://", ""),
            ("https://[::1/", ""),
            ("https://h.example:99999/", ""),
            ("https://a b.example/", ""),
            ("", ""),
            (" ", ""),
            // Other schemes with a host.
            ("ssh://git@H.Example:22/x", "h.example"),
            ("redis://127.1:6379", "127.0.0.1"),
            ("foo://[::1]/", "::1"),
            ("foo:///x", ""),
            ("file:///etc/passwd", ""),
            ("file://Server/share", "server"),
        ],
    );
}

#[test]
fn texts_of_the_form_scheme_and_rest() {
    check_texts(
        "url_host",
        &[
            // No scheme: `https://` goes before.
            ("h.example", "h.example"),
            ("h.example/path", "h.example"),
            ("h.example:8443/x", "h.example"),
            ("localhost:80", "localhost"),
            ("localhost:80/?u=https://evil.example", "localhost"),
            ("h.example/?u=https://evil.example", "h.example"),
            ("//h.example/x", "h.example"),
            ("user:word@h.example/x", "h.example"),
            ("[::1]:80/x", "::1"),
            ("1.2.3.4:80", "1.2.3.4"),
            ("unknown:rest", ""),
            ("::1", ""),
            ("?x", ""),
            (":80", ""),
            // Schemes of the URL standard with a host need no slashes.
            ("http:169.254.169.254/x", "169.254.169.254"),
            ("HTTP:169.254.169.254", "169.254.169.254"),
            ("https:h.example/x", "h.example"),
            ("http:/h.example/x", "h.example"),
            ("http:\\\\h.example\\x", "h.example"),
            ("https:///h.example/x", "h.example"),
            ("ws:h.example", "h.example"),
            ("ftp:h.example", "h.example"),
            ("file:/etc/passwd", ""),
            ("http:", ""),
            // Schemes without a host, whatever follows.
            ("mailto:a@b.example", ""),
            ("MailTo:a@b.example", ""),
            ("data:text/plain,hi", ""),
            ("data:8080", ""),
            ("javascript:alert(1)", ""),
            ("javascript://h.example/%0aalert(1)", ""),
            ("tel:+123", ""),
            ("blob:https://h.example/1", ""),
            ("about:blank", ""),
            ("urn:isbn:1", ""),
            ("cid:a@b.example", ""),
        ],
    );
}

#[test]
fn other_parts_of_urls() {
    check_texts(
        "url_scheme",
        &[
            ("HTTP://h.example/", "http"),
            ("h.example/x", "https"),
            ("mailto:a@b.example", "mailto"),
            ("", ""),
        ],
    );
    check_texts(
        "url_port",
        &[
            ("https://h.example:8443/x", "8443"),
            ("https://h.example/x", "-1"),
            ("https://h.example:443", "-1"),
            ("", "-1"),
        ],
    );
    check_texts(
        "url_path",
        &[("https://h.example/a/./b/../c?d=e#f", "/a/c"), ("https://h.example", "/"), ("https://", "")],
    );
}

#[test]
fn private_hosts() {
    check_flag(
        "host_is_private",
        "1",
        &[
            "localhost",
            "LOCALHOST",
            "localhost.",
            "a.localhost",
            "localhost:80",
            "127.0.0.1",
            "127.0.0.1.",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0X7F.1",
            "017700000001",
            "10.20.30.40",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "0xA9FEA9FE",
            "100.100.100.200",
            "100.64.0.1",
            "0.0.0.0",
            "0",
            "224.0.0.1",
            "255.255.255.255",
            "168.63.129.16",
            "010.0.0.1",
            "127。0。0。1",
            "１２７.0.0.1",
            "127.0.0.1:8080",
            "http://127.0.0.1/",
            "user@127.0.0.1",
            "[::1]:80",
            " 10.0.0.1 ",
            "::",
            "::1",
            "[::1]",
            "0:0:0:0:0:0:0:1",
            "fe80::1",
            "fe80::1%eth0",
            "[FE80::1%25eth0]",
            "fec0::1",
            "fd12:3456::1",
            "fd00:ec2::254",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:7f00:1",
            "::127.0.0.1",
            "::ffff:0:10.0.0.1",
            "64:ff9b::169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::808:808",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "2001:0:1:2:3:4:80ff:fffe",
            "2606::5efe:10.0.0.1",
            "metadata.google.internal",
            "Metadata.Google.Internal.",
        ],
    );
    check_flag(
        "host_is_private",
        "0",
        &[
            "",
            "8.8.8.8",
            "172.32.0.1",
            "172.15.0.1",
            "11.0.0.1",
            "100.63.0.1",
            "100.128.0.1",
            "192.169.0.1",
            "134744072",
            "example.com",
            "10.example.com",
            "localhost.example.com",
            "notlocalhost",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::",
            "not a host",
            "https://8.8.8.8/",
        ],
    );
}

#[test]
fn hosts_in_domains() {
    let rows = [
        ("example.com", "example.com", "1"),
        ("a.b.example.com", "example.com", "1"),
        ("A.Example.COM.", "example.com", "1"),
        ("a.example.com", "Example.com.", "1"),
        ("a.example.com", ".example.com", "1"),
        ("bücher.example", "xn--bcher-kva.example", "1"),
        ("10.0.0.1", "10.0.0.1", "1"),
        ("0x0a000001", "10.0.0.1", "1"),
        ("notexample.com", "example.com", "0"),
        ("example.com", "a.example.com", "0"),
        ("example.com.evil.example", "example.com", "0"),
        ("10.0.0.1", "0.0.1", "0"),
        ("a.10.0.0.1", "10.0.0.1", "0"),
        ("example.com", "", "0"),
        ("example.com", ".", "0"),
        ("", "", "0"),
        ("", "example.com", "0"),
        ("example.com:80", "example.com", "0"),
        ("evil.example/example.com", "example.com", "0"),
    ];
    for (host, domain, expected) in rows {
        assert_eq!(shown("host_in_domain", &[T(host), T(domain)]), expected, "{host} in {domain}");
    }
}

#[test]
fn registrable_domains() {
    check_texts(
        "registrable_domain",
        &[
            ("https://a.b.example.com/x", "example.com"),
            ("https://shop.example.co.uk", "example.co.uk"),
            ("https://me.github.io/x", "me.github.io"),
            ("a.b.example.org", "example.org"),
            ("A.B.Example.ORG.", "example.org"),
            ("a.b.example.org:8443/x", "example.org"),
            ("fetch https://x.example.com now", "example.com"),
            ("see, e.g., a.example.com, then https://b.example.org", "example.com"),
            ("see https://b.example.org, then a.example.com", "example.org"),
            ("version 1.2.3.4 of https://b.example.org", "example.org"),
            ("nothing here", ""),
            ("https://1.2.3.4/", ""),
            ("https://[2001:db8::1]/", ""),
            ("localhost", ""),
            ("co.uk", ""),
            ("github.io", ""),
            ("", ""),
            ("mailto:a@example.com", ""),
            ("公司.cn", ""),
            ("x.公司.cn", "x.xn--55qx5d.cn"),
        ],
    );
}

#[test]
fn urls_in_texts() {
    check_texts(
        "urls_in",
        &[
            (
                "see https://a.example/x, and (http://b.example/y).",
                "|https://a.example/x|http://b.example/y|",
            ),
            ("![x](https://img.evil.test/c.png?d=Q3)", "|https://img.evil.test/c.png?d=Q3|"),
            ("[https://a.example](https://b.example)", "|https://a.example|https://b.example|"),
            ("https://en.example/A_(b)", "|https://en.example/A_(b)|"),
            ("<a href=\"https://a.example/\">", "|https://a.example/|"),
            ("https://a.example,https://b.example", "|https://a.example|https://b.example|"),
            ("https://a.example/?u=https://b.example", "|https://a.example/?u=https://b.example|"),
            ("https://[::1]:80/x", "|https://[::1]:80/x|"),
            ("x:https://a.example", "|https://a.example|"),
            ("1https://a.example", "|https://a.example|"),
            ("ftp://a.example https://a.example https://a.example", "|ftp://a.example|https://a.example|"),
            (":// https:// a://", "|"),
            ("https://https://a.example", "|https://https://a.example|"),
            ("www.a.example", "|"),
        ],
    );
    check_texts("count_urls", &[("https://a.example https://a.example", "2"), ("", "0"), ("none", "0")]);
}

#[test]
fn mail_addresses() {
    check_texts(
        "email_domain",
        &[
            ("kim@example.com", "example.com"),
            (" kim@Example.COM ", "example.com"),
            ("Kim Doe <kim.d+x@example.com>", "example.com"),
            ("<kim@example.com>", "example.com"),
            ("kim@bücher.example", "xn--bcher-kva.example"),
            ("kim@example.com, lee@evil.example", ""),
            ("kim@example.com;lee@evil.example", ""),
            ("kim@evil.example <kim@example.com>", ""),
            ("kim@example.com <lee@evil.example", ""),
            ("kim@example.com\nbcc: lee", ""),
            ("\"a@b\"@example.com", ""),
            ("kim@[1.2.3.4]", ""),
            ("kim@127.1", ""),
            ("kim@evil%2eexample", ""),
            ("mailto:kim@example.com", ""),
            ("kim", ""),
            ("", ""),
            ("kim@", ""),
            ("@example.com", ""),
            ("kim..x@example.com", ""),
            ("kim@.example.com", ""),
            ("kim lee@example.com", ""),
        ],
    );
}

#[test]
fn spans_of_time() {
    let rows = [
        ("2024-05-15T15:00:00", "2024-05-15 17:59:59Z", "2", "10799"),
        ("2024-05-15T15:00:00+05:00", "2024-05-15T15:00:00-05:00", "10", "36000"),
        ("2024-05-15T15:00:00.250Z", "2024-05-15T15:00:00Z", "0", "0"),
        ("2024-05-16T15:00:00Z", "2024-05-15T15:00:00Z", "24", "-86400"),
        ("2024-02-28T00:00:00Z", "2024-03-01T00:00:00Z", "48", "172800"),
        ("1969-12-31T23:00:00Z", "1970-01-01T01:00:00Z", "2", "7200"),
        ("0000-01-01t00:00:00z", "9999-12-31T23:59:59.999999999999Z", "87658199", "315569519999"),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z", "0", "0"),
        ("2017-01-01T08:59:60+09:00", "2017-01-01T00:00:01Z", "0", "1"),
    ];
    for (a, b, hours, seconds) in rows {
        assert_eq!(shown("hours_between", &[T(a), T(b)]), hours, "{a} {b}");
        assert_eq!(shown("seconds_between", &[T(a), T(b)]), seconds, "{a} {b}");
    }
    let misses = [
        "",
        "soon",
        "2024-05-15",
        "2024-05-15T15:00Z",
        "2024-13-15T15:00:00Z",
        "2023-02-29T15:00:00Z",
        "2024-05-15T25:00:00Z",
        "2024-05-15T24:00:00Z",
        "2024-05-15T12:00:60Z",
        "2024-05-15T15:00:00.Z",
        "2024-05-15T15:00:00+0500",
        "2024-05-15T15:00:00+24:00",
        "2024-05-15T15:00:00+05:60",
        "2024-05-15T15:00:00 Z",
        "2024-05-15  15:00:00",
        " 2024-05-15T15:00:00Z",
        "2024-05-15T15:00:00Z ",
        "2024-05-15T15:00:00Zx",
        "+024-05-15T15:00:00Z",
        "2024-5-15T15:00:00Z",
        "2024-05-15T-1:00:00Z",
        "２024-05-15T15:00:00Z",
    ];
    for text in misses {
        assert_eq!(shown("hours_between", &[T(text), T("2024-05-15T15:00:00Z")]), "-1", "{text}");
        assert_eq!(shown("seconds_between", &[T("2024-05-15T15:00:00Z"), T(text)]), "none", "{text}");
        assert_eq!(shown("weekday", &[T(text)]), "none", "{text}");
    }
}

#[test]
fn points_in_time() {
    check_texts(
        "epoch_seconds",
        &[
            ("1970-01-02T00:00:00Z", "86400"),
            ("1970-01-01T01:00:00+01:00", "0"),
            ("1969-12-31T23:59:59.5Z", "-1"),
            ("2024-05-15 15:00:00", "1715785200"),
            ("soon", "none"),
        ],
    );
    check_texts(
        "weekday",
        &[("2024-05-15T09:00:00Z", "3"), ("2024-05-13T00:00:00Z", "1"), ("2024-05-19T23:00:00-05:00", "7")],
    );
    check_texts(
        "hour_of_day",
        &[("2024-05-15T09:59:00+05:00", "9"), ("2024-05-15 23:00:00", "23"), ("x", "none")],
    );
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

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        r#"[\[\]{}",:0-9a-z.\\ue+-]{0,40}"#,
        r#"(https?|ftp|x|mailto)?:?/{0,3}[a-z0-9.@:\[\]%?#\\ -]{0,30}"#,
        r"[0-9]{4}-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-5][0-9]:[0-6][0-9](\.[0-9]{0,12})?(Z|[+-][0-2][0-9]:[0-5][0-9])?",
        r"[a-z*?/.()|\[\]+^$\\d-]{0,20}",
        Just(DOCUMENT.to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_call_is_answered_twice_alike_and_in_bounds(
        texts in prop::collection::vec(any_text(), 4),
        number in any::<i64>(),
        small in -2i64..10,
        float in any::<f64>(),
    ) {
        let mut cache = Cache::default();
        let size: usize = texts.iter().map(String::len).sum();
        for (place, functor) in table().iter().enumerate() {
            let id = FunctorId(u16::try_from(place).unwrap());
            for number in [number, small] {
                let given: Vec<_> = functor.parameters.iter().zip(&texts).enumerate().map(|(place, (parameter, text))| {
                    match parameter.kind {
                        Kind::Number => Argument::Number(number),
                        Kind::Unsigned => Argument::Unsigned(number.cast_unsigned()),
                        Kind::Float => Argument::Float(float),
                        Kind::Symbol | Kind::Compound => Argument::Text(text, Symbol(u32::try_from(place).unwrap())),
                    }
                }).collect();
                let run = |cache: &mut Cache| match functor.mode {
                    Mode::Generator => generate(id, &given, cache).map(|values| (values.len(), values)),
                    Mode::Total | Mode::Partial => call(id, &given, cache)
                        .map(|value| (usize::MAX, value.into_iter().collect())),
                };
                let (first, again) = (run(&mut cache), run(&mut Cache::default()));
                prop_assert_eq!(format!("{first:?}"), format!("{again:?}"), "{}", functor.name);
                match first {
                    Ok((count, values)) => {
                        prop_assert!(functor.mode != Mode::Total || values.len() == 1, "{}", functor.name);
                        prop_assert!(count == usize::MAX || count <= size + 1, "{}", functor.name);
                        let bytes: usize = values.iter().map(bytes).sum();
                        prop_assert!(bytes <= 400 + 36 * (size + 1) * (size + 1), "{}", functor.name);
                        prop_assert!(values.iter().all(|value| kind(value) == functor.result), "{}", functor.name);
                    }
                    Err(error) => prop_assert!(functor.fallible, "{}: {error}", functor.name),
                }
            }
        }
    }

    #[test]
    fn folding_and_plain_paths_are_reached_in_one_step(text in any_text()) {
        for name in ["str_fold", "str_nfkc", "path_normalize", "str_trim"] {
            let id = find(name, false).unwrap();
            let mut cache = Cache::default();
            let once = call(id, &[Argument::Text(&text, Symbol(0))], &mut cache).unwrap().unwrap();
            let Output::Text(once) = once else { panic!("{name} gives a text") };
            let twice = call(id, &[Argument::Text(&once, Symbol(1))], &mut cache).unwrap();
            prop_assert_eq!(twice, Some(Output::Text(once)), "{}", name);
        }
    }

    #[test]
    fn canonical_json_is_json_of_the_same_value(text in any_text()) {
        if let Ok(value) = crate::json::parse(&text) {
            let canonical = value.canonical();
            let again = crate::json::parse(&canonical).unwrap();
            prop_assert_eq!(again.canonical(), canonical);
        }
    }
}

fn bytes(value: &Output) -> usize {
    match value {
        Output::Text(text) => text.len(),
        Output::Number(_) | Output::Unsigned(_) | Output::Float(_) => 0,
    }
}

fn kind(value: &Output) -> Kind {
    match value {
        Output::Text(_) => Kind::Symbol,
        Output::Number(_) => Kind::Number,
        Output::Unsigned(_) => Kind::Unsigned,
        Output::Float(_) => Kind::Float,
    }
}
