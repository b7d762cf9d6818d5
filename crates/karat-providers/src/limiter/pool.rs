//! One limiter for each account and model of the process: runs at the same time share what their provider counts together.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use karat_types::{Key, Limits};

use crate::limiter::Limiter;

/// The limiters in use. Clones share them.
#[derive(Clone, Default)]
pub struct LimiterPool(Arc<Mutex<BTreeMap<String, Weak<Limiter>>>>);

/// The calls that a provider counts together, and the limits that were declared for them.
pub(crate) struct LimiterKey {
    /// Address of the API, without query.
    pub address: String,
    /// Hash of the key.
    pub account: Key,
    /// The provider's name of the model.
    pub model: String,
    pub limits: Limits,
}

impl LimiterPool {
    /// The limiter of these calls: that of another run, or a new one.
    pub(crate) fn of(&self, key: &LimiterKey) -> Arc<Limiter> {
        let LimiterKey { address, account, model, limits } = key;
        let name = format!("{address}\n{account}\n{model}\n{limits:?}");
        let mut limiters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What was learnt of an account goes with the last run that uses it: a quota may be raised in the meantime.
        limiters.retain(|_, limiter| limiter.strong_count() > 0);
        if let Some(known) = limiters.get(&name).and_then(Weak::upgrade) {
            return known;
        }
        let new = Limiter::new(*limits);
        limiters.insert(name, Arc::downgrade(&new));
        new
    }
}

impl fmt::Debug for LimiterPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LimiterPool").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(account: &[u8], model: &str) -> LimiterKey {
        let limits = Limits { rpm: Some(60), ..Limits::default() };
        LimiterKey {
            address: "http://a/v1".to_owned(),
            account: Key::of("d", account),
            model: model.to_owned(),
            limits,
        }
    }

    /// SV-02: what a provider counts together has one limiter, as long as a run uses it.
    #[test]
    fn calls_of_one_account_and_model_share_a_limiter() {
        let pool = LimiterPool::default();
        let one = pool.of(&key(b"mine", "m"));
        assert!(Arc::ptr_eq(&one, &pool.clone().of(&key(b"mine", "m"))));
        for other in [key(b"theirs", "m"), key(b"mine", "n")] {
            assert!(!Arc::ptr_eq(&one, &pool.of(&other)));
        }
        drop(one);
        drop(pool.of(&key(b"other", "m")));
        assert_eq!(pool.0.lock().unwrap().len(), 1, "limiters that no run uses are forgotten");
    }
}
