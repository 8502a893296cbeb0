//! The words of `gatelog serve`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::arguments::Settings;
use crate::cli::serving::{LogFlags, PolicyFlags};
use crate::serve::Address;

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(subcommand)]
    pub(crate) task: Option<ServeTask>,
    #[command(flatten)]
    pub(crate) policy: PolicyFlags,
    #[command(flatten)]
    pub(crate) log: LogFlags,
    /// Where to listen: 127.0.0.1:7474, [::1]:7474 or unix:/path.sock
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7474", env = "GATELOG_LISTEN")]
    pub(crate) listen: Address,
    /// Where journals are kept: sqlite:FILE, or memory, which is gone with the process
    #[arg(long, value_name = "STORE", required = true, env = "GATELOG_STORE")]
    pub(crate) store: Option<StorePlace>,
    /// Who may ask, a list of tokens as `gatelog serve token` prints them
    #[arg(long, value_name = "FILE", env = "GATELOG_TOKENS")]
    pub(crate) tokens: Option<PathBuf>,
    /// The certificate of the service with those that vouch for it, PEM
    #[arg(long, value_name = "FILE", requires = "tls_key", env = "GATELOG_TLS_CERT")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Its private key, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert", env = "GATELOG_TLS_KEY")]
    pub(crate) tls_key: Option<PathBuf>,
    /// A user of this machine, by number, whose processes may ask through a Unix socket beside the service's own;
    /// repeatable
    #[arg(long = "allow-uid", value_name = "UID", env = "GATELOG_ALLOW_UID", value_delimiter = ',')]
    pub(crate) uids: Vec<u32>,
    /// How many milliseconds a verdict may take
    #[arg(long, value_name = "MS", default_value_t = 2000, env = "GATELOG_DEADLINE")]
    pub(crate) deadline: u64,
    /// Record all parts of messages, and do not stop at data, files and code
    #[arg(long)]
    pub(crate) full_parts: bool,
    /// What agents are shown beside a session, see `replay --help`
    #[arg(long, value_name = "FILE", env = "GATELOG_AGENTS")]
    pub(crate) agents: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) limits: ServeLimits,
    /// Who asks where there are no tokens
    #[command(flatten, next_help_heading = "Callers without tokens, and rules for all")]
    pub(crate) settings: Settings,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct ServeLimits {
    /// Bytes of the body of a request
    #[arg(long, value_name = "BYTES", default_value_t = 4 << 20, env = "GATELOG_MAX_BODY")]
    pub(crate) max_body: usize,
    /// Connections at once; fewer where the system lets the process open fewer files
    #[arg(long, value_name = "N", default_value_t = 10_000, env = "GATELOG_MAX_CONNECTIONS")]
    pub(crate) max_connections: usize,
    /// Requests at once; more are answered with 503
    #[arg(long, value_name = "N", default_value_t = 512, env = "GATELOG_MAX_REQUESTS")]
    pub(crate) max_requests: usize,
    /// Sessions of one tenant in memory; more are answered with 429
    #[arg(long, value_name = "N", default_value_t = 10_000, env = "GATELOG_MAX_SESSIONS")]
    pub(crate) max_sessions: usize,
    /// Seconds that a session stays in memory which nobody asks about
    #[arg(long, value_name = "S", default_value_t = 300, env = "GATELOG_IDLE_SESSION")]
    pub(crate) idle_session: u64,
    /// Seconds that a connection stays open on which nothing moves
    #[arg(long, value_name = "S", default_value_t = 60, env = "GATELOG_IDLE_CONNECTION")]
    pub(crate) idle_connection: u64,
    /// Seconds in which the head of a request has to come
    #[arg(long, value_name = "S", default_value_t = 10, env = "GATELOG_HEADER_TIME")]
    pub(crate) header_time: u64,
    /// Seconds in which its body has to come
    #[arg(long, value_name = "S", default_value_t = 20, env = "GATELOG_BODY_TIME")]
    pub(crate) body_time: u64,
    /// Seconds in which a request has to be answered
    #[arg(long, value_name = "S", default_value_t = 30, env = "GATELOG_REQUEST_TIME")]
    pub(crate) request_time: u64,
    /// Seconds that requests under way may take at the end
    #[arg(long, value_name = "S", default_value_t = 30, env = "GATELOG_DRAIN")]
    pub(crate) drain: u64,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServeTask {
    /// Make a token: the token itself on standard output, its object for the file of tokens on standard error
    #[command(
        after_help = "The token is kept nowhere: give it to its holder, and the object to the file of tokens.\n\n\
                      Example: gatelog serve token --principal runner --tenant acme --scope run"
    )]
    Token(ServeToken),
}

#[derive(Debug, Args)]
pub(crate) struct ServeToken {
    /// Who holds it
    #[arg(long, value_name = "NAME")]
    pub(crate) principal: String,
    /// A role of its holder; repeatable
    #[arg(long = "role", value_name = "ROLE")]
    pub(crate) roles: Vec<String>,
    /// The tenant whose sessions it is for
    #[arg(long, value_name = "TENANT", default_value = "default")]
    pub(crate) tenant: String,
    /// What it is for
    #[arg(long, value_enum, value_name = "SCOPE", default_value = "run")]
    pub(crate) scope: ScopeName,
}

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeName {
    /// Runs sessions: events, checks, results
    Run,
    /// Answers asks for a person
    Approve,
    /// Looks after the gate
    Administer,
}

/// Where journals are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StorePlace {
    /// In a SQLite file.
    Sqlite(PathBuf),
    /// In memory.
    Memory,
}

impl FromStr for StorePlace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("sqlite", file)) if !file.is_empty() => Ok(Self::Sqlite(file.into())),
            Some(("postgres" | "postgresql", _)) => {
                Err("PostgreSQL is not there as a store: write `sqlite:FILE` or `memory`".to_owned())
            }
            None if text == "memory" => Ok(Self::Memory),
            _ => Err("write `sqlite:FILE` or `memory`".to_owned()),
        }
    }
}
