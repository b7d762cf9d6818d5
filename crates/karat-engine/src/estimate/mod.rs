//! Estimates what a run would do: cells, calls, tokens and money. Makes no API calls.
//!
//! A step with known input is polled once, so its calls and prompts are exact. Steps that depend on outputs that do not
//! exist yet are bounded: one call per later step, with inputs as long as the replies before may be. Usage follows an
//! earlier run of the suite ([`UsageHistory`]); without one, a reply takes between a few tokens and all of `max_tokens`, and the
//! estimate says that it is a guess.

mod calibration;
mod context;
mod needed;
mod sums;
pub(crate) mod usage_history;
mod walk;

use std::sync::Arc;

use karat_store::{Store, StoredRun};
use karat_suite::{Files, Plan};
use karat_types::{Moment, Money, UncachedCost};

use context::EstimateContext;
use sums::CountedKeys;
use walk::RowQueue;

use crate::EngineError;
use crate::estimate::usage_history::UsageHistory;
use crate::plan::systems::Systems;
use crate::reuse::history::EarlierRun;
use crate::reuse::remaining::Remaining;
use crate::reuse::resolver::{Resolver, reuse_view};
use crate::rows::files::RecordedFiles;
use crate::steps::Reason;

/// The estimate of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Estimate {
    /// Cells of the plan: the sum of the counts below.
    pub cells: u64,
    /// Cells that earlier parts of the run have finished.
    pub done: u64,
    /// Cells whose output must be made.
    pub fresh: u64,
    /// Cells whose output exists.
    pub reused: u64,
    /// Cells that a condition skips.
    pub skipped: u64,
    /// Cells that their row leaves out: it is for other systems only.
    pub left_out: u64,
    /// Cells that fail before any call: their rows cannot be read, or their templates not be rendered.
    pub failing: u64,
    /// Judgments that must be made.
    pub judgments_fresh: u64,
    /// Judgments that exist.
    pub judgments_reused: u64,
    /// One entry per model that may be called: the matrix's first, then judges. A model whose calls are all shared with
    /// others has none.
    pub models: Vec<ModelEstimate>,
    /// The cost of the plan with nothing cached.
    pub uncached: UncachedCost,
}

/// The calls of a run to one model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelEstimate {
    /// Registry id; `http` or `command` for all steps that call services or programs.
    pub id: String,
    /// True if it judges.
    pub judge: bool,
    /// True if it stands for services or programs.
    pub outside: bool,
    /// Minimum and maximum of calls (with re-asks, without retries).
    pub calls: (u64, u64),
    /// Minimum and maximum of input tokens.
    pub input_tokens: (u64, u64),
    /// Minimum and maximum of output tokens.
    pub output_tokens: (u64, u64),
    /// Minimum and maximum of the cost; `None` when the price is unknown.
    pub cost: Option<(Money, Money)>,
    /// True if the answers of a step report their cost and no earlier run has seen one: `cost` is without it then.
    pub metered: bool,
    /// True if its calls go by a batch API, at the price of batches.
    pub by_batch: bool,
    /// True if no earlier run tells how long its replies are.
    pub is_guess: bool,
    /// The cost if prompts have half the estimated tokens and replies none.
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
        self.left_out += other.left_out;
        self.failing += other.failing;
        self.judgments_fresh += other.judgments_fresh;
        self.judgments_reused += other.judgments_reused;
    }

    /// Counts a cell that makes no API calls.
    fn count_idle(&mut self, why: &Reason) {
        *match why {
            Reason::Skipped(_) => &mut self.skipped,
            Reason::LeftOut => &mut self.left_out,
            Reason::Failed(_) => &mut self.failing,
        } += 1;
    }

    /// The calls of so many times as many rows of the same plan; all other counts are 0.
    pub fn times(self, times: u64) -> Self {
        let models = self.models.into_iter().map(|model| model.times(times));
        Self { models: models.collect(), ..Self::default() }
    }

    /// Minimum and maximum of all calls.
    pub fn calls(&self) -> (u64, u64) {
        self.models.iter().fold((0, 0), |sum, model| (sum.0 + model.calls.0, sum.1 + model.calls.1))
    }

    /// Minimum and maximum of the cost of all models with a known price.
    pub fn cost(&self) -> (Money, Money) {
        let known = self.models.iter().filter_map(|model| model.cost);
        known.fold((Money::ZERO, Money::ZERO), |sum, cost| (sum.0 + cost.0, sum.1 + cost.1))
    }

    /// The cost even if every estimate is far too high: only this may refuse a budget beforehand.
    pub fn floor(&self) -> Money {
        self.models.iter().map(|model| model.floor).sum()
    }

    /// Returns whether its upper figures rest on the longest possible replies alone: no earlier run tells how long they are.
    pub fn is_guess(&self) -> bool {
        self.models.iter().any(|model| model.is_guess && model.cost.is_some_and(|(_, most)| most > Money::ZERO))
    }

    /// Models that would be called and have no known price.
    pub fn unpriced_models(&self) -> impl Iterator<Item = &str> {
        self.models.iter().filter(|model| model.cost.is_none() && model.calls.1 > 0).map(|model| model.id.as_str())
    }
}

