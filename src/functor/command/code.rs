use crate::functor::command::reading::Reading;
use crate::functor::command::sed;
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
    "readpipe",
    "webbrowser",
    "interact",
    "syscall",
    "__dict__",
    "__getattribute__",
    "__class__",
    "__loader__",
    "__spec__",
    "attrgetter",
    "methodcaller",
    "breakpoint",
    "sys.modules",
    "getbuiltinmodule",
    "mainmodule",
    "const_get",
    "method(",
    "__send__",
    "call_user_func",
    "array_map",
    "rot13",
    "strrev",
    "load(",
    "_g[",
    ")(",
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
        "sed" | "gsed" if sed::may_run(arguments) => reading.hide(),
        "sed" | "gsed" => {}
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
    let modules = [
        "timeit", "pdb", "runpy", "code", "trace", "cProfile", "profile", "pty", "asyncio", "bdb", "doctest",
        "idlelib",
    ];
    let is_short = |word: &Word| word.text.starts_with('-') && !word.text.starts_with("--");
    let runs_code = |word: &Word| modules.iter().any(|module| word.text.ends_with(module));
    // A module stands behind a bundle that ends in `m`; behind `-i` what is fed is read after the file.
    if (arguments.iter().any(|word| is_short(word) && word.text.contains('m'))
        && arguments.iter().any(runs_code))
        || arguments
            .first()
            .is_some_and(|word| is_short(word) && word.text.contains('i') || word.text == "--interactive")
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
        let is_fed = text == "-" || text == "-f-" || text.contains("/dev/") || text.contains("/proc/");
        if is_fed || text.contains(['|', '@', HOLE]) || text.contains("system") {
            return reading.hide();
        }
    }
}
