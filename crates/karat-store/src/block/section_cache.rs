//! Cache of decompressed sections. Neighbours in the plan lie in the same block, so a section is likely to be needed
//! again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use karat_types::Moment;

use crate::block::pack::Damage;
use crate::block::section::Section;
use crate::database::mutex::lock;
use crate::error::ReadFailure;
use crate::sql::{Connection, OptionalExtension, params};

/// Total memory that cached sections may take, in bytes.
const MAX_BYTES: usize = 32 << 20;

/// Number of cached sections. A linear search through so many is faster than reading one from the file.
const MAX_SECTIONS: usize = 64;

/// One of the three sections of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum SectionKind {
    Judgments,
    Outputs,
    Traces,
}

impl SectionKind {
    /// Returns the code of the kind in the reuse index.
    pub fn code(self) -> u8 {
        match self {
            Self::Judgments => 0,
            Self::Outputs => 1,
            Self::Traces => 2,
        }
    }

    pub fn of_code(code: u8) -> Result<Self, Damage> {
        [Self::Judgments, Self::Outputs, Self::Traces]
            .into_iter()
            .find(|kind| kind.code() == code)
            .ok_or_else(|| Damage(format!("{code} is not a kind of section")))
    }

    pub(crate) fn query(self) -> &'static str {
        match self {
            Self::Judgments => {
                "select judgments, name, started_at from blocks join runs on runs.id = blocks.run where blocks.seq = ?1"
            }
            Self::Outputs => {
                "select outputs, name, started_at from blocks join runs on runs.id = blocks.run where blocks.seq = ?1"
            }
            Self::Traces => {
                "select traces, name, started_at from blocks join runs on runs.id = blocks.run where blocks.seq = ?1"
            }
        }
    }
}

/// A section with the run that wrote its block.
#[derive(Debug)]
pub(crate) struct LoadedSection {
    pub section: Section,
    pub run: String,
    pub run_started_at: Moment,
}

/// Least-recently-used cache. Blocks never change, so no entry can become stale.
#[derive(Debug, Default)]
pub(crate) struct SectionCache(Mutex<CachedSections>);

#[derive(Debug, Default)]
struct CachedSections {
    /// Most recently used first.
    sections: VecDeque<(i64, SectionKind, Arc<LoadedSection>)>,
    bytes: usize,
}

impl SectionCache {
    /// Returns a section from memory, or reads it.
    pub fn section(
        &self,
        connection: &Connection,
        block: i64,
        kind: SectionKind,
    ) -> Result<Arc<LoadedSection>, ReadFailure> {
        if let Some(section) = lock(&self.0).find(block, kind) {
            return Ok(section);
        }
        let section = Arc::new(read(connection, block, kind)?);
        lock(&self.0).keep(block, kind, &section);
        Ok(section)
    }
}

fn read(connection: &Connection, block: i64, kind: SectionKind) -> Result<LoadedSection, ReadFailure> {
    let mut statement = connection.prepare_cached(kind.query())?;
    let (section, run, started_at) = statement
        .query_row(params![block], |row| Ok((row.blob(0).map(Section::read), row.get(1)?, row.get(2)?)))
        .optional()?
        .ok_or_else(|| Damage(format!("block {block} is missing")))?;
    let section = section.map_err(|_| Damage(format!("block {block} holds no bytes")))??;
    Ok(LoadedSection { section, run, run_started_at: Moment(started_at) })
}

impl CachedSections {
    fn find(&mut self, block: i64, kind: SectionKind) -> Option<Arc<LoadedSection>> {
        let at = self.sections.iter().position(|(seq, of, _)| *seq == block && *of == kind)?;
        let found = self.sections.remove(at)?;
        let section = Arc::clone(&found.2);
        self.sections.push_front(found);
        Some(section)
    }

    fn keep(&mut self, block: i64, kind: SectionKind, section: &Arc<LoadedSection>) {
        if section.section.size() > MAX_BYTES {
            return;
        }
        self.bytes += section.section.size();
        self.sections.push_front((block, kind, Arc::clone(section)));
        while self.bytes > MAX_BYTES || self.sections.len() > MAX_SECTIONS {
            let Some((_, _, gone)) = self.sections.pop_back() else {
                break;
            };
            self.bytes -= gone.section.size();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::section::{Entries, SectionWriter};

    fn section(size: usize) -> Arc<LoadedSection> {
        let mut entries = Entries::default();
        entries.push(|packer| packer.plain(&vec![7; size]));
        let section = Section::read(&SectionWriter::new().unwrap().write([&entries]).unwrap()).unwrap();
        Arc::new(LoadedSection { section, run: "r".to_owned(), run_started_at: Moment(0) })
    }

    /// Invariant 8: the cache is bounded in bytes and in entries, and drops the least recently used section first.
    #[test]
    fn the_least_recently_used_section_is_dropped_first() {
        let mut kept = CachedSections::default();
        let large = section(12 << 20);
        for block in 1..=2 {
            kept.keep(block, SectionKind::Traces, &large);
        }
        assert!(kept.find(1, SectionKind::Traces).is_some());
        kept.keep(3, SectionKind::Traces, &large);
        assert!(kept.find(2, SectionKind::Traces).is_none());
        assert!(kept.find(1, SectionKind::Traces).is_some());
        assert!(kept.find(1, SectionKind::Outputs).is_none());
        let small = section(1);
        for block in 10..200 {
            kept.keep(block, SectionKind::Outputs, &small);
        }
        assert_eq!(kept.sections.len(), MAX_SECTIONS);
        assert_eq!(kept.bytes, kept.sections.iter().map(|(_, _, kept)| kept.section.size()).sum::<usize>());
    }
}
