//! What a code means, for people and machines.

use serde::Serialize;

use crate::program::Explanation;

/// Letters of a line.
const WIDTH: usize = 96;

/// `{"explanation": …}`
#[derive(Debug, Serialize)]
pub struct ExplanationDocument {
    /// What the code means.
    pub explanation: ExplanationRow,
}

/// One explanation.
#[derive(Debug, Serialize)]
pub struct ExplanationRow {
    code: &'static str,
    title: &'static str,
    text: &'static str,
    wrong: &'static str,
    right: &'static str,
}

impl From<Explanation> for ExplanationRow {
    fn from(page: Explanation) -> Self {
        let Explanation { code, title, text, wrong, right } = page;
        Self { code, title, text, wrong, right }
    }
}

/// The page as lines that fit a terminal, its policies set in.
#[must_use]
pub fn explanation(page: &Explanation) -> String {
    let mut out = format!("{}: {}\n", page.code, page.title);
    for paragraph in page.text.split("\n\n") {
        out.push('\n');
        wrap(paragraph, &mut out);
    }
    for (what, policy) in [("wrong", page.wrong), ("right", page.right)] {
        out.push_str(&format!("\n{what}:\n\n"));
        policy.lines().for_each(|line| out.push_str(&format!("    {line}\n")));
    }
    out
}

fn wrap(paragraph: &str, out: &mut String) {
    let mut width = 0;
    for word in paragraph.split_whitespace() {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > WIDTH {
            out.push('\n');
            width = 0;
        }
        if width > 0 {
            out.push(' ');
            width += 1;
        }
        out.push_str(word);
        width += length;
    }
    out.push('\n');
}