/// The part of a plan that a run still has to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PlanPart {
    /// All of it: the run has not started.
    #[default]
    Whole,
    /// The cells that earlier parts have not finished.
    Rest,
    /// Those, and the failed ones.
    Retry,
}

/// The input of an estimate: results that need not be made.
#[derive(Debug, Clone, Default)]
pub struct EstimateInput {
    /// The part of the plan that is left.
    pub part: PlanPart,
    /// Results are reused from other runs that started at this moment or later; `None`: from none.
    pub oldest: Option<Moment>,
    /// The stored run whose outputs are scored again.
    pub outputs: Option<StoredRun>,
    /// The cost of the plan as an earlier run estimated it; estimated again if absent.
    pub uncached: Option<UncachedCost>,
    /// The usage of calls in an earlier run of the suite.
    pub usage_history: UsageHistory,
}

/// A sample of the rows suffices if at most one row in so many repeats the request of another.
const MAX_REPEATED_SHARE: u64 = 50;

/// The estimator of a plan, whose run may have started already.
pub struct Estimator<'a>(EstimateContext<'a>);

impl<'a> Estimator<'a> {
    /// An estimator for the run with this id, if it has started.
    ///
    /// # Errors
    /// The plan cannot be compiled, or the store not be read.
    pub fn new(
        plan: &'a Plan,
        store: &'a Store,
        files: Arc<dyn Files>,
        run: Option<&str>,
        given: EstimateInput,
    ) -> Result<Self, EngineError> {
        store.catch_up()?;
        let remaining = match (run, given.part) {
            (None, _) | (_, PlanPart::Whole) => None,
            (Some(run), part) => Some(Remaining::load(store, run, part == PlanPart::Retry)?),
        };
        let systems = Arc::new(Systems::new(&plan.header, run.unwrap_or_default())?);
        let own = match (run, given.part) {
            (Some(run), PlanPart::Retry) => Some(EarlierRun::new(store.rows(run)?)),
            _ => None,
        };
        let mut context = EstimateContext {
            plan,
            resolver: Resolver {
                plan: plan.header.clone(),
                systems: systems.clone(),
                recorded_files: Arc::new(RecordedFiles::new(files, plan.header.dataset.rows)),
                reuse: reuse_view(store, run.unwrap_or_default(), given.oldest, &plan.header)?,
                given: given.outputs.map(EarlierRun::new),
                own,
                earlier: None,
                remaining,
            },
            systems,
            usage_history: given.usage_history,
            uncached: given.uncached,
            counted: CountedKeys::default(),
            counted_uncached: CountedKeys::default(),
        };
        context.calibrate()?;
        Ok(Self(context))
    }

    /// Estimates all rows.
    ///
    /// # Errors
    /// The dataset or the store cannot be read.
    pub fn estimate_all(&mut self) -> Result<Estimate, EngineError> {
        // Forget the keys of an earlier walk, so that nothing is left out.
        (self.0.counted, self.0.counted_uncached) = Default::default();
        Ok(self.0.walk_rows(&RowQueue::of(self.0.plan))?.estimate())
    }

    /// Estimates all rows by a sample of them: the calls that are left, scaled up, and the whole plan. `None` if the
    /// dataset is small, or if rows repeat requests: a sample does not tell how many of all rows do.
    ///
    /// # Errors
    /// As [`Estimator::estimate_all`].
    pub fn estimate_sampled(&mut self) -> Result<Option<Estimate>, EngineError> {
        let Some(sample) = self.0.plan.representative_rows() else { return Ok(None) };
        let (all, some) = (sample.rows, sample.samples.len() as u64);
        (self.0.counted, self.0.counted_uncached) = (CountedKeys::counting_rows(), CountedKeys::counting_rows());
        let estimate = self.0.walk_rows(&RowQueue::of_sample(sample))?.scale_to(all, some).estimate();
        let again = self.0.counted.repeat_count().max(self.0.counted_uncached.repeat_count());
        let uncached = estimate.uncached.clone();
        let scaled = || Estimate { uncached, ..estimate.times(all.div_ceil(some)) };
        Ok((again * MAX_REPEATED_SHARE <= some).then(scaled))
    }
}
