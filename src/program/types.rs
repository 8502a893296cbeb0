//! The types of a checked program.

use std::cmp::Ordering;

use crate::value::{ConstructorId, Kind, Pool, Word};

/// A type, by its number in [`Types`]. The first four are the primitive types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u32);

impl TypeId {
    /// `number`
    pub const NUMBER: Self = Self(0);
    /// `unsigned`
    pub const UNSIGNED: Self = Self(1);
    /// `float`
    pub const FLOAT: Self = Self(2);
    /// `symbol`
    pub const SYMBOL: Self = Self(3);
}

/// What a type is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// One of the four.
    Primitive,
    /// `<: base`
    Subtype(TypeId),
    /// Union of types of one kind.
    Union(Vec<TypeId>),
    /// `[a: T, …]`, built by this constructor.
    Record(ConstructorId),
    /// Variants, one constructor each.
    Variants(Vec<ConstructorId>),
}

/// A type. An alias has no entry of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    /// Its name.
    pub name: String,
    /// How its words are read.
    pub kind: Kind,
    /// What it is made of.
    pub shape: Shape,
}

/// A record type or a variant, as a builder of values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constructor {
    /// Variant name without `$`; the type's name for a record.
    pub name: String,
    /// The type of the values it builds.
    pub type_id: TypeId,
    /// Field names and types.
    pub fields: Vec<(String, TypeId)>,
}

/// All types of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Types {
    /// By [`TypeId`].
    pub types: Vec<Type>,
    /// By [`ConstructorId`]; number 0 is `nil`.
    pub constructors: Vec<Constructor>,
}

impl Default for Types {
    fn default() -> Self {
        let primitive = |name: &str, kind| Type { name: name.to_owned(), kind, shape: Shape::Primitive };
        let nil = Constructor { name: "nil".to_owned(), type_id: TypeId(u32::MAX), fields: Vec::new() };
        Self {
            types: vec![
                primitive("number", Kind::Number),
                primitive("unsigned", Kind::Unsigned),
                primitive("float", Kind::Float),
                primitive("symbol", Kind::Symbol),
            ],
            constructors: vec![nil],
        }
    }
}

impl Types {
    /// The type of that number; `symbol` for a number of other types.
    #[must_use]
    pub fn get(&self, id: TypeId) -> &Type {
        // The primitive types are always there.
        self.types.get(id.0 as usize).unwrap_or(&self.types[3])
    }

    /// How words of the type are read.
    #[must_use]
    pub fn kind(&self, id: TypeId) -> Kind {
        self.get(id).kind
    }

    /// The constructor of that number; `nil` for a number of other types.
    #[must_use]
    pub fn constructor(&self, id: ConstructorId) -> &Constructor {
        self.constructors.get(id.0 as usize).unwrap_or(&self.constructors[0])
    }

    /// The variant of that name (variant names are unique in a program).
    #[must_use]
    pub fn variant(&self, name: &str) -> Option<ConstructorId> {
        let is = |constructor: &Constructor| {
            constructor.name == name
                && self
                    .types
                    .get(constructor.type_id.0 as usize)
                    .is_some_and(|t| matches!(t.shape, Shape::Variants(_)))
        };
        let at = self.constructors.iter().position(is)?;
        u32::try_from(at).ok().map(ConstructorId)
    }

    /// The constructor of the record type of that name.
    #[must_use]
    pub fn record(&self, name: &str) -> Option<ConstructorId> {
        self.types.iter().find(|t| t.name == name).and_then(|t| match t.shape {
            Shape::Record(constructor) => Some(constructor),
            Shape::Primitive | Shape::Subtype(_) | Shape::Union(_) | Shape::Variants(_) => None,
        })
    }

