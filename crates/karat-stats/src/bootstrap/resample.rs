//! Running many resamples, on one thread or more, with the same result.

use std::{num::NonZeroUsize, thread};

use super::{Distribution, draws::Draws};
use crate::numeric::seed::Seed;

/// The number of resamples, the seed, and the number of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resampling {
    /// Number of resamples B.
    pub resamples: usize,
    /// The seed; the same seed gives the same replicates whatever `threads` is.
    pub seed: Seed,
    /// Threads to use.
    pub threads: NonZeroUsize,
}

impl Resampling {
    /// The usual 10,000 resamples on one thread.
    pub fn new(seed: Seed) -> Self {
        Self { resamples: 10_000, seed, threads: NonZeroUsize::MIN }
    }
}

/// Resamples per random stream.
const CHUNK: usize = 64;

/// One replicate per resample, in order. Each chunk of [`CHUNK`] has its own stream of the seed, so
/// the threads share nothing.
pub(super) fn replicate<T: Clone + Default + Send>(
    resampling: &Resampling,
    resample: impl Fn(&mut Draws) -> T + Sync,
) -> Vec<T> {
    let mut replicates = vec![T::default(); resampling.resamples];
    let mut chunks: Vec<(usize, &mut [T])> = replicates.chunks_mut(CHUNK).enumerate().collect();
    let run = |chunks: &mut [(usize, &mut [T])]| {
        for (index, chunk) in chunks {
            let mut draws = Draws::new(resampling.seed.stream(*index as u64));
            chunk.iter_mut().for_each(|slot| *slot = resample(&mut draws));
        }
    };
    let chunks_per_thread = chunks.len().div_ceil(resampling.threads.get()).max(1);
    if chunks.len() <= chunks_per_thread {
        run(&mut chunks);
    } else {
        thread::scope(|scope| {
            for part in chunks.chunks_mut(chunks_per_thread) {
                scope.spawn(|| run(part));
            }
        });
    }
    replicates
}

/// Bootstraps any statistic of items given by index: it is called with `n` indices below `n`, drawn
/// with replacement, and first with 0‥n for the estimate.
///
/// Resamples for which it is `None` are left out and counted. `None` when `n` is 0 or the statistic
/// of the data is undefined.
pub fn bootstrap_indices(
    n: usize,
    statistic: impl Fn(&[usize]) -> Option<f64> + Sync,
    resampling: &Resampling,
) -> Option<Distribution> {
    if n == 0 {
        return None;
    }
    let everything: Vec<usize> = (0..n).collect();
    let estimate = statistic(&everything)?;
    let replicates = replicate(resampling, |draws| {
        let mut drawn = Vec::with_capacity(n);
        draws.visit(n, n, |index| drawn.push(index));
        statistic(&drawn)
    });
    Distribution::new(estimate, replicates.into_iter().flatten().collect())
}

/// Any function of `n` indices below `n` that are drawn with replacement, for each resample in order; for statistics with
/// several values. Nothing when `n` is 0.
pub fn resample_indices<T: Clone + Default + Send>(
    n: usize,
    resampling: &Resampling,
    statistic: impl Fn(&[usize]) -> T + Sync,
) -> Vec<T> {
    if n == 0 {
        return Vec::new();
    }
    replicate(resampling, |draws| {
        let mut drawn = Vec::with_capacity(n);
        draws.visit(n, n, |index| drawn.push(index));
        statistic(&drawn)
    })
}

/// Bootstraps any statistic of a sample, such as a median. For a mean, [`super::bootstrap_mean`] is
/// faster. `None` when there are no values or the statistic is undefined for them.
pub fn bootstrap(
    values: &[f64],
    statistic: impl Fn(&[f64]) -> Option<f64> + Sync,
    resampling: &Resampling,
) -> Option<Distribution> {
    let estimate = statistic(values).filter(|_| !values.is_empty())?;
    let replicates = replicate(resampling, |draws| {
        let mut drawn = Vec::with_capacity(values.len());
        draws.visit(values.len(), values.len(), |index| drawn.push(values[index]));
        statistic(&drawn)
    });
    Distribution::new(estimate, replicates.into_iter().flatten().collect())
}
