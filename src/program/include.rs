use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::program::findings::Findings;
use crate::program::schema::PRELUDE_FILE;
use crate::program::{Includes, PRELUDE, PRELUDE_NAME, Prelude};
use crate::source::Diagnostic;
use crate::source::Sources;
use crate::syntax;
use crate::syntax::ast;

const MAX_DEPTH: usize = 32;

/// Files that stand for the prelude where they do not exist: old policies include them.
const PRELUDE_FILES: [&str; 2] = [PRELUDE_NAME, "common_policy.dl"];

/// One parsed file.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) program: Cow<'static, ast::Program>,
}

/// Parses the prelude, the files, and what they include, each file once, in the order of their ids. An absent prelude
/// leaves an empty text in its place.
pub(crate) fn load(
    files: &[(String, String)],
    prelude: Prelude,
    includes: &mut dyn Includes,
    findings: &mut Findings,
) -> (Sources, Vec<Unit>) {
    let (sources, units, names) = (Sources::default(), Vec::new(), BTreeSet::new());
    let mut loader = Loader { sources, units, names, prelude, includes, findings };
    loader.prelude();
    for (name, text) in files {
        let again = loader.sources.iter().skip(1).any(|(_, file)| file.name == *name && file.text == *text);
        if !again && !loader.is_prelude(text) {
            loader.add(name.clone(), text.clone());
        }
    }
    (loader.sources, loader.units)
}

/// The prelude's tree: its text is always the same, and always the first file.
static PRELUDE_TREE: LazyLock<(ast::Program, Vec<Diagnostic>)> =
    LazyLock::new(|| syntax::parse(PRELUDE_FILE, PRELUDE));

struct Loader<'a> {
    sources: Sources,
    units: Vec<Unit>,
    names: BTreeSet<String>,
    prelude: Prelude,
    includes: &'a mut dyn Includes,
    findings: &'a mut Findings,
}

impl Loader<'_> {
    fn prelude(&mut self) {
        if self.prelude == Prelude::Absent {
            self.parse(PRELUDE_NAME.to_owned(), String::new());
            return;
        }
        self.sources.add(PRELUDE_NAME, PRELUDE);
        let (program, findings) = &*PRELUDE_TREE;
        findings.iter().for_each(|finding| self.findings.push(finding.clone()));
        self.units.push(Unit { program: Cow::Borrowed(program) });
    }

    /// Whether a file is a copy of the prelude, which is there.
    fn is_prelude(&self, text: &str) -> bool {
        self.prelude == Prelude::Loaded && text == PRELUDE
    }

    fn parse(&mut self, name: String, text: String) -> usize {
        let file = self.sources.add(name, text);
        let (program, findings) = syntax::parse(file, &self.sources.file(file).text);
        findings.into_iter().for_each(|finding| self.findings.push(finding));
        self.units.push(Unit { program: Cow::Owned(program) });
        self.units.len() - 1
    }

    /// Adds a file and, level by level, what it includes.
    fn add(&mut self, name: String, text: String) {
        self.names.insert(name.clone());
        let first = self.parse(name.clone(), text);
        // A file under way stands with the names of the files that led to it.
        let mut open = vec![(first, vec![name])];
        while let Some((unit, path)) = open.pop() {
            let mut found = Vec::new();
            for include in self.includes_of(unit) {
                found.extend(self.follow(&include, &path));
            }
            open.extend(found.into_iter().rev());
        }
    }

    fn includes_of(&self, unit: usize) -> Vec<ast::Include> {
        let items = self.units.get(unit).map_or(&[][..], |unit| &unit.program.items);
        let include = |item: &ast::Item| match item {
            ast::Item::Include(include) => Some(include.clone()),
            ast::Item::Type(_)
            | ast::Item::Relation(_)
            | ast::Item::Rule(_)
            | ast::Item::Directive(_)
            | ast::Item::Pragma(_)
            | ast::Item::Unsupported { .. } => None,
        };
        items.iter().filter_map(include).collect()
    }

    fn follow(&mut self, include: &ast::Include, path: &[String]) -> Option<(usize, Vec<String>)> {
        let from = path.last().map_or("", String::as_str);
        let written = include.path.text.as_str();
        let (text, name) = match self.includes.include(from, written) {
            Ok(found) => found,
            Err(why) => {
                self.missing(include, from, &why);
                return None;
            }
        };
        if self.is_prelude(&text) {
            return None;
        }
        if path.contains(&name) {
            let circle: Vec<_> = path.iter().chain([&name]).map(|name| format!("`{name}`")).collect();
            let message = format!("`{written}` is included in a circle: {}", circle.join(" -> "));
            let finding = Diagnostic::error("E0051", include.span, message)
                .with_help("move what both need into a file that includes neither");
            self.findings.push(finding);
            return None;
        }
        if path.len() >= MAX_DEPTH {
            let message = format!("`{written}` is included more than {MAX_DEPTH} files deep");
            let finding = Diagnostic::error("E0051", include.span, message)
                .with_help("include it from a file nearer to the first one");
            self.findings.push(finding);
            return None;
        }
        if !self.names.insert(name.clone()) {
            return None;
        }
        let unit = self.parse(name.clone(), text);
        Some((unit, path.iter().cloned().chain([name]).collect()))
    }

    fn missing(&mut self, include: &ast::Include, from: &str, why: &str) {
        let written = include.path.text.as_str();
        let file_name = written.rsplit(['/', '\\']).next().unwrap_or(written);
        let known = self.prelude == Prelude::Loaded && PRELUDE_FILES.contains(&file_name);
        if known && !self.includes.exists(from, written) {
            return;
        }
        let finding =
            Diagnostic::error("E0050", include.path.span, format!("cannot include `{written}`: {why}"))
                .with_help(
                    "create the file, correct the path or remove the line: paths are relative to the including file and \
                     stay inside the policy's folder",
                );
        self.findings.push(finding);
    }
}
