use crate::functor::command::code;
use crate::functor::command::program_name;
use crate::functor::command::reading::Reading;
use crate::functor::command::word::Word;
use crate::functor::command::word::joined;
use crate::functor::command::wrapper;

const SHELLS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "ash", "rbash", "fish", "csh", "tcsh", "yash",
    "oksh",
];

/// Words of the grammar, which name no program.
const RESERVED: &[&str] = &[
    "{", "}", "if", "then", "elif", "else", "fi", "for", "in", "do", "done", "while", "until", "case",
    "esac", "select", "function", "coproc", "[[", "]]",
];

/// Programs that start others in ways that are not read here.
const LAUNCHERS: &[&str] = &[
    "at",
    "batch",
    "bind",
    "chronic",
    "complete",
    "crontab",
    "dtach",
    "enable",
    "entr",
    "expect",
    "fc",
    "fd",
    "firejail",
    "bwrap",
    "gdb",
    "hash",
    "lldb",
    "nsenter",
    "parallel",
    "powershell",
    "pwsh",
    "cmd",
    "screen",
    "sem",
    "socat",
    "sshpass",
    "start-stop-daemon",
    "systemd-run",
    "tmux",
    "unshare",
    "wsl",
    "xterm",
    "zargs",
    "rsh",
    "mosh",
    "zsh-defer",
    "history",
    "mapfile",
    "readarray",
    "daemonize",
    "run-parts",
    "xdg-open",
    "osascript",
    "doit",
    "choom",
    "compgen",
    "compopt",
    "dbus-launch",
    "dc",
    "eatmydata",
    "ed",
    "emacs",
    "emacsclient",
    "ex",
    "hyperfine",
    "i386",
    "i486",
    "i586",
    "i686",
    "linux32",
    "linux64",
    "m4",
    "nvim",
    "perf",
    "pipenv",
    "pipx",
    "poetry",
    "prlimit",
    "red",
    "rview",
    "rvim",
    "setarch",
    "ssh-agent",
    "uname26",
    "uv",
    "uvx",
    "vi",
    "view",
    "vim",
    "vimdiff",
    "x86_64",
];

/// Programs some of whose arguments make them start others: an option or key that begins so, another word that is this one,
/// or a word that holds the part behind `*`.
const LEVERS: &[(&str, &[&str])] = &[
    ("docker", &["exec", "run", "compose"]),
    ("podman", &["exec", "run", "compose"]),
    ("nerdctl", &["exec", "run", "compose"]),
    ("kubectl", &["exec", "run", "debug"]),
    ("oc", &["exec", "run", "debug", "rsh"]),
    (
        "tar",
        &[
            "--checkpoint-action",
            "--to-command",
            "-I",
            "--use-compress-program",
            "--rsh-command",
            "-F",
            "--info-script",
            "--new-volume-script",
            "--rmt-command",
            "*:",
        ],
    ),
    ("bsdtar", &["--use-compress-program"]),
    ("rsync", &["-e", "--rsh", "--rsync-path"]),
    ("scp", &["-S", "-o", "-D"]),
    ("sftp", &["-S", "-o", "-D"]),
    ("zip", &["-TT", "--unzip-command"]),
    ("make", &["SHELL=", "--eval", "-E", "-f-", "*=-", "*/dev/", "*/proc/", "*$("]),
    ("gmake", &["SHELL=", "--eval", "-E", "-f-", "*=-", "*/dev/", "*/proc/", "*$("]),
    ("less", &["+", "-k", "--lesskey"]),
    ("man", &["-P", "-H", "--pager", "--html"]),
    ("sort", &["--compress-program"]),
    ("split", &["--filter"]),
    (
        "git",
        &[
            "submodule",
            "filter-branch",
            "difftool",
            "mergetool",
            "bisect",
            "--exec",
            "-x",
            "--upload-pack",
            "--receive-pack",
            "*!",
            "*alias.",
            "*ommand",
            "*hookspath",
            "*hooksPath",
            "*pager=",
            "*editor=",
            "*helper=",
            "*fsmonitor",
            "*textconv",
            "*driver",
            "ext::",
            "--config-env",
            "-O",
            "--open-files-in-pager",
        ],
    ),
    ("npx", &["-c", "--call"]),
    ("npm", &["exec", "x", "-c"]),
    ("watchexec", &[""]),
    ("nmap", &["--script"]),
    ("tcpdump", &["-z"]),
    ("wget", &["--use-askpass"]),
    ("nc", &["-e", "-c", "--exec", "--sh-exec"]),
    ("ncat", &["-e", "-c", "--exec", "--sh-exec", "--lua-exec"]),
    ("netcat", &["-e", "-c"]),
    ("openssl", &["-engine", "engine"]),
    ("psql", &["*\\!", "*program", "*PROGRAM"]),
    (
        "sqlite3",
        &[
            "*.sh",
            "*.sy",
            "*.o",
            "*|",
            "*.exc",
            "*.load",
            "*load_extension",
            "*edit(",
            "*.read",
            "--init",
            "-init",
            "-cmd",
        ],
    ),
    ("mysql", &["*system", "*\\!"]),
    ("go", &["run", "generate", "-exec", "-toolexec"]),
    ("cargo", &["--config"]),
    ("printf", &["-v"]),
];

