//! What each code means at length, with a policy that has the fault and one that has not.

/// The pages, by code.
const PAGES: &[(&str, &str)] = {
    macro_rules! page {
        ($code:literal) => {
            ($code, include_str!(concat!($code, ".md")))
        };
    }
    &[
        page!("E0001"),
        page!("E0002"),
        page!("E0003"),
        page!("E0004"),
        page!("E0005"),
        page!("E0006"),
        page!("E0007"),
        page!("E0010"),
        page!("E0011"),
        page!("E0012"),
        page!("E0013"),
        page!("E0014"),
        page!("E0015"),
        page!("E0016"),
        page!("E0017"),
        page!("E0018"),
        page!("E0019"),
        page!("E0020"),
        page!("E0021"),
        page!("E0022"),
        page!("E0023"),
        page!("E0024"),
        page!("E0025"),
        page!("E0030"),
        page!("E0031"),
        page!("E0032"),
        page!("E0033"),
        page!("E0034"),
        page!("E0035"),
        page!("E0036"),
        page!("E0040"),
        page!("E0041"),
        page!("E0042"),
        page!("E0043"),
        page!("E0044"),
        page!("E0045"),
        page!("E0046"),
        page!("E0050"),
        page!("E0051"),
        page!("E0052"),
        page!("E0053"),
        page!("E0054"),
        page!("E0055"),
        page!("W0001"),
        page!("W0002"),
        page!("W0003"),
        page!("W0004"),
        page!("W0005"),
        page!("W0010"),
        page!("W0011"),
        page!("W0012"),
        page!("W0013"),
        page!("W0014"),
        page!("W0015"),
        page!("W0016"),
        page!("W0017"),
        page!("W0018"),
        page!("W0019"),
        page!("W0020"),
        page!("W0021"),
        page!("W0022"),
        page!("W0023"),
        page!("W0024"),
        page!("W0025"),
        page!("W0026"),
        page!("W0027"),
        page!("W0028"),
        page!("W0029"),
        page!("W0030"),
        page!("W0031"),
        page!("W0032"),
        page!("W0033"),
        page!("W0034"),
        page!("W0035"),
        page!("W0036"),
        page!("W0037"),
        page!("W0038"),
    ]
};

/// What a code means, why it is a fault, and how it is mended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Explanation {
    /// The code, such as `E0020`.
    pub code: &'static str,
    /// In a few words, as in the list of codes.
    pub title: &'static str,
    /// Paragraphs with an empty line between them.
    pub text: &'static str,
    /// A policy that has the fault.
    pub wrong: &'static str,
    /// The policy without it.
    pub right: &'static str,
}

/// The explanation of a code, in large or small letters.
///
/// ```
/// let page = gatelog::program::explanation("e0010").unwrap();
/// assert_eq!(page.title, "no relation of that name");
/// ```
#[must_use]
pub fn explanation(code: &str) -> Option<Explanation> {
    let &(code, page) = PAGES.iter().find(|(known, _)| known.eq_ignore_ascii_case(code))?;
    read(code, page)
}

/// Every code that is explained, in order.
pub fn explained() -> impl Iterator<Item = &'static str> {
    PAGES.iter().map(|&(code, _)| code)
}

/// `# CODE: title`, paragraphs, `Wrong:` and `Right:` each with a block between fences.
fn read(code: &'static str, page: &'static str) -> Option<Explanation> {
    const OPEN: &str = "```datalog\n";
    let (heading, rest) = page.split_once('\n')?;
    let (_, title) = heading.split_once(": ")?;
    let (text, rest) = rest.split_once("\n\nWrong:\n\n")?;
    let (wrong, rest) = rest.strip_prefix(OPEN)?.split_once("```\n\nRight:\n\n")?;
    let right = rest.strip_prefix(OPEN)?.strip_suffix("```\n")?;
    Some(Explanation { code, title, text: text.trim(), wrong, right })
}
