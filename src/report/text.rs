//! A replay for people.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::decision::{Decision, Verdict};
use crate::recording::StopKind;
use crate::replay::{CallReport, SessionReport};
use crate::report::json::{Totals, shown};
use crate::report::visible::{shortened, suspicion, visible, visible_name};

/// Whether text may carry colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Color {
    /// Plain text.
    #[default]
    Never,
    /// With the escape sequences of terminals.
    Always,
}

impl Color {
    /// A word in the colour of its verdict.
    fn verdict(self, verdict: Verdict, width: usize) -> String {
        let code = match verdict {
            Verdict::Allow => "32",
            Verdict::Ask => "33",
            Verdict::Deny => "31",
        };
        self.paint(code, &format!("{:<width$}", verdict.name()))
    }

    fn paint(self, code: &str, text: &str) -> String {
        match self {
            Self::Never => text.to_owned(),
            Self::Always => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }

    /// A heading.
    #[must_use]
    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// Something bad.
    #[must_use]
    pub fn red(self, text: &str) -> String {
        self.paint("31", text)
    }

    /// Something good.
    #[must_use]
    pub fn green(self, text: &str) -> String {
        self.paint("32", text)
    }
}

/// Longest run of allowed calls that is shown call by call.
const RUN: usize = 6;
/// Calls shown at each end of a longer run.
const ENDS: usize = 2;
/// Routes shown for one call.
const ROUTES: usize = 5;
/// Most characters of a call's arguments.
const ARGUMENTS: usize = 48;

/// Where the text of a replay says what had to be assumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assumed {
    /// With each session.
    Here,
    /// Once at the end, for all sessions: see [`assumed`].
    AtTheEnd,
}

/// One session with the calls of these verdicts; no verdict named means all, with long runs of allowed calls folded.
/// Among several sessions, one without such a call and without remarks is left out where verdicts are named.
#[must_use]
pub fn session(session: &SessionReport, only: &[Verdict], color: Color, assumed: Assumed) -> String {
    let aside = !only.is_empty() && assumed == Assumed::AtTheEnd;
    if aside && session.error.is_none() && shown(session, only).next().is_none() {
        return String::new();
    }
    let mut out = color.bold(&visible(&session.source));
    if !session.id.is_empty() {
        push(&mut out, format_args!("  session {}", visible(&session.id)));
    }
    let (events, records) = (counted(session.events, "event"), counted(session.records, "record"));
    push(&mut out, format_args!("  {events}, {records}\n"));
    let calls: Vec<_> = shown(session, only).collect();
    let table = Table::new(&calls);
    if calls.is_empty() {
        out.push_str(if session.checks.is_empty() { "  no calls\n" } else { "  no such calls\n" });
    } else {
        out.push_str(&table.head());
    }
    let mut at = 0;
    while let Some(call) = calls.get(at) {
        let run = calls.iter().skip(at).take_while(|call| is_plain(call)).count();
        if run > RUN && only.is_empty() {
            for call in calls.iter().skip(at).take(ENDS) {
                out.push_str(&table.row(call, color));
            }
            push(&mut out, format_args!("    … {} allowed calls\n", run - 2 * ENDS));
            for call in calls.iter().skip(at + run - ENDS).take(ENDS) {
                out.push_str(&table.row(call, color));
            }
            at += run;
        } else {
            out.push_str(&table.row(call, color));
            out.push_str(&details(call));
            at += 1;
        }
    }
    out.push_str(&remarks(session, color, assumed));
    out
}

/// What had to be assumed in several sessions: a line for each kind, with one of its texts and in how many sessions.
#[must_use]
pub fn assumed(kinds: &BTreeMap<String, (String, usize)>) -> String {
    let mut out = String::new();
    for (kind, (text, sessions)) in kinds {
        let (kind, text) = (visible(kind), visible(text));
        let of = if *sessions > 1 { " (in one of them)" } else { "" };
        push(&mut out, format_args!("assumed in {}: {kind}: {text}{of}\n", counted(*sessions, "session")));
    }
    out
}

fn is_plain(call: &CallReport) -> bool {
    call.decision.verdict == Verdict::Allow && !call.asked && details(call).is_empty()
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = out.write_fmt(text);
}

/// `1 call`, `2 calls`.
#[must_use]
pub fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// Widths of the columns of one session.
struct Table {
    call: usize,
    agent: usize,
    tool: usize,
    arguments: usize,
}

impl Table {
    fn new(calls: &[&CallReport]) -> Self {
        let width = |cell: &dyn Fn(&CallReport) -> String, least: usize, most: usize| {
            let widest = calls.iter().map(|call| cell(call).chars().count()).max().unwrap_or(0);
            widest.clamp(least, most)
        };
        Self {
            call: width(&|call| visible(&call.call_id), 4, 20),
            agent: width(&|call| visible(&call.agent), 5, 16),
            tool: width(&|call| visible_name(&call.tool), 4, 40),
            arguments: width(&|call| visible(&call.arguments), 4, ARGUMENTS),
        }
    }

    fn head(&self) -> String {
        let (c, a, t, r) = (self.call, self.agent, self.tool, self.arguments);
        format!(
            "  {:>4}  {:<c$}  {:<a$}  {:<t$}  {:<r$}  {:<7}  outcome\n",
            "seq", "call", "agent", "tool", "args", "verdict"
        )
    }

