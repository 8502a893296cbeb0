//! Findings as workflow commands, which GitHub shows beside the lines of a change.

use crate::report::json::FileError;
use crate::report::visible::visible;
use crate::source::{Diagnostic, Severity, Sources};

/// A line for each finding: `::error file=policy.dl,line=1,endLine=1,col=5,endColumn=9,title=E0010::message`.
#[must_use]
pub fn github(sources: &Sources, findings: &[Diagnostic]) -> String {
    findings.iter().map(|finding| command(sources, finding)).collect()
}

/// A line for a file that cannot be read.
#[must_use]
pub fn github_error(error: &FileError) -> String {
    format!("::error file={}::{}\n", property(&error.file), message(&visible(&error.text)))
}

fn command(sources: &Sources, finding: &Diagnostic) -> String {
    let span = finding.primary.span;
    let (start, end) = (sources.place(span), sources.end_place(span));
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut lines = vec![visible(&finding.message)];
    for label in &finding.secondary {
        let (file, place) = (&sources.file(label.span.file).name, sources.place(label.span));
        lines.push(format!("{}:{}:{}: {}", visible(file), place.line, place.column, visible(&label.text)));
    }
    if !finding.help.is_empty() {
        lines.push(format!("help: {}", visible(&finding.help)));
    }
    // Columns are for places within a line only.
    let columns = if start.line == end.line {
        format!(",col={},endColumn={}", start.column, end.column)
    } else {
        String::new()
    };
    format!(
        "::{severity} file={},line={},endLine={}{columns},title={}::{}\n",
        property(&sources.file(span.file).name),
        start.line,
        end.line,
        property(finding.code),
        message(&lines.join("\n"))
    )
}

/// A text after `::`: percent signs and ends of lines would end or change the command.
fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A text between commas, where colons count too.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;

    #[test]
    fn no_text_ends_its_command() {
        let mut sources = Sources::default();
        let file = sources.add("a,b:c%\n::error::x.dl", "A(1).\nB(2).");
        let finding =
            Diagnostic::error("E0001", Span { file, start: 0, end: 7 }, "100% `\n::stop-commands::x`")
                .with_secondary(Span { file, start: 6, end: 7 }, "other")
                .with_help("help, it: works");
        let text = github(&sources, &[finding]);
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.starts_with(
            "::error file=a%2Cb%3Ac%25%0A%3A%3Aerror%3A%3Ax.dl,line=1,endLine=2,title=E0001::100%25 "
        ));
        assert!(text.contains("%0Ahelp: help, it: works"), "{text}");
    }
}
