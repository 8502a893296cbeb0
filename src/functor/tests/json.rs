use super::*;

pub(super) const DOCUMENT: &str = r#"{"a":{"b":["x",{"c":"y"}],"n":4},"k.d":"z","r":[10,20],"t":true,"f":5.7,"e":"","u":"caf\u00e9","z":null,"m":-7,"w":7.0,"top":18446744073709551615,"far":1e400,"nz":-0,"k":"7"}"#;

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
