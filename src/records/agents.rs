//! What a host states about its agents, beside the recordings.
//!
//! `agents: [{name: writer, include_contents: none, instruction: "Use {decision}", output_key: draft, tools: [pay]}]`

use crate::source::Place;
use crate::yaml;
use crate::yaml::Fault;
use crate::yaml::Node;
use crate::yaml::Value;
use std::collections::BTreeMap;

const KEYS: [&str; 5] = ["name", "include_contents", "instruction", "output_key", "tools"];

/// The agents that a host states something about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Agents {
    all: BTreeMap<String, Agent>,
}

/// One agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Where its name stands in the file.
    pub place: Place,
    /// What it is shown of the session.
    pub history: History,
    /// Its instruction, as written; may be empty.
    pub instruction: String,
    /// What the instruction is filled with, in order, each once.
    pub reads: Vec<Read>,
    /// The key of state that its final text is kept under; may be empty.
    pub output_key: String,
    /// The names of its tools.
    pub tools: Vec<String>,
}

/// What an agent is shown of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    /// All that it may see.
    Full,
    /// The turn that goes on: from the last message of a person or of another agent.
    Turn,
}

/// A value that an instruction is filled with.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Read {
    /// A key of state, with its prefix.
    State(String),
    /// The newest version of a file.
    Artifact(String),
}

impl Agents {
    /// Reads an agents file.
    ///
    /// # Errors
    /// All that is wrong with it: keys that are not known, values of another type, a name that comes twice.
    ///
    /// ```
    /// use gatelog::records::agents::{Agents, Read};
    /// let agents = Agents::parse("agents: [{name: writer, instruction: 'Use {decision}'}]").unwrap();
    /// assert_eq!(agents.named("writer").unwrap().reads, [Read::State("decision".into())]);
    /// assert!(Agents::parse("agents: [{nam: writer}]").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Self, Vec<Fault>> {
        let root = yaml::read(text).map_err(|fault| vec![fault])?;
        let mut faults = Vec::new();
        let fields = fields(&root, "the file", &["agents"], &mut faults);
        let mut all = BTreeMap::new();
        match fields.get("agents").map(|node| (node, &node.value)) {
            None if faults.is_empty() => {
                faults.push(Fault::new(root.place, "the file needs `agents`, a list of agents"));
            }
            None => {}
            Some((_, Value::List(items))) => {
                for item in items {
                    let Some((name, agent)) = agent(item, &mut faults) else { continue };
                    let place = agent.place;
                    if all.insert(name.clone(), agent).is_some() {
                        faults.push(Fault::new(place, format!("the agent `{name}` stands there twice")));
                    }
                }
            }
            Some((node, _)) => {
                faults.push(Fault::new(
                    node.place,
                    format!("`agents` has to be a list, and this is {}", node.kind()),
                ));
            }
        }
        if faults.is_empty() { Ok(Self { all }) } else { Err(faults) }
    }

    /// Whether nothing is stated.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// What is stated about an agent.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Agent> {
        self.all.get(name)
    }

    /// The names and what is stated, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Agent)> {
        self.all.iter().map(|(name, agent)| (name.as_str(), agent))
    }
}

fn fields<'a>(
    node: &'a Node,
    what: &str,
    known: &[&str],
    faults: &mut Vec<Fault>,
) -> BTreeMap<&'a str, &'a Node> {
    let Value::Map(pairs) = &node.value else {
        faults.push(Fault::new(node.place, format!("{what} has to be a map, and this is {}", node.kind())));
        return BTreeMap::new();
    };
    let mut fields = BTreeMap::new();
    for (key, value) in pairs {
        if known.contains(&key.text.as_str()) {
            fields.insert(key.text.as_str(), value);
        } else {
            let names: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
            let text = format!("unknown key `{}` in {what}; known are {}", key.text, names.join(", "));
            faults.push(Fault::new(key.place, text));
        }
    }
    fields
}

fn agent(node: &Node, faults: &mut Vec<Fault>) -> Option<(String, Agent)> {
    let before = faults.len();
    let fields = fields(node, "an agent", &KEYS, faults);
    let mut text = |key: &str| match fields.get(key).filter(|node| !node.is_null()) {
        None => String::new(),
        Some(node) => node.scalar().map(str::to_owned).unwrap_or_else(|| {
            let text = format!("`{key}` of an agent has to be a text, and this is {}", node.kind());
            faults.push(Fault::new(node.place, text));
            String::new()
        }),
    };
    let (name, history) = (text("name"), text("include_contents"));
    let (instruction, output_key) = (text("instruction"), text("output_key"));
    if name.is_empty() && faults.len() == before {
        faults.push(Fault::new(node.place, "an agent needs a `name`"));
    }
    let place = |key: &str| fields.get(key).map_or(node.place, |node| node.place);
    let history = match history.as_str() {
        "" | "default" => History::Full,
        "none" => History::Turn,
        other => {
            let text = format!("`include_contents` is `default` or `none`, not `{other}`");
            faults.push(Fault::new(place("include_contents"), text));
            History::Full
        }
    };
    let tools = tools(fields.get("tools").copied(), faults);
    let place = place("name");
    let reads = reads(&instruction);
    (faults.len() == before)
        .then_some((name, Agent { place, history, instruction, reads, output_key, tools }))
}

