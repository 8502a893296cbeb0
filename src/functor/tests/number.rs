use super::*;

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
