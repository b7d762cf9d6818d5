//! `cascade`: the estimates of judge cascades, their calls and their money. Every run with a cascade has it.

use std::sync::Arc;

use karat_stats::correction::CascadeCell;
use karat_types::{AnalysisSpec, JudgmentRow, Money, PlanHeader};
use serde::Serialize;

use crate::AnalysisError;
use crate::analyses::{Analysis, FinishContext, NoOptions, Outcome, ScoredCell, options};
use crate::figures::groups::system_id;
use crate::infer::finding::{Finding, finite};

/// The cascades of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cascades {
    /// One for each scorer with a cascade.
    pub scorers: Vec<Cascade>,
}

/// The cascade of a scorer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cascade {
    /// The scorer.
    pub scorer: String,
    /// The judge that goes first, or the scorer.
    pub first: String,
    /// The judges that are asked about part of the cells.
    pub judges: Vec<String>,
    /// The first scorer's calls and cost.
    pub first_spend: CascadeSpend,
    /// The judges' calls and cost.
    pub judge_spend: CascadeSpend,
    /// Cost of grading every cell by the judges alone, by the average of the graded ones; `None` if a price is
    /// unknown or none was graded.
    pub all_usd: Option<f64>,
    /// `all_usd` less what both cost; negative if the first scorer costs more than it saves.
    pub saved_usd: Option<f64>,
    /// By system, in the order of the plan.
    pub systems: Vec<CascadeSystem>,
}

/// Calls and cost of one side of a cascade.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct CascadeSpend {
    /// Cells that it graded or tried to grade.
    pub cells: u64,
    /// Calls of these judgments.
    pub calls: u64,
    /// Their cost at list price; `None` if a price is unknown.
    pub usd: Option<f64>,
}

/// The cells of one system.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CascadeSystem {
    /// The system.
    pub system: String,
    /// Cells whose first score is unsure.
    pub unsure: u64,
    /// Sure cells that were drawn.
    pub drawn: u64,
    /// Cells that the judges were not asked about.
    pub not_asked: u64,
    /// The probability with which a sure cell was drawn, least and greatest; `None` without cells.
    pub pi: Option<(f64, f64)>,
    /// By metric of the scorer.
    pub metrics: Vec<CascadeMetric>,
}

/// The estimate of one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CascadeMetric {
    /// The metric.
    pub metric: String,
    /// The estimated mean of the judges over all cells.
    pub figure: Option<Finding>,
    /// Mean of the first scorer.
    pub first_mean: Option<f64>,
    /// Slope of the line from the first score to the judges'.
    pub slope: Option<f64>,
    /// Correlation of both on the drawn cells.
    pub correlation: Option<f64>,
    /// Width of the interval in relation to that with all cells graded by the judges.
    pub width_ratio: Option<f64>,
}

/// The sum of what one side cost.
#[derive(Debug, Clone, Copy, Default)]
struct SpendSum {
    cells: u64,
    calls: u64,
    known: Money,
    unpriced: bool,
}

impl SpendSum {
    /// Adds the judgments of one cell.
    fn add(&mut self, judgments: &[&JudgmentRow]) {
        self.cells += u64::from(!judgments.is_empty());
        for judgment in judgments {
            self.calls += judgment.calls.len() as u64;
            match judgment.cost.cost {
                Some(cost) => self.known += cost,
                None => self.unpriced = true,
            }
        }
    }

    fn usd(&self) -> Option<f64> {
        (!self.unpriced).then(|| self.known.usd()).and_then(finite)
    }

    fn spend(&self) -> CascadeSpend {
        CascadeSpend { cells: self.cells, calls: self.calls, usd: self.usd() }
    }
}

/// One cascade while rows pass.
struct Running {
    scorer: usize,
    first: usize,
    first_sum: SpendSum,
    judge_sum: SpendSum,
    /// Cells with a draw.
    cells: u64,
}

struct CascadeFold {
    plan: Arc<PlanHeader>,
    running: Vec<Running>,
}

pub(in crate::analyses) fn build(
    spec: &AnalysisSpec,
    plan: &Arc<PlanHeader>,
) -> Result<Option<Box<dyn Analysis>>, AnalysisError> {
    options::<NoOptions>(spec)?;
    let cascades = plan.scorers.iter().enumerate().filter_map(|(scorer, it)| {
        let first = &it.cascade.as_ref()?.first;
        let first = plan.scorers.iter().position(|it| it.id == *first)?;
        let (first_sum, judge_sum) = Default::default();
        Some(Running { scorer, first, first_sum, judge_sum, cells: 0 })
    });
    let running: Vec<Running> = cascades.collect();
    let is_empty = running.is_empty();
    Ok((!is_empty).then(|| Box::new(CascadeFold { plan: plan.clone(), running }) as Box<dyn Analysis>))
}

