//! The words of the command line.

#[cfg(feature = "serve")]
pub(crate) mod serve;

use std::num::NonZero;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

#[cfg(feature = "gate")]
use crate::cli::serving::{LogFlags, PolicyFlags};
use crate::decision::Verdict;
use crate::engine::Budget;
use crate::recording::{Form, Options, Parts};

/// A Datalog policy engine over agent message records.
#[derive(Debug, Parser)]
#[command(
    name = "gatelog",
    version,
    arg_required_else_help = true,
    after_help = "Exit codes: 0 all allowed or passed, 1 something denied, asked or failed, 2 broken policy, input or \
                  session, 3 nothing was checked."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Say nothing but errors; the exit code tells
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Load and check a policy; several files are one policy
    #[command(after_help = "Example: gatelog check policy.dl --deny-warnings")]
    Check(Check),
    /// Lay policies out in the one canonical way; comments stay and the meaning too
    #[command(after_help = "Example: gatelog fmt --check policies")]
    Fmt(Fmt),
    /// Judge every tool call of recorded sessions, each as of the moment it was made
    #[command(after_help = "Example: gatelog replay --policy policy.dl session.json")]
    Replay(Replay),
    /// Judge one request, read as JSON from standard input
    #[command(
        after_help = "Example: echo '{\"tool\":\"pay\",\"args\":{\"amount\":5}}' | gatelog decide --policy policy.dl"
    )]
    Decide(Decide),
    /// Show why a call was decided so: the rules that fired, with the values and records they rest on, or how near the
    /// others came
    #[command(
        after_help = "Without --call or --seq: the last call that is not allowed, or else the last call.\n\n\
                      Exit codes: 0 the call is allowed, 1 it is not, 2 there is no such call, or something is broken.\n\n\
                      Example: gatelog explain --policy policy.dl --session session.json --call c1"
    )]
    Explain(Explain),
    /// Show which recorded calls two policies decide differently, grouped by the rules that make the difference
    #[command(after_help = "OLD and NEW are policy files, or folders of .dl files.\n\n\
                      Exit codes: 0 no call is decided differently, 1 one is; with --allow-only-stricter 1 only where the \
                      new policy lets more through, or asks where the old one denies; 2 broken policy, input or session, 3 nothing was compared.\n\n\
                      Example: gatelog diff old.dl new.dl recordings --allow-only-stricter")]
    Diff(Diff),
    /// Measure how long checks, appends and loads take, on your own policy and recordings
    #[command(
        after_help = "Each check is timed as a replay makes it. Of the slowest, what their conditions looked at is \
                      counted in a further replay, so that counting costs no time.\n\n\
                      Exit codes: 0 measured, 2 broken policy or input, 3 no call was judged.\n\n\
                      Example: gatelog bench --policy policy.dl recordings --runs 20"
    )]
    Bench(Bench),
    /// Show what recordings become: one line for each record
    #[command(after_help = "Example: gatelog records session.json")]
    Records(Records),
    /// Show the rows of relations at the end of a session, or at one of its calls
    #[command(
        after_help = "Example: gatelog facts --policy policy.dl --session session.json ToolResult --call c1"
    )]
    Facts(Facts),
    /// List the sessions of a session database, or export them as session documents
    #[cfg(feature = "sqlite")]
    #[command(
        after_help = "The database is read from a private copy: nothing beside it is written, and its writer never waits. An \
                      export holds what the database holds, credentials included, in DIR/APP/USER/ID.json.\n\n\
                      Exit codes: 0 done, 2 a session or the database cannot be read or written, 3 there is no session.\n\n\
                      Example: gatelog import --from adk-sqlite sessions.db --session-id s-1 -o recordings"
    )]
    Import(Import),
    /// Judge the calls of a runner while it runs, a message a line on standard input, an answer a line on standard output
    #[cfg(feature = "gate")]
    #[command(
        after_help = "Exit codes: 0 the input ended, 2 the policy or the store is broken, or a message is too long.\n\n\
                      Example: gatelog hook --stdio --policy policy.dl --store gate.db"
    )]
    Hook(Hook),
    /// Judge the calls of runners that ask over HTTP, until SIGTERM or SIGINT
    #[cfg(feature = "serve")]
    #[command(
        subcommand_negates_reqs = true,
        args_conflicts_with_subcommands = true,
        after_help = "Without --tokens only this machine is served, for the scope `run` alone. Every flag with a GATELOG_ \
                      name is read from the environment where it is not given. SIGTERM or SIGINT ends the service once \
                      the requests under way are answered; a second one ends it at once.\n\n\
                      Exit codes: 0 it ended on a signal, 2 it did not start.\n\n\
                      Example: gatelog serve --policy policies --store sqlite:gatelog.db --tokens tokens.json"
    )]
    Serve(Box<serve::Serve>),
    /// Look after folders of policies that gates serve
    #[cfg(feature = "gate")]
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Say whether a decision log is whole: every line as it was written, and each after the one before, over all its files
    #[cfg(feature = "gate")]
    #[command(
        after_help = "The log is named by its file; those that are full are beside it and found by themselves, others can be \
                      named in any order. The head that is printed is an anchor: keep it elsewhere, and give it to a later \
                      run, which then finds what was cut off or written anew before it.\n\n\
                      Exit codes: 0 it is whole, 2 it is broken or cannot be read.\n\n\
                      Example: gatelog verify-log decisions.jsonl --head 5b9d…"
    )]
    VerifyLog(VerifyLog),
    /// Look after the journals of gates
    #[cfg(feature = "sqlite")]
    #[command(subcommand)]
    Journal(Journal),
    /// Run a program as plain Datalog: fact files in, the rows of its outputs out
    #[command(
        after_help = "Reads `.input` relations from NAME.facts in the folder of facts, tab-separated, or as their \
                      parameters say (filename, delimiter, headers, columns, rfc4180, IO=stdin). Writes `.output` \
                      relations to NAME.csv in the folder of outputs, or to standard output without one. The prelude's \
                      relations are there and empty, unless --no-prelude leaves them out.\n\n\
                      Exit codes: 0 done, 1 evaluation failed, 2 broken program or facts.\n\n\
                      Example: gatelog eval --no-prelude -F facts -D out paths.dl"
    )]
    Eval(Eval),
    /// Run policy tests (*.test.yaml, *.test.yml, *.test.json)
    #[command(after_help = "Example: gatelog test policies --filter payment")]
    Test(Test),
    /// Serve an editor over standard input and output (language server protocol)
    #[cfg(feature = "lsp")]
    #[command(after_help = "Example: point the editor's language client for .dl files at `gatelog lsp`")]
    Lsp,
    /// Show the version
    #[command(after_help = "Example: gatelog version --json")]
    Version {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Policy files, or folders of .dl files
    #[arg(required_unless_present = "explain", value_name = "POLICY")]
    pub(crate) policies: Vec<PathBuf>,
    /// How to print findings: sarif is for code scanners, github for its workflow logs
    #[arg(short, long, value_enum, default_value = "text")]
    pub(crate) format: FindingsFormat,
    /// Write what findings offer to mend into the policy files, and check again
    #[arg(long)]
    pub(crate) fix: bool,
    /// Tell what a code means and how to mend what it is about, with examples
    #[arg(long, value_name = "CODE")]
    pub(crate) explain: Option<String>,
    /// Exit with 1 on warnings
    #[arg(long)]
    pub(crate) deny_warnings: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Fmt {
    /// Policy files, or folders of .dl files; - is standard input, laid out to standard output
    #[arg(required = true, value_name = "POLICY")]
    pub(crate) policies: Vec<PathBuf>,
    /// Write nothing: name the files that would change, and exit with 1 if there are any
    #[arg(long)]
    pub(crate) check: bool,
    /// Write nothing: show what would change
    #[arg(long)]
    pub(crate) diff: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    #[command(flatten)]
    pub(crate) policy: PolicyFiles,
    /// Recordings, or folders of them; - is standard input
    #[arg(required = true, value_name = "RECORDING")]
    pub(crate) recordings: Vec<PathBuf>,
    /// How to print verdicts
    #[arg(short, long, value_enum, default_value = "text")]
    pub(crate) format: ReplayFormat,
    /// Show only calls of this verdict; repeatable
    #[arg(long, value_enum, value_name = "VERDICT")]
    pub(crate) only: Vec<VerdictName>,
    /// Take what ran from the decision log of the gate, and not from the recordings: an answer to a call that it never
    /// allowed is no evidence; its full files are found beside it
    #[cfg(feature = "gate")]
    #[arg(long = "log", value_name = "DECISIONS")]
    pub(crate) logs: Vec<PathBuf>,
    /// The key of that log: arguments that were checked are compared with the recorded ones
    #[cfg(feature = "gate")]
    #[arg(long, value_name = "FILE", requires = "logs")]
    pub(crate) log_key: Option<PathBuf>,
    /// Exit with 1 where something had to be assumed
    #[arg(long)]
    pub(crate) strict: bool,
    /// Exit with 0 where there was no call to check
    #[arg(long)]
    pub(crate) allow_empty: bool,
    /// How many files are replayed at once; as many as there are cores, unless said otherwise
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<NonZero<usize>>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) settings: Settings,
}

