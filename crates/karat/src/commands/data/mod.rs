//! Commands that read and write data of other tools.
//!
//! - `dataset`: fetches and checks datasets
//! - `import`: creates suites
//! - `export`: writes cells

pub mod dataset;
pub mod export;
pub mod import;
