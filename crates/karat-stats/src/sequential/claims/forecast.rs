//! The units that a run would need before it stops early, by the units of an earlier one.

use super::claim::ClaimSpec;
use super::several::Claims;
use crate::compare::multiplicity::StepRule;
use crate::describe::{median, nearest_rank_of};
use crate::numeric::input::InputError;
use crate::numeric::seed::Seed;
use rand_chacha::rand_core::Rng;

/// The number of simulated runs, with the seeds 1 to 200.
const RUNS: u64 = 200;

/// Where the means of the simulated runs lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ForecastMean {
    /// Where the earlier run had them.
    AsSeen,
    /// At the thresholds, where least is saved.
    AtThreshold,
}

/// The units of a run that is planned, and those of an earlier one.
#[derive(Debug, Clone, PartialEq)]
pub struct ForecastInput<'a> {
    /// The claims; `units` of each is that of the planned run.
    pub claims: &'a [ClaimSpec],
    /// Units of the earlier run: for each claim the sum of scaled scores and their count, `None` if the unit holds no
    /// sample of the claim.
    pub seen: &'a [Vec<Option<(f64, u64)>>],
    /// Units of the planned run.
    pub units: u64,
    /// α of all claims together.
    pub alpha: f64,
    /// The correction over the claims.
    pub correction: StepRule,
    /// Units before a bound may decide.
    pub min_units: u64,
}

/// Shares of the planned units that simulated runs needed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StopForecast {
    /// Their median.
    pub median: f64,
    /// The share that nine of ten runs do not exceed.
    pub p90: f64,
}

/// Resamples the units of an earlier run to the planned size, 200 times with the seeds 1 to 200, and follows the claims as
/// the run would. `None` without claims or units.
///
/// # Errors
/// Those of [`Claims::new`] and [`Claims::add`].
pub fn forecast_stop(input: &ForecastInput<'_>, mean: ForecastMean) -> Result<Option<StopForecast>, InputError> {
    if input.claims.is_empty() || input.seen.is_empty() || input.units == 0 {
        return Ok(None);
    }
    let shifted;
    let seen = match mean {
        ForecastMean::AsSeen => input.seen,
        ForecastMean::AtThreshold => {
            shifted = at_threshold(input);
            &shifted
        }
    };
    let needed = (1..=RUNS).map(|seed| units_needed(input, seen, seed)).collect::<Result<Vec<u64>, _>>()?;
    let shares: Vec<f64> = needed.iter().map(|units| *units as f64 / input.units as f64).collect();
    Ok(median(&shares).zip(nearest_rank_of(&shares, 0.9)).map(|(median, p90)| StopForecast { median, p90 }))
}

/// The units after which one simulated run is decided; all of them if it is not.
fn units_needed(input: &ForecastInput<'_>, seen: &[Vec<Option<(f64, u64)>>], seed: u64) -> Result<u64, InputError> {
    let mut random = Seed(seed).stream(0);
    let mut claims = Claims::new(input.claims, input.alpha, input.correction, input.min_units)?;
    for unit in 1..=input.units {
        let at = ((u128::from(random.next_u64()) * seen.len() as u128) >> 64) as usize;
        for (claim, scores) in seen[at].iter().enumerate() {
            let Some((sum, n)) = scores else { continue };
            if claims.claims().get(claim).is_some_and(|it| !it.is_full()) {
                claims.add(claim, *sum, *n)?;
            }
        }
        claims.look(&[]);
        if claims.is_decided() {
            return Ok(unit);
        }
    }
    Ok(input.units)
}

/// The units with their scores moved so that each claim's mean is its threshold: towards the nearer end of the scale in
/// proportion, so that they stay within it.
fn at_threshold(input: &ForecastInput<'_>) -> Vec<Vec<Option<(f64, u64)>>> {
    let means = (0..input.claims.len()).map(|claim| {
        let own = input.seen.iter().filter_map(|unit| *unit.get(claim)?);
        let (sum, n) = own.fold((0.0, 0), |(sum, n), (more, count)| (sum + more, n + count));
        if n > 0 { sum / n as f64 } else { 0.0 }
    });
    let means: Vec<f64> = means.collect();
    let moved = |claim: usize, (sum, n): (f64, u64)| {
        let (from, to) = (means.get(claim).copied().unwrap_or_default(), input.claims[claim].threshold);
        let n_scores = n as f64;
        let sum = match from < to {
            true => n_scores - (n_scores - sum) * (1.0 - to) / (1.0 - from),
            false if from > 0.0 => sum * to / from,
            false => sum,
        };
        (sum.clamp(0.0, n_scores), n)
    };
    let unit = |unit: &Vec<Option<(f64, u64)>>| {
        unit.iter().enumerate().map(|(claim, scores)| scores.map(|scores| moved(claim, scores))).collect()
    };
    input.seen.iter().map(unit).collect()
}
