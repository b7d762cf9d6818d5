//! Plans the samples and dollars that detecting a difference takes.

use std::collections::BTreeSet;

use karat_analysis::planning::{MetricPower, difference_problem, planning_problem, power};
use karat_analysis::{Findings, system_id};
use karat_suite::Plan;
use karat_types::{MetricSpec, PlanHeader, Threshold};

use crate::AppError;
use crate::analysis::Analysis;
use crate::error::{AnalyseError, Names};
use crate::stored::findings::findings;

/// Number of finished runs among which one that fits a plan is looked for: the newest ones.
const READ_RUNS: usize = 20;

/// A difference to detect.
#[derive(Debug, Clone, PartialEq)]
pub struct PowerRequest {
    /// The metric; the primary one if absent.
    pub metric: Option<String>,
    /// The difference; a percentage refers to the metric's figure in the stored run.
    pub difference: Threshold,
}

/// The differences that the plan's samples can detect.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanPower {
    /// The requested metrics.
    pub metrics: Vec<MetricPower>,
    /// The stored run that the spread is taken from; `None` if the suite has none.
    pub run: Option<String>,
}

impl Analysis<'_> {
    /// Plans for the requested differences: with the spread and the cost of the suite's latest stored run, else with
    /// the worst case and the estimate. Makes no API calls.
    pub fn power(&self, plan: &Plan, wanted: &[PowerRequest]) -> Result<PlanPower, AppError> {
        let header = &plan.header;
        let (run, stored) = self.fitting_run(header, wanted)?.unzip();
        let measured = stored.as_ref().and_then(|found| {
            let systems = found.plan.systems.iter().zip(&found.systems);
            systems.map(|(spec, group)| Some(f64::from(spec.trials) * group.spend.next_cell_usd()?)).sum()
        });
        let cost = match measured {
            Some(cost) => Some(cost),
            None => self.estimated_cost(plan)?,
        };
        let spreads = karat_analysis::paired_deviations(header, stored.as_ref());
        let mut metrics = Vec::new();
        for PowerRequest { metric, difference } in wanted {
            let at = match metric {
                Some(name) => header.metric(name),
                None => karat_analysis::primary_metric(header),
            };
            let (Some(spec), Some(spread)) =
                (at.and_then(|at| header.metrics.get(at)), at.and_then(|at| spreads.get(at)))
            else {
                return Err(unknown_metric(metric.as_deref(), plan));
            };
            if let Some(why) = planning_problem(spec) {
                return Err(AnalyseError::Unplannable { why: why.to_string() }.into());
            }
            let spread = spread.as_ref().ok_or_else(|| no_spread(spec, run.as_deref()))?;
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

    /// The newest finished run of the suite that has the plan's systems, and measured the spread of each wanted metric: a
    /// run of a few samples or of other models tells nothing of the plan. Without one, the newest run, whatever it is.
    fn fitting_run(
        &self,
        header: &PlanHeader,
        wanted: &[PowerRequest],
    ) -> Result<Option<(String, Findings)>, AppError> {
        if !self.app.store.exists() {
            return Ok(None);
        }
        let store = self.app.store_to_read()?;
        for run in store.finished_of_suite(&header.suite, READ_RUNS)? {
            // A damaged run tells nothing; its report says what is wrong.
            let Ok(found) = self.app.stored().run(&run).and_then(|stored| findings(&stored)) else { continue };
            if fits(header, &found, wanted) {
                return Ok(Some((run, found)));
            }
        }
        let newest = store.runs_of_suite(&header.suite, 1)?.into_iter().next();
        newest.map(|run| Ok((run.clone(), findings(&self.app.stored().run(&run)?)?))).transpose()
    }

    /// Upper estimate of the dollars for one sample under all systems, with judges.
    fn estimated_cost(&self, plan: &Plan) -> Result<Option<f64>, AppError> {
        let per_cell = self.app.runs().estimate(plan)?.uncached.per_cell;
        let trials = plan.header.systems.iter().map(|system| f64::from(system.trials));
        let each = per_cell.iter().zip(trials).map(|(cost, trials)| Some(cost.as_ref()?.usd() * trials));
        Ok(each.sum())
    }
}

/// Returns whether a run has the systems of a plan, and measured the spread of each wanted metric.
fn fits(header: &PlanHeader, found: &Findings, wanted: &[PowerRequest]) -> bool {
    let systems = |plan: &PlanHeader| (0..plan.systems.len()).map(|at| system_id(plan, at)).collect::<BTreeSet<_>>();
    let spreads = karat_analysis::paired_deviations(header, Some(found));
    let has_spread = |request: &PowerRequest| {
        let at = match &request.metric {
            Some(name) => header.metric(name),
            None => karat_analysis::primary_metric(header),
        };
        let name = at.and_then(|at| header.metrics.get(at)).map(|metric| metric.name.as_str());
        let is_measured = name.is_some_and(|name| found.plan.metric(name).is_some());
        let spread = at.and_then(|at| spreads.get(at)?.as_ref());
        // One that is assumed has no pairs.
        is_measured && spread.is_some_and(|spread| spread.finding().n() > 0)
    };
    systems(header).is_subset(&systems(&found.plan)) && wanted.iter().all(has_spread)
}

/// The error for a metric of unknown spread.
fn no_spread(metric: &MetricSpec, run: Option<&str>) -> AppError {
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

fn unknown_metric(metric: Option<&str>, plan: &Plan) -> AppError {
    let known = Names::of(plan.header.metrics.iter().map(|metric| &metric.name));
    match metric {
        Some(metric) => AnalyseError::NoMetric { metric: metric.to_owned(), known },
        None => AnalyseError::NoMetrics { known },
    }
    .into()
}
