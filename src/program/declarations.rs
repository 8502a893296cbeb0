//! `.type` statements. Names are entered first, so that order does not matter, then filled in.

use std::collections::{BTreeMap, BTreeSet};

use crate::program::findings::Findings;
use crate::program::schema::{BROKEN, PRELUDE_FILE, Schema};
use crate::program::types::{Constructor, Shape, Type, TypeId};
use crate::source::Diagnostic;
use crate::source::Span;
use crate::syntax::ast;
use crate::value::{ConstructorId, Kind};

/// Enters all types of all files.
pub(crate) fn types<'a>(
    declarations: impl Iterator<Item = &'a ast::TypeDeclaration>,
    schema: &mut Schema,
    findings: &mut Findings,
) {
    for (id, name) in [
        (TypeId::NUMBER, "number"),
        (TypeId::UNSIGNED, "unsigned"),
        (TypeId::FLOAT, "float"),
        (TypeId::SYMBOL, "symbol"),
    ] {
        schema.type_names.insert(name.to_owned(), id);
    }
    let mut declared = Declared { schema, findings, places: BTreeMap::new(), ids: BTreeMap::new() };
    let kept: Vec<_> = declarations.filter(|declaration| declared.enter(declaration)).collect();
    declared.aliases(&kept);
    for declaration in &kept {
        declared.define(declaration);
    }
    declared.kinds();
}

struct Declared<'a> {
    schema: &'a mut Schema,
    findings: &'a mut Findings,
    places: BTreeMap<String, &'a ast::TypeDeclaration>,
    ids: BTreeMap<TypeId, Span>,
}

impl<'a> Declared<'a> {
    /// Enters the name; false where the declaration is left out.
    fn enter(&mut self, declaration: &'a ast::TypeDeclaration) -> bool {
        let name = &declaration.name;
        if reserved(name, self.findings) {
            return false;
        }
        if let Some(first) = self.places.get(&name.text) {
            let from_prelude = first.span.file == PRELUDE_FILE;
            if !from_prelude {
                self.findings.push(twice("type", name, first.name.span));
            } else if !same_definition(&first.definition, &declaration.definition) {
                self.findings.push(otherwise("type", name, first.name.span));
            }
            return false;
        }
        if self.schema.type_names.contains_key(&name.text) {
            let message = format!("`{}` is a type of the language and cannot be declared", name.text);
            self.findings
                .push(Diagnostic::error("E0016", name.span, message).with_help("choose another name"));
            return false;
        }
        self.places.insert(name.text.clone(), declaration);
        if !matches!(declaration.definition, ast::TypeDefinition::Alias(_)) {
            let id = TypeId(u32::try_from(self.schema.types.types.len()).unwrap_or(u32::MAX));
            // The kind and the shape are filled in when all names are known.
            let entry = Type { name: name.text.clone(), kind: Kind::Symbol, shape: Shape::Primitive };
            self.schema.types.types.push(entry);
            self.schema.type_names.insert(name.text.clone(), id);
            self.ids.insert(id, name.span);
        }
        true
    }

