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
