//! Figures of a judge cascade: the estimated mean of the judges over all cells (SL-21).

use karat_stats::correction::{CascadeBasis, CascadeMean, MIN_DRAWN};
use karat_stats::describe::{clustered_mean, mean, t_interval};
use karat_stats::interval::{Interval, Level, Method};

use crate::figures::finding::Finding;
use crate::score::cascade::ObservedCascade;
use crate::score::observations::Observations;

/// The estimate of a cascade's observations, with equal weight for each stratum. `None` without cells that can be
/// estimated.
///
/// One stratum: θ ± t·√V or √V_d, n − 2 degrees of freedom. Several: the mean of their θ; V is CR1 of the cells' values
/// times the largest n/(n − 2) with the fewest degrees of freedom, and V_d the sum of the strata's over their squared
/// number, because draws are independent.
pub(crate) fn cascade_figure(
    observed: &Observations,
    cascade: &ObservedCascade,
    basis: CascadeBasis,
    level: Level,
) -> Option<Finding> {
    let strata = cascade.by_stratum()?;
    let means: Vec<CascadeMean> =
        strata.iter().map(|(fit, cells)| fit.mean(cells)).collect::<Option<Vec<_>>>().filter(|it| !it.is_empty())?;
    let cells = means.iter().map(|it| it.n).sum();
    if let [only] = means.as_slice() {
        let point = Finding::point(only.estimate, cells, "cascade, mean")?;
        let variance = match basis {
            CascadeBasis::Population => only.variance,
            CascadeBasis::Dataset => only.dataset_variance,
        };
        return Some(point.with_interval(only.interval(basis, level), variance.map(f64::sqrt)));
    }
    let estimates: Vec<f64> = means.iter().map(|it| it.estimate).collect();
    let point = Finding::point(mean(&estimates)?, cells, "cascade, mean")?;
    let (se, df) = match basis {
        CascadeBasis::Population => population_error(observed, &means, level)?,
        CascadeBasis::Dataset => {
            let variances: Option<f64> = means.iter().map(|it| it.dataset_variance).sum();
            let df = means.iter().filter_map(|it| it.dataset_df).fold(f64::INFINITY, f64::min);
            (variances?.sqrt() / means.len() as f64, df)
        }
    };
    if se <= 0.0 {
        return Some(point.with_interval(
            Some(Interval::around(point_value(&estimates)?, 0.0, level, Method::Degenerate)),
            Some(0.0),
        ));
    }
    let df = if df.is_finite() { df } else { return Some(point) };
    let interval = t_interval(point_value(&estimates)?, se, df, level);
    let interval = interval.map(|it| Interval { method: Method::Cascade, ..it });
    Some(point.with_interval(interval, Some(se)))
}

fn point_value(estimates: &[f64]) -> Option<f64> {
    mean(estimates)
}

/// Standard error and degrees of freedom of several strata's mean.
fn population_error(observed: &Observations, means: &[CascadeMean], level: Level) -> Option<(f64, f64)> {
    let by_stratum = observed.by_stratum();
    let total = observed.len() as f64;
    let centres: Vec<f64> = by_stratum.iter().map(|(_, values)| mean(values)).collect::<Option<_>>()?;
    let pseudo: Vec<f64> = observed
        .values
        .iter()
        .zip(&observed.strata)
        .filter_map(|(value, stratum)| {
            let at = by_stratum.binary_search_by_key(stratum, |(id, _)| *id).ok()?;
            let weight = total / (by_stratum.len() * by_stratum.get(at)?.1.len()) as f64;
            Some(weight * (value - centres.get(at)?))
        })
        .collect();
    let robust = clustered_mean(&pseudo, &observed.clusters, level).ok()?;
    let factor =
        |it: &CascadeMean| if it.dataset_df.is_some() { it.drawn as f64 / (it.drawn as f64 - 2.0) } else { 1.0 };
    let factor = means.iter().map(factor).fold(1.0, f64::max);
    let df = means.iter().map(|it| it.df.unwrap_or(0.0)).fold(robust.df?, f64::min);
    (df > 0.0).then_some((robust.standard_error? * factor.sqrt(), df))
}

/// The reason why a cascade's figure decides no gate, if there is one: too few answers, too many missing ones, or draws
/// that were not made with one probability (SL-22).
pub(crate) fn refusal(cascade: &ObservedCascade, max_unscored: f64) -> Option<String> {
    let strata = match cascade.by_stratum() {
        Some(strata) => strata,
        None => return Some("the judges of the cascade graded no cell that was drawn".to_owned()),
    };
    for (fit, cells) in &strata {
        let found = fit.mean(cells)?;
        let estimated = found.sure > found.drawn;
        if estimated && found.drawn < MIN_DRAWN {
            return Some(format!(
                "the cascade's judges graded {} of the cells that were drawn, and an estimate needs {MIN_DRAWN}: raise \
                 `cascade.share`, or ask about more samples",
                found.drawn
            ));
        }
        let asked = cells.iter().filter(|it| it.asked != karat_stats::correction::Asked::No).count();
        let missing =
            cells.iter().filter(|it| it.asked != karat_stats::correction::Asked::No && it.dear.is_none()).count();
        if missing as f64 > max_unscored * asked as f64 {
            return Some(format!(
                "{missing} of the {asked} cells that the cascade's judges were asked about have no score, and the policy \
                 allows {:.1} %",
                max_unscored * 100.0
            ));
        }
    }
    let pis = cascade.source().systems.iter().filter_map(|it| it.draws.pi);
    for (lo, hi) in pis {
        if lo <= 0.0 {
            return Some("the cascade drew no sure cell: its probability was 0".to_owned());
        }
        if hi - lo > 1e-12 {
            return Some(format!(
                "the cells of the cascade were drawn with different probabilities, from {lo:.3} to {hi:.3}: run it again in \
                 one piece"
            ));
        }
    }
    None
}
