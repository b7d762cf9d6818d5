//! A `report.json` read as pinned results.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Pinned, PinnedMetric, PinnedRun};
use crate::reduce::Reduce;

/// The figures of a report, and its cells' scores where they are inline. What is missing is left out: the gates that
/// need it are undecided and say so.
pub(crate) fn read(report: &Value) -> Pinned {
    let cells = Cells::of(report);
    let systems = list(report, "systems").iter().filter_map(|system| {
        let id = text(system, "id")?;
        let metrics = figures(system.get("dimensions")?, |metric| cells.values(id, metric));
        Some((id.to_owned(), metrics))
    });
    let overall = report.get("metrics").map(|metrics| figures(metrics, |_| Vec::new())).unwrap_or_default();
    Pinned::from_parts(
        run(report),
        cells.samples.iter().map(|id| (*id).to_owned()).collect(),
        overall,
        systems.collect(),
    )
}

fn run(report: &Value) -> PinnedRun {
    let run = report.get("run").unwrap_or(&Value::Null);
    let config = run.get("config").unwrap_or(&Value::Null);
    let of = |key: &str| text(run, key).unwrap_or_default().to_owned();
    let rubric = |scorer: &Value| Some((text(scorer, "id")?.to_owned(), text(scorer, "version")?.to_owned()));
    PinnedRun {
        id: of("id"),
        suite: of("suite"),
        plan_hash: of("plan_hash"),
        dataset_hash: of("dataset_hash"),
        judges: list(config, "judges").iter().filter_map(|judge| text(judge, "id")).map(str::to_owned).collect(),
        rubrics: list(config, "scorers").iter().filter_map(rubric).collect(),
        rulers: BTreeMap::new(),
    }
}

fn figures(metrics: &Value, values: impl Fn(&str) -> Vec<Option<f64>>) -> BTreeMap<String, PinnedMetric> {
    let figure = |(name, found): (&String, &Value)| {
        let number = |key: &str| found.get(key).and_then(Value::as_f64);
        let n = found.get("n").and_then(Value::as_u64).unwrap_or_default();
        (name.clone(), PinnedMetric::figure(number("value").or(number("mean")), n, number("se"), values(name)))
    };
    metrics.as_object().into_iter().flatten().map(figure).collect()
}

/// The inline cells: the trials by system, metric and sample.
struct Cells<'a> {
    samples: Vec<&'a str>,
    trials: BTreeMap<(String, &'a str, usize), Vec<f64>>,
    /// How a scorer's trials become one value, by its id; the mean where a report does not say.
    rules: BTreeMap<&'a str, Reduce>,
}

impl<'a> Cells<'a> {
    fn of(report: &'a Value) -> Self {
        let mut cells = Self { samples: Vec::new(), trials: BTreeMap::new(), rules: rules(report) };
        let mut positions = BTreeMap::new();
        for cell in list(report, "cells") {
            let (Some(sample), Some(variant)) = (text(cell, "sample"), text(cell, "variant")) else { continue };
            let at = *positions.entry(sample).or_insert_with(|| {
                cells.samples.push(sample);
                cells.samples.len() - 1
            });
            let system = text(cell, "model").map_or_else(|| variant.to_owned(), |model| format!("{model}/{variant}"));
            for (metric, score) in cell.get("scores").and_then(Value::as_object).into_iter().flatten() {
                if let Some(value) = score.get("value").and_then(Value::as_f64) {
                    cells.trials.entry((system.clone(), metric, at)).or_default().push(value);
                }
            }
        }
        cells
    }

    fn values(&self, system: &str, metric: &str) -> Vec<Option<f64>> {
        let rule = self.rule(metric);
        let reduced = |at| rule.of(self.trials.get(&(system.to_owned(), metric, at))?);
        (0..self.samples.len()).map(reduced).collect()
    }

    /// The rule of a metric's scorer, whose id is the metric's name or stands before its dimension.
    fn rule(&self, metric: &str) -> Reduce {
        let of_scorer = |id: &str| self.rules.get(id).copied();
        let of_dimension = || metric.match_indices('.').rev().find_map(|(dot, _)| of_scorer(metric.get(..dot)?));
        of_scorer(metric).or_else(of_dimension).unwrap_or(Reduce::Mean)
    }
}

fn rules(report: &Value) -> BTreeMap<&str, Reduce> {
    let config = report.pointer("/run/config").unwrap_or(&Value::Null);
    let rule = |scorer| Some((text(scorer, "id")?, Reduce::parse(text(scorer, "reduce")?)?));
    list(config, "scorers").iter().filter_map(rule).collect()
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// CL-24: a report serves as a pinned baseline, sample by sample, trials averaged.
    #[test]
    fn a_report_is_a_baseline() {
        let score = |value: f64| json!({ "q": { "value": value } });
        let report = json!({
            "schema": "karat.report/1",
            "run": { "id": "r1", "suite": "s", "config": { "judges": [{ "id": "j" }], "scorers": [{ "id": "q", "version": "v1" }] } },
            "metrics": { "q": { "value": 3.0, "n": 1 } },
            "systems": [{ "id": "m/v", "dimensions": { "q": { "value": 3.0, "n": 1 } } }],
            "cells": [
                { "sample": "a", "model": "m", "variant": "v", "trial": 0, "scores": score(2.0) },
                { "sample": "a", "model": "m", "variant": "v", "trial": 1, "scores": score(4.0) },
                { "sample": "b", "model": "m", "variant": "v", "trial": 0, "scores": { "q": { "na": "no" } } }
            ]
        });
        let pinned = Pinned::read(&report.to_string()).unwrap();
        let system = pinned.system("m/v").unwrap();
        assert_eq!((pinned.value(system, "q", "a"), pinned.value(system, "q", "b")), (Some(3.0), None));
        assert_eq!((pinned.run.id.as_str(), pinned.run.judges.len()), ("r1", 1));
        assert_eq!(pinned.overall("q").and_then(|it| it.value), Some(3.0));
    }

    /// CL-24, PE-10: the trials of a report become what its run made of them; a sample with too few of them has no value.
    #[test]
    fn trials_of_a_report_are_reduced_as_its_scorers_say() {
        let cell = |sample: &str, trial: u32, value: f64| {
            let scores = json!({ "all": { "value": value }, "judge.tone": { "value": value } });
            json!({ "sample": sample, "variant": "v", "trial": trial, "scores": scores })
        };
        let report = json!({
            "schema": "karat.report/1",
            "run": { "config": { "scorers": [{ "id": "all", "reduce": "pass^2" }, { "id": "judge", "reduce": "min" }] } },
            "systems": [{ "id": "v", "dimensions": {
                "all": { "value": 0.0, "n": 1 }, "judge.tone": { "value": 0.5, "n": 2 }
            } }],
            "cells": [cell("a", 0, 0.0), cell("a", 1, 1.0), cell("b", 0, 1.0)]
        });
        let pinned = Pinned::read(&report.to_string()).unwrap();
        let value = |metric: &str, sample: &str| pinned.value(pinned.system("v")?, metric, sample);
        assert_eq!((value("all", "a"), value("all", "b")), (Some(0.0), None));
        assert_eq!((value("judge.tone", "a"), value("judge.tone", "b")), (Some(0.0), Some(1.0)));
    }
}
