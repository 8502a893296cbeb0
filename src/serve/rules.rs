//! What is done for the addresses of policies.

use std::sync::Arc;

use hyper::StatusCode;
use tokio::task::spawn_blocking;

use crate::gate::GateError;
use crate::policies::{DroppedDenials, PoliciesError};
use crate::recording::journal::Mode;
use crate::serve::answers::{Answer, document};
use crate::serve::problem::Problem;
use crate::serve::server::Service;
use crate::serve::tokens::Holder;
use crate::serve::wire::{Activate, Nothing, PoliciesAnswer, PoliciesRead, PolicyRow, RefusedRow};

/// What decides for the asker's tenant, and how the last attempt to change that went.
#[utoipa::path(get, path = "/v1/policies", responses((status = 200, body = PoliciesAnswer)))]
pub(crate) fn policies(service: &Service, holder: &Holder) -> Answer {
    let serving = service.gate.serving();
    let set = service.gate.policies();
    let served = set.serves(holder.tenant());
    let decides = served.map(|served| PolicyRow {
        name: served.name.clone(),
        digest: served.policy.program().digest.clone(),
        mode: match served.mode {
            Mode::Enforce => "enforce",
            Mode::Advise => "advise",
        },
    });
    let shadows = served.into_iter().flat_map(|served| &served.shadows).map(|shadow| PolicyRow {
        name: shadow.name.clone(),
        digest: shadow.policy.program().digest.clone(),
        mode: "shadow",
    });
    document(&PoliciesAnswer {
        policies: serving.policies,
        since: serving.since,
        refused: serving.refused.map(|refused| RefusedRow { time: refused.time, why: refused.why }),
        decides,
        shadows: shadows.collect(),
    })
}

/// Reads the policies of the service's own folder or files, and says whether they could serve. Nothing changes.
#[utoipa::path(post, path = "/v1/policies/validate", request_body = Nothing,
    responses((status = 200, body = PoliciesRead)))]
pub(crate) async fn validate(service: &Arc<Service>, _nothing: Nothing) -> Result<Answer, Problem> {
    let reloader = service.reloader.clone();
    read(spawn_blocking(move || reloader.rehearse()).await.map_err(|_| GateError::BrokenOff)?)
}

/// Reads the policies of the service's own folder or files, and lets them serve all tenants from the next check of each
/// session on. Where they cannot, those before go on to serve. Needs the scope `administer`.
#[utoipa::path(post, path = "/v1/policies/activate", request_body = Activate,
    responses((status = 200, body = PoliciesRead)))]
pub(crate) async fn activate(service: &Arc<Service>, body: Activate) -> Result<Answer, Problem> {
    let dropped = if body.drop_denials { DroppedDenials::Confirmed } else { DroppedDenials::Refused };
    let reloader = service.reloader.clone();
    read(spawn_blocking(move || reloader.reload(dropped)).await.map_err(|_| GateError::BrokenOff)?)
}

fn read(policies: Result<String, PoliciesError>) -> Result<Answer, Problem> {
    let policies = policies.map_err(|error| {
        let kind = match error {
            PoliciesError::DropsDenials { .. } => "drops_denials",
            _ => "policies",
        };
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, kind, error.to_string())
    })?;
    Ok(document(&PoliciesRead { policies }))
}
