//! Pinned results that gates compare with: a file of its own (`karat.baseline/1`), a `report.json`, or a golden set.

mod consistency;
mod contents;
mod from_golden;
mod from_report;
mod from_run;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use karat_types::{MetricSpec, PlanHeader, RunHeader, ScorerKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::contents::PinnedContents;
use crate::score::instrument::served_models::NamesByAsked;
use crate::score::instrument::{Instruments, MeasuredRun, SampleInstrument, changes, metric_change, sample_change};
use crate::score::matched_cells::SampleCells;
use crate::score::reduce::Reduce;
use crate::score::table::{State, reduce_trials};

/// Schema of the files of pinned runs.
pub const BASELINE_SCHEMA: &str = "karat.baseline/1";

/// Id that stands for every system: results pinned by sample only.
pub(crate) const ANY_SYSTEM: &str = "*";

/// Relative rounding error allowed in a file.
const ROUNDING: f64 = 1e-6;

/// The pinned results of a run: one figure per system and metric, and the value of each sample, so that a later run can
/// be compared sample by sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pinned {
    schema: String,
    /// The pinned run.
    pub run: PinnedRun,
    /// Ids of the samples, in plan order.
    samples: Vec<String>,
    /// Equal-weight means over systems, by metric.
    overall: BTreeMap<String, PinnedMetric>,
    systems: Vec<PinnedSystem>,
    /// Digests of what was read of each sample; empty in older files.
    #[serde(default, skip_serializing_if = "PinnedContents::is_empty")]
    contents: PinnedContents,
    /// Samples whose content is another one in the run that is compared.
    #[serde(skip)]
    changed: BTreeSet<String>,
    /// Instrument of each sample, if known by sample rather than for the run.
    #[serde(skip)]
    graded: BTreeMap<String, SampleInstrument>,
    /// Instrument of each scorer, if a report states it.
    #[serde(skip)]
    scorers: BTreeMap<String, SampleInstrument>,
    #[serde(skip)]
    index: HashMap<String, usize>,
}

/// The origin of pinned results.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PinnedRun {
    /// The run's id.
    pub id: String,
    /// Name of its suite.
    pub suite: String,
    /// Hash of its plan.
    pub plan_hash: String,
    /// Hash of its dataset.
    pub dataset_hash: String,
    /// Declared version of its dataset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataset_version: Option<String>,
    /// Ids of its judges.
    pub judges: Vec<String>,
    /// Version of each rubric, by scorer.
    pub rubrics: BTreeMap<String, String>,
    /// The part of its samples that were run before it stopped early, such as `61 of 200 samples`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_after: Option<String>,
    /// Instrument of each scorer; empty if the file does not state it.
    #[serde(rename = "rulers", skip_serializing_if = "BTreeMap::is_empty")]
    pub instruments: Instruments,
}

/// A pinned system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct PinnedSystem {
    id: String,
    metrics: BTreeMap<String, PinnedMetric>,
    /// Reported model names; empty if the file does not state them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    answered_as: NamesByAsked,
}

/// A pinned metric of a system.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PinnedMetric {
    pub(crate) value: Option<f64>,
    pub(crate) n: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) se: Option<f64>,
    /// Values by sample; empty if only the figure is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<Option<f64>>,
    /// Positions, ascending, of the samples whose cell or scorer failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lost: Vec<usize>,
    /// The trials of each sample, consecutively, if the system has several; empty in older files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    trials: Vec<Option<f64>>,
    /// Positions, ascending, of the trials whose cell or scorer failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lost_trials: Vec<usize>,
}

impl Pinned {
    /// Reads a pinned run or a `report.json`.
    ///
    /// # Errors
    /// Another schema, a document that does not match its schema, a duplicate key, or contradictory numbers; the text
    /// names the place.
    pub fn read(text: &str) -> Result<Self, String> {
        let document: Value = karat_text::ladder::exact(text)?;
        let pinned: Self = match document.get("schema").and_then(Value::as_str) {
            Some(BASELINE_SCHEMA) => serde_json::from_value(document)
                .map_err(|error| format!("it does not match {BASELINE_SCHEMA}: {error}"))?,
            Some("karat.report/1") => from_report::read(&document),
            Some(other) => {
                return Err(format!(
                    "its schema is `{other}`, but a baseline is `{BASELINE_SCHEMA}` (from `karat baseline pin`) or `karat.report/1`"
                ));
            }
            None => {
                return Err(format!(
                    "it has no `schema`: a baseline is `{BASELINE_SCHEMA}` (from `karat baseline pin`) or a report.json"
                ));
            }
        };
        consistency::check_document(&pinned)?;
        Ok(pinned.build_index())
    }

