//! Statistics of test items: is an item hard, does it tell good systems from bad ones, is its label right?
//!
//! - `discrimination.rs`: correlation of an item with the rest of the set, over systems
//! - `reliability.rs`: split-half reliability of the whole set
//! - `wrong_label.rs`: the probability that systems that contradict a reference are right
//!
//! The unit is the system, so that few systems say little.

mod discrimination;
mod reliability;
mod wrong_label;

pub use discrimination::{DISCRIMINATION_FROM, Discrimination, NoDiscrimination, discrimination};
pub use reliability::{RELIABILITY_FROM, Reliability, split_half};
pub use wrong_label::{Answer, AnsweringSystem, Contradiction, LabelModel, wrong_label};
