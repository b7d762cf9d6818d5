//! The checks that a row holds for itself: a list of scorers, of which every one must pass.

use karat_types::Score;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::check::Check;
use crate::scorer::metric::{Metric, MetricInput, Needs, Options};

const NONE_APPLIES: &str = "the row has no check that applies";

/// `assert` has no options: the checks are its reference.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Checklist {}

impl Options for Checklist {
    const NEEDS: Needs = Needs::Reference;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        Ok(Box::new(self))
    }
}

impl Metric for Checklist {
    /// 1 where all hold; 0 where one fails, naming each; *unscored* where one cannot be decided and none fails.
    fn score(&self, given: &MetricInput<'_>) -> Score {
        let Value::Array(items) = given.reference else {
            return Score::unscored("the row's checks are no list");
        };
        let (mut failed, mut broken, mut applies) = (Vec::new(), None, false);
        for (at, item) in items.iter().enumerate() {
            if item.get("rubric").is_some() {
                continue; // Judges decide these: `assert.judged`.
            }
            let place = || format!("check {}", at + 1);
            let check = match Check::deserialize(item) {
                Ok(check) => check,
                Err(error) => {
                    broken = broken.or(Some(format!("{} cannot be read: {error}", place())));
                    continue;
                }
            };
            let label = check.label();
            match check.compile().map(|check| check.verdict(given.cell)) {
                Ok(Score::Value { value, .. }) => {
                    applies = true;
                    failed.extend((value < 1.0).then_some(label));
                }
                Ok(Score::NotApplicable { .. }) => {}
                Ok(Score::Unscored { unscored: why }) | Err(why) => {
                    broken = broken.or(Some(format!("{} ({label}): {why}", place())));
                }
            }
        }
        match broken {
            _ if !failed.is_empty() => Score::value_because(0.0, format!("failed: {}", failed.join(", "))),
            Some(why) => Score::unscored(why),
            None if applies => Score::value(1.0),
            None => Score::not_applicable(NONE_APPLIES),
        }
    }

    fn applies(&self, given: &MetricInput<'_>) -> Result<(), Score> {
        let Value::Array(items) = given.reference else { return Ok(()) };
        let mut checks = items.iter().filter(|item| item.get("rubric").is_none());
        // A check that cannot be read leaves the whole unscored.
        let applies = checks.any(|item| match Check::deserialize(item).map(Check::compile) {
            Ok(Ok(check)) => check.applies(given.cell),
            _ => true,
        });
        if applies { Ok(()) } else { Err(Score::not_applicable(NONE_APPLIES)) }
    }
}

#[cfg(test)]
mod tests {
    use karat_types::{Sample, ScorerSpec, Usage};
    use serde_json::{Map, json};

    use super::*;
    use crate::scorer::{CellView, build};

    fn scored(output: &str, checks: Value) -> Score {
        let columns = json!({ "assert": checks });
        let sample = Sample {
            row: 0,
            id: "s".into(),
            input: None,
            reference: None,
            cluster: None,
            date: None,
            columns: columns.as_object().cloned().unwrap_or_default(),
            metadata: Map::new(),
            only: None,
        };
        let spec = json!({
            "id": "assert", "kind": { "metric": { "metric": "assert" } }, "output": "$", "reference": "assert",
            "reduce": "mean", "aggregate": "mean"
        });
        let spec: ScorerSpec = serde_json::from_value(spec).unwrap();
        let output = json!(output);
        let cell = CellView {
            sample: &sample,
            output: &output,
            latency_ms: 1.0,
            facts: &karat_types::ResponseFacts::default(),
            cost: None,
            usage: Usage::default(),
            so_far: crate::scorer::ScoresSoFar::default(),
            joined: None,
            origin: crate::scorer::Origin::default(),
        };
        build(&spec).unwrap().score(&cell).pop().unwrap()
    }

    /// Peers: a row's own checks pass or fail its cell, and the reason names those that failed.
    #[test]
    fn every_check_of_the_row_must_hold() {
        let checks = json!([
            { "metric": "contains", "value": "Sorry", "with": { "ignore_case": true } },
            { "metric": "contains", "value": "can't", "not": true },
            { "metric": "length", "max": 40, "id": "short" },
            { "metric": "levenshtein", "value": "sorry, it is late", "min": "50%" }
        ]);
        assert_eq!(scored("sorry, it is late", checks.clone()), Score::value(1.0));
        let long = "We can't say more than this, since nothing else is known about it";
        assert_eq!(
            scored(long, checks),
            Score::value_because(0.0, "failed: contains, not contains, short, levenshtein")
        );
    }

    #[test]
    fn no_check_is_no_score_and_a_broken_one_is_said() {
        assert!(matches!(scored("x", json!([])), Score::NotApplicable { .. }));
        assert!(matches!(scored("x", Value::Null), Score::NotApplicable { .. }));
        let broken = scored("x", json!([{ "metric": "contians", "value": "x" }]));
        assert!(
            matches!(&broken, Score::Unscored { unscored } if unscored.contains("did you mean `contains`")),
            "{broken:?}"
        );
        assert!(scored("x", json!([{ "metrik": "contains" }])).is_unscored());
        assert!(scored("x", json!({ "metric": "contains" })).is_unscored());
    }
}
