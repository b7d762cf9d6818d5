//! The contrasts of a run: each change along one of its axes is tested once, and every screen reads it from here.
//!
//! | family | holds |
//! |---|---|
//! | `run` | one axis × headline metrics: the base variant against each other, all pairs of models |
//! | `other` | the same for metrics that are no headline: shown, never the reason of an advice |
//!
//! Within a family p-values are corrected by the policy's rule. Rank sets come from all pairs of the ranked axis.

use std::collections::BTreeSet;

use karat_stats::compare::multiplicity::{StepRule, local_levels};
use karat_stats::interval::Level;
use karat_types::{Better, Correction, Policy};
use serde::Serialize;

use super::matching::{MatchedSamples, Matching};
use super::significance::TestedMetric;
use super::{CompareOptions, ComparedMetric, ComparisonVerdict, Side, first_with_same_scores, sides};
use crate::analyses::{DecidedDelta, Delta, DeltaAxis, Leaderboards, Outcome};
use crate::figures::finding::Finding;
use crate::figures::leaderboard::Leaderboard;
use crate::planning::needed::Needed;
use crate::run::findings::Findings;
use crate::run::metric_names::headline_metrics;

/// Above this number of pairs only headline metrics are tested.
const MOST_PAIRS: usize = 100;

/// The family whose p-values are corrected together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// The headline metrics of one axis of a run.
    Run,
    /// Everything else: shown, never binding.
    Other,
}

/// One change along an axis of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contrast {
    /// The compared axis.
    pub axis: DeltaAxis,
    /// The variant (model) that the other is compared with.
    pub base: String,
    /// The other variant (model).
    pub other: String,
    /// The metric.
    pub metric: String,
    /// Number of samples with a score on both sides.
    pub n: u64,
    /// Other − base, with the interval at the level of this decision.
    pub difference: Finding,
    /// The test that decides.
    pub test: &'static str,
    /// Its p-value; `None` without a test.
    pub p: Option<f64>,
    /// The p-value corrected over the family.
    pub p_adjusted: Option<f64>,
    /// The family.
    pub family: Family,
    /// Number of p-values in the family.
    pub tests: u64,
    /// The verdict on the other.
    pub verdict: ComparisonVerdict,
    /// The reason why no data could decide it. Only if undecided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impossible: Option<String>,
    /// The samples needed for a decision, if undecided.
    pub needed: Option<Needed>,
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

