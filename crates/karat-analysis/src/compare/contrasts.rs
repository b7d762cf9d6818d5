//! The contrasts of a run: each change along one of its axes is tested once, and every screen reads it from here.
//!
//! | family | holds |
//! |---|---|
//! | `run` | one axis × headline metrics: the base variant against each other, all pairs of models |
//! | `runs` | two runs, or single systems: the headline metrics |
//! | `gates` | what a gate decides by interval, at the level of that gate |
//! | `other` | the same for metrics that are no headline: shown, never the reason of an advice |
//!
//! Within a family p-values are corrected by the policy's rule. Rank sets come from all pairs of the ranked axis.

use std::collections::{BTreeMap, BTreeSet};

use karat_stats::compare::multiplicity::StepRule;
use karat_stats::interval::Level;
use karat_types::{Correction, MetricSpec, Policy};

use super::matching::{MatchedSamples, Matching};
use super::significance::{Corrected, TestedMetric, correct};
use super::{CompareOptions, ComparedMetric, Side, sides};
use crate::analyses::{DecidedDelta, Delta, Leaderboards, Outcome};
use crate::figures::contrast::{Contrast, DeltaAxis, Family};
use crate::figures::leaderboard::Leaderboard;
use crate::findings::Findings;
use crate::infer::finding::Finding;
use crate::score::instrument::metric_names::headline_metrics;

/// Above this number of pairs only headline metrics are tested.
const MOST_PAIRS: usize = 100;

/// The variants or the models of a run, each with its systems.
struct Axis<'a> {
    axis: DeltaAxis,
    findings: &'a Findings,
    sides: Vec<Side<'a>>,
    /// The variant that the others are compared with; models are compared among each other.
    base: Option<usize>,
    samples: MatchedSamples,
    /// The pairs of systems of each two sides.
    systems: BTreeMap<(usize, usize), Vec<(usize, usize)>>,
}

/// The tested metrics of a pair of variants (models), by their numbers on the axis.
struct TestedPair<'a> {
    base: usize,
    other: usize,
    metrics: Vec<TestedMetric<'a>>,
}

/// A decided metric of a pair.
struct Decided {
    base: usize,
    other: usize,
    family: Family,
    tests: u64,
    result: ComparedMetric,
}

impl<'a> Axis<'a> {
    /// `None` if there is nothing to compare.
    fn of(findings: &'a Findings, axis: DeltaAxis) -> Option<Self> {
        let ids: Vec<&String> = match axis {
            DeltaAxis::Model => findings.plan.models.iter().map(|it| &it.id).collect(),
            _ => findings.plan.variants.iter().map(|it| &it.id).collect(),
        };
        let side = |(at, id): (usize, &&String)| {
            let is_of = |system: &usize| {
                findings.plan.systems.get(*system).is_some_and(|it| match axis {
                    DeltaAxis::Model => it.model == Some(at),
                    _ => it.variant == at,
                })
            };
            let systems = (0..findings.plan.systems.len()).filter(is_of).collect();
            Side { label: (*id).clone(), findings, systems }
        };
        let declared = findings.deltas().find(|delta| delta.over == axis).map(|delta| &delta.base);
        // A model that is not a system, such as one that plays the user, is not a side: nothing ranks behind it.
        let sides = ids.iter().enumerate().map(side).filter(|side| !side.systems.is_empty());
        let sides: Vec<Side<'a>> = sides.collect();
        let base = sides.iter().position(|side| Some(&side.label) == declared).unwrap_or_default();
        let base = (axis != DeltaAxis::Model).then_some(base);
        let numbered = || sides.iter().enumerate();
        let two = |(first, one): (usize, &Side<'a>)| -> Vec<_> {
            numbered().filter(|it| it.0 != first).map(|(at, it)| ((first, at), sides::pairs(one, it))).collect()
        };
        let systems = numbered().flat_map(two).collect();
        let samples = MatchedSamples::of(findings, findings, &BTreeSet::new());
        (sides.len() > 1).then_some(Self { axis, findings, sides, base, samples, systems })
    }

    fn id(&self, at: usize) -> String {
        self.sides.get(at).map_or_else(String::new, |side| side.label.clone())
    }

    /// All pairs, each with the base first.
    fn pairs(&self) -> Vec<(usize, usize)> {
        let ordered = |(first, second): (usize, usize)| {
            if Some(second) == self.base { (second, first) } else { (first, second) }
        };
        let n = self.sides.len();
        (0..n).flat_map(|first| (first + 1..n).map(move |second| (first, second))).map(ordered).collect()
    }

