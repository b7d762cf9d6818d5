//! A run with its index: what pages read.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use fixedbitset::FixedBitSet;
use karat_analysis::{failure_thresholds, headline_metrics, shortfall_severity, system_id};
use karat_types::{Better, CellStatus, Key, PlanHeader, RunHeader, RunStatus};

use crate::views::index::{CellFlag, MetricColumn, RunIndex, ranks};
use crate::views::patience;

/// A metric that a page may show, filter and sort by.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewMetric {
    /// Its name.
    pub name: String,
    /// Unit that is not a plain number: `ms`, `USD`.
    pub unit: Option<&'static str>,
    /// Lowest and highest possible value, if they are declared.
    pub range: Option<(f64, f64)>,
    /// True if it only takes the values 0 and 1.
    pub binary: bool,
    /// The better direction.
    pub better: Better,
}

/// A run with its index. Immutable: a run that goes on gets another one.
#[derive(Debug)]
pub struct RunView {
    /// The run.
    pub header: RunHeader,
    /// Its plan, with metrics resolved to checks where their scores decide it.
    pub plan: Arc<PlanHeader>,
    /// The numbers of its cells.
    pub index: RunIndex,
    /// Hash of what the store held of the run when the index was built.
    pub state: Key,
    /// Metrics of the plan, then latency and cost.
    pub metrics: Vec<ViewMetric>,
    /// The previous finished run of the suite, and the cells whose scores differ from it.
    pub moved: Option<MovedCells>,
    /// Threshold of each metric of the plan below which a score is a failure.
    thresholds: Vec<Option<f64>>,
    /// Cells with each flag, in the order of [`CellFlag::ALL`].
    flagged: Vec<u64>,
    /// Rank of each sample by its id, once a list is sorted by it.
    sample_ranks: OnceLock<Vec<u32>>,
    pub(super) built: Instant,
    pub(super) took: Duration,
}

impl RunView {
    /// The view of a run whose index was begun to be built at `begun`.
    pub(crate) fn new(
        header: RunHeader,
        (plan, index, state): (Arc<PlanHeader>, RunIndex, Key),
        moved: Option<MovedCells>,
        begun: Instant,
    ) -> Self {
        let (metrics, thresholds) = (metrics(&plan), failure_thresholds(&plan));
        let (flagged, sample_ranks) = (Vec::new(), OnceLock::new());
        let (built, took) = (patience::now(), begun.elapsed());
        let view = Self { header, plan, index, state, metrics, moved, thresholds, flagged, sample_ranks, built, took };
        let count = |flag| (0..view.index.len()).filter(|cell| view.has_flag(*cell, flag)).count() as u64;
        let flagged = CellFlag::ALL.into_iter().map(count).collect();
        Self { flagged, ..view }
    }

    /// The rank of each sample by its id.
    pub(crate) fn sample_ranks(&self) -> &[u32] {
        self.sample_ranks.get_or_init(|| ranks(self.index.sample_ids().map(str::to_owned).collect()))
    }

    /// Returns true if a cell has a flag.
    pub fn has_flag(&self, cell: usize, flag: CellFlag) -> bool {
        match flag {
            CellFlag::Moved => self.moved.as_ref().is_some_and(|moved| moved.cells.contains(cell)),
            CellFlag::Flagged => {
                [CellFlag::Error, CellFlag::Unscored].iter().any(|flag| self.index.has_flag(cell, *flag))
                    || (self.index.status(cell) == CellStatus::Ok && self.has_low_score(cell))
            }
            own => self.index.has_flag(cell, own),
        }
    }

    fn has_low_score(&self, cell: usize) -> bool {
        self.plan.metrics.iter().zip(&self.thresholds).enumerate().any(|(at, (metric, limit))| {
            let value = self.index.metric(at).and_then(|column| column.value(cell));
            value.zip(*limit).is_some_and(|(value, limit)| shortfall_severity(metric, value, limit).is_some())
        })
    }

    /// Number of cells with a flag.
    pub fn count_flag(&self, flag: CellFlag) -> u64 {
        let at = CellFlag::ALL.iter().position(|other| *other == flag);
        at.and_then(|at| self.flagged.get(at)).copied().unwrap_or_default()
    }

