//! `summary`: structured summaries against references.

use karat_types::Score;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::metrics::summary::{
    BROKEN_CANDIDATE, DIMENSIONS, Fidelity, MISSING_CANDIDATE, MomentOverlap, Summary, Weights,
};
use crate::scorer::metric::{Metric, MetricInput, Needs, Options};

/// The dimensions and the overall.
pub(crate) static FIGURES: &[&str] =
    &[DIMENSIONS[0], DIMENSIONS[1], DIMENSIONS[2], DIMENSIONS[3], DIMENSIONS[4], "overall"];

/// Options of `summary`. Output and reference are objects `{title, summary, key_actions[], outcome,
/// aha_moments[{seq, type}]}` or their JSON text. An output that is none, like an absent one, is 0 in every dimension.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SummaryOptions {
    /// The weight of each dimension in the overall; they must sum to 1.
    weights: WeightOptions,
    /// The comparison of moments: by their types, or by their positions.
    overlap: OverlapOption,
    /// The largest distance of two positions that match.
    tolerance: u64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct WeightOptions {
    title: f64,
    summary: f64,
    key_actions: f64,
    outcome: f64,
    aha_moments: f64,
}

impl Default for WeightOptions {
    fn default() -> Self {
        let Weights { title, summary, key_actions, outcome, aha_moments } = Weights::default();
        Self { title, summary, key_actions, outcome, aha_moments }
    }
}

#[derive(Deserialize, JsonSchema, Default, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum OverlapOption {
    #[default]
    Type,
    Position,
}

impl Options for SummaryOptions {
    const NEEDS: Needs = Needs::Reference;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        let WeightOptions { title, summary, key_actions, outcome, aha_moments } = self.weights;
        let overlap = match (self.overlap, self.tolerance) {
            (OverlapOption::Position, tolerance) => MomentOverlap::Position { tolerance },
            (OverlapOption::Type, 0) => MomentOverlap::Type,
            (OverlapOption::Type, _) => return Err("`tolerance` belongs to `overlap: position`".to_owned()),
        };
        let weights = Weights { title, summary, key_actions, outcome, aha_moments };
        let fidelity = Fidelity::new(weights, overlap).map_err(|error| error.to_string())?;
        Ok(Box::new(fidelity))
    }
}

impl Metric for Fidelity {
    fn score(&self, given: &MetricInput<'_>) -> Score {
        self.scores(given).pop().unwrap_or_else(|| Score::unscored("there is no overall"))
    }

    fn scores(&self, given: &MetricInput<'_>) -> Vec<Score> {
        let all = |score: Score| vec![score; FIGURES.len()];
        let reference = match read(given.reference) {
            Ok(reference) => reference,
            Err(error) => return all(Score::unscored(format!("the reference is not a summary: {error}"))),
        };
        if is_absent(given.output) {
            return all(Score::value_because(0.0, MISSING_CANDIDATE));
        }
        let candidate = match read(given.output) {
            Ok(candidate) => candidate,
            Err(error) => return all(Score::value_because(0.0, format!("{BROKEN_CANDIDATE}: {error}"))),
        };
        let scored = Self::score(self, &given.cell.sample.id, &reference, &candidate);
        let dimensions = scored.dimensions.into_iter().map(|found| Score::value_because(found.score, found.reason));
        dimensions.chain([Score::value(scored.overall)]).collect()
    }
}

/// A summary is an object, or its JSON text. A list would be taken for its fields in order.
fn read(value: &Value) -> Result<Summary, String> {
    match value {
        Value::Object(_) => Summary::deserialize(value).map_err(|error| error.to_string()),
        Value::String(text) => {
            let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
            if value.is_string() { Err("it is not an object".to_owned()) } else { read(&value) }
        }
        _ => Err("it is not an object".to_owned()),
    }
}

/// True if it is the output of a recorded step that has no recording.
fn is_absent(output: &Value) -> bool {
    output.is_null() || output.as_str().is_some_and(|text| text.trim().is_empty())
}
