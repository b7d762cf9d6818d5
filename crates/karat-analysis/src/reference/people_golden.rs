//! Golden samples that people scored: settled labels of outputs in the form in which grades of judges are pinned.

use std::collections::BTreeMap;

use karat_stats::describe::mean;
use karat_types::{CellRow, Key, Label, PlanHeader, ScorerKind};
use serde_json::Value;

use crate::reference::golden::{Golden, json_number, schema};
use crate::reference::history::content_digests;
use crate::score::people::labels::grades;

/// The figures that people gave an output, by metric index: every dimension with an answer, and the rubric's composite of them.
///
/// The composite needs an answer in every dimension, because it would be of other dimensions otherwise.
pub fn people_figures(plan: &PlanHeader, scorer: usize, label: &Label) -> BTreeMap<usize, f64> {
    let mut figures: BTreeMap<usize, f64> = grades(plan, &[scorer], label).into_iter().collect();
    if let Some((metric, value)) = composite(plan, scorer, &figures) {
        figures.insert(metric, value);
    }
    figures
}

fn composite(plan: &PlanHeader, scorer: usize, figures: &BTreeMap<usize, f64>) -> Option<(usize, f64)> {
    let spec = plan.scorers.get(scorer)?;
    let ScorerKind::Rubric(rubric) = &spec.kind else { return None };
    let overall = rubric.rubric.overall.as_ref()?;
    let metric = |name: &str| plan.metric(&format!("{}.{name}", spec.id));
    let weighted = rubric.rubric.dimensions.iter().map(|dimension| {
        let value = metric(&dimension.name).and_then(|at| figures.get(&at))?;
        Some((*value, dimension.weight))
    });
    let weighted: Vec<(f64, f64)> = weighted.collect::<Option<_>>()?;
    Some((metric(&overall.id)?, overall.of(&weighted)?))
}

/// The metric that pins what people said: the rubric's composite where it follows from the labels, else the scorer's first
/// metric with a value.
pub fn people_metric(plan: &PlanHeader, scorer: usize, figures: &[BTreeMap<usize, f64>]) -> Option<usize> {
    let spec = plan.scorers.get(scorer)?;
    let composite = match &spec.kind {
        ScorerKind::Rubric(rubric) => rubric.rubric.overall.as_ref(),
        ScorerKind::Metric { .. } => None,
    };
    let composite = composite.and_then(|overall| plan.metric(&format!("{}.{}", spec.id, overall.id)));
    let own = (0..plan.metrics.len()).filter(|at| plan.metrics.get(*at).is_some_and(|it| it.scorer == scorer));
    composite.into_iter().chain(own).find(|metric| figures.iter().any(|it| it.contains_key(metric)))
}

/// A sample that people scored.
#[derive(Debug, Clone, PartialEq)]
pub struct PeopleSample {
    /// Id of the sample.
    pub sample: String,
    /// Its date, if it has one.
    pub date: Option<String>,
    /// The system whose outputs were scored.
    pub system: String,
    /// The figures of its outputs, by metric index: one entry for each trial.
    pub figures: Vec<BTreeMap<usize, f64>>,
    /// Notes of those who decided.
    pub notes: String,
    /// Digests of what was scored.
    pub content: BTreeMap<String, Key>,
}

impl PeopleSample {
    /// A sample of a cell, without figures.
    pub fn of(row: &CellRow<'_>, system: String) -> Self {
        Self {
            sample: row.sample.id.clone(),
            date: row.sample.date.clone(),
            system,
            figures: Vec::new(),
            notes: String::new(),
            content: content_digests(row),
        }
    }

