//! The walk over the cells of a plan, by several threads.

use std::sync::{Mutex, PoisonError};
use std::thread;

use karat_suite::{DatasetError, Plan};
use karat_types::{Sample, output_key};
use tokio::sync::mpsc::Receiver;

use super::Estimate;
use super::ground::{Ground, Known, Place};
use super::sums::{AfreshSums, Needed, Sums};
use crate::EngineError;
use crate::identity::subject_key;
use crate::remaining::Before;
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
    /// Rows that were taken from those of the plan.
    pub taken: u64,
}

/// The rows that nobody has taken yet.
pub(super) struct Rows(Mutex<Box<dyn Iterator<Item = Result<Sample, DatasetError>> + Send>>);

impl Rows {
    /// All rows of a plan.
    pub fn of(plan: &Plan) -> Self {
        Self(Mutex::new(plan.rows()))
    }

    /// Some of them; none when there are no more.
    fn take(&self) -> Vec<Result<Sample, DatasetError>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).by_ref().take(ROWS_AT_ONCE).collect()
    }
}

/// How cells are seen.
#[derive(Clone, Copy)]
enum View {
    /// As they are: some of them, or parts of them, are there.
    Left,
    /// As if nothing of them were there.
    Unmade,
}

/// What a cell has left to make.
struct Rest {
    needed: Vec<Needed>,
    /// Whether that is all of it.
    is_whole: bool,
}

impl Ground<'_> {
    /// One walk over the rows, or about the first so many of them, by as many threads as help.
    pub fn walked(&self, rows: &Rows, first: Option<u64>) -> Result<Walk<'_>, EngineError> {
        let count = first.unwrap_or(self.plan.header.dataset.rows);
        let cores = thread::available_parallelism().map_or(1, usize::from) as u64;
        let threads = (count / ROWS_AT_ONCE as u64).clamp(1, cores);
        let share = first.map(|first| first.div_ceil(threads));
        let walk = || Walk::on(self).over(rows, share);
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
            taken: 0,
        }
    }

    /// Takes rows until there are none, or so many are taken.
    fn over(mut self, rows: &Rows, most: Option<u64>) -> Result<Self, EngineError> {
        while most.is_none_or(|most| self.taken < most) {
            let taken = rows.take();
            if taken.is_empty() {
                break;
            }
            self.taken += taken.len() as u64;
            taken.into_iter().try_for_each(|row| self.row(row, View::Left))?;
        }
        Ok(self)
    }

    /// Goes on over rows that stand for all others, as if nothing of them were there. `None` when `stopped` says so, or when
    /// there are none.
    pub fn over_unmade(
        mut self,
        mut blocks: Receiver<Vec<Sample>>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Option<Self>, EngineError> {
        let Some(first) = self.afresh.take() else { return Ok(Some(self)) };
        let header = &self.ground.plan.header;
        let others = header.dataset.rows.saturating_sub(self.taken);
        self.afresh = Some(AfreshSums::new(&self.ground.planned_afresh, header.systems.len()));
        let mut walked = 0;
        while let Some(block) = blocks.blocking_recv() {
            if stopped() {
                return Ok(None);
            }
            walked += block.len() as u64;
            block.into_iter().try_for_each(|sample| self.row(Ok(sample), View::Unmade))?;
        }
        if stopped() || (walked == 0 && others > 0) {
            return Ok(None);
        }
        if let Some(sums) = &mut self.afresh {
            sums.stand_for(others, walked.max(1));
            sums.join(first);
        }
        Ok(Some(self))
    }

    fn row(&mut self, row: Result<Sample, DatasetError>, view: View) -> Result<(), EngineError> {
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
        (first..first + per_row).try_for_each(|ordinal| self.cell(&row, ordinal, view))
    }

    /// What it walks on.
    pub fn ground(&self) -> &'a Ground<'a> {
        self.ground
    }

    /// Adds what another walk has found.
    pub fn add(&mut self, other: Self) {
        self.now.join(other.now);
        if let (Some(sums), Some(more)) = (&mut self.afresh, other.afresh) {
            sums.join(more);
        }
        self.counts.add_counts(&other.counts);
        self.taken += other.taken;
    }

    fn cell(&mut self, row: &Row, ordinal: u64, view: View) -> Result<(), EngineError> {
        let systems = &self.ground.systems;
        let before = match (view, &self.ground.remaining) {
            (View::Unmade, _) => None,
            (View::Left, Some(remaining)) => remaining.before(&self.ground.plan.header, systems, ordinal),
            (View::Left, None) => Some(Before::default()),
        };
        self.counts.done += u64::from(before.is_none());
        if before.is_none() && self.afresh.is_none() {
            return Ok(());
        }
        let (_, at, trial) = self.ground.plan.header.place(ordinal);
        let system = &systems.systems[at];
        let start = match self.ground.start(row, system, trial)? {
            Ok(start) => start,
            Err(idle) => {
                before.iter().for_each(|_| self.counts.idle(&idle));
                return Ok(());
            }
        };
        let keys = self.ground.keys(row, system, trial, &start);
        let place = Place { row, at, trial, system, keys: &keys };
        let rest = match &before {
            Some(before) => self.rest(&place, &start, before)?,
            None => None,
        };
        let whole = match &rest {
            _ if self.afresh.is_none() => None,
            Some(rest) if rest.is_whole => None,
            _ => Some(self.ground.all(&place, start)),
        };
        if let (Some(sums), Some(needed)) = (&mut self.afresh, whole.as_ref().or(rest.as_ref().map(|it| &it.needed))) {
            sums.add(at, needed);
        }
        if let Some(Rest { mut needed, .. }) = rest {
            needed.iter_mut().for_each(Needed::expect_what_is_likely);
            self.now.add(&needed);
        }
        Ok(())
    }

    /// Counts what is left of a cell. `None` when a step skips it or fails before any call.
    fn rest(&mut self, place: &Place<'_>, start: &Known, before: &Before) -> Result<Option<Rest>, EngineError> {
        let (made, known) = self.ground.made(place.keys, start)?;
        let (mut needed, known) = match self.ground.steps(place, made, known) {
            Ok(steps) => steps,
            Err(idle) => {
                self.counts.idle(&idle);
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
                Some(partner) => self.ground.known_output(row, partner, place.trial)?,
                None => None,
            };
            let is_known = judge.partners.is_none() || other.is_some();
            let subject = match (known, place.keys.last()) {
                (Known::Output(output), _) if is_known => Some(subject_key(output_key(output), other.as_deref())),
                // Cells that share their last step share its output, whatever that will be.
                (_, Some(last)) if judge.partners.is_none() => Some(*last),
                _ => None,
            };
            let columns = row.digests.get(&self.ground.systems.reads, judge.reads);
            let keys = subject.map(|subject| judge.keys(subject, columns));
            if let Some(keys) = keys
                && keys.is_stored(&self.ground.stock)?
            {
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
