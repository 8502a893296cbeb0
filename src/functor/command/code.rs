use crate::functor::command::reading::Reading;
use crate::functor::command::word::HOLE;
use crate::functor::command::word::Word;

/// Programs that take code as text: the letters of short options behind which it stands, and long ones or subcommands.
/// A program without either takes it as its first operand.
const INTERPRETERS: &[(&str, &str, &[&str])] = &[
    ("python", "c", &[]),
    ("pypy", "c", &[]),
    ("ipython", "c", &[]),
    ("node", "ep", &["--eval", "--print", "--require", "--import", "-r"]),
    ("nodejs", "ep", &["--eval", "--print", "--require", "--import", "-r"]),
    ("deno", "", &["eval", "repl"]),
    ("bun", "ep", &["--eval", "--print", "eval", "exec"]),
    ("tsx", "ep", &["--eval", "--print"]),
    ("perl", "eE", &[]),
    ("ruby", "e", &[]),
    ("php", "rBRE", &["--run"]),
    ("lua", "e", &[]),
    ("luajit", "e", &[]),
    ("rscript", "e", &[]),
    ("julia", "eE", &["--eval", "--print"]),
    ("groovy", "e", &[]),
    ("elixir", "e", &["--eval"]),
    ("scala", "e", &[]),
    ("tclsh", "", &[]),
    ("jshell", "", &[]),
    ("awk", "", &[]),
    ("gawk", "", &[]),
    ("mawk", "", &[]),
    ("nawk", "", &[]),
    ("sed", "", &[]),
    ("gsed", "", &[]),
];

/// What code that starts programs, makes code of text, or undoes a disguise holds in one of these languages.
const HINTS: &[&str] = &[
    "system",
    "popen",
    "subprocess",
    "spawn",
    "exec",
    "fork",
    "child_process",
    "`",
    "eval",
    "__import__",
    "importlib",
    "__builtins__",
    "getattr",
    "globals(",
    "vars(",
    "pty",
    "compile(",
    "ctypes",
    "dlopen",
    "ffi",
    "kernel",
    "%x",
    "qx",
    "base64",
    "b64",
    "atob",
    "decode",
    "fromhex",
    "unhex",
    "unpack",
    "chr(",
    "fromcharcode",
    "\\x",
    "\\u",
    "codecs",
    "marshal",
    "pickle",
    "zlib",
    "command",
    "bun.$",
    "function(",
    "constructor",
    "process.binding",
    "runpy",
    "passthru",
    "proc_open",
    "backtick",
    "open3",
    "io.popen",
    "openpty",
    "getline",
    "|",
    "multiprocessing",
    "asyncio",
    "os.startfile",
    "posix",
    "loadstring",
    "dofile",
    "require",
    "import(",
    "runtime",
    "processbuilder",
    "instance_eval",
    "send(",
    "assert(",
];

/// Whether a program of that name takes code.
pub(super) fn is_interpreter(name: &str) -> bool {
    entry(name).is_some()
}

fn entry(name: &str) -> Option<&'static (&'static str, &'static str, &'static [&'static str])> {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    INTERPRETERS.iter().find(|(program, _, _)| *program == base)
}

/// Notes what the code that an interpreter is given may do.
pub(super) fn judge(reading: &mut Reading, name: &str, arguments: &[Word], feed: Option<&str>) {
    let Some((program, letters, words)) = entry(name) else { return };
    if arguments.iter().any(|word| word.splits) {
        return reading.hide();
    }
    match *program {
        "awk" | "gawk" | "mawk" | "nawk" => awk(reading, arguments),
        "sed" | "gsed" => sed(reading, arguments),
        _ => general(reading, arguments, letters, words, feed),
    }
}

fn general(reading: &mut Reading, arguments: &[Word], letters: &str, words: &[&str], feed: Option<&str>) {
    let is_code_option = |word: &Word| {
        let text = word.text.as_str();
        let is_short =
            text.starts_with('-') && !text.starts_with("--") && text.contains(|c| letters.contains(c));
        let name = text.split('=').next().unwrap_or_default();
        is_short || words.contains(&name)
    };
    // Options stand before the file, but telling their values from it needs a table of each language's options.
    if arguments.iter().any(is_code_option) {
        let is_plain = arguments.iter().all(|word| is_plain(&word.text));
        if !is_plain {
            reading.hide();
        }
        return;
    }
    let asks = |word: &Word| matches!(word.text.as_str(), "--version" | "-V" | "--help" | "-h" | "-v");
    if arguments.len() == 1 && arguments.iter().any(asks) {
        return;
    }
    let runs_code = |word: &Word| {
        let module = word.text.strip_prefix("-m").unwrap_or(&word.text);
        ["timeit", "pdb", "runpy", "code", "trace", "cProfile", "profile", "pty"].contains(&module)
    };
    if arguments.first().is_some_and(|word| word.text.starts_with("-m"))
        && arguments.iter().take(2).any(runs_code)
    {
        return reading.hide();
    }
    match arguments.iter().find(|word| !word.text.starts_with('-') || word.text == "-") {
        None => given(reading, feed),
        Some(word) if matches!(word.text.as_str(), "-" | "/dev/stdin") => given(reading, feed),
        Some(word)
            if word.may_be_option() || word.text.starts_with("/dev/") || word.text.starts_with("/proc/") =>
        {
            reading.hide();
        }
        Some(_) => {}
    }
}

/// Code that is read from a pipe or a here-document.
fn given(reading: &mut Reading, feed: Option<&str>) {
    if !feed.is_some_and(is_plain) {
        reading.hide();
    }
}

fn is_plain(code: &str) -> bool {
    let lower = code.to_lowercase();
    !code.contains(HOLE) && !HINTS.iter().any(|hint| lower.contains(hint))
}

/// awk runs what stands in `system()`, and either side of a bar.
fn awk(reading: &mut Reading, arguments: &[Word]) {
    let is_option = |word: &Word| word.text.starts_with('-');
    if arguments
        .iter()
        .any(|word| is_option(word) && (word.text.contains(HOLE) || word.text.contains("load")))
    {
        return reading.hide();
    }
    for word in arguments {
        let text = word.text.replace("||", "");
        if text.contains(['|', '@', HOLE]) || text.contains("system") {
            return reading.hide();
        }
    }
}

/// GNU sed runs lines by the command `e`, and results by the flag `e`.
fn sed(reading: &mut Reading, arguments: &[Word]) {
    let is_flag = |c: char| "gpiImMe0123456789".contains(c);
    let runs = |script: &str| {
        script.split(['\n', ';', '{', '}']).any(|command| {
            let command = command.trim();
            let address = |c: char| c.is_ascii_digit() || matches!(c, '$' | ',' | '!' | '~' | '+' | ' ');
            let plain = command.trim_start_matches(address);
            let flags = plain.chars().rev().take_while(|&c| is_flag(c)).any(|c| c == 'e');
            let is_flagged = flags && plain.chars().filter(|c| !c.is_alphanumeric()).count() >= 3;
            let behind_address = command.starts_with(['/', '\\'])
                && command
                    .rsplit('/')
                    .next()
                    .is_some_and(|end| end.trim_start_matches(['I', 'M', ' ', '!']).starts_with('e'));
            is_flagged || behind_address || plain == "e" || plain.starts_with("e ")
        })
    };
    let is_script = |word: &&Word| !word.text.starts_with("--sandbox");
    if arguments.iter().filter(is_script).any(|word| {
        word.text.starts_with(HOLE) || runs(&word.text) || word.text.strip_prefix("-e").is_some_and(runs)
    }) {
        reading.hide();
    }
}