fn tools(node: Option<&Node>, faults: &mut Vec<Fault>) -> Vec<String> {
    let Some(node) = node.filter(|node| !node.is_null()) else { return Vec::new() };
    let Value::List(items) = &node.value else {
        faults.push(Fault::new(node.place, format!("`tools` has to be a list, and this is {}", node.kind())));
        return Vec::new();
    };
    let mut names = Vec::new();
    for item in items {
        match item.scalar() {
            Some(name) => names.push(name.to_owned()),
            None => faults.push(Fault::new(
                item.place,
                format!("a tool is named by a text, and this is {}", item.kind()),
            )),
        }
    }
    names
}

/// What stands between braces in an instruction, where it names a value: `{key}`, `{app:key}`, `{key?}`,
/// `{artifact.name}`. Other braces are text.
fn reads(instruction: &str) -> Vec<Read> {
    let mut found = Vec::new();
    for piece in pieces(instruction) {
        if let Piece::Read(read) = piece
            && !found.contains(&read)
        {
            found.push(read);
        }
    }
    found
}

/// A piece of an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Text as it is.
    Text(&'a str),
    /// What a value is put in place of.
    Read(Read),
}

/// The pieces of an instruction in order.
pub(crate) fn pieces(instruction: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = instruction;
    while let Some(open) = rest.find('{') {
        let (before, from) = rest.split_at(open);
        pieces.push(Piece::Text(before));
        let inner = from.trim_start_matches('{');
        let Some(end) = inner.find(['{', '}']) else {
            pieces.push(Piece::Text(from));
            return pieces;
        };
        let (name, after) = inner.split_at(end);
        rest = after.trim_start_matches('}');
        match read(name) {
            // A brace that opens again has closed nothing.
            Some(read) if rest.len() < after.len() => pieces.push(Piece::Read(read)),
            Some(_) | None => {
                pieces.push(Piece::Text(from.get(..from.len() - rest.len()).unwrap_or_default()));
            }
        }
    }
    pieces.push(Piece::Text(rest));
    pieces.retain(|piece| *piece != Piece::Text(""));
    pieces
}

fn read(name: &str) -> Option<Read> {
    let name = name.trim();
    let name = name.strip_suffix('?').unwrap_or(name);
    if let Some(file) = name.strip_prefix("artifact.") {
        return Some(Read::Artifact(file.to_owned()));
    }
    let bare = ["app:", "user:", "temp:"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    let mut letters = bare.chars();
    let first = letters.next().is_some_and(|letter| letter.is_alphabetic() || letter == '_');
    let identifier = first && letters.all(|letter| letter.is_alphanumeric() || letter == '_');
    identifier.then(|| Read::State(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_name_values_or_are_text() {
        let state = |key: &str| Read::State(key.to_owned());
        let rows = [
            ("no braces", vec![]),
            ("{a} {a} {b?}", vec![state("a"), state("b")]),
            ("{app:a} {user:a}{temp:a}", vec![state("app:a"), state("user:a"), state("temp:a")]),
            ("{artifact.note.txt}", vec![Read::Artifact("note.txt".to_owned())]),
            ("{{ a }}", vec![state("a")]),
            (r#"{a b} {1x} {} {"k": 1} {other:a} {a"#, vec![]),
            ("{a{b}", vec![state("b")]),
            ("}{", vec![]),
        ];
        for (instruction, expected) in rows {
            assert_eq!(reads(instruction), expected, "{instruction}");
        }
    }

    #[test]
    fn all_that_is_wrong_is_said_with_its_place() {
        let text = "agents:\n  - {name: a, include_contents: some}\n  - {name: b, tool: [x]}\n  - {tools: 1}\n  - {name: [c]}\n  - x\n  - {name: d}\n  - {name: d, tools: [[x]]}\n  - {name: d}\n";
        let faults = Agents::parse(text).unwrap_err();
        let said: Vec<_> = faults.iter().map(ToString::to_string).collect();
        let expected = [
            "2:33: `include_contents` is `default` or `none`, not `some`",
            "3:15: unknown key `tool` in an agent; known are `name`, `include_contents`, `instruction`, `output_key`, `tools`",
            "4:5: an agent needs a `name`",
            "4:13: `tools` has to be a list, and this is a text",
            "5:12: `name` of an agent has to be a text, and this is a list",
            "6:5: an agent has to be a map, and this is a text",
            "8:23: a tool is named by a text, and this is a list",
            "9:12: the agent `d` stands there twice",
        ];
        assert_eq!(said, expected);
        for (text, fault) in [
            ("{}", "1:1: the file needs `agents`, a list of agents"),
            ("agents: {}", "1:9: `agents` has to be a list, and this is a map"),
            ("[]", "1:1: the file has to be a map, and this is a list"),
        ] {
            assert_eq!(
                Agents::parse(text).unwrap_err().iter().map(ToString::to_string).collect::<Vec<_>>(),
                [fault]
            );
        }
    }
}
