use std::collections::{BTreeMap, BTreeSet};

use crate::program::suggest;
use crate::program::types::{Shape, TypeId, Types};
use crate::program::{Relation, RelationId};
use crate::source::FileId;
use crate::source::Span;
use crate::value::{ConstructorId, Kind};

/// The prelude is always the first text.
pub(crate) const PRELUDE_FILE: FileId = FileId(0);

/// What a faulty type declaration leaves behind: whatever has this type is not checked further.
pub(crate) const BROKEN: TypeId = TypeId(u32::MAX);

/// Everything that is declared.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    pub(crate) types: Types,
    /// Type names, aliases among them.
    pub(crate) type_names: BTreeMap<String, TypeId>,
    pub(crate) relations: Vec<Relation>,
    pub(crate) relation_names: BTreeMap<String, RelationId>,
    /// Relations declared `eqrel`, with the place of the word.
    pub(crate) equivalences: Vec<(RelationId, Span)>,
    /// Variant names, by name.
    pub(crate) variants: BTreeMap<String, ConstructorId>,
}

impl Schema {
    pub(crate) fn relation(&self, id: RelationId) -> Option<&Relation> {
        self.relations.get(id.0 as usize)
    }

    /// The relation's name; empty for an id of another schema.
    pub(crate) fn relation_name(&self, id: RelationId) -> &str {
        self.relation(id).map_or("", |relation| &relation.name)
    }

    /// Adds a relation under its name. The caller has looked for another of that name.
    pub(crate) fn add_relation(&mut self, relation: Relation) -> RelationId {
        let id = RelationId(u32::try_from(self.relations.len()).unwrap_or(u32::MAX));
        self.relation_names.insert(relation.name.clone(), id);
        self.relations.push(relation);
        id
    }

    pub(crate) fn is_prelude(&self, id: RelationId) -> bool {
        self.relation(id).is_some_and(|relation| relation.span.file == PRELUDE_FILE)
    }

    /// The prelude's relation of that name.
    pub(crate) fn prelude_relation(&self, name: &str) -> Option<RelationId> {
        self.relation_names.get(name).copied().filter(|&id| self.is_prelude(id))
    }

    pub(crate) fn near_relation(&self, name: &str, otherwise: &str) -> String {
        let known = self.relation_names.keys().map(String::as_str).filter(|name| !name.starts_with("__"));
        suggest::did_you_mean(name, known, otherwise)
    }

    pub(crate) fn near_type(&self, name: &str) -> String {
        let known = self.type_names.keys().map(String::as_str);
        suggest::did_you_mean(
            name,
            known,
            "declare it with `.type`, or use `symbol`, `number`, `unsigned` or `float`",
        )
    }

    pub(crate) fn type_name(&self, id: TypeId) -> &str {
        &self.types.get(id).name
    }

    /// The primitive type of that kind; a compound kind has none.
    pub(crate) fn primitive(kind: Kind) -> Option<TypeId> {
        match kind {
            Kind::Number => Some(TypeId::NUMBER),
            Kind::Unsigned => Some(TypeId::UNSIGNED),
            Kind::Float => Some(TypeId::FLOAT),
            Kind::Symbol => Some(TypeId::SYMBOL),
            Kind::Compound => None,
        }
    }

    /// The members of a union, or the type itself.
    pub(crate) fn members(&self, id: TypeId) -> Vec<TypeId> {
        match &self.types.get(id).shape {
            Shape::Union(members) => members.clone(),
            Shape::Primitive | Shape::Subtype(_) | Shape::Record(_) | Shape::Variants(_) => vec![id],
        }
    }

    /// Whether every value of `lower` is one of `upper`.
    pub(crate) fn is_subtype(&self, lower: TypeId, upper: TypeId) -> bool {
        let targets: BTreeSet<_> = self.members(upper).into_iter().chain([upper]).collect();
        targets.contains(&lower)
            || self.members(lower).into_iter().all(|member| self.climbs_into(member, &targets))
    }

    fn climbs_into(&self, mut at: TypeId, targets: &BTreeSet<TypeId>) -> bool {
        // A chain of subtypes has no circle: declarations with one are broken and have no base.
        for _ in 0..=self.types.types.len() {
            if targets.contains(&at) {
                return true;
            }
            at = match self.types.get(at).shape {
                Shape::Subtype(base) => base,
                Shape::Union(_) => match Self::primitive(self.types.kind(at)) {
                    Some(primitive) => primitive,
                    None => return false,
                },
                Shape::Primitive | Shape::Record(_) | Shape::Variants(_) => return false,
            };
        }
        false
    }

    /// The widest types whose values are both in `a` and in `b`; none for siblings.
    pub(crate) fn meet(&self, a: TypeId, b: TypeId) -> BTreeSet<TypeId> {
        if self.is_subtype(a, b) {
            return BTreeSet::from([a]);
        }
        if self.is_subtype(b, a) {
            return BTreeSet::from([b]);
        }
        let mut common = BTreeSet::new();
        for x in self.members(a) {
            for y in self.members(b) {
                if self.is_subtype(x, y) {
                    common.insert(x);
                } else if self.is_subtype(y, x) {
                    common.insert(y);
                }
            }
        }
        common
    }

    /// The constructor of a record type.
    pub(crate) fn record(&self, id: TypeId) -> Option<ConstructorId> {
        match self.types.types.get(id.0 as usize)?.shape {
            Shape::Record(constructor) => Some(constructor),
            Shape::Primitive | Shape::Subtype(_) | Shape::Union(_) | Shape::Variants(_) => None,
        }
    }
}

/// A kind in the words of the language.
pub(crate) fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Number => "a number",
        Kind::Unsigned => "an unsigned",
        Kind::Float => "a float",
        Kind::Symbol => "a symbol",
        Kind::Compound => "a record or variant",
    }
}
