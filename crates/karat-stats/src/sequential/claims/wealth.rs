//! The wealth of a mixture of fixed bets, in logarithms.

/// The fractions that are bet, with equal weight: small ones win slowly and surely on a small gap, large ones end early
/// on a large one.
pub(super) const BETS: [f64; 8] = [0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9];

/// A bet's wealth is kept as mantissa · exp(log), the mantissa within these limits, so that a step costs one
/// multiplication.
const SMALLEST: f64 = 1e-100;
const LARGEST: f64 = 1e100;

/// ⅛ Σ_c Π(1 + c·gain), an e-process of bets in one direction.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mixture {
    mantissas: [f64; BETS.len()],
    logs: [f64; BETS.len()],
    /// exp(log − the largest log).
    weights: [f64; BETS.len()],
    largest_log: f64,
    /// The largest log wealth of the mixture so far.
    best: f64,
}

impl Mixture {
    pub(super) fn new() -> Self {
        let n = BETS.len();
        debug_assert!(n == 8, "the weight of a bet is 1/8");
        Self {
            mantissas: [1.0; BETS.len()],
            logs: [0.0; BETS.len()],
            weights: [1.0; BETS.len()],
            largest_log: 0.0,
            best: 0.0,
        }
    }

    /// Bets on a value whose relative gain over the null is `gain`, at least −1.
    pub(super) fn bet(&mut self, gain: f64) {
        let mut rescaled = false;
        for (mantissa, bet) in self.mantissas.iter_mut().zip(BETS) {
            *mantissa *= 1.0 + bet * gain;
            rescaled |= !(SMALLEST..=LARGEST).contains(mantissa);
        }
        if rescaled {
            self.rescale();
        }
        let total: f64 = self.mantissas.iter().zip(&self.weights).map(|(mantissa, weight)| mantissa * weight).sum();
        let log = (total / BETS.len() as f64).ln() + self.largest_log;
        self.best = self.best.max(log);
    }

    /// The null has become impossible.
    pub(super) fn win(&mut self) {
        self.best = f64::INFINITY;
    }

    /// The largest log wealth so far, at least 0; infinite once the null is impossible.
    pub(super) fn best(&self) -> f64 {
        self.best
    }

    fn rescale(&mut self) {
        for (mantissa, log) in self.mantissas.iter_mut().zip(&mut self.logs) {
            // One step changes a wealth by at most 1 + 0.9·10⁹, so a mantissa is never 0 or infinite here.
            *log += mantissa.ln();
            *mantissa = 1.0;
        }
        self.largest_log = self.logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for (weight, log) in self.weights.iter_mut().zip(&self.logs) {
            *weight = (log - self.largest_log).exp();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The formula as it is written, with a logarithm a step.
    fn in_logarithms(gains: &[f64]) -> f64 {
        let mut logs = [0.0; BETS.len()];
        let mut best = 0.0_f64;
        for gain in gains {
            for (log, bet) in logs.iter_mut().zip(BETS) {
                *log += (bet * gain).ln_1p();
            }
            let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = logs.iter().map(|log| (log - top).exp()).sum();
            best = best.max(top + (sum / BETS.len() as f64).ln());
        }
        best
    }

    proptest! {
        /// SL-03: the wealth is that of the formula in logarithms, also where a bet loses or wins everything.
        #[test]
        fn wealth_is_that_of_the_formula(
            seldom in 0.0..1.0_f64,
            draws in prop::collection::vec((0.0..1.0_f64, -1.0..=1.0_f64), 0..3000),
        ) {
            let gains: Vec<f64> = draws.iter().map(|(u, gain)| if *u < seldom { -1.0 } else { gain * 50.0_f64.powf(*u) }).collect();
            let gains: Vec<f64> = gains.into_iter().map(|gain| gain.max(-1.0)).collect();
            let mut mixture = Mixture::new();
            gains.iter().for_each(|gain| mixture.bet(*gain));
            let expected = in_logarithms(&gains);
            prop_assert!((mixture.best() - expected).abs() <= 1e-9 * (1.0 + expected), "{} {expected}", mixture.best());
        }
    }
}
