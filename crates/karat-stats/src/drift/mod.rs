//! Drift and change detection on a series of runs.
//!
//! Every chart is a pure function of the whole series, so a stored history gives the same alarms
//! again. Which one to use: [`median_mad`] is the plain daily rule with its own baseline; [`cusum`]
//! finds small lasting steps when the mean and the noise of the baseline are known; [`e_detector`] is the one with a guarantee and no assumption but the range of the scores.
//!
//! ```
//! use karat_stats::drift::{DayScore, DriftRule, DriftStatus, median_mad};
//!
//! let score = |day: i32| if day < 30 { 4.0 + f64::from(day % 3) * 0.1 } else { 2.0 };
//! let scores: Vec<DayScore> = (1..=36).map(|day| DayScore { day, score: score(day) }).collect();
//! let rule = DriftRule::default();
//! assert_eq!(median_mad(&scores, 29, &rule)?.status, DriftStatus::Ok);
//! assert_eq!(median_mad(&scores, 36, &rule)?.status, DriftStatus::Alert);
//! # Ok::<(), karat_stats::numeric::input::InputError>(())
//! ```

mod cusum;
mod e_detector;
mod median_mad;
#[cfg(test)]
mod tests;

pub use cusum::{Alarm, Cusum, CusumChart, Side, cusum};
pub use e_detector::{EDetector, e_detector};
pub use median_mad::{
    DayCheck, DayFigures, DayScore, DriftAlert, DriftReport, DriftRule, DriftStatus, History, median_mad,
};