    /// A word as a person reads it and as Soufflé's fact files write it: texts bare, `[a, b]`, `$Name(a)`, `$Name`, `nil`.
    /// A value that would fill more than [`SHOWN`] bytes ends in `…`.
    #[must_use]
    pub fn show(&self, word: Word, type_id: TypeId, pool: &Pool) -> String {
        let mut out = String::new();
        if !self.write(word, type_id, pool, &|value| value.to_string(), SHOWN, &mut out) {
            out.push('…');
        }
        out
    }

    /// Writes a word likewise, floats in a form of the caller's, and stops where the text has reached `limit` bytes; tells
    /// whether that is all of the value. A value that shares its parts can be far larger than the memory it takes.
    pub(crate) fn write(
        &self,
        word: Word,
        type_id: TypeId,
        pool: &Pool,
        float: &dyn Fn(f64) -> String,
        limit: usize,
        out: &mut String,
    ) -> bool {
        let mut open = vec![Piece::Value(word, type_id)];
        while let Some(piece) = open.pop() {
            if out.len() >= limit {
                return false;
            }
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Value(word, type_id) => match self.kind(type_id) {
                    Kind::Number => out.push_str(&word.as_number().to_string()),
                    Kind::Unsigned => out.push_str(&word.0.to_string()),
                    Kind::Float => out.push_str(&float(word.as_float())),
                    Kind::Symbol => out.push_str(pool.text(word.as_symbol())),
                    Kind::Compound => self.begin(word, pool, out, &mut open),
                },
            }
        }
        true
    }

    /// Writes the beginning of a record or variant and leaves the rest open, last piece first.
    fn begin(&self, word: Word, pool: &Pool, out: &mut String, open: &mut Vec<Piece>) {
        let (id, words) = pool.fields(word.as_compound());
        let constructor = self.constructor(id);
        if id == ConstructorId::NIL {
            out.push_str(&constructor.name);
            return;
        }
        if matches!(self.get(constructor.type_id).shape, Shape::Record(_)) {
            out.push('[');
            open.push(Piece::Text("]"));
        } else {
            out.push('$');
            out.push_str(&constructor.name);
            if words.is_empty() {
                return;
            }
            out.push('(');
            open.push(Piece::Text(")"));
        }
        for (place, (&word, &(_, type_id))) in words.iter().zip(&constructor.fields).enumerate().rev() {
            open.push(Piece::Value(word, type_id));
            if place > 0 {
                open.push(Piece::Text(", "));
            }
        }
    }
}

/// What is left to write of a value.
enum Piece {
    Value(Word, TypeId),
    Text(&'static str),
}

/// Most bytes of one value that [`Types::show`] writes.
pub const SHOWN: usize = 1 << 16;

/// Records within records that a [`Datum`] follows, and parts that it has.
const DEEPEST: usize = 100;
const PARTS: usize = 100_000;

/// A value outside any pool.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
pub enum Datum {
    /// A signed number.
    Number(i64),
    /// An unsigned number.
    Unsigned(u64),
    /// A double.
    Float(f64),
    /// A text.
    Text(String),
    /// The empty record.
    Nil,
    /// A record's fields.
    Record(Vec<Self>),
    /// A variant and its fields.
    Variant(String, Vec<Self>),
}

impl Types {
    /// The value of a word, outside its pool. A record more than 100 records deep, or past 100,000 parts, stands there as
    /// the text `…`.
    #[must_use]
    pub fn datum(&self, word: Word, type_id: TypeId, pool: &Pool) -> Datum {
        self.part(word, type_id, pool, DEEPEST, &mut PARTS.clone())
    }

