//! Content keys of steps, calls and judgments (design law 4).
//!
//! A step's key is a chain: what was read before it, what it is, what it reads of the row, which model answers, which
//! trial it is. Labels (ids of steps, variants, models, samples) are not in it unless a template shows them to a model.

use std::sync::Arc;

use karat_types::{AskId, Key, KeyBuilder, Reads, Sample, output_key};
use serde_json::Value;

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
pub fn call_key(owner: Key, slot: &AskId) -> Key {
    KeyBuilder::new("karat/call/1").key(owner).text(&slot.0).finish()
}

/// The identity of something that a program or service without a declared version answers: nothing says what answered, so
/// only the run itself finds it again.
pub(crate) fn of_run(identity: Key, run: &str) -> Key {
    KeyBuilder::new("karat/unknown-v0/1").key(identity).text(run).finish()
}

/// The identity of a judge whose ruler is measured: what it says then, no other run takes for a grade of the output.
pub(crate) fn of_ruler(identity: Key) -> Key {
    KeyBuilder::new("karat/ruler/1").key(identity).finish()
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
    use super::*;

    #[test]
    fn trials_never_share() {
        let key = Key::of("x", b"");
        assert_ne!(step_key(key, key, key, 0), step_key(key, key, key, 1));
    }
}
