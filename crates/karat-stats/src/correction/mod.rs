//! Correcting a judge with human labels: prediction-powered means, Rogan-Gladen, recalibration.
//!
//! For a mean use [`ppi_mean`]; it is never asymptotically worse than the human labels alone. For a
//! pass rate whose labels come from elsewhere use [`rogan_gladen`]. To show corrected scores item by
//! item use [`recalibrate`], with errors measured out of fold. [`cascade_mean`] is the mean of a cheap judge anchored by an
//! expensive one.
//!
//! ```
//! use karat_stats::correction::ppi_mean;
//! use karat_stats::interval::Level;
//!
//! // The judge is too kind by about half a point; four labels are enough to say so.
//! let (human, judge) = ([3.0, 2.0, 4.0, 3.5], [3.5, 2.5, 4.5, 4.0]);
//! let unlabelled = [4.0, 3.5, 3.0, 4.5, 2.5, 4.0];
//! let found = ppi_mean(&human, &judge, &unlabelled, Level::P95)?;
//! assert!(found.is_some_and(|mean| mean.rectifier == -0.5 && mean.tuned.estimate < mean.judge_only_mean));
//! # Ok::<(), karat_stats::numeric::input::InputError>(())
//! ```

mod cascade;
mod isotonic;
mod label_budget;
mod ppi;
mod recalibration;
mod rogan_gladen;
#[cfg(test)]
mod tests;

pub use cascade::{Asked, CascadeBasis, CascadeCell, CascadeFit, CascadeLine, CascadeMean, MIN_DRAWN, cascade_mean};
pub use isotonic::{Direction, Isotonic};
pub use label_budget::{LabelBudget, LabelPlan, label_budget};
pub use ppi::{AnchoredMean, PpiMean, ppi_mean};
pub use recalibration::{Line, Recalibration, ScoreError, recalibrate};
pub use rogan_gladen::{CorrectedRate, JudgeCounts, RoganGladen, rogan_gladen};
