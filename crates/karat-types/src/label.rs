//! Labels: people's scores of outputs, one row of a labels file each.
//!
//! One file serves several purposes: rows with an output may be shown to a judge as examples, and those that no judge has seen
//! measure it (agreement, human anchor, calibration). Only this module decides which rows are shown.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Key, KeyBuilder, output_key};

/// One person's scores of one output.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Label {
    /// Id of the sample.
    #[serde(deserialize_with = "text_of_any")]
    pub sample: String,
    /// The model whose output was scored; any without it.
    #[serde(default)]
    pub model: Option<String>,
    /// The variant whose output was scored; any without it.
    #[serde(default)]
    pub variant: Option<String>,
    /// The annotator; all labels without a name count as one rater.
    #[serde(default, alias = "rater")]
    pub annotator: Option<String>,
    /// The output that was scored, where the label names it: then it says nothing of any other.
    #[serde(default)]
    pub output: Option<Value>,
    /// By metric, or by its last part: a number, true or false, or the word of a choice.
    pub scores: BTreeMap<String, Value>,
}

impl Label {
    /// A row of a labels file; `None` for one without sample or scores.
    pub fn from_row(row: &Value) -> Option<Self> {
        Self::deserialize(row).ok()
    }

    /// The sample that a row of a labels file is about.
    pub fn sample_of(row: &Value) -> Option<String> {
        match row.get("sample")? {
            Value::String(id) => Some(id.clone()),
            Value::Number(id) => Some(id.to_string()),
            _ => None,
        }
    }

    /// Returns true if it is about this output of a sample, given the content key of the output.
    pub fn applies_to(&self, output: Key) -> bool {
        self.output.as_ref().is_none_or(|scored| output_key(scored) == output)
    }
}

/// Ids may be numbers in a file.
fn text_of_any<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(serde::de::Error::custom("`sample` is the id of a sample: a text or a number")),
    }
}

/// The rows that can be shown to a judge as examples, in the order in which a seed draws them: by content.
#[derive(Debug)]
pub struct ExampleOrder(Vec<(usize, Option<String>)>);

impl ExampleOrder {
    /// Reads the rows of a labels file. This hashes each, so it is done once.
    pub fn new(labels: &[Value], seed: u64) -> Self {
        let examples = labels.iter().enumerate().filter(|(_, row)| is_example(row));
        let mut order: Vec<(Key, usize)> = examples.map(|(at, row)| (rank(seed, row), at)).collect();
        order.sort_unstable();
        Self(order.into_iter().map(|(_, at)| (at, labels.get(at).and_then(Label::sample_of))).collect())
    }

    /// Positions of the first rows that are not of a sample.
    pub fn draw(&self, count: usize, sample: &str) -> impl Iterator<Item = usize> {
        self.0.iter().filter(move |(_, of)| of.as_deref() != Some(sample)).take(count).map(|(at, _)| *at)
    }
}

/// Positions of the rows that are shown as examples to any judgment: they cannot measure the judge.
pub fn all_drawn_examples(labels: &[Value], count: usize, seed: u64) -> BTreeSet<usize> {
    let order = ExampleOrder::new(labels, seed);
    let mut shown: BTreeSet<usize> = order.draw(count, "").collect();
    // Only where the sample is one of the shown does leaving it out bring another in.
    let samples: BTreeSet<String> = shown.iter().filter_map(|at| Label::sample_of(labels.get(*at)?)).collect();
    shown.extend(samples.iter().flat_map(|sample| order.draw(count, sample)));
    shown
}

/// Returns true if a row can be shown as an example: it has an output and its scores.
pub fn is_example(row: &Value) -> bool {
    row.get("output").is_some() && row.get("scores").is_some_and(Value::is_object)
}

fn rank(seed: u64, row: &Value) -> Key {
    KeyBuilder::new("karat/judge/example/2").number(seed).json(row).finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rows(n: usize) -> Vec<Value> {
        (0..n).map(|at| json!({ "sample": format!("s{at}"), "output": at, "scores": { "q": at } })).collect()
    }

    /// CL-12: examples are drawn by the seed and never come from the sample that is judged.
    #[test]
    fn examples_are_of_other_samples() {
        let rows = rows(6);
        let draw_examples = |rows: &[Value], count, seed, sample: &str| -> Vec<usize> {
            ExampleOrder::new(rows, seed).draw(count, sample).collect()
        };
        for at in 0..6 {
            let drawn = draw_examples(&rows, 2, 7, &format!("s{at}"));
            assert!(drawn.len() == 2 && !drawn.contains(&at), "{at}: {drawn:?}");
        }
        assert_eq!(draw_examples(&rows, 2, 7, "s9"), draw_examples(&rows, 2, 7, "other"));
        assert!((0..20).any(|seed| draw_examples(&rows, 2, seed, "") != draw_examples(&rows, 2, 7, "")));
    }

    /// BY-03, CL-12: every row that any judgment is shown is known, so that the others are unseen.
    #[test]
    fn shown_rows_are_those_that_any_sample_draws() {
        let rows = rows(9);
        let order = ExampleOrder::new(&rows, 3);
        let all: BTreeSet<usize> = (0..9).flat_map(|at| order.draw(2, &format!("s{at}")).collect::<Vec<_>>()).collect();
        assert_eq!(all_drawn_examples(&rows, 2, 3), all);
        assert!(all.len() < 5 && all_drawn_examples(&rows, 0, 3).is_empty());
    }

    #[test]
    fn a_label_that_names_its_output_is_about_no_other() {
        let label = Label::from_row(&json!({ "sample": 7, "output": { "a": 1 }, "scores": { "q": "yes" } })).unwrap();
        assert_eq!(label.sample, "7");
        assert!(label.applies_to(output_key(&json!({ "a": 1 }))) && !label.applies_to(output_key(&json!({ "a": 2 }))));
        assert_eq!(Label::from_row(&json!({ "sample": "x" })), None);
    }
}
