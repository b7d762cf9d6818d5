//! A matrix with one metric, set value by value.

use std::collections::BTreeMap;

use karat_types::{CellError, CellStatus, Money, SampleRecord, Score};
use serde_json::{Map, Value, json};

use super::{MemoryCell, MemoryRun, cell, header, model, run_spec};

/// The content of one entry of the matrix.
#[derive(Debug, Clone)]
enum Mark {
    Score(Score),
    Error(String),
    Skipped,
}

/// `models` × `variants` systems named `model-a/variant-0`, …, on samples named `sample-0`, …, with one metric
/// `quality.overall` from 0 to 10. Entries that are not set have no row.
#[derive(Debug, Clone)]
pub struct Sketch {
    models: usize,
    variants: usize,
    samples: usize,
    trials: u32,
    clusters: Vec<String>,
    metric: Map<String, Value>,
    margin: Option<f64>,
    cost: Option<Money>,
    analyses: Vec<Value>,
    marks: BTreeMap<(usize, usize), Mark>,
    /// The content of single trials that differ from their entry.
    of_trials: BTreeMap<(usize, usize, u32), Mark>,
}

impl Sketch {
    /// An empty matrix.
    pub fn new(models: usize, variants: usize, samples: usize) -> Self {
        let (clusters, metric, analyses, marks, of_trials) = Default::default();
        let (margin, cost) = (None, None);
        Self { models, variants, samples, trials: 1, clusters, metric, margin, cost, analyses, marks, of_trials }
    }

    /// Sets a field of the metric, such as `binary`, `better`, `range`.
    #[must_use]
    pub fn metric(mut self, field: &str, value: Value) -> Self {
        self.metric.insert(field.to_owned(), value);
        self
    }

    /// Declares the smallest difference that matters.
    #[must_use]
    pub fn margin(mut self, margin: f64) -> Self {
        self.margin = Some(margin);
        self
    }

    /// Sets the cost of each cell.
    #[must_use]
    pub fn cost(mut self, cost: Money) -> Self {
        self.cost = Some(cost);
        self
    }

    /// Sets the number of trials; all trials of an entry have the same score.
    #[must_use]
    pub fn trials(mut self, trials: u32) -> Self {
        self.trials = trials;
        self
    }

