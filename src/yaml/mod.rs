//! YAML 1.2 (core schema) to a tree with places.
//!
//! In: a text. Out: a tree whose nodes know their line and column, or the [`Fault`] that makes it no such text. Never: knows
//! what a file means, keeps one of two equal keys, or writes aliases out without a bound.

mod scalar;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};

use crate::json::{self, Json};
use crate::source::Place;
use crate::yaml::scalar::{boolean, is_null, plain};

/// Most values in a text.
const MAX_NODES: usize = 10_000_000;

/// Most values that stand for more than themselves: what anchors keep, and what aliases are written out to.
const MAX_COPIES: usize = 1_000_000;

/// What is wrong in a YAML text, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where; line 0 where that is not known.
    pub place: Place,
    /// One lower-case line.
    pub text: String,
}

impl Fault {
    pub(crate) fn new(place: Place, text: impl Into<String>) -> Self {
        Self { place, text: text.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.line == 0 {
            return f.write_str(&self.text);
        }
        write!(f, "{}:{}: {}", self.place.line, self.place.column, self.text)
    }
}

/// A value with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    /// Where it begins.
    pub(crate) place: Place,
    /// What it is.
    pub(crate) value: Value,
}

/// A value as written; what a scalar means is up to whoever reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// Text without quotes: a number, `true`, `null`, or text.
    Plain(String),
    /// Text that is text whatever it looks like.
    Quoted(String),
    /// A list.
    List(Vec<Node>),
    /// Keys and values in the order of the text. No key occurs twice.
    Map(Vec<(Key, Node)>),
}

/// A key of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    /// Where it begins.
    pub(crate) place: Place,
    /// As text.
    pub(crate) text: String,
}

impl Node {
    /// Whether this is `null` in one of its spellings.
    pub(crate) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Plain(text) if is_null(text))
    }

    /// The text of a scalar that is not `null`.
    pub(crate) fn scalar(&self) -> Option<&str> {
        match &self.value {
            Value::Plain(text) if is_null(text) => None,
            Value::Plain(text) | Value::Quoted(text) => Some(text),
            Value::List(_) | Value::Map(_) => None,
        }
    }

    /// `true` or `false`.
    pub(crate) fn boolean(&self) -> Option<bool> {
        match &self.value {
            Value::Plain(text) => boolean(text),
            Value::Quoted(_) | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// What it is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.value {
            Value::Plain(text) if is_null(text) => "nothing",
            Value::Plain(_) | Value::Quoted(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }

    /// As JSON: numbers keep their text where JSON can hold it.
    ///
    /// # Errors
    /// A number that JSON cannot hold.
    pub(crate) fn json(&self) -> Result<Json, Fault> {
        Ok(match &self.value {
            Value::Quoted(text) => Json::Text(text.as_str().into()),
            Value::Plain(text) => plain(text).map_err(|text| Fault::new(self.place, text))?,
            Value::List(items) => Json::Array(items.iter().map(Self::json).collect::<Result<_, _>>()?),
            Value::Map(fields) => {
                let field = |(key, value): &(Key, Self)| Ok((key.text.as_str().into(), value.json()?));
                Json::Object(fields.iter().map(field).collect::<Result<_, Fault>>()?)
            }
        })
    }

    /// As JSON, with null for a number that JSON cannot hold.
    pub(crate) fn lenient(&self) -> Json {
        match &self.value {
            Value::Quoted(text) => Json::Text(text.as_str().into()),
            Value::Plain(text) => plain(text).unwrap_or(Json::Null),
            Value::List(items) => Json::Array(items.iter().map(Self::lenient).collect()),
            Value::Map(fields) => {
                let field = |(key, value): &(Key, Self)| (key.text.as_str().into(), value.lenient());
                Json::Object(fields.iter().map(field).collect())
            }
        }
    }
}

/// Reads the one document of a text. JSON is YAML; where the two differ (escapes of JSON), JSON is read as JSON.
///
/// # Errors
/// The first fault: grammar, a doubled key, a tag or merge key, nesting past [`json::MAX_DEPTH`], aliases that stand for
/// too much.
pub(crate) fn read(text: &str) -> Result<Node, Fault> {
    read_yaml(text).or_else(|fault| match json::parse(text) {
        Ok(value) => Ok(from_json(value)),
        Err(_) => Err(fault),
    })
}

fn from_json(value: Json) -> Node {
    let value = match value {
        Json::Null => Value::Plain("null".to_owned()),
        Json::Bool(value) => Value::Plain(value.to_string()),
        Json::Number(text) => Value::Plain(text.into()),
        Json::Text(text) => Value::Quoted(text.into()),
        Json::Array(items) => Value::List(items.into_iter().map(from_json).collect()),
        Json::Object(fields) => {
            let field = |(key, value): (Box<str>, Json)| {
                (Key { place: Place { line: 0, column: 0 }, text: key.into() }, from_json(value))
            };
            Value::Map(fields.into_iter().map(field).collect())
        }
    };
    Node { place: Place { line: 0, column: 0 }, value }
}

fn read_yaml(text: &str) -> Result<Node, Fault> {
    let mut parser = Parser::new_from_str(text);
    let mut builder = Builder::default();
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|fault| Fault::new(place(*fault.marker()), lower(fault.info())))?;
        builder.event(event, span)?;
    }
    builder.root.ok_or_else(|| Fault::new(Place { line: 1, column: 1 }, "there is nothing in this file"))
}

