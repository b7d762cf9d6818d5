//! Encodes records as rows and section entries. Callers encode concurrently, before the single writing thread takes
//! over.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use karat_types::{CellRecord, JudgmentRecord, Key, Record, StepRecord};
use serde_json::Value;

use crate::StoreError;
use crate::block::call_log::{Reservation, pack_ended, pack_released, pack_reserved, pack_uses};
use crate::block::pack::Packer;
use crate::block::section::Entries;
use crate::format::{is_sound, pack_call, pack_cell, pack_judgment, pack_sample, pack_step, status_code};
use crate::sql::mutex::lock;

/// A row of `cells`.
#[derive(Debug)]
pub(crate) struct CellColumns {
    pub ordinal: i64,
    pub status: i64,
    /// Index of the output among the outputs of this append.
    pub output: Option<u64>,
    /// Range of its facts within the append's facts.
    pub facts: Range<usize>,
}

/// A row of `judgments`. The n-th is the n-th entry of this append's judgments.
#[derive(Debug)]
pub(crate) struct JudgmentColumns {
    pub ordinal: i64,
    pub scorer: u16,
    pub judge: u16,
    pub is_sound: bool,
    /// `true` if other runs may reuse this copy. A judgment that was itself reused lies where it was made.
    pub is_reusable: bool,
    pub key: Key,
}

/// The records of one append, ready to be written. Indexes count within the append.
#[derive(Debug, Default)]
pub(crate) struct Encoded {
    pub log: Packer,
    /// Concatenated facts of samples and cells.
    pub facts: Packer,
    /// Rows of samples, with the range of their facts.
    pub samples: Vec<(i64, Range<usize>)>,
    pub cells: Vec<CellColumns>,
    pub judged: Vec<JudgmentColumns>,
    pub steps: Vec<(Key, u64)>,
    pub judgments: Entries,
    pub outputs: Entries,
    pub traces: Entries,
    pub records: usize,
}

impl Encoded {
    /// Returns the number of records that other runs may reuse.
    pub fn count_reusable(&self) -> usize {
        self.steps.len() + self.judged.iter().filter(|judged| judged.is_reusable).count()
    }

    /// Returns the number of bytes that go into sections.
    pub fn size(&self) -> usize {
        self.judgments.size() + self.outputs.size() + self.traces.size()
    }

    /// Returns the facts of a sample or a cell.
    pub fn facts_at(&self, at: &Range<usize>) -> &[u8] {
        self.facts.as_bytes().get(at.clone()).unwrap_or_default()
    }

    fn clear(&mut self) {
        let Self { log, facts, samples, cells, judged, steps, judgments, outputs, traces, records } = self;
        [log, facts].into_iter().for_each(Packer::clear);
        [judgments, outputs, traces].into_iter().for_each(Entries::clear);
        samples.clear();
        cells.clear();
        judged.clear();
        steps.clear();
        *records = 0;
    }
}

/// Number of encoded appends that are kept for the next ones, and the largest size of each.
const KEPT: usize = 512;
const LARGEST_KEPT: usize = 8 << 10;

/// Encoded appends that are filled again after they were written. Callers allocate them and the writing thread would
/// free them; freeing memory of another thread is slow for both.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "the boxes are passed on as they are: boxing them again would allocate again")]
pub(crate) struct EncodedPool(Mutex<Vec<Box<Encoded>>>);

impl EncodedPool {
    /// Encodes records.
    pub fn encode(&self, records: &[Record]) -> Result<Box<Encoded>, StoreError> {
        let mut done = lock(&self.0).pop().unwrap_or_default();
        done.records = records.len();
        let mut encoder = Encoder { done: &mut done, output: None };
        records.iter().try_for_each(|record| encoder.add(record))?;
        Ok(done)
    }

    /// Clears written appends and keeps them for the next ones.
    #[expect(clippy::vec_box, reason = "as above")]
    pub fn recycle(&self, mut written: Vec<Box<Encoded>>) {
        written.retain(|encoded| encoded.size() + encoded.facts.as_bytes().len() <= LARGEST_KEPT);
        written.iter_mut().for_each(|encoded| encoded.clear());
        let mut used = lock(&self.0);
        written.truncate(KEPT.saturating_sub(used.len()));
        used.append(&mut written);
    }
}

struct Encoder<'a> {
    done: &'a mut Encoded,
    /// The latest output and its entry. A step and the cell after it share one.
    output: Option<(&'a Arc<Value>, u64)>,
}

impl<'a> Encoder<'a> {
    fn add(&mut self, record: &'a Record) -> Result<(), StoreError> {
        match record {
            Record::Reserved { calls, upper } => {
                pack_reserved(&mut self.done.log, Reservation { calls: *calls, upper: *upper })
            }
            Record::Released { calls, upper } => {
                pack_released(&mut self.done.log, Reservation { calls: *calls, upper: *upper })
            }
            Record::Sample(sample) => {
                let facts = self.facts(|packer| pack_sample(packer, sample));
                self.done.samples.push((to_sql_integer("a row", sample.row)?, facts));
            }
            Record::Call(call) => {
                pack_ended(&mut self.done.log, call);
                self.done.traces.push(|packer| pack_call(packer, call));
            }
            Record::Step(step) => self.step(step),
            Record::Cell(cell) => self.cell(cell)?,
            Record::Judgment(judgment) => self.judgment(judgment)?,
        }
        Ok(())
    }

    fn step(&mut self, step: &'a StepRecord) {
        let output = self.output(&step.output);
        let distance = self.done.outputs.len() - output;
        let entry = self.done.outputs.push(|packer| pack_step(packer, step, distance));
        self.done.steps.push((step.key, entry));
    }

    fn cell(&mut self, cell: &'a CellRecord) -> Result<(), StoreError> {
        let output = cell.output.as_ref().map(|output| self.output(output));
        pack_uses(&mut self.done.log, &cell.calls, cell.error.as_ref());
        let facts = self.facts(|packer| pack_cell(packer, cell));
        self.done.cells.push(CellColumns {
            ordinal: to_sql_integer("an ordinal", cell.ordinal)?,
            status: status_code(cell.status),
            output,
            facts,
        });
        Ok(())
    }

    fn judgment(&mut self, judgment: &JudgmentRecord) -> Result<(), StoreError> {
        pack_uses(&mut self.done.log, &judgment.calls, judgment.error.as_ref());
        self.done.judgments.push(|packer| pack_judgment(packer, judgment));
        self.done.judged.push(JudgmentColumns {
            ordinal: to_sql_integer("an ordinal", judgment.ordinal)?,
            scorer: judgment.scorer,
            judge: judgment.judge,
            is_sound: is_sound(judgment),
            is_reusable: is_sound(judgment) && !judgment.reused,
            key: judgment.key,
        });
        Ok(())
    }

    fn facts(&mut self, pack: impl FnOnce(&mut Packer)) -> Range<usize> {
        let start = self.done.facts.as_bytes().len();
        pack(&mut self.done.facts);
        start..self.done.facts.as_bytes().len()
    }

    fn output(&mut self, output: &'a Arc<Value>) -> u64 {
        if let Some((_, entry)) = self.output.filter(|(known, _)| Arc::ptr_eq(known, output)) {
            return entry;
        }
        let entry = self.done.outputs.push(|packer| packer.plain_json(output));
        self.output = Some((output, entry));
        entry
    }
}

/// Converts a number to SQLite's signed integers.
pub(crate) fn to_sql_integer(what: &str, number: u64) -> Result<i64, StoreError> {
    i64::try_from(number).map_err(|_| StoreError::OutOfRange(format!("{what} of {number}: it is above 2^63")))
}
