use super::command::{answer, check_rows, rows};
use super::*;

const DANGEROUS: &[&str] = &[
    "rm -rf /",
    "rm -rf build",
    "rm -fr x",
    "rm -r -f x",
    "rm -vrf x",
    "rm -Rf x",
    "rm -r --force x",
    "rm --force -r x",
    "rm --recursive --force x",
    "rm --rec --fo x",
    "rm x -rf",
    "RM -RF x",
    "/bin/rm -rf x",
    "\\rm -rf x",
    "r''m -rf x",
    "rm -\"r\"f x",
    "sudo rm -rf x",
    "rm -rf \"$X/\"",
    "rm -r \"$X/\"",
    "rm -r \"$X\"",
    "rm $X",
    "rm $X/",
    "rm -r /",
    "rm -r ~",
    "rm -r ~/",
    "rm -r ~root",
    "rm -r $HOME",
    "rm -r \"$HOME\"",
    "rm -r /home/me",
    "rm -r /etc",
    "rm -r //",
    "rm -r /./",
    "rm -r .",
    "rm -r ..",
    "rm -r ../x",
    "rm -r ./*",
    "rm -r *",
    "rm -f *",
    "rm -f *.log",
    "rm -r {a,b}",
    "rm --no-preserve-root -r x",
    "rm -r C:\\",
    "find . -delete",
    "find / -name x -delete",
    "find . -exec rm -rf {} \\;",
    "find . -exec rm -r {} +",
    "ls | xargs rm -rf",
    "ls | xargs rm",
    "bash -c 'rm -rf x'",
    "eval 'rm -rf x'",
    "x=-rf; rm $x y",
    "x=/; rm -r $x",
    "busybox rm -rf x",
    "git status && rm -rf /x",
    "git status\nrm -rf /x",
    "git status $(rm -rf /x)",
    "if true; then rm -rf x; fi",
    "$x -rf /",
    "curl x | sh",
    "rm -rf 'x",
    "rm -rf -- x",
    "command rm -rf x",
    "some-launcher rm -rf x",
    "env rm -rSf /",
    "python -c 'import os; os.system(\"rm -rf /\")'",
];

const HARMLESS: &[&str] = &[
    "rm x",
    "rm surf.txt",
    "rm -f x",
    "rm -r build",
    "rm -r ./build/x",
    "rm -- -rf",
    "rm -i x",
    "rm \"$file\"",
    "echo rm -rf /",
    "echo 'rm -rf /'",
    "git commit -m 'rm -rf /'",
    "rmdir x",
    "git rm -r x",
    "find . -name '*.rs'",
    "ls -rf",
    "rm -d x",
    "rm -v a b c",
    "",
];

#[test]
fn removals_of_much() {
    check_rows("dangerous_rm", &[], &rows(DANGEROUS, "1"));
    check_rows("dangerous_rm", &[], &rows(HARMLESS, "0"));
}

const HIDDEN: &[&str] = &[
    "python -c 'import os; os.system(\"x\")'",
    "python3 -c 'import subprocess; subprocess.run([\"x\"])'",
    "python3.12 -Ic 'exec(\"x\")'",
    "python -c '__import__(\"o\"+\"s\").popen(\"x\")'",
    "python -c 'import pty; pty.spawn(\"/bin/sh\")'",
    "python -c \"$code\"",
    "python - <<E\nimport os\nos.system('x')\nE\n",
    "python <<E\n$x\nE\n",
    "python",
    "curl x | python3 -",
    "python3 < x.py",
    "python -m timeit 'x'",
    "node -e 'require(\"child_process\").exec(\"x\")'",
    "node --eval='process.binding(\"spawn_sync\")'",
    "node -p 'eval(x)'",
    "nodejs -pe 'x.constructor'",
    "deno eval 'new Deno.Command(\"x\")'",
    "bun -e 'Bun.spawn([\"x\"])'",
    "perl -e 'system \"x\"'",
    "perl -ne 'print `x`'",
    "perl -E 'exec x'",
    "perl -Mx -e 'qx(x)'",
    "ruby -e 'system(\"x\")'",
    "ruby -e 'IO.popen(\"x\")'",
    "php -r 'passthru(\"x\");'",
    "lua -e 'os.execute(\"x\")'",
    "awk 'BEGIN { system(\"x\") }'",
    "awk '{ print | \"sh\" }' f",
    "awk '{ \"date\" | getline d }' f",
    "sed 's/a/b/e' f",
    "sed '1e ls' f",
    "sed 'e' f",
    "python -c 'import base64'",
    "python -c '\"\\x6f\"'",
    "echo eA== | base64 -d | sh",
    "curl x | bash",
    "eval \"$x\"",
    "sh -c \"$x\"",
    "bash <(curl x)",
    "cu\u{200D}rl x",
    "c\u{0443}rl x",
    "сurl x",
    "ls \u{202E}x",
    "rm\u{a0}-rf /",
    "g\u{2800} x",
    "echo 'x",
    "sudo python -c 'exec(x)'",
    "xargs -I{} python -c '{}'",
    "find . -exec perl -e 'unlink; system(1)' \\;",
];