/// Programs of those whose short options are levers in a bundle as well.
const BUNDLERS: &[&str] = &["tar", "bsdtar", "rsync", "scp", "sftp", "nc", "ncat", "netcat", "man"];

fn is_bundle(word: &Word) -> bool {
    word.text.starts_with('-') && !word.text.starts_with("--")
}

/// Variables whose value a program runs.
const RUN_VARIABLES: &[&str] =
    &["EDITOR", "VISUAL", "PAGER", "BROWSER", "LESSOPEN", "LESSCLOSE", "PS0", "PS1", "PS2", "PS4"];
/// Variables that make every program run what is not shown.
const LOAD_VARIABLES: &[&str] = &[
    "BASH_ENV",
    "BASH_CMDS",
    "BASH_ALIASES",
    "BASH_LOADABLES_PATH",
    "GCONV_PATH",
    "GIT_ASKPASS",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_SSH",
    "GIT_TEMPLATE_DIR",
    "GNUMAKEFLAGS",
    "JAVA_TOOL_OPTIONS",
    "MAKEFILES",
    "MAKEFLAGS",
    "PROMPT_COMMAND",
    "PYTHONBREAKPOINT",
    "PYTHONHOME",
    "RSYNC_RSH",
    "RUSTC_WRAPPER",
    "SHELL",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "TAR_OPTIONS",
    "_JAVA_OPTIONS",
    "ENV",
    "ZDOTDIR",
    "PYTHONSTARTUP",
    "PYTHONPATH",
    "PERL5OPT",
    "PERL5LIB",
    "NODE_OPTIONS",
    "RUBYOPT",
    "SHELLOPTS",
    "BASHOPTS",
];

/// Whether a builtin of that name sets variables that its arguments name.
pub(super) fn writes_variables(name: &str) -> bool {
    [
        "read",
        "printf",
        "mapfile",
        "readarray",
        "getopts",
        "let",
        "unset",
        "eval",
        "source",
        ".",
        "wait",
        "command",
        "builtin",
    ]
    .contains(&name)
}

/// Whether a builtin of that name evaluates arithmetic, or subscripts in names of variables.
pub(super) fn evaluates(name: &str) -> bool {
    let builtins = [
        "[",
        "test",
        "let",
        "read",
        "unset",
        "printf",
        "shift",
        "getopts",
        "wait",
        "mapfile",
        "readarray",
        "ulimit",
        "declare",
        "typeset",
        "local",
        "export",
        "readonly",
        "command",
        "builtin",
        "set",
        "shopt",
        "eval",
        "break",
        "continue",
        "return",
        "exit",
        "history",
        "fc",
        "umask",
    ];
    builtins.contains(&name)
}

