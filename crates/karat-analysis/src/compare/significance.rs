//! Corrects the p-values of a family, and decides each tested metric at the level that the correction assigns to it.

use std::collections::BTreeSet;

use karat_stats::compare::multiplicity::local_levels;
use karat_stats::interval::Level;
use karat_types::{Better, MetricSpec, Threshold};

use super::{
    CompareOptions, ComparedMetric, ComparisonVerdict, Family, Kind, LeftOut, PairedTest, SecondTest,
    first_with_same_scores,
};
use crate::figures::looks::Look;
use crate::figures::planning::needed::{Needed, Planning, planned_difference};
use crate::infer::finding::Finding;
use crate::infer::measure::Measure;
use crate::score::instrument::metric_names::matches_pattern;
use crate::score::observations::{Aggregate, Observations};

/// A tested metric before the correction.
pub(super) struct TestedMetric<'a> {
    pub(super) spec: &'a MetricSpec,
    /// The unit that its scorer measures in.
    pub(super) unit: Option<&'static str>,
    pub(super) kind: Kind,
    pub(super) aggregate: Aggregate,
    pub(super) baseline: Observations,
    pub(super) candidate: Observations,
    pub(super) test: PairedTest,
    pub(super) left_out: LeftOut,
    pub(super) bounds: Option<(f64, f64)>,
    pub(super) margin: Option<Threshold>,
    /// The difference between the instruments of the two sides.
    pub(super) instrument_change: Option<String>,
    /// Its number among the looks at this change.
    pub(super) look: Look,
    /// The level and the number of tests of the gates, if one of them decides this change by interval.
    pub(super) gated: Option<(Level, u64)>,
}

/// The reason for metrics with different instruments; the warning names the difference.
const OTHER_INSTRUMENT: &str = "the two sides were measured by different judges or rules (see the warning); score stored \
                                outputs again with `karat score RUN`, or decide anyway with `--allow-changed`";

/// The place of a test in its family.
#[derive(Debug, Clone, Copy)]
pub(super) struct Corrected {
    pub(super) family: Family,
    /// Number of p-values in the family.
    pub(super) tests: u64,
    pub(super) p_adjusted: Option<f64>,
    /// The level at which it is decided.
    pub(super) level: Level,
}

