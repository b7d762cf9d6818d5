use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use karat_types::{
    CellRow, DecidedBy, EarlyVerdict, Gate, GateBasis, GateReference, GateRules, Key, Policy, RowError, RunHeader,
    RunRows, StopEarlySpec, StopRecord, StopRule, StoredStop, Threshold, unit_key,
};
use proptest::prelude::*;

use super::EarlyStop;
use crate::gate::{References, Verdict, decide};
use crate::testing::{MemoryRun, Sketch};
use crate::{Options, Pinned, analyse};

const METRIC: &str = "quality.overall";

fn at(value: f64) -> Option<Threshold> {
    Some(Threshold::absolute(value))
}

fn rules(change: impl FnOnce(&mut Gate)) -> GateRules {
    let mut gate = Gate::for_metric(METRIC);
    change(&mut gate);
    GateRules { gates: vec![gate], ..GateRules::default() }
}

/// A run whose plan stops early.
fn stopping(sketch: &Sketch, race: Option<&str>) -> MemoryRun {
    let mut run = sketch.run();
    let plan = Arc::make_mut(&mut run.header.plan);
    plan.run.stop_early = Some(StopEarlySpec { race: race.map(str::to_owned), ..StopEarlySpec::default() });
    run
}

/// The course of a run: units are added in order while a purpose is open, and only the cells with an open purpose are
/// made, as the engine does. Returns the record and the ordinals of the cells that were made.
fn follow(run: &MemoryRun, rules: &GateRules, references: &References) -> (StopRecord, Vec<u64>) {
    let mut rule = EarlyStop::new(&run.header.plan, rules, references.clone()).unwrap().unwrap();
    let mut units: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    for (place, sample) in run.samples.iter().enumerate() {
        rule.add_row(sample).unwrap();
        units.entry(unit_key(run.header.plan.run.seed, sample.unit())).or_default().push(place);
    }
    rule.start().unwrap();
    let mut made = Vec::new();
    for (unit, samples) in &units {
        if rule.is_decided() {
            break;
        }
        for cell in run.cells.iter().filter(|cell| samples.contains(&cell.sample)) {
            let purposes = rule.purposes(&run.samples[cell.sample]).unwrap();
            if purposes[cell.system].iter().any(|purpose| rule.is_open(*purpose)) {
                made.push(cell.cell.ordinal);
            }
        }
        let per_row = run.header.plan.cells_per_row();
        let range = |sample: &usize| {
            let first = run.samples[*sample].row * per_row;
            first..first + per_row
        };
        rule.add_unit(*unit, run, &samples.iter().map(range).collect::<Vec<_>>()).unwrap();
    }
    (rule.record(), made)
}

/// A stored run with its stop.
struct Stopped<'a>(&'a MemoryRun, StoredStop);

impl RunRows for Stopped<'_> {
    fn header(&self) -> &RunHeader {
        self.0.header()
    }

    fn stop(&self) -> Option<&StoredStop> {
        Some(&self.1)
    }

    fn for_each_in(
        &self,
        ordinals: Range<u64>,
        row: &mut dyn FnMut(CellRow<'_>) -> ControlFlow<()>,
    ) -> Result<(), RowError> {
        self.0.for_each_in(ordinals, row)
    }

    fn output(&self, ordinal: u64) -> Result<Option<serde_json::Value>, RowError> {
        self.0.output(ordinal)
    }
}

/// One system whose first `passes` samples score 10 and whose others score 0.
fn binary(samples: usize, passes: usize) -> Sketch {
    (0..samples).fold(Sketch::new(1, 1, samples), |sketch, sample| {
        sketch.value(sample, 0, if sample < passes { 10.0 } else { 0.0 })
    })
}

