//! Whether two texts mean and say the same.
//!
//! In: what was read of each. Out: trees without places, and comments without the blanks around their lines.

use crate::source::FileId;
use crate::source::Span;
use crate::syntax::ast::Atom;
use crate::syntax::ast::Attribute;
use crate::syntax::ast::Condition;
use crate::syntax::ast::Item;
use crate::syntax::ast::Name;
use crate::syntax::ast::Program;
use crate::syntax::ast::Rule;
use crate::syntax::ast::Term;
use crate::syntax::ast::TermKind;
use crate::syntax::ast::TypeDeclaration;
use crate::syntax::ast::TypeDefinition;

const NOWHERE: Span = Span { file: FileId(0), start: 0, end: 0 };

/// The comments of a text, line by line, in order.
pub(crate) fn comments<'t>(text: &'t str, program: &Program) -> Vec<Vec<&'t str>> {
    let spans = program.comments.iter().map(|comment| comment.span);
    let texts = spans.map(|span| text.get(span.start as usize..span.end as usize).unwrap_or(""));
    texts.map(|text| text.lines().map(str::trim).collect()).collect()
}

/// The statements with every place taken out. A place that is forgotten here makes two texts differ, never agree.
pub(crate) fn bare(program: Program) -> Vec<Item> {
    let mut items = program.items;
    items.iter_mut().for_each(item);
    items
}

fn item(item: &mut Item) {
    match item {
        Item::Type(found) => type_declaration(found),
        Item::Relation(found) => {
            name(&mut found.name);
            attributes(&mut found.columns);
            found.qualifiers.iter_mut().for_each(name);
            found.span = NOWHERE;
        }
        Item::Rule(found) => rule(found),
        Item::Directive(found) => {
            name(&mut found.relation);
            found.parameters.iter_mut().for_each(|(key, _)| name(key));
            found.span = NOWHERE;
        }
        Item::Include(found) => {
            name(&mut found.path);
            found.span = NOWHERE;
        }
        Item::Pragma(found) => {
            name(&mut found.name);
            found.value.iter_mut().for_each(name);
            found.span = NOWHERE;
        }
        Item::Unsupported { span, .. } => *span = NOWHERE,
    }
}

fn name(name: &mut Name) {
    name.span = NOWHERE;
}

fn attributes(attributes: &mut [Attribute]) {
    for attribute in attributes {
        name(&mut attribute.name);
        name(&mut attribute.type_name);
    }
}

fn type_declaration(declaration: &mut TypeDeclaration) {
    name(&mut declaration.name);
    match &mut declaration.definition {
        TypeDefinition::Subtype(base) | TypeDefinition::Alias(base) => name(base),
        TypeDefinition::Union(members) => members.iter_mut().for_each(name),
        TypeDefinition::Record(fields) => attributes(fields),
        TypeDefinition::Variants(variants) => {
            for variant in variants {
                name(&mut variant.name);
                attributes(&mut variant.fields);
            }
        }
    }
    declaration.span = NOWHERE;
}

fn rule(rule: &mut Rule) {
    rule.heads.iter_mut().for_each(atom);
    rule.body.iter_mut().for_each(condition);
    for annotation in &mut rule.annotations {
        name(&mut annotation.key);
        annotation.value_span = NOWHERE;
    }
    rule.span = NOWHERE;
}

fn atom(atom: &mut Atom) {
    name(&mut atom.relation);
    atom.terms.iter_mut().for_each(term);
    atom.span = NOWHERE;
}

fn condition(body: &mut Condition) {
    match body {
        Condition::And(parts) | Condition::Or(parts) => parts.iter_mut().for_each(condition),
        Condition::Not(inner, span) => {
            condition(inner);
            *span = NOWHERE;
        }
        Condition::Atom(found) => atom(found),
        Condition::Comparison(found) => {
            term(&mut found.left);
            term(&mut found.right);
            found.span = NOWHERE;
        }
        Condition::TextTest { pattern, text, span, .. } => {
            term(pattern);
            term(text);
            *span = NOWHERE;
        }
        Condition::Constant(_, span) => *span = NOWHERE,
    }
}

fn term(found: &mut Term) {
    match &mut found.kind {
        TermKind::Variable(_)
        | TermKind::Wildcard
        | TermKind::Text(_)
        | TermKind::Integer(_)
        | TermKind::Unsigned(_)
        | TermKind::Float(_)
        | TermKind::Nil => {}
        TermKind::Record(parts) => parts.iter_mut().for_each(term),
        TermKind::Variant(called, parts)
        | TermKind::Functor(called, parts)
        | TermKind::Intrinsic(called, parts) => {
            name(called);
            parts.iter_mut().for_each(term);
        }
        TermKind::Field(base, called) | TermKind::Cast(base, called) => {
            term(base);
            name(called);
        }
        TermKind::Unary(_, operand) => term(operand),
        TermKind::Binary(_, left, right) => {
            term(left);
            term(right);
        }
        TermKind::Aggregate(aggregate) => {
            aggregate.target.iter_mut().for_each(term);
            condition(&mut aggregate.body);
        }
    }
    found.span = NOWHERE;
}
