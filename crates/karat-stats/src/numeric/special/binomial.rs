//! The binomial distribution.

use super::{Tails, beta::regularized_beta, deviance::binomial_density};

/// Successes among `n` independent trials with success probability `p`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Binomial {
    n: u64,
    p: f64,
}

impl Binomial {
    /// `None` unless `p` is in \[0, 1\].
    pub fn new(n: u64, p: f64) -> Option<Self> {
        (0.0..=1.0).contains(&p).then_some(Self { n, p })
    }

    /// P(X = k).
    pub fn pmf(&self, k: u64) -> f64 {
        if k > self.n {
            return 0.0;
        }
        binomial_density(k as f64, self.n as f64, self.p, 1.0 - self.p)
    }

    /// P(X ≤ k).
    pub fn cdf(&self, k: u64) -> f64 {
        self.tails(k).lower
    }

    /// P(X > k).
    pub fn sf(&self, k: u64) -> f64 {
        self.tails(k).upper
    }

    /// P(X ≥ k).
    pub fn at_least(&self, k: u64) -> f64 {
        if k == 0 { 1.0 } else { self.sf(k - 1) }
    }

    fn tails(&self, k: u64) -> Tails {
        if k >= self.n {
            return Tails { lower: 1.0, upper: 0.0 };
        }
        let (k, n) = (k as f64, self.n as f64);
        regularized_beta(n - k, k + 1.0, 1.0 - self.p, self.p)
    }
}

/// Exact two-sided p-value of `k` successes in `n` trials against a fair coin: min(1, 2·smaller tail).
///
/// With p = ½ the distribution is symmetric, so this equals the method of small p-values.
pub fn two_sided_p(k: u64, n: u64) -> f64 {
    let coin = Binomial { n, p: 0.5 };
    (2.0 * coin.cdf(k.min(n.saturating_sub(k)))).min(1.0)
}
