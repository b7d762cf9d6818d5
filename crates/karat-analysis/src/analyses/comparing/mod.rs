//! Analyses that compare within one run: variants and models (`delta`), outputs (`missing_items`), days (`drift`), rankings
//! (`leaderboards`; `ranking` of pairwise verdicts), and which differences the samples could detect (`power`).

pub(super) mod delta;
pub(super) mod drift;
pub(super) mod leaderboards;
pub(super) mod missing_items;
pub(super) mod power;
pub(super) mod ranking;
