//! pass@k (any of k samples passes; Chen et al. 2021) and pass^k (all k pass; Yao et al. 2024).

use super::{mean, standard_error};

/// A task that was sampled `n` times, of which `passed` passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    /// Samples drawn.
    pub n: usize,
    /// Samples that passed, at most `n`.
    pub passed: usize,
}

/// Both figures at one k, over the tasks with at least k samples.
#[derive(Debug, Clone, PartialEq)]
pub struct PassAtK {
    /// pass@k of each task; `None` for tasks with fewer than k samples.
    pub any: Vec<Option<f64>>,
    /// pass^k of each task; `None` for tasks with fewer than k samples.
    pub all: Vec<Option<f64>>,
    /// Mean pass@k.
    pub mean_any: Option<f64>,
    /// Mean pass^k.
    pub mean_all: Option<f64>,
    /// Standard error of mean pass@k over tasks; `None` for fewer than two tasks.
    pub standard_error_any: Option<f64>,
    /// Standard error of mean pass^k over tasks.
    pub standard_error_all: Option<f64>,
    /// Tasks with at least k samples.
    pub n_tasks: usize,
}

/// pass@k of one task, 1 − C(n−c, k)/C(n, k); `None` when k > n, k = 0 or c > n.
///
/// Product form: binomials overflow near n = 1000.
///
/// ```
/// use karat_stats::describe::{Task, all_of_k, any_of_k};
///
/// let task = Task { n: 10, passed: 3 };
/// assert!(any_of_k(task, 5).is_some_and(|p| (p - 11.0 / 12.0).abs() < 1e-12));
/// assert!(all_of_k(task, 2).is_some_and(|p| (p - 1.0 / 15.0).abs() < 1e-12));
/// assert_eq!(any_of_k(task, 11), None);
/// ```
pub fn any_of_k(task: Task, k: usize) -> Option<f64> {
    let failed = task.n.checked_sub(task.passed)?;
    drawn_all_from(failed, task.n, k).map(|none_passes| 1.0 - none_passes)
}

/// pass^k of one task, C(c, k)/C(n, k); `None` when k > n, k = 0 or c > n.
pub fn all_of_k(task: Task, k: usize) -> Option<f64> {
    (task.passed <= task.n).then_some(())?;
    drawn_all_from(task.passed, task.n, k)
}

/// One of the two figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassRule {
    /// pass@k: any of k passes.
    Any,
    /// pass^k: all k pass.
    All,
}

/// The least and the largest value that a figure may have once its missing samples are known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PassBounds {
    /// All missing samples fail.
    pub lower: f64,
    /// All missing samples pass.
    pub upper: f64,
}

impl PassBounds {
    /// The value, where it does not depend on the missing samples.
    pub fn value(&self) -> Option<f64> {
        (self.upper - self.lower <= 0.0).then_some(self.lower)
    }
}

/// The bounds of a figure of a task of which some samples are missing: rule(c, n) to rule(c + missing, n), n = passed +
/// failed + missing. A failed sample makes pass^n 0, a passed one makes pass@n 1. `None` when k > n or k = 0.
///
/// ```
/// use karat_stats::describe::{PassRule, pass_bounds};
///
/// // One failed, two missing: pass^3 is 0 whatever they are, pass@3 may be anything.
/// assert_eq!(pass_bounds(0, 1, 2, 3, PassRule::All).and_then(|bounds| bounds.value()), Some(0.0));
/// assert_eq!(pass_bounds(0, 1, 2, 3, PassRule::Any).and_then(|bounds| bounds.value()), None);
/// ```
pub fn pass_bounds(passed: usize, failed: usize, missing: usize, k: usize, rule: PassRule) -> Option<PassBounds> {
    let n = passed + failed + missing;
    let of = |passed: usize| match rule {
        PassRule::Any => any_of_k(Task { n, passed }, k),
        PassRule::All => all_of_k(Task { n, passed }, k),
    };
    Some(PassBounds { lower: of(passed)?, upper: of(passed + missing)? })
}

/// Both figures over many tasks.
pub fn pass_at_k(tasks: &[Task], k: usize) -> PassAtK {
    let any: Vec<Option<f64>> = tasks.iter().map(|task| any_of_k(*task, k)).collect();
    let all: Vec<Option<f64>> = tasks.iter().map(|task| all_of_k(*task, k)).collect();
    let defined = |values: &[Option<f64>]| -> Vec<f64> { values.iter().copied().flatten().collect() };
    let (used_any, used_all) = (defined(&any), defined(&all));
    PassAtK {
        mean_any: mean(&used_any),
        mean_all: mean(&used_all),
        standard_error_any: standard_error(&used_any),
        standard_error_all: standard_error(&used_all),
        n_tasks: used_any.len(),
        any,
        all,
    }
}

/// The probability that k draws without replacement from `n` all come from a subset of `m`:
/// ∏_{i<k} (m − i)/(n − i).
fn drawn_all_from(m: usize, n: usize, k: usize) -> Option<f64> {
    if k == 0 || k > n {
        return None;
    }
    if k > m {
        return Some(0.0);
    }
    Some((0..k).map(|i| (m - i) as f64 / (n - i) as f64).product())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn more_draws_than_samples_is_undefined() {
        let task = Task { n: 8, passed: 7 };
        assert_eq!((any_of_k(task, 9), all_of_k(task, 9), any_of_k(task, 0)), (None, None, None));
    }

    proptest! {
        #[test]
        fn any_rises_and_all_falls_with_k(more in 1..1500_usize, share in 0.0..=1.0_f64, k in 1..50_usize) {
            let n = k + more;
            let task = Task { n, passed: (share * n as f64) as usize };
            let (any, next_any) = (any_of_k(task, k).unwrap(), any_of_k(task, k + 1).unwrap());
            let (all, next_all) = (all_of_k(task, k).unwrap(), all_of_k(task, k + 1).unwrap());
            prop_assert!((0.0..=1.0).contains(&any) && (0.0..=1.0).contains(&all));
            prop_assert!(next_any >= any - 1e-12 && next_all <= all + 1e-12 && all <= any + 1e-12);
        }
    }
}
