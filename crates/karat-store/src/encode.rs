//! Records to rows and section entries, before they reach the writer: callers encode side by side, one thread writes.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use karat_types::{CellRecord, JudgmentRecord, Key, Record, StepRecord};
use serde_json::Value;

use crate::StoreError;
use crate::calllog::{Reservation, pack_ended, pack_released, pack_reserved, pack_used};
use crate::format::{is_sound, pack_call, pack_cell, pack_judgment, pack_sample, pack_step, status_code};
use crate::lock::lock;
use crate::pack::Packer;
use crate::section::Entries;

/// A row of `cells`.
#[derive(Debug)]
pub(crate) struct CellColumns {
    pub ordinal: i64,
    pub status: i64,
    /// Index of the output among this append's outputs.
    pub output: Option<u64>,
    /// Where they lie in the append's facts.
    pub facts: Range<usize>,
}

/// A row of `judgments`; the n-th is the n-th entry of this append's judgments.
#[derive(Debug)]
pub(crate) struct JudgmentColumns {
    pub ordinal: i64,
    pub scorer: u16,
    pub judge: u16,
    pub is_sound: bool,
    /// Whether other runs may take it over from here: one that was itself taken over lies where it was made.
    pub is_reusable: bool,
    pub key: Key,
}

/// The records of one append, ready to be written. Indexes count within the append.
#[derive(Debug, Default)]
pub(crate) struct Encoded {
    pub log: Packer,
    /// Facts of samples and cells, one behind the other.
    pub facts: Packer,
    /// Rows of samples, and where their facts lie.
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
    /// How many of the records other runs may take over.
    pub fn reusable(&self) -> usize {
        self.steps.len() + self.judged.iter().filter(|judged| judged.is_reusable).count()
    }

    /// Bytes that go into sections.
    pub fn size(&self) -> usize {
        self.judgments.size() + self.outputs.size() + self.traces.size()
    }

    /// The facts of a sample or a cell.
    pub fn facts_at(&self, at: &Range<usize>) -> &[u8] {
        self.facts.packed().get(at.clone()).unwrap_or_default()
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

/// So many are kept to be filled again, and none that is larger than this.
const KEPT: usize = 512;
const LARGEST_KEPT: usize = 8 << 10;

/// Written appends, whose memory is used again: callers make them and the writer's thread would free them, and what one
/// thread frees of another's memory is dear to both.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "they are handed on as they are: boxed anew, each would be allocated anew")]
pub(crate) struct Used(Mutex<Vec<Box<Encoded>>>);

impl Used {
    /// Encodes records.
    pub fn encoded(&self, records: &[Record]) -> Result<Box<Encoded>, StoreError> {
        let mut done = lock(&self.0).pop().unwrap_or_default();
        done.records = records.len();
        let mut encoder = Encoder { done: &mut done, output: None };
        records.iter().try_for_each(|record| encoder.add(record))?;
        Ok(done)
    }

    /// Takes back what is written.
    #[expect(clippy::vec_box, reason = "as above")]
    pub fn take_back(&self, mut written: Vec<Box<Encoded>>) {
        written.retain(|encoded| encoded.size() + encoded.facts.packed().len() <= LARGEST_KEPT);
        written.iter_mut().for_each(|encoded| encoded.clear());
        let mut used = lock(&self.0);
        written.truncate(KEPT.saturating_sub(used.len()));
        used.append(&mut written);
    }
}

struct Encoder<'a> {
    done: &'a mut Encoded,
    /// The latest output and its entry: a step and its cell, which follows it, share one.
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
                self.done.samples.push((sql_number("a row", sample.row)?, facts));
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
        pack_used(&mut self.done.log, &cell.calls);
        let facts = self.facts(|packer| pack_cell(packer, cell));
        self.done.cells.push(CellColumns {
            ordinal: sql_number("an ordinal", cell.ordinal)?,
            status: status_code(cell.status),
            output,
            facts,
        });
        Ok(())
    }

    fn judgment(&mut self, judgment: &JudgmentRecord) -> Result<(), StoreError> {
        pack_used(&mut self.done.log, &judgment.calls);
        self.done.judgments.push(|packer| pack_judgment(packer, judgment));
        self.done.judged.push(JudgmentColumns {
            ordinal: sql_number("an ordinal", judgment.ordinal)?,
            scorer: judgment.scorer,
            judge: judgment.judge,
            is_sound: is_sound(judgment),
            is_reusable: is_sound(judgment) && !judgment.reused,
            key: judgment.key,
        });
        Ok(())
    }

    fn facts(&mut self, pack: impl FnOnce(&mut Packer)) -> Range<usize> {
        let start = self.done.facts.packed().len();
        pack(&mut self.done.facts);
        start..self.done.facts.packed().len()
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

/// SQLite's integers have a sign.
pub(crate) fn sql_number(what: &str, number: u64) -> Result<i64, StoreError> {
    i64::try_from(number).map_err(|_| StoreError::OutOfRange(format!("{what} of {number}: it is above 2^63")))
}
