//! Power: which difference so many samples detect, and how many samples a difference takes (BY-16).
//!
//! The unit is the paired sample. Its standard deviation s_d comes from stored scores where there are any: pooled over
//! the pairs of systems, times the root of the design effect where samples are clustered. One system alone gives the
//! spread of its scores and an assumed correlation ρ = ½; without scores the range gives the worst case,
//! √(p(1−p)·2(1−ρ)) with p = ρ = ½.

use karat_stats::describe::standard_deviation;
use karat_stats::interval::Level;
use karat_stats::power::{Alternative, paired_t_effect, paired_t_items};
use karat_types::{MetricSpec, PlanHeader};
use serde::Serialize;

use crate::compare::{Kind, Needed, PLANNED_POWER, PairedScores};
use crate::finding::Finding;
use crate::findings::Findings;
use crate::table::ScoreTable;

/// What is known, or assumed, of the spread of paired differences.
#[derive(Debug, Clone, PartialEq)]
pub enum Spread {
    /// Of stored scores.
    Measured(Finding),
    /// The worst case of a score with a range.
    Assumed(Finding),
}

impl Spread {
    /// The standard deviation s_d of one paired difference, in the metric's unit.
    pub fn finding(&self) -> &Finding {
        match self {
            Self::Measured(finding) | Self::Assumed(finding) => finding,
        }
    }
}

/// What a number of samples can tell of a metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricPower {
    /// The metric.
    pub metric: String,
    /// Lowest and highest possible value, where it has them.
    pub range: Option<(f64, f64)>,
    /// Samples that there are.
    pub samples: u64,
    /// The standard deviation of one paired difference that is planned with, and where it comes from.
    pub deviation: Finding,
    /// The smallest difference that the samples detect; `None` for fewer than two.
    pub detectable: Option<f64>,
    /// With which probability.
    pub power: f64,
    /// Confidence level of the test that is planned.
    pub level: f64,
    /// What the wanted difference takes.
    pub needed: Option<Needed>,
}

/// The spread of paired differences by metric index; `None` where nothing is known of it.
pub fn spreads(plan: &PlanHeader, stored: Option<&Findings>) -> Vec<Option<Spread>> {
    let measured = |metric: &MetricSpec| {
        let findings = stored?;
        let at = findings.plan.metric(&metric.name)?;
        measured(&findings.table, at, findings.plan.systems.len(), metric.binary)
    };
    let one = |metric| measured(metric).map(Spread::Measured).or_else(|| worst_case(metric).map(Spread::Assumed));
    plan.metrics.iter().map(one).collect()
}

/// What `samples` samples can tell of a metric, and what `mde` would take.
pub fn power(
    metric: &MetricSpec,
    spread: &Spread,
    samples: u64,
    mde: Option<f64>,
    cost_per_sample: Option<f64>,
) -> MetricPower {
    let level = Level::P95;
    let deviation = spread.finding().clone();
    let sd = deviation.value();
    let effect = paired_t_effect(samples as f64, PLANNED_POWER, level, Alternative::TwoSided);
    let needed = mde.and_then(|difference| {
        let wanted = paired_t_items(difference / sd, PLANNED_POWER, level, Alternative::TwoSided);
        // A difference far above the spread is seen in two samples already.
        let wanted = wanted.or_else(|| (difference > sd).then_some(2.0))?.ceil();
        let more = (wanted - samples as f64).max(0.0);
        Some(Needed {
            difference,
            power: PLANNED_POWER,
            samples: wanted as u64,
            more: more as u64,
            cost_usd: cost_per_sample.map(|cost| cost * more),
        })
    });
    MetricPower {
        metric: metric.name.clone(),
        range: metric.range,
        samples,
        detectable: effect.map(|dz| dz * sd).filter(|difference| difference.is_finite() && *difference > 0.0),
        deviation,
        power: PLANNED_POWER,
        level: level.get(),
        needed,
    }
}

/// s_d of stored scores: pooled over the pairs of the first system with each other one, else of one system alone.
pub(crate) fn measured(table: &ScoreTable, metric: usize, systems: usize, binary: bool) -> Option<Finding> {
    let kind = if binary { Kind::Binary } else { Kind::Score };
    let tests = (1..systems).map(|other| paired(table, metric, other).test(kind));
    let known: Vec<(f64, usize)> = tests.filter_map(|test| Some((test.planning_deviation()?, test.n()))).collect();
    let n: usize = known.iter().map(|(_, n)| n).sum();
    let squares: f64 = known.iter().map(|(sd, n)| sd * sd * *n as f64).sum();
    if n > 0 {
        let pooled = (squares / n as f64).sqrt();
        let pairs = known.len();
        let method = format!("s_d of {pairs} pair{} of systems", if pairs == 1 { "" } else { "s" });
        return Finding::point(pooled, n, method).filter(|it| it.value() > 0.0);
    }
    let scores: Vec<f64> = (0..table.samples()).filter_map(|sample| table.value(metric, sample, 0)).collect();
    let alone = standard_deviation(&scores)?;
    Finding::point(alone, scores.len(), "s of one system, correlation 0.5 assumed").filter(|it| it.value() > 0.0)
}