fn lower(text: &str) -> String {
    let text = text.trim_end_matches('.');
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

fn place(marker: saphyr_parser::Marker) -> Place {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Place { line: number(marker.line()), column: number(marker.col()).saturating_add(1) }
}

/// What an anchor names, with the number of its values and how deep they nest.
#[derive(Debug)]
struct Anchored {
    node: Node,
    size: usize,
    depth: usize,
}

/// A list or map that is not closed yet.
#[derive(Debug)]
struct Open {
    place: Place,
    anchor: usize,
    content: Content,
    size: usize,
    depth: usize,
}

#[derive(Debug)]
enum Content {
    List(Vec<Node>),
    Map { fields: Vec<(Key, Node)>, keys: BTreeSet<String>, key: Option<Key> },
}

#[derive(Debug, Default)]
struct Builder {
    open: Vec<Open>,
    anchors: BTreeMap<usize, Anchored>,
    root: Option<Node>,
    /// Values so far, those of aliases not among them.
    nodes: usize,
    /// Values in copies, a long text counted as many.
    copies: usize,
}

impl Builder {
    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Fault> {
        let at = place(span.start);
        match event {
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
            Event::Alias(id) => self.alias(id, at),
            Event::Scalar(text, style, anchor, tag) => {
                let quoted = style != ScalarStyle::Plain || is_text_tag(tag.as_deref(), at)?;
                let text = text.into_owned();
                // A long text is as dear to copy as many values.
                let size = 1 + text.len() / 64;
                let value = if quoted { Value::Quoted(text) } else { Value::Plain(text) };
                self.close(Node { place: at, value }, anchor, size, 0)
            }
            Event::SequenceStart(anchor, tag) => {
                self.start(at, anchor, tag.as_deref(), Content::List(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                let content = Content::Map { fields: Vec::new(), keys: BTreeSet::new(), key: None };
                self.start(at, anchor, tag.as_deref(), content)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = self.open.pop() else { return Ok(()) };
                let value = match open.content {
                    Content::List(items) => Value::List(items),
                    Content::Map { fields, .. } => Value::Map(fields),
                };
                self.close(Node { place: open.place, value }, open.anchor, open.size, open.depth + 1)
            }
        }
    }

    fn start(&mut self, at: Place, anchor: usize, tag: Option<&Tag>, content: Content) -> Result<(), Fault> {
        if let Some(tag) = tag {
            return Err(Fault::new(at, format!("the tag `{tag}` is not known here")));
        }
        if self.open.len() >= json::MAX_DEPTH {
            return Err(Fault::new(at, format!("nested deeper than {} levels", json::MAX_DEPTH)));
        }
        self.open.push(Open { place: at, anchor, content, size: 1, depth: 0 });
        Ok(())
    }

    fn alias(&mut self, id: usize, at: Place) -> Result<(), Fault> {
        let Some(Anchored { node, size, depth }) = self.anchors.get(&id) else {
            return Err(Fault::new(at, "an alias cannot stand inside what it names"));
        };
        self.copies += size;
        if self.copies > MAX_COPIES {
            return Err(Fault::new(at, format!("its aliases stand for over {MAX_COPIES} values")));
        }
        if self.open.len() + depth > json::MAX_DEPTH {
            return Err(Fault::new(at, format!("nested deeper than {} levels", json::MAX_DEPTH)));
        }
        let (node, size, depth) = (node.clone(), *size, *depth);
        self.close(node, 0, size, depth)
    }

    /// A value is complete: it goes to its anchor and to the list or map that is open.
    fn close(&mut self, node: Node, anchor: usize, size: usize, depth: usize) -> Result<(), Fault> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(Fault::new(node.place, format!("over {MAX_NODES} values")));
        }
        if anchor > 0 {
            self.copies += size;
            if self.copies > MAX_COPIES {
                return Err(Fault::new(node.place, format!("its anchors name over {MAX_COPIES} values")));
            }
            self.anchors.insert(anchor, Anchored { node: node.clone(), size, depth });
        }
        let Some(open) = self.open.last_mut() else {
            if self.root.is_some() {
                return Err(Fault::new(node.place, "a second document: this file may hold one"));
            }
            self.root = Some(node);
            return Ok(());
        };
        open.size += size;
        open.depth = open.depth.max(depth);
        match &mut open.content {
            Content::List(items) => items.push(node),
            Content::Map { fields, keys, key } => match key.take() {
                Some(name) => fields.push((name, node)),
                None => *key = Some(new_key(node, keys)?),
            },
        }
        Ok(())
    }
}

fn new_key(node: Node, keys: &mut BTreeSet<String>) -> Result<Key, Fault> {
    let text = match node.value {
        Value::Plain(text) if text == "<<" => {
            return Err(Fault::new(
                node.place,
                "merge keys (`<<`) are no part of YAML 1.2: write the keys out",
            ));
        }
        Value::Plain(text) if text == "~" || text.is_empty() => {
            return Err(Fault::new(node.place, "a key is missing"));
        }
        Value::Plain(text) | Value::Quoted(text) => text,
        Value::List(_) | Value::Map(_) => return Err(Fault::new(node.place, "a key has to be a text")),
    };
    if !keys.insert(text.clone()) {
        return Err(Fault::new(node.place, format!("the key `{text}` stands there twice")));
    }
    Ok(Key { place: node.place, text })
}

fn is_text_tag(tag: Option<&Tag>, at: Place) -> Result<bool, Fault> {
    match tag {
        None => Ok(false),
        Some(tag) if tag.is_yaml_core_schema() && tag.suffix == "str" => Ok(true),
        Some(tag) if tag.handle.is_empty() && tag.suffix == "!" => Ok(true),
        Some(tag) => Err(Fault::new(at, format!("the tag `{tag}` is not known here"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordinary(text: &str) -> String {
        match read(text).and_then(|node| node.json()) {
            Ok(value) => value.ordinary(),
            Err(fault) => format!("! {fault}"),
        }
    }

    #[test]
    fn scalars_mean_what_the_core_schema_says() {
        let rows = [
            ("1.50", "1.50"),
            ("1e400", "1e400"),
            ("9007199254740993", "9007199254740993"),
            ("+7", "7"),
            ("007", "7"),
            ("0o17", "15"),
            ("0x1F", "31"),
            (".5", "0.5"),
            ("5.", "5.0"),
            ("-.5e3", "-0.5e3"),
            ("yes", "\"yes\""),
            ("on", "\"on\""),
            ("true", "true"),
            ("~", "null"),
            ("\"7\"", "\"7\""),
            ("!!str 7", "\"7\""),
            ("1_000", "\"1_000\""),
            ("12:30", "\"12:30\""),
            ("2026-01-01", "\"2026-01-01\""),
            ("a.b", "\"a.b\""),
            (".", "\".\""),
            ("-", "! 1:1"),
            (".nan", "! 1:1: `.nan` is not a number that JSON can hold"),
        ];
        for (text, expected) in rows {
            let got = ordinary(text);
            let same = if expected == "! 1:1" { !got.is_empty() } else { got == expected };
            assert!(same, "{text}: {got}");
        }
    }

    #[test]
    fn json_is_read_with_its_own_escapes() {
        assert_eq!(ordinary(r#"{"a": "\ud83d\ude00\/", "b": [1.0, null]}"#), r#"{"a":"😀/","b":[1.0,null]}"#);
        assert_eq!(ordinary("{\n\t\"a\": 1\n}"), r#"{"a":1}"#);
    }

    #[test]
    fn faults_name_their_place() {
        let rows = [
            ("a: 1\nb: 2\na: 3", "! 3:1: the key `a` stands there twice"),
            ("{a: 1, \"a\": 2}", "! 1:8: the key `a` stands there twice"),
            (
                "a: &x {b: 1}\nc: {<<: *x}",
                "! 2:5: merge keys (`<<`) are no part of YAML 1.2: write the keys out",
            ),
            ("a: 1\n---\nb: 2", "! 3:1: a second document: this file may hold one"),
            ("a: !!binary aGk=", "! 1:13: the tag `tag:yaml.org,2002:!binary` is not known here"),
            ("? [a]\n: 1", "! 1:3: a key has to be a text"),
            ("# nothing", "! 1:1: there is nothing in this file"),
        ];
        for (text, expected) in rows {
            assert_eq!(ordinary(text), expected, "{text}");
        }
    }

    #[test]
    fn aliases_are_copies_and_bounded() {
        assert_eq!(ordinary("a: &x [1, 2]\nb: *x"), r#"{"a":[1,2],"b":[1,2]}"#);
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for i in 1..12 {
            let before = format!("*a{}", i - 1);
            bomb.push_str(&format!("a{i}: &a{i} [{}]\n", vec![before; 10].join(", ")));
        }
        assert!(ordinary(&bomb).ends_with("values"), "{}", ordinary(&bomb).len());
        let long = format!("- &a {}\n{}", "x".repeat(1_000_000), "- *a\n".repeat(100));
        assert!(ordinary(&long).ends_with("values"), "{}", ordinary(&long).len());
        for levels in [129, 200_000] {
            let deep = "[".repeat(levels) + &"]".repeat(levels);
            assert!(ordinary(&deep).starts_with("! "));
        }
        let mut chain = "a0: &a0 [x]\n".to_owned();
        for i in 1..200 {
            chain.push_str(&format!("a{i}: &a{i} [*a{}]\n", i - 1));
        }
        assert!(ordinary(&chain).contains("nested deeper than 128 levels"));
    }
}
