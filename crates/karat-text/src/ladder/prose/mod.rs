//! MAP: to be written.

pub(crate) mod choice;
pub(crate) mod enclosing_elements;
pub(crate) mod introduction;
pub(crate) mod retraction;
pub(crate) mod value_context;

