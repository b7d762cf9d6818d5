//! The walk over the cells of a plan, by several threads.

use std::sync::{Mutex, PoisonError};
use std::thread;

use karat_suite::{DatasetError, Plan, RepresentativeRows};
use karat_types::{Sample, output_key};

use super::Estimate;
use super::ground::{Ground, Known, Place};
use super::sums::{AfreshSums, Needed, Sums};
use crate::EngineError;
use crate::remaining::{Before, Stage};
use crate::row::Row;

/// Rows that a thread takes at a time.
const ROWS_AT_ONCE: usize = 64;

/// The way of one thread over some of the rows.
pub(super) struct Walk<'a> {
    ground: &'a Ground<'a>,
    now: Sums<'a>,
    afresh: Option<AfreshSums<'a>>,
    /// Cells and judgments.
    counts: Estimate,
}

/// The rows that nobody has taken yet.
pub(super) struct Rows<'a> {
    left: Mutex<Box<dyn Iterator<Item = Result<Sample, DatasetError>> + Send + 'a>>,
    /// How many there were.
    count: u64,
}

impl<'a> Rows<'a> {
    /// All rows of a plan.
    pub fn of(plan: &Plan) -> Self {
        Self { left: Mutex::new(plan.rows()), count: plan.header.dataset.rows }
    }

    /// Those that stand for all.
    pub fn standing(spread: &'a RepresentativeRows) -> Self {
        Self { left: Mutex::new(Box::new(spread.samples.iter().cloned().map(Ok))), count: spread.samples.len() as u64 }
    }

    /// Some of them; none when there are no more.
    fn take(&self) -> Vec<Result<Sample, DatasetError>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).by_ref().take(ROWS_AT_ONCE).collect()
    }
}

/// What a cell has left to make.
struct Rest {
    needed: Vec<Needed>,
    /// Whether that is all of it.
    is_whole: bool,
}