fn paired(table: &ScoreTable, metric: usize, other: usize) -> PairedScores {
    let mut scores = PairedScores::default();
    for sample in 0..table.samples() {
        if let (Some(a), Some(b)) = (table.value(metric, sample, 0), table.value(metric, sample, other)) {
            scores.push(a, b, table.cluster(sample));
        }
    }
    scores
}

/// Half the range: the s_d of 0 or the whole range in even shares, correlated by ½.
fn worst_case(metric: &MetricSpec) -> Option<Finding> {
    let (lo, hi) = metric.range?;
    Finding::point(0.5 * (hi - lo), 0, "worst case of its range, correlation 0.5 assumed").filter(|it| it.value() > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sketch;
    use crate::{Options, analyse};

    fn one(stored: Option<&Findings>, samples: u64, mde: f64, cost: Option<f64>) -> MetricPower {
        let plan = Sketch::new(2, 1, 4).run().plan();
        let spreads = spreads(&plan, stored);
        power(&plan.metrics[0], spreads[0].as_ref().unwrap(), samples, Some(mde), cost)
    }

    /// BY-16: how many samples and dollars a difference takes, on the worst case where nothing is stored.
    #[test]
    fn without_a_stored_run_the_worst_case_is_planned_with() {
        let found = one(None, 100, 1.0, Some(0.01));
        assert_eq!((found.deviation.value(), found.deviation.n()), (5.0, 0));
        // scipy.stats.nct, solved for 80 % power at d_z = 0.2: 198.15
        let needed = found.needed.unwrap();
        assert_eq!((needed.samples, needed.more), (199, 99));
        assert!((needed.cost_usd.unwrap() - 0.99).abs() < 1e-12);
        // scipy.stats.nct, solved for 80 % power at n = 100: 0.2829126
        assert!((found.detectable.unwrap() - 5.0 * 0.282_912_6).abs() < 1e-6, "{:?}", found.detectable);
    }

    /// BY-16: the deviation of paired differences comes from stored runs; with one system, from its scores.
    #[test]
    fn stored_scores_say_how_much_differences_vary() {
        let two = Sketch::new(2, 1, 4).value(0, 0, 5.0).value(0, 1, 6.0).value(1, 0, 3.0).value(1, 1, 2.0);
        let two = two.value(2, 0, 4.0).value(2, 1, 5.0).value(3, 0, 8.0).value(3, 1, 7.0).run();
        let found = one(Some(&analyse(&two, &Options::default()).unwrap()), 4, 1.0, None);
        assert!((found.deviation.value() - (4.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(found.deviation.method(), "s_d of 1 pair of systems");
        let single = Sketch::new(1, 1, 3).value(0, 0, 5.0).value(1, 0, 3.0).value(2, 0, 4.0).run();
        let found = one(Some(&analyse(&single, &Options::default()).unwrap()), 4, 1.0, None);
        assert_eq!((found.deviation.value(), found.deviation.n()), (1.0, 3));
    }

    /// BY-16: clustered samples are worth fewer, so a difference takes more of them.
    #[test]
    fn clusters_take_more_samples() {
        let sketch = |clusters: &[&str]| {
            let shift = |sample: usize| if sample < 4 { 1.0 } else { -1.0 };
            let run = (0..8).fold(Sketch::new(2, 1, 8).clusters(clusters), |it, sample| {
                it.value(sample, 0, 5.0).value(sample, 1, 5.0 + shift(sample) * (1.0 + sample as f64 / 10.0))
            });
            let findings = analyse(&run.run(), &Options::default()).unwrap();
            one(Some(&findings), 8, 0.5, None).needed.unwrap().samples
        };
        let apart: Vec<String> = (0..8).map(|sample| format!("c{sample}")).collect();
        let apart: Vec<&str> = apart.iter().map(String::as_str).collect();
        assert!(sketch(&["a", "a", "b", "b", "c", "c", "d", "d"]) > sketch(&apart));
    }
}
