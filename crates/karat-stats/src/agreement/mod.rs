//! Agreement between raters: kappa, alpha, AC1 and AC2, ICC, correlation, judge error.
//!
//! Coefficients that need a scale take the *declared* list of labels, in order: weights go by the
//! index in that list and the number of categories is its length, whether or not every label was
//! used.
//!
//! ```
//! use karat_stats::agreement::{Measurement, Ratings, krippendorff_alpha};
//!
//! let ratings = Ratings::from_units([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [4.0, 5.0]])?;
//! let alpha = krippendorff_alpha(&ratings, Measurement::Ordinal)?;
//! assert!(alpha.is_some_and(|alpha| alpha > 0.9));
//! // Raters who never vary say nothing of agreement: neither 1 nor 0.
//! assert_eq!(krippendorff_alpha(&Ratings::from_units([[2.0; 2]; 3])?, Measurement::Nominal)?, None);
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

pub use categories::{CountTable, Weighting, score_indices};
pub use cohen::{Contingency, Kappa, cohen_kappa};
pub use correlation::{Correlation, PearsonCorrelation, pearson, spearman};
pub use fleiss::{FleissKappa, fleiss_kappa};
pub use gwet::{GwetAc, gwet_ac};
pub use icc::{Icc, IccCoefficients, icc};
pub use judge_error::{BlandAltman, JudgeError, judge_error};
pub use kendall::{KendallTau, kendall_tau_b};
pub use krippendorff::{Measurement, krippendorff_alpha};
pub use ratings::Ratings;
pub use spans::{MarkedSpan, MarkedText, SpanAgreement, span_agreement};