/// Whether a variable of that name makes programs run what is not shown.
pub(super) fn loads(name: &str) -> bool {
    let families = ["GIT_CONFIG", "BASH_FUNC_", "LD_", "DYLD_"];
    LOAD_VARIABLES.contains(&name) || families.iter().any(|family| name.starts_with(family))
}

/// Notes what setting a variable makes programs run.
pub(super) fn set(reading: &mut Reading, name: &str, value: &str) {
    let upper = name.to_uppercase();
    let runs = RUN_VARIABLES.contains(&name)
        || upper.ends_with("_COMMAND")
        || upper.ends_with("_EDITOR")
        || upper.ends_with("PAGER");
    if loads(name) {
        reading.doubt();
    }
    if runs {
        reading.text(value);
    }
}

/// Lists what a command runs. `feed` is what it is given to read, where that is known.
pub(super) fn run(reading: &mut Reading, words: &[Word], feed: Option<&str>) {
    let Some((name, arguments)) = words.split_first() else { return };
    let is_pattern = name.is_pattern && name.text != "[";
    if name.is_open() || is_pattern || name.splits || name.text.is_empty() {
        reading.doubt();
        return;
    }
    // What looks like an option or a sign of the grammar is no program, so that what follows may be one.
    if name.text.starts_with(['-', '+', '!']) || RESERVED.contains(&name.text.as_str()) {
        reading.doubt();
    }
    if ["read", "mapfile", "readarray", "declare", "typeset", "export", "local", "readonly", "let", "getopts"]
        .contains(&name.text.as_str())
    {
        let names = arguments.iter().map(|word| word.text.split(['[', '=', '+']).next().unwrap_or_default());
        for variable in names.filter(|variable| !variable.is_empty()) {
            set(reading, variable, "\0");
        }
    }
    reading.start(&name.text, arguments);
    reading.deeper(|reading| started(reading, &program_name(&name.text), arguments, feed));
}

fn started(reading: &mut Reading, name: &str, arguments: &[Word], feed: Option<&str>) {
    if SHELLS.contains(&name) {
        return shell(reading, arguments, feed);
    }
    if code::is_interpreter(name) {
        return code::judge(reading, name, arguments, feed);
    }
    match name {
        "eval" => reading.text(&joined(after_dashes(arguments))),
        "source" | "." => match arguments {
            [file, ..] if file.is_open() || file.text.starts_with("/dev/") => reading.hide(),
            _ => reading.doubt(),
        },
        "trap" => match after_dashes(arguments) {
            [action, _, ..] if action.text != "-" => reading.text(&action.text),
            _ => {}
        },
        "find" | "gfind" => find(reading, arguments),
        "ssh" | "autossh" | "dbclient" => ssh(reading, arguments),
        "su" | "runuser" | "script" | "sg" => text_option(reading, arguments),
        "watch" => watch(reading, arguments),
        "alias" => {
            arguments
                .iter()
                .filter_map(|word| word.text.split_once('='))
                .for_each(|(_, text)| reading.text(text));
            if arguments.iter().any(|word| word.is_open() || word.text.contains('=')) {
                reading.doubt();
            }
        }
        // A loader is given the program as its argument.
        _ if LAUNCHERS.contains(&name) || name.starts_with("ld-") || name.starts_with("ld.so") => {
            reading.doubt();
        }
        _ => {
            levers(reading, name, arguments);
            fed(reading, name, arguments, feed);
            wrapped(reading, name, arguments, feed);
        }
    }
}

fn after_dashes(arguments: &[Word]) -> &[Word] {
    match arguments {
        [first, rest @ ..] if first.text == "--" => rest,
        _ => arguments,
    }
}

