//! Random scores, clusters and orders, all from a seeded stream.

use karat_stats::numeric::seed::Seed;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

pub struct Draw(ChaCha8Rng);

/// The scores of one unit: their sum and count.
pub type Unit = (f64, u64);

impl Draw {
    pub fn new(seed: u64, run: u64) -> Self {
        Self(Seed(seed).stream(run))
    }

    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.uniform() * n as f64) as usize
    }

    pub fn passes(&mut self, p: f64) -> f64 {
        f64::from(u8::from(self.uniform() < p))
    }

    pub fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// Marsaglia & Tsang 2000, with the power for shapes below 1.
    fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let u = 1.0 - self.uniform();
            return self.gamma(shape + 1.0) * u.powf(1.0 / shape);
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && (1.0 - self.uniform()).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }

    /// A beta variable with this mean and a + b = `size`.
    pub fn beta(&mut self, mean: f64, size: f64) -> f64 {
        let (a, b) = (self.gamma(mean * size), self.gamma((1.0 - mean) * size));
        if a + b > 0.0 { a / (a + b) } else { self.passes(mean) }
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }

    /// `units` single samples of which exactly `ones` pass, in random order.
    pub fn binary(&mut self, units: usize, ones: usize) -> Vec<Unit> {
        let mut scores = vec![(0.0, 1); units];
        scores[..ones].fill((1.0, 1));
        self.shuffle(&mut scores);
        scores
    }

    /// Single samples of a beta distribution.
    pub fn scores(&mut self, units: usize, mean: f64, size: f64) -> Vec<Unit> {
        (0..units).map(|_| (self.beta(mean, size), 1)).collect()
    }

    /// Clusters of 1 to 9 (or exactly `fixed`) pass/fail samples whose rate varies between clusters: intraclass
    /// correlation 1/(1 + 1.5) = .4.
    pub fn clusters(&mut self, units: usize, mean: f64, fixed: Option<usize>) -> Vec<Unit> {
        let cluster = |draw: &mut Self| {
            let n = fixed.unwrap_or_else(|| 1 + draw.below(9));
            let rate = draw.beta(mean, 1.5);
            ((0..n).map(|_| draw.passes(rate)).sum(), n as u64)
        };
        (0..units).map(|_| cluster(self)).collect()
    }

    /// (d + 1)/2 of pairs of which 20 % differ, with mean difference exactly `gap` up to rounding.
    pub fn discordant(&mut self, units: usize, gap: f64) -> Vec<Unit> {
        let differing = (0.2 * units as f64).round();
        let better = (0.5 * (differing + gap * units as f64)).round() as usize;
        let better = better.min(differing as usize);
        let mut scores = vec![(0.5, 1); units];
        scores[..better].fill((1.0, 1));
        scores[better..differing as usize].fill((0.0, 1));
        self.shuffle(&mut scores);
        scores
    }
}

/// The mean over all samples.
pub fn mean(units: &[Unit]) -> f64 {
    let (sum, n) = units.iter().fold((0.0, 0.0), |(sum, n), unit| (sum + unit.0, n + unit.1 as f64));
    sum / n
}

pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    0.5 * (values[(n - 1) / 2] + values[n / 2])
}

/// The share of runs for which `holds`.
pub fn share(runs: u64, mut holds: impl FnMut(u64) -> bool) -> f64 {
    (0..runs).filter(|run| holds(*run)).count() as f64 / runs as f64
}
