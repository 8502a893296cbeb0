//! A request from its head to its answer.

use std::sync::Arc;

use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{CONNECTION, HeaderMap, HeaderValue, TRANSFER_ENCODING};
use hyper::{Method, Request, StatusCode, Version};
use tokio::time::timeout;

use crate::serve::answers::Answer;
use crate::serve::body;
use crate::serve::decisions;
use crate::serve::door::Peer;
use crate::serve::handlers;
use crate::serve::problem::Problem;
use crate::serve::rules;
use crate::serve::server::Service;
use crate::serve::tokens::{Holder, Scope};

/// Bytes of names and values of all headers of a request.
const HEADERS: usize = 16 * 1024;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route {
    Health,
    Ready,
    OpenApi,
    Metrics,
    Sessions,
    Open,
    History,
    Append,
    ModelRequest,
    Check,
    Finish,
    Confirm,
    Read,
    Write,
    Clear,
    Policies,
    Validate,
    Activate,
    Decisions,
}

/// What a method and a path ask for.
fn route(method: &Method, path: &str) -> Result<Route, Problem> {
    let only = |allow: &'static str, wanted: &Method, route: Route| {
        if method == wanted {
            return Ok(route);
        }
        let text = format!("nothing is done here by that method: send `{allow}`");
        let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method", text);
        Err(Problem { allow: Some(allow), ..problem })
    };
    let get = |route| only("GET", &Method::GET, route);
    let post = |route| only("POST", &Method::POST, route);
    match path {
        "/v1/healthz" => get(Route::Health),
        "/v1/readyz" => get(Route::Ready),
        "/v1/openapi.json" => get(Route::OpenApi),
        "/v1/metrics" => get(Route::Metrics),
        "/v1/sessions" if method == Method::POST => Ok(Route::Open),
        "/v1/sessions" => only("GET, POST", &Method::GET, Route::Sessions),
        "/v1/sessions/history" => get(Route::History),
        "/v1/events" => post(Route::Append),
        "/v1/model-requests" => post(Route::ModelRequest),
        "/v1/checks" => post(Route::Check),
        "/v1/results" => post(Route::Finish),
        "/v1/confirmations" => post(Route::Confirm),
        "/v1/resources/read" => post(Route::Read),
        "/v1/resources/write" => post(Route::Write),
        "/v1/violations/clear" => post(Route::Clear),
        "/v1/decisions" => get(Route::Decisions),
        "/v1/policies" => get(Route::Policies),
        "/v1/policies/validate" => post(Route::Validate),
        "/v1/policies/activate" => post(Route::Activate),
        _ => {
            let text = "there is nothing at this address: `/v1/openapi.json` lists what there is";
            Err(Problem::new(StatusCode::NOT_FOUND, "unknown_address", text))
        }
    }
}

/// For which of its scopes a token may ask that.
fn scopes(route: Route) -> &'static [Scope] {
    match route {
        Route::Health
        | Route::Ready
        | Route::OpenApi
        | Route::Metrics
        | Route::Sessions
        | Route::History
        | Route::Policies => &[Scope::Run, Scope::Approve, Scope::Administer],
        Route::Open
        | Route::Append
        | Route::ModelRequest
        | Route::Check
        | Route::Finish
        | Route::Read
        | Route::Write => &[Scope::Run],
        Route::Confirm => &[Scope::Approve],
        Route::Decisions => &[Scope::Approve, Scope::Administer],
        // An approver vouches for one call. To take back the refusal of a session is to vouch for its runner.
        Route::Clear | Route::Validate | Route::Activate => &[Scope::Administer],
    }
}