fn levers(reading: &mut Reading, name: &str, arguments: &[Word]) {
    let Some((_, levers)) = LEVERS.iter().find(|(program, _)| *program == name) else { return };
    let pulls = |word: &Word, lever: &&str| match lever.strip_prefix('*') {
        Some(part) => word.text.contains(part),
        // A long option may be shortened, and short ones stand in bundles.
        None if lever.starts_with("--") => {
            let option = word.text.split('=').next().unwrap_or_default();
            word.text.starts_with(lever) || (option.len() > 2 && lever.starts_with(option))
        }
        None if BUNDLERS.contains(&name) && lever.len() == 2 && lever.starts_with('-') => {
            is_bundle(word) && lever.strip_prefix('-').is_some_and(|letter| word.text.contains(letter))
        }
        None if lever.starts_with(['-', '+']) || lever.ends_with(['=', ':']) => word.text.starts_with(lever),
        None => word.text == **lever || lever.is_empty(),
    };
    let is_pulled = |word: &Word| word.may_be_option() || levers.iter().any(|lever| pulls(word, lever));
    // The first word of tar is a bundle without its sign.
    let opens_bundle = |word: &Word| word.text.contains(['I', 'F']);
    let is_fed = |word: &Word| word.text == "-";
    if arguments.iter().any(is_pulled)
        || (name == "tar" && arguments.first().is_some_and(opens_bundle))
        || (matches!(name, "make" | "gmake") && arguments.iter().any(is_fed))
    {
        reading.doubt();
    }
}

/// Programs that run commands which stand in what they are fed.
fn fed(reading: &mut Reading, name: &str, arguments: &[Word], feed: Option<&str>) {
    if !matches!(name, "sqlite3" | "psql" | "mysql" | "mariadb" | "ftp" | "sftp" | "gnuplot") {
        return;
    }
    let is_plain = |text: &str| {
        let is_command = |line: &str| line.trim_start().starts_with(['.', '!', '\\']);
        !text.contains(['\0', '|', '!', '\\', '`'])
            && !text.contains("system")
            && !text.lines().any(is_command)
    };
    // Whether standard input is read at all depends on the operands.
    let has_text = arguments.iter().any(|word| word.text.contains(' ') || word.text.starts_with("-c"));
    let is_known = match feed {
        Some(text) => is_plain(text) && !text.to_lowercase().contains("program"),
        None => has_text,
    };
    if !is_known {
        reading.doubt();
    }
}

fn wrapped(reading: &mut Reading, name: &str, arguments: &[Word], feed: Option<&str>) {
    let Some(wrapper) = wrapper::find(name) else { return };
    let first = arguments.first().map_or("", |word| word.text.as_str());
    if name == "command" && (first.starts_with("-v") || first.starts_with("-V")) {
        return;
    }
    let Some(at) = wrapper::program_at(wrapper, arguments) else {
        reading.doubt();
        if name == "env" {
            split_text(reading, arguments);
        }
        return;
    };
    let (own, inner) = arguments.split_at(at.min(arguments.len()));
    if wrapper.assigns {
        for (variable, value) in own.iter().filter_map(|word| word.text.split_once('=')) {
            set(reading, variable, value);
        }
    }
    if inner.is_empty() {
        // `sudo -s` is a shell.
        let opens_shell = |word: &Word| word.text.starts_with('-') && word.text.contains(['s', 'i']);
        if matches!(name, "sudo" | "doas") && own.iter().any(opens_shell) {
            reading.hide();
        }
        return;
    }
    match (name, inner) {
        ("xargs", _) => xargs(reading, own, inner),
        ("flock", [option, text, ..]) if matches!(option.text.as_str(), "-c" | "--command") => {
            reading.text(&text.text);
        }
        _ => run(reading, inner, feed),
    }
}

