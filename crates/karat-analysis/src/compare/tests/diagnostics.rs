use super::*;
use crate::analyses::{AnalysisResult, Diagnostics, Evaluation, Outcome, SpanFigures};

/// Findings whose diagnostics list these scores of the first samples, out of `evaluated` evaluations.
fn with_diagnostics(scores: &[f64], evaluated: u64) -> Findings {
    let mut found = findings(&(0..4).fold(Sketch::new(1, 1, 4), |sketch, at| sketch.value(at, 0, 5.0)).run());
    let evaluation = |(at, score): (usize, &f64)| Evaluation {
        sample: found.sample_id(at).to_owned(),
        score: Some(*score),
        ..Evaluation::default()
    };
    let evaluations = scores.iter().enumerate().map(evaluation).collect();
    let all = SpanFigures { evaluated, evaluations, ..SpanFigures::default() };
    let outcome = Outcome::Diagnostics(Box::new(Diagnostics { all, notable: 3.0, ..Diagnostics::default() }));
    found.analyses.push(AnalysisResult { id: "spans".to_owned(), analysis: "diagnostics".to_owned(), outcome });
    found
}

/// DC-08: a labeller without the false positives of another misses as much per sample and finds the same share, and the
/// change shown is the one that is tested.
#[test]
fn fewer_false_positives_are_no_more_misses() {
    let with = |false_positives: u64| {
        let mut found = with_diagnostics(&[5.0, 5.0, 5.0, 5.0], 4);
        let Outcome::Diagnostics(spans) = &mut found.analyses.last_mut().unwrap().outcome else { panic!("spans") };
        for (at, it) in spans.all.evaluations.iter_mut().enumerate() {
            let (wrong, missed) = (false_positives * (at as u64 % 2), at as u64 + 1);
            let kinds = [("falsePositives".to_owned(), wrong), ("missed".to_owned(), missed)];
            *it.errors_by_section.entry("main") = kinds.into_iter().collect();
            *it.spans_by_section.entry("main") = 3 + wrong;
            *it.found_by_section.entry("main") = (3, missed);
        }
        spans.all.errors_by_section = spans.all.evaluations[0].errors_by_section.clone();
        found
    };
    let (before, after) = (with(3), with(0));
    let side = |findings| Side::of("run", findings, None, None).unwrap();
    let found = compare(&side(&before), &side(&after), &CompareOptions::default()).unwrap().diagnostics.remove(0);
    let main = found.section_error_rates.get("main").unwrap();
    let (missed, wrong) = (main.get("missed").unwrap(), main.get("falsePositives").unwrap());
    assert_eq!((missed.figure.before, missed.figure.change, missed.p), (Some(2.5), Some(0.0), Some(1.0)));
    assert_eq!((wrong.figure.before, wrong.figure.after, wrong.figure.change), (Some(1.5), Some(0.0), Some(-1.5)));
    let rate = found.found_rates.get("main").unwrap();
    assert!(rate.figure.change == Some(0.0) && (rate.figure.before.unwrap() - 0.569_643).abs() < 1e-6, "{rate:?}");
    for it in [missed, wrong, rate] {
        assert_eq!(it.paired.as_ref().map(Finding::value), it.figure.change, "one statistic a row");
    }
}

/// SP-08: unlisted evaluations are counted, and never reported as new errors.
#[test]
fn evaluations_beyond_the_list_are_counted() {
    let changes = |after: &Findings| {
        let before = with_diagnostics(&[5.0, 9.0, 5.0, 5.0], 4);
        let side = |findings| Side::of("run", findings, None, None).unwrap();
        compare(&side(&before), &side(after), &CompareOptions::default()).unwrap().diagnostics.remove(0)
    };
    let whole = changes(&with_diagnostics(&[5.0, 2.0], 2));
    assert_eq!((whole.left_out, whole.new_errors.len()), (0, 2));
    let cut = changes(&with_diagnostics(&[5.0, 2.0, 5.0], 4));
    assert_eq!((cut.left_out, cut.new_errors.len(), cut.regressions.len()), (1, 0, 1));
}