    /// Returns true for a pair that belongs to the family of its run.
    fn is_binding(&self, base: usize) -> bool {
        self.base.is_none_or(|it| it == base)
    }

    /// Tests the metrics of some pairs. Of very many, those outside of the run's family are tested in headline metrics only.
    fn test(&self, pairs: &[(usize, usize)], options: &CompareOptions) -> Vec<TestedPair<'_>> {
        let every = CompareOptions { metrics: Vec::new(), ..options.clone() };
        let names = headline(self.findings).into_iter().map(str::to_owned).collect();
        let few = CompareOptions { metrics: names, margins: BTreeMap::new(), ..options.clone() };
        let tested = pairs.iter().filter_map(|(base, other)| {
            let (baseline, candidate) = (self.sides.get(*base)?, self.sides.get(*other)?);
            let systems = self.systems.get(&(*base, *other)).filter(|it| !it.is_empty())?;
            let is_few = pairs.len() > MOST_PAIRS && (self.base.is_none() || !self.is_binding(*base));
            let asked = if is_few { &few } else { &every };
            let matching = Matching { baseline, candidate, pairs: systems, samples: &self.samples };
            let metrics = matching.metrics(asked).ok()?;
            Some(TestedPair { base: *base, other: *other, metrics: matching.test_all(&metrics, asked).0 })
        });
        tested.collect()
    }
}

fn headline(findings: &Findings) -> BTreeSet<&str> {
    let metrics = headline_metrics(&findings.plan).into_iter().filter_map(|at| findings.plan.metrics.get(at));
    metrics.map(|metric| metric.name.as_str()).collect()
}

