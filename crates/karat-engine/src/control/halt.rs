//! The signal after which no call is made. Calls that are under way go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set once a run has stopped early; clones share it.
#[derive(Clone, Default)]
pub(crate) struct Halt(Arc<AtomicBool>);

impl Halt {
    /// Sets the signal.
    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Returns whether it is set.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// The message of a call that is not made any more.
pub(crate) const HALTED: &str = "the run stopped early before this call";
