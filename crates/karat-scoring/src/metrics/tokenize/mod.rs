//! MAP: to be written.

pub(crate) mod grams;
pub mod porter;
pub(crate) mod tokens;
pub(crate) mod words;

