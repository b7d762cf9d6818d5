//! Parts of a set, such as train and test, that share no near duplicate.
//!
//! - `shares.rs` reads `train=0.8,test=0.2`
//! - `assign.rs` puts whole groups of rows into parts; the groups come from `duplicates/groups.rs`

mod assign;
mod shares;

pub use assign::{PartCount, RowFacts, SplitRows, assign};
pub use shares::{PartShare, SharesError};
