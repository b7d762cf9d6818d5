//! Correcting a judge with human labels: prediction-powered means, Rogan-Gladen, recalibration.
//!
//! For a mean use [`ppi_mean`]; it is never asymptotically worse than the human labels alone. For a
//! pass rate whose labels come from elsewhere use [`rogan_gladen`]. To show corrected scores item by
//! item use [`recalibrate`], with errors measured out of fold.

mod isotonic;
mod label_budget;
mod ppi;
mod recalibration;
mod rogan_gladen;
#[cfg(test)]
mod tests;

pub use isotonic::{Direction, Isotonic};
pub use label_budget::{LabelBudget, LabelPlan, label_budget};
pub use ppi::{AnchoredMean, PpiMean, ppi_mean};
pub use recalibration::{Line, Recalibration, ScoreError, recalibrate};
pub use rogan_gladen::{CorrectedRate, JudgeCounts, RoganGladen, rogan_gladen};
