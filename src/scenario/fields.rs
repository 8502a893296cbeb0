//! Maps with known keys.

use std::collections::BTreeMap;

use crate::program::nearest;
use crate::source::Place;
use crate::yaml::{Fault, Node, Value};

/// A map whose keys were checked.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    /// Where the map begins.
    pub(crate) place: Place,
    what: &'static str,
    fields: BTreeMap<&'a str, &'a Node>,
}

/// Reads a map; a key that is not known is a fault. None where it is no map.
pub(crate) fn fields<'a>(
    node: &'a Node,
    what: &'static str,
    known: &[&str],
    faults: &mut Vec<Fault>,
) -> Option<Fields<'a>> {
    let Value::Map(pairs) = &node.value else {
        faults.push(Fault::new(node.place, format!("{what} has to be a map, and this is {}", node.kind())));
        return None;
    };
    let mut fields = BTreeMap::new();
    for (key, value) in pairs {
        if known.contains(&key.text.as_str()) {
            fields.insert(key.text.as_str(), value);
        } else {
            let hint = nearest(&key.text, known.iter().copied()).map_or_else(
                || format!("known are {}", listed(known)),
                |near| format!("did you mean `{near}`"),
            );
            faults.push(Fault::new(key.place, format!("unknown key `{}` in {what}; {hint}", key.text)));
        }
    }
    Some(Fields { place: node.place, what, fields })
}

fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

impl<'a> Fields<'a> {
    /// The value of a key, `null` too.
    pub(crate) fn get(&self, key: &str) -> Option<&'a Node> {
        self.fields.get(key).copied()
    }

    /// The value of a key, if it is there and not `null`.
    pub(crate) fn some(&self, key: &str) -> Option<&'a Node> {
        self.get(key).filter(|node| !node.is_null())
    }

    /// Whether the key stands there.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.fields.contains_key(key)
    }

    /// The text of a key.
    pub(crate) fn text(&self, key: &str, faults: &mut Vec<Fault>) -> Option<String> {
        self.some(key).and_then(|node| text(node, &format!("`{key}` of {}", self.what), faults))
    }

    /// The text of a key that may be missing.
    pub(crate) fn text_or_empty(&self, key: &str, faults: &mut Vec<Fault>) -> String {
        self.text(key, faults).unwrap_or_default()
    }

    /// The text of a key that must be there.
    pub(crate) fn required(&self, key: &str, faults: &mut Vec<Fault>) -> Option<String> {
        if self.some(key).is_none() {
            faults.push(Fault::new(self.place, format!("{} needs `{key}`", self.what)));
        }
        self.text(key, faults)
    }

    /// The number of a key.
    pub(crate) fn number(&self, key: &str, faults: &mut Vec<Fault>) -> Option<i64> {
        let node = self.some(key)?;
        let number = node.scalar().and_then(|text| text.parse().ok());
        if number.is_none() {
            faults.push(Fault::new(node.place, format!("`{key}` of {} has to be a whole number", self.what)));
        }
        number
    }

    /// `true` or `false`; a missing key is `false`.
    pub(crate) fn flag(&self, key: &str, faults: &mut Vec<Fault>) -> bool {
        let Some(node) = self.some(key) else { return false };
        node.boolean().unwrap_or_else(|| {
            faults.push(Fault::new(node.place, format!("`{key}` of {} has to be true or false", self.what)));
            false
        })
    }

    /// The items of a list; a missing key has none.
    pub(crate) fn list(&self, key: &str, faults: &mut Vec<Fault>) -> &'a [Node] {
        self.some(key).map_or(&[], |node| list(node, &format!("`{key}` of {}", self.what), faults))
    }

    /// The texts of a list of texts.
    pub(crate) fn texts(&self, key: &str, faults: &mut Vec<Fault>) -> Vec<String> {
        let what = format!("an entry of `{key}`");
        self.list(key, faults).iter().filter_map(|node| text(node, &what, faults)).collect()
    }

    /// A list, or one item in place of a list of one.
    pub(crate) fn one_or_more(&self, key: &str) -> Vec<&'a Node> {
        match self.some(key) {
            None => Vec::new(),
            Some(Node { value: Value::List(items), .. }) => items.iter().collect(),
            Some(node) => vec![node],
        }
    }

    /// A fault at the place of a key, or of the map.
    pub(crate) fn fault(&self, key: &str, text: impl Into<String>) -> Fault {
        Fault::new(self.get(key).map_or(self.place, |node| node.place), text)
    }
}

/// The text of a scalar.
pub(crate) fn text(node: &Node, what: &str, faults: &mut Vec<Fault>) -> Option<String> {
    let found = node.scalar().map(str::to_owned);
    if found.is_none() {
        faults.push(Fault::new(node.place, format!("{what} has to be a text, and this is {}", node.kind())));
    }
    found
}

/// The items of a list.
pub(crate) fn list<'a>(node: &'a Node, what: &str, faults: &mut Vec<Fault>) -> &'a [Node] {
    if let Value::List(items) = &node.value {
        return items;
    }
    faults.push(Fault::new(node.place, format!("{what} has to be a list, and this is {}", node.kind())));
    &[]
}

/// Rows of three texts.
pub(crate) fn triples(nodes: &[Node], what: &str, faults: &mut Vec<Fault>) -> Vec<[String; 3]> {
    let mut rows = Vec::new();
    for node in nodes {
        let cells: Vec<_> =
            list(node, what, faults).iter().filter_map(|cell| text(cell, what, faults)).collect();
        match <[String; 3]>::try_from(cells) {
            Ok(row) => rows.push(row),
            Err(_) => faults.push(Fault::new(node.place, format!("{what} has to be a list of three texts"))),
        }
    }
    rows
}

/// Text that is JSON: a map or list is written as ordinary JSON, a text is taken as it is.
pub(crate) fn json_text(node: &Node, faults: &mut Vec<Fault>) -> String {
    if let Value::Quoted(text) | Value::Plain(text) = &node.value
        && !node.is_null()
    {
        return text.clone();
    }
    match node.json() {
        Ok(value) => value.ordinary(),
        Err(fault) => {
            faults.push(fault);
            String::new()
        }
    }
}
