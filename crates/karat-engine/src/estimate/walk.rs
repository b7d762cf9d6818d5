//! The walk over the cells of a plan, by several threads.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};
use std::thread;

use karat_suite::{DatasetError, Plan, RepresentativeRows};
use karat_types::{Sample, output_key};

use super::Estimate;
use super::context::{EstimateContext, KnownOutput, PlannedCell};
use super::needed::is_expected;
use super::sums::{CallTotals, NeededCalls, UncachedTotals};
use crate::EngineError;
use crate::reuse::remaining::{CellStage, RecordedParts};
use crate::reuse::resolver::skip_damaged;
use crate::rows::row::Row;

/// Rows that a thread takes at a time.
const ROWS_AT_ONCE: usize = 64;

/// The walk of one thread over some of the rows.
pub(super) struct EstimateWalk<'a> {
    context: &'a EstimateContext<'a>,
    now: CallTotals<'a>,
    uncached: Option<UncachedTotals<'a>>,
    /// Cells and judgments.
    counts: Estimate,
}

/// The rows that no thread has taken yet.
pub(super) struct RowQueue<'a> {
    left: Mutex<Box<dyn Iterator<Item = Result<Sample, DatasetError>> + Send + 'a>>,
    /// The number of rows at the start.
    count: u64,
}

impl<'a> RowQueue<'a> {
    /// All rows of a plan.
    pub fn of(plan: &Plan) -> Self {
        Self { left: Mutex::new(plan.rows()), count: plan.row_count() }
    }

    /// A sample of the rows.
    pub fn of_sample(sample: &'a RepresentativeRows) -> Self {
        Self { left: Mutex::new(Box::new(sample.samples.iter().cloned().map(Ok))), count: sample.samples.len() as u64 }
    }

    /// The next rows; empty at the end.
    fn take_batch(&self) -> Vec<Result<Sample, DatasetError>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).by_ref().take(ROWS_AT_ONCE).collect()
    }
}

/// The calls that a cell still needs.
struct RemainingCalls {
    needed: Vec<NeededCalls>,
    /// True if nothing of the cell exists.
    is_whole: bool,
}

impl EstimateContext<'_> {
    /// Walks over the rows with as many threads as there are cores.
    pub fn walk_rows(&self, rows: &RowQueue<'_>) -> Result<EstimateWalk<'_>, EngineError> {
        let cores = thread::available_parallelism().map_or(1, usize::from) as u64;
        let threads = (rows.count / ROWS_AT_ONCE as u64).clamp(1, cores);
        let walk = || EstimateWalk::on(self).walk(rows);
        thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(walk)).collect();
            let mut walked = walk()?;
            for other in others {
                let died = |_| Err(EngineError::Bug("a thread that estimates died".to_owned()));
                walked.add(other.join().unwrap_or_else(died)?);
            }
            Ok(walked)
        })
    }
}

impl<'a> EstimateWalk<'a> {
    fn on(context: &'a EstimateContext<'a>) -> Self {
        let systems = context.plan.header.systems.len();
        Self {
            context,
            now: CallTotals::new(&context.counted),
            uncached: context.uncached.is_none().then(|| UncachedTotals::new(&context.counted_uncached, systems)),
            counts: Estimate::default(),
        }
    }

    /// Takes rows until none is left.
    fn walk(mut self, rows: &RowQueue<'_>) -> Result<Self, EngineError> {
        loop {
            let taken = rows.take_batch();
            if taken.is_empty() {
                return Ok(self);
            }
            taken.into_iter().try_for_each(|row| self.row(row))?;
        }
    }

    /// Scales the cost of the whole plan from a sample of the rows.
    pub fn scale_to(mut self, all: u64, some: u64) -> Self {
        self.uncached.iter_mut().for_each(|sums| sums.scale_to(all, some));
        self
    }

    fn row(&mut self, row: Result<Sample, DatasetError>) -> Result<(), EngineError> {
        let per_row = self.context.plan.header.cells_per_row();
        let row = match row {
            Ok(sample) => Row::new(sample, &self.context.systems),
            Err(error) if error.row.is_some() => {
                self.counts.failing += per_row;
                return Ok(());
            }
            Err(error) => return Err(EngineError::Dataset(error)),
        };
        let first = row.sample.row * per_row;
        (first..first + per_row).try_for_each(|ordinal| self.cell(&row, ordinal))
    }

    /// Adds the result of another walk.
    fn add(&mut self, other: Self) {
        self.now.join(other.now);
        if let (Some(sums), Some(more)) = (&mut self.uncached, other.uncached) {
            sums.join(more);
        }
        self.counts.add_counts(&other.counts);
    }