/// `env -S 'words'`, as far as its own options come first. Whoever asks is in doubt already.
fn split_text(reading: &mut Reading, arguments: &[Word]) {
    let is_own = |word: &&Word| word.text.starts_with('-') && word.text != "--";
    let own = arguments.iter().take_while(is_own).count();
    let (options, _) = arguments.split_at(own);
    let is_split = |word: &Word| {
        let text = word.text.as_str();
        (!text.starts_with("--") && text.contains('S')) || text.starts_with("--s")
    };
    let Some(place) = options.iter().position(is_split) else { return };
    let Some([option, rest @ ..]) = arguments.get(place..) else { return };
    let mark = if option.text.starts_with("--") { '=' } else { 'S' };
    let attached = option.text.split_once(mark).map_or("", |(_, value)| value);
    reading.text(&format!("{attached} {}", joined(rest)));
}

fn xargs(reading: &mut Reading, own: &[Word], inner: &[Word]) {
    let mut marks = vec!["{}"];
    let mut options = own.iter().map(|word| word.text.as_str());
    while let Some(option) = options.next() {
        let attached =
            option.strip_prefix("-I").or(option.strip_prefix("-i")).or(option.strip_prefix("--replace="));
        match attached {
            Some("") if option == "-I" => marks.extend(options.next()),
            Some(mark) => marks.push(mark),
            None => {}
        }
    }
    let pierce = |word: &Word| marks.iter().fold(word.clone(), |word, mark| word.pierced(mark));
    let mut words: Vec<Word> = inner.iter().map(pierce).collect();
    words.push(Word::open());
    run(reading, &words, Some("\0"));
}

fn find(reading: &mut Reading, arguments: &[Word]) {
    if arguments.iter().any(|word| word.splits) {
        reading.doubt();
    }
    let is_action = |word: &Word| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
    for inner in arguments.split(is_action).skip(1) {
        let end = inner.iter().position(|word| matches!(word.text.as_str(), ";" | "+"));
        let words: Vec<Word> =
            inner.iter().take(end.unwrap_or(inner.len())).map(|word| word.pierced("{}")).collect();
        run(reading, &words, None);
    }
}

/// Whose arguments behind the host are one text for the shell there.
fn ssh(reading: &mut Reading, arguments: &[Word]) {
    let mut at = 0;
    while let Some(word) = arguments.get(at).filter(|word| word.text.starts_with('-')) {
        let letters = word.text.trim_start_matches('-');
        let valued = letters.find(|c| "BbcDEeFIiJLlmOoPpQRSWw".contains(c));
        at += if valued.is_some_and(|place| place + 1 == letters.len()) { 2 } else { 1 };
    }
    let (own, rest) = arguments.split_at(at.min(arguments.len()));
    let runs_locally =
        |word: &Word| word.text.to_lowercase().contains("command") || word.text.starts_with("-F");
    if own.iter().any(|word| runs_locally(word) || word.is_open())
        || rest.first().is_some_and(|host| host.splits)
    {
        reading.doubt();
    }
    if let [_, command, ..] = rest {
        if command.text.starts_with('-') {
            reading.doubt();
        }
        reading.text(&joined(rest.get(1..).unwrap_or_default()));
    }
}

/// Programs that take the text for a shell behind `-c`.
fn text_option(reading: &mut Reading, arguments: &[Word]) {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if let Some(code) = text.strip_prefix("--command=").or(text.strip_prefix("--session-command=")) {
            return reading.text(code);
        }
        let takes =
            text == "--command" || (text.starts_with('-') && !text.starts_with("--") && text.ends_with('c'));
        if takes {
            return reading.text(words.next().map_or("\0", |code| code.text.as_str()));
        }
    }
    reading.doubt();
}

fn watch(reading: &mut Reading, arguments: &[Word]) {
    let mut rest = arguments;
    while let [option, behind @ ..] = rest {
        rest = match option.text.as_str() {
            "-n" | "--interval" => behind.get(1..).unwrap_or_default(),
            text if text.starts_with('-') => behind,
            _ => break,
        };
    }
    reading.text(&joined(rest));
}

