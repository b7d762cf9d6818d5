//! Content keys of steps, calls and judgments (design law 4).
//!
//! A step's key is a chain: what was read before it, what it is, what it reads of the row, which model answers, which
//! trial it is. Labels (ids of steps, variants, models, samples) are not in it unless a template shows them to a model.

use std::borrow::Cow;
use std::sync::Arc;

use karat_types::{Key, KeyBuilder, Sample, Slot, output_key};
use serde_json::Value;

/// Names of the roles among what is read. No column's, since templates reach columns through `sample`.
const INPUT: &str = "{{ input }}";
const REFERENCE: &str = "{{ reference }}";

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

    /// What any of several read sets looks at.
    pub fn united<'a>(sets: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut all = Self::default();
        for set in sets {
            all.whole_row |= set.whole_row;
            all.input |= set.input;
            all.reference |= set.reference;
            all.columns.extend(set.columns.iter().cloned());
        }
        all.columns.sort();
        all.columns.dedup();
        all
    }

    /// Whether something of this name, as [`Self::digests`] gives it, is read.
    pub fn has(&self, name: &str) -> bool {
        match name {
            INPUT => self.input,
            REFERENCE => self.reference,
            column => self.whole_row || self.columns.iter().any(|known| known == column),
        }
    }

    /// The content of what is read of a row.
    pub fn digest(&self, sample: &Sample) -> Key {
        let key = KeyBuilder::new("karat/row/1");
        if self.whole_row {
            return key.json(&sample.columns).finish();
        }
        self.named(sample).fold(key, |key, (name, value)| key.text(name).value(&value)).finish()
    }

    /// The same by name: a digest of each part, and of every column where the whole row is read.
    pub fn digests(&self, sample: &Sample) -> Vec<(String, Key)> {
        let unread = sample.columns.iter().filter(|(name, _)| self.whole_row && !self.columns.contains(name));
        let unread = unread.map(|(name, value)| (name.as_str(), Cow::Borrowed(value)));
        let digest = |value: &Value| KeyBuilder::new("karat/column/1").value(value).finish();
        self.named(sample).chain(unread).map(|(name, value)| (name.to_owned(), digest(&value))).collect()
    }

    /// What is read, by its name: a role's, or a column's.
    fn named<'a>(&'a self, sample: &'a Sample) -> impl Iterator<Item = (&'a str, Cow<'a, Value>)> {
        let or_null = |value: Option<&'a Value>| value.map_or(Cow::Owned(Value::Null), Cow::Borrowed);
        let input = self.input.then(|| (INPUT, or_null(sample.input.as_ref())));
        let reference = self.reference.then(|| (REFERENCE, or_null(sample.reference.as_ref())));
        let column = move |name: &'a String| match (name.as_str(), sample.columns.get(name)) {
            (name @ "id", None) => (name, Cow::Owned(Value::from(&*sample.id))),
            (name, value) => (name, or_null(value)),
        };
        input.into_iter().chain(reference).chain(self.columns.iter().map(column))
    }
}

/// What people call something that is read of a row.
pub(crate) fn name_of_read(name: &str) -> String {
    match name {
        INPUT => "input".to_owned(),
        REFERENCE => "reference".to_owned(),
        column => format!("column {column}"),
    }
}

/// Key of a step prefix.
pub(crate) fn step_key(before: Key, identity: Key, row: Key, trial: u32) -> Key {
    KeyBuilder::new("karat/step/1").key(before).key(identity).key(row).number(u64::from(trial)).finish()
}

/// Key of an output that was not made but found.
pub(crate) fn recorded_key(output: &Value) -> Key {
    KeyBuilder::new("karat/recorded/1").value(output).finish()
}

/// What a judgment is about: an output, or a pair of them.
pub(crate) fn subject_key(output: Key, other: Option<&Value>) -> Key {
    match other {
        None => output,
        Some(other) => KeyBuilder::new("karat/pair/1").key(output).key(output_key(other)).finish(),
    }
}

/// Key of one call of a step or judgment.
pub fn call_key(owner: Key, slot: &Slot) -> Key {
    KeyBuilder::new("karat/call/1").key(owner).text(&slot.0).finish()
}

/// The identity of something that a program or service without a declared version answers: nothing says what answered, so
/// only the run itself finds it again.
pub(crate) fn of_run(identity: Key, run: &str) -> Key {
    KeyBuilder::new("karat/unknown-v0/1").key(identity).text(run).finish()
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