    /// Checks its numbers against the metrics of a plan.
    ///
    /// # Errors
    /// A number outside its metric's range, or a mean that does not match its values; the text names the place.
    pub fn check_plan(&self, plan: &PlanHeader) -> Result<(), String> {
        consistency::check_plan(self, plan)
    }

    fn build_index(mut self) -> Self {
        self.index = self.samples.iter().enumerate().map(|(at, id)| (id.clone(), at)).collect();
        self
    }

    /// Ids of its systems; empty if it applies to every system.
    pub fn systems(&self) -> impl Iterator<Item = &str> {
        self.systems.iter().map(|system| system.id.as_str()).filter(|id| *id != ANY_SYSTEM)
    }

    /// Ids of its samples.
    pub fn samples(&self) -> impl Iterator<Item = &str> {
        self.samples.iter().map(String::as_str)
    }

    /// Reported model names of a system.
    pub(crate) fn answered_as(&self, system: &str) -> Option<&NamesByAsked> {
        self.systems.iter().find(|it| it.id == system).map(|it| &it.answered_as)
    }

    /// Position of a system, by id.
    pub(crate) fn system(&self, id: &str) -> Option<usize> {
        let called = |id: &str| self.systems.iter().position(|system| system.id == id);
        called(id).or_else(|| called(ANY_SYSTEM))
    }

    /// A metric of a system.
    pub(crate) fn metric(&self, system: usize, metric: &str) -> Option<&PinnedMetric> {
        self.systems.get(system)?.metrics.get(metric)
    }

    /// A metric over all systems.
    pub(crate) fn overall(&self, metric: &str) -> Option<&PinnedMetric> {
        self.overall.get(metric)
    }

    /// A metric of a system on a sample.
    pub(crate) fn value(&self, system: usize, metric: &str, sample: &str) -> Option<f64> {
        let at = *self.index.get(sample)?;
        *self.metric(system, metric)?.values.get(at)?
    }

    /// The judge and the prompt version of a sample, if they are pinned by sample.
    pub(crate) fn judged_by(&self, sample: &str) -> (Option<String>, Option<String>) {
        self.graded.get(sample).map(|it| (it.judge.clone(), it.version.clone())).unwrap_or_default()
    }

