//! Unpacked sections that are likely to be needed again: neighbours in the plan lie in the same block.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use karat_types::Moment;
use rusqlite::{Connection, OptionalExtension, params};

use crate::error::ReadFailure;
use crate::lock::lock;
use crate::pack::Damage;
use crate::section::Section;

/// Memory that cached sections may take together.
const MAX_BYTES: usize = 32 << 20;

/// Sections that are cached; a search through them is shorter than reading one.
const MAX_SECTIONS: usize = 64;

/// Which section of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Judgments,
    Outputs,
    Traces,
}

impl Kind {
    /// The kind as the reuse index holds it.
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
            .ok_or_else(|| Damage(format!("{code} is no kind of section")))
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

/// A section with the run of its block.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub section: Section,
    pub run: String,
    pub run_started_at: Moment,
}

/// The least recently used goes first. Blocks never change, so nothing is ever stale.
#[derive(Debug, Default)]
pub(crate) struct SectionCache(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// Most recently used first.
    sections: VecDeque<(i64, Kind, Arc<Loaded>)>,
    bytes: usize,
}

impl SectionCache {
    /// A section, from memory or through the connection.
    pub fn section(&self, connection: &Connection, block: i64, kind: Kind) -> Result<Arc<Loaded>, ReadFailure> {
        if let Some(section) = lock(&self.0).find(block, kind) {
            return Ok(section);
        }
        let section = Arc::new(read(connection, block, kind)?);
        lock(&self.0).keep(block, kind, &section);
        Ok(section)
    }
}

fn read(connection: &Connection, block: i64, kind: Kind) -> Result<Loaded, ReadFailure> {
    let mut statement = connection.prepare_cached(kind.query())?;
    let (section, run, started_at) = statement
        .query_row(params![block], |row| Ok((row.get_ref(0)?.as_blob().map(Section::read), row.get(1)?, row.get(2)?)))
        .optional()?
        .ok_or_else(|| Damage(format!("block {block} is missing")))?;
    let section = section.map_err(|_| Damage(format!("block {block} holds no bytes")))??;
    Ok(Loaded { section, run, run_started_at: Moment(started_at) })
}

impl Kept {
    fn find(&mut self, block: i64, kind: Kind) -> Option<Arc<Loaded>> {
        let at = self.sections.iter().position(|(seq, of, _)| *seq == block && *of == kind)?;
        let found = self.sections.remove(at)?;
        let section = Arc::clone(&found.2);
        self.sections.push_front(found);
        Some(section)
    }

    fn keep(&mut self, block: i64, kind: Kind, section: &Arc<Loaded>) {
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
    use crate::section::{Entries, SectionWriter};

    fn section(size: usize) -> Arc<Loaded> {
        let mut entries = Entries::default();
        entries.push(|packer| packer.plain(&vec![7; size]));
        let section = Section::read(&SectionWriter::new().unwrap().write([&entries]).unwrap()).unwrap();
        Arc::new(Loaded { section, run: "r".to_owned(), run_started_at: Moment(0) })
    }

    /// Law 8: what is kept is bounded in bytes and in number, and the least recently used goes first.
    #[test]
    fn the_oldest_goes_first() {
        let mut kept = Kept::default();
        let large = section(12 << 20);
        for block in 1..=2 {
            kept.keep(block, Kind::Traces, &large);
        }
        assert!(kept.find(1, Kind::Traces).is_some());
        kept.keep(3, Kind::Traces, &large);
        assert!(kept.find(2, Kind::Traces).is_none());
        assert!(kept.find(1, Kind::Traces).is_some());
        assert!(kept.find(1, Kind::Outputs).is_none());
        let small = section(1);
        for block in 10..200 {
            kept.keep(block, Kind::Outputs, &small);
        }
        assert_eq!(kept.sections.len(), MAX_SECTIONS);
        assert_eq!(kept.bytes, kept.sections.iter().map(|(_, _, kept)| kept.section.size()).sum::<usize>());
    }
}
