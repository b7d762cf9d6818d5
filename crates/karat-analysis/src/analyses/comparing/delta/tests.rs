use super::*;
use crate::testing::{Sketch, example};
use crate::{Options, analyse};
use serde_json::json;

fn delta(run: &crate::testing::MemoryRun) -> Delta {
    let findings = analyse(run, &Options::default()).unwrap();
    findings.deltas().next().cloned().unwrap()
}

/// CL-10: per-dimension deltas over matched triples, with n and interval.
#[test]
fn deltas_are_paired_by_sample_and_model() {
    let run = Sketch::new(1, 2, 3)
        .value(0, 0, 4.0)
        .value(0, 1, 6.0)
        .value(1, 0, 5.0)
        .value(1, 1, 8.0)
        .value(2, 0, 9.0)
        .error(2, 1, "timeout")
        .analysis("delta", "variant_delta", json!({}))
        .run();
    let delta = delta(&run);
    assert_eq!(delta.base, "variant-0");
    let other = &delta.comparisons[0];
    assert_eq!((other.id.as_str(), other.matched, other.unmatched), ("variant-1", 2, 1));
    let change = &other.metrics[0].delta;
    // Two samples have no sign pattern that is rarer than one half.
    assert_eq!((change.value(), change.n(), change.interval()), (2.5, 2, None));
}

/// CL-10: texts that appeared or disappeared are listed without duplicates.
#[test]
fn texts_that_come_and_go_are_listed_once() {
    let delta = delta(&example());
    let other = delta.comparisons.iter().find(|it| it.id == "editorial").unwrap();
    let missing = other.texts.iter().find(|it| it.name == "missingClaims").unwrap();
    assert!(missing.n_disappeared > 0 && !missing.disappeared.is_empty());
    let mut seen = BTreeSet::new();
    assert!(missing.disappeared.iter().all(|it| seen.insert((it.sample.clone(), statement_key(&it.text)))));
}

/// CL-10: a base that failed everywhere matches nothing, which differs from no change.
#[test]
fn a_base_without_scores_matches_no_sample() {
    let sketch = Sketch::new(1, 2, 1).error(0, 0, "timeout").value(0, 1, 6.0);
    let delta = delta(&sketch.analysis("delta", "variant_delta", json!({})).run());
    assert!(!delta.has_matches() && delta.comparisons[0].unmatched == 1, "{delta:?}");
}

#[test]
fn an_unknown_base_is_refused_with_the_known_ones() {
    let run = Sketch::new(1, 2, 1).fill(5.0).analysis("delta", "d", json!({"base": "rew"})).run();
    let refused = analyse(&run, &Options::default()).unwrap_err().to_string();
    assert!(refused.contains("rew") && refused.contains("variant-0, variant-1"), "{refused}");
}

/// SP-08: each system is compared with the pinned run sample by sample, and notable samples are listed.
#[test]
fn a_pinned_run_is_compared_sample_by_sample() {
    let sketch = |values: [f64; 3]| {
        let run = (0..3).fold(Sketch::new(1, 1, 3), |it, at| it.value(at, 0, values[at]));
        run.analysis("delta", "d", json!({ "over": "baseline", "notable": { "quality.overall": 3 } })).run()
    };
    let then = sketch([5.0, 6.0, 7.0]);
    let pinned = Pinned::of(&then.header, &analyse(&then, &Options::default()).unwrap());
    let options = Options { baseline: Some(Arc::new(pinned)), ..Options::default() };
    let now = sketch([5.0, 6.5, 3.0]);
    let delta = analyse(&now, &options).unwrap().deltas().next().cloned().unwrap();
    let [system] = &delta.comparisons[..] else { panic!("{delta:?}") };
    assert_eq!((delta.base.as_str(), system.matched, system.unmatched), ("baseline", 3, 0));
    assert_eq!((system.metrics[0].delta.n(), system.movers.len()), (3, 1));
    assert_eq!((system.movers[0].sample.as_str(), system.movers[0].delta.value()), ("sample-2", -4.0));
    let unpinned = analyse(&now, &Options::default()).unwrap().deltas().next().cloned().unwrap();
    assert!(unpinned.comparisons.is_empty());
    let wrong = Sketch::new(1, 1, 1).fill(1.0).analysis("delta", "d", json!({ "notable": { "x": 1 } })).run();
    assert!(analyse(&wrong, &Options::default()).unwrap_err().to_string().contains("not a metric of this suite"));
}

/// PE-10, CL-10: a change equals that of `compare`, with the metric's own `reduce` and `aggregate`.
#[test]
fn figures_change_as_they_are_compared() {
    for (aggregate, reduce) in [("median", "mean"), ("p90", "mean"), ("mean", "pass^2"), ("sum", "min")] {
        let sketch = Sketch::new(1, 2, 40).trials(2).metric("aggregate", json!(aggregate));
        let sketch = (0..40).fold(sketch, |it, at| {
            let value = f64::from((at * at % 11) as u32);
            it.value(at, 0, value).value(at, 1, if at % 3 == 0 { value + 4.0 } else { value - 0.5 })
        });
        let mut run = sketch.analysis("delta", "d", json!({})).run();
        Arc::make_mut(&mut run.header.plan).scorers[0].reduce = reduce.to_owned();
        let findings = analyse(&run, &Options::default()).unwrap();
        let side = |variant| crate::compare::Side::of(variant, &findings, None, Some(variant)).unwrap();
        let compared = crate::compare::compare(&side("variant-0"), &side("variant-1"), &Default::default()).unwrap();
        let (expected, found) = (&compared.metrics[0].difference, &delta(&run).comparisons[0].metrics[0].delta);
        assert!((expected.value() - found.value()).abs() < 1e-12, "{aggregate} {reduce}: {expected:?} {found:?}");
        if aggregate != "mean" {
            assert_eq!(expected, found, "{aggregate} {reduce}");
        }
    }
}

#[test]
fn notable_samples_are_listed() {
    let run = Sketch::new(1, 2, 2)
        .value(0, 0, 5.0)
        .value(0, 1, 5.2)
        .value(1, 0, 5.0)
        .value(1, 1, 2.0)
        .analysis("delta", "d", json!({"notable": 1.0}))
        .run();
    let movers = delta(&run).comparisons[0].movers.clone();
    assert_eq!(movers.len(), 1);
    assert_eq!((movers[0].sample.as_str(), movers[0].delta.value(), movers[0].delta.n()), ("sample-1", -3.0, 1));
}

/// CL-10: a trial of only one side is left out.
#[test]
fn trials_that_one_side_lacks_are_left_out() {
    let run = (0..4).fold(Sketch::new(1, 2, 4).trials(2).fill(5.0), |run, at| {
        let run = run.trial_value((at, 0, 0), 2.0).trial_value((at, 0, 1), 8.0);
        run.trial_value((at, 1, 0), 3.0).trial_error((at, 1, 1), "timeout")
    });
    let delta = delta(&run.analysis("delta", "d", json!({})).run());
    assert_eq!((delta.comparisons[0].metrics[0].delta.value(), delta.comparisons[0].matched), (1.0, 4));
}
