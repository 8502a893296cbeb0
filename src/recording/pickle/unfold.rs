//! The values of a pickle to JSON.

use std::collections::BTreeSet;

use crate::json::{Json, MAX_DEPTH};
use crate::recording::StopKind;
use crate::recording::bytes::to_base64;
use crate::recording::fields::shown;
use crate::recording::pickle::class::{Class, Kind};
use crate::recording::pickle::heap::{Heap, Instance, Node, Ref};
use crate::recording::pickle::number;
use crate::recording::pickle::{Fault, Unpickled, moment};

/// How much longer than the pickle its values may be once shared ones are written out.
const UNFOLDED: usize = 16;

/// The room that even the shortest pickle has.
const ROOM: usize = 1 << 16;

/// Keys of objects that stand for a value that JSON cannot hold.
const WRAPPERS: &[&str] = &["bytes", "bytearray", "tuple", "set", "frozenset", "surrogates"];

/// The actions of an event.
pub(crate) fn actions(heap: &Heap, root: Ref, length: usize) -> Result<Unpickled, Fault> {
    let room = length.saturating_mul(UNFOLDED).saturating_add(ROOM);
    let mut unfold = Unfold { heap, room, wrapped: false };
    let actions = match heap.node(root) {
        Node::None => None,
        Node::Instance(instance) if instance.class.kind == Kind::Actions => {
            Some(unfold.model(instance, Use::Data, 0)?)
        }
        _ => return Err(Fault::shape("it holds something else than the actions of an event")),
    };
    Ok(Unpickled { actions, wrapped: unfold.wrapped })
}

/// What a value is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// User data, for which wrappers are made.
    Data,
    /// A part of a message: JSON, and bytes under a key of the schema.
    Message,
}

struct Unfold<'a> {
    heap: &'a Heap,
    /// How much may still be written.
    room: usize,
    wrapped: bool,
}

impl<'a> Unfold<'a> {
    fn spend(&mut self, amount: usize) -> Result<(), Fault> {
        let left = self.room.checked_sub(amount);
        self.room = left.ok_or_else(|| {
            let text = format!("its shared values unfold to more than {UNFOLDED} times its length");
            Fault::new(StopKind::TooLarge, text)
        })?;
        Ok(())
    }

    fn value(&mut self, at: Ref, of: Use, depth: usize) -> Result<Json, Fault> {
        if depth >= MAX_DEPTH {
            let text = format!("it is nested deeper than {MAX_DEPTH} levels, or a value holds itself");
            return Err(Fault::new(StopKind::TooDeep, text));
        }
        self.spend(1)?;
        let heap = self.heap;
        match heap.node(at) {
            Node::None => Ok(Json::Null),
            Node::Bool(value) => Ok(Json::Bool(*value)),
            Node::Integer(digits) => {
                self.spend(digits.len())?;
                Ok(Json::Number(digits.clone()))
            }
            Node::Float(value) => Ok(Json::Number(number::float(*value)?.into())),
            Node::Text(text) => {
                self.spend(text.len())?;
                Ok(Json::Text(text.clone()))
            }
            Node::List(items) => self.list(items, of, depth).map(Json::Array),
            Node::Dict(pairs) => self.dict(pairs, of, depth),
            Node::Instance(instance) => self.instance(instance, of, depth),
            Node::Class(class) => Err(Fault::refused("a value is the class", class)),
            Node::Bytes(bytes) if of == Use::Message => self.base64(bytes),
            Node::Surrogates(bytes) => self.wrapper("surrogates", of, |this| this.base64(bytes)),
            Node::Bytes(bytes) => self.wrapper("bytes", of, |this| this.base64(bytes)),
            Node::ByteArray(bytes) => self.wrapper("bytearray", of, |this| this.base64(bytes)),
            Node::Tuple(items) => {
                self.wrapper("tuple", of, |this| this.list(items, of, depth).map(Json::Array))
            }
            Node::Set(items) => self.wrapper("set", of, |this| this.members(items, of, depth)),
            Node::FrozenSet(items) => self.wrapper("frozenset", of, |this| this.members(items, of, depth)),
        }
    }

    fn list(&mut self, items: &[Ref], of: Use, depth: usize) -> Result<Vec<Json>, Fault> {
        items.iter().map(|item| self.value(*item, of, depth + 1)).collect()
    }

    /// Members of a set in the order of their JSON texts.
    fn members(&mut self, items: &[Ref], of: Use, depth: usize) -> Result<Json, Fault> {
        let mut members = self.list(items, of, depth)?;
        members.sort_by_cached_key(Json::ordinary);
        members.dedup();
        Ok(Json::Array(members))
    }

