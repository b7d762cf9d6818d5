//! Deterministic scorers: a registered metric, bound to a place in the output and to a reference.
//!
//! [`catalog`] lists the metrics and their options; [`build`] makes a scorer from a suite's [`ScorerSpec`];
//! [`Scorer::score`] returns a cell's raw values. Bounds, `not` and the reduction over trials are up to the caller.
//!
//! Map: `registry` is the list of metrics, `metric` their interface, `bound` connects a metric to output, reference and
//! options, `joined` to rows of files; `output/`, `evidence/` and `tools/` are the metrics. A new metric needs a file in one of them and an entry in `registry`.
//!
//! Scores where there is nothing to compare (rule 8 of the suite language):
//!
//! - no reference: *not applicable*;
//! - an output that is not there or cannot be read: the scale's lowest, with the reason;
//! - a part that a service, program or record leaves out: *unscored*, with the reason;
//! - a reference or option that cannot be used: *unscored*.
//!
//! ```
//! use karat_scoring::scorer::{CellView, build};
//! use karat_types::{ResponseFacts, Sample, ScorerSpec, Usage};
//! use serde_json::json;
//!
//! let spec: ScorerSpec = serde_json::from_value(json!({
//!     "id": "polite", "kind": {"metric": {"metric": "contains", "with": {"ignore_case": true}}},
//!     "output": "$", "value": "sorry", "reduce": "mean", "aggregate": "mean",
//! }))?;
//! let sample = Sample {
//!     row: 0, id: "s1".into(), input: None, reference: None, cluster: None, date: None,
//!     columns: Default::default(), metadata: Default::default(), only: None,
//! };
//! let output = json!("Sorry, that is late.");
//! let facts = ResponseFacts::default();
//! let cell = CellView {
//!     sample: &sample, output: &output, latency_ms: 12.0, facts: &facts, cost: None, usage: Usage::default(),
//!     so_far: Default::default(), joined: None, origin: Default::default(),
//! };
//! assert_eq!(build(&spec)?.score(&cell)[0].number(), Some(1.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bound;
mod evidence;
mod joined;
mod metric;
mod output;
mod registry;
#[cfg(test)]
mod tests;
mod tools;

use std::collections::BTreeMap;

use karat_types::{
    MetricSpec, MetricTraits, Money, Request, ResponseFacts, Sample, Score, ScorerKind, ScorerSpec, Usage,
};
use serde_json::Value;

use bound::BoundMetric;
pub use joined::{JoinedRows, RowJoin};

