//! Newton steps and standard errors for models in which only differences of strengths count.

/// A symmetric, positive semidefinite Fisher information matrix whose first `strengths` rows are log
/// strengths: adding a constant to all of them changes nothing.
pub(super) struct Information {
    entries: Vec<f64>,
    size: usize,
    strengths: usize,
}

impl Information {
    /// Zeros for `strengths` log strengths and `others` further parameters.
    pub(super) fn new(strengths: usize, others: usize) -> Self {
        let size = strengths + others;
        Self { entries: vec![0.0; size * size], size, strengths }
    }

    /// Adds `value` to entry (i, j) and, off the diagonal, to (j, i).
    pub(super) fn add(&mut self, i: usize, j: usize, value: f64) {
        self.entries[i * self.size + j] += value;
        if i != j {
            self.entries[j * self.size + i] += value;
        }
    }

    /// Adds the information about the difference of strengths `a` and `b`.
    pub(super) fn add_difference(&mut self, a: usize, b: usize, value: f64) {
        self.add(a, a, value);
        self.add(b, b, value);
        self.add(a, b, -value);
    }

    /// Cholesky factor of the matrix with 1/n added to the strengths' block, which fixes their sum and
    /// leaves everything else as in the Moore-Penrose inverse. `None` when still singular.
    pub(super) fn factor(&self) -> Option<Factor> {
        let size = self.size;
        let anchor = 1.0 / self.strengths as f64;
        let mut lower = vec![0.0; size * size];
        for i in 0..size {
            for j in 0..=i {
                let anchored = if i < self.strengths { anchor } else { 0.0 };
                let dot: f64 = (0..j).map(|k| lower[i * size + k] * lower[j * size + k]).sum();
                let rest = self.entries[i * size + j] + anchored - dot;
                if i == j {
                    let whole = self.entries[i * size + i] + anchored;
                    if rest.is_nan() || rest <= 1e-14 * whole {
                        return None;
                    }
                    lower[i * size + i] = rest.sqrt();
                } else {
                    lower[i * size + j] = rest / lower[j * size + j];
                }
            }
        }
        Some(Factor { lower, size, strengths: self.strengths })
    }
}

/// A factored information matrix.
pub(super) struct Factor {
    lower: Vec<f64>,
    size: usize,
    strengths: usize,
}

impl Factor {
    /// The Newton step for a gradient.
    pub(super) fn solve(&self, gradient: &[f64]) -> Vec<f64> {
        let size = self.size;
        let mut step = gradient.to_vec();
        for i in 0..size {
            let known: f64 = (0..i).map(|k| self.lower[i * size + k] * step[k]).sum();
            step[i] = (step[i] - known) / self.lower[i * size + i];
        }
        for i in (0..size).rev() {
            let known: f64 = (i + 1..size).map(|k| self.lower[k * size + i] * step[k]).sum();
            step[i] = (step[i] - known) / self.lower[i * size + i];
        }
        step
    }

    /// Standard errors of the strengths under "they sum to 0".
    pub(super) fn strength_errors(&self) -> Vec<f64> {
        let anchor = 1.0 / self.strengths as f64;
        let variance = |i: usize| {
            let mut unit = vec![0.0; self.size];
            unit[i] = 1.0;
            self.solve(&unit)[i] - anchor
        };
        (0..self.strengths).map(|i| variance(i).max(0.0).sqrt()).collect()
    }
}

/// Newton's method with step halving on a concave log likelihood.
///
/// `None` when it does not settle, as happens when the maximum lies at infinity.
pub(super) fn maximise(
    start: Vec<f64>,
    log_likelihood: impl Fn(&[f64]) -> f64,
    gradient_and_information: impl Fn(&[f64]) -> (Vec<f64>, Information),
) -> Option<Vec<f64>> {
    const STEPS: usize = 100;
    let mut at = start;
    let mut value = log_likelihood(&at);
    for _ in 0..STEPS {
        let (gradient, information) = gradient_and_information(&at);
        let step = information.factor()?.solve(&gradient);
        let size = step.iter().fold(0.0_f64, |largest, d| largest.max(d.abs()));
        let mut scale = 1.0;
        let (next, next_value) = loop {
            let next: Vec<f64> = at.iter().zip(&step).map(|(x, d)| x + scale * d).collect();
            let next_value = log_likelihood(&next);
            let no_worse = next_value >= value - 1e-12 * value.abs();
            if no_worse || scale * size < 1e-12 {
                break (next, next_value);
            }
            scale *= 0.5;
        };
        (at, value) = (next, next_value);
        if size < 1e-10 {
            return Some(at);
        }
    }
    None
}