    /// Names the cluster of each sample.
    #[must_use]
    pub fn clusters(mut self, names: &[&str]) -> Self {
        self.clusters = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// Adds an analysis.
    #[must_use]
    pub fn analysis(mut self, analysis: &str, id: &str, with: Value) -> Self {
        self.analyses.push(json!({ "analysis": analysis, "id": id, "with": with }));
        self
    }

    /// Sets every entry.
    #[must_use]
    pub fn fill(mut self, value: f64) -> Self {
        let systems = self.models * self.variants;
        let places = (0..self.samples).flat_map(|sample| (0..systems).map(move |system| (sample, system)));
        self.marks.extend(places.map(|place| (place, Mark::Score(Score::value(value)))));
        self
    }

    /// Sets the score of a sample × system.
    #[must_use]
    pub fn value(self, sample: usize, system: usize, value: f64) -> Self {
        self.mark(sample, system, Mark::Score(Score::value(value)))
    }

    /// Sets the score of one trial of an existing entry.
    #[must_use]
    pub fn trial_value(mut self, (sample, system, trial): (usize, usize, u32), value: f64) -> Self {
        self.of_trials.insert((sample, system, trial), Mark::Score(Score::value(value)));
        self
    }

    /// Lets one trial of an existing entry fail.
    #[must_use]
    pub fn trial_error(mut self, (sample, system, trial): (usize, usize, u32), code: &str) -> Self {
        self.of_trials.insert((sample, system, trial), Mark::Error(code.to_owned()));
        self
    }

    /// Marks an entry whose scorer failed.
    #[must_use]
    pub fn unscored(self, sample: usize, system: usize) -> Self {
        self.mark(sample, system, Mark::Score(Score::unscored("the scorer failed")))
    }

    /// Marks an entry to which the metric does not apply.
    #[must_use]
    pub fn not_applicable(self, sample: usize, system: usize) -> Self {
        self.mark(sample, system, Mark::Score(Score::not_applicable("no reference")))
    }

    /// Marks an entry whose cell failed.
    #[must_use]
    pub fn error(self, sample: usize, system: usize, code: &str) -> Self {
        self.mark(sample, system, Mark::Error(code.to_owned()))
    }

    /// Marks an entry whose cell was skipped.
    #[must_use]
    pub fn skipped(self, sample: usize, system: usize) -> Self {
        self.mark(sample, system, Mark::Skipped)
    }

    /// Removes an entry's row.
    #[must_use]
    pub fn absent(mut self, sample: usize, system: usize) -> Self {
        self.marks.remove(&(sample, system));
        self
    }

    fn mark(mut self, sample: usize, system: usize, mark: Mark) -> Self {
        self.marks.insert((sample, system), mark);
        self
    }

    /// The run.
    pub fn run(&self) -> MemoryRun {
        let sample = |row: usize| SampleRecord {
            row: row as u64,
            id: format!("sample-{row}"),
            cluster: self.clusters.get(row).cloned(),
            ..SampleRecord::default()
        };
        let places =
            self.marks.iter().flat_map(|(place, mark)| (0..self.trials).map(move |trial| (place, trial, mark)));
        MemoryRun {
            header: header(self.plan()),
            samples: (0..self.samples).map(sample).collect(),
            cells: places.map(|((sample, system), trial, mark)| self.cell(*sample, *system, trial, mark)).collect(),
            outputs: BTreeMap::new(),
        }
    }

    fn cell(&self, sample: usize, system: usize, trial: u32, mark: &Mark) -> MemoryCell {
        let per_row = self.models * self.variants * self.trials as usize;
        let ordinal = sample * per_row + system * self.trials as usize + trial as usize;
        let mut record = cell(ordinal as u64);
        record.cost.cost = self.cost;
        match self.of_trials.get(&(sample, system, trial)).unwrap_or(mark) {
            Mark::Score(score) => record.scores = vec![(0, score.clone())],
            Mark::Skipped => record.status = CellStatus::Skipped,
            Mark::Error(code) => {
                record.status = CellStatus::Error;
                record.error = Some(CellError::new(code.clone(), format!("the call failed with {code}")));
            }
        }
        MemoryCell { sample, system, trial, cell: record, judgments: Vec::new() }
    }

    fn plan(&self) -> Value {
        let letter = |at: usize| char::from(b'a' + (at % 26) as u8);
        let models = (0..self.models).map(|at| model(&format!("model-{}", letter(at)), json!("unmetered")));
        let variant = |at: usize| json!({ "id": format!("variant-{at}"), "steps": [] });
        let systems = (0..self.models).flat_map(|model| (0..self.variants).map(move |variant| (model, variant)));
        let mut metric = json!({ "name": "quality.overall", "scorer": 0, "range": [0.0, 10.0], "aggregate": "mean" });
        for (field, value) in &self.metric {
            metric[field] = value.clone();
        }
        let system = |(model, variant)| json!({ "model": model, "variant": variant, "trials": self.trials });
        json!({
            "schema": "karat.plan/1",
            "suite": "sketch",
            "suite_hash": "00",
            "plan_hash": "000102030405060708090a0b0c0d0e0f",
            "dataset": {
                "rows": self.samples, "hash": "00", "sources": [], "clustered": !self.clusters.is_empty()
            },
            "models": models.collect::<Vec<_>>(),
            "judges": [],
            "variants": (0..self.variants).map(variant).collect::<Vec<_>>(),
            "systems": systems.map(system).collect::<Vec<_>>(),
            "trials": self.trials,
            "scorers": [{
                "id": "quality", "kind": { "metric": { "metric": "length" } }, "output": "$",
                "reduce": "mean", "aggregate": "mean", "margin": self.margin
            }],
            "metrics": [metric],
            "analyses": self.analyses,
            "run": run_spec(),
            "tokenizer": "o200k_base"
        })
    }
}
