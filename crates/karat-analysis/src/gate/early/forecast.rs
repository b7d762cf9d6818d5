//! The share of a planned run that its gates would need if it stopped early, by the cells of an earlier run.

use std::collections::BTreeMap;

use karat_stats::compare::multiplicity::StepRule;
use karat_stats::sequential::{
    Basis, Bound, ClaimSpec, EarlyRule, ForecastInput, ForecastMean, MIN_CLUSTERS, MIN_UNITS, StopForecast,
    forecast_stop,
};
use karat_types::{Correction, Gate, GateBasis, GateRules, PlanHeader, RunRows, Subject};

use super::claims::statistic_of;
use super::gates::open_gates;
use crate::gate::References;
use crate::gate::case::{BoundKind, GateCase, Target, gate_cases};
use crate::gate::evidence::GateContext;
use crate::gate::scope::Scope;
use crate::score::instrument::metric_names::names_metric;
use crate::score::observations::Aggregate;
use crate::{AnalysisError, Findings};

/// A forecast for a plan.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EarlyForecast {
    /// Shares of the units if the means are where the earlier run had them.
    pub as_seen: Option<StopForecast>,
    /// Shares if they are at the thresholds.
    pub at_threshold: Option<StopForecast>,
    /// The gates that keep a run going to its end, each with the reason; then nothing is saved.
    pub open: Vec<String>,
    /// The gates that a run may decide early and the forecast does not cover, each with the reason; then nothing is forecast.
    pub uncovered: Vec<String>,
    /// Number of claims.
    pub claims: usize,
}

/// The gain over the threshold that is assumed without an earlier run.
const ASSUMED_GAIN: f64 = 0.1;

/// Units of the population that stands for an earlier run.
const ASSUMED_UNITS: usize = 1_000;

/// The units of a claim: for each its sum of scaled scores and their number.
type UnitSums = BTreeMap<u32, (f64, u64)>;

/// Forecasts the early stop of a plan by an earlier run of the suite.
///
/// # Errors
/// Gates that do not fit the run, or unreadable rows.
pub fn forecast_early_stop(
    findings: &Findings,
    rows: &dyn RunRows,
    rules: &GateRules,
    plan: &PlanHeader,
) -> Result<EarlyForecast, AnalysisError> {
    let (open, uncovered) = left_out(&findings.plan, rules);
    let gates = &rules.gates;
    if !open.is_empty() || !uncovered.is_empty() || gates.is_empty() {
        return Ok(EarlyForecast { open, uncovered, ..EarlyForecast::default() });
    }
    let scopes: Vec<Scope> = Scope::read(findings, rows, gates)?.into_iter().filter_map(Result::ok).collect();
    let references = References::default();
    let context = GateContext { findings, references: &references, policy: &rules.policy, missing: None };
    let table = &findings.table;
    let mut seen: Vec<(ClaimSpec, UnitSums)> = Vec::new();
    for case in gates.iter().zip(&scopes).flat_map(|(gate, scope)| gate_cases(findings, gate, scope)) {
        let Some((spec, metric, range)) = claim_of(&findings.plan, &case, rules) else { continue };
        let mut sums = UnitSums::new();
        for (sample, system) in context.cells(&case) {
            if let Some(value) = table.figure_value(metric, sample, system) {
                let entry = sums.entry(table.cluster(sample)).or_default();
                *entry = (entry.0 + scale(value.for_sums(), range), entry.1 + 1);
            }
        }
        seen.push((spec, sums));
    }
    let units: Vec<u32> = {
        let mut units: Vec<u32> = (0..table.samples()).map(|sample| table.cluster(sample)).collect();
        units.sort_unstable();
        units.dedup();
        units
    };
    let planned = planned_units(units.len() as u64, table.samples() as u64, plan.dataset.rows);
    let claims: Vec<ClaimSpec> = seen
        .iter()
        .map(|(spec, sums)| ClaimSpec {
            units: planned_units(sums.len() as u64, units.len() as u64, planned),
            largest: sums.values().map(|(_, n)| *n).max().unwrap_or(1).max(1),
            rule: early_rule(plan),
            ..*spec
        })
        .collect();
    let by_unit: Vec<Vec<Option<(f64, u64)>>> =
        units.iter().map(|unit| seen.iter().map(|(_, sums)| sums.get(unit).copied()).collect()).collect();
    let usual = if table.is_clustered() { MIN_CLUSTERS } else { MIN_UNITS };
    Ok(forecast(&claims, &by_unit, planned, rules, min_units(plan, usual)))
}

