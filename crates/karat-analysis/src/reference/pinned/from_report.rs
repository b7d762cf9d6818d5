//! Reads a `report.json` as pinned results.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use super::contents::PinnedContents;
use super::{BASELINE_SCHEMA, Pinned, PinnedMetric, PinnedRun, PinnedSystem};
use crate::score::instrument::SampleInstrument;
use crate::score::instrument::served_models::joined_names as names_together;
use crate::score::instrument::served_models::{NamesByAsked, merge_names};
use crate::score::reduce::Reduce;
use crate::score::table::{State, reduce_trials};

/// The figures of a report, and the scores of its inline cells. Missing parts are left out; gates that need them are
/// undecided.
pub(crate) fn read(report: &Value) -> Pinned {
    let cells = ReportCells::of(report);
    let systems = list(report, "systems").iter().filter_map(|system| {
        let id = text(system, "id")?;
        let trials = cells.trials(id);
        let metrics = figures(system.get("dimensions")?, |name, figure| {
            let [samples, trials] = cells.metric_cells(id, name, trials);
            figure.with_cells(&samples, &trials)
        });
        Some(PinnedSystem { id: id.to_owned(), metrics, answered_as: answered_as(system) })
    });
    let overall = report.get("metrics").map(|metrics| figures(metrics, |_, figure| figure)).unwrap_or_default();
    Pinned {
        schema: BASELINE_SCHEMA.to_owned(),
        run: run(report),
        samples: cells.samples.iter().map(|id| (*id).to_owned()).collect(),
        overall,
        systems: systems.collect(),
        contents: PinnedContents::default(),
        changed: BTreeSet::new(),
        graded: BTreeMap::new(),
        scorers: instruments(report),
        index: HashMap::new(),
    }
}

/// The reported model names of a system or judge.
fn answered_as(of: &Value) -> NamesByAsked {
    let mut names = NamesByAsked::new();
    for (asked, model) in list(of, "answered_as").iter().filter_map(|it| text(it, "asked").zip(text(it, "model"))) {
        names.entry(asked.to_owned()).or_default().insert(model.to_owned());
    }
    names
}

/// The instrument of each scorer with judges.
fn instruments(report: &Value) -> BTreeMap<String, SampleInstrument> {
    let config = report.pointer("/run/config").unwrap_or(&Value::Null);
    let of = |scorer: &Value| {
        let judges: Vec<&str> = list(scorer, "judges").iter().filter_map(Value::as_str).collect();
        let mut names = NamesByAsked::new();
        let own =
            list(report, "judges").iter().filter(|judge| text(judge, "id").is_some_and(|id| judges.contains(&id)));
        own.for_each(|judge| merge_names(&answered_as(judge), &mut names));
        let version = text(scorer, "version").map(str::to_owned);
        let graded = SampleInstrument { judge: names_together(judges.iter().copied()), version, answered_as: names };
        (!judges.is_empty()).then(|| Some((text(scorer, "id")?.to_owned(), graded)))?
    };
    list(config, "scorers").iter().filter_map(of).collect()
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
        dataset_version: text(run, "dataset_version").map(str::to_owned),
        judges: list(config, "judges").iter().filter_map(|judge| text(judge, "id")).map(str::to_owned).collect(),
        rubrics: list(config, "scorers").iter().filter_map(rubric).collect(),
        stopped_after: stopped_after(report),
        instruments: BTreeMap::new(),
    }
}

/// The course of a run that stopped early and was not continued.
fn stopped_after(report: &Value) -> Option<String> {
    let stop = report.get("stop_early")?;
    let number = |key: &str| stop.get(key).and_then(Value::as_u64);
    let (after, units) = (number("stopped_after")?, number("units")?);
    let is_continued = stop.get("after_end").is_some_and(Value::is_object);
    let unit = text(stop, "unit").unwrap_or("sample");
    (after < units && !is_continued).then(|| format!("{after} of {units} {unit}s"))
}

/// The figures of a list of metrics, each extended by `more`.
fn figures(metrics: &Value, more: impl Fn(&str, PinnedMetric) -> PinnedMetric) -> BTreeMap<String, PinnedMetric> {
    let figure = |(name, found): (&String, &Value)| {
        let number = |key: &str| found.get(key).and_then(Value::as_f64);
        let n = found.get("n").and_then(Value::as_u64).unwrap_or_default();
        let figure = PinnedMetric::figure(number("value").or(number("mean")), n, number("se"), Vec::new());
        (name.clone(), more(name, figure))
    };
    metrics.as_object().into_iter().flatten().map(figure).collect()
}

/// The inline cells: by system, sample and trial.
struct ReportCells<'a> {
    samples: Vec<&'a str>,
    cells: BTreeMap<String, BTreeMap<(usize, u64), &'a Value>>,
    /// The reduction rule of each scorer, by id; the mean if the report does not state it.
    rules: BTreeMap<&'a str, Reduce>,
}

impl<'a> ReportCells<'a> {
    fn of(report: &'a Value) -> Self {
        let mut cells = Self { samples: Vec::new(), cells: BTreeMap::new(), rules: rules(report) };
        let mut positions = BTreeMap::new();
        for cell in list(report, "cells") {
            let (Some(sample), Some(variant)) = (text(cell, "sample"), text(cell, "variant")) else { continue };
            let at = *positions.entry(sample).or_insert_with(|| {
                cells.samples.push(sample);
                cells.samples.len() - 1
            });
            let system = text(cell, "model").map_or_else(|| variant.to_owned(), |model| format!("{model}/{variant}"));
            let trial = cell.get("trial").and_then(Value::as_u64).unwrap_or_default();
            cells.cells.entry(system).or_default().insert((at, trial), cell);
        }
        cells
    }

