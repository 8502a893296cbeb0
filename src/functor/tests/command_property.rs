use proptest::prelude::*;

use super::command::answer;

const NAMES: &[(&str, usize)] = &[
    ("normalize_cmd", 0),
    ("dangerous_rm", 0),
    ("cmd_hidden_in_code", 0),
    ("cmd_invokes", 1),
    ("cmd_egress_class", 1),
    ("cmd_runs_sub", 2),
];

/// Pieces of which commands are made, whole and broken.
const PIECES: &[&str] = &[
    "git",
    "push",
    "rm",
    "-rf",
    "/",
    "sh",
    "-c",
    "eval",
    "sudo",
    "-u",
    "env",
    "xargs",
    "find",
    "-exec",
    "\\;",
    "{}",
    "curl",
    "python",
    "awk",
    "sed",
    "ssh",
    "$x",
    "${x",
    "${x:-",
    "$(",
    ")",
    "`",
    "(",
    "{",
    "}",
    "[[",
    "]]",
    "((",
    "))",
    "$((",
    "<(",
    "<<E\n",
    "\nE\n",
    "<<<",
    ">",
    "2>&1",
    "|",
    "||",
    "&&",
    "&",
    ";",
    ";;",
    "\n",
    " ",
    "  ",
    "\t",
    "'",
    "\"",
    "\\",
    "$'",
    "\\x41",
    "=",
    "x=",
    "if",
    "then",
    "fi",
    "while",
    "do",
    "done",
    "for",
    "in",
    "case",
    "esac",
    "function",
    "time",
    "!",
    "coproc",
    "#",
    "*",
    "?",
    "[",
    "]",
    "~",
    "é",
    "\u{200b}",
    "\u{1F600}",
    "{a,b}",
    "a[",
    "@(",
    "\0",
    "\r",
    "\r\n",
    "$\"",
    "%",
    "+",
    "-",
    "--",
    ".",
    "..",
];

fn any_command() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec((prop::sample::select(PIECES), any::<bool>()), 0..24);
    let joined = |pieces: Vec<(&str, bool)>| {
        pieces
            .into_iter()
            .map(|(piece, blank)| if blank { format!("{piece} ") } else { piece.to_owned() })
            .collect()
    };
    prop_oneof![4 => pieces.prop_map(joined), 1 => any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_command_is_answered_twice_alike(command in any_command()) {
        let given = [command.as_str(), "git", "push"];
        for (name, more) in NAMES {
            let given: Vec<&str> = given.iter().take(more + 1).copied().collect();
            prop_assert_eq!(answer(name, &given), answer(name, &given), "{}", name);
        }
    }

    /// Whatever else a command does, what it does first is seen.
    #[test]
    fn nothing_behind_a_command_hides_it(command in any_command()) {
        let first = format!("git push\n{command}");
        prop_assert_eq!(answer("cmd_runs_sub", &[&first, "git", "push"]), "1");
        prop_assert_ne!(answer("cmd_egress_class", &[&first, "git"]), "0");
    }

    /// What is run and what is in doubt agree over the functors.
    #[test]
    fn functors_agree(command in any_command()) {
        let invokes = answer("cmd_invokes", &[&command, "git"]);
        let class = answer("cmd_egress_class", &[&command, "git"]);
        prop_assert_eq!(invokes == "0", class == "0");
        if invokes == "0" {
            prop_assert_eq!(answer("cmd_runs_sub", &[&command, "git", "push"]), "0");
        }
    }

    #[test]
    fn quoted_text_is_data(text in "[ -&)-Z\\\\\\]-~]{0,60}") {
        let command = format!("echo '{}'", text.replace('\'', ""));
        prop_assert_eq!(answer("cmd_invokes", &[&command, "git"]), "0");
        prop_assert_eq!(answer("dangerous_rm", &[&command]), "0");
    }
}
