//! What a shell command runs, told without running it.
//!
//! In: the text of a command. Out: the programs it starts, as far as the text shows them. Never: starts one, looks at a
//! file, or takes what it cannot read for harmless.

mod code;
mod inert;
mod launch;
mod reading;
mod removal;
mod sed;
mod walk;
mod word;
mod wrapper;

use crate::functor::Parameter;
use crate::functor::call::Entry;
use crate::functor::call::flag;
use crate::functor::call::number;
use crate::functor::call::text;
use crate::functor::call::word as text_value;
use crate::value::Kind;

pub(crate) use reading::Reading;

const COMMAND: Parameter = text("command");
const PROGRAM: Parameter = text("program");

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::total("normalize_cmd", &[COMMAND], |c, _| text_value(normalized(c.text(0)?))).gives(
        Kind::Symbol,
        "The command in lower case, with runs of blanks as one blank, none at the ends, lines that a backslash joins \
         joined, and every other line break as ` ; `. Quotes and escapes stay, so ask `@cmd_invokes` what runs.",
    ),
    Entry::total("cmd_invokes", &[COMMAND, PROGRAM], |c, cache| {
        let program = program_name(c.text(1)?);
        let reading = cache.command(c.symbol(0)?);
        flag(reading.is_none_or(|reading| {
            reading.is_doubtful() || reading.runs_program(&program) || reading.may_run_program(&program)
        }))
    })
    .gives(
        Kind::Unsigned,
        "1 if the bash command starts the program, or may: by any path, quoted or escaped, in lists, pipes, loops, \
         functions, substitutions, here-documents for a shell, text for `sh -c`, `eval` or `ssh`, and behind `sudo`, \
         `env`, `xargs`, `find -exec` and their like; else 0. 1 also where the text does not show what runs: a \
         program named by a variable (other than one set once, to a plain text), a pattern or a substitution, a \
         script that a shell reads, text decoded into a shell, code that starts programs, a text that is no bash, \
         one that is larger than 8 KiB, or nested too deep. A program that is not known to start none is in doubt \
         where its arguments name the one asked for. What a named program does itself is not looked into. As doubt is \
         1, it serves to deny; to show that something was run, ask for `@cmd_egress_class` 2.",
    ),
    Entry::total("cmd_runs_sub", &[COMMAND, PROGRAM, text("subcommand")], |c, cache| {
        let (program, words) = (program_name(c.text(1)?), c.text(2)?.to_lowercase());
        let words: Vec<&str> = words.split_whitespace().collect();
        let reading = cache.command(c.symbol(0)?);
        flag(reading.is_none_or(|reading| {
            reading.is_doubtful() || reading.runs_sub(&program, &words) || reading.may_run_sub(&program, &words)
        }))
    })
    .gives(
        Kind::Unsigned,
        "1 if the command starts the program with that subcommand (`push`; `pr merge` is two words in a row, options \
         between them aside), or may, as `@cmd_invokes` says; else 0. Where it is not known whether an option takes \
         the next word, both readings count, and so does a word that only running the command would tell.",
    ),
    Entry::total("cmd_egress_class", &[COMMAND, PROGRAM], |c, cache| {
        let program = program_name(c.text(1)?);
        let reading = cache.command(c.symbol(0)?);
        number(reading.map_or(1, |reading| match reading.runs_program(&program) {
            true => 2,
            false => i64::from(reading.is_doubtful() || reading.may_run_program(&program)),
        }))
    })
    .gives(
        Kind::Number,
        "How sure it is that the command starts the program of that name: 2 if the text shows that it does, 1 if it is \
         not known, as `@cmd_invokes` says, 0 if the name is absent or only data. A branch that may never be \
         taken and a function that may never be called count as run. No list of programs that carry data out is built \
         in: ask for each that matters (`curl`, `wget`, `ssh`, `nc`), from a relation that names them.",
    ),
    Entry::total("cmd_hidden_in_code", &[COMMAND], |c, cache| {
        let reading = cache.command(c.symbol(0)?);
        flag(reading.is_none_or(Reading::hides))
    })
    .gives(
        Kind::Unsigned,
        "1 if the shell command hides what it runs: code on its command line for Python, Node, Perl, Ruby, PHP, Lua, \
         awk and their like that starts programs, evaluates text, decodes, or is not all shown; text from a pipe, a substitution or a \
         variable that a shell, `eval` or an interpreter takes as code; a character that no reader sees, or letters \
         of two scripts, in a word outside quotes; or a text that cannot be read as bash; else 0.",
    ),
    Entry::total("dangerous_rm", &[COMMAND], |c, cache| {
        let reading = cache.command(c.symbol(0)?);
        flag(reading.is_none_or(|reading| reading.is_doubtful() || removal::is_dangerous(reading)))
    })
    .gives(
        Kind::Unsigned,
        "1 if the command deletes folders with all they hold and without asking, or may: `rm` with `-r` and `-f` in \
         any spelling; `rm` with one of them, or `--no-preserve-root`, on a root, a home, a top folder, `.`, `..`, a pattern or \
         a text not known; `rm` whose options are not known; `find` with `-delete`; and whatever `@cmd_invokes` has in doubt; else 0.",
    ),
];

/// The name that a program goes by: the end of its path in lower case, without `.exe`.
fn program_name(text: &str) -> String {
    let base = text.rsplit('/').next().unwrap_or_default().to_lowercase();
    base.strip_suffix(".exe").map_or(base.clone(), str::to_owned)
}

fn normalized(command: &str) -> String {
    let joined = command.replace("\\\r\n", "").replace("\\\n", "");
    let lines = joined.split(['\n', '\r']).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ; ").to_lowercase()
}