#[derive(Debug, Args)]
pub(crate) struct Decide {
    #[command(flatten)]
    pub(crate) policy: PolicyFiles,
    /// The session so far
    #[arg(short, long, value_name = "RECORDING")]
    pub(crate) session: Option<PathBuf>,
    /// How to print the verdict
    #[arg(short, long, value_enum, default_value = "text")]
    pub(crate) format: DocumentFormat,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) settings: Settings,
}

#[derive(Debug, Args)]
pub(crate) struct Records {
    /// Recordings, or folders of them; - is standard input
    #[arg(required = true, value_name = "RECORDING")]
    pub(crate) recordings: Vec<PathBuf>,
    /// How to print records; jsonl has all of them in full, inputs as runs of record numbers
    #[arg(short, long, value_enum, default_value = "text")]
    pub(crate) format: RecordsFormat,
    /// Show ids, names, contents and inputs in full, however long the lines
    #[arg(short, long)]
    pub(crate) wide: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Facts {
    #[command(flatten)]
    pub(crate) policy: PolicyFiles,
    /// The session
    #[arg(short, long, value_name = "RECORDING")]
    pub(crate) session: PathBuf,
    /// Relations to show; without any, all that have rows
    #[arg(value_name = "RELATION")]
    pub(crate) relations: Vec<String>,
    /// At the moment of the call of this id; a beginning will do where no other id begins so
    #[arg(long, value_name = "ID", conflicts_with = "seq")]
    pub(crate) call: Option<String>,
    /// At the moment of the call that is record N
    #[arg(long, value_name = "N")]
    pub(crate) seq: Option<u32>,
    /// How to print rows: tsv is a row a line with control characters escaped, csv and json are exact
    #[arg(short, long, value_enum, default_value = "tsv")]
    pub(crate) format: RowsFormat,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) settings: Settings,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The policy there was
    #[arg(value_name = "OLD")]
    pub(crate) old: PathBuf,
    /// The policy that would come
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,
    /// Recordings, or folders of them; - is standard input
    #[arg(required = true, value_name = "RECORDING")]
    pub(crate) recordings: Vec<PathBuf>,
    /// Exit with 0 where no call is let through that was not before
    #[arg(long)]
    pub(crate) allow_only_stricter: bool,
    /// How to print the differences
    #[arg(short, long, value_enum, default_value = "text")]
    pub(crate) format: DocumentFormat,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) settings: Settings,
}

