//! Every name of a policy, with its places.

use crate::program;
use crate::source::Span;
use crate::syntax::ast;
use crate::syntax::ast::{Condition, Item, TermKind, TypeDefinition};

/// What a name means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Symbol {
    Relation(String),
    Type(String),
    Variant(String),
    Functor {
        name: String,
        intrinsic: bool,
    },
    /// A variable of the rule at that place.
    Variable {
        rule: Span,
        name: String,
    },
    /// A field: the variable before the first dot, if it is one, and the fields up to this one.
    Field {
        rule: Span,
        base: Option<String>,
        path: Vec<String>,
    },
    /// The path of an included file.
    Include(String),
    Annotation(String),
}

/// What a name does where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Here it gets its meaning.
    Declares,
    /// A rule or fact of this relation starts here.
    Fills,
    Uses,
}

/// A name where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Mention {
    pub(crate) span: Span,
    pub(crate) symbol: Symbol,
    pub(crate) role: Role,
}

/// What holds an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Holder {
    Relation(String),
    Variant(String),
}

/// All names of some trees, and the texts that stand as arguments.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// By place.
    pub(crate) mentions: Vec<Mention>,
    /// What holds the text, the place among its arguments from 0, and the text.
    pub(crate) texts: Vec<(Holder, usize, String)>,
}

impl Index {
    pub(crate) fn new(trees: &[ast::Program]) -> Self {
        let mut index = Self::default();
        trees.iter().flat_map(|tree| &tree.items).for_each(|item| index.item(item));
        index.mentions.sort_by_key(|mention| mention.span);
        index
    }

    /// The name at a place. Where two names touch there, the later one.
    pub(crate) fn at(&self, place: Span) -> Option<&Mention> {
        let touches = |mention: &&Mention| {
            let span = mention.span;
            span.file == place.file && span.start <= place.start && place.start <= span.end
        };
        self.mentions.iter().rev().find(touches)
    }

    /// The places of a name.
    pub(crate) fn of<'a>(&'a self, symbol: &'a Symbol) -> impl Iterator<Item = &'a Mention> {
        self.mentions.iter().filter(move |mention| mention.symbol == *symbol)
    }

    /// Where a name gets its meaning; the prelude's place goes before others.
    pub(crate) fn declaration(&self, symbol: &Symbol) -> Option<Span> {
        self.of(symbol).find(|mention| mention.role == Role::Declares).map(|mention| mention.span)
    }

    fn mention(&mut self, span: Span, symbol: Symbol, role: Role) {
        self.mentions.push(Mention { span, symbol, role });
    }

    fn type_name(&mut self, name: &ast::Name) {
        self.mention(name.span, Symbol::Type(name.text.clone()), Role::Uses);
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Type(declaration) => self.type_declaration(declaration),
            Item::Relation(declaration) => {
                let name = &declaration.name;
                self.mention(name.span, Symbol::Relation(name.text.clone()), Role::Declares);
                declaration.columns.iter().for_each(|column| self.type_name(&column.type_name));
            }
            Item::Rule(rule) => self.rule(rule),
            Item::Directive(directive) => {
                let name = &directive.relation;
                self.mention(name.span, Symbol::Relation(name.text.clone()), Role::Uses);
            }
            Item::Include(include) => {
                let symbol = Symbol::Include(include.path.text.clone());
                self.mention(include.path.span, symbol, Role::Uses);
            }
            Item::Pragma(_) | Item::Unsupported { .. } => {}
        }
    }

    fn type_declaration(&mut self, declaration: &ast::TypeDeclaration) {
        let name = &declaration.name;
        self.mention(name.span, Symbol::Type(name.text.clone()), Role::Declares);
        match &declaration.definition {
            TypeDefinition::Subtype(base) | TypeDefinition::Alias(base) => self.type_name(base),
            TypeDefinition::Union(members) => members.iter().for_each(|member| self.type_name(member)),
            TypeDefinition::Record(fields) => {
                fields.iter().for_each(|field| self.type_name(&field.type_name));
            }
            TypeDefinition::Variants(variants) => {
                for variant in variants {
                    let symbol = Symbol::Variant(variant.name.text.clone());
                    self.mention(variant.name.span, symbol, Role::Declares);
                    variant.fields.iter().for_each(|field| self.type_name(&field.type_name));
                }
            }
        }
    }

    fn rule(&mut self, rule: &ast::Rule) {
        rule.heads.iter().for_each(|head| self.atom(head, Role::Fills, rule.span));
        rule.body.iter().for_each(|body| self.condition(body, rule.span));
        for annotation in &rule.annotations {
            let key = &annotation.key;
            self.mention(key.span, Symbol::Annotation(key.text.clone()), Role::Uses);
            if program::is_message(&key.text) {
                for (name, span) in placeholders(&annotation.value, annotation.value_span) {
                    self.mention(span, Symbol::Variable { rule: rule.span, name }, Role::Uses);
                }
            }
        }
    }

    fn atom(&mut self, atom: &ast::Atom, role: Role, rule: Span) {
        let name = &atom.relation;
        self.mention(name.span, Symbol::Relation(name.text.clone()), role);
        self.arguments(&Holder::Relation(name.text.clone()), &atom.terms, rule);
    }

    fn arguments(&mut self, holder: &Holder, terms: &[ast::Term], rule: Span) {
        for (at, term) in terms.iter().enumerate() {
            if let TermKind::Text(text) = &term.kind {
                self.texts.push((holder.clone(), at, text.clone()));
            }
            self.term(term, rule);
        }
    }

    // No tree nests deeper than the parser's limit, so conditions and terms are walked by recursion.
    fn condition(&mut self, condition: &Condition, rule: Span) {
        match condition {
            Condition::And(parts) | Condition::Or(parts) => {
                parts.iter().for_each(|part| self.condition(part, rule));
            }
            Condition::Not(inner, _) => self.condition(inner, rule),
            Condition::Atom(atom) => self.atom(atom, Role::Uses, rule),
            Condition::Comparison(comparison) => {
                self.term(&comparison.left, rule);
                self.term(&comparison.right, rule);
            }
            Condition::TextTest { test, pattern, text, span } => {
                let name = match test {
                    ast::TextTest::Match => "match",
                    ast::TextTest::Contains => "contains",
                };
                let end = span.start.saturating_add(u32::try_from(name.len()).unwrap_or(0));
                let symbol = Symbol::Functor { name: name.to_owned(), intrinsic: true };
                self.mention(Span { end, ..*span }, symbol, Role::Uses);
                self.term(pattern, rule);
                self.term(text, rule);
            }
            Condition::Constant(..) => {}
        }
    }

    fn term(&mut self, term: &ast::Term, rule: Span) {
        match &term.kind {
            TermKind::Variable(name) => {
                self.mention(term.span, Symbol::Variable { rule, name: name.clone() }, Role::Uses);
            }
            TermKind::Record(terms) => terms.iter().for_each(|term| self.term(term, rule)),
            TermKind::Variant(name, terms) => {
                self.mention(name.span, Symbol::Variant(name.text.clone()), Role::Uses);
                self.arguments(&Holder::Variant(name.text.clone()), terms, rule);
            }
            TermKind::Field(base, field) => {
                let (variable, mut path) = chain(base);
                path.push(field.text.clone());
                self.mention(field.span, Symbol::Field { rule, base: variable, path }, Role::Uses);
                self.term(base, rule);
            }
            TermKind::Functor(name, terms) => self.call(name, terms, false, rule),
            TermKind::Intrinsic(name, terms) => self.call(name, terms, true, rule),
            TermKind::Unary(_, inner) => self.term(inner, rule),
            TermKind::Cast(inner, type_name) => {
                self.term(inner, rule);
                self.type_name(type_name);
            }
            TermKind::Binary(_, left, right) => {
                self.term(left, rule);
                self.term(right, rule);
            }
            TermKind::Aggregate(aggregate) => {
                aggregate.target.iter().for_each(|target| self.term(target, rule));
                self.condition(&aggregate.body, rule);
            }
            TermKind::Wildcard
            | TermKind::Text(_)
            | TermKind::Integer(_)
            | TermKind::Unsigned(_)
            | TermKind::Float(_)
            | TermKind::Nil => {}
        }
    }

    fn call(&mut self, name: &ast::Name, terms: &[ast::Term], intrinsic: bool, rule: Span) {
        let symbol = Symbol::Functor { name: name.text.clone(), intrinsic };
        self.mention(name.span, symbol, Role::Uses);
        terms.iter().for_each(|term| self.term(term, rule));
    }
}

