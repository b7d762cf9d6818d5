//! Bets that depend on the past only.

/// Running moments of values in \[0, 1\], started as if ½ ± ½ had been seen once.
///
/// μ_t = (½ + Σx)/(t + 1), σ²_t = (¼ + Σ(x_i − μ_i)²)/(t + 1) (Waudby-Smith & Ramdas 2023, eq. 15).
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Predictable {
    seen: f64,
    sum: f64,
    squares: f64,
}

impl Predictable {
    pub(super) fn new() -> Self {
        Self { seen: 0.0, sum: 0.5, squares: 0.25 }
    }

    /// The bet on the next value, number t: √(2·log_term/(t·ln(1 + t)·σ²_{t−1})), not yet capped.
    pub(super) fn bet(&self, log_term: f64) -> f64 {
        let t = self.seen + 1.0;
        let variance = self.squares / t;
        (2.0 * log_term / (t * t.ln_1p() * variance)).sqrt()
    }

    pub(super) fn add(&mut self, value: f64) {
        self.seen += 1.0;
        self.sum += value;
        let mean = self.sum / (self.seen + 1.0);
        self.squares += (value - mean).powi(2);
    }
}
