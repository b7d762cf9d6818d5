//! Commands for judges and people.
//!
//! - `calibrate`: holds judges against labels
//! - `agree`: measures agreement
//! - `annotate`: collects labels
//! - `rubrics`: lists the ready rubrics

pub mod agree;
pub mod annotate;
pub mod calibrate;
pub mod rubrics;
