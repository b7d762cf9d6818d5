//! Texts of a source within a suite.
//!
//! - `names` makes ids valid and unique; `escape` keeps the marks of templates from having a meaning.

pub(crate) mod escape;
pub(crate) mod names;
