//! Figures of samples that were drawn from the strata of a larger set, each at its own rate: a stratum counts by its rows,
//! not by its samples.
//!
//! A report's figure is the mean over the rows that were drawn from, so it has no width where all of them were; a gate by
//! interval asks of the population behind them. With clusters, samples are weighted and the interval is cluster-robust.

use std::collections::BTreeMap;

use karat_stats::describe::mean;
use karat_stats::inference::{Clusters, DrawnStratum, Outcome, Reach, stratified_figure, weighted_robust_mean};
use karat_stats::interval::{Interval, Method};

use super::measure::{ALIKE, Measure, few_clusters_reason};
use crate::infer::finding::{FigureDesign, Finding};
use crate::score::observations::{Aggregate, Observations, SampleDesign};

/// Strata whose numbers a method lists.
const LISTED: usize = 6;

/// The mean of drawn samples; `None` without samples of a known stratum.
pub(super) fn drawn_figure(observed: &Observations, design: &SampleDesign, measure: Measure) -> Option<Finding> {
    if measure.aggregate != Aggregate::Mean || observed.cascade.is_some() {
        return None;
    }
    let samples = reduce(observed)?;
    let mut strata: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    samples.iter().for_each(|(sample, (value, _))| strata.entry(design.stratum(*sample)).or_default().push(*value));
    let rows_of = |at: usize| design.strata.get(at).map_or(0, |(rows, _)| *rows);
    let all: u64 = design.strata.iter().map(|(rows, _)| rows).sum();
    let covered: u64 = strata.keys().map(|at| rows_of(*at)).sum();
    // Of part of the samples, a stratum has that part of its rows.
    let part = |at: usize, scored: usize| match design.strata.get(at) {
        Some((rows, drawn)) if observed.is_part => (*rows * scored as u64).div_ceil((*drawn).max(1)),
        Some((rows, _)) => *rows,
        None => 0,
    };
    let drawn: Vec<DrawnStratum> = strata
        .iter()
        .map(|(at, scores)| DrawnStratum { rows: part(*at, scores.len()), scores: scores.clone() })
        .collect();
    let counts: Vec<u64> = drawn.iter().map(|stratum| stratum.scores.len() as u64).collect();
    let covers = (!observed.is_part && covered < all).then(|| covered as f64 / all.max(1) as f64);
    let clusters: Vec<u32> = samples.values().map(|(_, cluster)| *cluster).collect();
    let clusters = Clusters::new(&clusters);
    let is_rate = measure.is_rate(observed) && observed.is_one_stratum();
    let found = if observed.clustered && clusters.hold_several() {
        let numbers: Vec<u32> = samples.keys().copied().collect();
        let values: Vec<f64> = samples.values().map(|(value, _)| *value).collect();
        let robust = weighted_robust_mean(&values, &design.weights(&numbers), &clusters, measure.level).ok()?;
        let plain = Finding::point(robust.mean?, samples.len(), "mean")?;
        let interval = robust.interval.filter(|_| !robust.alike);
        let found = plain.with_interval(interval, robust.standard_error);
        let found = robust.df.into_iter().fold(found, Finding::with_clusters);
        let few = robust.df.and_then(|df| few_clusters_reason(clusters.len(), df));
        let why = if robust.alike { Some(ALIKE.to_owned()) } else { few };
        why.into_iter().fold(found, Finding::leave_open)
    } else {
        let outcome = if is_rate { Outcome::PassFail } else { Outcome::Score };
        let reach = if measure.population { Reach::Population } else { Reach::Frame };
        let figure = stratified_figure(&drawn, outcome, reach, measure.level)?;
        let plain = Finding::point(figure.value, samples.len(), "mean")?;
        let interval = figure.interval.map(|it| Interval { method: Method::Stratified, ..it });
        let found = plain.with_interval(interval, Some(figure.standard_error));
        let found = figure.df.into_iter().fold(found, Finding::with_df);
        match interval {
            Some(_) => found,
            None => found.leave_open("the scored rows of each stratum are equal, so they say nothing of the others"),
        }
    };
    let mut method = format!("stratified by {}, {} of {} rows", design.by, list_counts(&counts), group_digits(all));
    if let Some(covers) = covers {
        method = format!("{method}, covers {:.0} % of the rows", (100.0 * covers).floor());
    }
    let found = found.with_method(method).with_design(FigureDesign {
        kind: "stratified",
        by: design.by.clone(),
        rows: all,
        drawn: counts.iter().sum(),
        covers,
    });
    Some(match covers {
        Some(covers) => found.leave_open(format!("it covers {:.0} % of the rows", (100.0 * covers).floor())),
        None => found,
    })
}

