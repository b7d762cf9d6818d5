//! Numbers in answers: found, normalised, compared.
//!
//! [`extract`] finds the numbers of a text with scale, unit and currency, in the notations of
//! several locales: `$1.2 billion`, `1,200M USD`, `1.234,5 Mio. €`, `1250 bps`, `(1,234)`,
//! `−3.4`, `10–12 %`, "twenty-five". A [`Target`] is the number that is expected; it compares an
//! answer and says which number matched and where.
//!
//! ```
//! use karat_scoring::metrics::numeric::{Target, Tolerance, extract};
//!
//! let found = extract("Revenue rose 12.5% to $1.2 billion.");
//! assert_eq!(found[1].value.to_string(), "1200000000");
//! assert_eq!(found[1].text, "$1.2 billion");
//!
//! let target = Target::number(1_234_000_000.0)?.currency("USD")?;
//! let answer = "Revenue was $1.23 billion.";
//! assert!(target.exact(answer).passed());
//! assert!(target.within(answer, Tolerance::relative(0.01)?).passed());
//! # Ok::<(), karat_scoring::metrics::numeric::TargetError>(())
//! ```

mod accounts;
mod adverbial;
mod affix;
mod chars;
mod clause;
mod compare;
mod compound;
mod contact;
mod declare;
mod denial;
mod digits;
mod direction;
mod foreign;
mod label;
mod money;
mod name;
mod noun;
mod range;
mod reach;
mod role;
mod scale;
mod scan;
mod target;
mod tolerance;
mod unit;
mod words;

use std::ops::Range;

use rust_decimal::Decimal;

pub(crate) use chars::digit;
pub use compare::{Comparison, Outcome};
pub use digits::DecimalMark;
pub use direction::Fall;
pub use role::Role;
pub use target::{Pick, Target, TargetError};
pub use tolerance::{Tolerance, is_close, within_tolerance};
pub use unit::{Currency, Unit};

/// A number found in a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity {
    /// The value in base units: scale applied, percentages in percent, money in its main unit.
    pub value: Decimal,
    /// The upper end of a range whose lower end is `value`.
    pub high: Option<Decimal>,
    /// What it counts.
    pub unit: Unit,
    /// What the marks beside it say it counts; `unit` may be declared elsewhere, as in "Revenue (EUR): 5".
    pub own_unit: Unit,
    /// What it is there for.
    pub role: Role,
    /// How the text weakens it.
    pub hedge: Option<Hedge>,
    /// Whether it is said to be a loss or a fall, as in "down 4 %": then it stands for a negative number.
    pub fall: Fall,
    /// Whether it is denied: "was not $5 million", "neither 5 nor 6". It matches nothing.
    pub negated: bool,
    /// The words after it up to the end of their phrase, lower-cased: what it counts.
    pub phrase: Vec<String>,
    /// The number as written, with sign, currency, scale and unit.
    pub text: String,
    /// The bytes of `text` in the text that was read.
    pub span: Range<usize>,
    /// Significant digits shown.
    pub significant: u32,
    /// What one in the last shown digit is worth: 10,000,000 in "1.23 billion".
    pub step: Decimal,
    /// What one of the written number is worth in base units.
    pub(crate) factor: Decimal,
    /// What a scale that is declared elsewhere makes of one of it; 1 where none is.
    pub(crate) declared: Decimal,
    /// Whether a scale word or exponent stands beside it.
    pub scaled: bool,
}

impl Quantity {
    /// Whether it only bounds what the text speaks of: "below $5 million", "exceeded $5 million".
    pub(crate) fn is_bound(&self) -> bool {
        matches!(self.hedge, Some(Hedge::AtMost | Hedge::Beyond))
    }
}

/// A word that weakens a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hedge {
    /// About, roughly, ~.
    About,
    /// More than, at least, over.
    AtLeast,
    /// Less than, up to, under: a bound, which is not the number itself.
    AtMost,
    /// Exceeded: a bound, too.
    Beyond,
}

