//! Content keys of steps, calls and judgments (design law 4).
//!
//! A step's key is a chain: what was read before it, what it is, what it reads of the row, which model answers, which
//! trial it is. Labels (ids of steps, variants, models, samples) are not in it unless a template shows them to a model.

use std::sync::Arc;

use karat_types::{Key, KeyBuilder, ModelSpec, PlanHeader, Sample, Slot, StepSpec};
use serde_json::Value;

/// What of a cell the templates of a step or rubric look at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Reads {
    columns: Vec<String>,
    whole_row: bool,
    input: bool,
    reference: bool,
}

impl Reads {
    /// Sorts the names that templates read: `sample.title`, `input`, `output.claims`, …
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut reads = Self::default();
        for name in names {
            match name.split_once('.') {
                Some(("sample", rest)) => {
                    let column = rest.split(['.', '[']).next().unwrap_or(rest).to_owned();
                    if !reads.columns.contains(&column) {
                        reads.columns.push(column);
                    }
                }
                None if name == "sample" => reads.whole_row = true,
                _ => match name.split('.').next() {
                    Some("input") => reads.input = true,
                    Some("reference") => reads.reference = true,
                    _ => {}
                },
            }
        }
        reads.columns.sort();
        reads
    }

    /// The content of what is read of a row.
    pub fn digest(&self, sample: &Sample) -> Key {
        let absent = Value::Null;
        let mut key = KeyBuilder::new("karat/row/1");
        if self.whole_row {
            return key.json(&sample.columns).finish();
        }
        if self.input {
            key = key.text("input").json(sample.input.as_ref().unwrap_or(&absent));
        }
        if self.reference {
            key = key.text("reference").json(sample.reference.as_ref().unwrap_or(&absent));
        }
        for column in &self.columns {
            let value = match (column.as_str(), sample.columns.get(column)) {
                (_, Some(value)) => value,
                ("id", None) => &Value::from(&*sample.id),
                _ => &absent,
            };
            key = key.text(column).json(value);
        }
        key.finish()
    }
}

/// The constant part of a step's identity for one model: computed once a run.
pub(crate) fn step_identity(step: &StepSpec, model: Option<&ModelSpec>, variant: &str, plan: &PlanHeader) -> Key {
    let mut key = KeyBuilder::new("karat/step-spec/1")
        .json(&step.version)
        .json(&step.action)
        .json(&step.chunk)
        .json(&step.parse)
        .json(&step.take)
        .json(&step.merge)
        .json(&step.parameters);
    if step.chunk.is_some() {
        key = key.text(&plan.tokenizer);
    }
    if let Some(model) = model {
        key = key.json(&model.identity());
    }
    for name in &step.reads {
        key = match name.split('.').next() {
            Some("params") => key.text(name).json(&plan.params),
            Some("variant") => key.text(variant),
            Some("model") => key.text(model.map_or("", |model| model.id.as_str())),
            _ => key,
        };
    }
    key.finish()
}

/// Key of a step prefix.
pub(crate) fn step_key(before: Key, identity: Key, row: Key, trial: u32) -> Key {
    KeyBuilder::new("karat/step/1").key(before).key(identity).key(row).number(u64::from(trial)).finish()
}

/// Key of an output that was not made but found.
pub(crate) fn recorded_key(output: &Value) -> Key {
    KeyBuilder::new("karat/recorded/1").json(output).finish()
}

/// Content of an output.
pub(crate) fn output_key(output: &Value) -> Key {
    KeyBuilder::new("karat/output/1").json(output).finish()
}

/// Key of one call of a step or judgment.
pub(crate) fn call_key(owner: Key, slot: &Slot) -> Key {
    KeyBuilder::new("karat/call/1").key(owner).text(&slot.0).finish()
}

/// The constant part of a judge's identity: rubric, parameters, examples, and who judges.
pub(crate) fn judge_identity(rubric: Key, judge: &ModelSpec, seed: u64) -> Key {
    KeyBuilder::new("karat/judge/1").key(rubric).json(&judge.identity()).number(seed).finish()
}

/// Key of a judgment.
pub(crate) fn judgment_key(judge: Key, output: Key, row: Key) -> Key {
    KeyBuilder::new("karat/judgment/1").key(judge).key(output).key(row).finish()
}

/// A seed that follows from content, so that equal content is shuffled equally.
pub(crate) fn seed_of(key: Key) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&key.0[..8]);
    u64::from_le_bytes(bytes)
}

/// Digests of one row by what is read of it, each computed at most once.
pub(crate) struct RowDigests {
    sample: Arc<Sample>,
    digests: Vec<std::sync::OnceLock<Key>>,
}

impl RowDigests {
    /// For a row and as many read sets as the run has.
    pub fn new(sample: Arc<Sample>, sets: usize) -> Self {
        Self { sample, digests: std::iter::repeat_with(std::sync::OnceLock::new).take(sets).collect() }
    }

    /// The digest for a read set.
    pub fn get(&self, sets: &[Reads], at: usize) -> Key {
        *self.digests[at].get_or_init(|| sets[at].digest(&self.sample))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sample(columns: Value) -> Sample {
        let Value::Object(columns) = columns else { panic!("columns are an object") };
        Sample {
            row: 0,
            id: "a".into(),
            input: None,
            reference: None,
            cluster: None,
            date: None,
            columns,
            metadata: serde_json::Map::new(),
        }
    }

    /// CL-07, BY-06: a gold answer that no step reads is not part of a cell's identity.
    #[test]
    fn only_what_is_read_counts() {
        let reads = Reads::new(["sample.question.text", "output.claims"]);
        let one = reads.digest(&sample(json!({"question": {"text": "q"}, "gold": 1})));
        let other = reads.digest(&sample(json!({"question": {"text": "q"}, "gold": 2})));
        let changed = reads.digest(&sample(json!({"question": {"text": "r"}, "gold": 1})));
        assert_eq!(one, other);
        assert_ne!(one, changed);
    }

    #[test]
    fn trials_never_share() {
        let key = Key::of("x", b"");
        assert_ne!(step_key(key, key, key, 0), step_key(key, key, key, 1));
    }
}