#[derive(Debug, Args)]
pub(crate) struct Bench {
    #[command(flatten)]
    pub(crate) policy: PolicyFiles,
    /// Recordings, or folders of them; - is standard input
    #[arg(required = true, value_name = "RECORDING")]
    pub(crate) recordings: Vec<PathBuf>,
    /// How often everything is measured
    #[arg(long, value_name = "N", default_value = "5")]
    pub(crate) runs: NonZero<usize>,
    /// How to print the figures
    #[arg(short, long, value_enum, default_value = "text")]
    pub(crate) format: DocumentFormat,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) settings: Settings,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    #[command(flatten)]
    pub(crate) policy: PolicyFiles,
    /// The session
    #[arg(short, long, value_name = "RECORDING")]
    pub(crate) session: PathBuf,
    /// The call of this id; a beginning will do where no other id begins so
    #[arg(long, value_name = "ID", conflicts_with = "seq")]
    pub(crate) call: Option<String>,
    /// The call that is record N
    #[arg(long, value_name = "N")]
    pub(crate) seq: Option<u32>,
    /// The check of this ticket, in the journal of a gate
    #[arg(long, value_name = "TICKET", conflicts_with_all = ["call", "seq", "cost"])]
    pub(crate) check: Option<String>,
    /// How to print the proof: dot is for Graphviz, mermaid for Markdown pages
    #[arg(short, long, value_enum, default_value = "text")]
    pub(crate) format: ProofFormat,
    /// Show what judging the call looked at instead: tuples by condition, those that cost most first
    #[arg(long)]
    pub(crate) cost: bool,
    /// Cut nothing: every step of a chain, every record of a path, values in full
    #[arg(long)]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) settings: Settings,
}

#[cfg(feature = "sqlite")]
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["list", "output"]))]
pub(crate) struct Import {
    /// The database
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// What kind of store it is
    #[arg(long, value_enum, value_name = "KIND", default_value = "adk-sqlite")]
    pub(crate) from: StoreName,
    /// List its sessions: app, user, id, number of events, time of the last update
    #[arg(long)]
    pub(crate) list: bool,
    /// Only the session of that id, or named APP/USER/ID; repeatable
    #[arg(long = "session-id", value_name = "ID")]
    pub(crate) sessions: Vec<String>,
    /// Export the sessions into this folder
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite files that are there
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// How to print the list
    #[arg(short, long, value_enum, default_value = "text")]
    pub(crate) format: DocumentFormat,
}