/// The variable that a chain of fields starts with, and the fields.
fn chain(term: &ast::Term) -> (Option<String>, Vec<String>) {
    let mut path = Vec::new();
    let mut at = term;
    while let TermKind::Field(base, field) = &at.kind {
        path.push(field.text.clone());
        at = base;
    }
    path.reverse();
    let base = match &at.kind {
        TermKind::Variable(name) => Some(name.clone()),
        _ => None,
    };
    (base, path)
}

/// The names in braces of a message, with their places. `{{` is a brace.
fn placeholders(message: &str, span: Span) -> Vec<(String, Span)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(open) = message.get(at..).and_then(|rest| rest.find('{')).map(|open| at + open) {
        let inside = open + 1;
        let rest = message.get(inside..).unwrap_or("");
        if rest.starts_with('{') {
            at = inside + 1;
            continue;
        }
        let Some(length) = rest.find('}') else { break };
        let name = rest.get(..length).unwrap_or("");
        if !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '?')) {
            let start = span.start.saturating_add(u32::try_from(inside).unwrap_or(u32::MAX));
            let end = start.saturating_add(u32::try_from(length).unwrap_or(u32::MAX));
            found.push((name.to_owned(), Span { start, end, ..span }));
        }
        at = inside + length + 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::FileId;
    use crate::syntax::parse;

    /// Every name as `text=place`, uses of the same thing joined.
    fn places(text: &str, symbol: &Symbol) -> Vec<u32> {
        let (tree, _) = parse(FileId(0), text);
        let index = Index::new(&[tree]);
        index.of(symbol).map(|mention| mention.span.start).collect()
    }

    #[test]
    fn placeholders_are_uses_of_variables() {
        let text = "// @message: {x} of {{x}} {\n// @fix: {x}\nR(x) :- S(x, y), n = sum x : { S(x, y) }.";
        let rule = Span { file: FileId(0), start: 41, end: u32::try_from(text.len()).unwrap_or(0) };
        let x = Symbol::Variable { rule, name: "x".to_owned() };
        assert_eq!(places(text, &x), [14, 43, 51, 66, 74]);
    }

    #[test]
    fn chains_of_fields_start_at_a_variable() {
        let (tree, _) = parse(FileId(0), "R(x) :- S(m), x = m.a.b.");
        let index = Index::new(&[tree]);
        let path = index.mentions.iter().filter_map(|mention| match &mention.symbol {
            Symbol::Field { base, path, .. } => Some((base.as_deref(), path.join("."))),
            _ => None,
        });
        let expected = [(Some("m"), "a".to_owned()), (Some("m"), "a.b".to_owned())];
        assert_eq!(path.collect::<Vec<_>>(), expected);
    }
}
