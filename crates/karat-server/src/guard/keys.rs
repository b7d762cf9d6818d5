//! The `Idempotency-Key` of each request under way.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The keys of requests under way.
#[derive(Clone, Default)]
pub(crate) struct KeysUnderWay(Arc<Mutex<BTreeSet<String>>>);

/// Holds a key until its request is answered.
pub(crate) struct HeldKey(KeysUnderWay, String);

impl KeysUnderWay {
    /// Holds a key, unless another request holds it.
    pub fn hold(&self, key: &str) -> Option<HeldKey> {
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        keys.insert(key.to_owned()).then(|| HeldKey(self.clone(), key.to_owned()))
    }
}

impl Drop for HeldKey {
    fn drop(&mut self) {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.1);
    }
}
