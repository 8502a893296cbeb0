//! The values of a pickle while it is read. They refer to each other by number, since a pickle may share a value, or put
//! it into itself.

use crate::recording::pickle::class::Class;

/// The number of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ref(u32);

/// One value.
#[derive(Debug)]
pub(crate) enum Node {
    None,
    Bool(bool),
    /// Its decimal digits.
    Integer(Box<str>),
    Float(f64),
    Text(Box<str>),
    /// A text with unpaired surrogates, each as its three bytes.
    Surrogates(Box<[u8]>),
    Bytes(Box<[u8]>),
    ByteArray(Box<[u8]>),
    List(Vec<Ref>),
    Tuple(Box<[Ref]>),
    Set(Vec<Ref>),
    FrozenSet(Box<[Ref]>),
    Dict(Vec<(Ref, Ref)>),
    /// A class itself.
    Class(&'static Class),
    /// An instance.
    Instance(Box<Instance>),
}

/// An instance of a class.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) class: &'static Class,
    /// The tuple that it was made from. It is not copied: many instances may be made from one.
    pub(crate) arguments: Ref,
    /// What was put into it, for dictionaries.
    pub(crate) items: Vec<(Ref, Ref)>,
    /// What it was filled with.
    pub(crate) state: Option<Ref>,
}

/// All values of a pickle.
#[derive(Debug)]
pub(crate) struct Heap {
    nodes: Vec<Node>,
}

impl Heap {
    /// A heap that holds the three values of which there is one each.
    pub(crate) fn new() -> Self {
        Self { nodes: vec![Node::None, Node::Bool(false), Node::Bool(true)] }
    }

    pub(crate) const NONE: Ref = Ref(0);
    pub(crate) const FALSE: Ref = Ref(1);
    pub(crate) const TRUE: Ref = Ref(2);

    /// Adds a value. A pickle is far shorter than there are numbers, and each of its bytes adds one value at most.
    pub(crate) fn add(&mut self, node: Node) -> Ref {
        let number = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        self.nodes.push(node);
        Ref(number)
    }

    pub(crate) fn node(&self, at: Ref) -> &Node {
        self.nodes.get(at.0 as usize).unwrap_or(&Node::None)
    }

    pub(crate) fn node_mut(&mut self, at: Ref) -> Option<&mut Node> {
        self.nodes.get_mut(at.0 as usize)
    }

    /// The values in a tuple.
    pub(crate) fn items(&self, at: Ref) -> Option<&[Ref]> {
        match self.node(at) {
            Node::Tuple(items) => Some(items),
            _ => None,
        }
    }

    /// What an instance was made from.
    pub(crate) fn arguments(&self, instance: &Instance) -> &[Ref] {
        self.items(instance.arguments).unwrap_or_default()
    }

    /// The text of a text.
    pub(crate) fn text(&self, at: Ref) -> Option<&str> {
        match self.node(at) {
            Node::Text(text) => Some(text),
            _ => None,
        }
    }
}
