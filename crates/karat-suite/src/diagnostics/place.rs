//! Places in source texts.

use std::ops::Range;

/// Index of a source text that was read while loading a suite.
pub(crate) type FileId = usize;

/// A place in a source text: byte offsets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub file: FileId,
    pub span: Range<usize>,
}
