//! The types of a checked program.

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

    /// The constructor of a record type; none for any other type.
    #[must_use]
    pub fn record_of(&self, id: TypeId) -> Option<ConstructorId> {
        match self.types.get(id.0 as usize)?.shape {
            Shape::Record(constructor) => Some(constructor),
            Shape::Primitive | Shape::Subtype(_) | Shape::Union(_) | Shape::Variants(_) => None,
        }
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
    #[must_use]
    pub fn show(&self, word: Word, type_id: TypeId, pool: &Pool) -> String {
        match self.kind(type_id) {
            Kind::Number => word.as_number().to_string(),
            Kind::Unsigned => word.0.to_string(),
            Kind::Float => word.as_float().to_string(),
            Kind::Symbol => pool.text(word.as_symbol()).to_owned(),
            Kind::Compound => self.show_compound(word, pool),
        }
    }

    fn show_compound(&self, word: Word, pool: &Pool) -> String {
        let (id, words) = pool.fields(word.as_compound());
        let constructor = self.constructor(id);
        if id == ConstructorId::NIL {
            return constructor.name.clone();
        }
        let fields: Vec<_> = words
            .iter()
            .zip(&constructor.fields)
            .map(|(&field, &(_, t))| self.show(field, t, pool))
            .collect();
        match self.get(constructor.type_id).shape {
            Shape::Record(_) => format!("[{}]", fields.join(", ")),
            Shape::Primitive | Shape::Subtype(_) | Shape::Union(_) | Shape::Variants(_)
                if fields.is_empty() =>
            {
                format!("${}", constructor.name)
            }
            Shape::Primitive | Shape::Subtype(_) | Shape::Union(_) | Shape::Variants(_) => {
                format!("${}({})", constructor.name, fields.join(", "))
            }
        }
    }
}

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
    /// The value of a word, outside its pool.
    #[must_use]
    pub fn datum(&self, word: Word, type_id: TypeId, pool: &Pool) -> Datum {
        match self.kind(type_id) {
            Kind::Number => Datum::Number(word.as_number()),
            Kind::Unsigned => Datum::Unsigned(word.0),
            Kind::Float => Datum::Float(word.as_float()),
            Kind::Symbol => Datum::Text(pool.text(word.as_symbol()).to_owned()),
            Kind::Compound => {
                let (id, words) = pool.fields(word.as_compound());
                let constructor = self.constructor(id);
                let fields = words
                    .iter()
                    .zip(&constructor.fields)
                    .map(|(&field, &(_, t))| self.datum(field, t, pool))
                    .collect();
                match self.get(constructor.type_id).shape {
                    _ if id == ConstructorId::NIL => Datum::Nil,
                    Shape::Record(_) => Datum::Record(fields),
                    Shape::Primitive | Shape::Subtype(_) | Shape::Union(_) | Shape::Variants(_) => {
                        Datum::Variant(constructor.name.clone(), fields)
                    }
                }
            }
        }
    }
}
