//! Instruments and models that differ between the sides.

use karat_types::ServedName;

use super::*;
use crate::score::instrument::instruments;

/// PE-16: a judge with another reported model is another instrument; the same reported model on both sides is the same
/// one, and so is a name that one side did not store.
#[test]
fn a_changed_alias_of_a_judge_is_undecided() {
    let graded = |grade: f64, answered: &[&str]| {
        let mut run = judged_run(1, 12, &["j1"], json!([]));
        for (at, cell) in run.cells.iter_mut().enumerate() {
            cell.judgments[0].scores = vec![(0, Score::value(grade + (at % 3) as f64 * f64::from(grade > 5.0)))];
            cell.judgments[0].answered =
                answered.iter().filter_map(|name| ServedName::from_reply("j1", name)).collect();
        }
        findings(&run)
    };
    let found = |before: &[&str], after: &[&str]| {
        let (before, after) = (graded(7.0, before), graded(4.0, after));
        let side = |findings| Side::of("run", findings, None, None).unwrap();
        compare(&side(&before), &side(&after), &CompareOptions::default()).unwrap()
    };
    let moved = found(&["j1-2026-01"], &["j1-2026-02"]);
    assert_eq!(only(&moved).verdict, ComparisonVerdict::Undecided);
    let said = "The judge `j1` of `quality` reported another model: j1-2026-01 → j1-2026-02 (set its `model` to";
    assert!(moved.warnings.iter().any(|it| it.starts_with(said)), "{:?}", moved.warnings);
    for (before, after) in [(&["j1-2026-01"][..], &["j1-2026-01"][..]), (&[], &["j1-2026-02"]), (&["j1"], &["j1"])] {
        let same = found(before, after);
        assert_eq!(
            (only(&same).verdict, &same.warnings),
            (ComparisonVerdict::Worse, &Vec::new()),
            "{before:?} {after:?}"
        );
    }
}

/// PE-16: a model under test with another reported name is reported and decided, because it is the subject of the
/// comparison.
#[test]
fn a_changed_alias_of_a_model_is_reported() {
    let answered = |name: &str| {
        let mut run = sketch(40, 1.0, 0.5).run();
        for cell in &mut run.cells {
            cell.cell.facts.answered = ServedName::from_reply("model-a", name).into_iter().collect();
        }
        findings(&run)
    };
    let found = |before: &str, after: &str| {
        let (before, after) = (answered(before), answered(after));
        let side = |findings, model| Side::of("run", findings, Some(model), None).unwrap();
        compare(&side(&before, "model-a"), &side(&after, "model-b"), &CompareOptions::default()).unwrap()
    };
    let moved = found("model-a-1", "model-a-2");
    assert_eq!(only(&moved).verdict, ComparisonVerdict::Better);
    let said = "The model `model-a` reported model-a-1 in the baseline and model-a-2 in the candidate";
    assert!(moved.warnings.iter().any(|it| it.starts_with(said)), "{:?}", moved.warnings);
    assert_eq!(found("model-a-1", "model-a-1").warnings, Vec::<String>::new());
}

/// PE-16: several reported names within one run are reported by the run itself.
#[test]
fn several_names_within_a_run_are_reported() {
    let mut run = judged_run(1, 4, &["j1"], json!([]));
    for (at, cell) in run.cells.iter_mut().enumerate() {
        cell.judgments[0].scores = vec![(0, Score::value(4.0))];
        cell.judgments[0].answered = ServedName::from_reply("j1", ["j1", "j1-2"][at % 2]).into_iter().collect();
    }
    let found = findings(&run);
    let names: Vec<(&str, u64)> = found.judges[0].answered_as.iter().map(|it| (it.model.as_str(), it.n)).collect();
    assert_eq!(names, [("j1", 2), ("j1-2", 2)]);
    let said = "The judge `j1` reported 2 model names: j1 (2), j1-2 (2).";
    assert!(found.warnings.iter().any(|it| it.starts_with(said)), "{:?}", found.warnings);
}

/// BY-01, BY-08: a difference between instruments decides nothing unless requested.
#[test]
fn another_instrument_is_undecided() {
    let run = sketch(40, 1.0, 0.5).run();
    let mut after = findings(&run);
    let before = after.clone();
    let mut plan = (*after.plan).clone();
    plan.scorers[0].reduce = "median".to_owned();
    after.plan = plan.into();
    after.instruments = instruments(&after.plan, &after.judges);
    let side = |label, findings, model| Side::of(label, findings, Some(model), None).unwrap();
    let found = |options: &CompareOptions| {
        compare(&side("before", &before, "model-a"), &side("after", &after, "model-b"), options).unwrap()
    };
    let strict = found(&CompareOptions::default());
    let metric = only(&strict);
    assert_eq!((metric.verdict, &metric.needed), (ComparisonVerdict::Undecided, &None));
    assert!(metric.impossible.as_ref().is_some_and(|why| why.contains("different judges or rules")), "{metric:?}");
    assert!(strict.warnings.iter().any(|it| it.starts_with("The rules of `quality` changed: `reduce`")), "{strict:?}");
    let lenient = found(&CompareOptions { any_instrument: true, ..CompareOptions::default() });
    assert_eq!((only(&lenient).verdict, &lenient.warnings), (ComparisonVerdict::Better, &strict.warnings));
}
