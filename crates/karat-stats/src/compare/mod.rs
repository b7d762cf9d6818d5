//! Two systems on the same items: differences, tests, effect sizes.
//!
//! A difference is always candidate − baseline. The unit is the question: average trials and
//! aggregate judges first.
//!
//! ```
//! use karat_stats::compare::{PairedOutcomes, pair, paired_t, sign_flip_exact};
//! use karat_stats::interval::Level;
//!
//! let (before, after) = ([Some(3.0), Some(2.0), None, Some(4.0)], [Some(3.5), Some(3.0), Some(1.0), Some(4.5)]);
//! let paired = pair(&before, &after)?;
//! assert_eq!((paired.differences.as_slice(), paired.dropped), (&[0.5, 1.0, 0.5][..], 1));
//! let t = paired_t(&paired.differences, Level::P95);
//! assert!(t.p_two_sided.is_some_and(|p| (0.05..0.06).contains(&p)));
//! // Few items: the exact test, whose p cannot be below 2/2ⁿ.
//! assert_eq!(sign_flip_exact(&paired.differences).map(|test| test.p_two_sided), Some(0.25));
//!
//! // Pass or fail, (baseline, candidate): only items on which the two differ tell them apart.
//! let outcomes = PairedOutcomes::count([(true, true), (false, true), (false, true), (true, false)]);
//! assert_eq!(outcomes.mcnemar().discordant, 3);
//! # Ok::<(), karat_stats::numeric::input::InputError>(())
//! ```

mod effect;
mod mcnemar;
pub mod multiplicity;
mod paired;
mod sign;
mod sign_flip;
mod wilcoxon;

pub use effect::{EffectSizes, cohen_h, effect_sizes};
pub use mcnemar::{McNemar, PairedOutcomes};
pub use paired::{Paired, PairedT, differences, pair, paired_t};
pub use sign::{SignTest, sign_test};
pub use sign_flip::{EXACT_UP_TO, SignFlip, sign_flip, sign_flip_exact, sign_flip_interval, sign_flip_sampled};
pub use wilcoxon::{SignedRank, WilcoxonZeros, wilcoxon};

#[cfg(test)]
mod tests;
