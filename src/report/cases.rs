//! Results of policy tests.

use serde::Serialize;

use crate::decision::Reason;
use crate::report::findings::{FindingRow, FindingsDocument, findings};
use crate::report::json::{ReasonRow, reasons};
use crate::report::text::{Color, counted};
use crate::report::visible::visible;
use crate::scenario::{Broken, CaseResult, Failure};

/// A test file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileFault {
    /// The file, as named by the user.
    pub file: String,
    /// Line, from 1; 0 where that is not known.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// In words.
    pub text: String,
}

/// `{"cases": […], "totals": …}`
#[derive(Debug, Serialize)]
pub struct CasesDocument<'a> {
    cases: Vec<CaseRow<'a>>,
    totals: CaseTotals,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    errors: &'a [FileFault],
}

#[derive(Debug, Serialize)]
struct CaseTotals {
    passed: usize,
    failed: usize,
}

#[derive(Debug, Serialize)]
struct CaseRow<'a> {
    file: &'a str,
    name: &'a str,
    line: u32,
    passed: bool,
    failures: Vec<FailureRow<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<BrokenRow<'a>>,
}

#[derive(Debug, Serialize)]
struct FailureRow<'a> {
    check: usize,
    line: u32,
    action: Option<usize>,
    what: &'a str,
    expected: &'a str,
    got: &'a str,
    reasons: Vec<ReasonRow<'a>>,
}

#[derive(Debug, Serialize)]
struct BrokenRow<'a> {
    kind: &'static str,
    text: &'a str,
    findings: Vec<FindingRow<'a>>,
}

impl<'a> CasesDocument<'a> {
    /// Results with the files that could not be read.
    #[must_use]
    pub fn new(cases: &'a [CaseResult], errors: &'a [FileFault]) -> Self {
        let passed = cases.iter().filter(|case| case.passed()).count();
        let totals = CaseTotals { passed, failed: cases.len() - passed };
        Self { cases: cases.iter().map(row).collect(), totals, errors }
    }
}

fn row(case: &CaseResult) -> CaseRow<'_> {
    CaseRow {
        file: &case.file,
        name: &case.name,
        line: case.line,
        passed: case.passed(),
        failures: case.failures.iter().map(failure_row).collect(),
        error: case.broken.as_ref().map(broken_row),
    }
}

fn failure_row(failure: &Failure) -> FailureRow<'_> {
    FailureRow {
        check: failure.check,
        line: failure.line,
        action: failure.action,
        what: &failure.what,
        expected: &failure.expected,
        got: &failure.got,
        reasons: reasons(&failure.reasons),
    }
}

fn broken_row(broken: &Broken) -> BrokenRow<'_> {
    match broken {
        Broken::Policy(refusal) => BrokenRow {
            kind: "policy",
            text: "the policy does not load",
            findings: FindingsDocument::new(&refusal.sources, &refusal.findings).findings,
        },
        Broken::Other(text) => BrokenRow { kind: "broken", text, findings: Vec::new() },
    }
}

/// Results for people: a line for each case that did not pass, with what was expected and what came.
#[must_use]
pub fn text(cases: &[CaseResult], errors: &[FileFault], verbose: bool, color: Color) -> String {
    let mut out = String::new();
    for fault in errors {
        let place = if fault.line == 0 { String::new() } else { format!(":{}:{}", fault.line, fault.column) };
        let head = color.red("error");
        out.push_str(&format!("{head}: {}{place}: {}\n", visible(&fault.file), visible(&fault.text)));
    }
    for case in cases {
        let place = format!("{}:{}", visible(&case.file), case.line);
        let name = visible(&case.name);
        if case.passed() {
            if verbose {
                out.push_str(&format!("{} {place}: {name}\n", color.green("ok  ")));
            }
            continue;
        }
        out.push_str(&format!("{} {place}: {name}\n", color.red("FAIL")));
        match &case.broken {
            None => {}
            Some(Broken::Other(text)) => out.push_str(&format!("  {}\n", visible(text))),
            Some(Broken::Policy(refusal)) => {
                out.push_str("  the policy does not load\n");
                out.push_str(&findings(&refusal.sources, &refusal.findings, color));
            }
        }
        failures(&case.failures, &mut out);
    }
    let passed = cases.iter().filter(|case| case.passed()).count();
    let failed = cases.len() - passed;
    out.push_str(&format!("{}: {passed} passed, {failed} failed\n", counted(cases.len(), "case")));
    out
}

fn failures(failures: &[Failure], out: &mut String) {
    let mut before: Option<(usize, Option<usize>)> = None;
    for (at, failure) in failures.iter().enumerate() {
        let here = (failure.check, failure.action);
        if before != Some(here) {
            let action = failure.action.map_or_else(String::new, |action| format!(", action {action}"));
            let line = if failure.line == 0 { String::new() } else { format!(" (line {})", failure.line) };
            out.push_str(&format!("  check {}{action}{line}\n", failure.check));
        }
        before = Some(here);
        out.push_str(&format!("    {}: expected {}\n", visible(&failure.what), visible(&failure.expected)));
        let indent = failure.what.chars().count() + 2;
        out.push_str(&format!("    {:indent$}got      {}\n", "", visible(&failure.got)));
        let last = failures.get(at + 1).is_none_or(|next| (next.check, next.action) != here);
        if last {
            for reason in &failure.reasons {
                out.push_str(&reason_line(reason));
            }
        }
    }
}

fn reason_line(reason: &Reason) -> String {
    let place = match (reason.rule.as_str(), reason.line) {
        ("", _) => String::new(),
        (rule, 0) => format!("  ({})", visible(rule)),
        (rule, line) => format!("  ({}, {}:{line})", visible(rule), visible(&reason.file)),
    };
    format!("      {}: {}{place}\n", reason.kind.name(), visible(&reason.text))
}
