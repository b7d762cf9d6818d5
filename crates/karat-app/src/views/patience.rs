//! The time that readers wait for. It decides when a page says that it still computes, and never what it shows.

use std::time::Instant;

/// The present moment of a clock that only measures waits.
#[allow(clippy::disallowed_methods, reason = "how long a reader waits is not a result")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
