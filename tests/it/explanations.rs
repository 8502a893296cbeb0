//! Every code is explained, and the examples show what they say.

use std::collections::BTreeMap;

use gatelog::plain::{Target, channels};
use gatelog::program::{self, Includes, check, explained, explanation};
use gatelog::source::{Diagnostic, render};
use gatelog::syntax;

/// The folder of an example: itself and one more file.
struct Beside<'a>(&'a str);

impl Includes for Beside<'_> {
    fn include(&mut self, _from: &str, path: &str) -> Result<(String, String), String> {
        match path {
            "policy.dl" => Ok((self.0.to_owned(), path.to_owned())),
            "more.dl" => Ok((".decl More(x: symbol)\nMore(\"x\").\n".to_owned(), path.to_owned())),
            _ => Err("there is no such file".to_owned()),
        }
    }

    fn exists(&mut self, _from: &str, path: &str) -> bool {
        matches!(path, "policy.dl" | "more.dl")
    }
}

/// The findings about an example; whether it loads; what a person would see.
fn findings(text: &str) -> (Vec<Diagnostic>, bool, String) {
    let files = [("policy.dl".to_owned(), text.to_owned())];
    let (sources, found, loads) = match check(&files, &mut Beside(text)) {
        Ok(program) => match channels(&program, Target::Files) {
            Ok(_) => (program.sources, program.warnings, true),
            Err(faults) => (program.sources, faults, false),
        },
        Err(refusal) => (refusal.sources, refusal.findings, false),
    };
    let drawn = found.iter().map(|finding| render(&sources, finding, false) + "\n").collect();
    (found, loads, drawn)
}

/// Codes with what they mean, in the words of each room that gives them.
fn codes() -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for &(code, meaning) in syntax::CODES.iter().chain(program::CODES) {
        all.entry(code).or_default().push(meaning);
    }
    all
}

#[test]
fn every_code_is_explained_and_every_explanation_has_its_code() {
    let known: Vec<_> = codes().into_keys().collect();
    let explained: Vec<_> = explained().collect();
    assert_eq!(explained, known, "pages on the left, codes on the right");
    for (code, meanings) in codes() {
        let page =
            explanation(code).unwrap_or_else(|| panic!("the page of {code} is not laid out as others"));
        assert_eq!(page.code, code);
        assert!(meanings.contains(&page.title), "{code}: `{}` is not in {meanings:?}", page.title);
        assert!(page.text.len() > 80 && !page.wrong.is_empty() && !page.right.is_empty(), "{code}");
    }
}

#[test]
fn wrong_examples_have_the_fault_and_right_ones_load_without_it() {
    for code in explained() {
        let page = explanation(code).unwrap_or_else(|| panic!("{code}"));
        let (found, loads, drawn) = findings(page.wrong);
        assert!(found.iter().any(|finding| finding.code == code), "{code}: the wrong example:\n{drawn}");
        assert_eq!(loads, code.starts_with('W'), "{code}: the wrong example:\n{drawn}");
        let (found, loads, drawn) = findings(page.right);
        assert!(loads, "{code}: the right example:\n{drawn}");
        assert!(found.iter().all(|finding| finding.code != code), "{code}: the right example:\n{drawn}");
    }
}