const PLAIN: &[&str] = &[
    "",
    "ls",
    "git push",
    "python -c 'print(1)'",
    "python3 -c \"print('hi')\"",
    "python x.py",
    "python x.py -c conf",
    "python --version",
    "python -m pytest -k x",
    "python - <<'E'\nprint(1)\nE\n",
    "node app.js",
    "node -e 'console.log(1)'",
    "perl -ne 'print if /x/' f",
    "ruby -e 'puts 1'",
    "php -r 'echo 1;'",
    "awk '{print $1}' f",
    "awk -F: '$3 > 5 || $1 == \"x\" {print}' f",
    "sed 's/a/b/g' f",
    "sed -i -e 's/one/two/' file.txt",
    "sed -n '1,5p' f",
    "sed '/^#/d' f",
    "bash -c 'git push'",
    "bash script.sh",
    "eval 'git push'",
    "echo 'cu\u{200D}rl'",
    "git commit -m \"naïve \u{200B} x\"",
    "echo café",
    "$x push",
    "echo ❤\u{FE0F}",
    "cat <<'E'\n\u{200B}\nE\n",
];

#[test]
fn code_that_hides_what_runs() {
    check_rows("cmd_hidden_in_code", &[], &rows(HIDDEN, "1"));
    check_rows("cmd_hidden_in_code", &[], &rows(PLAIN, "0"));
}

#[test]
fn commands_have_one_spelling() {
    check_texts(
        "normalize_cmd",
        &[
            ("", ""),
            ("  RM   -RF\t/ ", "rm -rf /"),
            ("git \\\n  push", "git push"),
            ("g\\\nit push", "git push"),
            ("git status\nrm -rf /x", "git status ; rm -rf /x"),
            ("a\r\n\r\n b\n", "a ; b"),
            ("echo 'A  B'", "echo 'a b'"),
        ],
    );
}

#[test]
fn large_and_deep_commands_are_doubted() {
    let nested = |opener: &str, closer: &str, times: usize| {
        format!("{}ls{}", opener.repeat(times), closer.repeat(times))
    };
    for (opener, closer) in [
        ("$(", ")"),
        ("echo $(", ")"),
        ("(", ")"),
        ("{ ", ";}"),
        ("if ", ";then a;fi"),
        ("`", "`"),
        ("sudo ", ""),
        ("${a:-", "}"),
    ] {
        for times in [40, 400, 1500] {
            assert_eq!(
                answer("cmd_invokes", &[&nested(opener, closer, times), "x"]),
                "1",
                "{opener} {times}"
            );
        }
    }
    for (opener, closer) in [("echo $(", ")"), ("(", ")"), ("sudo ", ""), ("{ ", ";}")] {
        assert_eq!(answer("cmd_invokes", &[&nested(opener, closer, 5), "x"]), "0", "{opener}");
    }
    assert_eq!(answer("cmd_invokes", &[&"ls;".repeat(2800), "x"]), "1");
    assert_eq!(answer("cmd_invokes", &[&"ls;".repeat(2600), "x"]), "0");
    assert_eq!(
        answer("cmd_invokes", &[&format!("x={}; eval \"{}\"", "a".repeat(4000), "$x".repeat(900)), "x"]),
        "1"
    );
}

#[test]
fn no_nesting_overflows_a_small_stack() {
    let openers = [
        "time ",
        "time\\\n ",
        "ti\\\nme ",
        "coproc ",
        "coproc\\\n",
        "! ",
        "!\\\n",
        "if ",
        "while ",
        "until ",
        "{ ",
        "( ",
        "((",
        "$(",
        "$((",
        "`",
        "<(",
        "${x:-",
        "\"$(",
        "case x in x) ",
        "for x in y; do ",
        "select x in y; do ",
        "[[ ",
        "[[ ! ",
        "[[ ( ",
        "a[",
        "f() ",
        "function f { ",
        "eval ",
        "bash -c '",
        "env ",
        "sudo ",
        "time -p ",
        "coproc x { ",
        "time ! ",
        "x=(",
        "x=$(",
        "a=${b[",
        "&& ",
        "| ",
        "<<x\n",
        "@(",
        "?(",
        "\\\n",
    ];
    let run = move || {
        for opener in openers {
            for times in [2, 20, 200, 1_000, 4_000] {
                let command = format!("{}git push", opener.repeat(times));
                let runs = answer("cmd_invokes", &[&command, "git"]);
                let bare = answer("cmd_invokes", &[&opener.repeat(times), "git"]);
                assert!(!runs.is_empty() && !bare.is_empty());
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap();
    assert!(thread.join().is_ok());
}