    fn row(&self, call: &CallReport, color: Color) -> String {
        let (c, a, t, r) = (self.call, self.agent, self.tool, self.arguments);
        let seq = call.seq.map_or_else(|| "-".to_owned(), |seq| seq.to_string());
        let verdict = color.verdict(call.decision.verdict, 7);
        let asked = if call.asked { ", asked" } else { "" };
        format!(
            "  {seq:>4}  {:<c$}  {:<a$}  {:<t$}  {:<r$}  {verdict}  {}{asked}\n",
            shortened(&visible(&call.call_id), c),
            shortened(&visible(&call.agent), a),
            shortened(&visible_name(&call.tool), t),
            shortened(&visible(&call.arguments), r),
            call.outcome.name(),
        )
    }
}

fn details(call: &CallReport) -> String {
    let mut out = String::new();
    if let Some(why) = suspicion(&call.tool) {
        push(&mut out, format_args!("        tool: {why}\n"));
    }
    out.push_str(&decision(&call.decision, "        "));
    out
}

/// The lines below a decision: reasons with their suggestions, routes, transforms.
#[must_use]
pub fn decision(decision: &Decision, indent: &str) -> String {
    let mut out = String::new();
    for reason in &decision.reasons {
        let (kind, text) = (reason.kind.name(), visible(&reason.text));
        push(&mut out, format_args!("{indent}{kind}: {text}"));
        let place = format!("{}:{}", visible(&reason.file), reason.line);
        match (reason.rule.as_str(), reason.line) {
            ("", _) => {}
            (_, 0) => push(&mut out, format_args!("  ({})", visible(&reason.rule))),
            (rule, _) if rule.ends_with(&place) => push(&mut out, format_args!("  ({})", visible(rule))),
            (rule, _) => push(&mut out, format_args!("  ({}, {place})", visible(rule))),
        }
        out.push('\n');
        for suggestion in &reason.suggestions {
            push(&mut out, format_args!("{indent}  try: {}\n", visible(suggestion)));
        }
    }
    let (elsewhere, routes): (Vec<_>, Vec<_>) = decision.routes.iter().partition(|route| route.elsewhere);
    for route in routes.iter().take(ROUTES) {
        let (rule, status) = (visible(&route.rule), route.status.name());
        push(&mut out, format_args!("{indent}route {rule}: {status}"));
        if !route.text.is_empty() {
            let text = shortened(&visible(&route.text), 80);
            push(&mut out, format_args!(" at line {}: `{text}`", route.line));
        }
        out.push('\n');
    }
    if routes.len() > ROUTES {
        let more = routes.len() - ROUTES;
        push(&mut out, format_args!("{indent}and {}\n", counted(more, "more route")));
    }
    match elsewhere.len() {
        0 => {}
        1 => push(&mut out, format_args!("{indent}1 allow rule is for other actions\n")),
        n => push(&mut out, format_args!("{indent}{n} allow rules are for other actions\n")),
    }
    for transform in &decision.transforms {
        push(&mut out, format_args!("{indent}transform: {}\n", visible(transform)));
    }
    if decision.passthrough {
        push(&mut out, format_args!("{indent}passes through\n"));
    }
    if decision.refuse_aloud {
        push(&mut out, format_args!("{indent}to be refused aloud\n"));
    }
    out
}

fn remarks(session: &SessionReport, color: Color, assumed: Assumed) -> String {
    let mut out = String::new();
    if let Some(stop) = &session.error {
        let mut place = String::new();
        if let Some(event) = stop.event {
            push(&mut place, format_args!(" at event {event}"));
        }
        if !stop.event_id.is_empty() {
            push(&mut place, format_args!(" ({})", visible(&stop.event_id)));
        }
        if let Some(part) = stop.part {
            push(&mut place, format_args!(", part {part}"));
        }
        let head = color.red(&format!("session stopped{place}"));
        push(&mut out, format_args!("  {head}: {}: {}\n", stop.kind.name(), visible(&stop.text)));
        if stop.kind == StopKind::UnsupportedPart {
            out.push_str("  --parts full reads all parts of messages\n");
        }
    }
    for warning in &session.warnings {
        push(&mut out, format_args!("  warning: {}: {}\n", visible(&warning.kind), visible(&warning.text)));
    }
    for assumption in session.assumptions.iter().filter(|_| assumed == Assumed::Here) {
        let (kind, text) = (visible(&assumption.kind), visible(&assumption.text));
        push(&mut out, format_args!("  assumed: {kind}: {text}\n"));
    }
    out
}

/// The last lines: how many calls of which verdict, and how many sessions have some that were not allowed.
#[must_use]
pub fn totals(totals: &Totals) -> String {
    let Totals { sessions, checks, allow, ask, deny, errors, ran, refused } = *totals;
    let mut out = format!("{}: {allow} allow, {ask} ask, {deny} deny", counted(checks, "call"));
    if ran > 0 {
        push(&mut out, format_args!(" ({ran} of those not allowed ran all the same)"));
    }
    out.push('\n');
    if sessions > 1 {
        let verb = if refused == 1 { "has" } else { "have" };
        push(&mut out, format_args!("{refused} of {sessions} sessions {verb} calls that are not allowed\n"));
    }
    if errors > 0 {
        push(&mut out, format_args!("{} could not be read to the end\n", counted(errors, "recording")));
    }
    out
}
