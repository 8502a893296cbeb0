//! What is done for each address.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::HeaderValue;
use tokio::task::spawn_blocking;
use tokio::time::Instant;
use url::form_urlencoded;

use crate::gate::{Appended, GateError, GatedSession};
use crate::recording::journal::{Entry, Head, SessionKey};
use crate::serve::answers::{Answer, document, done, text};
use crate::serve::metrics;
use crate::serve::openapi;
use crate::serve::problem::{JSON, Problem};
use crate::serve::seats::Seat;
use crate::serve::server::Service;
use crate::serve::tokens::{Holder, Scope};
use crate::serve::wire::{
    AppendAnswer, AppendedName, Check, CheckAnswer, Confirm, Events, Finish, Health, Named, Request,
    SessionAnswer, SessionList, SessionName, SessionRow, Touch,
};

/// Sessions of a list, where its asker names no number.
const LISTED: usize = 100;

/// The version of the service.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Most sessions of a list.
const MOST_LISTED: usize = 1000;

/// The session, which is opened where it is not there. It is the holder's.
async fn own(service: &Service, holder: &Holder, name: SessionName) -> Result<GatedSession, Problem> {
    let key = name.key(holder.tenant())?;
    if let Some(seat) = service.seats.seat(&key) {
        return owned(holder, seat);
    }
    service.seats.room(holder.tenant())?;
    let opened = service.gate.open(key.clone(), &holder.caller).await;
    let seat = match opened {
        Ok(session) => Seat { session, caller: holder.caller.clone() },
        Err(GateError::OtherCaller) => {
            let (session, caller) = service.gate.find(key.clone()).await?;
            return owned(holder, Seat { session, caller });
        }
        Err(error) => return Err(error.into()),
    };
    service.seats.keep(key, seat.clone());
    Ok(seat.session)
}

/// The session, which is there.
async fn known(service: &Service, key: SessionKey) -> Result<Seat, Problem> {
    if let Some(seat) = service.seats.seat(&key) {
        return Ok(seat);
    }
    service.seats.room(&key.tenant)?;
    let (session, caller) = service.gate.find(key.clone()).await?;
    let seat = Seat { session, caller };
    service.seats.keep(key, seat.clone());
    Ok(seat)
}

/// The session, which is there and the holder's.
async fn known_own(service: &Service, holder: &Holder, name: SessionName) -> Result<GatedSession, Problem> {
    owned(holder, known(service, name.key(holder.tenant())?).await?)
}

/// The session of a seat, if it is the holder's.
fn owned(holder: &Holder, seat: Seat) -> Result<GatedSession, Problem> {
    if seat.caller.principal != holder.caller.principal {
        return Err(Problem::no_session());
    }
    let sorted = |roles: &[String]| roles.iter().cloned().collect::<std::collections::BTreeSet<_>>();
    if sorted(&seat.caller.roles) != sorted(&holder.caller.roles) {
        let text = "the session was opened under other roles than you have now: open one of another name";
        return Err(Problem::new(StatusCode::CONFLICT, "other_roles", text));
    }
    Ok(seat.session)
}

/// Whether the holder sees all sessions of its tenant, and not its own alone.
fn sees_all(holder: &Holder) -> bool {
    holder.may(Scope::Approve) || holder.may(Scope::Administer)
}

/// What a session is called, who runs it, and how far it is known.
async fn described(key: &SessionKey, seat: &Seat) -> Result<Answer, Problem> {
    let (events, digest) = seat.session.history().await?;
    let session = SessionName::of(key);
    let (principal, roles) = (seat.caller.principal.clone(), seat.caller.roles.clone());
    Ok(document(&SessionAnswer { session, principal, roles, events, digest }))
}

/// The service lives.
#[utoipa::path(get, path = "/v1/healthz", responses((status = 200, body = Health)), security(()))]
pub(crate) fn health() -> Answer {
    document(&Health { status: "ok", version: VERSION, policy: None, refused: None })
}

/// The service takes requests, and reads its store.
#[utoipa::path(get, path = "/v1/readyz", responses((status = 200, body = Health)), security(()))]
pub(crate) async fn ready(service: &Arc<Service>) -> Result<Answer, Problem> {
    if service.is_draining() {
        return Err(Problem::busy("draining", "the service is about to end"));
    }
    let store = service.store.clone();
    let read = spawn_blocking(move || store.first(&SessionKey::default())).await;
    match read {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => return Err(Problem::busy("store", error.to_string())),
        Err(_) => return Err(Problem::busy("store", "the store was not read")),
    }
    if let Some(fault) = service.gate.log().and_then(|log| log.fault) {
        return Err(Problem::busy("log", fault));
    }
    let serving = service.gate.serving();
    let refused = serving.refused.map(|refused| refused.why);
    Ok(document(&Health { status: "ok", version: VERSION, policy: Some(serving.policies), refused }))
}

