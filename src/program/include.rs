use std::collections::BTreeSet;

use crate::program::findings::Findings;
use crate::program::{Includes, PRELUDE, PRELUDE_NAME};
use crate::source::Diagnostic;
use crate::source::Sources;
use crate::syntax;
use crate::syntax::ast;

const MAX_DEPTH: usize = 32;

/// Files that stand for the prelude where they do not exist: old policies include them.
const PRELUDE_FILES: [&str; 2] = [PRELUDE_NAME, "common_policy.dl"];

/// One parsed file.
pub(crate) struct Unit {
    pub(crate) program: ast::Program,
}

/// Parses the prelude, the files, and what they include, each file once, in the order of their ids.
pub(crate) fn load(
    files: &[(String, String)],
    includes: &mut dyn Includes,
    findings: &mut Findings,
) -> (Sources, Vec<Unit>) {
    let mut loader =
        Loader { sources: Sources::default(), units: Vec::new(), names: BTreeSet::new(), includes, findings };
    loader.parse(PRELUDE_NAME.to_owned(), PRELUDE.to_owned());
    for (name, text) in files {
        let again = loader.sources.iter().skip(1).any(|(_, file)| file.name == *name && file.text == *text);
        // A copy of the prelude among the files is the prelude, which is there.
        if !again && text != PRELUDE {
            loader.add(name.clone(), text.clone());
        }
    }
    (loader.sources, loader.units)
}

struct Loader<'a> {
    sources: Sources,
    units: Vec<Unit>,
    names: BTreeSet<String>,
    includes: &'a mut dyn Includes,
    findings: &'a mut Findings,
}

impl Loader<'_> {
    fn parse(&mut self, name: String, text: String) -> usize {
        let file = self.sources.add(name, text);
        let (program, findings) = syntax::parse(file, &self.sources.file(file).text);
        findings.into_iter().for_each(|finding| self.findings.push(finding));
        self.units.push(Unit { program });
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
        if text == PRELUDE {
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
        if PRELUDE_FILES.contains(&file_name) && !self.includes.exists(from, written) {
            return;
        }
        let finding =
            Diagnostic::error("E0050", include.path.span, format!("cannot include `{written}`: {why}"))
                .with_help("paths are relative to the including file and stay inside the policy's folder");
        self.findings.push(finding);
    }
}
