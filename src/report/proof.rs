//! A proof for people: a tree from the decision down to records.

use std::collections::BTreeSet;

use crate::decision::Verdict;
use crate::explain::{Binding, Condition, Failed, Ground, Mention, Miss, Proof, Site, Step, StepId};
use crate::lineage::RecordId;
use crate::program::DecisionKind;
use crate::records::ApprovalScope;
use crate::report::records::kind;
use crate::report::text::{Color, counted};
use crate::report::visible::{shortened, visible, visible_name};

/// How much of a proof is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// What fits a screen: long chains and long values cut, rules for other actions counted.
    Short,
    /// All of it.
    Full,
}

/// Characters of a value, of an excerpt, of a condition.
const VALUE: usize = 60;
const EXCERPT: usize = 72;
const CONDITION: usize = 110;
/// Lines of one firing.
const LINES: usize = 40;
/// Steps of one relation after each other that are shown.
const CHAIN: usize = 2;
/// Records of a path that are shown at each end.
const ENDS: usize = 3;
/// Rules that came near, and steps within steps.
const MISSES: usize = 3;
const DEEPEST: usize = 40;

/// The whole proof.
#[must_use]
pub fn text(proof: &Proof, detail: Detail, color: Color) -> String {
    let mut tree = Tree {
        proof,
        detail,
        shown: BTreeSet::new(),
        named: BTreeSet::new(),
        out: String::new(),
        lines: 0,
        left_out: 0,
    };
    tree.head(color);
    for firing in &proof.firings {
        tree.firing(firing.step, &heading(firing.kind, &firing.rule, &firing.text), firing.more);
    }
    tree.approval();
    tree.misses();
    tree.rest();
    tree.out
}

fn heading(kind: DecisionKind, rule: &str, text: &str) -> String {
    let kind = match kind {
        DecisionKind::Allow => return format!("allowed by {}", visible(rule)),
        DecisionKind::Deny => "denied",
        DecisionKind::Ask => "approval_required",
        DecisionKind::Reason => "reason",
    };
    format!("{kind}: {}  ({})", visible(text), visible(rule))
}

struct Tree<'p> {
    proof: &'p Proof,
    detail: Detail,
    /// Steps that have been shown.
    shown: BTreeSet<StepId>,
    /// Records that have been shown.
    named: BTreeSet<RecordId>,
    out: String,
    lines: usize,
    left_out: usize,
}

/// What is still to be shown, and what stands before it on its lines.
enum Item<'p> {
    Condition(&'p Condition, String, bool, usize),
    Step(StepId, String, usize),
    Line(String),
}

impl<'p> Tree<'p> {
    fn head(&mut self, color: Color) {
        let subject = &self.proof.subject;
        if !subject.tool.is_empty() {
            let id = if subject.call_id.is_empty() { "a call" } else { &subject.call_id };
            let most = if self.detail == Detail::Full { usize::MAX } else { 200 };
            let arguments = shortened(&visible(&subject.arguments), most);
            let (id, tool) = (visible(id), visible_name(&subject.tool));
            let line = format!("{} {arguments}", color.bold(&format!("{id}  {tool}")));
            self.line(&line);
            let record = subject.seq.map_or_else(|| "in no event".to_owned(), |seq| format!("record #{seq}"));
            self.line(&format!("by {}, {record}", visible(&subject.agent)));
        }
        let verdict = self.proof.decision.verdict;
        let name = match verdict {
            Verdict::Allow => color.green(verdict.name()),
            Verdict::Ask | Verdict::Deny => color.red(verdict.name()),
        };
        self.line(&name);
    }

    fn line(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push('\n');
        self.lines += 1;
    }

    /// A line of a tree, unless there are too many.
    fn tree_line(&mut self, text: &str) {
        if self.detail == Detail::Short && self.lines >= LINES {
            self.left_out += 1;
        } else {
            self.line(text);
        }
    }

    fn firing(&mut self, step: StepId, heading: &str, more: usize) {
        self.line("");
        self.line(heading);
        self.lines = 0;
        let start = Item::Step(step, "  ".to_owned(), 0);
        if let Some(found) = self.step(step) {
            let place = place(&found.site);
            self.line(&format!("  {}  {place}", shortened(&visible(&found.head), CONDITION)));
        }
        self.run(start);
        if more > 0 {
            self.line(&format!("  and in {}", counted_ways(more)));
        }
        if self.left_out > 0 {
            let left_out = std::mem::take(&mut self.left_out);
            self.line(&format!("  … {} (--full shows all)", counted(left_out, "more line")));
        }
    }