/// SL-04, SL-05: a clear gate stops its run with the verdict of the full run, and its figures are of the prefix only.
#[test]
fn a_clear_gate_stops_its_run() {
    let run = stopping(&binary(200, 190), None);
    let rules = rules(|gate| gate.min = at(8.0));
    let (record, made) = follow(&run, &rules, &References::default());
    assert_eq!((record.units, record.samples, record.claims.len()), (200, 200, 1));
    let claim = &record.claims[0];
    assert_eq!((claim.verdict, claim.by), (Some(EarlyVerdict::Pass), DecidedBy::Bound));
    assert!((30..150).contains(&record.stopped_after), "{record:?}");
    assert_eq!(made.len() as u64, record.stopped_after);
    assert!(claim.p_pass <= 0.05 && claim.lower >= 8.0 && claim.lower <= claim.mean.unwrap(), "{claim:?}");

    let after = record.stopped_after;
    let stopped = Stopped(&run, StoredStop { record, to_end: false });
    let findings = analyse(&stopped, &Options::default()).unwrap();
    assert_eq!((findings.samples() as u64, findings.run.tally.cells), (after, after));
    let verdicts = decide(&findings, &stopped, &rules, &References::default()).unwrap();
    let decision = &verdicts.decisions[0];
    assert_eq!(decision.verdict, Verdict::Pass);
    let (lo, _) = decision.finding.as_ref().unwrap().interval().unwrap();
    assert!(lo >= 8.0, "{}", decision.reason);
    assert!(decision.reason.contains(&format!("after {after} of 200 samples")), "{}", decision.reason);
    let shown = findings.systems[0].metrics[0].figure().unwrap();
    assert_eq!((shown.interval().unwrap().0, shown.method()), (lo, "betting confidence sequence"));
    assert!(findings.warnings.iter().any(|warning| warning.starts_with("The run stopped early")));
    let best = &findings.leaderboards[0].places[0].finding;
    assert_eq!(best.interval(), shown.interval(), "the ranking has the claim's sequence");
}

/// SL-09: figures of a stopped run that no gate asked about have a value and n, and no interval for a fixed number of
/// samples, which could contradict a verdict; those of a system that ran to its end keep theirs.
#[test]
fn figures_without_a_claim_have_no_interval() {
    let sketch = (0..200).fold(Sketch::new(2, 1, 200), |sketch, sample| {
        sketch.value(sample, 0, 10.0).value(sample, 1, if sample % 5 == 0 { 0.0 } else { 10.0 })
    });
    let run = stopping(&sketch, None);
    let (record, _) = follow(&run, &rules(|gate| gate.min = at(8.0)), &References::default());
    assert_eq!(serde_json::to_string(&record.alpha).unwrap(), "0.05", "1 - 0.95, as people write it");
    let of = |record: StopRecord| {
        let stopped = Stopped(&run, StoredStop { record, to_end: false });
        analyse(&stopped, &Options::default()).unwrap()
    };
    let both = of(record.clone());
    let whole = both.run.metrics[0].figure().unwrap();
    assert_eq!((whole.interval(), whole.se()), (None, None));
    assert!(whole.method().ends_with("no interval after an early stop") && whole.n() > 200, "{whole:?}");
    assert!(both.leaderboards[0].lead.as_ref().is_none_or(|lead| lead.interval().is_none()));
    // As of a run whose outputs are scored again: the cells of the stop, without its verdicts.
    let scored = of(StopRecord { claims: Vec::new(), ..record });
    let figures = || scored.systems.iter().map(|system| system.metrics[0].figure().unwrap());
    assert_eq!(figures().next().unwrap().interval(), None);
    assert_eq!(figures().map(crate::Finding::n).sum::<u64>(), whole.n());
}

/// SL-08: once a run was continued to its end, all of its cells enter figures, and the figures decide.
#[test]
fn a_run_continued_to_its_end_counts_everything() {
    let run = stopping(&binary(200, 190), None);
    let rules = rules(|gate| gate.min = at(8.0));
    let (record, _) = follow(&run, &rules, &References::default());
    let stopped = Stopped(&run, StoredStop { record, to_end: true });
    let findings = analyse(&stopped, &Options::default()).unwrap();
    assert_eq!(findings.samples(), 200);
    let verdicts = decide(&findings, &stopped, &rules, &References::default()).unwrap();
    assert_eq!(verdicts.decisions[0].finding.as_ref().unwrap().n(), 200);
}

/// SL-03: a verdict that no score can change is taken at once, also before the smallest number of units.
#[test]
fn a_certain_verdict_needs_no_minimum() {
    let run = stopping(&binary(20, 20), None);
    let (record, _) = follow(&run, &rules(|gate| gate.min = at(5.0)), &References::default());
    assert_eq!((record.stopped_after, record.claims[0].by), (10, DecidedBy::Certain));
    let failing = stopping(&binary(20, 0), None);
    let (record, _) = follow(&failing, &rules(|gate| gate.min = at(5.0)), &References::default());
    assert_eq!((record.stopped_after, record.claims[0].verdict), (11, Some(EarlyVerdict::Fail)));
}