/// Scores cells.
///
/// Contract: one score per dimension of the catalog's entry, in that order (one where the entry has no dimension); the
/// same cell gives the same scores; it never fails, but answers *not applicable* or *unscored*.
pub trait Scorer: Send + Sync {
    /// The scores of a cell that has an output.
    fn score(&self, cell: &CellView<'_>) -> Vec<Score>;

    /// Asked before there is an output: the error is the score of every output of the row, where the row alone makes the
    /// scorer not applicable. It looks at nothing of the cell but its sample, its joined rows and the scores of earlier
    /// scorers.
    fn applies(&self, cell: &CellView<'_>) -> Result<(), Score>;

    /// The request to a service or program for the cell's one score, where the scorer does not compute it itself; the error
    /// is the score of a cell about which nothing has to be asked.
    fn ask(&self, cell: &CellView<'_>) -> Option<Result<Request, Score>>;

    /// The score in the answer to what was asked.
    fn read(&self, answer: &str) -> Score;

    /// The texts whose vectors the cell's one score rests on, where the scorer compares vectors; the error is the score of a
    /// cell of which nothing has to be asked.
    fn embed(&self, cell: &CellView<'_>) -> Option<Result<EmbeddingTexts, Score>>;

    /// The same before there is an output: [`CellView::output`] stands in place of what the output will have at its path.
    fn embed_ahead(&self, cell: &CellView<'_>) -> Option<EmbeddingTexts>;

    /// The score of vectors of length 1: the output's, and those of the references in their order.
    fn compare(&self, output: &[f32], references: &[&[f32]]) -> Score;

    /// The files whose rows it joins with cells: it looks for them in [`CellView::joined`].
    fn joins(&self) -> Vec<RowJoin>;
}

/// Texts that a model has to turn into vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingTexts {
    /// The model by its id.
    pub model: String,
    /// Length of the vectors; the model's own without it.
    pub dimensions: Option<u32>,
    /// The text of the output; not empty.
    pub output: String,
    /// The texts that it is compared with: at least one, none empty.
    pub references: Vec<String>,
}

/// The part of a cell that a scorer sees.
#[derive(Debug, Clone, Copy)]
pub struct CellView<'a> {
    /// The sample.
    pub sample: &'a Sample,
    /// The output.
    pub output: &'a Value,
    /// Time of its calls in milliseconds; of the original calls when they were reused.
    pub latency_ms: f64,
    /// Times by stage, as the answers reported them.
    pub facts: &'a ResponseFacts,
    /// The cost of its calls; `None` when a price is unknown.
    pub cost: Option<Money>,
    /// Tokens of its calls.
    pub usage: Usage,
    /// The scores of the scorers before this one.
    pub so_far: ScoresSoFar<'a>,
    /// The rows of files that belong to the cell; `None` where no files are read.
    pub joined: Option<&'a dyn JoinedRows>,
    /// The origin of the output.
    pub origin: Origin,
}

/// The origin of an output: it decides how a part is scored that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    /// A model wrote it: a part that it was asked for and left out scores lowest.
    #[default]
    Model,
    /// It was recorded as it is: a part that it does not name is unscored.
    Record,
    /// A service or program sent it, or a step took parts of a record: a part that is null or not named is unscored.
    Service,
}

/// Scores that a cell has already, by the name of their metric.
#[derive(Debug, Clone, Copy, Default)]
pub struct ScoresSoFar<'a> {
    /// The plan's metrics.
    pub metrics: &'a [MetricSpec],
    /// Scores, each with the index of its metric.
    pub scores: &'a [(u16, Score)],
}

impl<'a> ScoresSoFar<'a> {
    /// A metric with its score; `None` where no scorer before gives it.
    pub fn get(&self, metric: &str) -> Option<(&'a MetricSpec, &'a Score)> {
        let known = self.scores.iter().filter_map(|(at, score)| Some((self.metrics.get(usize::from(*at))?, score)));
        known.into_iter().find(|(it, _)| it.name == metric)
    }
}

/// A registered metric.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricEntry {
    /// One line about it.
    pub about: &'static str,
    /// JSON Schema of its `with`. A text property with `"format": "file"` names a file; the plan holds its content.
    pub options: Value,
    /// The traits that suites and plans go by.
    pub traits: MetricTraits,
}

/// A registered metric.
fn find_metric(name: &str) -> Option<&'static registry::Registered> {
    registry::METRICS.iter().find(|known| known.name == name)
}

/// Every registered metric, by name.
pub fn catalog() -> BTreeMap<&'static str, MetricEntry> {
    registry::METRICS.iter().map(|metric| (metric.name, metric.entry())).collect()
}

/// A scorer that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the scorer `{scorer}` cannot be made: {problem}")]
pub struct OptionsError {
    /// Its id.
    pub scorer: String,
    /// The problem, and what to do.
    pub problem: String,
}

/// Makes the scorer of a metric.
///
/// # Errors
/// An unknown metric, options that it does not have, a path or template that cannot be read; a rubric, which is
/// [`RubricJudge`](crate::judge::RubricJudge)'s.
pub fn build(spec: &ScorerSpec) -> Result<Box<dyn Scorer>, OptionsError> {
    let wrong = |problem: String| OptionsError { scorer: spec.id.clone(), problem };
    let ScorerKind::Metric { metric, with } = &spec.kind else {
        return Err(wrong("it has a rubric, so a judge grades it".to_owned()));
    };
    let registered = find_metric(metric).ok_or_else(|| {
        let known = registry::METRICS.iter().map(|known| known.name);
        let hint = karat_text::similar::nearest(metric, known).map(|near| format!("; did you mean `{near}`?"));
        wrong(format!("there is no metric `{metric}`{}", hint.unwrap_or_default()))
    })?;
    let bound = BoundMetric::new(registered, spec, with).map_err(wrong)?;
    Ok(Box::new(bound))
}
