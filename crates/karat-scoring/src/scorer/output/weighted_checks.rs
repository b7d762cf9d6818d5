//! `checks`: the weighted mean of a list of checks, which may be such lists themselves.

use karat_types::Score;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::check::{Check, ReadyCheck};
use crate::scorer::RowJoin;
use crate::scorer::metric::{Metric, MetricInput, Needs, Options};

/// Options of `checks`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Checks {
    /// The checks: scorers as in a row's `assert`, each with a `weight`. A check with a bound counts 1 or 0, another one its
    /// score from 0 to 1.
    of: Vec<Check>,
}

const NONE_APPLIES: &str = "none of the checks applies";

struct WeightedChecks(Vec<ReadyCheck>);

impl Options for Checks {
    /// The checks name their own outputs and references.
    const NEEDS: Needs = Needs::Nothing;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        if self.of.is_empty() {
            return Err("`of` names no check".to_owned());
        }
        let ready = self.of.into_iter().enumerate().map(|(at, check)| {
            let label = check.label();
            check.compile().map_err(|problem| format!("check {} of `of` ({label}): {problem}", at + 1))
        });
        let ready: Vec<ReadyCheck> = ready.collect::<Result<_, _>>()?;
        if ready.iter().all(|check| check.weight <= 0.0) {
            return Err("every check of `of` has the weight 0, so they have no mean".to_owned());
        }
        Ok(Box::new(WeightedChecks(ready)))
    }
}

impl Metric for WeightedChecks {
    /// The mean of the checks that apply, with the reason where it is below 1. A check without a decision leaves the whole
    /// unscored; one with the weight 0 is not made.
    fn score(&self, given: &MetricInput<'_>) -> Score {
        let (mut sum, mut weights, mut lacking) = (0.0, 0.0, Vec::new());
        for check in self.0.iter().filter(|check| check.weight > 0.0) {
            match check.share(given.cell) {
                Score::Value { value, .. } => {
                    sum += check.weight * value;
                    weights += check.weight;
                    if value <= 0.0 {
                        lacking.push(check.label.clone());
                    } else if value < 1.0 {
                        lacking.push(format!("{} ({value:.2})", check.label));
                    }
                }
                Score::NotApplicable { .. } => {}
                Score::Unscored { unscored } => return Score::unscored(format!("{}: {unscored}", check.label)),
            }
        }
        if weights <= 0.0 {
            return Score::not_applicable(NONE_APPLIES);
        }
        let mean = sum / weights;
        match lacking.is_empty() {
            true => Score::value(mean),
            false => Score::value_because(mean, format!("failed or below 1: {}", lacking.join(", "))),
        }
    }

    fn applies(&self, given: &MetricInput<'_>) -> Result<(), Score> {
        let counted = self.0.iter().filter(|check| check.weight > 0.0);
        let applies = counted.into_iter().any(|check| check.applies(given.cell));
        if applies { Ok(()) } else { Err(Score::not_applicable(NONE_APPLIES)) }
    }

    fn joins(&self) -> Vec<RowJoin> {
        self.0.iter().flat_map(ReadyCheck::joins).collect()
    }
}