impl Analysis for CascadeFold {
    fn add_cell(&mut self, cell: &ScoredCell<'_>) {
        for it in &mut self.running {
            let of = |scorer: usize| cell.row.judgments.iter().filter(move |row| usize::from(row.scorer) == scorer);
            if !of(it.scorer).any(|row| row.cascade.is_some()) {
                continue;
            }
            it.cells += 1;
            it.first_sum.add(&of(it.first).collect::<Vec<_>>());
            it.judge_sum.add(&of(it.scorer).filter(|row| row.is_asked()).collect::<Vec<_>>());
        }
    }

    fn finish(self: Box<Self>, context: &FinishContext<'_>) -> Outcome {
        let scorers = self.running.iter().filter_map(|it| cascade(&self.plan, it, context));
        Outcome::Cascades(Cascades { scorers: scorers.collect() })
    }
}

fn cascade(plan: &PlanHeader, running: &Running, context: &FinishContext<'_>) -> Option<Cascade> {
    let judges = |scorer: usize| match &plan.scorers.get(scorer)?.kind {
        karat_types::ScorerKind::Rubric(rubric) => Some(rubric.judges.clone()),
        karat_types::ScorerKind::Metric { .. } => None,
    };
    let (scorer, first) = (plan.scorers.get(running.scorer)?, plan.scorers.get(running.first)?);
    let first = match (first.is_first_judge, judges(running.first)) {
        (true, Some(own)) => own.join(", "),
        _ => first.id.clone(),
    };
    let (first_spend, judge_spend) = (running.first_sum.spend(), running.judge_sum.spend());
    let each = judge_spend.usd.filter(|_| judge_spend.cells > 0).map(|usd| usd / judge_spend.cells as f64);
    let all_usd = each.map(|each| each * running.cells as f64).and_then(finite);
    let spent = first_spend.usd.zip(judge_spend.usd).map(|(first, judges)| first + judges);
    Some(Cascade {
        scorer: scorer.id.clone(),
        first,
        judges: judges(running.scorer).unwrap_or_default(),
        first_spend,
        judge_spend,
        all_usd,
        saved_usd: all_usd.zip(spent).map(|(all, spent)| all - spent),
        systems: (0..plan.systems.len()).map(|system| of_system(plan, running.scorer, system, context)).collect(),
    })
}

fn of_system(plan: &PlanHeader, scorer: usize, system: usize, context: &FinishContext<'_>) -> CascadeSystem {
    let own = plan.metrics.iter().enumerate().filter(|(_, metric)| metric.scorer == scorer);
    let metrics: Vec<usize> = own.map(|(at, _)| at).collect();
    let first = metrics.iter().find_map(|metric| context.table.cascade(*metric)?.systems.get(system));
    let draws = first.map(|it| it.draws).unwrap_or_default();
    CascadeSystem {
        system: system_id(plan, system),
        unsure: draws.unsure,
        drawn: draws.asked - draws.unsure,
        not_asked: draws.cells - draws.asked,
        pi: draws.pi,
        metrics: metrics.iter().filter_map(|metric| of_metric(plan, *metric, system, context)).collect(),
    }
}

fn of_metric(plan: &PlanHeader, metric: usize, system: usize, context: &FinishContext<'_>) -> Option<CascadeMetric> {
    let (spec, measure) = (plan.metrics.get(metric)?, context.measures.get(metric)?);
    let own = context.table.cascade(metric)?.systems.get(system)?;
    let mut observed = context.table.placed_observations(metric);
    for sample in 0..context.table.samples() {
        if let Some(value) = context.table.figure_value(metric, sample, system) {
            observed.push(value, system, context.table.cluster(sample));
            observed.push_place(sample, system, system);
        }
    }
    let cells: Vec<CascadeCell> = own.cells.iter().map(|it| it.cell).collect();
    let mean = own.fit.and_then(|fit| fit.mean(&cells));
    let line = own.fit.and_then(|fit| fit.line);
    Some(CascadeMetric {
        metric: spec.name.clone(),
        figure: measure.figure(&observed),
        first_mean: mean.and_then(|it| it.first_mean).and_then(finite),
        slope: line.map(|line| line.slope).and_then(finite),
        correlation: line.and_then(|line| line.correlation).and_then(finite),
        width_ratio: mean.and_then(|it| it.width_ratio).and_then(finite),
    })
}
