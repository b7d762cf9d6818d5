//! Commands that read and write data of other tools.
//!
//! - `dataset`: fetches and checks datasets
//! - `import`: creates suites; `suite_import` of other evaluation tools' files, `recorded` runs those with outputs
//! - `export`: writes cells

pub mod dataset;
pub mod export;
pub mod import;
pub mod recorded;
pub mod suite_import;