    /// Number of trials of a system.
    fn trials(&self, system: &str) -> u64 {
        let last = self.cells.get(system).and_then(|cells| cells.keys().map(|(_, trial)| *trial).max());
        last.map_or(0, |last| last + 1)
    }

    /// The samples of a metric, and its trials if the system has several.
    fn metric_cells(&self, system: &str, metric: &str, trials: u64) -> [Vec<(State, f64)>; 2] {
        let rule = self.rule(metric);
        let cell = |at, trial| self.cells.get(system).and_then(|cells| cells.get(&(at, trial)));
        let of_sample =
            |at| (0..trials).map(move |trial| cell(at, trial).map_or(ABSENT, |cell| cell_state(cell, metric)));
        let each: Vec<Vec<(State, f64)>> = (0..self.samples.len()).map(|at| of_sample(at).collect()).collect();
        let whole = each.iter().map(|trials| reduce_trials(trials, rule)).collect();
        [whole, if trials > 1 { each.concat() } else { Vec::new() }]
    }

    /// The rule of a metric's scorer, whose id is the metric's name or its part before the dimension.
    fn rule(&self, metric: &str) -> Reduce {
        let of_scorer = |id: &str| self.rules.get(id).copied();
        let of_dimension = || metric.match_indices('.').rev().find_map(|(dot, _)| of_scorer(metric.get(..dot)?));
        of_scorer(metric).or_else(of_dimension).unwrap_or(Reduce::Mean)
    }
}

/// State of a missing cell.
const ABSENT: (State, f64) = (State::Absent, 0.0);

/// State and value of a cell in a metric.
fn cell_state(cell: &Value, metric: &str) -> (State, f64) {
    let score = cell.get("scores").and_then(|scores| scores.get(metric));
    match (text(cell, "status"), score) {
        (Some("error"), score) if score.is_none_or(|score| score.get("na").is_none()) => (State::Error, 0.0),
        (_, Some(score)) => match score.get("value").and_then(Value::as_f64) {
            Some(value) => (State::Value, value),
            None if score.get("unscored").is_some() => (State::Unscored, 0.0),
            None => (State::NotApplicable, 0.0),
        },
        (_, None) => ABSENT,
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

    /// CL-24, PE-10: the trials of a report are reduced by its scorers' rules; a sample with too few of them has no
    /// value.
    #[test]
    fn trials_of_a_report_are_reduced_by_its_scorers() {
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

    /// CL-24, PE-10: failed cells and trials of a report count as missing; not-applicable ones do not.
    #[test]
    fn failed_cells_of_a_report_are_missing_scores() {
        let cell = |sample: &str, trial: u32, status: &str, scores: Value| json!({ "sample": sample, "variant": "v", "trial": trial, "status": status, "scores": scores });
        let report = json!({
            "schema": "karat.report/1",
            "systems": [{ "id": "v", "dimensions": { "q": { "value": 3.0, "n": 1 } } }],
            "cells": [
                cell("a", 0, "ok", json!({ "q": { "value": 3.0 } })), cell("a", 1, "error", json!({})),
                cell("b", 0, "ok", json!({ "q": { "unscored": "no JSON" } })), cell("b", 1, "error", json!({})),
                cell("c", 0, "ok", json!({ "q": { "na": "no reference" } })), cell("c", 1, "skipped", json!({}))
            ]
        });
        let pinned = Pinned::read(&report.to_string()).unwrap();
        let lost = |sample: &str| pinned.sample_cells(0, "q", sample, Reduce::Mean).missing();
        assert_eq!((lost("a").n, lost("a").due, lost("b").n, lost("c").due), (1.0, 2, 2.0, 0));
    }

    /// PE-16: reported model names are read from a report.
    #[test]
    fn reported_model_names_are_read() {
        let named = |asked: &str, model: &str| json!([{ "asked": asked, "model": model, "n": 4 }]);
        let report = json!({
            "schema": "karat.report/1",
            "run": { "config": { "scorers": [{ "id": "q", "version": "v1", "judges": ["j"] }, { "id": "hit" }] } },
            "systems": [{ "id": "m/v", "dimensions": {}, "answered_as": named("m", "m-01") }],
            "judges": [
                { "id": "j", "model": "alias", "answered_as": named("alias", "j-01") },
                { "id": "k", "model": "k", "answered_as": named("k", "k-01") }
            ]
        });
        let pinned = Pinned::read(&report.to_string()).unwrap();
        let names = |asked: &str, name: &str| NamesByAsked::from([(asked.to_owned(), [name.to_owned()].into())]);
        assert_eq!(pinned.answered_as("m/v"), Some(&names("m", "m-01")));
        let graded = SampleInstrument {
            judge: Some("j".to_owned()),
            version: Some("v1".to_owned()),
            answered_as: names("alias", "j-01"),
        };
        assert_eq!(pinned.scorers, BTreeMap::from([("q".to_owned(), graded)]));
    }
}
