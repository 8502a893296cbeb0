//! The table, as Markdown.

use std::collections::BTreeMap;

use crate::measure::Measured;

/// How a figure stands to its bar.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing {
    /// Within the bar; how much of it is used, 1 for all.
    Met(f64),
    /// Past it; how many times the bar.
    Missed(f64),
    /// Shown for scale: there is no bar.
    Shown,
    /// Not measured, and why.
    Left(String),
}

impl Standing {
    /// Of a figure that may be at most so much.
    #[must_use]
    pub fn at_most(figure: f64, limit: f64) -> Self {
        let used = figure / limit;
        if used <= 1.0 { Self::Met(used) } else { Self::Missed(used) }
    }

    /// How much of the bar is used; infinitely much where nothing says it.
    fn used(&self) -> Option<f64> {
        match self {
            Self::Met(used) => Some(*used),
            Self::Missed(used) => Some(if used.is_nan() { f64::INFINITY } else { *used }),
            Self::Shown | Self::Left(_) => None,
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Met(_) => "met".to_owned(),
            Self::Missed(_) => "**missed**".to_owned(),
            Self::Shown => "for scale".to_owned(),
            Self::Left(why) => format!("not measured: {why}"),
        }
    }
}

/// One line of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its number, such as 1 for R1.
    pub number: u8,
    /// What is measured.
    pub what: String,
    /// On what.
    pub size: String,
    /// Our figure.
    pub ours: String,
    /// The other figure, with whose it is.
    pub reference: String,
    /// Their ratio.
    pub ratio: String,
    /// What it may be.
    pub bar: String,
    /// Whether it is.
    pub standing: Standing,
}

impl Row {
    /// At most so many times a reference.
    #[must_use]
    pub fn within(number: u8, what: &str, size: &str, measured: Measured, name: &str, limit: f64) -> Self {
        Self {
            number,
            what: what.to_owned(),
            size: size.to_owned(),
            ours: seconds(measured.ours),
            reference: format!("{} `{name}`", seconds(measured.reference)),
            ratio: times(measured.ratio),
            bar: format!("at most {}", times(limit)),
            standing: Standing::at_most(measured.ratio, limit),
        }
    }

    /// At least so many times faster than another engine. `measured` has the other engine as its reference.
    #[must_use]
    pub fn faster(number: u8, what: &str, size: &str, measured: Measured, name: &str, limit: f64) -> Self {
        let factor = 1.0 / measured.ratio;
        Self {
            ratio: times(factor),
            bar: format!("at least {}", times(limit)),
            standing: Standing::at_most(limit, factor),
            ..Self::within(number, what, size, measured, name, 1.0)
        }
    }

    /// Two figures without a bar.
    #[must_use]
    pub fn shown(number: u8, what: &str, size: &str, measured: Measured, name: &str) -> Self {
        Self {
            bar: String::new(),
            standing: Standing::Shown,
            ..Self::within(number, what, size, measured, name, 1.0)
        }
    }

    /// A check that used up its budget after so many seconds.
    #[must_use]
    pub fn spent(number: u8, what: &str, size: &str, after: f64, bar: &str) -> Self {
        Self {
            number,
            what: what.to_owned(),
            size: size.to_owned(),
            ours: format!("budget used up after {}", seconds(after)),
            reference: String::new(),
            ratio: String::new(),
            bar: bar.to_owned(),
            standing: Standing::Missed(f64::INFINITY),
        }
    }

    /// Nothing, and why.
    #[must_use]
    pub fn left(number: u8, what: &str, why: &str) -> Self {
        Self {
            number,
            what: what.to_owned(),
            size: String::new(),
            ours: String::new(),
            reference: String::new(),
            ratio: String::new(),
            bar: String::new(),
            standing: Standing::Left(why.to_owned()),
        }
    }

    /// The line.
    #[must_use]
    pub fn line(&self) -> String {
        let Self { number, what, size, ours, reference, ratio, bar, standing } = self;
        let standing = standing.words();
        format!("| R{number} | {what} | {size} | {ours} | {reference} | {ratio} | {bar} | {standing} |")
    }
}

/// The head of the table.
pub const HEAD: &str =
    "| # | what | on | ours | reference | ratio | bar | |\n| --- | --- | --- | --- | --- | --- | --- | --- |";