    fn part(&self, word: Word, type_id: TypeId, pool: &Pool, depth: usize, parts: &mut usize) -> Datum {
        match self.kind(type_id) {
            Kind::Number => Datum::Number(word.as_number()),
            Kind::Unsigned => Datum::Unsigned(word.0),
            Kind::Float => Datum::Float(word.as_float()),
            Kind::Symbol => Datum::Text(pool.text(word.as_symbol()).to_owned()),
            Kind::Compound => {
                let (id, words) = pool.fields(word.as_compound());
                if id == ConstructorId::NIL {
                    return Datum::Nil;
                }
                if depth == 0 || *parts < words.len() {
                    return Datum::Text("…".to_owned());
                }
                *parts -= words.len();
                let constructor = self.constructor(id);
                let fields = words.iter().zip(&constructor.fields);
                let fields = fields
                    .map(|(&field, &(_, type_id))| self.part(field, type_id, pool, depth - 1, parts))
                    .collect();
                match self.get(constructor.type_id).shape {
                    Shape::Record(_) => Datum::Record(fields),
                    Shape::Primitive | Shape::Subtype(_) | Shape::Union(_) | Shape::Variants(_) => {
                        Datum::Variant(constructor.name.clone(), fields)
                    }
                }
            }
        }
    }
}

impl Datum {
    /// The order in which rows are shown: numbers by value, texts by code point, records field by field. It is total, so
    /// that nan has its place.
    #[must_use]
    pub fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.cmp(b),
            (Self::Unsigned(a), Self::Unsigned(b)) => a.cmp(b),
            (Self::Float(a), Self::Float(b)) => a.total_cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Record(a), Self::Record(b)) => Self::order_all(a, b),
            (Self::Variant(name, a), Self::Variant(other, b)) => {
                name.cmp(other).then_with(|| Self::order_all(a, b))
            }
            _ => self.rank().cmp(&other.rank()),
        }
    }

    /// The order of lists: by the first place where they differ.
    #[must_use]
    pub fn order_all(a: &[Self], b: &[Self]) -> Ordering {
        let orders = a.iter().zip(b).map(|(a, b)| a.order(b));
        orders.fold(Ordering::Equal, Ordering::then).then(a.len().cmp(&b.len()))
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Number(_) => 0,
            Self::Unsigned(_) => 1,
            Self::Float(_) => 2,
            Self::Text(_) => 3,
            Self::Nil => 4,
            Self::Record(_) => 5,
            Self::Variant(..) => 6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of records whose parts are shared: `depth` values of memory, two to the power of `depth` parts.
    fn shared(depth: usize) -> (Types, Pool, Word, TypeId) {
        let (mut types, mut pool) = (Types::default(), Pool::default());
        let (pair, type_id) = (ConstructorId(1), TypeId(4));
        let fields = vec![("a".to_owned(), type_id), ("b".to_owned(), type_id)];
        types.constructors.push(Constructor { name: "Pair".to_owned(), type_id, fields });
        types.types.push(Type { name: "Pair".to_owned(), kind: Kind::Compound, shape: Shape::Record(pair) });
        let mut word = Word::compound(pool.compound(ConstructorId::NIL, &[]));
        for _ in 0..depth {
            word = Word::compound(pool.compound(pair, &[word, word]));
        }
        (types, pool, word, type_id)
    }

    #[test]
    fn large_values_are_cut() {
        let (types, pool, word, type_id) = shared(2);
        assert_eq!(types.show(word, type_id, &pool), "[[nil, nil], [nil, nil]]");
        let (types, pool, word, type_id) = shared(100_000);
        let shown = types.show(word, type_id, &pool);
        assert!(shown.ends_with('…') && shown.len() < SHOWN + 100);
        let mut datum = types.datum(word, type_id, &pool);
        let mut depth = 0;
        while let Datum::Record(fields) = datum {
            datum = fields.into_iter().next().unwrap();
            depth += 1;
        }
        assert_eq!((depth, datum), (DEEPEST, Datum::Text("…".to_owned())));
    }

    #[test]
    fn the_order_of_values_is_total() {
        let values =
            [Datum::Float(-1.0), Datum::Float(0.5), Datum::Float(f64::NAN), Datum::Text(String::new())];
        for (at, a) in values.iter().enumerate() {
            for (other, b) in values.iter().enumerate() {
                assert_eq!(a.order(b), at.cmp(&other), "{a:?} {b:?}");
            }
        }
    }
}
