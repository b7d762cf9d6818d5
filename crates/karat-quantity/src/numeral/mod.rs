//! Numerals: a number as it is written, without sign, scale and unit.
//!
//! `digits` reads digits with the separators of several locales, `fraction` fractions and powers, `spelled` English number
//! words, `foreign` those of German, French and Spanish.

pub(crate) mod digits;
mod foreign;
pub(crate) mod fraction;
pub(crate) mod spelled;

use rust_decimal::Decimal;

/// A number as it is written, without sign, scale and unit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Numeral {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) value: Decimal,
    /// Digits after the decimal mark.
    pub(crate) decimals: u32,
    /// Digits from the first that is not 0.
    pub(crate) significant: u32,
    pub(crate) form: Form,
    /// True if it is written as a fraction or power, which shows no digits to round to.
    pub(crate) is_fraction: bool,
}

/// The form of a numeral.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Digits alone.
    Bare,
    /// Digits with separators.
    Separated,
    /// A word such as "twelve".
    Spelled,
    /// Digits and points that are no number: a version, a date, an address.
    Dotted,
}
