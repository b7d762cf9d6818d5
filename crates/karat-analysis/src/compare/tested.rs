//! One metric of a comparison: tested, then decided at the level that the correction leaves it.

use karat_stats::interval::Level;
use karat_stats::power::{Alternative, items_for, paired_t_effect, paired_t_items};
use karat_types::{Better, MetricSpec};

use super::{ComparedMetric, Kind, Needed, Options, PLANNED_POWER, PairedScores, PairedTest, Verdict};
use crate::estimate::{self, Aggregate, Observations};
use crate::finding::Finding;

/// A metric after its test, before the correction over all.
pub(super) struct Tested<'a> {
    pub(super) spec: &'a MetricSpec,
    pub(super) kind: Kind,
    pub(super) scores: PairedScores,
    pub(super) test: PairedTest,
    pub(super) left_out: u64,
    pub(super) clusters: Option<usize>,
    pub(super) margin: Option<f64>,
}

impl Tested<'_> {
    /// `None` only for no samples.
    pub(super) fn decided(
        &self,
        p_adjusted: Option<f64>,
        local: Level,
        cost_per_sample: Option<f64>,
        options: &Options,
    ) -> Option<ComparedMetric> {
        let equivalence = self.margin.and_then(|_| self.difference(Level::from_alpha(2.0 * local.alpha())?));
        let verdict = self.verdict(p_adjusted, equivalence.as_ref(), options.level);
        Some(ComparedMetric {
            metric: self.spec.name.clone(),
            kind: self.kind,
            better: self.spec.better,
            range: self.spec.range,
            baseline: self.figure(self.scores.baseline(), options.level)?,
            candidate: self.figure(self.scores.candidate(), options.level)?,
            difference: self.difference(local)?,
            test: self.test.test().as_str(),
            p: self.test.p(),
            p_adjusted,
            beside: self.test.beside(local, options.seed),
            left_out: self.left_out,
            margin: self.margin,
            needed: self.needed(local, cost_per_sample).filter(|_| verdict == Verdict::Undecided),
            equivalence,
            verdict,
            detectable: self.detectable(local),
        })
    }

    /// The mean difference with its interval of a level.
    fn difference(&self, level: Level) -> Option<Finding> {
        let point = Finding::point(self.test.mean()?, self.test.n(), self.test.test().as_str())?;
        let whole = point.with(self.test.interval(level), self.test.standard_error());
        Some(whole.degenerate_if(self.test.is_degenerate()))
    }

    /// Different by the corrected p-value; equivalent where the interval at 1 − 2α of the same test is within the
    /// margin (TOST).
    fn verdict(&self, p_adjusted: Option<f64>, equivalence: Option<&Finding>, level: Level) -> Verdict {
        let mean = self.test.mean().unwrap_or_default();
        if p_adjusted.is_some_and(|p| p <= level.alpha()) && mean.abs() > 0.0 {
            let up = (mean > 0.0) == (self.spec.better == Better::Higher);
            return if up { Verdict::Better } else { Verdict::Worse };
        }
        let within = |margin: f64, (lo, hi): (f64, f64)| lo > -margin && hi < margin;
        match self.margin.zip(equivalence.and_then(Finding::interval)) {
            Some((margin, ends)) if within(margin, ends) => Verdict::Equivalent,
            _ => Verdict::Undecided,
        }
    }

    /// By the power of the paired t test at the margin, or else at the observed difference: to decide what is not
    /// decided takes more samples than there are.
    fn needed(&self, local: Level, cost_per_sample: Option<f64>) -> Option<Needed> {
        let difference = self.margin.unwrap_or(self.test.mean()?.abs());
        let deviation = self.test.planning_deviation().filter(|sd| *sd > 0.0 && difference > 0.0)?;
        let planned = paired_t_items(difference / deviation, PLANNED_POWER, local, Alternative::TwoSided)
            .or_else(|| items_for(deviation, difference, local, PLANNED_POWER))?;
        let present = self.test.n() as f64;
        let least = if self.margin.is_some() { 0.0 } else { present + 1.0 };
        let samples = planned.ceil().max(self.test.fewest(local)).max(least);
        let more = (samples - present).max(0.0);
        Some(Needed {
            difference,
            power: PLANNED_POWER,
            samples: samples as u64,
            more: more as u64,
            cost_usd: cost_per_sample.map(|cost| cost * more),
        })
    }

    fn detectable(&self, local: Level) -> Option<f64> {
        let n = self.test.n() as f64;
        let deviation = self.test.planning_deviation().filter(|sd| *sd > 0.0 && n >= self.test.fewest(local))?;
        Some(deviation * paired_t_effect(n, PLANNED_POWER, local, Alternative::TwoSided)?)
    }

    fn figure(&self, values: &[f64], level: Level) -> Option<Finding> {
        let observed = Observations {
            values: values.to_vec(),
            strata: vec![0; values.len()],
            clusters: self.scores.clusters().to_vec(),
            clustered: self.scores.is_clustered(),
            ..Observations::default()
        };
        estimate::figure(&observed, Aggregate::Mean, self.kind == Kind::Binary, level)
    }
}
