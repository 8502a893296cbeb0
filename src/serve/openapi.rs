//! The OpenAPI document of the service.

use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Content, OpenApi as Document, Ref, RefOr, Response};
use utoipa::{Modify, OpenApi};

use crate::report::json::line;
use crate::serve::decisions;
use crate::serve::handlers;
use crate::serve::problem::ProblemDocument;
use crate::serve::rules;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Gatelog",
        description = "A gate in front of the tools of an agent. Every check is answered with a verdict; whatever else goes \
                       wrong is an answer with `error`, and a call that was not answered with `may_run` must not run."
    ),
    paths(
        handlers::health,
        handlers::ready,
        handlers::openapi,
        handlers::metrics,
        handlers::sessions,
        handlers::open,
        handlers::history,
        handlers::append,
        handlers::model_request,
        handlers::check,
        handlers::finish,
        handlers::confirm,
        handlers::read,
        handlers::write,
        handlers::clear,
        rules::policies,
        rules::validate,
        rules::activate,
        decisions::decisions,
    ),
    components(schemas(ProblemDocument<'_>)),
    security(("token" = [])),
    modifiers(&Common),
)]
struct Described;

/// What holds for every address: tokens, and how problems are told.
struct Common;

impl Modify for Common {
    fn modify(&self, document: &mut Document) {
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
        let problem = || {
            let mut response = Response::new("It was not done; `error` says why");
            let content = Content::new(Some(RefOr::Ref(Ref::from_schema_name("ProblemDocument"))));
            response.content.insert("application/json".to_owned(), content);
            RefOr::T(response)
        };
        for item in document.paths.paths.values_mut() {
            for operation in [&mut item.get, &mut item.post].into_iter().flatten() {
                // They would name a module of ours.
                operation.tags = None;
                for status in ["4XX", "5XX"] {
                    operation.responses.responses.insert(status.to_owned(), problem());
                }
            }
        }
    }
}

/// The document, as JSON.
///
/// ```
/// assert!(gatelog::serve::document().contains("\"/v1/checks\""));
/// ```
#[must_use]
pub fn document() -> String {
    line(&Described::openapi())
}