/// The places of tested metrics in their families: for two variants (models) of one run those of its contrasts, or of all
/// pairs if the run does not contrast these two; else those of the two sides alone.
pub(super) fn correct_sides(
    (baseline, candidate): (&Side<'_>, &Side<'_>),
    tested: &[TestedMetric<'_>],
    options: &CompareOptions,
) -> Vec<Option<Corrected>> {
    let findings = candidate.findings;
    let axes = [DeltaAxis::Variant, DeltaAxis::Model].into_iter().filter_map(|axis| Axis::of(findings, axis));
    let is_one_run = std::ptr::eq(baseline.findings, findings);
    let found = axes.filter(|_| is_one_run).find_map(|axis| {
        let at = |side: &Side<'_>| axis.sides.iter().position(|it| it.systems == side.systems);
        let (base, other) = at(baseline).zip(at(candidate))?;
        Some((axis, base, other))
    });
    let Some((axis, base, other)) = found else {
        return correct(&[tested], &headline(findings), Family::Runs, options).into_iter().flatten().collect();
    };
    let of_sides = |pair: &(usize, usize)| *pair == (base, other) || *pair == (other, base);
    let mut pairs = axis.pairs();
    if pairs.iter().any(|pair| of_sides(pair) && axis.is_binding(pair.0)) {
        pairs.retain(|pair| axis.is_binding(pair.0));
    }
    let all = axis.test(&pairs, options);
    let metrics: Vec<&[TestedMetric<'_>]> = all.iter().map(|it| it.metrics.as_slice()).collect();
    let corrected = correct(&metrics, &headline(findings), Family::Run, options);
    let own = all.iter().zip(corrected).find(|(it, _)| of_sides(&(it.base, it.other)));
    let place = |metric: &TestedMetric<'_>| {
        let (pair, corrected) = own.as_ref()?;
        let at = pair.metrics.iter().position(|it| it.spec.name == metric.spec.name)?;
        corrected.get(at).copied().flatten()
    };
    tested.iter().map(place).collect()
}

/// Fills in the contrasts of a run, and the rank sets and leads of its leaderboards.
pub(crate) fn add_contrasts(findings: &mut Findings, policy: &Policy) {
    let options = options(findings, policy);
    let mut contrasts = Vec::new();
    let mut boards = Vec::new();
    for axis in [DeltaAxis::Variant, DeltaAxis::Model].into_iter().filter_map(|axis| Axis::of(findings, axis)) {
        let is_ranked = axis.axis == findings.ranked_axis();
        let mut pairs = axis.pairs();
        pairs.retain(|pair| is_ranked || axis.is_binding(pair.0));
        let tested = axis.test(&pairs, &options);
        if is_ranked {
            let metrics: Vec<&[TestedMetric<'_>]> = tested.iter().map(|it| it.metrics.as_slice()).collect();
            let places = correct(&metrics, &headline(findings), Family::Run, &options);
            let ranked = findings.plan.metrics.iter().zip(&findings.leaderboards);
            let ranked = ranked.map(|(metric, board)| ranking(metric, board, &axis, (&tested, &places), &options));
            boards = ranked.collect();
        }
        let binding = tested.iter().filter(|it| axis.is_binding(it.base)).collect();
        let contrast = |it: Decided| Contrast {
            axis: axis.axis,
            base: axis.id(it.base),
            other: axis.id(it.other),
            metric: it.result.metric,
            n: it.result.difference.n(),
            difference: it.result.difference,
            test: it.result.test,
            p: it.result.p,
            p_adjusted: it.result.p_adjusted,
            family: it.family,
            tests: it.tests,
            verdict: it.result.verdict,
            look: it.result.look,
            impossible: it.result.impossible,
            needed: it.result.needed,
        };
        contrasts.extend(decide(findings, binding, &options).into_iter().map(contrast));
    }
    for analysed in &mut findings.analyses {
        if let Outcome::Delta(delta) = &mut analysed.outcome {
            decide_delta(delta, &contrasts);
        }
    }
    findings.contrasts = contrasts;
    for (board, ranking) in findings.leaderboards.iter_mut().zip(boards) {
        ranking.apply(board);
    }
    let boards = findings.plan.metrics.iter().zip(&findings.leaderboards);
    let boards =
        boards.filter(|(metric, _)| !metric.by_words).map(|(metric, board)| (metric.name.clone(), board.clone()));
    let ranked = Leaderboards { boards: boards.collect() };
    for analysed in &mut findings.analyses {
        if let Outcome::Leaderboards(found) = &mut analysed.outcome {
            *found = ranked.clone();
        }
    }
}

/// Shows the changes of a `delta` as their contrasts have them.
fn decide_delta(delta: &mut Delta, contrasts: &[Contrast]) {
    for comparison in &mut delta.comparisons {
        for metric in &mut comparison.metrics {
            let is_same = |base: &str, other: &str, it: &Contrast| {
                it.axis == delta.over && it.metric == metric.metric && it.base == base && it.other == other
            };
            let straight = contrasts.iter().find(|it| is_same(&delta.base, &comparison.id, it)).cloned();
            let turned = || contrasts.iter().find(|it| is_same(&comparison.id, &delta.base, it)).cloned();
            if let Some(found) = straight.or_else(|| turned().map(Contrast::reverse)) {
                metric.decided = Some(DecidedDelta { p_adjusted: found.p_adjusted, verdict: found.verdict });
                metric.delta = found.difference;
            }
        }
    }
}

fn options(findings: &Findings, policy: &Policy) -> CompareOptions {
    CompareOptions {
        level: findings.measures.first().map_or(Level::P95, |measure| measure.level),
        correction: match policy.correction {
            Correction::None => StepRule::Alone,
            Correction::Holm => StepRule::Holm,
            Correction::Bh => StepRule::BenjaminiHochberg,
        },
        max_unscored: policy.max_unscored,
        mde: policy.mde.clone(),
        ..CompareOptions::default()
    }
}

/// Decides each metric of some pairs at the level of its family.
fn decide(findings: &Findings, tested: Vec<&TestedPair<'_>>, options: &CompareOptions) -> Vec<Decided> {
    let metrics: Vec<&[TestedMetric<'_>]> = tested.iter().map(|it| it.metrics.as_slice()).collect();
    let corrected = correct(&metrics, &headline(findings), Family::Run, options);
    let places = tested.iter().zip(&corrected).flat_map(|(pair, places)| {
        pair.metrics.iter().zip(places).filter_map(move |(metric, place)| Some((pair, metric, (*place)?)))
    });
    let mut decided: Vec<Decided> = places
        .filter_map(|(pair, metric, place)| {
            let result = metric.decide(place, None, options)?;
            Some(Decided { base: pair.base, other: pair.other, family: place.family, tests: place.tests, result })
        })
        .collect();
    decided.sort_by_key(|it| it.family);
    decided
}

/// A metric's ranking by the tests of all pairs.
struct Ranking {
    /// Best and worst possible rank by id.
    ranks: Vec<(String, [usize; 2])>,
    /// The difference of the first two.
    lead: Option<Finding>,
}

/// The p-values are corrected already, over all pairs and metrics of their family.
fn ranking(
    metric: &MetricSpec,
    board: &Leaderboard,
    axis: &Axis<'_>,
    (tested, places): (&[TestedPair<'_>], &[Vec<Option<Corrected>>]),
    options: &CompareOptions,
) -> Ranking {
    let n = axis.sides.len();
    let mut sets = vec![[1, n]; n];
    let mut lead = None;
    for (pair, places) in tested.iter().zip(places) {
        let at = pair.metrics.iter().position(|it| it.spec.name == metric.name);
        let Some((test, Some(place))) = at.and_then(|at| Some((pair.metrics.get(at)?, *places.get(at)?))) else {
            continue;
        };
        if let Some(is_ahead) = test.is_ahead(place, options) {
            let (first, last) = if is_ahead { (pair.other, pair.base) } else { (pair.base, pair.other) };
            sets.get_mut(first).into_iter().for_each(|set| set[1] -= 1);
            sets.get_mut(last).into_iter().for_each(|set| set[0] += 1);
        }
        if let [first, second, ..] = board.places.as_slice() {
            let (base, other) = (axis.id(pair.base), axis.id(pair.other));
            if base == second.id && other == first.id {
                lead = test.difference(place.level);
            } else if base == first.id && other == second.id {
                lead = test.difference(place.level).map(Finding::negate);
            }
        }
    }
    Ranking { ranks: sets.into_iter().enumerate().map(|(at, set)| (axis.id(at), set)).collect(), lead }
}

impl Ranking {
    fn apply(self, board: &mut Leaderboard) {
        for place in &mut board.places {
            place.rank = self.ranks.iter().find(|(id, _)| *id == place.id).map(|(_, rank)| *rank);
        }
        board.lead = self.lead;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::figures::contrast::ComparisonVerdict;
    use crate::testing::Sketch;
    use crate::{Options, analyse};

    fn passes(variants: usize, shares: &[usize], samples: usize) -> Findings {
        let mut sketch = Sketch::new(1, variants, samples).metric("binary", json!(true)).metric("range", json!([0, 1]));
        for (variant, passed) in shares.iter().enumerate() {
            for sample in 0..samples {
                sketch = sketch.value(sample, variant, f64::from(u8::from(sample < *passed)));
            }
        }
        let sketch = sketch.analysis("delta", "delta", json!({}));
        analyse(&sketch.run(), &Options::default()).unwrap()
    }

    /// DC-01, DC-04: 14 and 18 of 20 passes, four changes all one way, are undecided on every screen, with the same interval
    /// and p as `compare` has.
    #[test]
    fn one_contrast_has_one_verdict_everywhere() {
        let found = passes(2, &[14, 18], 20);
        let [contrast] = found.contrasts.as_slice() else { panic!("{:?}", found.contrasts) };
        let ends = |finding: &Finding| finding.interval().map(|(lo, hi)| format!("{lo:.3} to {hi:+.3}")).unwrap();
        assert_eq!((contrast.p, contrast.p_adjusted, contrast.tests), (Some(0.0625), Some(0.0625), 1));
        assert_eq!(
            (ends(&contrast.difference).as_str(), contrast.verdict),
            ("0.000 to +0.421", ComparisonVerdict::Undecided)
        );
        let ids: Vec<&String> = found.plan.variants.iter().map(|it| &it.id).collect();
        let side = |at: usize| Side::of("x", &found, None, Some(ids[at])).unwrap();
        let compared = super::super::compare(&side(0), &side(1), &CompareOptions::default()).unwrap();
        assert_eq!(compared.metrics[0].difference, contrast.difference);
        let delta = &found.deltas().next().unwrap().comparisons[0].metrics[0];
        assert_eq!(delta.delta, contrast.difference);
        assert_eq!(delta.decided.unwrap().verdict, ComparisonVerdict::Undecided);
        assert!(found.recommendations.iter().all(|it| !it.advice.contains("Prefer")), "{:?}", found.recommendations);
    }

    /// DC-04: p-values are corrected over the comparisons of an axis.
    #[test]
    fn more_variants_need_more() {
        let verdicts = |shares: &[usize]| {
            let found = passes(shares.len(), shares, 60);
            let of = |it: &Contrast| (it.verdict, it.tests, it.p_adjusted.unwrap() > 0.05);
            found.contrasts.iter().map(of).collect::<Vec<_>>()
        };
        // Six changes, all one way: p = 0.0156.
        assert_eq!(verdicts(&[40, 46]), [(ComparisonVerdict::Better, 1, false)]);
        let all = verdicts(&[40, 46, 40, 41, 40]);
        assert!(all.iter().all(|it| it.0 == ComparisonVerdict::Undecided && it.1 == 4 && it.2), "{all:?}");
    }

    /// DC-04: `compare` of two variants of a run decides as that run does, whatever metrics it shows; a pair that the run does
    /// not contrast is decided among all pairs.
    #[test]
    fn a_pair_of_a_run_is_decided_with_its_family() {
        let found = passes(4, &[40, 46, 40, 41], 60);
        let ids: Vec<&String> = found.plan.variants.iter().map(|it| &it.id).collect();
        let compared = |base: usize, other: usize, metrics: &[String]| {
            let side = |at: usize| Side::of("x", &found, None, Some(ids[at])).unwrap();
            let options = CompareOptions { metrics: metrics.to_vec(), ..CompareOptions::default() };
            super::super::compare(&side(base), &side(other), &options).unwrap()
        };
        let own = &found.contrasts[0];
        for (base, other) in [(0, 1), (1, 0)] {
            let asked = compared(base, other, std::slice::from_ref(&own.metric));
            let metric = &asked.metrics[0];
            let verdict = if base == 0 { ComparisonVerdict::Better } else { ComparisonVerdict::Worse };
            assert_eq!((metric.p_adjusted, metric.verdict, asked.family), (own.p_adjusted, verdict, 3));
            assert_eq!(metric.family, Family::Run);
            assert!((metric.difference.value().abs() - own.difference.value()).abs() < 1e-12);
        }
        let outside = compared(1, 2, &[]);
        assert_eq!(outside.family, 6);
        assert!(outside.metrics[0].p_adjusted > own.p_adjusted, "{:?}", outside.metrics[0].p_adjusted);
    }

    /// F60: a model of the plan that is not a system, such as one that plays the user, takes no rank.
    #[test]
    fn models_that_are_no_systems_take_no_rank() {
        let mut sketch = Sketch::new(2, 1, 40);
        for sample in 0..40 {
            let noise = (sample * 7 % 11) as f64 / 10.0;
            sketch = sketch.value(sample, 0, 7.0 + noise).value(sample, 1, 5.0 + (sample * 5 % 11) as f64 / 10.0);
        }
        let mut run = sketch.run();
        let plan = std::sync::Arc::make_mut(&mut run.header.plan);
        let user = karat_types::ModelSpec { id: "user".to_owned(), ..plan.models[0].clone() };
        plan.models.push(user);
        let found = analyse(&run, &Options::default()).unwrap();
        let ranks: Vec<_> = found.leaderboards[0].places.iter().map(|it| it.rank.unwrap()).collect();
        assert_eq!(ranks, [[1, 1], [2, 2]]);
        assert!(found.recommendations[0].advice.starts_with("Prefer model-a"), "{:?}", found.recommendations);
    }

    /// DC-04: models have rank sets; only one that is alone first is preferred.
    #[test]
    fn models_have_rank_sets() {
        let scores = |lead: f64| {
            let mut sketch = Sketch::new(3, 1, 40);
            for sample in 0..40 {
                let noise = (sample * 7 % 11) as f64 / 10.0;
                sketch = sketch
                    .value(sample, 0, 5.0 + lead + noise)
                    .value(sample, 1, 5.0 + (sample * 5 % 11) as f64 / 10.0)
                    .value(sample, 2, 5.0 + (sample * 3 % 11) as f64 / 10.0);
            }
            analyse(&sketch.run(), &Options::default()).unwrap()
        };
        let ranks =
            |found: &Findings| found.leaderboards[0].places.iter().map(|it| it.rank.unwrap()).collect::<Vec<_>>();
        let ahead = scores(2.0);
        assert_eq!(ranks(&ahead), [[1, 1], [2, 3], [2, 3]]);
        assert!(ahead.recommendations[0].advice.starts_with("Prefer model-a"), "{:?}", ahead.recommendations);
        let level = scores(0.0);
        assert_eq!(ranks(&level), [[1, 3]; 3]);
        assert!(level.recommendations[0].advice.starts_with("Undecided: any of "), "{:?}", level.recommendations);
    }
}