/// Corrects the p-values of some pairs within their families; the result has the same order. A metric that repeats another
/// of its pair, as `pass` does with a single check, is no further test.
pub(super) fn correct(
    pairs: &[&[TestedMetric<'_>]],
    headline: &BTreeSet<&str>,
    binding: Family,
    options: &CompareOptions,
) -> Vec<Vec<Option<Corrected>>> {
    let mut corrected: Vec<Vec<Option<Corrected>>> = pairs.iter().map(|tested| vec![None; tested.len()]).collect();
    for family in [binding, Family::Other] {
        let belongs = |it: &TestedMetric<'_>| {
            it.gated.is_none() && headline.contains(it.spec.name.as_str()) == (family != Family::Other)
        };
        let mut p_values = Vec::new();
        let mut members = Vec::new();
        for (pair, tested) in pairs.iter().enumerate() {
            let originals = first_with_same_scores(tested);
            let mut slots = vec![None; tested.len()];
            for (at, metric) in tested.iter().enumerate().filter(|(_, it)| belongs(it)) {
                let original = originals.get(at).and_then(|first| slots.get(*first).copied().flatten());
                let slot = original.unwrap_or(p_values.len());
                if original.is_none() {
                    p_values.push(metric.test.p().map(|p| (p * metric.look.factor()).min(1.0)));
                }
                if let Some(kept) = slots.get_mut(at) {
                    *kept = Some(slot);
                }
                members.push((pair, at, slot));
            }
        }
        let adjusted = options.correction.adjust(&p_values);
        let levels = local_levels(&p_values, options.correction, options.level.alpha());
        let tests = p_values.iter().flatten().count() as u64;
        for (pair, at, slot) in members {
            let (Some(p_adjusted), Some(alpha)) = (adjusted.get(slot), levels.get(slot)) else { continue };
            let look = pairs.get(pair).and_then(|it| it.get(at)).map_or(1.0, |it| it.look.factor());
            let level = Level::from_alpha(*alpha / look).unwrap_or(options.level);
            if let Some(kept) = corrected.get_mut(pair).and_then(|it| it.get_mut(at)) {
                *kept = Some(Corrected { family, tests, p_adjusted: *p_adjusted, level });
            }
        }
    }
    for (slots, tested) in corrected.iter_mut().zip(pairs) {
        for (slot, metric) in slots.iter_mut().zip(*tested) {
            if let Some((level, tests)) = metric.gated {
                let share = options.level.alpha() / level.alpha();
                let p_adjusted = metric.test.p().map(|p| (p * share).min(1.0));
                *slot = Some(Corrected { family: Family::Gates, tests, p_adjusted, level });
            }
        }
    }
    corrected
}

impl TestedMetric<'_> {
    /// The result for the metric at its local level, without further tests. `None` only without samples.
    pub(super) fn decide(
        &self,
        place: Corrected,
        cost_per_sample: Option<f64>,
        options: &CompareOptions,
    ) -> Option<ComparedMetric> {
        let Corrected { p_adjusted, level: local_level, .. } = place;
        let (baseline, candidate) =
            (self.figure(&self.baseline, options.level)?, self.figure(&self.candidate, options.level)?);
        let margin = self.margin(baseline.value());
        let equivalence = margin.and_then(|_| self.difference(Level::from_alpha(2.0 * local_level.alpha())?));
        let decidable = equivalence.as_ref().filter(|it| it.open().is_none());
        let open = self.open_reason(options);
        let verdict = match open {
            Some(_) => ComparisonVerdict::Undecided,
            None => self.verdict(p_adjusted, margin.zip(decidable), options.level),
        };
        let is_open = verdict == ComparisonVerdict::Undecided;
        let lacking = open.or_else(|| self.test.too_few_resamples(local_level));
        let planning = self.plan(local_level, cost_per_sample);
        let plannable = planning.filter(|_| is_open && lacking.is_none());
        Some(ComparedMetric {
            metric: self.spec.name.clone(),
            aggregate: self.spec.aggregate.clone(),
            kind: self.kind,
            better: self.spec.better,
            range: self.spec.range,
            unit: self.unit,
            baseline,
            candidate,
            difference: self.difference(local_level)?,
            test: self.test.test().as_str(),
            p: self.test.p(),
            p_adjusted,
            family: place.family,
            look: self.look.clone(),
            beside: Vec::new(),
            left_out: self.left_out,
            bounds: self.bounds,
            margin,
            needed: plannable.and_then(|it| self.required_samples(it, margin, options)),
            equivalence,
            verdict,
            impossible: lacking.or_else(|| self.test.impossible(local_level)).filter(|_| is_open),
            detectable: planning.and_then(|it| it.detectable()),
        })
    }

    /// Why these data decide nothing, whatever they say.
    fn open_reason(&self, options: &CompareOptions) -> Option<String> {
        let is_other = self.instrument_change.is_some() && !options.any_instrument;
        let other = is_other.then(|| OTHER_INSTRUMENT.to_owned());
        other.or_else(|| self.left_out.too_many_missing(self.test.n(), options.max_unscored))
    }

    /// Returns whether the candidate is better, if there is a difference. It needs no interval.
    pub(super) fn is_ahead(&self, place: Corrected, options: &CompareOptions) -> Option<bool> {
        let difference = self.test.difference().filter(|it| it.abs() > 0.0)?;
        let is_seen = place.p_adjusted.is_some_and(|p| p <= options.level.alpha());
        (is_seen && self.open_reason(options).is_none())
            .then(|| (difference > 0.0) == (self.spec.better == Better::Higher))
    }

    /// Returns true if both figures and their difference are finite.
    pub(super) fn has_figures(&self) -> bool {
        let has_figure = |observed| self.figure(observed, Level::P95).is_some();
        has_figure(&self.baseline) && has_figure(&self.candidate) && self.test.difference().is_some_and(f64::is_finite)
    }

    /// The declared margin in the metric's unit; `None` if there is none, or it is relative to 0.
    fn margin(&self, baseline: f64) -> Option<f64> {
        self.margin?.from_figure(Some(baseline)).filter(|margin| *margin > 0.0)
    }

    /// Returns true if a margin is declared relative to a figure of 0.
    pub(super) fn has_void_margin(&self) -> bool {
        let baseline = || self.figure(&self.baseline, Level::P95).map(|it| it.value());
        self.margin.is_some() && baseline().is_some_and(|figure| self.margin(figure).is_none())
    }

    /// Returns true if another metric has the same scores and the same aggregate on both sides.
    pub(super) fn has_same_scores(&self, other: &Self) -> bool {
        let same = |one: &Observations, other: &Observations| one.values == other.values && one.labels == other.labels;
        self.aggregate == other.aggregate
            && self.test.test() == other.test.test()
            && same(&self.baseline, &other.baseline)
            && same(&self.candidate, &other.candidate)
    }

    /// Number of clusters, if samples are clustered.
    pub(super) fn clusters(&self) -> Option<usize> {
        self.baseline.clustered.then(|| self.test.units())
    }

    /// The difference of the figures with its interval at a level.
    pub(super) fn difference(&self, level: Level) -> Option<Finding> {
        Some(self.test.finding(level)?.clip_difference(self.aggregate.max_change(self.spec.range)))
    }

    /// Further tests, with intervals clipped to possible differences.
    pub(super) fn second_tests(&self, level: Level, options: &CompareOptions) -> Vec<SecondTest> {
        let widest = self.aggregate.max_change(self.spec.range).unwrap_or(f64::INFINITY);
        let within = |(lo, hi): (f64, f64)| (lo.clamp(-widest, widest), hi.clamp(-widest, widest));
        let tests = self.test.second_tests(level, options.seed).into_iter();
        tests.map(|it| SecondTest { ci: it.ci.map(within), ..it }).collect()
    }

    /// Equivalent if the interval of the same test at 1 − 2α is within the margin (TOST), even if the difference is
    /// significant. Otherwise better or worse by the corrected p-value.
    fn verdict(
        &self,
        p_adjusted: Option<f64>,
        equivalence: Option<(f64, &Finding)>,
        level: Level,
    ) -> ComparisonVerdict {
        let within = |(margin, difference): (f64, &Finding)| {
            difference.interval().is_some_and(|(lo, hi)| lo > -margin && hi < margin)
        };
        if equivalence.is_some_and(within) {
            return ComparisonVerdict::Equivalent;
        }
        let difference = self.test.difference().unwrap_or_default();
        if difference.abs() <= 0.0 || p_adjusted.is_none_or(|p| p > level.alpha()) {
            return ComparisonVerdict::Undecided;
        }
        let up = (difference > 0.0) == (self.spec.better == Better::Higher);
        if up { ComparisonVerdict::Better } else { ComparisonVerdict::Worse }
    }

    fn plan(&self, level: Level, cost_per_sample: Option<f64>) -> Option<Planning> {
        let (design, fewest) = (self.test.design()?, self.test.fewest(level));
        let (pairs, without) = (self.test.n() as u64, self.left_out.not_applicable);
        let applies = pairs as f64 / (pairs + without) as f64;
        Some(Planning { design, present: pairs + without, applies, level, fewest, cost_per_sample })
    }

    /// With a margin and no other wish, by the power of the two one-sided t tests; otherwise by that of the paired t test.
    fn required_samples(&self, planning: Planning, margin: Option<f64>, options: &CompareOptions) -> Option<Needed> {
        let is_wanted = options.mde.keys().any(|pattern| matches_pattern(pattern, &self.spec.name));
        if let Some(margin) = margin.filter(|_| !is_wanted) {
            return planning.needed_for_equivalence(margin);
        }
        let scale = if self.kind == Kind::Binary { Some((0.0, 1.0)) } else { self.spec.range };
        let figure = self.figure(&self.baseline, Level::P95).map(|it| it.value());
        let widest = self.aggregate.max_change(scale);
        planning.required_samples(planned_difference((&self.spec.name, self.margin), &options.mde, (figure, widest))?)
    }

    fn figure(&self, observed: &Observations, level: Level) -> Option<Finding> {
        let (binary, range) = (self.kind == Kind::Binary, self.spec.range);
        Measure { aggregate: self.aggregate, ..Measure::of_mean(binary, range, level) }.figure(observed)
    }
}
