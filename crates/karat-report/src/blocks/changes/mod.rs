//! Comparisons as blocks: `delta` between variants or models, `drift` over days, `leaderboards`, `power`, and `ranking`.

pub(crate) mod delta;
pub(super) mod drift;
pub(super) mod leaderboards;
pub(super) mod power;
pub(super) mod ranking;
