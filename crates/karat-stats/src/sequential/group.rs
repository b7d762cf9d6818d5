//! Two-sided group-sequential boundaries for equally spaced looks.

use std::f64::consts::{E, PI};

use crate::numeric::input::{InputError, in_domain, open_probability};
use crate::numeric::special::{find_root, normal_pdf, normal_quantile, normal_sf};

/// The division of the error α over the looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boundary {
    /// The same critical value at every look (Pocock 1977).
    Pocock,
    /// Critical values c·√(K/k) (O'Brien & Fleming 1979).
    OBrienFleming,
    /// Lan-DeMets spending 4(1 − Φ(z_{1−α/4}/√t)), close to O'Brien-Fleming: the default.
    LanDeMetsOBrienFleming,
    /// Lan-DeMets spending α·ln(1 + (e − 1)t), close to Pocock.
    LanDeMetsPocock,
}

/// One planned look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Reject when |Z| is at least this.
    pub critical_z: f64,
    /// Chance, under no difference, of having rejected by this look.
    pub cumulative_alpha: f64,
}

/// Boundaries at `looks` equally spaced looks, so that the chance of any rejection is `alpha`
/// (two-sided in total, α/2 spent per side).
///
/// Armitage, McPherson & Rowe 1969: the density of the unstopped sum is carried from look to look by
/// Gauss-Legendre quadrature.
///
/// # Errors
/// No looks, more than 1000 of them, or α outside (0, 1).
pub fn group_sequential(boundary: Boundary, looks: usize, alpha: f64) -> Result<Vec<Look>, InputError> {
    open_probability("alpha", alpha)?;
    let countable = (1..=1000).contains(&looks);
    in_domain("number of looks", looks as f64, "between 1 and 1000", countable)?;
    let rule = GaussLegendre::new(NODES);
    let plan = match boundary {
        Boundary::Pocock => rule.scaled_to(alpha, &vec![1.0; looks]),
        Boundary::OBrienFleming => {
            let shape = |k: usize| (looks as f64 / k as f64).sqrt();
            rule.scaled_to(alpha, &(1..=looks).map(shape).collect::<Vec<_>>())
        }
        Boundary::LanDeMetsOBrienFleming => {
            let z = -normal_quantile(alpha / 4.0);
            rule.spending(looks, |t| 4.0 * normal_sf(z / t.sqrt()))
        }
        Boundary::LanDeMetsPocock => rule.spending(looks, |t| alpha * ((E - 1.0) * t).ln_1p()),
    };
    Ok(plan)
}

const NODES: usize = 128;

/// No normal deviate is larger than this.
const FARTHEST_Z: f64 = 39.0;

/// Nodes and weights on \[−1, 1\].
struct GaussLegendre {
    nodes: Vec<(f64, f64)>,
}

/// The density of the sum S_k = √k·Z_k of the paths not stopped so far, on quadrature nodes.
struct Unstopped {
    look: f64,
    /// Position and weight × density.
    mass: Vec<(f64, f64)>,
}

impl Unstopped {
    /// Before the first look all paths are at 0.
    fn start() -> Self {
        Self { look: 0.0, mass: vec![(0.0, 1.0)] }
    }

    /// P(|Z| ≥ `critical` at the next look, not stopped before).
    fn crossing(&self, critical: f64) -> f64 {
        let end = critical * (self.look + 1.0).sqrt();
        let leaving = |&(s, mass): &(f64, f64)| mass * (normal_sf(end - s) + normal_sf(end + s));
        self.mass.iter().map(leaving).sum()
    }

    fn next(&self, critical: f64, rule: &GaussLegendre) -> Self {
        let look = self.look + 1.0;
        let end = critical.min(FARTHEST_Z) * look.sqrt();
        let density = |s: f64| self.mass.iter().map(|&(from, mass)| mass * normal_pdf(s - from)).sum::<f64>();
        let mass = rule.nodes.iter().map(|&(x, weight)| (end * x, end * weight * density(end * x)));
        Self { look, mass: mass.collect() }
    }
}

impl GaussLegendre {
    /// Newton's method on the Legendre polynomial.
    fn new(n: usize) -> Self {
        let nodes = (0..n).map(|i| {
            let mut x = (PI * (i as f64 + 0.75) / (n as f64 + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..100 {
                let (mut value, mut previous) = (1.0, 0.0);
                for k in 0..n {
                    let k = k as f64;
                    (value, previous) = (((2.0 * k + 1.0) * x * value - k * previous) / (k + 1.0), value);
                }
                slope = n as f64 * (x * value - previous) / (x * x - 1.0);
                let step = value / slope;
                x -= step;
                if step.abs() < 1e-15 {
                    break;
                }
            }
            (x, 2.0 / ((1.0 - x * x) * slope * slope))
        });
        Self { nodes: nodes.collect() }
    }

    /// c·shape with c such that the chance of any crossing is `alpha`.
    fn scaled_to(&self, alpha: f64, shape: &[f64]) -> Vec<Look> {
        let looks = |c: f64| -> Vec<Look> {
            let mut paths = Unstopped::start();
            let mut cumulative_alpha = 0.0;
            let look = |factor: &f64| {
                let critical_z = c * factor;
                cumulative_alpha += paths.crossing(critical_z);
                paths = paths.next(critical_z, self);
                Look { critical_z, cumulative_alpha }
            };
            shape.iter().map(look).collect()
        };
        let excess = |c: f64| looks(c).last().map_or(0.0, |look| look.cumulative_alpha) - alpha;
        let smallest_factor = shape.iter().copied().fold(f64::INFINITY, f64::min);
        let farthest = FARTHEST_Z / smallest_factor;
        looks(find_root(excess, 0.0, farthest).unwrap_or(farthest))
    }

    /// Critical values that spend `spent(t)` of the error by the share t of the looks.
    fn spending(&self, looks: usize, spent: impl Fn(f64) -> f64) -> Vec<Look> {
        let mut paths = Unstopped::start();
        let mut before = 0.0;
        let look = |k: usize| {
            let cumulative_alpha = spent(k as f64 / looks as f64);
            let now = cumulative_alpha - before;
            let surplus = |z: f64| (paths.crossing(z) / now).ln();
            let critical_z = find_root(surplus, 0.0, FARTHEST_Z).unwrap_or(FARTHEST_Z);
            paths = paths.next(critical_z, self);
            before = cumulative_alpha;
            Look { critical_z, cumulative_alpha }
        };
        (1..=looks).map(look).collect()
    }
}