/// This document.
#[utoipa::path(get, path = "/v1/openapi.json", responses((status = 200, body = Object)), security(()))]
pub(crate) fn openapi() -> Answer {
    text(openapi::document() + "\n", JSON)
}

/// Counts, as Prometheus reads them.
#[utoipa::path(get, path = "/v1/metrics",
    responses((status = 200, body = String, content_type = "application/openmetrics-text")))]
pub(crate) fn metrics(service: &Service) -> Result<Answer, Problem> {
    let serving = service.gate.serving();
    let (sessions, commits) = (service.seats.count(), service.store.commits());
    let written = service.metrics.text(sessions, commits, serving.policies, serving.refused.is_some());
    let written = written
        .map_err(|_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "metrics", "the counts have no text"))?;
    Ok(text(written, HeaderValue::from_static(metrics::TYPE)))
}

/// Lists sessions: the asker's own, or, with the scope `approve` or `administer`, all of its tenant.
#[utoipa::path(get, path = "/v1/sessions",
    params(
        ("limit" = Option<usize>, Query, description = "How many are looked through, 1 to 1000"),
        ("after_app" = Option<String>, Query, description = "With the two others, the session after which the list begins"),
        ("after_user" = Option<String>, Query),
        ("after_session" = Option<String>, Query),
    ),
    responses((status = 200, body = SessionList)))]
pub(crate) async fn sessions(
    service: &Arc<Service>,
    holder: &Holder,
    query: &str,
) -> Result<Answer, Problem> {
    let mut after = SessionKey { tenant: holder.tenant().to_owned(), ..SessionKey::default() };
    let mut most = LISTED;
    for (key, value) in form_urlencoded::parse(query.as_bytes()) {
        match &*key {
            "after_app" => after.app = value.into_owned(),
            "after_user" => after.user = value.into_owned(),
            "after_session" => after.session = value.into_owned(),
            "limit" => {
                most = value.parse().ok().filter(|limit| (1..=MOST_LISTED).contains(limit)).ok_or_else(
                    || Problem::bad("bad_query", format!("`limit` is a number from 1 to {MOST_LISTED}")),
                )?;
            }
            _ => return Err(unknown_key("`limit`, `after_app`, `after_user`, `after_session`")),
        }
    }
    let store = service.store.clone();
    let read = spawn_blocking(move || store.openings(&after, most)).await;
    let openings = read.map_err(|_| GateError::BrokenOff)?.map_err(GateError::from)?;
    let next = openings.last().filter(|_| openings.len() == most).map(|(key, _)| SessionName::of(key));
    let rows = openings.iter().filter_map(|(key, line)| {
        // A session whose opening is broken is nobody's.
        let Ok(Entry::Open(opening)) = Head::default().read(line) else { return None };
        let is_own = opening.principal == holder.caller.principal;
        (is_own || sees_all(holder))
            .then(|| SessionRow { session: SessionName::of(key), principal: opening.principal })
    });
    Ok(document(&SessionList { sessions: rows.collect(), next }))
}

fn unknown_key(known: &str) -> Problem {
    Problem::bad("bad_query", format!("the query has a key that means nothing here: write {known}"))
}

/// How far a session is known: how many events, and the digest of their ids.
#[utoipa::path(get, path = "/v1/sessions/history",
    params(
        ("app" = Option<String>, Query, description = "The application"),
        ("user" = Option<String>, Query, description = "Its end user"),
        ("session" = String, Query, description = "The session itself"),
    ),
    responses((status = 200, body = SessionAnswer)))]
pub(crate) async fn history(service: &Arc<Service>, holder: &Holder, query: &str) -> Result<Answer, Problem> {
    let mut name = SessionName { app: String::new(), user: String::new(), session: String::new() };
    for (key, value) in form_urlencoded::parse(query.as_bytes()) {
        match &*key {
            "app" => name.app = value.into_owned(),
            "user" => name.user = value.into_owned(),
            "session" => name.session = value.into_owned(),
            _ => return Err(unknown_key("`app`, `user`, `session`")),
        }
    }
    let key = name.key(holder.tenant())?;
    let seat = known(service, key.clone()).await?;
    if !sees_all(holder) {
        owned(holder, seat.clone())?;
    }
    described(&key, &seat).await
}

/// Opens a session, or takes it up again.
#[utoipa::path(post, path = "/v1/sessions", request_body = Named,
    responses((status = 200, body = SessionAnswer)))]
