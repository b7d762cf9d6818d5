//! Wall time comes through a passed clock, so that everything else is a function of its input.

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(pub i64);

/// Says what time it is. The command line passes the system's clock, tests a fixed one.
pub trait Clock: Send + Sync {
    /// The present moment.
    fn now(&self) -> Moment;
}

/// A clock that stands still.
#[derive(Debug, Clone, Copy, Default)]
pub struct FixedClock(pub Moment);

impl Clock for FixedClock {
    fn now(&self) -> Moment {
        self.0
    }
}