    fn step(&self, id: StepId) -> Option<&'p Step> {
        self.proof.steps.get(id.0 as usize)
    }

    /// Shows an item and all below it, depth first.
    fn run(&mut self, first: Item<'p>) {
        let mut open = vec![first];
        while let Some(item) = open.pop() {
            match item {
                Item::Line(text) => self.tree_line(&text),
                Item::Step(id, indent, depth) => self.conditions(id, &indent, depth, &mut open),
                Item::Condition(condition, indent, last, depth) => {
                    self.condition(condition, &indent, last, depth, &mut open);
                }
            }
        }
    }

    fn conditions(&mut self, id: StepId, indent: &str, depth: usize, open: &mut Vec<Item<'p>>) {
        self.shown.insert(id);
        let Some(step) = self.step(id) else { return };
        if !step.fault.is_empty() {
            self.tree_line(&format!("{indent}└─ {}", visible(&step.fault)));
        }
        // Of a rule further down, what only repeats the request is left out.
        let plain = |condition: &&Condition| {
            let told = !condition.values.is_empty();
            told || !matches!(condition.ground, Ground::Request | Ground::Session)
        };
        let all = depth == 0 || self.detail == Detail::Full;
        let conditions: Vec<_> = step.conditions.iter().filter(|condition| all || plain(condition)).collect();
        let count = conditions.len();
        for (at, condition) in conditions.into_iter().enumerate().rev() {
            open.push(Item::Condition(condition, indent.to_owned(), at + 1 == count, depth));
        }
    }

    fn condition(
        &mut self,
        condition: &'p Condition,
        indent: &str,
        last: bool,
        depth: usize,
        open: &mut Vec<Item<'p>>,
    ) {
        let (branch, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let below = format!("{indent}{below}");
        let mut line = format!("{indent}{branch}{}", shortened(&visible(&condition.text), CONDITION));
        if !condition.values.is_empty() {
            line.push_str("  where ");
            line.push_str(&self.bindings(&condition.values));
        }
        let mut after: Vec<Item<'p>> = Vec::new();
        match &condition.ground {
            Ground::Holds | Ground::Request | Ground::Session => {}
            Ground::Fact(site) => line.push_str(&format!("  (stated at {})", place(site))),
            Ground::Absent(what) => line.push_str(&format!("  (there is no {})", visible(what))),
            Ground::Open(why) => line.push_str(&format!("  ({})", visible(why))),
            Ground::Rows(count, rows) => {
                line.push_str(&format!(
                    "  ({})",
                    counted(usize::try_from(*count).unwrap_or(usize::MAX), "row")
                ));
                after.extend(self.rows(rows, *count, &below));
            }
            Ground::Path(_) => {}
            Ground::Step(id) => self.grounded(*id, &mut line, &below, depth, &mut after),
        }
        self.tree_line(&line);
        if let Ground::Path(way) = &condition.ground {
            self.tree_line(&format!("{below}{}", self.path(way)));
        }
        let mentions: Vec<RecordId> = match &condition.ground {
            Ground::Path(way) => ends(way, self.detail).0,
            _ => condition.values.iter().filter_map(record_of).collect(),
        };
        for record in mentions {
            if let Some(text) = self.mention(record) {
                self.tree_line(&format!("{below}{text}"));
            }
        }
        open.extend(after.into_iter().rev());
    }

    /// What stands behind a condition that a rule derived.
    fn grounded(
        &mut self,
        id: StepId,
        line: &mut String,
        below: &str,
        depth: usize,
        after: &mut Vec<Item<'p>>,
    ) {
        let Some(step) = self.step(id) else { return };
        if self.shown.contains(&id) {
            line.push_str("  (shown above)");
            return;
        }
        line.push_str(&format!("  ({})", place(&step.site)));
        let (end, skipped) = self.end_of_chain(id);
        if skipped > 0 {
            let (name, steps) = (visible(&step.relation), counted(skipped, "step"));
            after.push(Item::Line(format!(
                "{below}… {steps} of `{name}` between (--full shows them), down to"
            )));
        }
        if depth >= DEEPEST && self.detail == Detail::Short {
            after.push(Item::Line(format!("{below}… (--full shows what it rests on)")));
        } else {
            after.push(Item::Step(end, below.to_owned(), depth + 1));
        }
    }

    /// The last of a chain of steps of one relation that each rest on the next, and how many lie between.
    fn end_of_chain(&self, start: StepId) -> (StepId, usize) {
        let (mut at, mut length) = (start, 0);
        let mut seen = BTreeSet::from([start]);
        while let Some(step) = self.step(at) {
            let next = step.conditions.iter().find_map(|condition| match condition.ground {
                Ground::Step(next) if self.step(next).is_some_and(|next| next.relation == step.relation) => {
                    Some(next)
                }
                _ => None,
            });
            match next.filter(|next| seen.insert(*next)) {
                Some(next) => (at, length) = (next, length + 1),
                None => break,
            }
        }
        if self.detail == Detail::Full || length <= CHAIN { (start, 0) } else { (at, length) }
    }

    fn bindings(&self, values: &[Binding]) -> String {
        let most = if self.detail == Detail::Full { usize::MAX } else { VALUE };
        let one = |binding: &Binding| {
            format!("{} = {}", visible(&binding.name), visible(&binding.value.line(most)))
        };
        values.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    fn rows(&self, rows: &[Vec<Binding>], count: u64, below: &str) -> Vec<Item<'p>> {
        let mut lines: Vec<_> = rows
            .iter()
            .filter(|row| !row.is_empty())
            .map(|row| Item::Line(format!("{below}· {}", self.bindings(row))))
            .collect();
        let more = usize::try_from(count).unwrap_or(usize::MAX).saturating_sub(rows.len());
        if more > 0 && !lines.is_empty() {
            lines.push(Item::Line(format!("{below}· … {more} more")));
        }
        lines
    }

    fn path(&self, way: &[RecordId]) -> String {
        let (shown, skipped) = ends(way, self.detail);
        let mut names: Vec<String> = shown.iter().map(|record| format!("#{}", record.0)).collect();
        if skipped > 0 {
            names.insert(ENDS.min(names.len()), format!("… {skipped} more …"));
        }
        let own = way.last().is_some_and(|last| Some(last.0) == self.proof.subject.seq);
        let call = if own { " (this call)" } else { "" };
        format!("path {}{call}", names.join(" → "))
    }

    /// What a record says, where it has not been shown.
    fn mention(&mut self, record: RecordId) -> Option<String> {
        if Some(record.0) == self.proof.subject.seq && !self.proof.subject.tool.is_empty() {
            return None;
        }
        let at = self.proof.records.binary_search_by_key(&record, |mention| mention.record).ok()?;
        let mention = self.proof.records.get(at)?;
        self.named.insert(record).then(|| described(mention, self.detail))
    }

    /// What a person answered, and where.
    fn approval(&mut self) {
        let Some(approval) = &self.proof.approval else { return };
        let said = if approval.confirmed { "approved" } else { "declined" };
        let rules = match &approval.scope {
            ApprovalScope::All => String::new(),
            ApprovalScope::Rules(rules) if rules.is_empty() => ", for none of the rules".to_owned(),
            ApprovalScope::Rules(rules) => format!(", for {}", visible(&rules.join(", "))),
        };
        let person = approval.principal.as_deref().map_or_else(|| "a person".to_owned(), visible);
        let time = if approval.time.is_empty() { "" } else { " at " };
        self.line("");
        self.line(&format!("{said} by {person}{time}{}{rules}", visible(&approval.time)));
        if let Some(text) = approval.record.and_then(|record| self.mention(record)) {
            self.line(&format!("  {text}"));
        }
    }

    fn misses(&mut self) {
        let proof = self.proof;
        if proof.misses.is_empty() {
            return;
        }
        self.line("");
        let (elsewhere, misses): (Vec<_>, Vec<_>) = proof.misses.iter().partition(|miss| miss.elsewhere);
        let text = proof.decision.reasons.iter().find(|reason| reason.kind.name() == "not_allowed");
        let (heading, sort) = match proof.decision.verdict {
            Verdict::Allow => ("rules against the call that did not fire:".to_owned(), "deny or ask"),
            Verdict::Ask | Verdict::Deny => {
                let text = text.map_or(String::new(), |reason| visible(&reason.text));
                (format!("not_allowed: {text}"), "allow")
            }
        };
        self.line(&heading);
        let most = if self.detail == Detail::Full { usize::MAX } else { MISSES };
        for miss in misses.iter().take(most) {
            self.miss(miss, "  ");
        }
        if misses.len() > most {
            let more = counted(misses.len() - most, &format!("more {sort} rule"));
            self.line(&format!("  and {more} that did not fire (--full shows all)"));
        }
        match elsewhere.len() {
            0 => {}
            1 => self.line(&format!("  1 {sort} rule is for other actions")),
            n => self.line(&format!("  {n} {sort} rules are for other actions")),
        }
    }

    // Misses are nested no deeper than the room that finds them follows rules.
    fn miss(&mut self, miss: &'p Miss, indent: &str) {
        let rule = if miss.head.starts_with(&miss.rule) || miss.rule.contains(&place(&miss.site)) {
            String::new()
        } else {
            format!("{}: ", visible(&miss.rule))
        };
        let head = shortened(&visible(&miss.head), CONDITION);
        self.line(&format!("{indent}{rule}{head}  {}", place(&miss.site)));
        for held in &miss.held {
            self.line(&format!("{indent}  holds  {}", shortened(&visible(held), CONDITION)));
        }
        self.failed(&miss.failed, indent);
    }

    fn failed(&mut self, failed: &'p Failed, indent: &str) {
        let ways = if failed.ways > 1 { format!("  (in all {} ways)", failed.ways) } else { String::new() };
        let line = failed.site.line;
        let text = shortened(&visible(&failed.text), CONDITION);
        self.line(&format!("{indent}  FAILS  {text}  line {line}{ways}"));
        let below = format!("{indent}         ");
        if !failed.what.is_empty() {
            self.line(&format!("{below}{}", visible(&failed.what)));
        }
        for row in &failed.seen {
            let found = self.bindings(row);
            self.line(&format!("{below}found {found}"));
            for record in row.iter().filter_map(record_of) {
                if let Some(text) = self.mention(record) {
                    self.line(&format!("{below}{text}"));
                }
            }
        }
        if !failed.closest.is_empty() {
            let near: Vec<_> = failed.closest.iter().map(|near| visible(near)).collect();
            self.line(&format!("{below}there is {}", near.join(", ")));
        }
        for inner in &failed.inner {
            self.miss(inner, &below);
        }
    }

    /// Reasons that no rule stands behind, and what could not be shown.
    fn rest(&mut self) {
        let proof = self.proof;
        for reason in &proof.decision.reasons {
            let told = proof.firings.iter().any(|firing| firing.rule == reason.rule);
            let missed = reason.kind.name() == "not_allowed" && !proof.misses.is_empty();
            if !told && !missed {
                self.line("");
                self.line(&format!("{}: {}", reason.kind.name(), visible(&reason.text)));
            }
        }
        let suggestions: BTreeSet<&str> = proof
            .decision
            .reasons
            .iter()
            .flat_map(|reason| &reason.suggestions)
            .map(String::as_str)
            .collect();
        if !suggestions.is_empty() {
            self.line("");
        }
        for suggestion in suggestions {
            self.line(&format!("try: {}", visible(suggestion)));
        }
        let said = proof.decision.reasons.iter().any(|reason| reason.text == proof.fault);
        if !proof.fault.is_empty() && !said {
            self.line("");
            self.line(&format!("not complete: {}", visible(&proof.fault)));
        }
    }
}