/// Forecasts the early stop of a plan without an earlier run: pass/fail scores a tenth of the range above each threshold,
/// or below it for an upper bound.
pub fn assume_early_stop(plan: &PlanHeader, rules: &GateRules) -> EarlyForecast {
    let (open, uncovered) = left_out(plan, rules);
    if !open.is_empty() || !uncovered.is_empty() {
        return EarlyForecast { open, uncovered, ..EarlyForecast::default() };
    }
    let mut claims = Vec::new();
    for gate in &rules.gates {
        for metric in plan.metrics.iter().filter(|metric| matches_gate(plan, gate, metric)) {
            let Some(range) = metric.range else { continue };
            let systems = if gate.per == "run" { 1 } else { plan.systems.len() };
            for (bound, threshold) in [(BoundKind::Min, gate.min), (BoundKind::Max, gate.max)] {
                let Some(threshold) = threshold else { continue };
                claims.extend((0..systems).filter_map(|_| spec(gate, bound, scale(threshold.value, range), rules)));
            }
        }
    }
    let units = plan.dataset.rows;
    claims.iter_mut().for_each(|claim| (claim.units, claim.rule) = (units, early_rule(plan)));
    let rate = |claim: &ClaimSpec| match claim.bound {
        Bound::AtLeast => (claim.threshold + ASSUMED_GAIN).min(1.0),
        Bound::AtMost => (claim.threshold - ASSUMED_GAIN).max(0.0),
    };
    let unit = |at: usize| {
        let score = |claim: &ClaimSpec| {
            let ones = (rate(claim) * ASSUMED_UNITS as f64).round() as usize;
            Some((f64::from(u8::from(at < ones)), 1))
        };
        claims.iter().map(score).collect()
    };
    let seen: Vec<Vec<Option<(f64, u64)>>> = (0..ASSUMED_UNITS).map(unit).collect();
    forecast(&claims, &seen, units, rules, min_units(plan, MIN_UNITS))
}

/// Units before a bound may decide: those that the suite asks for, or the usual number.
fn min_units(plan: &PlanHeader, usual: u64) -> u64 {
    plan.run.stop_early.as_ref().and_then(|spec| spec.min).unwrap_or(usual)
}

/// The rule that the suite asks for.
fn early_rule(plan: &PlanHeader) -> EarlyRule {
    statistic_of(plan.run.stop_early.as_ref().map(|spec| spec.rule).unwrap_or_default())
}

fn forecast(
    claims: &[ClaimSpec],
    seen: &[Vec<Option<(f64, u64)>>],
    units: u64,
    rules: &GateRules,
    min_units: u64,
) -> EarlyForecast {
    let correction = match rules.policy.correction {
        Correction::None => StepRule::Alone,
        Correction::Holm => StepRule::Holm,
        Correction::Bh => StepRule::BenjaminiHochberg,
    };
    let alpha = 1.0 - rules.policy.confidence;
    let input = ForecastInput { claims, seen, units, alpha, correction, min_units };
    let of = |mean| forecast_stop(&input, mean).ok().flatten();
    EarlyForecast {
        as_seen: of(ForecastMean::AsSeen),
        at_threshold: of(ForecastMean::AtThreshold),
        open: Vec::new(),
        uncovered: Vec::new(),
        claims: claims.len(),
    }
}

/// The share `units` of `of`, in units of the planned run, at least 1.
fn planned_units(units: u64, of: u64, planned: u64) -> u64 {
    let share = units as f64 / of.max(1) as f64;
    ((share * planned as f64).round() as u64).max(1)
}

fn scale(value: f64, (lo, hi): (f64, f64)) -> f64 {
    ((value - lo) / (hi - lo)).clamp(0.0, 1.0)
}

/// The claim of a case with its metric and range; `units` and `largest` are not set yet.
fn claim_of(plan: &PlanHeader, case: &GateCase<'_>, rules: &GateRules) -> Option<(ClaimSpec, usize, (f64, f64))> {
    let Target::Metric(metric) = case.target else { return None };
    let range = plan.metrics.get(metric)?.range?;
    let spec = spec(case.gate, case.bound, scale(case.threshold.value, range), rules)?;
    Some((spec, metric, range))
}

fn spec(gate: &Gate, bound: BoundKind, threshold: f64, rules: &GateRules) -> Option<ClaimSpec> {
    let bound = match bound {
        BoundKind::Min => Bound::AtLeast,
        BoundKind::Max => Bound::AtMost,
        BoundKind::MaxDrop | BoundKind::MaxRise => return None,
    };
    let basis = match gate.decide {
        GateBasis::Point => Basis::Dataset,
        GateBasis::Interval => Basis::Population,
    };
    let alpha = 1.0 - rules.policy.confidence;
    Some(ClaimSpec { threshold, bound, basis, rule: EarlyRule::Betting, units: 1, largest: 1, alpha })
}

fn matches_gate(plan: &PlanHeader, gate: &Gate, metric: &karat_types::MetricSpec) -> bool {
    matches!(&gate.subject, Subject::Metric(pattern) if names_metric(plan, pattern, metric))
}

/// The gates that keep a run going to its end, and the others that are not forecast, each with the reason.
fn left_out(plan: &PlanHeader, rules: &GateRules) -> (Vec<String>, Vec<String>) {
    let open = open_gates(plan, rules);
    let is_open = |gate: &&Gate| open.iter().any(|it| it.gate == gate.id);
    let uncovered = |gate: &Gate| Some(format!("`{}`: {}", gate.id, uncovered_part(plan, gate)?));
    let uncovered = rules.gates.iter().filter(|gate| !is_open(gate)).filter_map(uncovered).collect();
    (open.iter().map(|it| format!("`{}`: {}", it.gate, it.why)).collect(), uncovered)
}

