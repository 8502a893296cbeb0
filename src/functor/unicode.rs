//! Characters that a reader does not see, or sees as something else.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use icu_properties::CodePointMapData;
use icu_properties::CodePointSetData;
use icu_properties::props::Alphabetic;
use icu_properties::props::BidiControl;
use icu_properties::props::DefaultIgnorableCodePoint;
use icu_properties::props::Emoji;
use icu_properties::props::GeneralCategory;
use icu_properties::props::Script;
use icu_properties::props::VariationSelector;

use crate::functor::Parameter;
use crate::functor::call::Entry;
use crate::functor::call::flag;
use crate::functor::call::text;
use crate::functor::call::word;
use crate::value::Kind;

const TEXT: Parameter = text("text");

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::total("has_unicode_tags", &[TEXT], |c, _| flag(c.text(0)?.chars().any(is_tag))).gives(
        Kind::Unsigned,
        "1 if a character of the tag block (U+E0000 to U+E007F) is in the text, flags of emoji included; else 0.",
    ),
    Entry::total("has_deceptive_unicode", &[TEXT], |c, _| flag(!found(c.text(0)?).is_empty())).gives(
        Kind::Unsigned,
        "1 if `@deceptive_unicode_class` of the text is not `\"\"`; else 0.",
    ),
    Entry::total("deceptive_unicode_class", &[TEXT], |c, _| word(class(c.text(0)?))).gives(
        Kind::Symbol,
        "The worst that the text holds: `tag` (tag characters, whose text no reader sees), `bidi` (characters that turn \
         the order of reading), `invisible` (other characters without a shape, and controls), `confusable_script_mix` \
         (a word with Latin, Greek, Cyrillic, Armenian or Cherokee letters side by side); `\"\"` for none. A byte order mark that \
         opens the text and what joins and colours emoji are none.",
    ),
    Entry::total("decode_unicode_tags", &[TEXT], |c, _| word(decoded(c.text(0)?)))
        .gives(Kind::Symbol, "The ASCII text that the tag characters of the text spell; `\"\"` without any."),
    Entry::total("deceptive_unicode_summary", &[TEXT], |c, _| word(summary(c.text(0)?))).gives(
        Kind::Symbol,
        "What the text holds of each class, worst first, as `class count: U+… U+…` with at most eight code points each, \
         parted by `; `; `\"\"` for none.",
    ),
];

/// What deceives, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Deceit {
    Tag,
    Bidi,
    Invisible,
    ScriptMix,
}

impl Deceit {
    fn name(self) -> &'static str {
        match self {
            Self::Tag => "tag",
            Self::Bidi => "bidi",
            Self::Invisible => "invisible",
            Self::ScriptMix => "confusable_script_mix",
        }
    }
}

/// Code points of one class, counted and sorted.
#[derive(Debug, Default)]
struct Sightings {
    count: usize,
    points: BTreeSet<char>,
}

/// Unicode names the block by its range, and crates of properties carry no blocks of it that are unassigned.
fn is_tag(c: char) -> bool {
    ('\u{E0000}'..='\u{E007F}').contains(&c)
}

/// Whether a word of code holds what its reader does not see, or takes for something else: blanks that no shell knows
/// as blanks too.
pub(crate) fn deceives(text: &str) -> bool {
    let is_blank = |c: char| !c.is_ascii() && (c.is_whitespace() || c == '\u{2800}');
    text.chars().any(is_blank) || !found(text).is_empty()
}

fn class(text: &str) -> &'static str {
    found(text).keys().next().map_or("", |deceit| deceit.name())
}

fn summary(text: &str) -> String {
    let line = |(deceit, sightings): (&Deceit, &Sightings)| {
        let points: Vec<_> =
            sightings.points.iter().take(8).map(|&c| format!("U+{:04X}", u32::from(c))).collect();
        format!("{} {}: {}", deceit.name(), sightings.count, points.join(" "))
    };
    found(text).iter().map(line).collect::<Vec<_>>().join("; ")
}

