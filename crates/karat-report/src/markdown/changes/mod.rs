//! Sections and documents that compare: `comparison` (the document of `karat compare`) with `movers`, `metric_name` and
//! `diagnostics`, `delta` between variants, `baselines` without a model, `drift` over days, `power` to detect a difference,
//! `ranking` of pairwise verdicts.

pub(super) mod baselines;
pub(super) mod comparison;
pub(super) mod delta;
pub(super) mod diagnostics;
pub(super) mod drift;
mod metric_name;
mod movers;
pub(super) mod power;
pub(super) mod ranking;
