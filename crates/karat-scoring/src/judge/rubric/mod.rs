//! MAP: to be written.

pub(crate) mod caps;
pub(crate) mod compiled;
pub(crate) mod examples;
pub(crate) mod item;
pub(crate) mod overall;
pub(crate) mod scale;
pub(crate) mod section_labels;

