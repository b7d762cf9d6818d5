//! `drift`: tests whether the last days of a run's dated samples are worse than the weeks before them, by system.
//!
//! It uses the run's own days; `karat drift` uses every stored run of the suite.

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_types::{AnalysisSpec, PlanHeader};

use crate::AnalysisError;
use crate::analyses::{Analysis, FinishContext, Outcome, ScoredCell, options, options_error};
use crate::drift::{Drift, DriftOptions, SystemDrifts, WatchedMetric, drift};
use crate::figures::groups::system_id;
use crate::reference::history::Day;
use crate::score::instrument::served_models::add_answers;
use crate::score::instrument::served_models::joined_names;

struct DriftFold {
    plan: Arc<PlanHeader>,
    options: DriftOptions,
    metric: usize,
    watched: WatchedMetric,
    /// By system, in the plan's order.
    series: Vec<BTreeMap<String, Day>>,
    /// The last date of any sample, with or without a score.
    last: Option<String>,
}

pub(in crate::analyses) fn build(
    spec: &AnalysisSpec,
    plan: &Arc<PlanHeader>,
) -> Result<Option<Box<dyn Analysis>>, AnalysisError> {
    let options: DriftOptions = options(spec)?;
    let known = plan.metrics.iter().position(|metric| metric.name == options.metric);
    let Some((at, metric)) = known.and_then(|at| Some((at, plan.metrics.get(at)?))) else {
        return Err(options_error(spec, format!("metric: {:?} is not a metric of this run", options.metric)));
    };
    let watched = WatchedMetric { range: metric.range, better: metric.better };
    let options = options.imply_method(&spec.with, false, watched).of_systems(plan.systems.len());
    if let Some(problem) = options.problem() {
        return Err(options_error(spec, problem));
    }
    let series = vec![BTreeMap::new(); plan.systems.len()];
    Ok(Some(Box::new(DriftFold { plan: plan.clone(), options, metric: at, watched, series, last: None })))
}

impl Analysis for DriftFold {
    fn add_cell(&mut self, cell: &ScoredCell<'_>) {
        let sample = cell.row.sample;
        if sample.date > self.last {
            self.last.clone_from(&sample.date);
        }
        let days = self.series.get_mut(cell.row.system);
        if let (Some(days), Some(date), Some(value)) = (days, &sample.date, cell.scores.number(self.metric)) {
            let day = days.entry(date.clone()).or_insert_with(|| Day::empty(date.clone()));
            day.push(value);
            let scorer = self.plan.metrics.get(self.metric).map(|metric| metric.scorer);
            let own = cell.row.judgments.iter().filter(|judgment| Some(usize::from(judgment.scorer)) == scorer);
            let own: Vec<_> = own.filter(|judgment| judgment.error.is_none()).collect();
            let models = own.iter().filter_map(|judgment| self.plan.judges.get(usize::from(judgment.judge)));
            let models: Vec<&str> = models.map(|judge| judge.model.as_str()).collect();
            day.judges.extend(joined_names(models.iter().copied()));
            day.is_merged |= models.len() > 1;
            day.prompt_versions.extend(own.iter().filter_map(|judgment| judgment.prompt_version.clone()));
            let answered = own.iter().map(|judgment| &judgment.answered);
            answered.chain([&cell.row.cell.facts.answered]).for_each(|it| add_answers(it, &mut day.answered_as));
        }
    }

    fn finish(self: Box<Self>, context: &FinishContext<'_>) -> Outcome {
        let as_of = context.plan.as_of.clone().or(self.last).unwrap_or_default();
        let unknown = |problem: String| Drift::unknown(as_of.clone(), &self.options, problem);
        let of_system = |(system, days): (usize, BTreeMap<String, Day>)| {
            let days: Vec<Day> = days.into_values().collect();
            let found = drift(&days, &as_of, &self.options, self.watched, &[]).unwrap_or_else(unknown);
            Drift { system: Some(system_id(&self.plan, system)), ..found }
        };
        let systems = self.series.into_iter().enumerate().map(of_system).collect();
        let without = || SystemDrifts::one(unknown("the run has no system".to_owned()));
        Outcome::Drift(SystemDrifts::of(systems).unwrap_or_else(without))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::drift::DriftStatus;
    use crate::testing::Sketch;
    use crate::{Options, Outcome, analyse};

    fn status(dates: bool, scored: bool) -> crate::drift::Drift {
        let mut sketch = Sketch::new(1, 1, 40);
        for sample in 0..40 {
            sketch = match scored {
                true => sketch.value(sample, 0, if sample >= 33 { 2.0 } else { 8.0 }),
                false => sketch.unscored(sample, 0),
            };
        }
        let mut run =
            sketch.analysis("drift", "drift", json!({"metric": "quality.overall", "method": "median_mad"})).run();
        for (at, sample) in run.samples.iter_mut().enumerate().filter(|_| dates) {
            sample.date = Some(crate::drift::date_of(20_000 + at as i32));
        }
        match analyse(&run, &Options::default()).unwrap().analyses.remove(0).outcome {
            Outcome::Drift(found) => found.iter().next().unwrap().clone(),
            other => panic!("{other:?}"),
        }
    }

    /// BR-13: a run over many days has a drift result; a run without dates has no data.
    #[test]
    fn a_run_over_days_has_a_drift() {
        let found = status(true, true);
        assert_eq!((found.status, found.alerts.len(), found.n), (DriftStatus::Alert, 2, 30));
        let undated = status(false, true);
        assert_eq!(undated.status, DriftStatus::NoData);
        assert!(undated.warnings[0].contains("no sample has a date"), "{undated:?}");
        let unscored = status(true, false);
        assert_eq!((unscored.status, unscored.as_of.as_str()), (DriftStatus::NoData, "2024-11-12"));
        assert!(unscored.warnings[0].contains("no day up to 2024-11-12 has a score"), "{unscored:?}");
    }

    #[test]
    fn an_unknown_metric_is_refused() {
        let run = Sketch::new(1, 1, 1).fill(1.0).analysis("drift", "drift", json!({"metric": "nothing"})).run();
        assert!(analyse(&run, &Options::default()).unwrap_err().to_string().contains("not a metric of this run"));
    }
}
