//! Precision, recall and F1 from counts.

/// The overlap of two bags; each value in 0..=1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Overlap {
    /// Matched ÷ all of the candidate.
    pub precision: f64,
    /// Matched ÷ all of the reference.
    pub recall: f64,
    /// The harmonic mean `2pr / (p + r)`; 0 when nothing matches.
    pub f1: f64,
}

impl Overlap {
    /// The overlap of `candidate` and `reference` things of which `matched` are common.
    ///
    /// A side without things has the value 0, as in rouge-score.
    pub(crate) fn of(matched: usize, candidate: usize, reference: usize) -> Self {
        let precision = share(matched, candidate);
        let recall = share(matched, reference);
        Self { precision, recall, f1: harmonic_mean(precision, recall) }
    }
}

/// `part / whole`, 0 for an empty whole.
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// The harmonic mean of two values in 0..=1; 0 when both are 0.
pub(crate) fn harmonic_mean(a: f64, b: f64) -> f64 {
    if a + b > 0.0 { 2.0 * a * b / (a + b) } else { 0.0 }
}
