//! One shown value of a rubric, compiled.

use karat_text::template::Template;
use karat_types::ShowItem;

use crate::judge::rubric::section_labels::Section;

/// Which output of a pair a shown value is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    First,
    Second,
}

/// One shown value, compiled.
#[derive(Debug)]
pub(crate) struct Item {
    pub spec: ShowItem,
    /// Of a pair, the output that it comes from; none where it comes from the sample.
    pub side: Option<Side>,
    pub section: Section,
    pub value: Template,
    pub line: Option<Template>,
    /// True if findings refer to its members by position, so that lines are numbered.
    pub is_indexed: bool,
}

impl Item {
    /// True if it comes from the output.
    pub fn is_of_output(&self) -> bool {
        of_output(&self.value)
    }
}

/// True if a value comes from the output.
pub(crate) fn of_output(value: &Template) -> bool {
    value.reads().iter().any(|name| is_of_output(name))
}

/// True if a name that is read is the output or a part of it.
pub(crate) fn is_of_output(name: &str) -> bool {
    name == "output" || name.starts_with("output.")
}
