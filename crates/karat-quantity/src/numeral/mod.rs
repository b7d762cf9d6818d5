//! Numerals: a number as it is written, without sign, scale and unit.
//!
//! `digits` reads digits with the separators of several locales, `spelled` English number words, `foreign` those of
//! German, French and Spanish.

pub(crate) mod digits;
mod foreign;
pub(crate) mod spelled;