/// Fills in the contrasts of a run, and the rank sets and leads of its leaderboards.
pub(crate) fn add_contrasts(findings: &mut Findings, policy: &Policy) {
    let options = options(findings, policy);
    let mut contrasts = Vec::new();
    let mut boards = Vec::new();
    for axis in [DeltaAxis::Variant, DeltaAxis::Model] {
        let ids: Vec<String> = match axis {
            DeltaAxis::Model => findings.plan.models.iter().map(|it| it.id.clone()).collect(),
            _ => findings.plan.variants.iter().map(|it| it.id.clone()).collect(),
        };
        if ids.len() < 2 {
            continue;
        }
        let is_ranked = (axis == DeltaAxis::Model) != findings.models.is_empty();
        let all: Vec<(usize, usize)> =
            (0..ids.len()).flat_map(|base| (base + 1..ids.len()).map(move |other| (base, other))).collect();
        let to_base = || {
            let declared = findings.deltas().find(|delta| delta.over == axis).map(|delta| &delta.base);
            let base = ids.iter().position(|id| Some(id) == declared).unwrap_or_default();
            (0..ids.len()).filter(|other| *other != base).map(|other| (base, other)).collect()
        };
        let pairs: Vec<(usize, usize)> = if axis == DeltaAxis::Model { all.clone() } else { to_base() };
        let decided = decide(findings, axis, &ids, &pairs, &options);
        if is_ranked {
            let every =
                if axis == DeltaAxis::Model { None } else { Some(decide(findings, axis, &ids, &all, &options)) };
            let every = every.as_ref().unwrap_or(&decided);
            boards = findings
                .plan
                .metrics
                .iter()
                .map(|it| ranking(&it.name, it.better, &ids, every, options.level))
                .collect();
        }
        contrasts.extend(decided.into_iter().filter_map(|it| {
            Some(Contrast {
                axis,
                base: ids.get(it.base)?.clone(),
                other: ids.get(it.other)?.clone(),
                metric: it.result.metric,
                n: it.result.difference.n(),
                difference: it.result.difference,
                test: it.result.test,
                p: it.result.p,
                p_adjusted: it.result.p_adjusted,
                family: it.family,
                tests: it.tests,
                verdict: it.result.verdict,
                impossible: it.result.impossible,
                needed: it.result.needed,
            })
        }));
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

impl Contrast {
    /// The same change seen from the other side.
    fn reversed(self) -> Self {
        let verdict = match self.verdict {
            ComparisonVerdict::Better => ComparisonVerdict::Worse,
            ComparisonVerdict::Worse => ComparisonVerdict::Better,
            open => open,
        };
        Self { base: self.other, other: self.base, difference: self.difference.negated(), verdict, ..self }
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
            if let Some(found) = straight.or_else(|| turned().map(Contrast::reversed)) {
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
        ..CompareOptions::default()
    }
}

/// Tests the pairs and decides each metric at the level of its family.
fn decide(
    findings: &Findings,
    axis: DeltaAxis,
    ids: &[String],
    pairs: &[(usize, usize)],
    options: &CompareOptions,
) -> Vec<Decided> {
    let headline: BTreeSet<&str> = headline_metrics(&findings.plan)
        .into_iter()
        .filter_map(|at| findings.plan.metrics.get(at))
        .map(|metric| metric.name.as_str())
        .collect();
    let sides: Vec<Side<'_>> = ids.iter().enumerate().map(|(at, id)| side(findings, axis, at, id)).collect();
    let samples = MatchedSamples::of(findings, findings, &BTreeSet::new());
    let names = headline.iter().map(|name| (*name).to_owned()).collect();
    let asked =
        CompareOptions { metrics: if pairs.len() > MOST_PAIRS { names } else { Vec::new() }, ..options.clone() };
    let systems: Vec<Vec<(usize, usize)>> = pairs
        .iter()
        .map(|(base, other)| sides.get(*base).zip(sides.get(*other)).map_or_else(Vec::new, |(a, b)| sides::pairs(a, b)))
        .collect();
    let tested = pairs.iter().zip(&systems).filter_map(|((base, other), systems)| {
        let (baseline, candidate) = (sides.get(*base)?, sides.get(*other)?);
        let matching = Matching { baseline, candidate, pairs: systems, samples: &samples };
        let metrics = matching.metrics(&asked).ok().filter(|_| !systems.is_empty())?;
        Some(TestedPair { base: *base, other: *other, metrics: matching.test_all(&metrics, &asked).0 })
    });
    let tested: Vec<TestedPair<'_>> = tested.collect();
    let mut decided = Vec::new();
    for family in [Family::Run, Family::Other] {
        let belongs = |it: &TestedMetric<'_>| headline.contains(it.spec.name.as_str()) == (family == Family::Run);
        // A metric that repeats another of its pair is no further test.
        let mut p_values = Vec::new();
        let mut members = Vec::new();
        for pair in &tested {
            let originals = first_with_same_scores(&pair.metrics);
            let mut slots = vec![None; pair.metrics.len()];
            for (at, metric) in pair.metrics.iter().enumerate().filter(|(_, it)| belongs(it)) {
                let original = originals.get(at).and_then(|first| slots.get(*first).copied().flatten());
                let slot = original.unwrap_or(p_values.len());
                if original.is_none() {
                    p_values.push(metric.test.p());
                }
                if let Some(kept) = slots.get_mut(at) {
                    *kept = Some(slot);
                }
                members.push((pair, metric, slot));
            }
        }
        let adjusted = options.correction.adjust(&p_values);
        let levels = local_levels(&p_values, options.correction, options.level.alpha());
        let tests = p_values.iter().flatten().count() as u64;
        decided.extend(members.into_iter().filter_map(|(pair, metric, slot)| {
            let local = Level::from_alpha(*levels.get(slot)?).unwrap_or(options.level);
            let result = metric.decide(*adjusted.get(slot)?, local, None, options)?;
            Some(Decided { base: pair.base, other: pair.other, family, tests, result })
        }));
    }
    decided
}

/// The systems of a variant (model).
fn side<'a>(findings: &'a Findings, axis: DeltaAxis, at: usize, id: &str) -> Side<'a> {
    let is_of = |system: &usize| {
        findings.plan.systems.get(*system).is_some_and(|it| match axis {
            DeltaAxis::Model => it.model == Some(at),
            _ => it.variant == at,
        })
    };
    Side { label: id.to_owned(), findings, systems: (0..findings.plan.systems.len()).filter(is_of).collect() }
}

/// A metric's ranking by the tests of all pairs.
struct Ranking {
    /// Best and worst possible rank by id.
    ranks: Vec<(String, [usize; 2])>,
    /// Differences other − base by ids.
    differences: Vec<([String; 2], Finding)>,
}

fn ranking(metric: &str, better: Better, ids: &[String], decided: &[Decided], level: Level) -> Ranking {
    let of_metric: Vec<&Decided> = decided.iter().filter(|it| it.result.metric == metric).collect();
    let sign = if better == Better::Higher { 1.0 } else { -1.0 };
    // The p-values are corrected already, over all pairs and metrics of their family.
    let mut sets = vec![[1, ids.len()]; ids.len()];
    for it in &of_metric {
        let is_decided = it.result.verdict != ComparisonVerdict::Undecided;
        let ahead = sign * it.result.difference.value() > 0.0;
        if !is_decided || it.result.p_adjusted.is_none_or(|p| p > level.alpha()) {
            continue;
        }
        let (first, last) = if ahead { (it.other, it.base) } else { (it.base, it.other) };
        sets.get_mut(first).into_iter().for_each(|set| set[1] -= 1);
        sets.get_mut(last).into_iter().for_each(|set| set[0] += 1);
    }
    let pair =
        |it: &&Decided| Some(([ids.get(it.base)?.clone(), ids.get(it.other)?.clone()], it.result.difference.clone()));
    Ranking { ranks: ids.iter().cloned().zip(sets).collect(), differences: of_metric.iter().filter_map(pair).collect() }
}

impl Ranking {
    fn apply(self, board: &mut Leaderboard) {
        for place in &mut board.places {
            place.rank = self.ranks.iter().find(|(id, _)| *id == place.id).map(|(_, rank)| *rank);
        }
        let [first, second, ..] = board.places.as_slice() else { return };
        let lead = self.differences.into_iter().find_map(|([base, other], difference)| {
            if base == second.id && other == first.id {
                return Some(difference);
            }
            (base == first.id && other == second.id).then(|| difference.negated())
        });
        board.lead = lead;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
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
        assert!(level.recommendations[0].advice.starts_with("Any of "), "{:?}", level.recommendations);
    }
}
