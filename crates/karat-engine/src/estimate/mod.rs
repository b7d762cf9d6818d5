//! What a run would do: cells, calls, tokens and money, found by walking the plan without making a call.
//!
//! A step whose input is known is polled once, so its calls and prompts are exact. What depends on outputs that do not
//! exist yet is bounded: one call a later step, inputs as long as the replies before may be. Calls take what
//! they took in an earlier run of the suite ([`Lengths`]); where there is none, replies are between a tenth and the whole of
//! `max_tokens`.

mod calibration;
mod ground;
mod needed;
mod sums;
mod walk;

use std::sync::Arc;

use karat_store::{Store, StoredRun};
use karat_suite::{Files, Plan};
use karat_types::{Moment, Money};

use ground::Ground;
use sums::Planned;
use walk::Rows;

use crate::EngineError;
use crate::files::Library;
use crate::history::Earlier;
use crate::lengths::Lengths;
use crate::made::Why;
use crate::remaining::Remaining;
use crate::resolver::Resolver;
use crate::systems::Systems;

/// What a run would do.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Estimate {
    /// Cells of the plan: those that follow, together.
    pub cells: u64,
    /// Cells that earlier parts of the run have finished.
    pub done: u64,
    /// Cells whose output has to be made.
    pub fresh: u64,
    /// Cells whose output exists.
    pub reused: u64,
    /// Cells that a condition leaves out.
    pub skipped: u64,
    /// Cells that fail before any call: their rows cannot be read, their templates not be rendered.
    pub failing: u64,
    /// Judgments that have to be made.
    pub judgments_fresh: u64,
    /// Judgments that exist.
    pub judgments_reused: u64,
    /// By model that may be called, the matrix's first, then judges. One that shares all its calls with others has none.
    pub models: Vec<ModelEstimate>,
    /// What the plan would cost if nothing of it were there.
    pub afresh: Afresh,
}

/// What a plan is expected to cost if nothing of it is there, on conservative assumptions. The same for every run of
/// the plan.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Afresh {
    /// The whole plan, where prices are known: at least and at most.
    pub total: (Money, Money),
    /// A cell on average, by system; `None` where a price is unknown, or is known of answers alone, which say it.
    pub per_cell: Vec<Option<Money>>,
    /// Whether some rows stand for others.
    pub sampled: bool,
}

/// What a run would ask of one model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelEstimate {
    /// Registry id; `http` or `command` for all steps that ask services or programs.
    pub id: String,
    /// Whether it judges.
    pub judge: bool,
    /// Whether it stands for services or programs.
    pub outside: bool,
    /// Calls, at least and at most (re-asks included, retries apart).
    pub calls: (u64, u64),
    /// Input tokens, at least and at most.
    pub input_tokens: (u64, u64),
    /// Output tokens, at least and at most.
    pub output_tokens: (u64, u64),
    /// Cost, at least and at most; `None` when the price is unknown.
    pub cost: Option<(Money, Money)>,
    /// Whether the answers of a step say what they cost, and no earlier run has heard it: then `cost` is without it, and what
    /// it was is known afterwards.
    pub metered: bool,
    /// What it costs even if prompts have half the estimated tokens and replies none.
    pub floor: Money,
}

impl ModelEstimate {
    fn times(self, times: u64) -> Self {
        let amount = |amount: Money| Money(amount.0 * i128::from(times));
        let count = |(least, most): (u64, u64)| (least * times, most * times);
        Self {
            calls: count(self.calls),
            input_tokens: count(self.input_tokens),
            output_tokens: count(self.output_tokens),
            cost: self.cost.map(|(least, most)| (amount(least), amount(most))),
            floor: amount(self.floor),
            ..self
        }
    }
}

impl Estimate {
    /// Adds the counts of other cells of the plan.
    fn add_counts(&mut self, other: &Self) {
        self.done += other.done;
        self.fresh += other.fresh;
        self.reused += other.reused;
        self.skipped += other.skipped;
        self.failing += other.failing;
        self.judgments_fresh += other.judgments_fresh;
        self.judgments_reused += other.judgments_reused;
    }

    /// Counts a cell that makes no call.
    fn count_idle(&mut self, why: &Why) {
        let count = if let Why::Skipped(_) = why { &mut self.skipped } else { &mut self.failing };
        *count += 1;
    }

    /// What so many times as many rows of the same plan would ask of its models; nothing else is in it.
    pub fn times(self, times: u64) -> Self {
        let models = self.models.into_iter().map(|model| model.times(times));
        Self { models: models.collect(), ..Self::default() }
    }

