//! Metrics of a cell's resources: time, money, tokens.

use karat_types::Score;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::scorer::metric::{Metric, MetricInput, Needs, Options};

/// Options of `latency`.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Latency {
    /// A stage that a step's `meter` names; the whole cell without it.
    stage: Option<String>,
}

impl Options for Latency {
    const NEEDS: Needs = Needs::Nothing;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        Ok(Box::new(self))
    }
}

impl Metric for Latency {
    fn score(&self, given: &MetricInput<'_>) -> Score {
        let Some(stage) = &self.stage else {
            // An output that no call made took no time, unless its row says one.
            let is_known = given.cell.latency_ms > 0.0 || !given.cell.facts.latency_ms.is_empty();
            return match (given.cell.facts.untimed, is_known) {
                (true, _) => Score::not_applicable("a batch does not say how long a call took"),
                (false, false) => Score::not_applicable("nothing says how long this output took"),
                (false, true) => Score::value(given.cell.latency_ms),
            };
        };
        match given.cell.facts.latency_ms.get(stage) {
            Some(time) => Score::value(*time),
            None => Score::not_applicable("the answer says no usable time of this stage"),
        }
    }
}

/// `cost` has no options.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Cost {}

impl Options for Cost {
    const NEEDS: Needs = Needs::Nothing;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        Ok(Box::new(self))
    }
}

impl Metric for Cost {
    fn score(&self, given: &MetricInput<'_>) -> Score {
        given.cell.cost.map_or_else(|| Score::not_applicable("the price is unknown"), |cost| Score::value(cost.usd()))
    }
}

/// Options of `tokens`.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Tokens {
    /// Which tokens.
    of: TokenKind,
}

#[derive(Deserialize, JsonSchema, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum TokenKind {
    #[default]
    Total,
    Input,
    Output,
}

impl Options for Tokens {
    const NEEDS: Needs = Needs::Nothing;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        Ok(Box::new(self))
    }
}

impl Metric for Tokens {
    fn score(&self, given: &MetricInput<'_>) -> Score {
        let usage = given.cell.usage;
        Score::value(match self.of {
            TokenKind::Total => usage.total(),
            TokenKind::Input => usage.input_tokens,
            TokenKind::Output => usage.output_tokens,
        } as f64)
    }
}
