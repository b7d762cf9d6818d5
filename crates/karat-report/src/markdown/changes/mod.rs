//! Sections and documents that compare: `comparison` (the document of `karat compare`) with
//! `diagnostics`, and `baselines` without a model.

pub(super) mod baselines;
pub(super) mod comparison;
pub(super) mod diagnostics;