    fn cell(&mut self, row: &Row, ordinal: u64) -> Result<(), EngineError> {
        let systems = &self.context.systems;
        let before = self.context.resolver.recorded_parts(ordinal);
        self.counts.done += u64::from(before.is_none());
        if before.is_none() && self.uncached.is_none() {
            return Ok(());
        }
        let (_, at, trial) = self.context.plan.header.place(ordinal);
        let system = &systems.systems[at];
        let start = match self.context.start(row, system, trial)? {
            Ok(start) => start,
            Err(why) => {
                before.iter().for_each(|_| self.counts.count_idle(&why));
                return Ok(());
            }
        };
        let keys = self.context.keys(row, system, trial, &start);
        let place = PlannedCell { row, at, trial, system, keys: &keys };
        let rest = match &before {
            Some(before) => self.remaining_calls(&place, &start, before, ordinal)?,
            None => None,
        };
        let whole = match &rest {
            _ if self.uncached.is_none() => None,
            Some(rest) if rest.is_whole => None,
            _ => Some(self.context.all_calls(&place, start)),
        };
        if let (Some(sums), Some(needed)) = (&mut self.uncached, whole.as_ref().or(rest.as_ref().map(|it| &it.needed)))
        {
            sums.add(row.sample.row, at, needed);
        }
        if let Some(RemainingCalls { mut needed, .. }) = rest {
            needed.iter_mut().for_each(NeededCalls::apply_history);
            self.now.add(row.sample.row, &needed);
        }
        Ok(())
    }

    /// Counts the calls that a cell still needs. `None` if a step is skipped or fails before any call.
    fn remaining_calls(
        &mut self,
        place: &PlannedCell<'_>,
        start: &KnownOutput,
        before: &RecordedParts,
        ordinal: u64,
    ) -> Result<Option<RemainingCalls>, EngineError> {
        let own = match before.stage {
            CellStage::Made => self.context.resolver.own_cell(place.row, place.system, ordinal)?,
            CellStage::New | CellStage::Recorded => None,
        };
        let (made, known) = match own.and_then(|cell| cell.output) {
            Some(output) => (place.keys.len(), KnownOutput::Output(output)),
            None => self.context.existing_steps(place.keys, start)?,
        };
        let (mut needed, known) = match self.context.step_calls(place, made, known) {
            Ok(steps) => steps,
            Err(why) => {
                self.counts.count_idle(&why);
                return Ok(None);
            }
        };
        let counted = if made < place.keys.len() { &mut self.counts.fresh } else { &mut self.counts.reused };
        *counted += 1;
        let all_are_made = self.judgments(place, &known, &before.judgments, &mut needed)?;
        if before.stage != CellStage::Recorded {
            let unread = Cell::new(None);
            let has_vector = |key| match skip_damaged(self.context.resolver.reuse.has_vector(key), false) {
                Ok(has) => has,
                Err(error) => {
                    unread.set(Some(error));
                    false
                }
            };
            needed.extend(self.context.needed_texts(place.row, &known, has_vector));
            if let Some(error) = unread.take() {
                return Err(error.into());
            }
        }
        Ok(Some(RemainingCalls { needed, is_whole: made == 0 && all_are_made }))
    }

    /// Adds the calls of missing judgments. Returns whether all of them are missing.
    fn judgments(
        &mut self,
        place: &PlannedCell<'_>,
        known: &KnownOutput,
        present: &[(u16, u16)],
        needed: &mut Vec<NeededCalls>,
    ) -> Result<bool, EngineError> {
        let row = place.row;
        let mut all_are_made = true;
        for judge in self.context.systems.judges.iter().filter(|judge| judge.is_asked(row.sample.row, place.at)) {
            if present.contains(&(judge.scorer, judge.judge)) {
                all_are_made = false;
                continue;
            }
            let seed = self.context.plan.header.run.seed;
            if is_expected(place, judge) == Some(false) || !judge.machine.may_ask(&row.shown, seed) {
                continue;
            }
            let resolver = &self.context.resolver;
            let others = resolver.existing_others(row, judge, (place.at, place.trial))?;
            let is_known = others.iter().all(Option::is_some);
            let keys = |output| resolver.judgment_keys(row, judge, output, &others);
            let (keys, exists) = match (known, place.keys.last()) {
                (KnownOutput::Output(output), _) if is_known => {
                    let keys = keys(output_key(output));
                    (Some(keys), resolver.has_judgment(keys)?)
                }
                // Cells that share their last step share its output, whatever it will be.
                (_, Some(last)) if !judge.is_of_pairs() => (Some(keys(*last)), false),
                _ => (None, false),
            };
            if exists {
                all_are_made = false;
                self.counts.judgments_reused += 1;
                continue;
            }
            self.counts.judgments_fresh += 1;
            needed.push(self.context.judgment_calls(place, known, judge, keys.map(|keys| keys.own)));
        }
        Ok(all_are_made)
    }

    /// The estimate so far.
    pub fn estimate(&self) -> Estimate {
        let header = &self.context.plan.header;
        let known = || self.context.uncached.clone().unwrap_or_default();
        let uncached = self.uncached.as_ref().map_or_else(known, |sums| sums.total(header));
        Estimate { cells: self.context.plan.cells(), models: self.now.models(header), uncached, ..self.counts.clone() }
    }
}