impl Ground<'_> {
    /// One walk over the rows, by as many threads as help.
    pub fn walked(&self, rows: &Rows<'_>) -> Result<Walk<'_>, EngineError> {
        let cores = thread::available_parallelism().map_or(1, usize::from) as u64;
        let threads = (rows.count / ROWS_AT_ONCE as u64).clamp(1, cores);
        let walk = || Walk::on(self).over(rows);
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

impl<'a> Walk<'a> {
    fn on(ground: &'a Ground<'a>) -> Self {
        let systems = ground.plan.header.systems.len();
        Self {
            ground,
            now: Sums::new(&ground.planned),
            afresh: ground.afresh.is_none().then(|| AfreshSums::new(&ground.planned_afresh, systems)),
            counts: Estimate::default(),
        }
    }

    /// Takes rows until there are none.
    fn over(mut self, rows: &Rows<'_>) -> Result<Self, EngineError> {
        loop {
            let taken = rows.take();
            if taken.is_empty() {
                return Ok(self);
            }
            taken.into_iter().try_for_each(|row| self.row(row))?;
        }
    }

    /// Its rows stand for all: what the whole plan needs is so many times what they need.
    pub fn standing_for(mut self, all: u64, some: u64) -> Self {
        self.afresh.iter_mut().for_each(|sums| sums.stand_for(all, some));
        self
    }

    fn row(&mut self, row: Result<Sample, DatasetError>) -> Result<(), EngineError> {
        let per_row = self.ground.plan.header.cells_per_row();
        let row = match row {
            Ok(sample) => Row::new(sample, &self.ground.systems),
            Err(error) if error.row.is_some() => {
                self.counts.failing += per_row;
                return Ok(());
            }
            Err(error) => return Err(EngineError::Dataset(error)),
        };
        let first = row.sample.row * per_row;
        (first..first + per_row).try_for_each(|ordinal| self.cell(&row, ordinal))
    }

    /// Adds what another walk has found.
    fn add(&mut self, other: Self) {
        self.now.join(other.now);
        if let (Some(sums), Some(more)) = (&mut self.afresh, other.afresh) {
            sums.join(more);
        }
        self.counts.add_counts(&other.counts);
    }

    fn cell(&mut self, row: &Row, ordinal: u64) -> Result<(), EngineError> {
        let systems = &self.ground.systems;
        let before = self.ground.resolver.before(ordinal);
        self.counts.done += u64::from(before.is_none());
        if before.is_none() && self.afresh.is_none() {
            return Ok(());
        }
        let (_, at, trial) = self.ground.plan.header.place(ordinal);
        let system = &systems.systems[at];
        let start = match self.ground.start(row, system, trial)? {
            Ok(start) => start,
            Err(why) => {
                before.iter().for_each(|_| self.counts.count_idle(&why));
                return Ok(());
            }
        };
        let keys = self.ground.keys(row, system, trial, &start);
        let place = Place { row, at, trial, system, keys: &keys };
        let rest = match &before {
            Some(before) => self.rest(&place, &start, before, ordinal)?,
            None => None,
        };
        let whole = match &rest {
            _ if self.afresh.is_none() => None,
            Some(rest) if rest.is_whole => None,
            _ => Some(self.ground.all(&place, start)),
        };
        if let (Some(sums), Some(needed)) = (&mut self.afresh, whole.as_ref().or(rest.as_ref().map(|it| &it.needed))) {
            sums.add(row.sample.row, at, needed);
        }
        if let Some(Rest { mut needed, .. }) = rest {
            needed.iter_mut().for_each(Needed::expect_what_is_likely);
            self.now.add(row.sample.row, &needed);
        }
        Ok(())
    }

    /// Counts what is left of a cell. `None` when a step skips it or fails before any call.
    fn rest(
        &mut self,
        place: &Place<'_>,
        start: &Known,
        before: &Before,
        ordinal: u64,
    ) -> Result<Option<Rest>, EngineError> {
        let own = match before.stage {
            Stage::Made => self.ground.resolver.own_cell(place.row, place.system, ordinal)?,
            Stage::New | Stage::Recorded => None,
        };
        let (made, known) = match own.and_then(|cell| cell.output) {
            Some(output) => (place.keys.len(), Known::Output(output)),
            None => self.ground.made(place.keys, start)?,
        };
        let (mut needed, known) = match self.ground.steps(place, made, known) {
            Ok(steps) => steps,
            Err(why) => {
                self.counts.count_idle(&why);
                return Ok(None);
            }
        };
        let counted = if made < place.keys.len() { &mut self.counts.fresh } else { &mut self.counts.reused };
        *counted += 1;
        let all_are_made = self.judgments(place, &known, &before.judgments, &mut needed)?;
        Ok(Some(Rest { needed, is_whole: made == 0 && all_are_made }))
    }

    /// Adds the calls of the judgments that are not there; whether that is all of them.
    fn judgments(
        &mut self,
        place: &Place<'_>,
        known: &Known,
        present: &[(u16, u16)],
        needed: &mut Vec<Needed>,
    ) -> Result<bool, EngineError> {
        let row = place.row;
        let mut all_are_made = true;
        for judge in self.ground.systems.judges.iter().filter(|judge| judge.is_asked(place.at)) {
            if present.contains(&(judge.scorer, judge.judge)) {
                all_are_made = false;
                continue;
            }
            let other = match judge.partner(place.at) {
                Some(partner) => self.ground.resolver.existing_output(row, partner, place.trial)?,
                None => None,
            };
            let is_known = judge.partners.is_none() || other.is_some();
            let resolver = &self.ground.resolver;
            let keys = |output, other| resolver.judgment_keys(row, judge, output, other);
            let (keys, exists) = match (known, place.keys.last()) {
                (Known::Output(output), _) if is_known => {
                    let keys = keys(output_key(output), other.as_deref());
                    (Some(keys), resolver.has_judgment(keys)?)
                }
                // Cells that share their last step share its output, whatever that will be.
                (_, Some(last)) if judge.partners.is_none() => (Some(keys(*last, None)), false),
                _ => (None, false),
            };
            if exists {
                all_are_made = false;
                self.counts.judgments_reused += 1;
                continue;
            }
            self.counts.judgments_fresh += 1;
            needed.push(self.ground.judgment(row, known, judge, keys.map(|keys| keys.own)));
        }
        Ok(all_are_made)
    }

    /// What it has found so far.
    pub fn estimate(&self) -> Estimate {
        let header = &self.ground.plan.header;
        let known = || self.ground.afresh.clone().unwrap_or_default();
        let afresh = self.afresh.as_ref().map_or_else(known, |sums| sums.total(header));
        Estimate { cells: header.cells(), models: self.now.models(header), afresh, ..self.counts.clone() }
    }
}