/// SL-05: a system stops once its own claims are decided; the others go on.
#[test]
fn each_system_stops_on_its_own() {
    // The first system is far above its bound, the second just at it.
    let sketch = (0..200).fold(Sketch::new(2, 1, 200), |sketch, sample| {
        let second = if sample % 5 == 0 { 0.0 } else { 10.0 };
        sketch.value(sample, 0, 10.0).value(sample, 1, second)
    });
    let run = stopping(&sketch, None);
    let (record, made) = follow(&run, &rules(|gate| gate.min = at(8.0)), &References::default());
    let first = made.iter().filter(|ordinal| *ordinal % 2 == 0).count() as u64;
    let second = made.len() as u64 - first;
    assert!(first < 60 && second > 150, "{first} {second}");
    assert_eq!((record.claims[0].verdict, record.claims[0].units), (Some(EarlyVerdict::Pass), first));
    let stopped = Stopped(&run, StoredStop { record, to_end: false });
    let findings = analyse(&stopped, &Options::default()).unwrap();
    assert_eq!([0, 1].map(|system| findings.systems[system].metrics[0].n()), [first, second]);
}

/// SL-02: a limit on the change is followed over pairs, here of two variants of the run.
#[test]
fn changes_are_followed_over_pairs() {
    let sketch = (0..300).fold(Sketch::new(1, 2, 300), |sketch, sample| {
        let before = f64::from(sample as u32 % 7);
        sketch.value(sample, 0, before).value(sample, 1, before + 2.0)
    });
    let run = stopping(&sketch, None);
    let drop = rules(|gate| {
        gate.max_drop = at(0.5);
        gate.against = Some(GateReference::Variant("variant-0".to_owned()));
    });
    let (record, made) = follow(&run, &drop, &References::default());
    let claim = &record.claims[0];
    assert_eq!((claim.verdict, claim.bound.as_str()), (Some(EarlyVerdict::Pass), "max_drop"));
    assert!(record.stopped_after < 200 && claim.lower >= -0.5, "{record:?}");
    // The partner is made as long as the claim is open.
    assert_eq!(made.len() as u64, 2 * record.stopped_after);
    let rise = rules(|gate| {
        gate.max_rise = at(0.5);
        gate.against = Some(GateReference::Variant("variant-0".to_owned()));
    });
    assert_eq!(follow(&run, &rise, &References::default()).0.claims[0].verdict, Some(EarlyVerdict::Fail));
}

/// SL-02: a percentage of a pinned result is followed; one of another variant, and a missing baseline, keep the run going.
#[test]
fn percentages_need_a_pinned_result() {
    let sketch = |value: f64| Sketch::new(1, 1, 200).fill(value);
    let before = sketch(8.0).run();
    let pinned = Pinned::of(&before.header, &analyse(&before, &Options::default()).unwrap());
    let run = stopping(&sketch(7.9), None);
    let drop = rules(|gate| gate.max_drop = Some(Threshold { value: 0.05, percent: true }));
    let with = References { baseline: Some(pinned), ..References::default() };
    assert_eq!(follow(&run, &drop, &with).0.claims[0].verdict, Some(EarlyVerdict::Pass));
    let (record, made) = follow(&run, &drop, &References::default());
    assert_eq!((record.claims.len(), made.len(), record.stopped_after), (0, 200, 200));
    assert!(record.open[0].why.contains("there is no baseline"), "{record:?}");
}

/// SL-04: missing scores hold a pass back, and too many for the whole plan make `undecided` certain.
#[test]
fn missing_scores_count() {
    let sketch = |lost: usize| {
        (0..200).fold(Sketch::new(1, 1, 200), |sketch, sample| {
            if sample % 10 < lost { sketch.unscored(sample, 0) } else { sketch.value(sample, 0, 10.0) }
        })
    };
    let rules = rules(|gate| gate.min = at(8.0));
    let (record, _) = follow(&stopping(&sketch(2), None), &rules, &References::default());
    let claim = &record.claims[0];
    assert_eq!((claim.verdict, claim.by), (Some(EarlyVerdict::Undecided), DecidedBy::Certain));
    assert!(claim.why.as_ref().unwrap().contains("have no score"), "{claim:?}");
    // 11 of 200 are more than 5 %.
    assert_eq!(claim.units - claim.n, 11);
}