/// One value and the cluster of each sample; of several systems, their mean with equal weight for each system.
fn reduce(observed: &Observations) -> Option<BTreeMap<u32, (f64, u32)>> {
    let samples = observed.samples()?;
    let systems = observed.by_stratum();
    let distinct = samples.iter().collect::<std::collections::BTreeSet<_>>().len() as f64;
    let mut sums: BTreeMap<u32, (f64, u32)> = BTreeMap::new();
    for (at, sample) in samples.iter().enumerate() {
        let (value, system) = (observed.values.get(at)?, observed.strata.get(at)?);
        let own = systems.iter().find(|(id, _)| id == system).map_or(1, |(_, values)| values.len());
        let entry = sums.entry(*sample).or_insert((0.0, *observed.clusters.get(at)?));
        entry.0 += value * distinct / (systems.len() * own) as f64;
    }
    mean(&observed.values).map(|_| sums)
}

/// `36 + 14`, or the sum of many.
fn list_counts(counts: &[u64]) -> String {
    match counts.len() {
        0..=LISTED => counts.iter().map(u64::to_string).collect::<Vec<_>>().join(" + "),
        more => format!("{} in {more} strata", counts.iter().sum::<u64>()),
    }
}

/// A count with commas: `10,000`.
fn group_digits(count: u64) -> String {
    let digits = count.to_string();
    let parts: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    parts.iter().map(|part| String::from_utf8_lossy(part)).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use karat_stats::interval::Level;
    use serde_json::json;

    use super::*;
    use crate::infer::change::{Kind, PairedScores};

    /// Ten samples each of an easy topic with 900 rows and of a hard one with 100.
    fn design(drawn: [u64; 2]) -> Arc<SampleDesign> {
        let strata = vec![(900, drawn[0]), (100, drawn[1])];
        let of = [vec![0; drawn[0] as usize], vec![1; drawn[1] as usize]].concat();
        Arc::new(SampleDesign { by: "topic".to_owned(), strata, of, is_weighted: drawn[0] != 9 * drawn[1] })
    }

    fn observed(values: &[f64], design: &Arc<SampleDesign>) -> Observations {
        let mut observed = Observations { design: Some(design.clone()), ..Observations::default() };
        values.iter().enumerate().for_each(|(at, value)| observed.push(*value, 0, at as u32));
        observed
    }

    fn rate(observed: &Observations, population: bool) -> Finding {
        Measure { population, ..Measure::of_mean(true, None, Level::P95) }.figure(observed).unwrap()
    }

    /// Nine of ten easy samples and two of ten hard ones pass.
    fn passes() -> Vec<f64> {
        (0..20).map(|at| f64::from(u8::from(!(9..=17).contains(&at)))).collect()
    }

    /// DC-20: a stratum counts by its rows; the interval of the population is wider than that of the rows, which has no width
    /// once all are drawn.
    #[test]
    fn strata_count_by_their_rows() {
        let found = rate(&observed(&passes(), &design([10, 10])), false);
        assert!((found.value() - (0.9 * 0.9 + 0.1 * 0.2)).abs() < 1e-12, "{found:?}");
        assert_eq!(found.method(), "stratified by topic, 10 + 10 of 1,000 rows");
        let json = serde_json::to_value(&found).unwrap();
        assert_eq!(json["design"], json!({ "kind": "stratified", "by": "topic", "rows": 1000, "drawn": 20 }));
        let width = |found: &Finding| found.interval().map(|(lo, hi)| hi - lo).unwrap();
        assert!(width(&rate(&observed(&passes(), &design([10, 10])), true)) > width(&found));
        let whole = Arc::new(SampleDesign { strata: vec![(10, 10), (10, 10)], ..(*design([10, 10])).clone() });
        assert_eq!(rate(&observed(&passes(), &whole), false).interval(), Some((0.55, 0.55)));
    }

    /// DC-20: a stratum without a score is named, and nothing is decided; part of the samples by choice is not a gap.
    #[test]
    fn strata_without_a_score_are_a_gap() {
        let easy = observed(&passes()[..10], &design([10, 10]));
        let found = rate(&easy, false);
        assert_eq!((found.value(), found.open()), (0.9, Some("it covers 90 % of the rows")));
        assert!(found.method().ends_with("covers 90 % of the rows"), "{found:?}");
        assert_eq!(rate(&Observations { is_part: true, ..easy }, false).open(), None);
    }

    /// DC-20: of clusters the samples are weighted; figures other than means are refused where weights differ, and plain
    /// where they do not.
    #[test]
    fn clusters_are_weighted_and_other_figures_refused() {
        let values: Vec<f64> = (0..20).map(|at| f64::from(at % 5) + if at < 10 { 0.0 } else { 5.0 }).collect();
        let measure = Measure::of_mean(false, None, Level::P95);
        let mut clustered = observed(&values, &design([10, 10]));
        clustered.clusters = (0..20).map(|at| at / 2).collect();
        (clustered.clustered, clustered.places) = (true, (0..20).collect());
        let found = measure.figure(&clustered).unwrap();
        assert!((found.value() - (0.9 * 2.0 + 0.1 * 7.0)).abs() < 1e-12, "{found:?}");
        assert!(found.effective_clusters().is_some_and(|worth| worth < 10.0), "{found:?}");
        let median = Measure { aggregate: Aggregate::Median, ..measure };
        let refused = median.figure(&observed(&values, &design([10, 10]))).unwrap();
        assert_eq!(
            (refused.open(), refused.interval()),
            (Some("median of a weighted sample is not offered: draw proportionally"), None)
        );
        let plain: Vec<f64> = (0..20).map(f64::from).collect();
        assert!(median.figure(&observed(&plain, &design([18, 2]))).unwrap().interval().is_some());
    }

    /// DC-20: a change of an unequal draw is that of the weighted samples, and of an equal one the plain change.
    #[test]
    fn changes_are_weighted() {
        let scores = |drawn: [u64; 2]| {
            let mut scores = PairedScores::within(Some(1.0)).with_design(Some(design(drawn)));
            (0..20).for_each(|at| scores.push_pair([0.0, f64::from(u8::from(at >= 10))], (at, 0), at as u32));
            scores.test(Kind::Binary)
        };
        let weighted = scores([10, 10]);
        assert!((weighted.difference().unwrap() - 0.1).abs() < 1e-12, "{weighted:?}");
        assert_eq!((scores([18, 2]).difference(), weighted.n()), (Some(0.5), 20));
        assert_ne!(weighted.test().as_str(), scores([18, 2]).test().as_str());
    }

    /// DC-20: of several systems each counts the same.
    #[test]
    fn systems_have_equal_weight() {
        let mut both = observed(&passes(), &design([10, 10]));
        (0..20).for_each(|at| both.push(1.0, 1, at));
        let found = rate(&both, false);
        assert!((found.value() - 0.5 * (0.83 + 1.0)).abs() < 1e-12 && found.n() == 20, "{found:?}");
    }
}
