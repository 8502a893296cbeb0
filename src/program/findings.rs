use std::collections::BTreeSet;

use crate::source::Diagnostic;
use crate::source::Severity;
use crate::source::Span;

/// The findings of one check, each once: the alternatives of a rule meet the same faults again.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    list: Vec<Diagnostic>,
    seen: BTreeSet<(Span, &'static str, String)>,
    /// Variables that were reported as unbound, with their rules.
    unbound: BTreeSet<(Span, String)>,
    errors: usize,
}

impl Findings {
    /// Adds a finding unless it is there already.
    pub(crate) fn push(&mut self, finding: Diagnostic) {
        let key = (finding.primary.span, finding.code, finding.message.clone());
        if self.seen.insert(key) {
            self.errors += usize::from(finding.severity == Severity::Error);
            self.list.push(finding);
        }
    }

    /// Whether a finding stands at exactly that place.
    pub(crate) fn stands_at(&self, span: Span) -> bool {
        self.seen.range((span, "", String::new())..).next().is_some_and(|(place, ..)| *place == span)
    }

    /// Whether a finding of that code stands at exactly that place.
    pub(crate) fn has(&self, code: &'static str, span: Span) -> bool {
        let first = self.seen.range((span, code, String::new())..).next();
        first.is_some_and(|(place, own, _)| *place == span && *own == code)
    }

    /// True the first time for a name of a rule.
    pub(crate) fn first_time(&mut self, rule: Span, name: &str) -> bool {
        self.unbound.insert((rule, name.to_owned()))
    }

    /// How many errors there are so far.
    pub(crate) fn errors(&self) -> usize {
        self.errors
    }

    /// All findings by file and place.
    pub(crate) fn sorted(self) -> Vec<Diagnostic> {
        let mut list = self.list;
        list.sort_by(|a, b| (a.primary.span, a.code, &a.message).cmp(&(b.primary.span, b.code, &b.message)));
        list
    }
}