#[cfg(feature = "gate")]
#[derive(Debug, Args)]
pub(crate) struct Hook {
    #[command(flatten)]
    pub(crate) policy: PolicyFlags,
    #[command(flatten)]
    pub(crate) log: LogFlags,
    /// Talk on standard input and output
    #[arg(long, required = true)]
    pub(crate) stdio: bool,
    /// Where journals are kept, a SQLite file; without it they are gone with the process
    #[arg(long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
    /// How many milliseconds a verdict may take
    #[arg(long, value_name = "MS", default_value_t = 2000)]
    pub(crate) deadline: u64,
    /// Record all parts of messages, and do not stop at data, files and code
    #[arg(long)]
    pub(crate) full_parts: bool,
    /// What agents are shown beside a session, see `replay --help`
    #[arg(long, value_name = "FILE")]
    pub(crate) agents: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: Settings,
}

#[cfg(feature = "gate")]
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Write the manifest of a folder, with the digests of its policy files as they are now
    #[command(
        after_help = "Where there is no manifest, all files of the folder are one policy, which is enforced for all tenants. \
                      What a manifest says of policies stays: edit it, and write it again.\n\n\
                      Exit codes: 0 done, 2 the folder could not be served, and nothing is written.\n\n\
                      Example: gatelog policy manifest policies"
    )]
    Manifest(PolicyManifest),
    /// Load a folder as a gate would, and name what would serve
    #[command(
        after_help = "Exit codes: 0 it can be served, 2 it cannot.\n\nExample: gatelog policy verify policies"
    )]
    Verify(PolicyVerify),
}

#[cfg(feature = "gate")]
#[derive(Debug, Args)]
pub(crate) struct PolicyManifest {
    /// The folder
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Confirm that these policies may take the place of ones that deny what no rule of theirs denies
    #[arg(long)]
    pub(crate) drop_denials: bool,
}

#[cfg(feature = "gate")]
#[derive(Debug, Args)]
pub(crate) struct PolicyVerify {
    /// The folder
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

#[cfg(feature = "gate")]
#[derive(Debug, Args)]
pub(crate) struct VerifyLog {
    /// Files of a log
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// A hash that some line has to have, as an earlier run printed it
    #[arg(long, value_name = "HASH")]
    pub(crate) head: Option<String>,
}

/// What is done with verdicts.
#[cfg(feature = "gate")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeName {
    /// Only allowed calls may run
    Enforce,
    /// Calls run whatever their verdicts are
    Advise,
}

#[cfg(feature = "sqlite")]
#[derive(Debug, Subcommand)]
pub(crate) enum Journal {
    /// Say of each journal whether it is whole: every line as it was written, and each after the one before
    #[command(
        after_help = "Exit codes: 0 all are whole, 2 one is broken or cannot be read, 3 there is none.\n\n\
                      Example: gatelog journal verify gate.db"
    )]
    Verify(JournalVerify),
    /// Print the journal of a session, which `replay`, `records`, `facts` and `decide` read
    #[command(after_help = "Example: gatelog journal export gate.db --session-id s-1 > s-1.jsonl")]
    Export(JournalExport),
}

#[cfg(feature = "sqlite")]
#[derive(Debug, Args)]
pub(crate) struct JournalVerify {
    /// Journals, or stores of them
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The hash that the last line has to have, as an earlier run printed it
    #[arg(long, value_name = "HASH")]
    pub(crate) head: Option<String>,
}

#[cfg(feature = "sqlite")]
#[derive(Debug, Args)]
pub(crate) struct JournalExport {
    /// The store
    #[arg(value_name = "STORE")]
    pub(crate) store: PathBuf,
    /// The session of that id, or named TENANT/APP/USER/ID; not needed where there is one alone
    #[arg(long = "session-id", value_name = "ID")]
    pub(crate) session: Option<String>,
}

/// The kinds of stores.
#[cfg(feature = "sqlite")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StoreName {
    /// The SQLite file of a session service
    AdkSqlite,
}

