//! A number found in a text, with everything the text says about it.

use std::ops::Range;

use rust_decimal::Decimal;

use crate::role::Role;
use crate::unit::Unit;

/// A number found in a text.
///
/// ```
/// use karat_quantity::{Unit, extract};
///
/// let text = "In all, 12.5% of 1.2 million employees left.";
/// let found = extract(text);
/// assert_eq!((found[0].unit, found[0].significant), (Unit::Percent, 3));
/// assert_eq!(found[1].value.to_string(), "1200000");
/// assert_eq!(found[1].phrase.first().map(String::as_str), Some("employees"));
/// assert_eq!(&text[found[1].span.clone()], found[1].text);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity {
    /// The value in base units: scale applied, percentages in percent, money in its main unit.
    pub value: Decimal,
    /// The upper end of a range whose lower end is `value`.
    pub high: Option<Decimal>,
    /// The unit.
    pub unit: Unit,
    /// The unit written beside it; `unit` may be declared elsewhere, as in "Revenue (EUR): 5".
    pub own_unit: Unit,
    /// The role in the text.
    pub role: Role,
    /// The word that weakens it.
    pub hedge: Option<Hedge>,
    /// True if it is said to be a loss or a fall, as in "down 4 %": then it stands for a negative number.
    pub fall: Fall,
    /// True if it is denied: "was not $5 million", "neither 5 nor 6". It matches nothing.
    pub negated: bool,
    /// The words after it up to the end of their phrase, lower-cased: what it counts.
    pub phrase: Vec<String>,
    /// The number as written, with sign, currency, scale and unit.
    pub text: String,
    /// The bytes of `text` in the text that was read.
    pub span: Range<usize>,
    /// Significant digits shown.
    pub significant: u32,
    /// The value of one in the last shown digit: 10,000,000 in "1.23 billion".
    pub step: Decimal,
    /// The value of one of the written number in base units.
    pub(crate) factor: Decimal,
    /// The scale that is declared elsewhere; 1 where none is.
    pub(crate) declared: Decimal,
    /// True if a scale word or exponent stands beside it.
    pub scaled: bool,
    /// True if it is written as a fraction or power.
    pub(crate) is_fraction: bool,
    /// The letter that scales it and may as well be a unit, where nothing says that money or a thing is counted.
    pub(crate) letter: Option<char>,
    /// True if a scale word does, or is declared elsewhere.
    pub(crate) names_scale: bool,
}

impl Quantity {
    /// True if it only bounds what the text speaks of: "below $5 million", "exceeded $5 million".
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

/// The certainty that a number is a loss or a fall and so stands for a negative one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Fall {
    /// Nothing says so.
    #[default]
    No,
    /// It may be meant so or as an amount: "credit losses of $5 million", "outflows of $5 million".
    Possible,
    /// A word of loss or fall governs it: "a net loss of $5 million", "declined 3.4 %".
    Certain,
}
