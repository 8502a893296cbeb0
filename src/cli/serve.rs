//! `gatelog serve`

use std::path::Path;
use std::time::Duration;

use crate::cli::arguments::serve::{ScopeName, Serve, ServeLimits, ServeTask, ServeToken, StorePlace};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::files;
use crate::cli::policy::{self, Audience};
use crate::cli::serving::no_policy;
use crate::cli::settings::caller_and_metadata;
use crate::gate::Gate;
use crate::monitor::Caller;
use crate::policies::PolicySet;
use crate::recording::Parts;
use crate::report::json::FileError;
use crate::report::visible::visible;
use crate::serve::{Limits, NewToken, Peers, Scope, Server, Setup, Tls, Tokens};
use crate::store::Journals;

/// Where spans would be sent, were that built in.
const TRACES: [&str; 2] = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];

/// Serves until a signal says otherwise, or makes a token.
pub(crate) fn run(flags: &Serve, quiet: bool, console: &mut Console<'_>) -> Exit {
    if let Some(ServeTask::Token(flags)) = &flags.task {
        return token(flags, quiet, console);
    }
    let policies = match flags.policy.load() {
        Ok(policies) => policies,
        Err(error) => return policy::report(&no_policy(error), Audience::People, console),
    };
    let setup = match setup(flags, policies, console) {
        Ok(setup) => setup,
        Err(error) => return policy::report_file(&error, Audience::People, console),
    };
    let server = match Server::bind(setup) {
        Ok(server) => server,
        Err(error) => {
            console.say(&format!("error: {}\n", visible(&error.to_string())));
            return Exit::Broken;
        }
    };
    if let Some(name) =
        TRACES.iter().find(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
    {
        console.say(&format!(
            "warning: `{name}` is set, and this build sends no traces: metrics are at /v1/metrics\n"
        ));
    }
    let mut say = |words: &dyn std::fmt::Display, always: bool| {
        if always || !quiet {
            console.say(&format!("{}\n", visible(&words.to_string())));
        }
    };
    for notice in server.notices() {
        say(&notice, notice.is_warning());
    }
    server.run(&mut |notice| say(notice, notice.is_warning()));
    Exit::Done
}

fn setup(flags: &Serve, policies: PolicySet, console: &mut Console<'_>) -> Result<Setup, FileError> {
    let store = match &flags.store {
        Some(StorePlace::Sqlite(path)) => {
            Journals::sqlite(path).map_err(|error| files::unreadable(path, error))?
        }
        Some(StorePlace::Memory) | None => Journals::memory(),
    };
    let (caller, metadata) = caller_and_metadata(&flags.settings, console)?;
    let agents = match &flags.agents {
        None => String::new(),
        Some(path) => files::text(path, console)?,
    };
    let mut gate = Gate::builder()
        .policies(policies)
        .store(store.clone())
        .budget(flags.settings.budget.budget())
        .deadline(Duration::from_millis(flags.deadline))
        .metadata(metadata)
        .parts(if flags.full_parts { Parts::Full } else { Parts::Supported })
        .agents(&agents);
    if let Some(log) = flags.log.open(console)? {
        gate = gate.log(log);
    }
    let gate =
        gate.build().map_err(|error| files::unreadable(&flags.agents.clone().unwrap_or_default(), error))?;
    let reloader = flags.policy.keep(&gate)?;
    let tokens = match &flags.tokens {
        None => None,
        Some(path) => {
            let text = files::text(path, console)?;
            Some(Tokens::read(&text).map_err(|error| files::unreadable(path, error))?)
        }
    };
    let tls = match (&flags.tls_cert, &flags.tls_key) {
        (Some(certificate), Some(key)) => Some(tls(certificate, key, console)?),
        (None, _) | (_, None) => None,
    };
    let (address, peers, limits) =
        (flags.listen.clone(), Peers::new(flags.uids.clone()), limits(&flags.limits));
    let decisions = flags.log.decision_log.clone();
    Ok(Setup { gate, reloader, decisions, store, address, tokens, local: caller, peers, tls, limits })
}

fn tls(certificate: &Path, key: &Path, console: &mut Console<'_>) -> Result<Tls, FileError> {
    let chain = files::bytes(certificate, console)?;
    let secret = files::bytes(key, console)?;
    Tls::new(&chain, &secret).map_err(|error| {
        let path = if matches!(error, crate::serve::TlsError::NoKey) { key } else { certificate };
        files::unreadable(path, error)
    })
}

fn limits(flags: &ServeLimits) -> Limits {
    let seconds = Duration::from_secs;
    Limits {
        body: flags.max_body,
        connections: flags.max_connections,
        requests: flags.max_requests,
        sessions: flags.max_sessions,
        idle_session: seconds(flags.idle_session),
        idle_connection: seconds(flags.idle_connection.max(1)),
        header_time: seconds(flags.header_time.max(1)),
        body_time: seconds(flags.body_time.max(1)),
        request: seconds(flags.request_time.max(1)),
        drain: seconds(flags.drain),
    }
}

fn token(flags: &ServeToken, quiet: bool, console: &mut Console<'_>) -> Exit {
    let caller = Caller {
        principal: Some(flags.principal.clone()),
        roles: flags.roles.clone(),
        entity: None,
        tenant: Some(flags.tenant.clone()),
    };
    let scope = match flags.scope {
        ScopeName::Run => Scope::Run,
        ScopeName::Approve => Scope::Approve,
        ScopeName::Administer => Scope::Administer,
    };
    match NewToken::make(&caller, scope) {
        Ok(made) => {
            console.print(&format!("{}\n", made.token));
            if !quiet {
                console.say(&format!("{}\n", made.line));
            }
            Exit::Done
        }
        Err(error) => {
            console.say(&format!("error: {error}\n"));
            Exit::Broken
        }
    }
}
