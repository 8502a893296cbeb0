//! Replay of recordings and journals.

use std::sync::Arc;

use gatelog::monitor::{Caller, Monitor, Settings};
use gatelog::program::NoIncludes;
use gatelog::recording::{self, Options};
use gatelog::records::agents::Agents;
use gatelog::replay as rust;
use gatelog::report;
use gatelog::report::json::{PolicyRow, SessionRow, line};
use pyo3::{Py, PyAny, PyResult, Python, pyfunction};

use crate::faults::{GateError, RecordingError, guarded};
use crate::gate::{parsed, parts_of};
use crate::policy::{Policy, load};

/// Judges what a recording holds: the bytes of a session document, of events, or of the journal of a gate.
///
/// Gives what `gatelog replay --format json` gives: `{"policy": …, "sessions": [{"checks": […], …}]}`. The opening of a
/// journal goes before the keywords.
#[pyfunction]
#[pyo3(signature = (policy, recording, *, source = "recording", principal = None, roles = Vec::new(), entity = None,
    tenant = "default", metadata = Vec::new(), parts = "supported", agents = ""))]
#[expect(clippy::too_many_arguments, reason = "each is a keyword in Python")]
pub(crate) fn replay(
    py: Python<'_>,
    policy: &Policy,
    recording: &[u8],
    source: &str,
    principal: Option<String>,
    roles: Vec<String>,
    entity: Option<String>,
    tenant: &str,
    metadata: Vec<[String; 3]>,
    parts: &str,
    agents: &str,
) -> PyResult<Py<PyAny>> {
    let parts = parts_of(parts)?;
    let text = guarded(|| {
        py.detach(|| {
            let agents = if agents.is_empty() { Agents::default() } else { agents_of(agents)? };
            let caller = Caller { principal, roles, entity, tenant: Some(tenant.to_owned()) };
            let settings =
                Settings { caller, metadata, parts, agents: Arc::new(agents), ..Settings::default() };
            let read = recording::read(recording, &Options { form: None, parts });
            let recordings = read.map_err(|error| RecordingError::new_err(error.to_string()))?;
            let reports: Vec<_> = recordings
                .iter()
                .map(|recording| rust::replay(&policy.policy, &settings, source, recording))
                .collect();
            let sessions: Vec<_> = reports.iter().map(|report| line(&SessionRow::new(report, &[]))).collect();
            let row = line(&PolicyRow::new(policy.policy.program()));
            Ok(format!("{{\"policy\":{row},\"sessions\":[{}]}}", sessions.join(",")))
        })
    })?;
    parsed(py, &text).map(pyo3::Bound::unbind)
}

/// What a recording became: a dictionary for each record, with its inputs, as `gatelog records --format jsonl` has it. Of a
/// journal they are the records that the gate had.
#[pyfunction]
#[pyo3(signature = (recording, *, parts = "supported", agents = ""))]
pub(crate) fn records(py: Python<'_>, recording: &[u8], parts: &str, agents: &str) -> PyResult<Py<PyAny>> {
    let parts = parts_of(parts)?;
    let text = guarded(|| {
        py.detach(|| {
            let agents = if agents.is_empty() { Agents::default() } else { agents_of(agents)? };
            let settings = Settings { parts, agents: Arc::new(agents), ..Settings::default() };
            let policy = load(&vec![("none.dl".to_owned(), String::new())], &mut NoIncludes)?;
            let read = recording::read(recording, &Options { form: None, parts });
            let recordings = read.map_err(|error| RecordingError::new_err(error.to_string()))?;
            let mut rows = Vec::new();
            for recording in &recordings {
                let mut monitor = Monitor::new(Arc::clone(&policy.policy), settings.clone());
                rust::walk(&mut monitor, recording, &mut |_, _| ())
                    .map_err(|halt| RecordingError::new_err(halt.stop.text))?;
                let lines = report::records::lines(&recording.session_id, monitor.graph());
                rows.extend(lines.lines().map(str::to_owned));
            }
            Ok(format!("[{}]", rows.join(",")))
        })
    })?;
    parsed(py, &text).map(pyo3::Bound::unbind)
}

fn agents_of(text: &str) -> PyResult<Agents> {
    Agents::parse(text).map_err(|faults| {
        let why: Vec<_> = faults.iter().map(ToString::to_string).collect();
        GateError::new_err(format!("the agents file cannot be read: {}", why.join("; ")))
    })
}