#[derive(Debug, Args)]
pub(crate) struct Eval {
    /// The program; - is standard input
    #[arg(value_name = "FILE")]
    pub(crate) program: PathBuf,
    /// Leave the prelude out: nothing is there but what the program declares
    #[arg(long)]
    pub(crate) no_prelude: bool,
    /// Folder of fact files
    #[arg(short = 'F', long = "facts", value_name = "FACTDIR", default_value = ".")]
    pub(crate) facts: PathBuf,
    /// Folder of outputs; without it, or with -, they are printed
    #[arg(short = 'D', long = "outputs", value_name = "OUTDIR")]
    pub(crate) outputs: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) budget: BudgetFlags,
}

#[derive(Debug, Args)]
pub(crate) struct Test {
    /// Test files, or folders of them
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Run only cases whose name, or whose file's name, contains this
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// How to print results
    #[arg(short, long, value_enum, default_value = "text")]
    pub(crate) format: DocumentFormat,
    /// Name passed cases too
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Exit with 0 where there was no case to run
    #[arg(long)]
    pub(crate) allow_empty: bool,
    #[command(flatten)]
    pub(crate) budget: BudgetFlags,
}

/// How recordings are read.
#[derive(Debug, Args)]
pub(crate) struct Reading {
    /// The form of the recordings, where it is not to be told from their content
    #[arg(long, value_name = "KIND", value_parser = forms())]
    pub(crate) from: Option<Form>,
    /// What is read of messages: with `supported` a session stops at data, files, code and calls that the model's own
    /// server made
    #[arg(long, value_enum, value_name = "PARTS", default_value = "supported")]
    pub(crate) parts: PartsName,
    /// Only the session of that id, or the case of an eval set, where a file holds several; repeatable
    #[arg(long = "session-id", value_name = "ID")]
    pub(crate) sessions: Vec<String>,
    /// What agents are shown beside a session, as YAML or JSON: `agents: [{name: writer, include_contents: none,
    /// instruction: "Use {decision}", output_key: draft, tools: [pay]}]`
    #[arg(long, value_name = "FILE")]
    pub(crate) agents: Option<PathBuf>,
}

fn forms() -> impl TypedValueParser<Value = Form> {
    PossibleValuesParser::new(Form::ALL.iter().map(|form| PossibleValue::new(form.name()).help(form.words())))
        .try_map(|name| Form::named(&name).ok_or("there is no such form"))
}

impl Reading {
    pub(crate) fn options(&self) -> Options {
        let parts = match self.parts {
            PartsName::Supported => Parts::Supported,
            PartsName::Full => Parts::Full,
        };
        Options { form: self.from, parts }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PartsName {
    Supported,
    Full,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyFiles {
    /// Policy file, or folder of .dl files; several are one policy
    #[arg(short, long = "policy", value_name = "POLICY", required = true)]
    pub(crate) policies: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Settings {
    /// Who asks
    #[arg(long, value_name = "NAME", default_value = "local")]
    pub(crate) principal: String,
    /// A role of who asks; repeatable
    #[arg(long = "role", value_name = "ROLE")]
    pub(crate) roles: Vec<String>,
    /// The label of who asks
    #[arg(long, value_name = "LABEL")]
    pub(crate) entity: Option<String>,
    /// The tenant of who asks
    #[arg(long, value_name = "TENANT", default_value = "default")]
    pub(crate) tenant: String,
    /// Nobody is signed in
    #[arg(long)]
    pub(crate) anonymous: bool,
    /// Rows of PolicyMetadata: a JSON or YAML list of lists of three texts, or lines of three texts between tabs (.tsv,
    /// .facts)
    #[arg(long, value_name = "FILE")]
    pub(crate) metadata: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) budget: BudgetFlags,
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct BudgetFlags {
    /// Most derived tuples of one check
    #[arg(long, value_name = "N", default_value_t = Budget::default().tuples)]
    max_tuples: u64,
    /// Most bytes of derived tuples, texts and values of one check
    #[arg(long, value_name = "N", default_value_t = Budget::default().bytes)]
    max_bytes: u64,
}

impl BudgetFlags {
    pub(crate) fn budget(self) -> Budget {
        Budget { tuples: self.max_tuples, bytes: self.max_bytes, ..Budget::default() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DocumentFormat {
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProofFormat {
    Text,
    Json,
    Dot,
    Mermaid,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FindingsFormat {
    Text,
    Json,
    Sarif,
    Github,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReplayFormat {
    Text,
    Json,
    Jsonl,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordsFormat {
    Text,
    Jsonl,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowsFormat {
    Tsv,
    Csv,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum VerdictName {
    Allow,
    Ask,
    Deny,
}

impl From<VerdictName> for Verdict {
    fn from(name: VerdictName) -> Self {
        match name {
            VerdictName::Allow => Self::Allow,
            VerdictName::Ask => Self::Ask,
            VerdictName::Deny => Self::Deny,
        }
    }
}
