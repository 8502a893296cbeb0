//! The grammar of declarations and directives.

use nom::combinator::{cut, opt};
use nom::multi::{many0, separated_list1};
use nom::sequence::{pair, preceded, separated_pair};
use nom::{Err, Parser};

use crate::syntax::ast::Attribute;
use crate::syntax::ast::Directive;
use crate::syntax::ast::DirectiveKind;
use crate::syntax::ast::Include;
use crate::syntax::ast::Item;
use crate::syntax::ast::Name;
use crate::syntax::ast::Pragma;
use crate::syntax::ast::RelationDeclaration;
use crate::syntax::ast::TypeDeclaration;
use crate::syntax::ast::TypeDefinition;
use crate::syntax::ast::VariantDeclaration;
use crate::syntax::text;
use crate::syntax::tokens::Fault;
use crate::syntax::tokens::Kind;
use crate::syntax::tokens::Parsed;
use crate::syntax::tokens::Tokens;
use crate::syntax::tokens::name;
use crate::syntax::tokens::one;

/// `type = ".type" name ("<:" name | "=" definition)`
pub(crate) fn type_declaration(input: Tokens<'_>) -> Parsed<'_, Vec<Item>> {
    let start = input.span();
    let (rest, name) = cut(name(TYPE)).parse(input.rest())?;
    let (rest, definition) = match rest.kind(0) {
        Some(Kind::Subtype) => cut(type_name.map(TypeDefinition::Subtype)).parse(rest.rest())?,
        Some(Kind::Equal) => cut(definition).parse(rest.rest())?,
        _ => return rest.refuse("`<:` or `=`"),
    };
    Ok((rest, vec![Item::Type(TypeDeclaration { name, definition, span: rest.since(start) })]))
}

const TYPE: &str = "a type name";

fn type_name(input: Tokens<'_>) -> Parsed<'_, Name> {
    name(TYPE)(input)
}

/// `definition = "[" attributes "]" | variant ("|" variant)* | name ("|" name)*`
fn definition(input: Tokens<'_>) -> Parsed<'_, TypeDefinition> {
    if input.kind(0) == Some(Kind::OpenBracket) {
        let (rest, fields) = attributes(input.rest(), Kind::CloseBracket, "`,` or `]`", "a field name")?;
        return Ok((rest, TypeDefinition::Record(fields)));
    }
    let bar = one(Kind::Bar, "`|`");
    if input.kind(1) == Some(Kind::OpenBrace) {
        return separated_list1(bar, cut(variant)).map(TypeDefinition::Variants).parse(input);
    }
    let (rest, mut names) = separated_list1(bar, cut(name("a type name or `[`"))).parse(input)?;
    if rest.kind(0) == Some(Kind::OpenBrace) {
        return rest.refuse("`|`, or `{` after every variant");
    }
    match names.pop() {
        Some(only) if names.is_empty() => Ok((rest, TypeDefinition::Alias(only))),
        last => {
            names.extend(last);
            Ok((rest, TypeDefinition::Union(names)))
        }
    }
}

/// `variant = name "{" attributes "}"`
fn variant(input: Tokens<'_>) -> Parsed<'_, VariantDeclaration> {
    let (rest, name) = name("a variant name")(input)?;
    let (rest, _) = cut(one(Kind::OpenBrace, "`{`")).parse(rest)?;
    let (rest, fields) = attributes(rest, Kind::CloseBrace, "`,` or `}`", "a field name")?;
    Ok((rest, VariantDeclaration { name, fields }))
}

/// `attributes(close) = [name ":" name ("," name ":" name)*] close`
fn attributes<'a>(
    input: Tokens<'a>,
    close: Kind,
    what: &'static str,
    named: &'static str,
) -> Parsed<'a, Vec<Attribute>> {
    if input.kind(0) == Some(close) {
        return Ok((input.rest(), Vec::new()));
    }
    let colon = one(Kind::Colon, "`:` and a type");
    let attribute =
        separated_pair(name(named), colon, type_name).map(|(name, type_name)| Attribute { name, type_name });
    let (rest, found) = cut(separated_list1(one(Kind::Comma, "`,`"), cut(attribute))).parse(input)?;
    let (rest, _) = cut(one(close, what)).parse(rest)?;
    Ok((rest, found))
}

/// `relation = ".decl" name ("," name)* "(" attributes ")" qualifier* ["choice-domain" domains]`
pub(crate) fn relation(input: Tokens<'_>) -> Parsed<'_, Vec<Item>> {
    let start = input.span();
    let (rest, names) = names(input.rest())?;
    let (rest, _) = cut(one(Kind::Open, "`,` or `(`")).parse(rest)?;
    let (rest, columns) = attributes(rest, Kind::Close, "`,` or `)`", "a column name")?;
    let (rest, qualifiers) = many0(qualifier).parse(rest)?;
    let unsupported = rest.span();
    let (rest, what) = match (choice_domain(rest), rest.word()) {
        (Some(after), _) => (after, Some("choice-domain")),
        (None, Some("overridable")) => (rest.rest(), Some("overridable")),
        (None, Some("btree_delete")) => (rest.rest(), Some("btree_delete")),
        (None, Some(_) | None) => (rest, None),
    };
    refuse_qualifier(rest)?;
    let span = rest.since(start);
    let declare = |name: Name| RelationDeclaration {
        name,
        columns: columns.clone(),
        qualifiers: qualifiers.clone(),
        documentation: String::new(),
        span,
    };
    let mut items: Vec<Item> = names.into_iter().map(|name| Item::Relation(declare(name))).collect();
    items.extend(what.map(|what| Item::Unsupported { what: what.to_owned(), span: rest.since(unsupported) }));
    Ok((rest, items))
}

/// `names = name ("," name)*`
fn names(input: Tokens<'_>) -> Parsed<'_, Vec<Name>> {
    cut(separated_list1(one(Kind::Comma, "`,`"), cut(name("a relation name")))).parse(input)
}

/// `qualifier = "inline" | "no_inline" | "magic" | "no_magic" | "brie" | "btree" | "eqrel"`
fn qualifier(input: Tokens<'_>) -> Parsed<'_, Name> {
    match input.word() {
        Some(word @ ("inline" | "no_inline" | "magic" | "no_magic" | "brie" | "btree" | "eqrel")) => {
            Ok((input.rest(), Name { text: word.to_owned(), span: input.span() }))
        }
        Some(_) | None => Err(Err::Error(input.wanted("a qualifier"))),
    }
}

/// `choice-domain = "choice" "-" "domain" [domain ("," domain)*]` where `domain = name | "(" … ")"`.
/// Gives what follows it.
fn choice_domain(input: Tokens<'_>) -> Option<Tokens<'_>> {
    let second = input.rest().rest();
    if input.word() != Some("choice") || input.kind(1) != Some(Kind::Minus) || second.word() != Some("domain")
    {
        return None;
    }
    let mut rest = domain(second.rest());
    while rest.kind(0) == Some(Kind::Comma) {
        rest = domain(rest.rest());
    }
    Some(rest)
}

fn domain(input: Tokens<'_>) -> Tokens<'_> {
    match input.first() {
        Some(token) if token.kind == Kind::Open => match token.partner {
            Some(close) => Tokens::new(input.page, close).rest(),
            None => input.rest(),
        },
        Some(token) if token.kind == Kind::Word && input.kind(1) != Some(Kind::Open) => input.rest(),
        Some(_) | None => input,
    }
}

/// Refuses a word behind the columns that is neither a qualifier nor the start of a fact or rule.
fn refuse_qualifier(input: Tokens<'_>) -> Result<(), Err<Fault>> {
    let follows = input.first().is_some_and(|token| token.kind == Kind::Word && !token.leads);
    if follows && input.kind(1) != Some(Kind::Open) {
        input.refuse("a qualifier or a new statement")
    } else {
        Ok(())
    }
}

/// `directive = (".output" | ".input" | ".printsize") group ("," group)*`
pub(crate) fn directive(input: Tokens<'_>, kind: DirectiveKind) -> Parsed<'_, Vec<Item>> {
    let start = input.span();
    let groups = separated_list1(one(Kind::Comma, "`,`"), cut(directive_group));
    let (rest, groups) = cut(groups).parse(input.rest())?;
    let span = rest.since(start);
    let directives = groups.into_iter().flat_map(|(names, parameters)| {
        names.into_iter().map(move |relation| Directive {
            kind,
            relation,
            parameters: parameters.clone(),
            span,
        })
    });
    Ok((rest, directives.map(Item::Directive).collect()))
}

type Parameters = Vec<(Name, String)>;

/// `group = names ["(" [parameter ("," parameter)*] ")"]`
fn directive_group(input: Tokens<'_>) -> Parsed<'_, (Vec<Name>, Parameters)> {
    let (rest, names) = names(input)?;
    if rest.kind(0) != Some(Kind::Open) {
        return Ok((rest, (names, Vec::new())));
    }
    let rest = rest.rest();
    if rest.kind(0) == Some(Kind::Close) {
        return Ok((rest.rest(), (names, Vec::new())));
    }
    let (rest, found) = cut(separated_list1(one(Kind::Comma, "`,`"), cut(parameter))).parse(rest)?;
    let (rest, _) = cut(one(Kind::Close, "`,` or `)`")).parse(rest)?;
    Ok((rest, (names, found)))
}

/// `parameter = word "=" (text | word | number)`
fn parameter(input: Tokens<'_>) -> Parsed<'_, (Name, String)> {
    let Some(word) = input.word() else { return Err(Err::Error(input.wanted("a parameter"))) };
    let (rest, key) = (input.rest(), Name { text: word.to_owned(), span: input.span() });
    let (rest, _) = cut(one(Kind::Equal, "`=`")).parse(rest)?;
    let Some(token) = rest.first() else { return rest.refuse("a value") };
    let written = rest.page.slice(token.span);
    let value = match token.kind {
        Kind::Text => text::decode(written),
        Kind::Word | Kind::Integer(_) | Kind::Unsigned(_) | Kind::Float(_) => written.to_owned(),
        _ => return rest.refuse("a value"),
    };
    Ok((rest.rest(), (key, value)))
}

/// `include = (".include" | "#include") text`
pub(crate) fn include(input: Tokens<'_>) -> Parsed<'_, Vec<Item>> {
    let start = input.span();
    let (rest, path) = cut(literal("a path in double quotes")).parse(input.rest())?;
    Ok((rest, vec![Item::Include(Include { path, span: rest.since(start) })]))
}

/// `pragma = ".pragma" text [text]`
pub(crate) fn pragma(input: Tokens<'_>) -> Parsed<'_, Vec<Item>> {
    let start = input.span();
    let words = pair(cut(literal("a name in double quotes")), opt(literal("a value")));
    let (rest, (name, value)) = preceded(one(Kind::Directive, "`.pragma`"), words).parse(input)?;
    Ok((rest, vec![Item::Pragma(Pragma { name, value, span: rest.since(start) })]))
}

/// `literal = text`, decoded
fn literal<'a>(what: &'static str) -> impl Fn(Tokens<'a>) -> Parsed<'a, Name> {
    move |input| {
        let (rest, span) = one(Kind::Text, what)(input)?;
        Ok((rest, Name { text: text::decode(input.page.slice(span)), span }))
    }
}
