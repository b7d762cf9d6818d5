//! How many samples and dollars a difference takes, before a run is made (BY-16).

use karat_analysis::planning::{MetricPower, difference_problem, paired_deviations, planning_problem, power};
use karat_suite::Plan;
use karat_types::{MetricSpec, Threshold};

use crate::baseline::findings;
use crate::error::{AnalyseError, Names};
use crate::{App, AppError};

/// A difference that should be detected.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// The metric; the one that stands for the run without it.
    pub metric: Option<String>,
    /// The difference; a percentage is one of the metric's figure in the stored run.
    pub difference: Threshold,
}

/// What the plan's samples can tell.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanPower {
    /// The metrics that were asked for.
    pub metrics: Vec<MetricPower>,
    /// The stored run that says how much differences vary; `None` where there is none of this suite.
    pub run: Option<String>,
}

impl App {
    /// Plans for the differences that are wanted: with the spread and the cost of the latest stored run of this suite,
    /// else with the worst case and the estimate. Makes no call.
    pub fn power(&self, plan: &Plan, wanted: &[Wanted]) -> Result<PlanPower, AppError> {
        let header = &plan.header;
        let runs =
            if self.store.exists() { self.store_to_read()?.runs_of_suite(&header.suite, 1)? } else { Vec::new() };
        let run = runs.first().cloned();
        let stored = run.as_deref().map(|run| findings(&self.stored(run)?)).transpose()?;
        let measured = stored.as_ref().and_then(|found| {
            let systems = found.plan.systems.iter().zip(&found.systems);
            systems.map(|(spec, group)| Some(f64::from(spec.trials) * group.spend.next_cell_usd()?)).sum()
        });
        let cost = match measured {
            Some(cost) => Some(cost),
            None => self.estimated_cost(plan)?,
        };
        let spreads = paired_deviations(header, stored.as_ref());
        let mut metrics = Vec::new();
        for Wanted { metric, difference } in wanted {
            let at = match metric {
                Some(name) => header.metric(name),
                None => karat_analysis::primary_metric(header),
            };
            let (Some(spec), Some(spread)) =
                (at.and_then(|at| header.metrics.get(at)), at.and_then(|at| spreads.get(at)))
            else {
                return Err(unknown(metric.as_deref(), plan));
            };
            if let Some(why) = planning_problem(spec) {
                return Err(AnalyseError::Unplannable { why: why.to_string() }.into());
            }
            let spread = spread.as_ref().ok_or_else(|| unmeasured(spec, run.as_deref()))?;
            let figure =
                stored.as_ref().and_then(|found| found.run.metrics.get(found.plan.metric(&spec.name)?)?.value());
            let difference = difference.from_figure(figure);
            let difference = difference.ok_or_else(|| AnalyseError::NoFigure { metric: spec.name.clone() })?;
            if let Some(why) = difference_problem(Some(spec), difference) {
                return Err(AnalyseError::BadDifference { why: why.to_string() }.into());
            }
            metrics.push(power(spec, spread, header.dataset.rows, Some(difference), cost));
        }
        Ok(PlanPower { metrics, run })
    }

    /// Dollars of one sample under all systems, judges included, on the estimate's upper side.
    fn estimated_cost(&self, plan: &Plan) -> Result<Option<f64>, AppError> {
        let per_cell = self.estimate(plan)?.afresh.per_cell;
        let trials = plan.header.systems.iter().map(|system| f64::from(system.trials));
        let each = per_cell.iter().zip(trials).map(|(cost, trials)| Some(cost.as_ref()?.usd() * trials));
        Ok(each.sum())
    }
}

/// That nothing says how much a metric varies.
fn unmeasured(metric: &MetricSpec, run: Option<&str>) -> AppError {
    let MetricSpec { name, aggregate, .. } = metric;
    let range = match metric.range {
        None => "it has no range".to_owned(),
        Some(_) => format!("its range says nothing of its {aggregate}"),
    };
    let why = match run {
        None => "no run of this suite is stored".to_owned(),
        Some(run) => format!("run {run} has too few samples (or clusters of samples), or scores that do not differ"),
    };
    AnalyseError::NoSpread { metric: name.clone(), range, why }.into()
}

fn unknown(metric: Option<&str>, plan: &Plan) -> AppError {
    let known = Names::of(plan.header.metrics.iter().map(|metric| &metric.name));
    match metric {
        Some(metric) => AnalyseError::NoMetric { metric: metric.to_owned(), known },
        None => AnalyseError::NoMetrics { known },
    }
    .into()
}