    fn aliases(&mut self, kept: &[&'a ast::TypeDeclaration]) {
        let targets: BTreeMap<_, _> = kept
            .iter()
            .filter_map(|declaration| match &declaration.definition {
                ast::TypeDefinition::Alias(target) => Some((declaration.name.text.as_str(), target)),
                ast::TypeDefinition::Subtype(_)
                | ast::TypeDefinition::Union(_)
                | ast::TypeDefinition::Record(_)
                | ast::TypeDefinition::Variants(_) => None,
            })
            .collect();
        for (&name, &first) in &targets {
            let mut target = first;
            let mut passed = BTreeSet::from([name]);
            while let Some(next) = targets.get(target.text.as_str()) {
                if !passed.insert(target.text.as_str()) {
                    break;
                }
                target = next;
            }
            let id = if targets.contains_key(target.text.as_str()) {
                let message = format!("`{name}` is defined by itself");
                let help = format!(
                    "name another type on the right: `.type {name} <: symbol` is a type of its own, \
                     `.type {name} = symbol` another name for one"
                );
                self.findings.push(Diagnostic::error("E0017", first.span, message).with_help(help));
                BROKEN
            } else {
                self.look_up(target)
            };
            self.schema.type_names.insert(name.to_owned(), id);
        }
    }

    fn look_up(&mut self, name: &ast::Name) -> TypeId {
        look_up(name, self.schema, self.findings)
    }

    fn define(&mut self, declaration: &ast::TypeDeclaration) {
        let Some(&id) = self.schema.type_names.get(&declaration.name.text) else { return };
        let shape = match &declaration.definition {
            ast::TypeDefinition::Alias(_) => return,
            ast::TypeDefinition::Subtype(base) => Shape::Subtype(self.look_up(base)),
            ast::TypeDefinition::Union(names) => {
                Shape::Union(names.iter().map(|name| self.look_up(name)).collect())
            }
            ast::TypeDefinition::Record(fields) => {
                Shape::Record(self.constructor(&declaration.name.text, id, fields))
            }
            ast::TypeDefinition::Variants(variants) => {
                let mut constructors = Vec::new();
                for variant in variants {
                    constructors.extend(self.variant(id, variant));
                }
                Shape::Variants(constructors)
            }
        };
        let kind = match shape {
            Shape::Record(_) | Shape::Variants(_) => Kind::Compound,
            Shape::Primitive | Shape::Subtype(_) | Shape::Union(_) => Kind::Symbol,
        };
        if let Some(entry) = self.schema.types.types.get_mut(id.0 as usize) {
            entry.shape = shape;
            entry.kind = kind;
        }
    }

    fn variant(&mut self, id: TypeId, variant: &ast::VariantDeclaration) -> Option<ConstructorId> {
        let name = &variant.name;
        if reserved(name, self.findings) {
            return None;
        }
        if let Some(&first) = self.schema.variants.get(&name.text) {
            let owner = self.schema.type_name(self.schema.types.constructor(first).type_id);
            let message = format!("variant `${}` is declared twice", name.text);
            let finding = Diagnostic::error("E0016", name.span, message)
                .with_label(format!("`{owner}` has a variant of this name"))
                .with_help("variant names are unique in a program; choose another one");
            self.findings.push(finding);
            return None;
        }
        let constructor = self.constructor(&name.text, id, &variant.fields);
        self.schema.variants.insert(name.text.clone(), constructor);
        Some(constructor)
    }

    fn constructor(&mut self, name: &str, id: TypeId, fields: &[ast::Attribute]) -> ConstructorId {
        distinct("field", fields, self.findings);
        let fields =
            fields.iter().map(|field| (field.name.text.clone(), self.look_up(&field.type_name))).collect();
        let constructors = &mut self.schema.types.constructors;
        let number = ConstructorId(u32::try_from(constructors.len()).unwrap_or(u32::MAX));
        constructors.push(Constructor { name: name.to_owned(), type_id: id, fields });
        number
    }

    /// Unions are flattened, and each subtype and union gets the kind of what it stands on.
    fn kinds(&mut self) {
        let ids: Vec<_> = self.ids.iter().map(|(&id, &span)| (id, span)).collect();
        for &(id, span) in &ids {
            let leaves = self.leaves(id);
            let kinds: BTreeSet<_> = leaves.iter().map(|&leaf| self.schema.types.kind(leaf)).collect();
            let shape = self.schema.types.get(id).shape.clone();
            if matches!(shape, Shape::Record(_) | Shape::Variants(_)) {
                continue;
            }
            let name = self.schema.type_name(id).to_owned();
            let message = if leaves.is_empty() {
                format!("`{name}` is defined by itself")
            } else if leaves.contains(&BROKEN) {
                String::new()
            } else if kinds.contains(&Kind::Compound) {
                format!("`{name}` cannot stand on a record or on variants")
            } else if kinds.len() > 1 {
                format!("`{name}` mixes types of different kinds")
            } else {
                self.set_kind(id, kinds.first().copied());
                continue;
            };
            if !message.is_empty() {
                let help =
                    "subtypes and unions stand on `symbol`, `number`, `unsigned` or `float`, one of them";
                self.findings.push(Diagnostic::error("E0017", span, message).with_help(help));
            }
            self.schema.type_names.insert(name, BROKEN);
        }
        for (id, _) in ids {
            self.flatten(id);
        }
    }

    fn set_kind(&mut self, id: TypeId, kind: Option<Kind>) {
        if let (Some(entry), Some(kind)) = (self.schema.types.types.get_mut(id.0 as usize), kind) {
            entry.kind = kind;
        }
    }

    /// The primitive, record and variant types under a type; none where it stands on nothing but itself.
    fn leaves(&self, id: TypeId) -> BTreeSet<TypeId> {
        let (mut leaves, mut passed, mut open) = (BTreeSet::new(), BTreeSet::new(), vec![id]);
        while let Some(at) = open.pop() {
            if !passed.insert(at) {
                continue;
            }
            match self.schema.types.types.get(at.0 as usize).map(|entry| &entry.shape) {
                None => {
                    leaves.insert(BROKEN);
                }
                Some(Shape::Primitive | Shape::Record(_) | Shape::Variants(_)) => {
                    leaves.insert(at);
                }
                Some(Shape::Subtype(base)) => open.push(*base),
                Some(Shape::Union(members)) => open.extend(members),
            }
        }
        leaves
    }

    fn flatten(&mut self, id: TypeId) {
        if !matches!(self.schema.types.get(id).shape, Shape::Union(_)) {
            return;
        }
        let (mut flat, mut passed, mut open) = (Vec::new(), BTreeSet::new(), vec![id]);
        while let Some(at) = open.pop() {
            if !passed.insert(at) {
                continue;
            }
            match &self.schema.types.get(at).shape {
                Shape::Union(members) => open.extend(members),
                Shape::Primitive | Shape::Subtype(_) | Shape::Record(_) | Shape::Variants(_) => flat.push(at),
            }
        }
        flat.sort();
        if let Some(entry) = self.schema.types.types.get_mut(id.0 as usize) {
            entry.shape = Shape::Union(flat);
        }
    }
}

/// The type of a name, or a finding and [`BROKEN`].
pub(crate) fn look_up(name: &ast::Name, schema: &Schema, findings: &mut Findings) -> TypeId {
    if let Some(&id) = schema.type_names.get(&name.text) {
        return id;
    }
    let finding = Diagnostic::error("E0012", name.span, format!("no type is called `{}`", name.text))
        .with_label("unknown type")
        .with_help(schema.near_type(&name.text));
    findings.push(finding);
    BROKEN
}

/// Reports names that begin with `__`.
pub(crate) fn reserved(name: &ast::Name, findings: &mut Findings) -> bool {
    refuse_reserved(name, "choose another name", findings)
}

/// Reports relations that are read under a name that begins with `__`.
pub(crate) fn reserved_reading(name: &ast::Name, findings: &mut Findings) -> bool {
    let help = "such relations are the checker's own: read one of the policy's, or of the prelude's";
    refuse_reserved(name, help, findings)
}

fn refuse_reserved(name: &ast::Name, help: &str, findings: &mut Findings) -> bool {
    let reserved = name.text.starts_with("__");
    if reserved {
        let message = format!("`{}` begins with `__`, which is reserved", name.text);
        findings.push(Diagnostic::error("E0019", name.span, message).with_help(help));
    }
    reserved
}

/// Reports attributes of the same name.
pub(crate) fn distinct(what: &str, attributes: &[ast::Attribute], findings: &mut Findings) {
    let mut first: BTreeMap<&str, Span> = BTreeMap::new();
    for attribute in attributes {
        let name = &attribute.name;
        if let Some(&span) = first.get(name.text.as_str()) {
            findings.push(twice(what, name, span));
        } else {
            first.insert(&name.text, name.span);
        }
    }
}

/// A second declaration.
pub(crate) fn twice(what: &str, name: &ast::Name, first: Span) -> Diagnostic {
    Diagnostic::error("E0016", name.span, format!("{what} `{}` is declared twice", name.text))
        .with_label("declared again")
        .with_secondary(first, "declared here first")
        .with_help("remove one of the two, or rename it")
}

/// A declaration that differs from the prelude's.
pub(crate) fn otherwise(what: &str, name: &ast::Name, first: Span) -> Diagnostic {
    Diagnostic::error(
        "E0018",
        name.span,
        format!("{what} `{}` is declared otherwise than in the prelude", name.text),
    )
    .with_secondary(first, "the prelude's declaration")
    .with_help("remove the declaration: the prelude is always loaded")
}

fn same_definition(a: &ast::TypeDefinition, b: &ast::TypeDefinition) -> bool {
    let same_fields = |a: &[ast::Attribute], b: &[ast::Attribute]| {
        let texts = |fields: &[ast::Attribute]| -> Vec<_> {
            fields.iter().map(|field| (field.name.text.clone(), field.type_name.text.clone())).collect()
        };
        texts(a) == texts(b)
    };
    match (a, b) {
        (ast::TypeDefinition::Subtype(a), ast::TypeDefinition::Subtype(b))
        | (ast::TypeDefinition::Alias(a), ast::TypeDefinition::Alias(b)) => a.text == b.text,
        (ast::TypeDefinition::Union(a), ast::TypeDefinition::Union(b)) => {
            a.iter().map(|name| &name.text).eq(b.iter().map(|name| &name.text))
        }
        (ast::TypeDefinition::Record(a), ast::TypeDefinition::Record(b)) => same_fields(a, b),
        (ast::TypeDefinition::Variants(a), ast::TypeDefinition::Variants(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|(a, b)| a.name.text == b.name.text && same_fields(&a.fields, &b.fields))
        }
        (
            ast::TypeDefinition::Subtype(_)
            | ast::TypeDefinition::Alias(_)
            | ast::TypeDefinition::Union(_)
            | ast::TypeDefinition::Record(_)
            | ast::TypeDefinition::Variants(_),
            _,
        ) => false,
    }
}
