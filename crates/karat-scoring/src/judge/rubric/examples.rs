//! Calibration examples: labelled outputs of other samples, with the scores that people gave.

use std::sync::OnceLock;

use karat_text::template::Context;
use karat_types::{ExampleOrder, Rubric, is_example};
use serde_json::{Map, Value, json};

use super::item::Item;

/// The labels that can be shown.
#[derive(Debug)]
pub(crate) struct Examples {
    count: usize,
    labels: Vec<Value>,
    /// By position of the label: `{claims, score, reasoning}`.
    shown: Vec<Value>,
    /// The order of the run's seed.
    order: OnceLock<(u64, ExampleOrder)>,
}

impl Examples {
    /// Reads rows `{sample, output, scores, note}`; rows without output or scores cannot be examples.
    pub fn new(rubric: &Rubric, items: &[Item], labels: &[Value]) -> Self {
        let count = rubric.examples as usize;
        let rows = if count == 0 { &[] } else { labels };
        let labels: Vec<Value> = rows.iter().filter(|row| is_example(row)).cloned().collect();
        let shown = labels.iter().map(|row| drawable(rubric, items, row)).collect();
        Self { count, labels, shown, order: OnceLock::new() }
    }

    /// The examples for one sample: drawn by the seed, never from the sample itself.
    pub fn draw(&self, seed: u64, sample: &str) -> Vec<&Value> {
        let new = || ExampleOrder::new(&self.labels, seed);
        let (known_seed, known) = self.order.get_or_init(|| (seed, new()));
        let other = (*known_seed != seed).then(new);
        let order = other.as_ref().unwrap_or(known);
        order.draw(self.count, sample).filter_map(|at| self.shown.get(at)).collect()
    }

    /// The longest ones: no draw takes more room.
    pub fn longest(&self) -> Vec<&Value> {
        let mut longest: Vec<&Value> = self.shown.iter().collect();
        longest.sort_by_cached_key(|shown| std::cmp::Reverse(shown.to_string().len()));
        longest.truncate(self.count);
        longest
    }

    /// True if any sample can be shown one.
    pub fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }
}

fn drawable(rubric: &Rubric, items: &[Item], row: &Value) -> Value {
    let part = |name: &str| row.get(name).cloned().unwrap_or_default();
    let (name, candidate) = candidate(items, &part("output"));
    let note = row.get("note").cloned().unwrap_or_else(|| json!(""));
    let members = [(name, candidate), ("score".to_owned(), part("scores")), (rubric.rationale.field.clone(), note)];
    Value::Object(Map::from_iter(members))
}

/// The shown part of a labelled output: the first value that comes from the output alone, under its own name.
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
