//! Records to rows and section entries, before they reach the writer: callers encode side by side, one thread writes.

use std::sync::Arc;

use karat_types::{CellRecord, JudgmentRecord, Key, Record, StepRecord};
use serde_json::Value;

use crate::StoreError;
use crate::calllog::{Reservation, pack_ended, pack_released, pack_reserved, pack_used};
use crate::format::{is_sound, pack_call, pack_cell, pack_judgment, pack_sample, pack_step, status_code};
use crate::pack::Packer;
use crate::section::Entries;

/// A row of `cells`.
#[derive(Debug)]
pub(crate) struct CellColumns {
    pub ordinal: i64,
    pub status: i64,
    /// Index of the output among this append's outputs.
    pub output: Option<u64>,
    pub facts: Vec<u8>,
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
    pub samples: Vec<(i64, Vec<u8>)>,
    pub cells: Vec<CellColumns>,
    pub judged: Vec<JudgmentColumns>,
    pub steps: Vec<(Key, u64)>,
    pub judgments: Entries,
    pub outputs: Entries,
    pub traces: Entries,
    pub records: usize,
    /// How many milliseconds its call took; the last one's of several.
    pub answered_in: Option<f64>,
}

impl Encoded {
    pub fn new(records: &[Record]) -> Result<Self, StoreError> {
        let mut encoder = Encoder { done: Self { records: records.len(), ..Self::default() }, ..Encoder::default() };
        records.iter().try_for_each(|record| encoder.add(record))?;
        Ok(encoder.done)
    }

    /// How many of the records other runs may take over.
    pub fn reusable(&self) -> usize {
        self.steps.len() + self.judged.iter().filter(|judged| judged.is_reusable).count()
    }

    /// Bytes that go into sections.
    pub fn size(&self) -> usize {
        self.judgments.size() + self.outputs.size() + self.traces.size()
    }
}

#[derive(Default)]
struct Encoder<'a> {
    done: Encoded,
    /// Outputs of this append, by which a step and its cell share one entry.
    outputs: Vec<(&'a Arc<Value>, u64)>,
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
            Record::Sample(sample) => self
                .done
                .samples
                .push((sql_number("a row", sample.row)?, Packer::pack(|packer| pack_sample(packer, sample)))),
            Record::Call(call) => {
                pack_ended(&mut self.done.log, call);
                self.done.answered_in = Some(call.latency_ms);
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
        self.done.cells.push(CellColumns {
            ordinal: sql_number("an ordinal", cell.ordinal)?,
            status: status_code(cell.status),
            output,
            facts: Packer::pack(|packer| pack_cell(packer, cell)),
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

    fn output(&mut self, output: &'a Arc<Value>) -> u64 {
        if let Some((_, entry)) = self.outputs.iter().rev().find(|(known, _)| Arc::ptr_eq(known, output)) {
            return *entry;
        }
        let entry = self.done.outputs.push(|packer| packer.plain_json(output));
        self.outputs.push((output, entry));
        entry
    }
}

/// SQLite's integers have a sign.
pub(crate) fn sql_number(what: &str, number: u64) -> Result<i64, StoreError> {
    i64::try_from(number).map_err(|_| StoreError::OutOfRange(format!("{what} of {number}: it is above 2^63")))
}