fn counted_ways(more: usize) -> String {
    counted(more, "other way")
}

fn record_of(binding: &Binding) -> Option<RecordId> {
    match binding.value {
        crate::explain::Shown::Record(record) => Some(record),
        crate::explain::Shown::Text(_) | crate::explain::Shown::Other(_) => None,
    }
}

/// `file:line`
pub(crate) fn place(site: &Site) -> String {
    format!("{}:{}", visible(&site.file), site.line)
}

/// The records of a path that are shown, and how many are not.
fn ends(way: &[RecordId], detail: Detail) -> (Vec<RecordId>, usize) {
    let skipped = way.len().saturating_sub(2 * ENDS);
    if detail == Detail::Full || skipped < 2 {
        return (way.to_vec(), 0);
    }
    let first = way.iter().take(ENDS);
    (first.chain(way.iter().skip(ENDS + skipped)).copied().collect(), skipped)
}

/// `#3 response of read_mail, agent payer, event 4: …`
fn described(mention: &Mention, detail: Detail) -> String {
    let most = if detail == Detail::Full { usize::MAX } else { EXCERPT };
    let tool =
        if mention.tool.is_empty() { String::new() } else { format!(" of {}", visible_name(&mention.tool)) };
    let event = mention.event.map_or_else(String::new, |event| format!(", event {event}"));
    let (id, kind, agent) = (mention.record.0, kind(mention.kind), visible(&mention.agent));
    let says = shortened(&visible(&mention.excerpt), most);
    format!("#{id} is a {kind}{tool} by {agent}{event}: {says}")
}
