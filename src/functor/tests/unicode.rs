use super::*;

#[test]
fn texts_have_the_class_of_the_worst_they_hold() {
    check_texts(
        "deceptive_unicode_class",
        &[
            ("", ""),
            ("git push\r\n\tnow ~", ""),
            ("café naïve Žluťoučký", ""),
            ("привет мир", ""),
            ("שלום world", ""),
            ("日本語 text かな", ""),
            ("I ❤\u{FE0F} it 1\u{FE0F}\u{20E3}", ""),
            ("👩\u{200D}💻 👁\u{FE0F}\u{200D}🗨", ""),
            ("\u{FEFF}begins", ""),
            ("is\u{FEFF}not", "invisible"),
            ("a\u{200B}b", "invisible"),
            ("a\u{200D}b", "invisible"),
            ("so\u{AD}ft", "invisible"),
            ("x\u{FE0F}", "invisible"),
            ("❤\u{FE0F}\u{FE0F}", "invisible"),
            ("x\u{E0101}", "invisible"),
            ("x\u{3164}y", "invisible"),
            ("\u{1b}[2K", "invisible"),
            ("a\u{2028}b", "invisible"),
            ("if \u{202E} x", "bidi"),
            ("\u{2066}x\u{2069}", "bidi"),
            ("\u{200F}", "bidi"),
            ("hi\u{E0068}", "tag"),
            ("\u{202E}\u{200B}\u{E0068}", "tag"),
            ("p\u{0430}ypal", "confusable_script_mix"),
            ("\u{0430}pple.com", "confusable_script_mix"),
            ("pay-\u{0440}al", "confusable_script_mix"),
            ("Ωmega", "confusable_script_mix"),
            ("Latin и кириллица", ""),
        ],
    );
}

#[test]
fn hidden_texts_are_spelt_out() {
    let hidden = "ok\u{E0001}\u{E0068}\u{E0069}\u{E0020}\u{E0021}\u{E007F}";
    check_texts("decode_unicode_tags", &[("", ""), ("plain", ""), (hidden, "hi !")]);
    check_flag("has_unicode_tags", "1", &[hidden, "\u{E0000}", "🏴\u{E0067}\u{E007F}"]);
    check_flag("has_unicode_tags", "0", &["", "plain", "\u{E0100}"]);
    check_flag("has_deceptive_unicode", "1", &[hidden, "\u{202A}", "p\u{0430}y"]);
    check_flag("has_deceptive_unicode", "0", &["", "plain", "é", "👩\u{200D}💻"]);
}

#[test]
fn summaries_count_each_class() {
    check_texts(
        "deceptive_unicode_summary",
        &[
            ("", ""),
            ("plain", ""),
            ("a\u{200B}\u{200B}\u{202E}", "bidi 1: U+202E; invisible 2: U+200B"),
            ("\u{E0068}p\u{0430}y", "tag 1: U+E0068; confusable_script_mix 1: U+0430"),
        ],
    );
}