/// Answers a request.
pub(crate) async fn answer(service: &Arc<Service>, peer: Peer, request: Request<Incoming>) -> Answer {
    // What follows a body of unstated length may have been meant for somebody else's connection.
    let last = request.version() < Version::HTTP_2 && request.headers().contains_key(TRANSFER_ENCODING);
    let mut answer = match act(service, peer, request).await {
        Ok(answer) => answer,
        Err(problem) => {
            service.metrics.refused(problem.kind);
            problem.response()
        }
    };
    if last {
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    answer
}

async fn act(service: &Arc<Service>, peer: Peer, request: Request<Incoming>) -> Result<Answer, Problem> {
    small(request.headers())?;
    service.door.inspect(peer, &request)?;
    let route = route(request.method(), request.uri().path())?;
    match route {
        Route::Health => return Ok(handlers::health()),
        Route::Ready => return handlers::ready(service).await,
        Route::OpenApi => return Ok(handlers::openapi()),
        _ => {}
    }
    let holder = service.door.holder(peer, request.headers())?;
    permitted(service, &holder, route)?;
    if route == Route::Metrics {
        return handlers::metrics(service);
    }
    let Ok(_place) = service.requests.try_acquire() else {
        let text = "more requests are under way than the service takes: try again";
        return Err(Problem::busy("busy", text));
    };
    let limit = service.limits.request;
    let done = timeout(limit, dispatch(service, &holder, route, request)).await;
    done.unwrap_or_else(|_| {
        let text = format!("it was not done within {} ms: try again", limit.as_millis());
        Err(Problem::busy("deadline", text))
    })
}

fn permitted(service: &Service, holder: &Holder, route: Route) -> Result<(), Problem> {
    // Counts of all tenants are the operator's; without tokens there is only one caller.
    let needed = match route {
        Route::Metrics if service.door.tokens.is_some() => &[Scope::Administer][..],
        other => scopes(other),
    };
    if needed.iter().any(|&scope| holder.may(scope)) {
        return Ok(());
    }
    let names: Vec<_> = needed.iter().map(|scope| format!("`{}`", scope.name())).collect();
    let text = match service.door.tokens {
        Some(_) => format!("the token is not for that: send one with the scope {}", names.join(" or ")),
        None => format!(
            "without tokens the service takes nothing but what needs the scope `run`, and this needs {}: start it with \
             --tokens",
            names.join(" or ")
        ),
    };
    Err(Problem::new(StatusCode::FORBIDDEN, "scope", text))
}

async fn dispatch(
    service: &Arc<Service>,
    holder: &Holder,
    route: Route,
    request: Request<Incoming>,
) -> Result<Answer, Problem> {
    let query = request.uri().query().unwrap_or_default().to_owned();
    match route {
        Route::Sessions => return handlers::sessions(service, holder, &query).await,
        Route::History => return handlers::history(service, holder, &query).await,
        Route::Decisions => return decisions::decisions(service, holder, &query).await,
        Route::Policies if query.is_empty() => return Ok(rules::policies(service, holder)),
        _ if !query.is_empty() => {
            return Err(Problem::bad("bad_query", "nothing is asked here by a query: leave it out"));
        }
        _ => {}
    }
    let (head, body) = request.into_parts();
    let bytes = read(service, &head.headers, body).await?;
    match route {
        Route::Open => handlers::open(service, holder, body::parse(&bytes)?).await,
        Route::Append => handlers::append(service, holder, body::parse(&bytes)?).await,
        Route::ModelRequest => handlers::model_request(service, holder, body::parse(&bytes)?).await,
        Route::Check => handlers::check(service, holder, body::parse(&bytes)?).await,
        Route::Finish => handlers::finish(service, holder, body::parse(&bytes)?).await,
        Route::Confirm => handlers::confirm(service, holder, body::parse(&bytes)?).await,
        Route::Read => handlers::read(service, holder, body::parse(&bytes)?).await,
        Route::Write => handlers::write(service, holder, body::parse(&bytes)?).await,
        Route::Clear => handlers::clear(service, holder, body::parse(&bytes)?).await,
        Route::Validate => rules::validate(service, body::parse(&bytes)?).await,
        Route::Activate => rules::activate(service, body::parse(&bytes)?).await,
        Route::Health
        | Route::Ready
        | Route::OpenApi
        | Route::Metrics
        | Route::Sessions
        | Route::History
        | Route::Decisions
        | Route::Policies => Err(Problem::bad("unknown_address", "this is asked without a body")),
    }
}

async fn read<B>(service: &Service, headers: &HeaderMap, body: B) -> Result<Bytes, Problem>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    body::read(headers, body, service.limits.body, service.limits.body_time).await
}

fn small(headers: &HeaderMap) -> Result<(), Problem> {
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if bytes > HEADERS {
        let text = format!("the headers have more than {HEADERS} bytes");
        let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        return Err(Problem::new(status, "large_headers", text).closing());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_exact() {
        let found =
            |method: &Method, path: &str| route(method, path).map_err(|problem| problem.status.as_u16());
        assert_eq!(found(&Method::POST, "/v1/checks"), Ok(Route::Check));
        assert_eq!(found(&Method::GET, "/v1/checks"), Err(405));
        assert_eq!(found(&Method::DELETE, "/v1/sessions"), Err(405));
        for path in
            ["/", "/v1", "/v1/checks/", "/v1//checks", "/v1/x/../checks", "/v1/%63hecks", "/V1/checks", "*"]
        {
            assert_eq!(found(&Method::POST, path), Err(404), "{path}");
        }
    }
}
