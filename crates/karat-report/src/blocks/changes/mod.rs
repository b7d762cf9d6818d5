//! Comparisons as blocks: `comparison` of `karat compare`, `delta` between variants or models, `drift` over days, `leaderboards`, `power`, and `ranking`.

pub(crate) mod comparison;
pub(crate) mod delta;
pub(super) mod drift;
pub(crate) mod leaderboards;
pub(super) mod power;
pub(super) mod ranking;