/// SL-04: more failed cells than the policy allows for the whole plan make exit code 1 certain.
#[test]
fn failed_cells_make_the_exit_code_certain() {
    let sketch = (0..100).fold(Sketch::new(1, 1, 100), |sketch, sample| match sample {
        40..60 => sketch.error(sample, 0, "timeout"),
        _ => sketch.value(sample, 0, if sample % 2 == 0 { 10.0 } else { 6.0 }),
    });
    let lenient =
        GateRules { policy: Policy { max_errors: 0.05, ..Policy::default() }, ..rules(|gate| gate.min = at(8.0)) };
    let (record, _) = follow(&stopping(&sketch, None), &lenient, &References::default());
    let claim = &record.claims[0];
    assert_eq!((claim.verdict, claim.units - claim.n), (Some(EarlyVerdict::Undecided), 6));
    assert!(
        claim.why.as_ref().unwrap().contains("6 of the 100 planned cells of model-a/variant-0 failed"),
        "{claim:?}"
    );
}

/// SL-05: without gates and without a race a run goes to its end, and a gate that cannot be followed keeps it going.
#[test]
fn nothing_to_decide_never_stops() {
    let run = stopping(&binary(60, 60), None);
    let (record, made) = follow(&run, &GateRules::default(), &References::default());
    assert_eq!((record.stopped_after, made.len()), (60, 60));
    let slow = stopping(&binary(60, 60).metric("range", serde_json::Value::Null), None);
    let (record, made) = follow(&slow, &rules(|gate| gate.max = at(9.0)), &References::default());
    assert_eq!((record.claims.len(), made.len()), (0, 60));
    assert_eq!(record.open[0].why, "quality.overall has no range that bounds the scores to come");
}

/// SL-06: systems that cannot be the best are dropped, and the race ends with the last one.
#[test]
fn a_race_drops_systems() {
    let sketch = (0..300).fold(Sketch::new(3, 1, 300), |sketch, sample| {
        (0..3).fold(sketch, |sketch, system| {
            let passes = (sample * 7 + system * 3) % 10 < [9, 8, 2][system];
            sketch.value(sample, system, if passes { 10.0 } else { 0.0 })
        })
    });
    let run = stopping(&sketch, Some(METRIC));
    let (record, made) = follow(&run, &GateRules::default(), &References::default());
    assert_eq!(
        (record.race[0].system.as_str(), record.race[0].by.as_str()),
        ("model-c/variant-0", "model-a/variant-0")
    );
    let of = |system: u64| made.iter().filter(|ordinal| *ordinal % 3 == system).count() as u64;
    assert_eq!(of(2), record.race[0].dropped_after);
    assert!(of(2) < of(0) && of(0) == record.stopped_after, "{record:?}");
}

/// SL-03: an interval claim is about the population: it is never certain, and half of the error is left for the end.
#[test]
fn interval_claims_are_stricter() {
    let run = stopping(&binary(400, 360), None);
    let point = rules(|gate| gate.min = at(8.0));
    let interval = rules(|gate| {
        gate.min = at(8.0);
        gate.decide = GateBasis::Interval;
    });
    let [point, interval] = [point, interval].map(|rules| follow(&run, &rules, &References::default()).0.stopped_after);
    assert!(point < interval && interval < 400, "{point} {interval}");
}

/// SL-09: `per: COLUMN` makes a claim of each group, and units that serve decided groups only are skipped.
#[test]
fn groups_are_claims() {
    let sketch = (0..240).fold(Sketch::new(1, 1, 240), |sketch, sample| {
        // The group `b` is at its bound, `a` far above.
        let score = if sample % 2 == 0 || sample % 10 < 8 { 10.0 } else { 0.0 };
        sketch.value(sample, 0, score)
    });
    let mut run = stopping(&sketch, None);
    for (at, sample) in run.samples.iter_mut().enumerate() {
        sample.metadata.insert("language".to_owned(), if at % 2 == 0 { "a" } else { "b" }.into());
    }
    let rules = rules(|gate| {
        gate.min = at(8.0);
        gate.per = "language".to_owned();
    });
    let (record, made) = follow(&run, &rules, &References::default());
    let groups: Vec<_> = record.claims.iter().map(|claim| (claim.group.clone().unwrap().1, claim.population)).collect();
    assert_eq!(groups, [("a".into(), 120), ("b".into(), 120)]);
    let of_a = made.iter().filter(|ordinal| *ordinal % 2 == 0).count() as u64;
    assert_eq!(of_a, record.claims[0].units);
    assert!(of_a < 100, "{record:?}");
}

