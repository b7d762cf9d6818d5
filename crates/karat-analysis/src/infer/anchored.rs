//! People's mean of all outputs of a run, from a judge's scores of all and people's labels of some, by the design that chose
//! these.
//!
//! Two estimands, two intervals: what people would say of all N outputs of this run, and what they would say of outputs like
//! these. The first has no width where all outputs are labelled. Where outputs share clusters, both have the second, because
//! labels say little of how far clusters differ.

use std::collections::BTreeMap;

use karat_stats::describe::mean;
use karat_stats::inference::{Clusters, LabelledStratum, Outcome, people_mean, robust_mean};
use karat_stats::interval::{Interval, Level, Method};

use super::measure::{ALIKE, few_clusters_reason};
use crate::infer::finding::Finding;

/// An output with a judge's score, and maybe a label.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JudgedOutput {
    pub(crate) stratum: usize,
    pub(crate) judge: f64,
    pub(crate) human: Option<f64>,
    pub(crate) cluster: u32,
}

/// The rule of an anchored mean.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnchorRule {
    pub(crate) binary: bool,
    pub(crate) range: Option<(f64, f64)>,
    pub(crate) clustered: bool,
    /// The judge's weight, where it is not tuned.
    pub(crate) weight: Option<f64>,
    pub(crate) level: Level,
}

/// People's mean with both intervals.
#[derive(Debug, Clone)]
pub(crate) struct AnchoredMean {
    pub(crate) value: f64,
    pub(crate) lambda: f64,
    /// Standard error of the interval `dataset`.
    pub(crate) se: f64,
    pub(crate) df: Option<f64>,
    pub(crate) dataset: Option<Interval>,
    pub(crate) population: Option<Interval>,
    /// The reason why nothing is decided by it.
    pub(crate) open: Option<String>,
    /// True if every output has a label.
    pub(crate) is_census: bool,
}

impl AnchoredMean {
    /// Widens both intervals to the hull of two other estimates.
    pub(crate) fn widen_to(mut self, low: &Self, high: &Self) -> Self {
        let hull = |of: fn(&Self) -> Option<Interval>| {
            let (a, b) = (of(low)?, of(high)?);
            Some(Interval { lo: a.lo.min(b.lo), hi: a.hi.max(b.hi), ..a })
        };
        (self.dataset, self.population) = (hull(|it| it.dataset), hull(|it| it.population));
        self
    }

    /// The figure of `n` outputs under a name.
    pub(crate) fn finding(&self, n: usize, name: &str) -> Option<Finding> {
        let point = Finding::point(self.value, n, name.to_owned())?;
        let found = point.with_named_interval(self.dataset).with_se(self.se).with_population(self.population);
        let found = self.df.into_iter().fold(found, Finding::with_df);
        let found = if self.is_census { found.with_method("every output labelled") } else { found };
        Some(self.open.iter().cloned().fold(found, Finding::leave_open))
    }
}

/// People's mean of all outputs; `None` without a label. Strata without one are left out, and then nothing is decided.
pub(crate) fn anchored_mean(outputs: &[JudgedOutput], rule: AnchorRule) -> Option<AnchoredMean> {
    let mut groups = BTreeMap::<usize, Vec<&JudgedOutput>>::new();
    outputs.iter().for_each(|output| groups.entry(output.stratum).or_default().push(output));
    groups.retain(|_, group| group.iter().any(|output| output.human.is_some()));
    let strata: Vec<LabelledStratum> = groups.values().map(|group| stratum_of(group)).collect::<Option<_>>()?;
    let outcome = if rule.binary { Outcome::PassFail } else { Outcome::Score };
    let range = rule.range.unwrap_or_else(|| observed_range(outputs));
    let found = people_mean(&strata, outcome, range.1 - range.0, rule.weight, rule.level).ok()??;
    let covered: usize = groups.values().map(Vec::len).sum();
    let labels: usize = strata.iter().map(|stratum| stratum.human.len()).sum();
    let within = |it: Interval| match rule.range {
        Some((lo, hi)) => it.clip(lo, hi),
        None => it,
    };
    let shown = |it: Option<Interval>| it.map(|it| within(Interval { method: Method::StudentT, ..it }));
    let mut anchored = AnchoredMean {
        value: found.value,
        lambda: found.lambda,
        se: found.dataset_error,
        df: found.df,
        dataset: shown(found.dataset),
        population: shown(found.population),
        open: None,
        is_census: labels == outputs.len(),
    };
    if found.df.is_none() && !anchored.is_census {
        anchored.open =
            Some(format!("{labels} labels of {} strata leave nothing to judge their spread by", strata.len()));
    }
    if rule.clustered {
        let pairs: Vec<(f64, u32)> = groups.values().zip(&strata).flat_map(|it| influences(it, found.lambda)).collect();
        let (values, clusters): (Vec<f64>, Vec<u32>) = pairs.into_iter().unzip();
        let clusters = Clusters::new(&clusters);
        let robust = robust_mean(&values, &clusters, rule.level).ok()?;
        let few = robust.df.and_then(|df| few_clusters_reason(clusters.len(), df));
        anchored.open = if robust.alike { Some(ALIKE.to_owned()) } else { few };
        anchored.population = robust.interval.filter(|_| !robust.alike).map(within);
        if !anchored.is_census {
            anchored.dataset = anchored.population;
            (anchored.se, anchored.df) = (robust.standard_error?, robust.df);
        }
    }
    if covered < outputs.len() {
        let share = 100.0 * covered as f64 / outputs.len() as f64;
        anchored.open = Some(format!("its labels cover {:.0} % of the outputs", share.floor()));
    }
    Some(anchored)
}

fn stratum_of(group: &[&JudgedOutput]) -> Option<LabelledStratum> {
    let judged: Vec<f64> = group.iter().map(|output| output.judge).collect();
    let labelled = group.iter().filter_map(|output| Some((output.human?, output.judge)));
    let (human, judge) = labelled.unzip();
    Some(LabelledStratum { rows: group.len() as u64, judge_mean: mean(&judged)?, human, judge })
}

/// The outputs of a stratum as values whose mean is its part of the estimate: r̄ + λj, and of labelled ones N/n·(r − r̄)
/// more, with r = y − λj.
fn influences<'a>(
    (group, stratum): (&'a Vec<&JudgedOutput>, &LabelledStratum),
    lambda: f64,
) -> impl Iterator<Item = (f64, u32)> + 'a {
    let rest: Vec<f64> = stratum.human.iter().zip(&stratum.judge).map(|(y, j)| y - lambda * j).collect();
    let centre = mean(&rest).unwrap_or_default();
    let factor = group.len() as f64 / rest.len().max(1) as f64;
    group.iter().map(move |output| {
        let more = output.human.map_or(0.0, |y| factor * (y - lambda * output.judge - centre));
        (centre + lambda * output.judge + more, output.cluster)
    })
}

/// The lowest and the highest score and label, for metrics without a range.
fn observed_range(outputs: &[JudgedOutput]) -> (f64, f64) {
    let values = outputs.iter().flat_map(|output| [Some(output.judge), output.human]).flatten();
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), value| (lo.min(value), hi.max(value)))
}
