//! Runs that may stop early: units are run in a seeded order, and a rule looks at the complete ones.
//!
//! - `order` reads all rows once for the order of their units, and then again for a window of them at a time.
//! - `follower` knows which units are complete, shows them to the rule, and keeps the stop.
//!
//! The cells are handed to workers by `run::feed`, and `control::halt` is the signal after which no call is made. A unit is a cluster or a sample, with all trials of all systems that are still needed. It
//! is complete once all these cells are on disk, and units are shown in order, so that a decision depends on the plan,
//! the seed and the replies alone, and a resumed run makes the same one.

pub(crate) mod follower;
pub(crate) mod order;
