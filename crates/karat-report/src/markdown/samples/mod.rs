//! Sections about samples and cells: `dataset`, `slices` and `sessions` for parts of the dataset, `diagnostics` and
//! `missing_items` for the content of outputs, `failures` for what went wrong, `outputs` for the texts of cells, `cost` for tokens and money.

pub(super) mod cost;
pub(super) mod dataset;
pub(super) mod diagnostics;
pub(super) mod failures;
pub(super) mod missing_items;
pub(super) mod outputs;
pub(super) mod sessions;
pub(super) mod slices;
