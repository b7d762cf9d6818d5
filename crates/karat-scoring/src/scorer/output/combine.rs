//! `combine`: one figure from scores that stand before it.

use karat_types::{MetricSpec, Score};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::scorer::metric::{Metric, MetricInput, Needs, Options, applies_if_scored};

/// Options of `combine`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Combine {
    /// Names of metrics whose scorers stand before this one: `fidelity.overall`. Judges grade later and cannot be named. Where
    /// less is better of all of them, less is better of their combination.
    of: Vec<String>,
    /// The rule that combines them.
    #[serde(default)]
    how: Combination,
}

#[derive(Deserialize, JsonSchema, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Combination {
    #[default]
    Mean,
    Sum,
    Product,
    Min,
    Max,
}

impl Options for Combine {
    const NEEDS: Needs = Needs::Nothing;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        if self.of.is_empty() {
            return Err("`of` names no metric".to_owned());
        }
        Ok(Box::new(self))
    }
}

impl Metric for Combine {
    fn applies(&self, given: &MetricInput<'_>) -> Result<(), Score> {
        applies_if_scored(self.score(given))
    }

    /// Of the scores that apply, those with a bound as the passes and fails that it makes of them; one that is unscored
    /// leaves the whole unscored. The least, the most and the product of passes and fails is one itself.
    fn score(&self, given: &MetricInput<'_>) -> Score {
        let (mut values, mut verdicts) = (Vec::with_capacity(self.of.len()), self.how.keeps_verdicts());
        for name in &self.of {
            match given.cell.so_far.get(name) {
                None => return Score::unscored(format!("no scorer before this one gives `{name}`")),
                Some((_, Score::Unscored { unscored })) => return Score::unscored(format!("{name}: {unscored}")),
                Some((_, Score::NotApplicable { .. })) => {}
                Some((metric, score @ Score::Value { value, .. })) => {
                    values.push(bounded_value(metric, *value));
                    verdicts &= score.is_verdict() || metric.binary;
                }
            }
        }
        match self.how.combine(&values) {
            None => Score::not_applicable("none of the scores applies"),
            Some(value) if verdicts => Score::verdict(value >= 1.0),
            Some(value) => Score::value(value),
        }
    }
}

/// A score as reports have it: 1 or 0 where the metric has a bound.
fn bounded_value(metric: &MetricSpec, value: f64) -> f64 {
    if metric.bound.is_some() { f64::from(u8::from(metric.bound.passes(value))) } else { value }
}

impl Combination {
    /// True if it makes a verdict of verdicts.
    fn keeps_verdicts(self) -> bool {
        matches!(self, Self::Product | Self::Min | Self::Max)
    }

    fn combine(self, values: &[f64]) -> Option<f64> {
        let reduce = |join: fn(f64, f64) -> f64| values.iter().copied().reduce(join);
        match self {
            Self::Mean => reduce(|a, b| a + b).map(|sum| sum / values.len() as f64),
            Self::Sum => reduce(|a, b| a + b),
            Self::Product => reduce(|a, b| a * b),
            Self::Min => reduce(f64::min),
            Self::Max => reduce(f64::max),
        }
    }
}
