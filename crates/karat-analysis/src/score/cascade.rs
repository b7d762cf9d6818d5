//! The cells of judge cascades: the first scorer's and the judges' scores of each, and the line between them.
//!
//! A cascade's judges grade part of the cells. The table holds for each cell of such a metric the value with which it enters
//! the estimate of the mean, so that figures and differences are those of all cells and have the right spread.
//! A cell shows the judges' score, or else the estimate from the first score.

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_stats::correction::{Asked, CascadeCell, CascadeFit};
use karat_types::{AskedJudge, CascadeDraw, CellRow, PlanHeader, Score};

use crate::score::consensus::CellScores;

/// A cell of a cascaded metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PlacedCell {
    pub(crate) sample: u32,
    pub(crate) trial: u32,
    pub(crate) cell: CascadeCell,
}

/// The draws of one system.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Draws {
    /// Least and greatest probability with which a sure cell was drawn.
    pub(crate) pi: Option<(f64, f64)>,
    /// All cells.
    pub(crate) cells: u64,
    /// Cells that the judges were asked about.
    pub(crate) asked: u64,
    /// Those among them that are unsure.
    pub(crate) unsure: u64,
}

impl Draws {
    fn add(&mut self, draw: CascadeDraw) {
        let (lo, hi) = self.pi.unwrap_or((draw.pi, draw.pi));
        self.pi = Some((lo.min(draw.pi), hi.max(draw.pi)));
        self.cells += 1;
        self.asked += u64::from(draw.asked != AskedJudge::No);
        self.unsure += u64::from(draw.asked == AskedJudge::Unsure);
    }
}

/// The cells of one system.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct SystemCascade {
    /// In plan order.
    pub(crate) cells: Vec<PlacedCell>,
    pub(crate) draws: Draws,
    /// `None` if no sure cell has the judges' score, so that nothing can be estimated.
    pub(crate) fit: Option<CascadeFit>,
}

/// The cells of a cascaded metric, by system.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct MetricCascade {
    pub(crate) systems: Vec<SystemCascade>,
}

impl MetricCascade {
    /// The cells of a sample and system.
    pub(crate) fn cells(&self, sample: usize, system: usize) -> &[PlacedCell] {
        let Some(own) = self.systems.get(system) else { return &[] };
        let from = own.cells.partition_point(|it| (it.sample as usize) < sample);
        let to = own.cells.partition_point(|it| it.sample as usize <= sample);
        own.cells.get(from..to).unwrap_or_default()
    }

    /// The fit of a system.
    pub(crate) fn fit(&self, system: usize) -> Option<&CascadeFit> {
        self.systems.get(system)?.fit.as_ref()
    }

    /// Returns true if some cells of the metric are estimated.
    pub(crate) fn is_estimated(&self) -> bool {
        self.systems.iter().any(|it| it.fit.is_some_and(|fit| fit.line.is_some()))
    }
}

/// Gathers the cells of cascades while rows pass.
pub(crate) struct CascadeBuilder {
    /// By metric with a cascade: the first scorer's metric, and the cells so far.
    metrics: BTreeMap<usize, (usize, MetricCascade)>,
}

impl CascadeBuilder {
    /// A builder for a plan; it does nothing without a cascade.
    pub(crate) fn new(plan: &PlanHeader) -> Self {
        let cascaded = (0..plan.metrics.len()).filter_map(|metric| Some((metric, plan.first_metric(metric)?)));
        let empty = || MetricCascade { systems: vec![SystemCascade::default(); plan.systems.len()] };
        Self { metrics: cascaded.map(|(metric, first)| (metric, (first, empty()))).collect() }
    }