    /// The cells of a sample, with its trials if `rule` reduces them to the pinned value: an edited file, or one with
    /// another rule, has samples only. Unpinned cells count as not applicable.
    pub(crate) fn sample_cells(&self, system: usize, metric: &str, sample: &str, rule: Reduce) -> SampleCells<'static> {
        let Some((pinned, &at)) = self.metric(system, metric).zip(self.index.get(sample)) else {
            return SampleCells::new(NOTHING, Vec::new().into(), rule);
        };
        let whole = cell_state(&pinned.values, &pinned.lost, at);
        let n = pinned.trials.len() / self.samples.len().max(1);
        let trials = (at * n..(at + 1) * n).map(|trial| cell_state(&pinned.trials, &pinned.lost_trials, trial));
        let trials: Vec<(State, f64)> = trials.collect();
        let agree = (reduce_trials(&trials, rule).1 - whole.1).abs() <= ROUNDING * whole.1.abs().max(1.0);
        SampleCells::new(whole, if agree { trials.into() } else { Vec::new().into() }, rule)
    }

    /// Notes on differences from a run other than the systems: another dataset, judges or scorer rules. `name` is the
    /// display name of these results.
    pub(crate) fn differences(&self, name: &str, run: MeasuredRun<'_>) -> Vec<String> {
        let plan = run.plan;
        let mut differences = Vec::new();
        if !self.run.suite.is_empty() && self.run.suite != plan.suite {
            differences.push(format!("{name} belongs to the suite {}, this run to {}", self.run.suite, plan.suite));
        }
        if !self.run.dataset_hash.is_empty() && self.run.dataset_hash != plan.dataset.hash {
            differences.push(self.dataset_note(name, plan.dataset.version.as_deref()));
        }
        if let Some(course) = &self.run.stopped_after {
            differences.push(format!(
                "{name} stopped early, after {course}: it has no others, and its means lean away from the bounds of its gates"
            ));
        }
        if !self.run.instruments.is_empty() {
            differences.extend(changes(&self.run.instruments, run.instruments));
            return differences;
        }
        if !self.scorers.is_empty() {
            differences.extend(plan.scorers.iter().filter_map(|it| sample_change(self.scorers.get(&it.id)?, run, it)));
            return differences;
        }
        let judges: Vec<String> = plan.judges.iter().map(|judge| judge.id.clone()).collect();
        if !self.run.judges.is_empty() && !judges.is_empty() && self.run.judges != judges {
            differences.push(format!(
                "{name} was judged by {}, this run by {}",
                self.run.judges.join(", "),
                judges.join(", ")
            ));
        }
        for (scorer, version) in rubrics(plan) {
            if let Some(pinned) = self.run.rubrics.get(&scorer).filter(|pinned| **pinned != version) {
                differences.push(format!(
                    "{name} was judged with version {pinned} of the rubric of `{scorer}`, this run with {version}"
                ));
            }
        }
        differences
    }

    /// Describes how the instrument of a plan's metric differs from the one that measured these samples; `None` if it
    /// is the same or unknown.
    pub(crate) fn instrument_change<'a>(
        &self,
        run: MeasuredRun<'_>,
        metric: &MetricSpec,
        mut samples: impl Iterator<Item = &'a str>,
    ) -> Option<String> {
        let scorer = run.plan.scorers.get(metric.scorer);
        let of_run = || sample_change(self.scorers.get(&scorer?.id)?, run, scorer?);
        let of_sample = |sample| sample_change(self.graded.get(sample)?, run, scorer?);
        metric_change(&self.run.instruments, run, metric).or_else(of_run).or_else(|| samples.find_map(of_sample))
    }
}

impl PinnedRun {
    /// From a stored run.
    pub(crate) fn of(header: &RunHeader, instruments: &Instruments) -> Self {
        let plan = &header.plan;
        Self {
            id: header.id.clone(),
            suite: plan.suite.clone(),
            plan_hash: plan.plan_hash.to_string(),
            dataset_hash: plan.dataset.hash.clone(),
            dataset_version: plan.dataset.version.clone(),
            judges: plan.judges.iter().map(|judge| judge.id.clone()).collect(),
            rubrics: rubrics(plan).collect(),
            stopped_after: None,
            instruments: instruments.clone(),
        }
    }
}

/// The state and value pinned at a position.
fn cell_state(values: &[Option<f64>], lost: &[usize], at: usize) -> (State, f64) {
    match values.get(at).copied().flatten() {
        Some(value) => (State::Value, value),
        None if lost.binary_search(&at).is_ok() => (State::Error, 0.0),
        None => NOTHING,
    }
}

/// State of an unpinned cell.
const NOTHING: (State, f64) = (State::NotApplicable, 0.0);

fn rubrics(plan: &PlanHeader) -> impl Iterator<Item = (String, String)> {
    plan.scorers.iter().filter_map(|scorer| match &scorer.kind {
        ScorerKind::Rubric(rubric) => Some((scorer.id.clone(), rubric.rubric.version.clone()?)),
        ScorerKind::Metric { .. } => None,
    })
}

impl PinnedMetric {
    pub(crate) fn figure(value: Option<f64>, n: u64, se: Option<f64>, values: Vec<Option<f64>>) -> Self {
        Self { value, n, se, values, ..Self::default() }
    }

    /// Sets the cells of its samples and, if there are several, of their trials.
    #[must_use]
    pub(crate) fn with_cells(self, samples: &[(State, f64)], trials: &[(State, f64)]) -> Self {
        let value = |(state, value): &(State, f64)| (*state == State::Value).then_some(*value);
        let failed = |cells: &[(State, f64)]| {
            cells.iter().enumerate().filter(|(_, (state, _))| state.is_failure()).map(|(at, _)| at).collect()
        };
        Self {
            values: samples.iter().map(value).collect(),
            lost: failed(samples),
            trials: trials.iter().map(value).collect(),
            lost_trials: failed(trials),
            ..self
        }
    }