/// SL-03: a percentile is followed as the share of samples within its bound, also without a range.
#[test]
fn percentiles_are_shares() {
    let sketch = |slow: usize| {
        let sketch = (0..400).fold(Sketch::new(1, 1, 400), |sketch, sample| {
            sketch.value(sample, 0, if sample % 100 < slow { 900.0 } else { 100.0 })
        });
        sketch.metric("range", serde_json::Value::Null).metric("aggregate", "p90".into())
    };
    let rules = rules(|gate| gate.max = at(500.0));
    for (slow, verdict) in [(2, EarlyVerdict::Pass), (40, EarlyVerdict::Fail)] {
        let run = stopping(&sketch(slow), None);
        let (record, _) = follow(&run, &rules, &References::default());
        let claim = &record.claims[0];
        assert_eq!((claim.verdict, claim.share), (Some(verdict), Some(0.9)), "{claim:?}");
        assert!(record.stopped_after < 200, "{record:?}");
        let stopped = Stopped(&run, StoredStop { record, to_end: false });
        let findings = analyse(&stopped, &Options::default()).unwrap();
        let decided = &decide(&findings, &stopped, &rules, &References::default()).unwrap().decisions[0];
        assert_eq!(decided.observed, Some(if slow == 2 { 100.0 } else { 900.0 }));
        assert!(decided.reason.contains("of samples within it, 90 % needed"), "{}", decided.reason);
    }
    let least = self::rules(|gate| gate.min = at(50.0));
    assert_eq!(follow(&stopping(&sketch(2), None), &least, &References::default()).1.len(), 400);
}

/// SL-05: what a stopped run was not asked is undecided.
#[test]
fn a_gate_that_came_later_is_undecided() {
    let run = stopping(&binary(200, 190), None);
    let (record, _) = follow(&run, &rules(|gate| gate.min = at(8.0)), &References::default());
    let stopped = Stopped(&run, StoredStop { record, to_end: false });
    let findings = analyse(&stopped, &Options::default()).unwrap();
    let later = rules(|gate| gate.min = at(9.0));
    let decided = &decide(&findings, &stopped, &later, &References::default()).unwrap().decisions[0];
    assert_eq!(decided.verdict, Verdict::Undecided);
    assert!(decided.reason.contains("`karat resume RUN --to-end` makes the rest"), "{}", decided.reason);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// SL-01: rows in another order give the same verdicts at the same unit.
    #[test]
    fn the_order_of_rows_does_not_matter(
        scores in prop::collection::vec(0..=10_u32, 40..120),
        clustered in any::<bool>(),
        shift in 1..40_usize,
    ) {
        let n = scores.len();
        let names: Vec<String> = (0..n).map(|at| format!("c{}", at / 3)).collect();
        let build = |order: Vec<usize>| {
            let mut sketch = Sketch::new(1, 1, n);
            let clusters: Vec<&str> = order.iter().map(|at| names[*at].as_str()).collect();
            if clustered {
                sketch = sketch.clusters(&clusters);
            }
            let sketch = order.iter().enumerate().fold(sketch, |sketch, (row, at)| sketch.value(row, 0, f64::from(scores[*at])));
            let mut run = stopping(&sketch, None);
            for (sample, at) in run.samples.iter_mut().zip(&order) {
                sample.id = format!("sample-{at}");
            }
            run
        };
        let rules = rules(|gate| (gate.min, gate.max) = (at(4.0), at(9.0)));
        let plain = follow(&build((0..n).collect()), &rules, &References::default()).0;
        let turned = follow(&build((0..n).map(|at| (at + shift) % n).rev().collect()), &rules, &References::default()).0;
        prop_assert_eq!(plain, turned);
    }
}