impl Hedge {
    const WORDS: &[(&str, Self)] = &[
        ("approximately", Self::About),
        ("approx.", Self::About),
        ("about", Self::About),
        ("around", Self::About),
        ("roughly", Self::About),
        ("circa", Self::About),
        ("ca.", Self::About),
        ("some", Self::About),
        ("nearly", Self::About),
        ("almost", Self::About),
        ("rund", Self::About),
        ("etwa", Self::About),
        ("environ", Self::About),
        ("~", Self::About),
        ("≈", Self::About),
        ("no less than", Self::AtLeast),
        ("not less than", Self::AtLeast),
        ("nothing less than", Self::AtLeast),
        ("no fewer than", Self::AtLeast),
        ("no more than", Self::AtMost),
        ("not more than", Self::AtMost),
        ("more than", Self::AtLeast),
        ("at least", Self::AtLeast),
        ("a minimum of", Self::AtLeast),
        ("mindestens", Self::AtLeast),
        ("wenigstens", Self::AtLeast),
        ("mehr als", Self::AtLeast),
        ("über", Self::AtLeast),
        ("au moins", Self::AtLeast),
        ("plus de", Self::AtLeast),
        ("al menos", Self::AtLeast),
        ("por lo menos", Self::AtLeast),
        ("más de", Self::AtLeast),
        ("over", Self::AtLeast),
        ("above", Self::AtLeast),
        (">", Self::AtLeast),
        ("≥", Self::AtLeast),
        ("less than", Self::AtMost),
        ("fewer than", Self::AtMost),
        ("short of", Self::AtMost),
        ("shy of", Self::AtMost),
        ("south of", Self::AtMost),
        ("as much as", Self::AtMost),
        ("missed", Self::AtMost),
        ("unterhalb von", Self::AtMost),
        ("verfehlte", Self::AtMost),
        ("verfehlten", Self::AtMost),
        ("inférieur à", Self::AtMost),
        ("inférieure à", Self::AtMost),
        ("inférieurs à", Self::AtMost),
        ("en dessous de", Self::AtMost),
        ("inferior a", Self::AtMost),
        ("inferiores a", Self::AtMost),
        ("por debajo de", Self::AtMost),
        ("weniger als", Self::AtMost),
        ("moins de", Self::AtMost),
        ("menos de", Self::AtMost),
        ("at most", Self::AtMost),
        ("up to", Self::AtMost),
        ("a maximum of", Self::AtMost),
        ("capped at", Self::AtMost),
        ("not exceeding", Self::AtMost),
        ("bis zu", Self::AtMost),
        ("höchstens", Self::AtMost),
        ("maximal", Self::AtMost),
        ("unter", Self::AtMost),
        ("jusqu'à", Self::AtMost),
        ("jusqu’à", Self::AtMost),
        ("au plus", Self::AtMost),
        ("au maximum", Self::AtMost),
        ("hasta", Self::AtMost),
        ("como máximo", Self::AtMost),
        ("a lo sumo", Self::AtMost),
        ("under", Self::AtMost),
        ("below", Self::AtMost),
        ("<", Self::AtMost),
        ("≤", Self::AtMost),
        ("exceeded", Self::Beyond),
        ("exceeds", Self::Beyond),
        ("exceeding", Self::Beyond),
        ("surpassed", Self::Beyond),
        ("topped", Self::Beyond),
        ("crossed", Self::Beyond),
        ("beat", Self::Beyond),
        ("übertraf", Self::Beyond),
        ("übertrafen", Self::Beyond),
        ("überstieg", Self::Beyond),
        ("überstiegen", Self::Beyond),
        ("überschritt", Self::Beyond),
        ("überschritten", Self::Beyond),
        ("dépasse", Self::Beyond),
        ("dépassé", Self::Beyond),
        ("dépassait", Self::Beyond),
        ("supérieur à", Self::Beyond),
        ("supérieure à", Self::Beyond),
        ("superó", Self::Beyond),
        ("superaron", Self::Beyond),
        ("superior a", Self::Beyond),
    ];

    /// The hedge that `before` ends with.
    fn before(before: &str) -> Option<Self> {
        let before = before.trim_end();
        let ends_with = |word: &str| {
            let start = before.len().checked_sub(word.len())?;
            let same = before.get(start..)?.eq_ignore_ascii_case(word);
            let free = !word.starts_with(char::is_alphabetic) || !before[..start].ends_with(char::is_alphanumeric);
            (same && free).then_some(())
        };
        let found = Self::WORDS.iter().find(|(word, _)| ends_with(word).is_some());
        found.map(|(_, hedge)| *hedge)
    }
}

/// The numbers of `text`, left to right; the decimal mark is guessed from the text.
///
/// Numbers beyond 28 digits are left out.
#[must_use]
pub fn extract(text: &str) -> Vec<Quantity> {
    extract_with(text, DecimalMark::Auto)
}

/// The numbers of `text`, left to right.
///
/// ```
/// use karat_scoring::metrics::numeric::{DecimalMark, extract_with};
///
/// let found = extract_with("1.234 Stück", DecimalMark::Comma);
/// assert_eq!(found[0].value.to_string(), "1234");
/// ```
#[must_use]
pub fn extract_with(text: &str, mark: DecimalMark) -> Vec<Quantity> {
    scan::scan(text, mark)
}

#[cfg(test)]
mod tests;
