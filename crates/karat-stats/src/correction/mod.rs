//! Correcting a judge with human labels: Rogan-Gladen, and cascades of judges.
//!
//! For a pass rate whose labels come from elsewhere use [`rogan_gladen`]. [`CascadeFit`] has the mean of a cheap judge
//! anchored by an expensive one. A mean over outputs of which people labelled some is
//! [`people_mean`](crate::inference::people_mean).

mod cascade;
mod rogan_gladen;
#[cfg(test)]
mod tests;

pub use cascade::{Asked, CascadeBasis, CascadeCell, CascadeFit, CascadeLine, CascadeMean, MIN_DRAWN};
pub use rogan_gladen::{CorrectedRate, JudgeCounts, RoganGladen, rogan_gladen};