    /// Position of a metric by its name.
    pub fn metric(&self, name: &str) -> Option<usize> {
        self.metrics.iter().position(|metric| metric.name == name)
    }

    /// Positions of the metrics that summaries show, the main one first.
    pub fn headline(&self) -> Vec<usize> {
        headline_metrics(&self.plan)
    }

    /// The numbers of a metric.
    pub fn column(&self, metric: usize) -> Option<&MetricColumn> {
        let own = self.plan.metrics.len();
        match self.metrics.get(metric) {
            Some(_) if metric < own => self.index.metric(metric),
            Some(beside) if beside.name == LATENCY => Some(self.index.latency()),
            Some(_) => Some(self.index.cost()),
            None => None,
        }
    }

    /// The name of a system: model and variant.
    pub fn system_name(&self, system: usize) -> String {
        system_id(&self.plan, system)
    }

    /// Returns true if rows may still be added.
    pub fn is_running(&self) -> bool {
        self.header.status == RunStatus::Running
    }
}

const LATENCY: &str = "latency";
const COST: &str = "cost";

/// The metrics of a plan, then latency and cost unless a scorer has their name.
fn metrics(plan: &PlanHeader) -> Vec<ViewMetric> {
    let own = plan.metrics.iter().map(|metric| ViewMetric {
        name: metric.name.clone(),
        unit: plan.unit_of(metric),
        range: metric.range,
        binary: metric.binary,
        better: metric.better,
    });
    let beside = [(LATENCY, "ms"), (COST, "USD")].into_iter().filter(|(name, _)| plan.metric(name).is_none());
    let beside = beside.map(|(name, unit)| ViewMetric {
        name: name.to_owned(),
        unit: Some(unit),
        range: None,
        binary: false,
        better: Better::Lower,
    });
    own.chain(beside).collect()
}

/// The cells whose scores differ from those of an earlier run.
#[derive(Debug, Clone)]
pub struct MovedCells {
    /// The earlier run.
    pub since: String,
    pub(super) cells: FixedBitSet,
}

/// The cells with a score that differs from that of the same sample, system and trial in another run. Metrics that
/// depend on time or price are left out: they always differ.
pub(super) fn moved_cells(own: (&PlanHeader, &RunIndex), before: (&PlanHeader, &RunIndex)) -> FixedBitSet {
    let (plan, index) = own;
    let (other_plan, other) = before;
    let pairs: Vec<(usize, usize)> = (plan.metrics.iter().enumerate())
        .filter(|(_, metric)| !metric.volatile)
        .filter_map(|(at, metric)| Some((at, other_plan.metric(&metric.name)?)))
        .collect();
    let systems: Vec<Option<usize>> = (0..plan.systems.len())
        .map(|system| {
            let name = system_id(plan, system);
            (0..other_plan.systems.len()).find(|other| system_id(other_plan, *other) == name)
        })
        .collect();
    let samples: HashMap<&str, usize> = other.sample_ids().enumerate().map(|(at, id)| (id, at)).collect();
    let cells: HashMap<(usize, usize, u32), usize> = (0..other.len())
        .map(|cell| {
            let place = other.place(cell);
            ((other.sample(cell), place.system, place.trial), cell)
        })
        .collect();
    let partner = |cell: usize| {
        let place = index.place(cell);
        let sample = samples.get(index.sample_id(cell))?;
        cells.get(&(*sample, (*systems.get(place.system)?)?, place.trial)).copied()
    };
    let differs = |cell: usize, other_cell: usize| {
        pairs.iter().any(|(own, theirs)| {
            let value = index.metric(*own).and_then(|column| column.value(cell));
            let earlier = other.metric(*theirs).and_then(|column| column.value(other_cell));
            value.zip(earlier).is_some_and(|(value, earlier)| (value - earlier).abs() > 1e-12)
        })
    };
    let mut moved = FixedBitSet::with_capacity(index.len());
    moved.extend((0..index.len()).filter(|cell| partner(*cell).is_some_and(|earlier| differs(*cell, earlier))));
    moved
}