    pub(crate) fn has_values(&self) -> bool {
        self.values.iter().any(Option::is_some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::example;
    use crate::{Options, analyse};

    /// CL-24, invariant 7, formats have versions: a pinned run is read back as written.
    #[test]
    fn a_pinned_run_survives_its_file() {
        let run = example();
        let pinned = Pinned::of(&run.header, &analyse(&run, &Options::default()).unwrap());
        let text = serde_json::to_string(&pinned).unwrap();
        assert_eq!(Pinned::read(&text).unwrap(), pinned);
        let system = pinned.system("atlas-large/raw").unwrap();
        assert!(pinned.value(system, "quality.accuracy", "bridges").is_some());
        assert_eq!(pinned.value(system, "quality.accuracy", "nowhere"), None);
    }

    /// CL-24, invariant 7, formats have versions: a file of an older version is read, without trials.
    #[test]
    fn files_without_trials_are_read() {
        let old = Pinned::read(include_str!("../../../../../fixtures/baselines/before-rulers.json")).unwrap();
        let system = old.systems().next().and_then(|id| old.system(id)).unwrap();
        let sample = old.samples().next().unwrap();
        let entry = old.sample_cells(system, "quality.accuracy", sample, Reduce::Mean);
        assert_eq!((entry.value(), entry.trials()), (old.value(system, "quality.accuracy", sample), None));
        assert!(entry.value().is_some());
    }

    #[test]
    fn another_schema_is_refused_with_the_expected_one() {
        for (text, word) in [
            ("{}", "schema"),
            ("[", "JSON"),
            (r#"{"schema":"x/1"}"#, "x/1"),
            (r#"{"schema":"karat.baseline/1"}"#, "missing"),
        ] {
            let error = Pinned::read(text).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }

    /// CL-24: an edited file that contradicts itself or its metrics is refused with the place.
    #[test]
    fn impossible_numbers_are_refused() {
        let run = example();
        let pinned = Pinned::of(&run.header, &analyse(&run, &Options::default()).unwrap());
        assert_eq!(pinned.check_plan(&run.header.plan), Ok(()));
        let sound = serde_json::to_value(&pinned).unwrap();
        let refused = |at: &str, value: Value| {
            let mut changed = sound.clone();
            *changed.pointer_mut(at).unwrap() = value;
            let read = Pinned::read(&changed.to_string());
            read.and_then(|pinned| pinned.check_plan(&run.header.plan)).unwrap_err()
        };
        let metric = "/systems/0/metrics/quality.accuracy";
        for (at, value, told) in [
            (format!("{metric}/se"), serde_json::json!(-0.1), "`systems[0].metrics.quality.accuracy.se` is -0.1"),
            (format!("{metric}/value"), serde_json::json!(1.0), "the mean of its values is"),
            (format!("{metric}/value"), Value::Null, "no `value`"),
            (format!("{metric}/n"), serde_json::json!(0), "`n`"),
            (format!("{metric}/n"), serde_json::json!(400), ".n` is 400, but"),
            (format!("{metric}/values"), serde_json::json!([1.0]), "has 1 entries for"),
            (
                format!("{metric}/values/0"),
                serde_json::json!(99.0),
                "`systems[0].metrics.quality.accuracy.values[0]` is 99",
            ),
            (
                "/overall/quality.accuracy/value".to_owned(),
                serde_json::json!(-5.0),
                "`overall.quality.accuracy.value` is -5",
            ),
            ("/overall/quality.accuracy/value".to_owned(), serde_json::json!(0.0), "outside the range of the systems"),
            ("/samples/1".to_owned(), sound["samples"][0].clone(), "`samples[1]`"),
            ("/systems/1/id".to_owned(), sound["systems"][0]["id"].clone(), "`systems[1]`"),
        ] {
            let error = refused(&at, value);
            assert!(error.contains(told.trim_matches('`')) || error.contains(told), "{at}: {error}");
        }
        let twice = sound.to_string().replacen("\"n\":", "\"n\":9,\"n\":", 1);
        assert!(Pinned::read(&twice).unwrap_err().contains("\"n\" stands twice"));
        assert!(
            Pinned::read(&sound.to_string().replacen("\"n\":", "\"n\":NaN,\"m\":", 1)).unwrap_err().contains("JSON")
        );
    }
}