    /// Adds a row, whose sample has this position.
    pub(crate) fn add(&mut self, plan: &PlanHeader, row: &CellRow<'_>, scores: &CellScores, sample: usize) {
        for (metric, (first, cascade)) in &mut self.metrics {
            let scorer = plan.metrics.get(*metric).map(|it| it.scorer);
            let mut draws = row.judgments.iter().filter(|it| Some(usize::from(it.scorer)) == scorer);
            let (Some(draw), Some(own)) = (draws.find_map(|it| it.cascade), cascade.systems.get_mut(row.system)) else {
                continue;
            };
            own.draws.add(draw);
            // Scores that do not apply to the cell do not belong to the mean.
            let is_asked = draw.asked != AskedJudge::No;
            let is_absent = matches!(scores.scores.get(*metric), Some(Some(Score::NotApplicable { .. })));
            if is_asked && is_absent {
                continue;
            }
            let asked = match draw.asked {
                AskedJudge::Unsure => Asked::Unsure,
                AskedJudge::Drawn => Asked::Drawn,
                AskedJudge::No => Asked::No,
            };
            let dear = scores.number(*metric).filter(|_| is_asked);
            let cell = CascadeCell { asked, first: scores.number(*first), dear, cluster: 0 };
            own.cells.push(PlacedCell { sample: sample as u32, trial: row.trial, cell });
        }
    }

    /// The cascades by metric, given the cluster of each sample.
    pub(crate) fn finish(self, cluster: impl Fn(usize) -> u32) -> BTreeMap<usize, Arc<MetricCascade>> {
        let finished = self.metrics.into_iter().map(|(metric, (_, mut cascade))| {
            for system in &mut cascade.systems {
                for it in &mut system.cells {
                    it.cell.cluster = u64::from(cluster(it.sample as usize));
                }
                let cells: Vec<CascadeCell> = system.cells.iter().map(|it| it.cell).collect();
                system.fit = CascadeFit::of(&cells).ok().flatten();
            }
            (metric, Arc::new(cascade))
        });
        finished.collect()
    }
}

/// The cells of a cascade behind observations.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ObservedCascade {
    /// The metric's cascade.
    source: Arc<MetricCascade>,
    places: Vec<ObservedPlace>,
    /// True if the observations are changes: the line is fitted to differences.
    of_changes: bool,
}

/// The place of one observation.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ObservedPlace {
    sample: u32,
    system: u32,
    stratum: u32,
    /// The score that is subtracted from those of its cells.
    before: f64,
}

impl ObservedCascade {
    /// Cells of a metric with a cascade that are estimated; `None` if every cell has the judges' score.
    pub(crate) fn of(source: &Arc<MetricCascade>) -> Option<Self> {
        source.is_estimated().then(|| Self { source: source.clone(), ..Self::default() })
    }

    /// Adds the cells of an observation.
    pub(crate) fn push(&mut self, sample: usize, system: usize, stratum: usize) {
        let (sample, system, stratum) = (sample as u32, system as u32, stratum as u32);
        self.places.push(ObservedPlace { sample, system, stratum, before: 0.0 });
    }

    /// Adds the cells of a change from `before`.
    pub(crate) fn push_change(&mut self, sample: usize, system: usize, stratum: usize, before: f64) {
        self.push(sample, system, stratum);
        self.of_changes = true;
        if let Some(last) = self.places.last_mut() {
            last.before = before;
        }
    }

    /// The metric's cascade.
    pub(crate) fn source(&self) -> &MetricCascade {
        &self.source
    }

    /// The cells of each stratum with their fit, in the order of the strata: that of all cells of the system, or of the
    /// differences. `None` if there is none.
    pub(crate) fn by_stratum(&self) -> Option<Vec<(CascadeFit, Vec<CascadeCell>)>> {
        let mut strata = BTreeMap::<u32, (u32, Vec<CascadeCell>)>::new();
        for ObservedPlace { sample, system, stratum, before } in &self.places {
            let cells = self.source.cells(*sample as usize, *system as usize).iter().map(|it| CascadeCell {
                first: it.cell.first.map(|first| first - before),
                dear: it.cell.dear.map(|dear| dear - before),
                ..it.cell
            });
            strata.entry(*stratum).or_insert_with(|| (*system, Vec::new())).1.extend(cells);
        }
        let fitted = strata.into_values().map(|(system, cells)| {
            let fit = match self.of_changes {
                true => CascadeFit::of(&cells).ok()??,
                false => *self.source.fit(system as usize)?,
            };
            Some((fit, cells))
        });
        fitted.collect()
    }
}
