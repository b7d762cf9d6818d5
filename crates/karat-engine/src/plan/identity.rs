//! Content keys of steps, calls and judgments (invariant 4, identity is content).
//!
//! The key of a step chains the key before it, the step's identity, the columns that it reads, the model and the trial.
//! Labels (ids of steps, variants, models, samples) are not part of it unless a template shows them to a model.

use std::sync::Arc;

use karat_types::{AskId, Key, KeyBuilder, Reads, Sample, output_key};
use serde_json::Value;

/// Key of a step prefix.
pub(crate) fn step_key(before: Key, identity: Key, row: Key, trial: u32) -> Key {
    KeyBuilder::new("karat/step/1").key(before).key(identity).key(row).number(u64::from(trial)).finish()
}

/// Key of a recorded output.
pub(crate) fn recorded_key(output: &Value) -> Key {
    KeyBuilder::new("karat/recorded/1").value(output).finish()
}

/// The outputs that a judged one is compared with; `None` is one that there is not.
pub(crate) type OtherOutputs = Vec<Option<Arc<Value>>>;

/// Key of the subject of a judgment: an output, or an output and those that it is compared with. A tournament's
/// judgments hold a game for each of the others, so `is_tournament` is part of the key.
pub(crate) fn subject_key(output: Key, others: &[Option<Arc<Value>>], is_tournament: bool) -> Key {
    match (is_tournament, others) {
        (true, _) => {
            let subject = KeyBuilder::new("karat/pairs/1").key(output);
            let others = others.iter().fold(subject, |subject, other| match other {
                Some(other) => subject.key(output_key(other)),
                None => subject.text("absent"),
            });
            others.finish()
        }
        (false, [Some(other), ..]) => KeyBuilder::new("karat/pair/1").key(output).key(output_key(other)).finish(),
        (false, _) => output,
    }
}

/// Key of one call of a step or judgment.
pub fn call_key(owner: Key, ask: &AskId) -> Key {
    KeyBuilder::new("karat/call/1").key(owner).text(&ask.0).finish()
}

/// The identity of a step or judge whose recipient has no declared version: only the run itself may find its results
/// again.
pub(crate) fn run_only_identity(identity: Key, run: &str) -> Key {
    KeyBuilder::new("karat/unknown-v0/1").key(identity).text(run).finish()
}

/// The identity of a judge that is being measured: other runs must not reuse these judgments as grades.
pub(crate) fn instrument_identity(identity: Key) -> Key {
    KeyBuilder::new("karat/ruler/1").key(identity).finish()
}

/// Key of a judgment.
pub(crate) fn judgment_key(judge: Key, output: Key, row: Key) -> Key {
    KeyBuilder::new("karat/judgment/1").key(judge).key(output).key(row).finish()
}

/// A seed derived from content, so that equal content is shuffled equally.
pub(crate) fn seed_from_key(key: Key) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&key.0[..8]);
    u64::from_le_bytes(bytes)
}

/// Digests of one row by read set, each computed at most once.
pub(crate) struct RowDigests {
    sample: Arc<Sample>,
    digests: Vec<std::sync::OnceLock<Key>>,
}

impl RowDigests {
    /// Empty digests for a row and the number of read sets.
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
    use super::*;

    #[test]
    fn trials_have_different_keys() {
        let key = Key::of("x", b"");
        assert_ne!(step_key(key, key, key, 0), step_key(key, key, key, 1));
    }
}
