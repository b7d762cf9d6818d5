//! Collects the samples and outputs of a source, and makes the suite of them.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::output::Output;
use super::scores::{BY, OUTPUTS, ScoreNames, given_id};
use crate::draft::{Draft, Rows};
use crate::error::ImportError;
use crate::report::Shape;
use crate::text::names::Names;

/// Columns that mean something to a suite.
const RESERVED: [&str; 5] = ["id", "input", "reference", "assert", "only"];

/// Largest number of a trial: more are a mistake, and would each be planned.
const MAX_TRIALS: u32 = 10_000;

/// Longest text, in characters, that is stored with the results for slices.
const SLICED: usize = 80;

/// A row of the dataset.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample {
    pub id: String,
    pub input: Option<Value>,
    pub reference: Option<Value>,
    pub columns: Map<String, Value>,
    /// Columns by which reports may be sliced. A name that is taken becomes `metadata_NAME`.
    pub metadata: Map<String, Value>,
}

/// A sample in the light of those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    New,
    /// The same sample came before.
    Same,
    /// Another sample with this id came before, and stays.
    Differs,
}

/// Samples and outputs, written while the source is read.
pub(crate) struct Recording {
    /// Name of the source, for problems.
    source: String,
    rows: Rows,
    /// Hash of the row by its sample's id.
    samples: HashMap<String, blake3::Hash>,
    names: Names,
    variants: Vec<(String, Rows)>,
    scores: ScoreNames,
    seen: Seen,
    /// Columns for slices.
    metadata: Vec<MetadataColumn>,
    outputs: u64,
    trials: u32,
}

/// A column by which reports may be sliced.
#[derive(Debug)]
struct MetadataColumn {
    name: String,
    /// True if all of its values are short.
    fits: bool,
    /// True if some row has a value that is not null.
    has_value: bool,
}

/// The keys that some row has.
#[derive(Debug, Default)]
struct Seen {
    input: bool,
    reference: bool,
    error: bool,
    latency: bool,
    tokens: bool,
    several_models: bool,
    cost: bool,
}

impl Recording {
    /// Opens the dataset's file.
    pub fn open(draft: &Draft<'_>) -> Result<Self, ImportError> {
        Ok(Self {
            source: draft.report.source.name.clone(),
            rows: draft.rows("data/samples.jsonl")?,
            samples: HashMap::new(),
            names: Names::default(),
            variants: Vec::new(),
            scores: ScoreNames::default(),
            seen: Seen::default(),
            metadata: Vec::new(),
            outputs: 0,
            trials: 1,
        })
    }

    /// Adds a variant and returns its position.
    pub fn add_variant(&mut self, draft: &Draft<'_>, wish: &str) -> Result<usize, ImportError> {
        let id = self.names.take(wish, "recorded");
        let rows = draft.rows(&format!("data/outputs/{id}.jsonl"))?;
        self.variants.push((id, rows));
        Ok(self.variants.len() - 1)
    }

    /// The id of a variant.
    pub fn variant_id(&self, variant: usize) -> &str {
        self.variants.get(variant).map_or("", |(id, _)| id)
    }

    /// The id of the scorer for a score of the source, if some output has it.
    pub fn scorer_id(&self, score: &str) -> Option<String> {
        self.scores.find(score).map(given_id)
    }

    /// Writes a sample, once an id.
    pub fn add_sample(&mut self, sample: Sample) -> Result<Known, ImportError> {
        let Sample { id, input, reference, columns, metadata } = sample;
        let (has_input, has_reference) = (input.is_some(), reference.is_some());
        let mut row = Map::from_iter([("id".to_owned(), json!(id))]);
        row.extend(input.map(|input| ("input".to_owned(), input)));
        row.extend(reference.map(|reference| ("reference".to_owned(), reference)));
        row.extend(columns);
        let mut sliced = Vec::new();
        for (key, value) in metadata {
            let is_taken = row.contains_key(&key) || RESERVED.contains(&key.as_str());
            let key = if is_taken { format!("metadata_{key}") } else { key };
            sliced.push(key.clone());
            row.insert(key, value);
        }
        let row = Value::Object(row);
        let hash = blake3::hash(row.to_string().as_bytes());
        if let Some(known) = self.samples.get(&id) {
            return Ok(if *known == hash { Known::Same } else { Known::Differs });
        }
        self.samples.insert(id, hash);
        self.seen.input |= has_input;
        self.seen.reference |= has_reference;
        for key in sliced {
            self.note_metadata(&key, row.get(&key).unwrap_or(&Value::Null));
        }
        self.rows.push(&row)?;
        Ok(Known::New)
    }