    /// Calls of all models, at least and at most.
    pub fn calls(&self) -> (u64, u64) {
        self.models.iter().fold((0, 0), |sum, model| (sum.0 + model.calls.0, sum.1 + model.calls.1))
    }

    /// Cost of all models whose price is known, at least and at most.
    pub fn cost(&self) -> (Money, Money) {
        let known = self.models.iter().filter_map(|model| model.cost);
        known.fold((Money::ZERO, Money::ZERO), |sum, cost| (sum.0 + cost.0, sum.1 + cost.1))
    }

    /// What the run costs even where every estimate is far too high: only this may refuse a budget beforehand.
    pub fn floor(&self) -> Money {
        self.models.iter().map(|model| model.floor).sum()
    }

    /// Models that would be called and whose price nobody knows.
    pub fn unpriced(&self) -> impl Iterator<Item = &str> {
        self.models.iter().filter(|model| model.cost.is_none() && model.calls.1 > 0).map(|model| model.id.as_str())
    }
}

/// Which part of a plan is left to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Part {
    /// All of it: the run has not begun.
    #[default]
    Whole,
    /// What its earlier parts have not finished.
    Rest,
    /// That, and what failed in them.
    Retry,
}

/// What need not be made.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// Which part of the plan is left.
    pub part: Part,
    /// Results of other runs that began at this moment or later; without it, of none.
    pub oldest: Option<Moment>,
    /// The outputs of a stored run that is scored again.
    pub outputs: Option<StoredRun>,
    /// What an earlier run of the plan has found of its cost; without it, it is found again.
    pub afresh: Option<Afresh>,
    /// What calls took in an earlier run of the suite.
    pub lengths: Lengths,
}

/// One row in so many may ask for what another one asks for, where some rows stand for all.
const SHARED: u64 = 50;

/// The walk over the cells of a plan, whose run (`run` is its id) may have begun already.
pub struct Survey<'a>(Ground<'a>);

impl<'a> Survey<'a> {
    /// Nothing is walked yet.
    ///
    /// # Errors
    /// The plan cannot be compiled, or the store not be read.
    pub fn new(
        plan: &'a Plan,
        store: &'a Store,
        files: Arc<dyn Files>,
        run: Option<&str>,
        given: Given,
    ) -> Result<Self, EngineError> {
        store.catch_up()?;
        let remaining = match (run, given.part) {
            (None, _) | (_, Part::Whole) => None,
            (Some(run), part) => Some(Remaining::of(store, run, part == Part::Retry)?),
        };
        let systems = Arc::new(Systems::new(&plan.header, run.unwrap_or_default())?);
        let own = match (run, given.part) {
            (Some(run), Part::Retry) => Some(Earlier::new(store.rows(run)?)),
            _ => None,
        };
        let mut ground = Ground {
            plan,
            resolver: Resolver {
                plan: plan.header.clone(),
                systems: systems.clone(),
                library: Arc::new(Library::new(files, plan.header.dataset.rows)),
                reuse: store.reuse_view(run.unwrap_or_default(), given.oldest)?,
                given: given.outputs.map(Earlier::new),
                own,
                remaining,
            },
            systems,
            lengths: given.lengths,
            afresh: given.afresh,
            planned: Planned::default(),
            planned_afresh: Planned::default(),
        };
        ground.calibrate()?;
        Ok(Self(ground))
    }

    /// What all rows come to.
    ///
    /// # Errors
    /// The dataset or the store cannot be read.
    pub fn whole(&mut self) -> Result<Estimate, EngineError> {
        // Nothing counts twice: what an earlier walk has seen is forgotten.
        (self.0.planned, self.0.planned_afresh) = Default::default();
        Ok(self.0.walked(&Rows::of(self.0.plan))?.estimate())
    }

    /// What all rows come to, by those that stand for them: what is left to make about as often as they stand for rows, and
    /// the whole plan. `None` where the dataset is not large, or rows ask for the same: how many of all do, a few do not tell.
    ///
    /// # Errors
    /// As [`Survey::whole`].
    pub fn spread(&mut self) -> Result<Option<Estimate>, EngineError> {
        let Some(spread) = self.0.plan.spread() else { return Ok(None) };
        let (all, some) = (spread.rows, spread.samples.len() as u64);
        (self.0.planned, self.0.planned_afresh) = (Planned::by_row(), Planned::by_row());
        let estimate = self.0.walked(&Rows::standing(spread))?.standing_for(all, some).estimate();
        let again = self.0.planned.again().max(self.0.planned_afresh.again());
        let afresh = estimate.afresh.clone();
        let scaled = || Estimate { afresh, ..estimate.times(all.div_ceil(some)) };
        Ok((again * SHARED <= some).then(scaled))
    }
}
