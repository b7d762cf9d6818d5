//! Numbers in texts: find them, normalise them, compare them with an expected one.
//!
//! [`extract`] finds the numbers of a text with scale, unit and currency, in the notations of several locales:
//! `$1.2 billion`, `1,200M USD`, `1.234,5 Mio. €`, `1250 bps`, `−3.4`, `10–12 %`, "twenty-five". A [`Target`] is an
//! expected number; it compares an answer and reports which number matched and where.
//!
//! By default only the number itself is read: digits, separators, sign, scale, unit, and its role (amount, date,
//! reference). [`Context::Finance`] adds the language layer in `finance/`: losses and falls ("down 4 %"), amounts in
//! parentheses, bounds ("at most 5"), denials ("was not 5") and units declared elsewhere ("in millions of USD").
//!
//! Read in this order: `quantity.rs` (the result), `scan/` (the loop over a text; signs, ranges), `numeral/` (digits and
//! number words), `unit/` (percent, currencies, scales, nouns), `role/` (dates, pages, phone numbers), `finance/` (the
//! optional layer, word lists in `words/`), `target/` (comparison and tolerance).
//!
//! ```
//! use karat_quantity::{Context, Target, Tolerance, extract};
//!
//! let numbers = extract("Revenue rose 12.5% to $1.2 billion.");
//! assert_eq!(numbers[1].value.to_string(), "1200000000");
//! assert_eq!(numbers[1].text, "$1.2 billion");
//!
//! let target = Target::number(1_234_000_000.0)?.currency("USD")?;
//! let answer = "Revenue was $1.23 billion.";
//! assert!(target.exact(answer).passed());
//! assert!(target.within(answer, Tolerance::relative(0.01)?).passed());
//!
//! let target = Target::number(-5.0)?.context(Context::Finance);
//! assert!(target.exact("a net loss of 5").passed());
//! # Ok::<(), karat_quantity::TargetError>(())
//! ```

#![deny(missing_docs)]

mod chars;
mod finance;
mod numeral;
mod quantity;
mod references;
mod role;
mod scan;
mod target;
mod unit;

pub use chars::digit;
pub use numeral::digits::DecimalMark;
pub use quantity::{Fall, Hedge, Quantity};
pub use role::Role;
pub use scan::{Context, Reading};
pub use target::compare::{Comparison, Outcome};
pub use target::tolerance::{Tolerance, is_close, within_tolerance};
pub use target::{Pick, Target, TargetError};
pub use unit::{Currency, Unit};

/// Returns the numbers of `text`, left to right, without the finance layer; the decimal mark is guessed from the text.
///
/// Numbers beyond 28 digits are left out.
#[must_use]
pub fn extract(text: &str) -> Vec<Quantity> {
    extract_with(text, Reading::default())
}

/// Returns the numbers of `text`, left to right.
///
/// ```
/// use karat_quantity::{DecimalMark, Reading, extract_with};
///
/// let reading = Reading { mark: DecimalMark::Comma, ..Reading::default() };
/// assert_eq!(extract_with("1.234 Stück", reading)[0].value.to_string(), "1234");
/// ```
#[must_use]
pub fn extract_with(text: &str, reading: Reading) -> Vec<Quantity> {
    scan::scan(text, reading)
}

#[cfg(test)]
mod tests;
