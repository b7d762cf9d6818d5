//! Cache of decompressed sections. Neighbours in the plan lie in the same block, so a section is likely to be needed
//! again.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};

use karat_types::{Key, Moment};

use crate::block::section::Section;
use crate::error::{Damage, ReadFailure};
use crate::sql::mutex::lock;
use crate::sql::tables::{BLOCKS, RUNS, run_column as column};
use crate::sql::{Connection, Row, params};

/// Total memory that cached sections may take, in bytes.
const MAX_BYTES: usize = 32 << 20;

/// Number of cached sections. A linear search through so many is faster than reading one from the file.
const MAX_SECTIONS: usize = 256;

/// Blocks that are read with one that is missing, when blocks of a server are read in order: a question costs more than they do.
const READ_AHEAD: i64 = 128;

/// Largest section that is read ahead, in bytes.
const AHEAD_BYTES: i64 = 64 << 10;

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

    /// The column of `blocks`.
    fn column(self) -> &'static str {
        match self {
            Self::Judgments => "judgments",
            Self::Outputs => "outputs",
            Self::Traces => "traces",
        }
    }

    pub(crate) fn query(self, connection: &Connection) -> String {
        let column = self.column();
        format!(
            "select {}, {} from blocks join runs on runs.id = blocks.run where seq between ?1 and ?2
                and (seq = ?1 or length({column}) <= ?3)",
            BLOCKS.select(connection, &[column]),
            RUNS.select(connection, &[])
        )
    }
}

/// The content key of a reusable output or judgment.
pub(crate) type ReuseKey = (Key, SectionKind);

/// The place of a reusable result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntryPlace {
    pub block: i64,
    pub entry: u64,
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
    /// The block that was last read because it was missing.
    missed: Option<(i64, SectionKind)>,
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
        let is_next = lock(&self.0).miss(block, kind);
        let last = if is_next && connection.file().is_none() { block + READ_AHEAD - 1 } else { block };
        let mut sections = read(connection, block..=last, kind)?;
        sections.sort_by_key(|(seq, _)| std::cmp::Reverse(*seq));
        let mut cached = lock(&self.0);
        // The one that is asked for comes last, and so is the most recently used.
        let mut wanted = None;
        for (seq, section) in sections {
            let section = Arc::new(section);
            cached.keep(seq, kind, &section);
            wanted = (seq == block).then_some(section);
        }
        Ok(wanted.ok_or_else(|| Damage(format!("block {block} is missing")))?)
    }
}

fn read(
    connection: &Connection,
    blocks: RangeInclusive<i64>,
    kind: SectionKind,
) -> Result<Vec<(i64, LoadedSection)>, ReadFailure> {
    let mut statement = connection.prepare_cached(&kind.query(connection))?;
    let mut rows = statement.query(params![blocks.start(), blocks.end(), AHEAD_BYTES])?;
    let mut sections = Vec::new();
    while let Some(row) = rows.next()? {
        let block: i64 = row.get(0)?;
        match read_section(&row, kind) {
            Ok(section) => sections.push((block, section)),
            // Of those that were read ahead, damage is told when they are asked for.
            Err(failure) if block == *blocks.start() => return Err(failure),
            Err(_) => {}
        }
    }
    Ok(sections)
}

fn read_section(row: &Row<'_>, kind: SectionKind) -> Result<LoadedSection, ReadFailure> {
    let maker = BLOCKS.check_from(0, row, &[kind.column()])?;
    RUNS.check_from(maker, row, &[])?;
    let section = Section::read(row.blob(2)?)?;
    let run = row.get(maker + column::NAME)?;
    Ok(LoadedSection { section, run, run_started_at: Moment(row.get(maker + column::STARTED_AT)?) })
}

impl CachedSections {
    /// Notes that a block is missing. Returns whether blocks are being read in order.
    fn miss(&mut self, block: i64, kind: SectionKind) -> bool {
        let before = self.missed.replace((block, kind));
        before.is_some_and(|(last, of)| of == kind && (1..=2 * READ_AHEAD).contains(&(block - last)))
    }

    fn find(&mut self, block: i64, kind: SectionKind) -> Option<Arc<LoadedSection>> {
        let at = self.sections.iter().position(|(seq, of, _)| *seq == block && *of == kind)?;
        let found = self.sections.remove(at)?;
        let section = Arc::clone(&found.2);
        self.sections.push_front(found);
        Some(section)
    }

    fn keep(&mut self, block: i64, kind: SectionKind, section: &Arc<LoadedSection>) {
        let is_known = self.sections.iter().any(|(seq, of, _)| *seq == block && *of == kind);
        if is_known || section.section.size() > MAX_BYTES {
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

    /// Invariant 8, memory is bounded: the cache is bounded in bytes and in entries, and drops the least recently used section first.
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
        for block in 10..500 {
            kept.keep(block, SectionKind::Outputs, &small);
        }
        assert_eq!(kept.sections.len(), MAX_SECTIONS);
        assert_eq!(kept.bytes, kept.sections.iter().map(|(_, _, kept)| kept.section.size()).sum::<usize>());
    }
}
