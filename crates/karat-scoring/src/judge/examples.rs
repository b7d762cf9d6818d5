//! Calibration examples: labelled outputs of other samples, with the scores that people gave.

use karat_text::template::Context;
use karat_types::{KeyBuilder, Rubric};
use serde_json::{Map, Value, json};

use super::setup::Item;

/// The labels that can be shown.
#[derive(Debug)]
pub(super) struct Examples {
    count: usize,
    rows: Vec<Example>,
}

#[derive(Debug)]
struct Example {
    sample: Option<String>,
    /// `{claims, score, reasoning}`.
    shown: Value,
}

impl Examples {
    /// Reads rows `{sample, output, scores, note}`; rows without output or scores cannot be examples.
    pub fn new(rubric: &Rubric, items: &[Item], labels: &[Value]) -> Self {
        let count = rubric.examples as usize;
        let rows = if count == 0 { &[] } else { labels };
        Self { count, rows: rows.iter().filter_map(|row| Example::new(rubric, items, row)).collect() }
    }

    /// The examples for one sample: drawn by the seed, never from the sample itself.
    pub fn draw(&self, seed: u64, sample: &str) -> Vec<&Value> {
        let others = self.rows.iter().filter(|row| row.sample.as_deref() != Some(sample));
        let mut drawn: Vec<_> = others.map(|row| (rank(seed, &row.shown), &row.shown)).collect();
        drawn.sort_by_key(|(rank, _)| *rank);
        drawn.into_iter().take(self.count).map(|(_, shown)| shown).collect()
    }

    /// Whether any sample can be shown one.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

fn rank(seed: u64, shown: &Value) -> karat_types::Key {
    KeyBuilder::new("karat/judge/example").number(seed).json(shown).finish()
}

impl Example {
    fn new(rubric: &Rubric, items: &[Item], row: &Value) -> Option<Self> {
        let (output, scores) = (row.get("output")?, row.get("scores").filter(|scores| scores.is_object())?);
        let (name, candidate) = candidate(items, output);
        let mut shown = Map::new();
        shown.insert(name, candidate);
        shown.insert("score".to_owned(), scores.clone());
        shown.insert(rubric.rationale.field.clone(), row.get("note").cloned().unwrap_or_else(|| json!("")));
        let sample = row.get("sample").and_then(|sample| match sample {
            Value::String(id) => Some(id.clone()),
            Value::Null => None,
            other => Some(other.to_string()),
        });
        Some(Self { sample, shown: Value::Object(shown) })
    }
}

/// What of a labelled output the judge is shown: the first value that comes from the output alone, under its own name.
fn candidate(items: &[Item], output: &Value) -> (String, Value) {
    let from_output = |item: &&Item| {
        let mut names = item.value.reads().iter();
        !item.value.reads().is_empty() && names.all(|name| name == "output" || name.starts_with("output."))
    };
    let context = Context::new().with("output", output);
    let shown = items.iter().find(from_output);
    let value = shown.and_then(|item| item.value.value(&context).ok());
    let name = shown.map_or("output", |item| item.spec.name.as_str());
    (name.to_owned(), value.unwrap_or_else(|| output.clone()))
}
