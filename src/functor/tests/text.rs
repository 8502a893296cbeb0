use super::*;

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
