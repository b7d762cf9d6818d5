//! Sections and documents that compare: `comparison` (the document of `karat compare`), `diagnostics` in it, `delta`
//! between variants, `baselines` without a model, `drift` over days, `power` to detect a difference.

pub(super) mod baselines;
pub(super) mod comparison;
pub(super) mod delta;
pub(super) mod diagnostics;
pub(super) mod drift;
pub(super) mod power;
