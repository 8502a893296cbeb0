//! Policies that decide.

use std::path::PathBuf;
use std::sync::Arc;

use gatelog::monitor;
use gatelog::program::{self, Includes, NoIncludes};
use gatelog::report::findings::findings;
use gatelog::report::text::Color;
use pyo3::{PyResult, Python, pyclass, pymethods};

use crate::faults::{PolicyError, guarded};
use crate::files::{self, Texts};

/// A policy that is ready to judge. It never changes, and may be shared by gates and threads.
///
/// `Policy("payment.dl")` reads files and folders of files; `Policy.from_text("IsAuthorized(i) :- Actions(i, _).")`
/// reads text. A policy that does not load raises `PolicyError`, which shows every finding with its place.
#[pyclass(frozen, module = "gatelog")]
#[derive(Debug)]
pub(crate) struct Policy {
    pub(crate) policy: Arc<monitor::Policy>,
}

#[pymethods]
impl Policy {
    #[new]
    #[pyo3(signature = (*paths))]
    #[expect(clippy::needless_pass_by_value, reason = "arguments of any number come as a list of their own")]
    fn new(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<Self> {
        guarded(|| {
            py.detach(|| {
                if paths.is_empty() {
                    return Err(PolicyError::new_err("a policy needs a file or a folder"));
                }
                let (texts, mut folder) = files::texts(&paths).map_err(PolicyError::new_err)?;
                load(&texts, &mut folder)
            })
        })
    }

    /// The policy of a text. It includes no files.
    #[staticmethod]
    #[pyo3(signature = (text, name = "policy.dl"))]
    fn from_text(py: Python<'_>, text: &str, name: &str) -> PyResult<Self> {
        let texts = vec![(name.to_owned(), text.to_owned())];
        guarded(|| py.detach(|| load(&texts, &mut NoIncludes)))
    }

    /// Names the policy in verdicts and journals: `sha256:…`.
    #[getter]
    fn digest(&self) -> String {
        self.policy.program().digest.clone()
    }

    /// The names of its files.
    #[getter]
    fn files(&self) -> Vec<String> {
        // The first text is the prelude.
        self.policy.program().sources.iter().skip(1).map(|(_, file)| file.name.clone()).collect()
    }

    /// What the checks of a policy warn about, as text; empty for a policy without findings.
    #[getter]
    fn warnings(&self, py: Python<'_>) -> PyResult<String> {
        guarded(|| {
            py.detach(|| {
                let program = self.policy.program();
                let all = program.warnings.clone();
                Ok(if all.is_empty() {
                    String::new()
                } else {
                    findings(&program.sources, &all, Color::Never)
                })
            })
        })
    }

    fn __repr__(&self) -> String {
        format!("Policy({})", self.files().join(", "))
    }
}

pub(crate) fn load(texts: &Texts, includes: &mut dyn Includes) -> PyResult<Policy> {
    let program = program::check(texts, includes).map_err(|refusal| {
        PolicyError::new_err(findings(&refusal.sources, &refusal.findings, Color::Never))
    })?;
    Ok(Policy { policy: Arc::new(monitor::Policy::new(program)) })
}
