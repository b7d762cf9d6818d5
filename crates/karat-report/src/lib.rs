//! Findings to bytes, one module a format. Rendering one stored run twice is byte-identical (design law 9).
//!
//! Nothing here computes a statistic: a number in a report is a count or cites a
//! [`Finding`](karat_analysis::Finding). Texts that come from datasets, models and providers are
//! hostile until a format's own escaping has passed over them.

pub mod agreement;
pub mod calibration;
mod changes;
pub mod comparison;
mod corpus;
pub mod csv;
pub mod digest;
mod figures;
pub mod golden;
pub mod html;
pub mod json;
pub mod junit;
mod kpis;
pub mod markdown;
mod moment;
mod provenance;
pub mod reliability;
mod report;
pub mod rows;
pub mod terminal;
pub mod verdict;
mod visible;

pub use figures::{counted, usd};
pub use report::{Cells, Context, Estimate, RenderError, Report};
