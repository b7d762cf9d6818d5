//! Agreement between raters: kappa, alpha, AC1 and AC2, ICC, correlation, judge error.
//!
//! Coefficients that need a scale take the *declared* list of labels, in order: weights go by the
//! index in that list and the number of categories is its length, whether or not every label was
//! used.
//!
//! ```
//! use karat_stats::agreement::{Measurement, krippendorff_alpha_of_pairs};
//!
//! let (judge, human) = ([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 5.0]);
//! let alpha = krippendorff_alpha_of_pairs(&judge, &human, Measurement::Ordinal)?;
//! assert!(alpha.is_some_and(|alpha| alpha > 0.9));
//! // Raters who never vary say nothing of agreement: neither 1 nor 0.
//! assert_eq!(krippendorff_alpha_of_pairs(&[2.0; 3], &[2.0; 3], Measurement::Nominal)?, None);
//! # Ok::<(), karat_stats::numeric::input::InputError>(())
//! ```

mod categories;
mod codebook;
mod cohen;
mod correlation;
mod fleiss;
mod gwet;
mod icc;
mod judge_error;
mod kendall;
mod krippendorff;
mod ratings;
mod spans;
#[cfg(test)]
mod tests;

pub use categories::{CountTable, Weighting, label_indices, score_indices};
pub use cohen::{Contingency, Kappa, cohen_kappa};
pub use correlation::{Correlation, PearsonCorrelation, pearson, spearman};
pub use fleiss::{FleissKappa, fleiss_kappa};
pub use gwet::{GwetAc, gwet_ac};
pub use icc::{Icc, IccCoefficients, icc};
pub use judge_error::{BlandAltman, JudgeError, judge_error};
pub use kendall::{KendallTau, kendall_tau_b};
pub use krippendorff::{AlphaBootstrap, Measurement, alpha_bootstrap, krippendorff_alpha, krippendorff_alpha_of_pairs};
pub use ratings::Ratings;
pub use spans::{MarkedSpan, MarkedText, SpanAgreement, span_agreement};
