//! The place of a result that has a content key.

use karat_types::Key;

use crate::block::section_cache::SectionKind;

/// The content key of a reusable output or judgment.
pub(crate) type ReuseKey = (Key, SectionKind);

/// The place of a reusable result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntryPlace {
    pub block: i64,
    pub entry: u64,
}