/// The part of a gate that a run follows and a forecast does not.
fn uncovered_part(plan: &PlanHeader, gate: &Gate) -> Option<String> {
    if gate.max_drop.is_some() || gate.max_rise.is_some() {
        return Some("it is a gate on a change".to_owned());
    }
    let is_mean = |aggregate: &str| matches!(Aggregate::parse(aggregate), Some(Aggregate::Mean));
    let mut metrics = plan.metrics.iter().filter(|metric| matches_gate(plan, gate, metric));
    let other = metrics.find(|metric| !is_mean(&metric.aggregate))?;
    Some(format!("{} is a {}", other.name, other.aggregate))
}

#[cfg(test)]
mod tests {
    use karat_stats::describe::median;
    use karat_stats::sequential::Claims;
    use karat_types::{Threshold, seeded_uniform};

    use super::*;
    use crate::testing::{MemoryRun, Sketch};
    use crate::{Options, analyse};

    /// One system on so many samples, of which this share passes, in an order fixed by a seed; a scale from 0 to 10.
    fn run(samples: usize, share: f64, seed: u64) -> (MemoryRun, Vec<f64>) {
        let passes = |at: usize| seeded_uniform("test", seed, &at.to_le_bytes()) < share;
        let scores: Vec<f64> = (0..samples).map(|at| f64::from(u8::from(passes(at)))).collect();
        let sketch = Sketch::new(1, 1, samples);
        let run = scores.iter().enumerate().fold(sketch, |sketch, (at, score)| sketch.value(at, 0, 10.0 * score)).run();
        (run, scores)
    }

    fn rules(min: f64) -> GateRules {
        let mut gate = Gate::for_metric("quality.overall");
        gate.min = Some(Threshold { value: min, percent: false });
        GateRules { gates: vec![gate], ..GateRules::default() }
    }

    /// SL-30: the forecast's median is within 15 % of that of 50 runs that really stop early.
    #[test]
    fn a_forecast_is_near_fifty_runs() {
        let samples = 300;
        let (last, _) = run(samples, 0.8, 1);
        let rules = rules(7.0);
        let findings = analyse(&last, &Options::default()).unwrap();
        let found = forecast_early_stop(&findings, &last, &rules, &findings.plan).unwrap();
        assert_eq!((found.claims, found.open.len()), (1, 0));
        let rate = findings.systems[0].metrics[0].value().unwrap() / 10.0;
        let used: Vec<f64> = (100..150)
            .map(|seed| {
                let (_, scores) = run(samples, rate, seed);
                let spec = claim(0.7, samples as u64);
                let mut claims = Claims::new(&[spec], 0.05, StepRule::Holm, MIN_UNITS).unwrap();
                for (at, score) in scores.iter().enumerate() {
                    claims.add(0, *score, 1).unwrap();
                    claims.look(&[]);
                    if claims.is_decided() {
                        return (at + 1) as f64 / samples as f64;
                    }
                }
                1.0
            })
            .collect();
        let (seen, expected) = (median(&used).unwrap(), found.as_seen.unwrap().median);
        assert!((expected / seen - 1.0).abs() <= 0.15, "forecast {expected}, runs {seen}");
        assert!(found.at_threshold.unwrap().median > 0.9);
    }

    fn claim(threshold: f64, units: u64) -> ClaimSpec {
        let (bound, basis, rule) = (Bound::AtLeast, Basis::Dataset, EarlyRule::Betting);
        ClaimSpec { threshold, bound, basis, rule, units, largest: 1, alpha: 0.05 }
    }

    /// SL-03, SL-30: a gate that keeps a run going leaves nothing to save, and is named; one that is not forecast does not
    /// keep it going; without a run a gain is assumed.
    #[test]
    fn open_gates_leave_nothing_to_save() {
        let (last, _) = run(60, 0.9, 3);
        let findings = analyse(&last, &Options::default()).unwrap();
        let mut per_sample = rules(7.0);
        per_sample.gates[0].per = "sample".to_owned();
        let found = forecast_early_stop(&findings, &last, &per_sample, &findings.plan).unwrap();
        assert!(found.as_seen.is_none() && found.open[0].contains("it judges every sample"), "{found:?}");
        let mut drop = rules(7.0);
        drop.gates[0].max_drop = drop.gates[0].min.take();
        let by_run = forecast_early_stop(&findings, &last, &drop, &findings.plan).unwrap();
        for found in [by_run, assume_early_stop(&findings.plan, &drop)] {
            assert!(found.open.is_empty() && found.as_seen.is_none(), "a run may decide a change early: {found:?}");
            assert!(found.uncovered[0].contains("it is a gate on a change"), "{found:?}");
        }
        let assumed = assume_early_stop(&findings.plan, &rules(7.0));
        assert!(assumed.claims == 1 && assumed.as_seen.is_some() && assumed.open.is_empty());
    }
}
