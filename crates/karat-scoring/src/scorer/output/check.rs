//! One check of a list: a scorer as a row's `assert` and the metric `checks` write it.

use karat_types::{Bound, Score, ScorerKind, ScorerSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::scorer::{CellView, RowJoin, Scorer, build, find_metric};

/// The keys of a check.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Check {
    /// Its name in reasons. Default: the metric's name.
    id: Option<String>,
    /// The metric.
    metric: String,
    /// Options of the metric.
    #[serde(default)]
    with: Map<String, Value>,
    /// Path of what is scored within the output.
    output: Option<String>,
    /// Path of what it is scored against within the row.
    reference: Option<String>,
    /// A literal to score against.
    value: Option<Value>,
    /// Lowest score that passes.
    min: Option<Threshold>,
    /// Highest score that passes.
    max: Option<Threshold>,
    /// The check must not hold.
    #[serde(default)]
    not: bool,
    /// Weight in the mean; 0 leaves the check out.
    #[serde(default = "one")]
    #[schemars(range(min = 0))]
    weight: f64,
}

fn one() -> f64 {
    1.0
}

/// A number, or a percentage.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Threshold {
    Number(#[serde(deserialize_with = "karat_types::json::float")] f64),
    Share(String),
}

impl Threshold {
    fn number(&self, key: &str) -> Result<f64, String> {
        let share = |text: &str| Some(text.trim().strip_suffix('%')?.trim().parse::<f64>().ok()? / 100.0);
        match self {
            Self::Number(number) => Ok(*number),
            Self::Share(text) => {
                let number = share(text).filter(|number| number.is_finite());
                number
                    .ok_or_else(|| format!("`{key}` is {text:?}, but must be a number or a percentage, such as `80%`"))
            }
        }
    }
}

/// A check that can score cells.
pub(crate) struct ReadyCheck {
    pub label: String,
    pub weight: f64,
    bound: Bound,
    /// True if its score is a pass or a fail without a bound.
    is_binary: bool,
    scorer: Box<dyn Scorer>,
}

impl Check {
    /// The name of the check in reasons.
    pub fn label(&self) -> String {
        let turned = if self.not { "not " } else { "" };
        self.id.clone().unwrap_or_else(|| format!("{turned}{}", self.metric))
    }

    /// The check, ready to score cells.
    ///
    /// # Errors
    /// A bound, a weight or an option that cannot be used, or a metric that cannot be part of a list.
    pub fn compile(self) -> Result<ReadyCheck, String> {
        let label = self.label();
        let number = |key: &str, limit: &Option<Threshold>| limit.as_ref().map(|it| it.number(key)).transpose();
        let bound = Bound { min: number("min", &self.min)?, max: number("max", &self.max)?, not: self.not };
        if !(self.weight >= 0.0 && self.weight.is_finite()) {
            return Err(format!("`weight` is {}, but must be at least 0", self.weight));
        }
        let registered = find_metric(&self.metric);
        if registered.is_some_and(|known| known.traits.outside || known.traits.embeds) {
            return Err(format!(
                "`{}` calls a service, a program or a model, which a list of checks cannot: make it a scorer of the suite",
                self.metric
            ));
        }
        let spec = ScorerSpec {
            output: self.output.unwrap_or_else(|| "$".to_owned()),
            reference: self.reference,
            value: self.value,
            bound,
            ..ScorerSpec::new(label.clone(), ScorerKind::Metric { metric: self.metric, with: self.with })
        };
        let scorer = build(&spec).map_err(|error| error.problem)?;
        let is_binary = registered.is_some_and(|known| known.traits.binary);
        Ok(ReadyCheck { label, weight: self.weight, bound, is_binary, scorer })
    }
}

impl ReadyCheck {
    /// Returns whether the row lets it apply to an output.
    pub fn applies(&self, cell: &CellView<'_>) -> bool {
        self.scorer.applies(cell).is_ok()
    }

    /// 1 if the check holds, else 0; or the reason for no decision.
    pub fn verdict(&self, cell: &CellView<'_>) -> Score {
        let score = self.raw_score(cell);
        match score.number() {
            Some(number) => Score::value(f64::from(u8::from(self.bound.passes(number)))),
            None => score,
        }
    }

    /// A score from 0 to 1: the verdict of a check with a bound, else the metric's own score.
    pub fn share(&self, cell: &CellView<'_>) -> Score {
        if self.bound.is_some() || self.is_binary {
            return self.verdict(cell);
        }
        let score = self.raw_score(cell);
        match score.number() {
            Some(number) if !(0.0..=1.0).contains(&number) => Score::unscored(format!(
                "its score is {number}, and only scores from 0 to 1 have a mean with passes and fails: add `min` or `max`"
            )),
            _ => score,
        }
    }

    fn raw_score(&self, cell: &CellView<'_>) -> Score {
        self.scorer.score(cell).pop().unwrap_or_else(|| Score::unscored("it gives no score"))
    }

    /// The files whose rows it joins with cells.
    pub fn joins(&self) -> Vec<RowJoin> {
        self.scorer.joins()
    }
}