fn shell(reading: &mut Reading, arguments: &[Word], feed: Option<&str>) {
    let mut takes_text = false;
    let mut words = arguments.iter();
    let mut operand = None;
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if word.may_be_option() {
            return reading.hide();
        }
        match text {
            "--" | "-" => {
                operand = words.next();
                break;
            }
            "--help" | "--version" if arguments.len() == 1 => return,
            // These name files that the shell runs first.
            "--rcfile" | "--init-file" => return reading.doubt(),
            "--norc" | "--noprofile" | "--login" | "--posix" | "--verbose" | "--restricted" => {}
            // Some shells take long options behind one sign.
            _ if text.starts_with("--") || text.contains("rcfile") || text.contains("init-") => {
                return reading.doubt();
            }
            _ if text.starts_with(['-', '+']) => {
                takes_text |= text.starts_with('-') && text.contains('c');
                let values = text.chars().filter(|c| matches!(c, 'o' | 'O')).count();
                // Shells differ in where the values of a bundle stand.
                if values > 1 || (values == 1 && !text.ends_with(['o', 'O'])) {
                    reading.doubt();
                }
                for _ in 0..values {
                    if words.next().is_some_and(|value| value.splits) {
                        return reading.hide();
                    }
                }
            }
            _ => {
                operand = Some(word);
                break;
            }
        }
    }
    match (takes_text, operand) {
        (true, Some(code)) => reading.text(&code.text),
        (true, None) => reading.doubt(),
        (false, Some(file))
            if file.is_open() || file.text.starts_with("/dev/") || file.text.starts_with("/proc/") =>
        {
            reading.hide();
        }
        (false, Some(_)) => reading.doubt(),
        (false, None) => reading.text(feed.unwrap_or("\0")),
    }
}

/// Options of programs whose subcommands policies ask for that take the next word, and options that take none.
const OPTIONS: &[(&str, &[&str], &[&str])] = &[
    (
        "git",
        &[
            "-C",
            "-c",
            "--git-dir",
            "--work-tree",
            "--namespace",
            "--exec-path",
            "--super-prefix",
            "--config-env",
        ],
        &[
            "-p",
            "--paginate",
            "-P",
            "--no-pager",
            "--bare",
            "--no-replace-objects",
            "--literal-pathspecs",
            "--no-optional-locks",
        ],
    ),
    (
        "docker",
        &["-H", "--host", "-c", "--context", "-l", "--log-level", "--config"],
        &["-D", "--debug", "--tls"],
    ),
    (
        "kubectl",
        &["-n", "--namespace", "--context", "--cluster", "--kubeconfig", "-s", "--server", "--user"],
        &["-A"],
    ),
    ("gh", &["-R", "--repo"], &[]),
    ("npm", &["--prefix", "-w", "--workspace"], &["-g", "--global", "-s", "--silent", "--yes", "-y"]),
    (
        "cargo",
        &["--manifest-path", "--color", "--config", "-Z", "-C"],
        &["-v", "-q", "--locked", "--offline"],
    ),
];

/// Whether the program may have been given the words of the subcommand in a row.
pub(super) fn has_subcommand(program: &str, given: &[Word], subcommand: &[&str]) -> bool {
    let (valued, flags) = OPTIONS
        .iter()
        .find(|(name, _, _)| *name == program)
        .map_or((&[][..], &[][..]), |(_, valued, flags)| (valued, flags));
    let mut wanted = subcommand.iter();
    let Some(mut next) = wanted.next() else { return false };
    let mut may_be_value = false;
    let mut arguments = given.iter();
    while let Some(word) = arguments.next() {
        let text = word.text.as_str();
        if word.is_open() || word.is_pattern {
            return true;
        }
        if text.starts_with(['-', '+']) && text.len() > 1 {
            if valued.contains(&text) {
                if arguments.next().is_some_and(|value| value.splits) {
                    return true;
                }
            } else {
                may_be_value = text != "--" && !text.contains('=') && !flags.contains(&text);
            }
        } else if text.to_lowercase() == **next {
            may_be_value = false;
            match wanted.next() {
                Some(word) => next = word,
                None => return true,
            }
        } else if may_be_value {
            may_be_value = false;
        } else {
            return false;
        }
    }
    false
}
