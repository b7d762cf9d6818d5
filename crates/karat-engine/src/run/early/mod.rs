//! Runs that may stop early: units are run in a seeded order, and a rule looks at the complete ones.
//!
//! - `order` reads all rows once for the order of their units, and then again for a window of them at a time.
//! - `feed` hands the cells of units to workers, at most `max_concurrency` units beyond the complete ones.
//! - `follower` knows which units are complete, shows them to the rule, and keeps the stop.
//! - `halt` is the signal after which no call is made.
//!
//! Read `feed`, then `follower`. A unit is a cluster or a sample, with all trials of all systems that are still needed. It
//! is complete once all these cells are on disk, and units are shown in order, so that a decision depends on the plan,
//! the seed and the replies alone, and a resumed run makes the same one.

pub(crate) mod feed;
pub(crate) mod follower;
pub(crate) mod halt;
pub(crate) mod order;