    fn note_metadata(&mut self, key: &str, value: &Value) {
        let is_name = key.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
        let is_short = match value {
            Value::String(text) => text.chars().count() <= SLICED,
            Value::Array(_) | Value::Object(_) => false,
            _ => true,
        };
        let has_value = !value.is_null();
        match self.metadata.iter_mut().find(|known| known.name == key) {
            Some(known) => {
                known.fits &= is_short;
                known.has_value |= has_value;
            }
            None => self.metadata.push(MetadataColumn { name: key.to_owned(), fits: is_name && is_short, has_value }),
        }
    }

    /// Writes an output of a variant.
    ///
    /// # Errors
    /// A trial's number beyond [`MAX_TRIALS`]; a file that cannot be written.
    pub fn add_output(&mut self, variant: usize, output: &Output) -> Result<(), ImportError> {
        if output.trial > MAX_TRIALS {
            let problem =
                format!("has the trial {} of `{}`; expected at most {MAX_TRIALS}", output.trial, output.sample);
            return Err(ImportError::new(&self.source, problem));
        }
        let scores: Map<_, _> =
            output.scores.iter().map(|(name, score)| (self.scores.of(name), score.clone())).collect();
        let reasons =
            output.reasons.iter().map(|(name, reason)| (self.scores.of_reason(name), json!(reason))).collect();
        self.seen.error |= output.error.is_some();
        self.seen.latency |= output.latency_ms.is_some();
        self.seen.cost |= output.cost_usd.is_some();
        self.seen.tokens |= output.usage.len() == 1;
        self.seen.several_models |= output.usage.len() > 1;
        self.trials = self.trials.max(output.trial);
        self.outputs += 1;
        match self.variants.get_mut(variant) {
            Some((_, rows)) => rows.push(&output.to_row(scores, reasons)),
            None => Ok(()),
        }
    }

    /// True if some sample has a reference.
    pub fn has_reference(&self) -> bool {
        self.seen.reference
    }

    /// The number of outputs so far.
    pub fn outputs(&self) -> u64 {
        self.outputs
    }

    /// Ends the files and fills the suite. Scorers that the draft has already come before the given ones.
    pub fn close(self, draft: &mut Draft<'_>) -> Result<(), ImportError> {
        let step = self.step();
        self.rows.finish()?;
        let mut dataset = json!({"source": "data/samples.jsonl", "id": "id"});
        for (role, is_seen) in [("input", self.seen.input), ("reference", self.seen.reference)] {
            if is_seen {
                dataset[role] = json!(role);
            }
        }
        let metadata: Vec<_> = self.metadata.iter().filter(|it| it.fits && it.has_value).map(|it| &it.name).collect();
        if !metadata.is_empty() {
            dataset["metadata"] = json!(metadata);
        }
        if let Value::Object(dataset) = dataset {
            draft.suite.dataset.extend(dataset);
        }
        for (id, rows) in self.variants {
            rows.finish()?;
            draft.suite.variants.insert(id, json!([step]));
        }
        draft.suite.scorers.extend(self.scores.scorers(self.trials));
        if self.trials > 1 {
            draft.suite.run.insert("trials".to_owned(), json!(self.trials));
        }
        // Errors in the outputs are the source's, and no reason to fail.
        draft.suite.policy.insert("max_errors".to_owned(), json!("100%"));
        draft.report.shape = Shape::Recorded;
        draft.report.counts.samples = self.samples.len() as u64;
        draft.report.counts.systems = draft.suite.variants.len() as u64;
        draft.report.counts.outputs = self.outputs;
        draft.report.counts.checks = draft.suite.scorers.len() as u64;
        Ok(())
    }

    /// The step of every variant.
    fn step(&self) -> Value {
        let mut recorded = json!({"from": OUTPUTS, "by": BY, "column": "output"});
        if self.trials > 1 {
            recorded["trial"] = json!("trial");
        }
        if self.seen.error {
            recorded["error"] = json!("error");
        }
        // Some samples have fewer outputs than others, or none.
        if self.outputs != self.samples.len() as u64 * self.variants.len() as u64 * u64::from(self.trials) {
            recorded["missing"] = json!("skip");
        }
        let mut meter = Map::new();
        if self.seen.latency {
            meter.insert("latency_ms".to_owned(), json!({"total": "latency_ms"}));
        }
        let one = json!({"model": "$.model", "input": "input_tokens", "output": "output_tokens"});
        let mut several = one.clone();
        several["each"] = json!("usage");
        let kinds = [(self.seen.tokens, one), (self.seen.several_models, several)];
        let tokens: Vec<_> = kinds.into_iter().filter(|(is_seen, _)| *is_seen).map(|(_, tokens)| tokens).collect();
        if !tokens.is_empty() {
            meter.insert("tokens".to_owned(), json!(tokens));
        }
        if self.seen.cost {
            meter.insert("cost_usd".to_owned(), json!("cost_usd"));
        }
        let mut step = json!({"recorded": recorded});
        if !meter.is_empty() {
            step["meter"] = Value::Object(meter);
        }
        step
    }
}
