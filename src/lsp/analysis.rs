//! One open document and what it includes, checked.

use std::collections::BTreeMap;

use lsp_types::Range;

use crate::lsp::index::Index;
use crate::lsp::places::Lines;
use crate::lsp::{Files, Open};
use crate::program::{self, Description, Includes};
use crate::source::{FileId, Span};
use crate::syntax::ast;

/// The prelude is always the first text.
pub(crate) const PRELUDE: FileId = FileId(0);

/// What checking a document told.
#[derive(Debug)]
pub(crate) struct Analysis {
    pub(crate) description: Description,
    pub(crate) index: Index,
    /// By [`FileId`].
    lines: Vec<Lines>,
    /// The names of included files, by the including file and the path as written.
    included: BTreeMap<(String, String), String>,
}

impl Analysis {
    /// Checks the document of that name.
    pub(crate) fn new(root: &str, open: &Open, files: &dyn Files) -> Self {
        let text = open.get(root).cloned().unwrap_or_default();
        let mut includes = files.includes(root, open);
        let mut recorder = Recorder { includes: includes.as_mut(), included: BTreeMap::new() };
        let description = program::describe(&[(root.to_owned(), text)], &mut recorder);
        let included = recorder.included;
        let index = Index::new(&description.trees);
        let lines = description.sources.iter().map(|(_, file)| Lines::new(&file.text)).collect();
        Self { description, index, lines, included }
    }

    /// The file of that name, the prelude aside.
    pub(crate) fn file(&self, name: &str) -> Option<FileId> {
        self.description.sources.iter().skip(1).find(|(_, file)| file.name == name).map(|(id, _)| id)
    }

    pub(crate) fn name(&self, file: FileId) -> &str {
        &self.description.sources.file(file).name
    }

    pub(crate) fn text(&self, file: FileId) -> &str {
        &self.description.sources.file(file).text
    }

    pub(crate) fn lines(&self, file: FileId) -> &Lines {
        static NONE: Lines = Lines::NONE;
        self.lines.get(file.0 as usize).unwrap_or(&NONE)
    }

    pub(crate) fn range(&self, span: Span) -> Range {
        self.lines(span.file).range(self.text(span.file), span)
    }

    /// The statements of a file.
    pub(crate) fn items(&self, file: FileId) -> &[ast::Item] {
        self.description.trees.get(file.0 as usize).map_or(&[], |tree| &tree.items)
    }

    fn all_items(&self) -> impl Iterator<Item = &ast::Item> {
        self.description.trees.iter().flat_map(|tree| &tree.items)
    }

    /// The declaration of a relation.
    pub(crate) fn relation(&self, name: &str) -> Option<&ast::RelationDeclaration> {
        self.relations().find(|declaration| declaration.name.text == name)
    }

    /// The declarations of all relations.
    pub(crate) fn relations(&self) -> impl Iterator<Item = &ast::RelationDeclaration> {
        self.all_items().filter_map(|item| match item {
            ast::Item::Relation(declaration) => Some(declaration),
            _ => None,
        })
    }

    /// The declarations of all types.
    pub(crate) fn types(&self) -> impl Iterator<Item = &ast::TypeDeclaration> {
        self.all_items().filter_map(|item| match item {
            ast::Item::Type(declaration) => Some(declaration),
            _ => None,
        })
    }

    /// All variants with their types.
    pub(crate) fn variants(&self) -> impl Iterator<Item = (&ast::TypeDeclaration, &ast::VariantDeclaration)> {
        self.types().flat_map(|declaration| {
            let variants = match &declaration.definition {
                ast::TypeDefinition::Variants(variants) => variants.as_slice(),
                _ => &[],
            };
            variants.iter().map(move |variant| (declaration, variant))
        })
    }

    /// The rule that holds a byte.
    pub(crate) fn rule_at(&self, file: FileId, offset: usize) -> Option<&ast::Rule> {
        self.items(file).iter().find_map(|item| match item {
            ast::Item::Rule(rule)
                if (rule.span.start as usize..=rule.span.end as usize).contains(&offset) =>
            {
                Some(rule)
            }
            _ => None,
        })
    }

    /// The name of the file that a file includes by that path.
    pub(crate) fn included(&self, from: FileId, path: &str) -> Option<&str> {
        self.included.get(&(self.name(from).to_owned(), path.to_owned())).map(String::as_str)
    }
}

/// Remembers which path led to which file.
struct Recorder<'a> {
    includes: &'a mut dyn Includes,
    included: BTreeMap<(String, String), String>,
}

impl Includes for Recorder<'_> {
    fn include(&mut self, from: &str, path: &str) -> Result<(String, String), String> {
        let found = self.includes.include(from, path)?;
        self.included.insert((from.to_owned(), path.to_owned()), found.1.clone());
        Ok(found)
    }

    fn exists(&mut self, from: &str, path: &str) -> bool {
        self.includes.exists(from, path)
    }
}