/// All rows, in the order of their numbers.
#[must_use]
pub fn detailed(rows: &[Row]) -> String {
    let mut rows: Vec<&Row> = rows.iter().collect();
    rows.sort_by_key(|row| row.number);
    rows.iter().fold(HEAD.to_owned(), |text, row| text + "\n" + &row.line()) + "\n"
}

/// For each question the row that is nearest to its bar or furthest past it, and how many rows met theirs.
#[must_use]
pub fn summary(rows: &[Row]) -> String {
    let mut questions: BTreeMap<(u8, &str), Vec<&Row>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.standing != Standing::Shown) {
        questions.entry((row.number, row.what.as_str())).or_default().push(row);
    }
    let mut text = HEAD.to_owned();
    for rows in questions.values() {
        let used = |row: &&&Row| row.standing.used().unwrap_or(-1.0);
        let Some(worst) = rows.iter().max_by(|a, b| used(a).total_cmp(&used(b))) else { continue };
        let met = rows.iter().filter(|row| matches!(row.standing, Standing::Met(_))).count();
        let counted = match &worst.standing {
            Standing::Met(_) | Standing::Missed(_) if rows.len() > 1 => {
                format!(", {met} of {} rows met", rows.len())
            }
            Standing::Met(_) | Standing::Missed(_) | Standing::Shown | Standing::Left(_) => String::new(),
        };
        let line = worst.line();
        text += "\n";
        text += line.strip_suffix(" |").unwrap_or(&line);
        text += &counted;
        text += " |";
    }
    text + "\n"
}

/// A time for people.
#[must_use]
pub fn seconds(seconds: f64) -> String {
    let (figure, unit) = match seconds {
        under if under < 1e-6 => (seconds * 1e9, "ns"),
        under if under < 1e-3 => (seconds * 1e6, "µs"),
        under if under < 1.0 => (seconds * 1e3, "ms"),
        _ => (seconds, "s"),
    };
    format!("{} {unit}", figure_of(figure))
}

/// A ratio for people.
#[must_use]
pub fn times(ratio: f64) -> String {
    format!("{} ×", figure_of(ratio))
}

/// Three digits, and all before the point.
#[must_use]
pub fn figure_of(figure: f64) -> String {
    if figure >= 1000.0 {
        let whole = format!("{figure:.0}");
        let mut grouped = String::new();
        for (at, digit) in whole.chars().enumerate() {
            if at > 0 && (whole.len() - at).is_multiple_of(3) {
                grouped.push(',');
            }
            grouped.push(digit);
        }
        grouped
    } else if figure >= 100.0 {
        format!("{figure:.0}")
    } else if figure >= 10.0 {
        format!("{figure:.1}").trim_end_matches(".0").to_owned()
    } else {
        let text = format!("{figure:.2}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        let cases = [
            (0.234, "0.23"),
            (3.0, "3"),
            (12.34, "12.3"),
            (123.4, "123"),
            (1234.5, "1,234"),
            (1e6, "1,000,000"),
        ];
        for (figure, text) in cases {
            assert_eq!(figure_of(figure), text);
        }
        assert_eq!(seconds(2.3e-7), "230 ns");
        assert_eq!(seconds(0.0123), "12.3 ms");
    }

    #[test]
    fn the_worst_row_stands_for_its_question() {
        let measured = |ratio: f64| Measured { ours: ratio, reference: 1.0, ratio };
        let rows = [
            Row::within(1, "warm", "100", measured(2.0), "mask", 3.0),
            Row::within(1, "warm", "1,000", measured(6.0), "mask", 3.0),
            Row::shown(1, "warm", "10", measured(99.0), "mask"),
        ];
        let text = summary(&rows);
        assert!(text.contains("| 1,000 |") && text.contains("**missed**, 1 of 2 rows met |"), "{text}");
        assert!(detailed(&rows).contains("for scale"));
    }

    #[test]
    fn faster_is_better() {
        let measured = Measured { ours: 1.0, reference: 50.0, ratio: 0.02 };
        assert!(matches!(Row::faster(4, "cold", "1", measured, "other", 5.0).standing, Standing::Met(_)));
        assert!(matches!(Row::faster(4, "cold", "1", measured, "other", 60.0).standing, Standing::Missed(_)));
    }
}