pub(crate) async fn open(service: &Arc<Service>, holder: &Holder, body: Named) -> Result<Answer, Problem> {
    let key = body.session.clone().key(holder.tenant())?;
    let session = own(service, holder, body.session).await?;
    described(&key, &Seat { session, caller: holder.caller.clone() }).await
}

/// Tells of events, in their order. Those that are known already change nothing, so that it can be sent again.
#[utoipa::path(post, path = "/v1/events", request_body = Events,
    responses((status = 200, body = AppendAnswer)))]
pub(crate) async fn append(service: &Arc<Service>, holder: &Holder, body: Events) -> Result<Answer, Problem> {
    let session = own(service, holder, body.session).await?;
    let mut appended = Vec::with_capacity(body.events.len());
    for (at, event) in body.events.iter().enumerate() {
        match session.append(event.get()).await {
            Ok(Appended::New) => {
                service.metrics.appended();
                appended.push(AppendedName::New);
            }
            Ok(Appended::Known) => appended.push(AppendedName::Known),
            Err(error) => return Err(Problem { event: Some(at), ..error.into() }),
        }
    }
    let (events, digest) = session.history().await?;
    Ok(document(&AppendAnswer { appended, events, digest }))
}

/// Tells what a model is about to read.
#[utoipa::path(post, path = "/v1/model-requests", request_body = Request, responses((status = 204)))]
pub(crate) async fn model_request(
    service: &Arc<Service>,
    holder: &Holder,
    body: Request,
) -> Result<Answer, Problem> {
    let session = own(service, holder, body.session).await?;
    session.model_request(&body.agent, &body.invocation, body.request.get()).await?;
    Ok(done())
}

/// Asks whether a call may run now.
#[utoipa::path(post, path = "/v1/checks", request_body = Check, responses((status = 200, body = CheckAnswer<'_>)))]
pub(crate) async fn check(service: &Arc<Service>, holder: &Holder, body: Check) -> Result<Answer, Problem> {
    let start = Instant::now();
    let session = own(service, holder, body.session.clone()).await?;
    let checked = session.check(body.question()).await;
    service.metrics.check(checked.decision.verdict, start.elapsed());
    Ok(document(&CheckAnswer::new(&checked)))
}

/// Tells what became of a checked call.
#[utoipa::path(post, path = "/v1/results", request_body = Finish, responses((status = 204)))]
pub(crate) async fn finish(service: &Arc<Service>, holder: &Holder, body: Finish) -> Result<Answer, Problem> {
    let ending = body.ending()?;
    let session = known_own(service, holder, body.session).await?;
    session.finish(&body.ticket, ending, body.args.as_deref().map(|args| args.get())).await?;
    Ok(done())
}

/// A person answers a check that asked. Needs the scope `approve`; an answer of the principal that runs the session counts
/// for rules with `@ask self` alone.
#[utoipa::path(post, path = "/v1/confirmations", request_body = Confirm, responses((status = 204)))]
pub(crate) async fn confirm(
    service: &Arc<Service>,
    holder: &Holder,
    body: Confirm,
) -> Result<Answer, Problem> {
    let seat = known(service, body.session.key(holder.tenant())?).await?;
    seat.session.confirm(&body.ticket, body.yes, holder.caller.principal.as_deref()).await?;
    Ok(done())
}

/// A running call is about to read a value. An answer of 403 says that it must not get it.
#[utoipa::path(post, path = "/v1/resources/read", request_body = Touch, responses((status = 204)))]
pub(crate) async fn read(service: &Arc<Service>, holder: &Holder, body: Touch) -> Result<Answer, Problem> {
    let session = known_own(service, holder, body.session.clone()).await?;
    session.read(body.access()?).await?;
    Ok(done())
}

/// A running call wrote a value.
#[utoipa::path(post, path = "/v1/resources/write", request_body = Touch, responses((status = 204)))]
pub(crate) async fn write(service: &Arc<Service>, holder: &Holder, body: Touch) -> Result<Answer, Problem> {
    let session = known_own(service, holder, body.session.clone()).await?;
    session.write(body.access()?).await?;
    Ok(done())
}

/// Takes back the refusal of a session in which something ran otherwise than it was checked. Needs the scope `administer`,
/// and is not done for the principal that runs the session.
#[utoipa::path(post, path = "/v1/violations/clear", request_body = Named, responses((status = 204)))]
pub(crate) async fn clear(service: &Arc<Service>, holder: &Holder, body: Named) -> Result<Answer, Problem> {
    let seat = known(service, body.session.key(holder.tenant())?).await?;
    if seat.caller.principal == holder.caller.principal {
        let text = "who runs a session does not take back its refusal: let somebody else look into it";
        return Err(Problem::new(StatusCode::FORBIDDEN, "own_session", text));
    }
    seat.session.clear().await?;
    Ok(done())
}
