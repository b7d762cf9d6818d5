//! Calibration of stated confidences: ECE, reliability bins, Brier score, log loss. `items` has that of test items.
//!
//! ```
//! use karat_stats::calibration::calibration;
//!
//! let found = calibration(&[0.9, 0.9, 0.5, 0.5], &[true, true, true, false], 10)?;
//! // |0.9 − 1| · ½ + |0.5 − 0.5| · ½
//! assert!(found.summary.is_some_and(|summary| (summary.ece - 0.05).abs() < 1e-12));
//! # Ok::<(), karat_stats::numeric::input::InputError>(())
//! ```

pub mod items;

use crate::describe::mean;
use crate::numeric::input::{InputError, in_domain, in_unit_interval, same_length};
use crate::numeric::sum::sum_of;

/// One bin of a reliability diagram.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReliabilityBin {
    /// Lower edge, excluded except for the first bin.
    pub lower: f64,
    /// Upper edge, included.
    pub upper: f64,
    /// Number of items.
    pub count: usize,
    /// Mean confidence; `None` when empty.
    pub mean_confidence: Option<f64>,
    /// Share of right items; `None` when empty.
    pub accuracy: Option<f64>,
}

/// The agreement of confidences with outcomes. Everything except the bins is `None` without items.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// The summary figures.
    pub summary: Option<CalibrationSummary>,
    /// The equal-width bins, also the empty ones; none without items.
    pub bins: Vec<ReliabilityBin>,
}

/// The figures of [`Calibration`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CalibrationSummary {
    /// Expected calibration error Σ n_b/n·|accuracy_b − confidence_b|; biased upward by about √(M/n).
    pub ece: f64,
    /// The largest gap of a bin that holds items.
    pub mce: f64,
    /// ECE over bins of equal count: prefer it below 500 items.
    pub ece_equal_mass: f64,
    /// Mean squared error of the confidence.
    pub brier: f64,
    /// Mean negative log likelihood, confidences kept 1e-15 away from 0 and 1.
    pub log_loss: f64,
    /// Mean confidence.
    pub mean_confidence: f64,
    /// Share of right items.
    pub accuracy: f64,
}

/// Calibration of `confidence` in \[0, 1\] against whether the item was `correct`, in `n_bins` bins (10).
///
/// Bins are (lower, upper\], the first also holds 0; the index is ceil(c·M) − 1 kept inside 0..M, which
/// also settles confidences that are rounded edges. Equal-mass bins: a stable sort by confidence cut
/// into M parts, the first n mod M one longer.
///
/// # Errors
/// Slices of different length, confidences outside \[0, 1\], no bins.
pub fn calibration(confidence: &[f64], correct: &[bool], n_bins: usize) -> Result<Calibration, InputError> {
    same_length("confidence", confidence.len(), "correct", correct.len())?;
    in_unit_interval("confidence", confidence)?;
    in_domain("number of bins", n_bins as f64, "1 or more", n_bins > 0)?;
    let items: Vec<Item> = confidence
        .iter()
        .zip(correct)
        .map(|(&confidence, &correct)| Item { confidence, outcome: f64::from(u8::from(correct)) })
        .collect();
    let groups = equal_width(&items, n_bins);
    let bins = groups.iter().enumerate().map(|(b, group)| ReliabilityBin {
        lower: b as f64 / n_bins as f64,
        upper: (b + 1) as f64 / n_bins as f64,
        count: group.len(),
        mean_confidence: group.mean_of(|item| item.confidence),
        accuracy: group.mean_of(|item| item.outcome),
    });
    Ok(Calibration {
        bins: if items.is_empty() { Vec::new() } else { bins.collect() },
        summary: summary(&items, &groups, n_bins),
    })
}

#[derive(Clone, Copy)]
struct Item {
    confidence: f64,
    outcome: f64,
}

/// Items that are judged together.
trait Group {
    fn mean_of(&self, part: fn(&Item) -> f64) -> Option<f64>;
    fn gap(&self) -> f64;
}

impl Group for [Item] {
    fn mean_of(&self, part: fn(&Item) -> f64) -> Option<f64> {
        mean(&self.iter().map(part).collect::<Vec<_>>())
    }

    /// |accuracy − mean confidence|; 0 for an empty group, which weighs nothing.
    fn gap(&self) -> f64 {
        let gap = self.mean_of(|item| item.outcome - item.confidence);
        gap.map_or(0.0, f64::abs)
    }
}

fn equal_width(items: &[Item], n_bins: usize) -> Vec<Vec<Item>> {
    let mut groups = vec![Vec::new(); n_bins];
    for &item in items {
        let above = (item.confidence * n_bins as f64).ceil() as usize;
        groups[above.saturating_sub(1).min(n_bins - 1)].push(item);
    }
    groups
}

fn equal_mass(items: &[Item], n_bins: usize) -> Vec<Vec<Item>> {
    let mut sorted = items.to_vec();
    sorted.sort_by(|a, b| a.confidence.total_cmp(&b.confidence));
    let (size, longer) = (items.len() / n_bins, items.len() % n_bins);
    let mut rest = sorted.as_slice();
    let mut groups = Vec::with_capacity(n_bins);
    for b in 0..n_bins {
        let (group, tail) = rest.split_at(size + usize::from(b < longer));
        groups.push(group.to_vec());
        rest = tail;
    }
    groups
}

fn expected_error(groups: &[Vec<Item>], n: f64) -> f64 {
    sum_of(groups.iter().map(|group| group.len() as f64 / n * group.gap()))
}

fn summary(items: &[Item], groups: &[Vec<Item>], n_bins: usize) -> Option<CalibrationSummary> {
    let n = items.len() as f64;
    Some(CalibrationSummary {
        ece: expected_error(groups, n),
        mce: groups.iter().fold(0.0, |worst, group| group.gap().max(worst)),
        ece_equal_mass: expected_error(&equal_mass(items, n_bins), n),
        brier: items.mean_of(|item| (item.confidence - item.outcome).powi(2))?,
        log_loss: items.mean_of(|item| {
            let p = item.confidence.clamp(1e-15, 1.0 - 1e-15);
            -(item.outcome * p.ln() + (1.0 - item.outcome) * (1.0 - p).ln())
        })?,
        mean_confidence: items.mean_of(|item| item.confidence)?,
        accuracy: items.mean_of(|item| item.outcome)?,
    })
}

#[cfg(test)]
mod tests;
