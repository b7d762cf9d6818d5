//! Two systems on the same items: differences, tests, effect sizes.
//!
//! A difference is always candidate − baseline. The unit is the question: average trials and
//! aggregate judges first.

mod effect;
mod equivalence;
mod mcnemar;
mod paired;
mod sign;
mod sign_flip;
mod wilcoxon;

pub use effect::{EffectSizes, cohen_h, effect_sizes};
pub use equivalence::{NonInferiority, non_inferiority};
pub use mcnemar::{McNemar, PairedOutcomes};
pub use paired::{Paired, PairedT, pair, paired_t};
pub use sign::{SignTest, sign_test};
pub use sign_flip::{EXACT_UP_TO, SignFlip, sign_flip, sign_flip_exact, sign_flip_interval, sign_flip_sampled};
pub use wilcoxon::{SignedRank, WilcoxonZeros, hodges_lehmann, wilcoxon};

#[cfg(test)]
mod tests;
