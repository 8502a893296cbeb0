use crate::functor::command::word::Word;

/// A program that runs the program named by its arguments, and how its own options look.
#[derive(Debug)]
pub(super) struct Wrapper {
    name: &'static str,
    /// Letters of options that take a value.
    valued: &'static str,
    /// Letters of options that take none.
    flags: &'static str,
    /// Long options whose value is the next word where no `=` stands in them.
    long_valued: &'static [&'static str],
    /// Long options without a value.
    long_flags: &'static [&'static str],
    /// Words between the options and the program.
    operands: usize,
    /// Whether `NAME=value` may stand before the program.
    pub(super) assigns: bool,
}

const fn wrapper(name: &'static str, valued: &'static str, flags: &'static str) -> Wrapper {
    Wrapper { name, valued, flags, long_valued: &[], long_flags: &[], operands: 0, assigns: false }
}

impl Wrapper {
    const fn long(mut self, valued: &'static [&'static str], flags: &'static [&'static str]) -> Self {
        self.long_valued = valued;
        self.long_flags = flags;
        self
    }

    const fn after(mut self, operands: usize) -> Self {
        self.operands = operands;
        self
    }

    const fn assigning(mut self) -> Self {
        self.assigns = true;
        self
    }
}

const WRAPPERS: &[Wrapper] = &[
    wrapper("builtin", "", ""),
    wrapper("busybox", "", ""),
    wrapper("caffeinate", "tw", "dimsu"),
    wrapper("chroot", "", "").after(1).long(&["--userspec", "--groups"], &["--skip-chdir"]),
    wrapper("chrt", "TPD", "bfioraRmpv").after(1),
    wrapper("command", "", "p"),
    wrapper("dbus-run-session", "", ""),
    wrapper("doas", "uC", "Lns"),
    wrapper("env", "uC", "iv0")
        .assigning()
        .long(&["--unset", "--chdir"], &["--ignore-environment", "--null", "--debug"]),
    wrapper("exec", "a", "cl"),
    wrapper("fakeroot", "lfisb", "uh"),
    wrapper("faketime", "", "fm").after(1),
    wrapper("flock", "wE", "esxnuoFv").after(1).long(
        &["--timeout", "--wait", "--conflict-exit-code"],
        &["--exclusive", "--shared", "--nonblock", "--nb", "--close", "--no-fork", "--verbose"],
    ),
    wrapper("ionice", "cnpPu", "t").long(&["--class", "--classdata"], &["--ignore"]),
    wrapper("ltrace", "aAeDFlnopsuwx", "bcCfhiLrStTV"),
    wrapper("nice", "n", "0123456789").long(&["--adjustment"], &[]),
    wrapper("nocorrect", "", ""),
    wrapper("noglob", "", ""),
    wrapper("nohup", "", ""),
    wrapper("pkexec", "", "").long(&["--user"], &["--disable-internal-agent", "--keep-cwd"]),
    wrapper("proot", "rbwkq", ""),
    wrapper("proxychains", "f", "q"),
    wrapper("proxychains4", "f", "q"),
    wrapper("rlwrap", "abCDfgHlmMOPqsStwz", "AcdehiInNprRuUvWX"),
    wrapper("setpriv", "", ""),
    wrapper("setsid", "", "cfw").long(&[], &["--ctty", "--fork", "--wait"]),
    wrapper("stdbuf", "ioe", "").long(&["--input", "--output", "--error"], &[]),
    wrapper("strace", "abeEIoOpPsSuUX", "cCdDfFhikNnqrtTvVwxyYzZ"),
    wrapper("sudo", "ughpCTrtURD", "AbBEeHiKklnPSsVv").assigning().long(
        &[
            "--user",
            "--group",
            "--host",
            "--prompt",
            "--chdir",
            "--role",
            "--type",
            "--close-from",
            "--chroot",
            "--command-timeout",
            "--other-user",
        ],
        &[
            "--askpass",
            "--background",
            "--bell",
            "--preserve-env",
            "--set-home",
            "--login",
            "--remove-timestamp",
            "--reset-timestamp",
            "--non-interactive",
            "--preserve-groups",
            "--stdin",
            "--shell",
            "--no-update",
        ],
    ),
    wrapper("taskset", "", "ac").after(1),
    wrapper("time", "fo", "apqv")
        .long(&["--format", "--output"], &["--append", "--portability", "--verbose"]),
    wrapper("timeout", "sk", "vfp")
        .after(1)
        .long(&["--signal", "--kill-after"], &["--foreground", "--preserve-status", "--verbose"]),
    wrapper("torify", "", "dqv"),
    wrapper("torsocks", "aPpu", "dqi"),
    wrapper("toybox", "", ""),
    wrapper("tsocks", "", ""),
    wrapper("unbuffer", "", "p"),
    wrapper("valgrind", "", ""),
    wrapper("xargs", "adEILnPs", "0oprtxei").long(
        &["--arg-file", "--delimiter", "--max-args", "--max-procs", "--max-chars", "--process-slot-var"],
        &[
            "--null",
            "--open-tty",
            "--interactive",
            "--no-run-if-empty",
            "--verbose",
            "--exit",
            "--eof",
            "--max-lines",
            "--replace",
        ],
    ),
    wrapper("xvfb-run", "efnpsw", "al"),
];

/// The wrapper of that name.
pub(super) fn find(name: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|wrapper| wrapper.name == name)
}

/// Where the program stands among the arguments; nothing where an option is not known, which may or may not take the
/// word behind it.
pub(super) fn program_at(wrapper: &Wrapper, arguments: &[Word]) -> Option<usize> {
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        let text = word.text.as_str();
        if word.may_be_option() {
            return None;
        }
        if text == "--" {
            at += 1;
            break;
        }
        if text.starts_with("--") {
            let name = text.split('=').next().unwrap_or_default();
            let is_valued = wrapper.long_valued.contains(&name);
            if !is_valued && !wrapper.long_flags.contains(&name) {
                return None;
            }
            at += if is_valued && !text.contains('=') { 2 } else { 1 };
        } else if let Some(letters) = text.strip_prefix('-') {
            at += short(wrapper, letters)?;
        } else if wrapper.assigns && text.contains('=') {
            at += 1;
        } else {
            break;
        }
    }
    Some(at + wrapper.operands)
}

/// How many words a bundle of short options takes.
fn short(wrapper: &Wrapper, letters: &str) -> Option<usize> {
    let mut rest = letters.chars();
    while let Some(letter) = rest.next() {
        if wrapper.valued.contains(letter) {
            return Some(if rest.as_str().is_empty() { 2 } else { 1 });
        }
        if !wrapper.flags.contains(letter) {
            return None;
        }
    }
    Some(1)
}
