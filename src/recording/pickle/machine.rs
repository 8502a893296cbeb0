//! The opcodes of a pickle, of which each is read once.

use std::collections::BTreeMap;

use crate::recording::StopKind;
use crate::recording::fields::shown;
use crate::recording::pickle::Fault;
use crate::recording::pickle::class::{self, Class, Kind};
use crate::recording::pickle::heap::{Heap, Instance, Node, Ref};
use crate::recording::pickle::number;

/// The newest protocol whose opcodes are known.
const NEWEST: u8 = 5;

/// Reads a pickle that fills all of the bytes; its values and which of them it is.
pub(crate) fn run(bytes: &[u8]) -> Result<(Heap, Ref), Fault> {
    let mut machine = Machine {
        bytes,
        at: 0,
        protocol: 0,
        stack: Vec::new(),
        marks: Vec::new(),
        memo: BTreeMap::new(),
        heap: Heap::new(),
    };
    loop {
        let place = machine.at;
        let opcode = machine.byte()?;
        if opcode == b'.' {
            break;
        }
        machine.step(opcode).map_err(|fault| fault.at(place))?;
    }
    let root = machine.pop()?;
    if !machine.stack.is_empty() || !machine.marks.is_empty() || machine.at < bytes.len() {
        return Err(Fault::shape("something is left over at its end"));
    }
    Ok((machine.heap, root))
}

impl Fault {
    fn at(self, place: usize) -> Self {
        Self { text: format!("{} (opcode at byte {place})", self.text), ..self }
    }
}

struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    protocol: u8,
    stack: Vec<Ref>,
    /// Heights of the stack at which something begins.
    marks: Vec<usize>,
    memo: BTreeMap<u64, Ref>,
    heap: Heap,
}

impl<'a> Machine<'a> {
    fn step(&mut self, opcode: u8) -> Result<(), Fault> {
        let known = self.scalar(opcode)?
            || self.text(opcode)?
            || self.collection(opcode)?
            || self.place(opcode)?
            || self.object(opcode)?;
        if known { Ok(()) } else { Err(Fault::shape(format!("the opcode 0x{opcode:02x} is not known"))) }
    }

