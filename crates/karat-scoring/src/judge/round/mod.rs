//! MAP: to be written.

pub(crate) mod call_labels;
pub(crate) mod machine;
pub(crate) mod prepare;

