//! Prose around JSON: which of several values a reply means.
//!
//! `choice` picks a candidate by its rank and by the words around it: `introduction` reads the line before it,
//! `value_context` the sentences around it, `retraction` the words after it; `enclosing_elements` finds XML-like elements
//! beside the answer, whose content does not count.

pub(crate) mod choice;
pub(crate) mod enclosing_elements;
pub(crate) mod introduction;
pub(crate) mod retraction;
pub(crate) mod value_context;