fn decoded(text: &str) -> String {
    let shown = |c: char| u32::from(c).checked_sub(0xE0000).and_then(char::from_u32);
    text.chars().filter(|&c| is_tag(c)).filter_map(shown).filter(|c| matches!(c, ' '..='~')).collect()
}

/// Everything in the text that deceives, by class.
fn found(text: &str) -> BTreeMap<Deceit, Sightings> {
    let mut out: BTreeMap<Deceit, Sightings> = BTreeMap::new();
    if text.bytes().all(|b| matches!(b, b' '..=b'~' | b'\n' | b'\t' | b'\r')) {
        return out;
    }
    let mut saw = |deceit, c| {
        let sightings = out.entry(deceit).or_default();
        sightings.count += 1;
        sightings.points.insert(c);
    };
    let mut before: Option<char> = None;
    let mut mix = Mix::default();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if let Some(deceit) = unseen(before, c, chars.peek().copied()) {
            saw(deceit, c);
        }
        if let Some(odd) = mix.read(c) {
            saw(Deceit::ScriptMix, odd);
        }
        before = Some(c);
    }
    out
}

/// The class of a character that has no shape of its own, between its neighbours.
fn unseen(before: Option<char>, c: char, after: Option<char>) -> Option<Deceit> {
    if is_tag(c) {
        return Some(Deceit::Tag);
    }
    if CodePointSetData::new::<BidiControl>().contains(c) {
        return Some(Deceit::Bidi);
    }
    let is_ignorable = CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c);
    let category = CodePointMapData::<GeneralCategory>::new().get(c);
    let hides = match category {
        GeneralCategory::Control => !matches!(c, '\n' | '\t' | '\r'),
        GeneralCategory::Format | GeneralCategory::LineSeparator | GeneralCategory::ParagraphSeparator => {
            true
        }
        _ => is_ignorable,
    };
    let is_mark_of_order = c == '\u{FEFF}' && before.is_none();
    (hides && !is_mark_of_order && !joins_emoji(before, c, after)).then_some(Deceit::Invisible)
}

/// Whether it is the one variation selector after an emoji, or the joiner between two.
fn joins_emoji(before: Option<char>, c: char, after: Option<char>) -> bool {
    let emoji = CodePointSetData::new::<Emoji>();
    let selectors = CodePointSetData::new::<VariationSelector>();
    // Signs that presentation selectors colour (`©`, `1`) are emoji by that property too.
    let shapes = |c: char| emoji.contains(c);
    match c {
        '\u{FE0E}' | '\u{FE0F}' => before.is_some_and(shapes),
        '\u{200D}' => {
            let is_shape = |c: char| !c.is_ascii() && (shapes(c) || selectors.contains(c));
            before.is_some_and(is_shape) && after.is_some_and(|c| !c.is_ascii() && shapes(c))
        }
        _ => false,
    }
}

/// The script of the word that is being read.
#[derive(Debug, Default)]
struct Mix {
    script: Option<Script>,
}

impl Mix {
    /// The character, if it is a letter of another script than the word's letters before it, and the two share shapes.
    fn read(&mut self, c: char) -> Option<char> {
        let script = CodePointMapData::<Script>::new().get(c);
        let is_neutral = script == Script::Common || script == Script::Inherited;
        if !CodePointSetData::new::<Alphabetic>().contains(c) || is_neutral {
            // Marks and what does not show keep a word together, as `pay-pal` and a digit do.
            let parts =
                c.is_whitespace() || matches!(c, '/' | '(' | ')' | ',' | ';' | '"' | '\'' | '<' | '>');
            if parts {
                self.script = None;
            }
            return None;
        }
        let shares = |script: Script| {
            [Script::Latin, Script::Greek, Script::Cyrillic, Script::Armenian, Script::Cherokee]
                .contains(&script)
        };
        if !shares(script) {
            return None;
        }
        let first = *self.script.get_or_insert(script);
        (first != script).then_some(c)
    }
}
