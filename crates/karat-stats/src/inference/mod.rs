//! The interval of a figure and the test of a change, chosen so that nothing is decided by data that cannot decide.
//!
//! | file | question |
//! |---|---|
//! | `clusters` | the mean of clustered values: CR2 with Bell-McCaffrey degrees of freedom |
//! | `rate` | the pass rate of clusters |
//! | `share` | the mean of shares: recall, F1, similarity |
//! | `bounded` | values of which few differ, by the ends of their scale |
//! | `change` | the one test of a paired change, its p and its interval |
//! | `flips` | sign flips of samples and clusters: p and interval |
//! | `unpaired` | the difference of figures of different samples |
//! | `order` | medians and percentiles |
//! | `design` | samples drawn with unequal, known probability |
//! | `anchored` | people's mean from a judge's grades of all and labels of some |
//! | `ranks` | the ranks that pairwise tests leave open |
//!
//! Read `clusters` and `bounded` first: the others build on them.
//!
//! ```
//! use karat_stats::inference::{Change, Outcome};
//! use karat_stats::interval::Level;
//!
//! // 20 pairs, 14 and 18 passes, four of them discordant, all one way: not decided at 95 %.
//! let mut before = vec![1.0; 20];
//! before[..6].fill(0.0);
//! let mut after = vec![1.0; 20];
//! after[..2].fill(0.0);
//! let change = Change::new(&before, &after, Outcome::PassFail, Some(1.0), None)?;
//! let interval = change.interval(Level::P95).map(|it| format!("{:.3} to {:+.3}", it.lo, it.hi));
//! assert_eq!((change.p(), interval.as_deref()), (Some(0.0625), Some("0.000 to +0.421")));
//! # Ok::<(), karat_stats::numeric::input::InputError>(())
//! ```

mod anchored;
mod bounded;
mod change;
mod clusters;
mod design;
mod flips;
mod order;
mod ranks;
mod rate;
mod share;
mod unpaired;

pub use anchored::{LabelledStratum, PeopleMean, people_mean};
pub use bounded::{Bounded, Commonest, commonest, tied_design_effect};
pub use change::{Change, ChangeTest, DECIDABLE_DF, Outcome};
pub use clusters::{Clusters, RobustMean, robust_mean, weighted_robust_mean};
pub use design::{DesignMean, DrawnStratum, Reach, drawn_mean, stratified_figure};
pub use order::{QuantileInterval, quantile_interval, quantile_interval_by_rate};
pub use ranks::{PairTest, RankSet, rank_sets};
pub use rate::{ClusterRate, cluster_rate};
pub use share::{ShareMean, ShareMethod, share_mean};
pub use unpaired::{Difference, MeanSide, RateSide, newcombe, welch};

#[cfg(test)]
mod tests;