    /// Numbers, truth values and the like.
    fn scalar(&mut self, opcode: u8) -> Result<bool, Fault> {
        match opcode {
            b'N' => self.stack.push(Heap::NONE),
            0x88 => self.stack.push(Heap::TRUE),
            0x89 => self.stack.push(Heap::FALSE),
            b'J' => {
                let value = i32::from_le_bytes(self.array()?);
                self.push(Node::Integer(value.to_string().into()));
            }
            b'K' => {
                let value = self.byte()?;
                self.push(Node::Integer(value.to_string().into()));
            }
            b'M' => {
                let value = u16::from_le_bytes(self.array()?);
                self.push(Node::Integer(value.to_string().into()));
            }
            b'I' => match self.line()? {
                "00" => self.stack.push(Heap::FALSE),
                "01" => self.stack.push(Heap::TRUE),
                text => self.push(Node::Integer(number::digits(text)?.into())),
            },
            b'L' => {
                let text = self.line()?;
                let digits = number::digits(text.strip_suffix('L').unwrap_or(text))?;
                self.push(Node::Integer(digits.into()));
            }
            0x8a | 0x8b => {
                let length = if opcode == 0x8a { u64::from(self.byte()?) } else { self.length4()? };
                let digits = number::integer(self.take(length)?)?;
                self.push(Node::Integer(digits.into()));
            }
            b'F' => {
                let text = self.line()?;
                let value = text
                    .parse::<f64>()
                    .map_err(|_| Fault::shape(format!("`{}` is no number", shown(text))))?;
                self.push(Node::Float(value));
            }
            b'G' => {
                let value = f64::from_be_bytes(self.array()?);
                self.push(Node::Float(value));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Texts and bytes.
    fn text(&mut self, opcode: u8) -> Result<bool, Fault> {
        let length = match opcode {
            b'C' | b'U' | 0x8c => u64::from(self.byte()?),
            b'B' | b'T' | b'X' => self.length4()?,
            0x8d | 0x8e | 0x96 => u64::from_le_bytes(self.array()?),
            b'S' | b'V' => 0,
            _ => return Ok(false),
        };
        let node = match opcode {
            b'X' | 0x8c | 0x8d => self.take(length).and_then(unicode)?,
            b'C' | b'B' | 0x8e => Node::Bytes(self.take(length)?.into()),
            0x96 => Node::ByteArray(self.take(length)?.into()),
            b'V' => unicode(&unescaped(self.raw_line()?)?)?,
            b'S' => {
                let line = self.line()?;
                let quoted = |quote| line.strip_prefix(quote)?.strip_suffix(quote);
                ascii(quoted('\'').or_else(|| quoted('"')).unwrap_or("\\").as_bytes())?
            }
            _ => ascii(self.take(length)?)?,
        };
        self.push(node);
        Ok(true)
    }

    fn collection(&mut self, opcode: u8) -> Result<bool, Fault> {
        match opcode {
            b']' => self.push(Node::List(Vec::new())),
            b'}' => self.push(Node::Dict(Vec::new())),
            b')' => self.push(Node::Tuple(Box::default())),
            0x8f => self.push(Node::Set(Vec::new())),
            b'l' => {
                let items = self.since_mark()?;
                self.push(Node::List(items));
            }
            b't' => {
                let items = self.since_mark()?;
                self.push(Node::Tuple(items.into()));
            }
            0x91 => {
                let items = self.since_mark()?;
                self.push(Node::FrozenSet(items.into()));
            }
            b'd' => {
                let pairs = pairs(&self.since_mark()?)?;
                self.push(Node::Dict(pairs));
            }
            0x85..=0x87 => {
                let count = usize::from(opcode - 0x84);
                let mut items = vec![Heap::NONE; count];
                for item in items.iter_mut().rev() {
                    *item = self.pop()?;
                }
                self.push(Node::Tuple(items.into()));
            }
            b'a' => {
                let item = self.pop()?;
                self.extend_list(&[item])?;
            }
            b'e' => {
                let items = self.since_mark()?;
                self.extend_list(&items)?;
            }
            b's' => {
                let value = self.pop()?;
                let key = self.pop()?;
                self.extend_dict(&[(key, value)])?;
            }
            b'u' => {
                let pairs = pairs(&self.since_mark()?)?;
                self.extend_dict(&pairs)?;
            }
            0x90 => {
                let items = self.since_mark()?;
                match self.top_node()? {
                    Node::Set(set) => set.extend(items),
                    _ => return Err(Fault::shape("members are added to something that is no set")),
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn extend_list(&mut self, items: &[Ref]) -> Result<(), Fault> {
        match self.top_node()? {
            Node::List(list) => list.extend_from_slice(items),
            _ => return Err(Fault::shape("items are added to something that is no list")),
        }
        Ok(())
    }

    fn extend_dict(&mut self, pairs: &[(Ref, Ref)]) -> Result<(), Fault> {
        match self.top_node()? {
            Node::Dict(dict) => dict.extend_from_slice(pairs),
            Node::Instance(instance)
                if matches!(instance.class.kind, Kind::OrderedDict | Kind::DefaultDict) =>
            {
                instance.items.extend_from_slice(pairs);
            }
            _ => return Err(Fault::shape("keys are added to something that is no dictionary")),
        }
        Ok(())
    }

    /// The stack, the marks, the memo, and what is around the values.
    fn place(&mut self, opcode: u8) -> Result<bool, Fault> {
        match opcode {
            b'(' => self.marks.push(self.stack.len()),
            b'0' if self.marks.last() == Some(&self.stack.len()) => {
                self.marks.pop();
            }
            b'0' => {
                self.pop()?;
            }
            b'1' => {
                self.since_mark()?;
            }
            b'2' => {
                let top = self.top()?;
                self.stack.push(top);
            }
            0x80 => {
                self.protocol = self.byte()?;
                if self.protocol > NEWEST {
                    return Err(Fault::shape(format!("protocol {} is not known", self.protocol)));
                }
            }
            0x95 => {
                let length = u64::from_le_bytes(self.array()?);
                if length > self.left() {
                    return Err(Fault::shape("it ends inside a frame"));
                }
            }
            0x94 => {
                let top = self.top()?;
                self.memo.insert(self.memo.len() as u64, top);
            }
            b'q' | b'r' | b'p' => {
                let place = self.memo_place(opcode)?;
                let top = self.top()?;
                self.memo.insert(place, top);
            }
            b'h' | b'j' | b'g' => {
                let place = self.memo_place(opcode)?;
                let found = self.memo.get(&place).copied();
                self.stack.push(found.ok_or_else(|| Fault::shape(format!("the memo has no {place}")))?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn memo_place(&mut self, opcode: u8) -> Result<u64, Fault> {
        match opcode {
            b'q' | b'h' => Ok(u64::from(self.byte()?)),
            b'r' | b'j' => self.length4(),
            _ => {
                let text = self.line()?;
                text.parse().map_err(|_| Fault::shape(format!("`{}` is no place in the memo", shown(text))))
            }
        }
    }

    /// Classes, what is made of them, and what is refused.
    fn object(&mut self, opcode: u8) -> Result<bool, Fault> {
        match opcode {
            b'c' | b'i' => {
                let (module, name) = (self.line()?, self.line()?);
                let class = self.named(module, name)?;
                if opcode == b'i' {
                    return Err(Fault::refused("it calls", class));
                }
                self.push(Node::Class(class));
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                let names = self.heap.text(module).zip(self.heap.text(name));
                let (module, name) =
                    names.ok_or_else(|| Fault::shape("it names a class by something that is no text"))?;
                let class = self.named(module, name)?;
                self.push(Node::Class(class));
            }
            b'R' => {
                let (arguments, class) = (self.pop()?, self.pop()?);
                let node = called(&self.heap, self.class(class)?, arguments)?;
                self.push(node);
            }
            0x81 => {
                let (arguments, class) = (self.pop()?, self.pop()?);
                let node = made(&self.heap, self.class(class)?, arguments)?;
                self.push(node);
            }
            0x92 => {
                let (named, arguments, class) = (self.pop()?, self.pop()?, self.pop()?);
                let class = self.class(class)?;
                match self.heap.node(named) {
                    Node::Dict(pairs) if pairs.is_empty() => {}
                    _ => return Err(Fault::refused("it makes by named arguments", class)),
                }
                let node = made(&self.heap, class, arguments)?;
                self.push(node);
            }
            b'b' => {
                let state = self.pop()?;
                self.fill(state)?;
            }
            b'P' | b'Q' => return Err(unencodable("it refers to an object outside")),
            0x82..=0x84 => return Err(unencodable("it refers to a registered extension")),
            0x97 | 0x98 => return Err(unencodable("it refers to a buffer outside")),
            b'o' => return Err(unencodable("it makes an object of an old kind")),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn named(&self, module: &str, name: &str) -> Result<&'static Class, Fault> {
        // Up to protocol 2 the built-in types have the name that they had in Python 2.
        let module = if self.protocol < 3 && module == "__builtin__" { "builtins" } else { module };
        class::named(module, name).ok_or_else(|| {
            let text = format!(
                "it names `{}.{}`, which is none of the classes that are known, and nothing of it is run",
                shown(module),
                shown(name)
            );
            unencodable(&text)
        })
    }

    fn class(&self, at: Ref) -> Result<&'static Class, Fault> {
        match self.heap.node(at) {
            Node::Class(class) => Ok(class),
            _ => Err(unencodable("it calls something that is no class")),
        }
    }

    fn fill(&mut self, state: Ref) -> Result<(), Fault> {
        let is_dict = matches!(self.heap.node(state), Node::Dict(_));
        match self.top_node()? {
            Node::Instance(instance) => {
                let fillable = matches!(
                    instance.class.kind,
                    Kind::Actions | Kind::Model | Kind::Message | Kind::Secret | Kind::Uuid
                );
                if !fillable || !is_dict || instance.state.is_some() {
                    return Err(Fault::refused("it changes", instance.class));
                }
                instance.state = Some(state);
                Ok(())
            }
            Node::Class(class) => Err(Fault::refused("it changes", class)),
            _ => Err(unencodable("it changes something that is no object")),
        }
    }

    fn push(&mut self, node: Node) {
        let at = self.heap.add(node);
        self.stack.push(at);
    }

    /// The lowest place that may be looked at.
    fn floor(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    fn top(&self) -> Result<Ref, Fault> {
        let top = self.stack.get(self.floor()..).and_then(<[Ref]>::last);
        top.copied().ok_or_else(|| Fault::shape("it takes a value where there is none"))
    }

    fn top_node(&mut self) -> Result<&mut Node, Fault> {
        let top = self.top()?;
        self.heap.node_mut(top).ok_or_else(|| Fault::shape("it takes a value where there is none"))
    }

    fn pop(&mut self) -> Result<Ref, Fault> {
        let top = self.top()?;
        self.stack.pop();
        Ok(top)
    }

    /// The values above the last mark, which goes too.
    fn since_mark(&mut self) -> Result<Vec<Ref>, Fault> {
        let mark =
            self.marks.pop().ok_or_else(|| Fault::shape("it goes back to a mark that is not there"))?;
        Ok(self.stack.split_off(mark.min(self.stack.len())))
    }

    fn left(&self) -> u64 {
        self.bytes.len().saturating_sub(self.at) as u64
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], Fault> {
        let end = usize::try_from(length).ok().and_then(|length| self.at.checked_add(length));
        let taken = end.and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or_else(|| Fault::shape("it ends too early"))?;
        self.at += taken.len();
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        self.take(N as u64)?.try_into().map_err(|_| Fault::shape("it ends too early"))
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        self.array().map(|[byte]| byte)
    }

    fn length4(&mut self) -> Result<u64, Fault> {
        Ok(u64::from(u32::from_le_bytes(self.array()?)))
    }

    fn raw_line(&mut self) -> Result<&'a [u8], Fault> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let end = rest.iter().position(|byte| *byte == b'\n');
        let line =
            end.and_then(|end| rest.get(..end)).ok_or_else(|| Fault::shape("it ends inside a line"))?;
        self.at += line.len() + 1;
        Ok(line)
    }

    fn line(&mut self) -> Result<&'a str, Fault> {
        std::str::from_utf8(self.raw_line()?).map_err(|_| Fault::shape("a line of it is no text"))
    }
}

fn unencodable(text: &str) -> Fault {
    Fault::new(StopKind::UnencodableValue, text)
}

fn pairs(items: &[Ref]) -> Result<Vec<(Ref, Ref)>, Fault> {
    let (pairs, rest) = items.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(Fault::shape("a key has no value"));
    }
    Ok(pairs.iter().map(|[key, value]| (*key, *value)).collect())
}

/// What a class called with a tuple of arguments gives.
fn called(heap: &Heap, class: &'static Class, arguments: Ref) -> Result<Node, Fault> {
    let sound = match (class.kind, items(heap, arguments)?) {
        (Kind::Set | Kind::FrozenSet | Kind::ByteArray | Kind::OrderedDict | Kind::DefaultDict, [])
        | (Kind::Enumeration | Kind::Secret, [_]) => true,
        (Kind::Set | Kind::FrozenSet, [items]) => matches!(heap.node(*items), Node::List(_)),
        (Kind::ByteArray, [bytes]) => matches!(heap.node(*bytes), Node::Bytes(_)),
        (Kind::DefaultDict, [factory]) => matches!(heap.node(*factory), Node::Class(_) | Node::None),
        (Kind::Date | Kind::DateTime | Kind::Time | Kind::TimeDelta | Kind::TimeZone, _)
        | (Kind::Decimal | Kind::Path | Kind::Complex, _) => true,
        _ => false,
    };
    if sound { Ok(instance(class, arguments)) } else { Err(Fault::refused("it calls", class)) }
}

/// What a class makes before it is filled.
fn made(heap: &Heap, class: &'static Class, arguments: Ref) -> Result<Node, Fault> {
    match (class.kind, items(heap, arguments)?) {
        (Kind::Actions | Kind::Model | Kind::Message | Kind::Secret | Kind::Uuid, []) => {
            Ok(instance(class, arguments))
        }
        _ => Err(Fault::refused("it makes", class)),
    }
}

fn items(heap: &Heap, arguments: Ref) -> Result<&[Ref], Fault> {
    heap.items(arguments).ok_or_else(|| Fault::shape("the arguments of a class are no tuple"))
}

fn instance(class: &'static Class, arguments: Ref) -> Node {
    Node::Instance(Box::new(Instance { class, arguments, items: Vec::new(), state: None }))
}

/// A text in the encoding of pickles, where a surrogate may stand alone.
fn unicode(bytes: &[u8]) -> Result<Node, Fault> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok(Node::Text(text.into()));
    }
    // A surrogate is ED A0..BF xx; all else must be UTF-8.
    let mut rest = bytes;
    while !rest.is_empty() {
        let good = match std::str::from_utf8(rest) {
            Ok(_) => break,
            Err(error) => error.valid_up_to(),
        };
        match rest.get(good..good + 3) {
            Some([0xed, 0xa0..=0xbf, 0x80..=0xbf]) => rest = rest.get(good + 3..).unwrap_or_default(),
            _ => return Err(Fault::new(StopKind::BadUnicode, "a text of it is not UTF-8")),
        }
    }
    Ok(Node::Surrogates(bytes.into()))
}

/// A text of Python 2.
fn ascii(bytes: &[u8]) -> Result<Node, Fault> {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.is_ascii() && !text.contains('\\') => Ok(Node::Text(text.into())),
        _ => Err(Fault::new(StopKind::BadUnicode, "an old kind of text in it is not plain ASCII")),
    }
}

/// A line of Latin-1 with `\uXXXX` and `\UXXXXXXXX`, as text in the encoding of pickles.
fn unescaped(line: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::with_capacity(line.len());
    let mut at = 0;
    while let Some(byte) = line.get(at) {
        let digits = match (byte, line.get(at + 1)) {
            (b'\\', Some(b'u')) => 4,
            (b'\\', Some(b'U')) => 8,
            _ => 0,
        };
        if digits == 0 {
            push_code(&mut out, u32::from(*byte))?;
            at += 1;
            continue;
        }
        let text = line.get(at + 2..at + 2 + digits).and_then(|text| std::str::from_utf8(text).ok());
        let code = text
            .filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .and_then(|text| u32::from_str_radix(text, 16).ok());
        push_code(&mut out, code.ok_or_else(|| Fault::shape("an escape in a text of it is cut short"))?)?;
        at += 2 + digits;
    }
    Ok(out)
}

fn push_code(out: &mut Vec<u8>, code: u32) -> Result<(), Fault> {
    match (char::from_u32(code), code) {
        (Some(c), _) => out.extend(c.encode_utf8(&mut [0; 4]).bytes()),
        (None, 0xd800..=0xdfff) => {
            let [_, _, high, low] = code.to_be_bytes();
            out.extend([0xed, 0x80 | (high << 2 & 0x3c) | low >> 6, 0x80 | low & 0x3f]);
        }
        (None, _) => {
            return Err(Fault::new(StopKind::BadUnicode, "an escape in a text of it names no character"));
        }
    }
    Ok(())
}