    fn base64(&mut self, bytes: &[u8]) -> Result<Json, Fault> {
        self.spend(bytes.len() / 3 * 4)?;
        Ok(Json::Text(to_base64(bytes).into()))
    }

    fn wrapper(
        &mut self,
        name: &str,
        of: Use,
        inner: impl FnOnce(&mut Self) -> Result<Json, Fault>,
    ) -> Result<Json, Fault> {
        if of == Use::Message {
            let text = format!("a message holds a value of the kind `{}`, which JSON has not", shown(name));
            return Err(Fault::new(StopKind::UnencodableValue, text));
        }
        self.spend(name.len())?;
        self.wrapped = true;
        Ok(object(name, inner(self)?))
    }

    /// A dictionary with texts as keys as it is; any other, and one that looks like a wrapper, in a wrapper.
    fn dict(&mut self, pairs: &[(Ref, Ref)], of: Use, depth: usize) -> Result<Json, Fault> {
        let heap = self.heap;
        let keys: Option<Vec<&str>> = pairs.iter().map(|(key, _)| heap.text(*key)).collect();
        match keys {
            Some(keys) if !is_wrapper(&keys) => {
                self.members_of(keys.into_iter().map(Box::from).collect(), pairs, of, depth)
            }
            Some(_) | None => self.wrapper("py:builtins:dict", of, |this| {
                let keys = pairs.iter().map(|(key, _)| this.key(*key, depth)).collect::<Result<_, _>>()?;
                this.members_of(keys, pairs, of, depth)
            }),
        }
    }

    fn members_of(
        &mut self,
        keys: Vec<Box<str>>,
        pairs: &[(Ref, Ref)],
        of: Use,
        depth: usize,
    ) -> Result<Json, Fault> {
        let mut members = Vec::with_capacity(keys.len());
        let mut seen = BTreeSet::new();
        for (key, (_, value)) in keys.into_iter().zip(pairs) {
            self.spend(key.len())?;
            if !seen.insert(key.clone()) {
                let text = format!("the key `{}` stands there twice", shown(&key));
                return Err(Fault::new(StopKind::DuplicateKey, text));
            }
            members.push((key, self.value(*value, of, depth + 1)?));
        }
        Ok(Json::Object(members))
    }

    /// A key with its kind before it.
    fn key(&mut self, at: Ref, depth: usize) -> Result<Box<str>, Fault> {
        let heap = self.heap;
        let text = match heap.node(at) {
            Node::Text(text) => format!("s:{text}"),
            Node::Integer(digits) => format!("i:{digits}"),
            Node::Bool(value) => format!("bool:{value}"),
            Node::None => "n:".to_owned(),
            Node::Bytes(bytes) => format!("b:{}", to_base64(bytes)),
            _ => format!("o:{}", self.value(at, Use::Data, depth + 1)?.ordinary()),
        };
        Ok(text.into())
    }

    fn instance(&mut self, instance: &'a Instance, of: Use, depth: usize) -> Result<Json, Fault> {
        let class = instance.class;
        match class.kind {
            Kind::Secret => Ok(object("redacted", Json::Bool(true))),
            Kind::Actions | Kind::Model => self.model(instance, of, depth),
            Kind::Message => self.model(instance, Use::Message, depth),
            Kind::Enumeration => self.enumeration(instance, of),
            Kind::OrderedDict | Kind::DefaultDict => self.wrapper(&qualified(class), of, |this| {
                let pair =
                    |(key, value): &(Ref, Ref)| this.list(&[*key, *value], of, depth + 1).map(Json::Array);
                instance.items.iter().map(pair).collect::<Result<_, _>>().map(Json::Array)
            }),
            Kind::Date | Kind::DateTime | Kind::Time | Kind::TimeDelta | Kind::TimeZone => {
                let text = moment::text(self.heap, class, self.heap.arguments(instance))?;
                self.wrapped_text(class, of, text)
            }
            Kind::Decimal => {
                let text = self.only_text(instance)?;
                let sound = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
                if !text.bytes().all(sound) {
                    return Err(Fault::refused("it makes from other arguments than are known", class));
                }
                self.wrapped_text(class, of, text.to_owned())
            }
            Kind::Uuid => {
                let text = self.uuid(instance)?;
                self.wrapped_text(class, of, text)
            }
            Kind::Path => {
                let text = self.path(instance)?;
                self.wrapped_text(class, of, text)
            }
            Kind::Complex => {
                let parts = self.heap.arguments(instance);
                let floats = parts.iter().all(|part| matches!(self.heap.node(*part), Node::Float(_)));
                if parts.len() != 2 || !floats {
                    return Err(Fault::refused("it makes from other arguments than are known", class));
                }
                self.wrapper(&qualified(class), of, |this| this.list(parts, of, depth).map(Json::Array))
            }
            Kind::Set | Kind::FrozenSet => {
                let items = match self.heap.arguments(instance).first().map(|items| self.heap.node(*items)) {
                    Some(Node::List(items)) => items.as_slice(),
                    _ => &[],
                };
                self.wrapper(class.name, of, |this| this.members(items, of, depth))
            }
            Kind::ByteArray => {
                let bytes = match self.heap.arguments(instance).first().map(|bytes| self.heap.node(*bytes)) {
                    Some(Node::Bytes(bytes)) => &**bytes,
                    _ => &[],
                };
                self.wrapper(class.name, of, |this| this.base64(bytes))
            }
            Kind::Factory => Err(Fault::refused("it makes", class)),
        }
    }