    /// Pins the sample; several trials are averaged. `None` if none of them has a value of the metric.
    pub fn pin(&self, plan: &PlanHeader, metric: usize, people: &Value, scored_at: String) -> Option<Golden> {
        let average = |metric: usize| {
            let values: Vec<f64> = self.figures.iter().filter_map(|it| it.get(&metric).copied()).collect();
            mean(&values)
        };
        let spec = plan.metrics.get(metric)?;
        let scorer = plan.scorers.get(spec.scorer)?;
        let others = plan.metrics.iter().enumerate().filter(|(at, it)| it.scorer == spec.scorer && *at != metric);
        let axes = others.filter_map(|(at, it)| {
            let rest = it.name.strip_prefix(&scorer.id).and_then(|rest| rest.strip_prefix('.'));
            Some((rest.unwrap_or(&it.name).to_owned(), json_number(average(at)?)))
        });
        Some(Golden {
            schema: schema(),
            sample: self.sample.clone(),
            card_date: self.date.clone(),
            system: Some(self.system.clone()),
            baseline_metric: spec.name.clone(),
            baseline_composite: average(metric)?,
            baseline_axes: axes.collect(),
            baseline_judge: None,
            baseline_people: Some(people.clone()),
            baseline_prompt_version: None,
            baseline_answered_as: BTreeMap::new(),
            baseline_ran_at: scored_at,
            notes: self.notes.clone(),
            baseline_content: self.content.clone(),
        })
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "the values are exact")]
mod tests {
    use super::*;
    use crate::testing::judged_run;
    use karat_types::{Overall, OverallMethod};
    use serde_json::json;
    use std::sync::Arc;

    fn label(scores: Value) -> Label {
        Label::from_row(&json!({ "sample": "s", "scores": scores })).unwrap()
    }

    /// HU-32: people's composite follows from their answers by the rubric's rule, and only where each dimension has one.
    #[test]
    fn the_composite_of_people_follows_the_rubric() {
        let mut plan = judged_run(1, 1, &["judge"], json!([])).header.plan.as_ref().clone();
        let ScorerKind::Rubric(rubric) = &mut plan.scorers[0].kind else { panic!("a rubric") };
        rubric.rubric.overall =
            Some(Overall { id: "composite".to_owned(), method: OverallMethod::WeightedMean, round: None });
        let mut second = rubric.rubric.dimensions[0].clone();
        let first = second.name.clone();
        second.name = "second".to_owned();
        second.weight = 3.0;
        rubric.rubric.dimensions[0].weight = 1.0;
        rubric.rubric.dimensions.push(second);
        let id = plan.scorers[0].id.clone();
        plan.metrics[0].name = format!("{id}.{first}");
        for name in ["second", "composite"] {
            let metric = karat_types::MetricSpec { name: format!("{id}.{name}"), ..plan.metrics[0].clone() };
            plan.metrics.push(metric);
        }
        let both = people_figures(&plan, 0, &label(json!({ first.as_str(): 2, "second": 4 })));
        assert_eq!(both, BTreeMap::from([(0, 2.0), (1, 4.0), (2, 3.5)]));
        let one = people_figures(&plan, 0, &label(json!({ first.as_str(): 2 })));
        assert_eq!(one, BTreeMap::from([(0, 2.0)]));
        assert_eq!(people_metric(&plan, 0, &[one.clone(), both.clone()]), Some(2));
        assert_eq!(people_metric(&plan, 0, std::slice::from_ref(&one)), Some(0));
        assert_eq!(people_metric(&plan, 0, &[]), None);
        let sample = PeopleSample {
            sample: "s".to_owned(),
            date: None,
            system: "m/v".to_owned(),
            figures: vec![both, one],
            notes: String::new(),
            content: BTreeMap::new(),
        };
        let pinned = sample.pin(&Arc::new(plan), 2, &json!({ "task": "t" }), String::new()).unwrap();
        assert_eq!((pinned.baseline_composite, pinned.scored_by()), (3.5, Some("people")));
        assert_eq!(pinned.baseline_axes[&first], json!(2));
        assert_eq!(Golden::read(&pinned.text()).unwrap(), pinned);
    }
}