    fn wrapped_text(&mut self, class: &'static Class, of: Use, text: String) -> Result<Json, Fault> {
        self.spend(text.len())?;
        self.wrapper(&qualified(class), of, |_| Ok(Json::Text(text.into())))
    }

    fn only_text(&self, instance: &'a Instance) -> Result<&'a str, Fault> {
        let text = match *self.heap.arguments(instance) {
            [text] => self.heap.text(text),
            _ => None,
        };
        text.ok_or_else(|| Fault::refused("it makes from other arguments than are known", instance.class))
    }

    /// A member by its value in a message, and by name and value in user data.
    fn enumeration(&mut self, instance: &'a Instance, of: Use) -> Result<Json, Fault> {
        let value = Json::Text(self.only_text(instance)?.into());
        if of == Use::Message {
            return Ok(value);
        }
        self.wrapper(&qualified(instance.class), of, |_| {
            Ok(Json::Object(vec![("enum".into(), value.clone()), ("value".into(), value)]))
        })
    }

    fn uuid(&self, instance: &Instance) -> Result<String, Fault> {
        let wrong = || Fault::refused("it makes from other arguments than are known", instance.class);
        let number = match instance.state.map(|state| self.heap.node(state)) {
            Some(Node::Dict(pairs)) => match **pairs {
                [(key, value)] if self.heap.text(key) == Some("int") => self.heap.node(value),
                _ => return Err(wrong()),
            },
            _ => return Err(wrong()),
        };
        let Node::Integer(digits) = number else { return Err(wrong()) };
        let hex = format!("{:032x}", digits.parse::<u128>().map_err(|_| wrong())?);
        let groups = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)];
        let groups: Vec<_> =
            groups.iter().map(|(from, to)| hex.get(*from..*to).unwrap_or_default()).collect();
        Ok(groups.join("-"))
    }

    fn path(&mut self, instance: &Instance) -> Result<String, Fault> {
        let wrong = || Fault::refused("it makes from other arguments than are known", instance.class);
        let separator = if instance.class.name.contains("Windows") { '\\' } else { '/' };
        let mut path = String::new();
        for part in self.heap.arguments(instance) {
            if !path.is_empty() && !path.ends_with(separator) {
                path.push(separator);
            }
            let part = self.heap.text(*part).ok_or_else(wrong)?;
            self.spend(part.len() + 1)?;
            path.push_str(part);
        }
        Ok(path)
    }

    /// The fields of a model that are not `None`.
    fn model(&mut self, instance: &'a Instance, of: Use, depth: usize) -> Result<Json, Fault> {
        let unknown =
            || Fault::shape(format!("`{}` is filled in a way that is not known", instance.class.name));
        let heap = self.heap;
        let Some(state) = instance.state else { return Ok(Json::Object(Vec::new())) };
        let Node::Dict(pairs) = heap.node(state) else { return Err(unknown()) };
        let mut fields = Vec::new();
        for (key, value) in pairs {
            match (heap.text(*key), heap.node(*value)) {
                (Some("__dict__" | "__pydantic_extra__"), Node::Dict(pairs)) => fields.extend(pairs),
                (Some("__pydantic_fields_set__" | "__pydantic_private__"), _)
                | (Some("__pydantic_extra__"), Node::None) => {}
                _ => return Err(unknown()),
            }
        }
        fields.retain(|(_, value)| !matches!(heap.node(*value), Node::None));
        let keys: Option<Vec<Box<str>>> =
            fields.iter().map(|(key, _)| heap.text(*key).map(Box::from)).collect();
        self.members_of(keys.ok_or_else(unknown)?, &fields, of, depth)
    }
}

fn qualified(class: &Class) -> String {
    format!("py:{}:{}", class.module, class.name)
}

fn object(key: &str, value: Json) -> Json {
    Json::Object(vec![(key.into(), value)])
}

/// Whether an object with these keys would look like one that stands for another value.
fn is_wrapper(keys: &[&str]) -> bool {
    match keys {
        [key] => WRAPPERS.contains(key) || key.starts_with("py:"),
        _ => false,
    }
}
