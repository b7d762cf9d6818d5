//! Tests of human-anchored figures.

use super::*;
use crate::testing::{MemoryRun, judged_run};
use crate::{Options, Verdict, analyse, gate};
use karat_types::{Gate, GateBasis, GateRules, Score, Threshold};
use serde_json::{Value, json};

/// Two hundred samples; people give 4, 5 or 6, the judge half a point more; every fourth sample has a label.
fn run(with: Value, grade: impl Fn(usize) -> (f64, f64)) -> MemoryRun {
    let labels =
        (0..200).step_by(4).map(|at| json!({ "sample": format!("sample-{at}"), "scores": { "overall": grade(at).0 } }));
    let mut run = judged_run(1, 200, &["judge"], labels.collect());
    for cell in &mut run.cells {
        cell.judgments[0].scores = vec![(0, Score::value(grade(cell.sample).1))];
    }
    let plan = Arc::make_mut(&mut run.header.plan);
    let Value::Object(with) = with else { panic!("options") };
    plan.analyses = vec![AnalysisSpec { analysis: "human_anchor".to_owned(), id: "anchor".to_owned(), with }];
    run
}

fn lenient(at: usize) -> (f64, f64) {
    let human = 4.0 + (at * 7 % 5) as f64 / 2.0;
    (human, human + 0.5 + ((at * 11) % 7) as f64 / 20.0)
}

fn found(run: &MemoryRun) -> HumanAnchor {
    match analyse(run, &Options::default()).unwrap().analyses.remove(0).outcome {
        Outcome::HumanAnchor(found) => found,
        other => panic!("{other:?}"),
    }
}

/// BY-03: the anchored score covers the true mean, and is more precise than labels alone.
#[test]
fn human_labels_correct_a_lenient_judge() {
    let anchor = found(&run(json!({ "scorer": "quality", "width": 0.2 }), lenient));
    let [figure] = &anchor.figures[..] else { panic!("{anchor:?}") };
    let truth = (0..200).map(|at| lenient(at).0).sum::<f64>() / 200.0;
    let anchored = figure.anchored.as_ref().unwrap();
    let (lo, hi) = anchored.interval().unwrap();
    assert!(lo < truth && truth < hi && figure.judge.as_ref().unwrap().value() > hi, "{figure:?}");
    let (human_lo, human_hi) = figure.human.as_ref().unwrap().interval().unwrap();
    assert!(hi - lo < 0.7 * (human_hi - human_lo));
    assert_eq!((anchored.method(), anchor.labels, figure.labelled, figure.judged), ("PPI++, t", (50, 50), 50, 150));
    assert_eq!(figure.correction.as_ref().unwrap().sign(), Some(false));
    assert!(figure.worth.as_ref().unwrap().value() > 100.0);
    let (with_judge, without) = figure.labels_needed.unwrap();
    assert!(with_judge < without);
}

/// BY-03: labels shown to a judge as examples are left out.
#[test]
fn shown_labels_are_left_out() {
    let mut run = run(json!({ "scorer": "quality" }), lenient);
    let plan = Arc::make_mut(&mut run.header.plan);
    let ScorerKind::Rubric(rubric) = &mut plan.scorers[0].kind else { panic!("no rubric") };
    rubric.rubric.examples = 2;
    rubric.labels.iter_mut().for_each(|row| row["output"] = json!("some text"));
    let anchor = found(&run);
    // Labels of another output than the cell's do not match.
    assert_eq!(anchor.labels.0, 0);
    assert!(anchor.shown_to_judges >= 2 && anchor.figures[0].anchored.is_none());
    assert!(anchor.figures[0].why.as_ref().unwrap().contains("two labels"));
}

/// BY-03: Rogan–Gladen is available on request, for pass/fail only, and a judge at chance level is refused.
#[test]
fn rogan_gladen_is_for_pass_and_fail() {
    let verdict = |at: usize| (f64::from(u8::from(at % 10 < 5)), f64::from(u8::from(at % 10 < 7)));
    let with = json!({ "scorer": "quality", "method": "rogan_gladen" });
    let figure = found(&run(with.clone(), verdict)).figures.remove(0);
    assert!(figure.anchored.unwrap().method().starts_with("Rogan-Gladen, Lang-Reiczigel"));
    let graded = found(&run(with.clone(), lenient)).figures.remove(0);
    assert!(graded.anchored.is_none() && graded.why.unwrap().contains("use ppi++"));
    let coin =
        found(&run(with, |at| (f64::from(u8::from(at % 8 < 4)), f64::from(u8::from(at % 16 < 8))))).figures.remove(0);
    assert!(coin.why.unwrap().contains("no better than chance"));
}

/// BY-03, invariant 6, statistics are findings: if samples share clusters, the interval is cluster-robust.
#[test]
fn clusters_widen_the_interval() {
    let mut clustered = run(json!({ "scorer": "quality" }), lenient);
    Arc::make_mut(&mut clustered.header.plan).dataset.clustered = true;
    for (at, sample) in clustered.samples.iter_mut().enumerate() {
        sample.cluster = Some(format!("c{}", at / 10));
    }
    let figure = found(&clustered).figures.remove(0);
    assert_eq!(figure.anchored.unwrap().method(), "PPI++, cluster t (CR2)");
    let refused = analyse(&run(json!({ "scorer": "other" }), lenient), &Options::default()).unwrap_err();
    assert!(refused.to_string().contains("not a scorer with judges"), "{refused}");
}

/// HU-40: a scorer with labels is anchored without being asked, beside its judge's figure; labels of another version
/// do not count, and what a wide interval lacks is stated.
#[test]
fn labels_anchor_without_being_asked() {
    let mut run = run(json!({ "scorer": "quality" }), lenient);
    let asked = found(&run);
    let plan = Arc::make_mut(&mut run.header.plan);
    plan.analyses.clear();
    let findings = analyse(&run, &Options::default()).unwrap();
    let figure = findings.anchored_figure("quality.overall", "model-a/variant-0").unwrap();
    assert!(findings.analyses.iter().any(|it| it.id == "human_anchor"));
    assert_eq!((Some(figure), figure.labels_missing), (asked.figures.first(), None));
    let plan = Arc::make_mut(&mut run.header.plan);
    let ScorerKind::Rubric(rubric) = &mut plan.scorers[0].kind else { panic!("no rubric") };
    rubric.rubric.version = Some("2".to_owned());
    rubric.labels.iter_mut().enumerate().for_each(|(at, row)| row["version"] = json!(if at < 4 { 2 } else { 1 }));
    plan.analyses = vec![AnalysisSpec {
        analysis: "human_anchor".to_owned(),
        id: "anchor".to_owned(),
        with: serde_json::Map::from_iter([("scorer".to_owned(), json!("quality")), ("width".to_owned(), json!(0.1))]),
    }];
    let anchor = found(&run);
    assert_eq!((anchor.labels.0, anchor.other_version), (4, 46));
    assert!(anchor.figures[0].labels_missing.is_some_and(|missing| missing > 0), "{anchor:?}");
}

/// A task with the true grades of some samples.
fn task(name: &str, samples: impl Iterator<Item = usize>) -> PeopleTask {
    let label = |at: usize| {
        let row = json!({ "sample": format!("sample-{at}"), "output": format!("text {at}"),
            "scores": { "overall": lenient(at).0 }, "annotator": "settled" });
        Label::from_row(&row).unwrap().into()
    };
    PeopleTask {
        task: name.to_owned(),
        scorer: "quality".to_owned(),
        labels: samples.map(label).collect(),
        places: 2,
        median_ms: Some(45_000),
        ..PeopleTask::default()
    }
}

/// A run without labels of its own, whose cells have the outputs that tasks are about.
fn unlabelled_run() -> MemoryRun {
    let mut run = run(json!({ "scorer": "quality" }), lenient);
    let plan = Arc::make_mut(&mut run.header.plan);
    plan.analyses.clear();
    let ScorerKind::Rubric(rubric) = &mut plan.scorers[0].kind else { panic!("no rubric") };
    rubric.labels.clear();
    for cell in &mut run.cells {
        cell.cell.output_hash = output_key(&json!(format!("text {}", cell.sample)));
    }
    run
}

fn found_with(run: &MemoryRun, people: Vec<PeopleTask>) -> Option<HumanAnchor> {
    let findings = analyse(run, &Options { people: people.into(), ..Options::default() }).unwrap();
    findings.analyses.into_iter().find_map(|it| match it.outcome {
        Outcome::HumanAnchor(found) => Some(found),
        _ => None,
    })
}

/// HU-40: settled labels of closed tasks anchor figures without a labels file; those of hard items and of another version
/// change nothing and are counted; an output that was labelled twice counts once.
#[test]
fn settled_labels_anchor_figures() {
    let run = unlabelled_run();
    assert_eq!(found_with(&run, Vec::new()), None);
    let counting = || task("t@2", (0..200).step_by(4));
    let plain = found_with(&run, vec![counting()]).unwrap();
    let truth = (0..200).map(|at| lenient(at).0).sum::<f64>() / 200.0;
    let anchored = plain.figures[0].anchored.clone().unwrap();
    let (lo, hi) = anchored.interval().unwrap();
    assert!(lo < truth && truth < hi && (plain.labels, plain.figures[0].labelled) == ((50, 50), 50), "{plain:?}");
    let unused = |why: UnusedTask, name: &str| PeopleTask { unused: Some(why), ..task(name, 1..31) };
    let others = vec![
        unused(UnusedTask::Targeted, "hard@1"),
        counting(),
        unused(UnusedTask::OtherVersion, "t@1"),
        task("u@1", 0..5),
        PeopleTask { scorer: "other".to_owned(), ..task("o@1", 0..100) },
    ];
    let found = found_with(&run, others).unwrap();
    assert_eq!((found.targeted, found.other_version), (30, 30));
    // Of the five labels of the last task two are of outputs that the first has.
    assert_eq!((found.labels, found.figures[0].labelled), ((53, 113), 53), "{found:?}");
    let names: Vec<(&str, bool)> = found.tasks.iter().map(|it| (it.task.as_str(), it.counts)).collect();
    assert_eq!(names, [("hard@1", false), ("t@2", true), ("t@1", false), ("u@1", true)]);
}

/// HU-40: labels that are missing for the wanted width are stated with the minutes that they take: here two people at 45 s
/// each, so a minute and a half for each label.
#[test]
fn missing_labels_are_stated_in_minutes() {
    let mut run = unlabelled_run();
    let with = json!({ "scorer": "quality", "width": 0.001 });
    let Value::Object(with) = with else { panic!("options") };
    Arc::make_mut(&mut run.header.plan).analyses =
        vec![AnalysisSpec { analysis: "human_anchor".to_owned(), id: "anchor".to_owned(), with }];
    let figure = found_with(&run, vec![task("t@1", (0..200).step_by(4))]).unwrap().figures.remove(0);
    let missing = figure.labels_missing.unwrap();
    assert!(missing > 1, "{figure:?}");
    assert_eq!(figure.minutes_missing, Some((missing * 90).div_ceil(60)));
    let few = found_with(&run, vec![task("t@1", 0..1)]).unwrap();
    assert!(few.figures[0].why.as_ref().unwrap().contains("two labels"), "{few:?}");
}

/// A task whose outputs were chosen by a design, with labels and verdicts of these samples.
fn designed(kind: LabelDesignKind, by: &str, labels: Vec<(usize, f64, Option<bool>)>) -> PeopleTask {
    let label = |(at, score, passed): (usize, f64, Option<bool>)| {
        let row =
            json!({ "sample": format!("sample-{at}"), "output": format!("text {at}"), "scores": { "overall": score } });
        PeopleLabel { passed, ..Label::from_row(&row).unwrap().into() }
    };
    let design = crate::score::people::LabelDesign { kind, by: Some(by.to_owned()), strata: Vec::new() };
    PeopleTask { labels: labels.into_iter().map(label).collect(), design, ..task("t@1", 0..0) }
}

/// A run of pass and fail: the judge passes every output but each fifth, people fail every second of those that it fails
/// and every tenth of those that it passes.
fn verdicts() -> (MemoryRun, Vec<(f64, f64)>) {
    let both: Vec<(f64, f64)> = (0..200_usize)
        .map(|at| match at % 5 {
            0 => (f64::from(u8::from(at % 10 == 0)), 0.0),
            _ => (f64::from(u8::from(at % 10 != 3)), 1.0),
        })
        .collect();
    let mut run = unlabelled_run();
    for cell in &mut run.cells {
        cell.judgments[0].scores = vec![(0, Score::value(both[cell.sample].1))];
    }
    let plan = Arc::make_mut(&mut run.header.plan);
    (plan.metrics[0].binary, plan.metrics[0].range) = (true, Some((0.0, 1.0)));
    (run, both)
}

/// DC-21: labels chosen by verdict or by topic are weighted by their strata; the mean of the labels alone would be off. Where
/// people see every output nothing is estimated, and rogan_gladen needs random labels.
#[test]
fn labels_count_by_the_design_that_chose_them() {
    let (mut run, both) = verdicts();
    let metric = run.header.plan.metrics[0].name.clone();
    let truth = both.iter().map(|it| it.0).sum::<f64>() / 200.0;
    let of = |wanted: f64, n: usize| {
        let own = both.iter().enumerate().filter(move |(_, it)| it.1.total_cmp(&wanted).is_eq());
        own.take(n).map(|(at, it)| (at, it.0, Some(it.1 > 0.5))).collect::<Vec<_>>()
    };
    let chosen = designed(LabelDesignKind::Verdict, &metric, [of(1.0, 40), of(0.0, 40)].concat());
    let found = found_with(&run, vec![chosen.clone()]).unwrap();
    let figure = &found.figures[0];
    let anchored = figure.anchored.as_ref().unwrap();
    let ((lo, hi), (low, high)) = (anchored.interval().unwrap(), anchored.population().unwrap());
    assert!(lo < truth && truth < hi && low < lo && hi < high, "{figure:?}");
    assert_eq!((anchored.method(), figure.labelled), ("PPI++ by verdict, t", 80));
    assert!((figure.human.as_ref().unwrap().value() - truth).abs() < 0.03, "{figure:?}");
    let json = serde_json::to_value(anchored).unwrap();
    assert_eq!(json["population"], json!([low, high]));

    // A judge with other verdicts shares no stratum with the labels.
    let mut other = run.clone();
    other.cells[3].judgments[0].scores = vec![(0, Score::value(0.0))];
    let left = found_with(&other, vec![chosen]).unwrap();
    assert_eq!((left.other_verdicts, left.figures[0].labelled), (80, 0), "{left:?}");

    let topic = |at: usize| if at < 20 { "rare" } else { "usual" };
    run.samples.iter_mut().enumerate().for_each(|(at, sample)| {
        sample.metadata.insert("topic".to_owned(), json!(topic(at)));
    });
    let labels =
        |samples: &mut dyn Iterator<Item = usize>| samples.map(|at| (at, both[at].0, None)).collect::<Vec<_>>();
    let by_topic =
        |samples: &mut dyn Iterator<Item = usize>| designed(LabelDesignKind::Stratified, "topic", labels(samples));
    let found = found_with(&run, vec![by_topic(&mut (0..40))]).unwrap().figures.remove(0);
    assert_eq!(found.anchored.as_ref().unwrap().method(), "PPI++ by topic, t");
    let covered = found_with(&run, vec![by_topic(&mut (20..40))]).unwrap().figures.remove(0).anchored.unwrap();
    assert_eq!(covered.open(), Some("its labels cover 90 % of the outputs"));
    let whole = found_with(&run, vec![by_topic(&mut (0..200))]).unwrap().figures.remove(0);
    let all = whole.anchored.as_ref().unwrap();
    assert_eq!((all.interval(), all.method()), (Some((truth, truth)), "every output labelled"));
    assert!(all.population().is_some_and(|(lo, hi)| lo < truth && truth < hi) && whole.labels_missing.is_none());

    let Value::Object(with) = json!({ "scorer": "quality", "method": "rogan_gladen" }) else { panic!("options") };
    Arc::make_mut(&mut run.header.plan).analyses =
        vec![AnalysisSpec { analysis: "human_anchor".to_owned(), id: "anchor".to_owned(), with }];
    let refused = found_with(&run, vec![by_topic(&mut (0..40))]).unwrap().figures.remove(0).why.unwrap();
    let said = "these labels were chosen by topic, so sensitivity cannot be read from them: use ppi++";
    assert_eq!(refused, said);
}

/// F80, DC-22: an open label counts with the mean of its labels, and the interval is the hull of what it can become; advice never
/// asks for more labels than are left.
#[test]
fn open_labels_widen_the_interval() {
    let (run, both) = verdicts();
    let settled = designed(LabelDesignKind::Random, "", (0..100).map(|at| (at, both[at].0, None)).collect());
    let plain = found_with(&run, vec![settled.clone()]).unwrap().figures.remove(0);
    let mut open = settled;
    for label in &mut open.labels[..10] {
        let ends = |value: f64| BTreeMap::from([("overall".to_owned(), json!(value))]);
        (label.open, label.label.scores) = (Some((ends(0.0), ends(1.0))), ends(0.5));
    }
    let found = found_with(&run, vec![open]).unwrap();
    assert_eq!((found.tasks[0].open, found.tasks[0].settled), (10, 90));
    let figure = &found.figures[0];
    let ends = |it: &AnchoredFigure| it.anchored.as_ref().unwrap().interval().unwrap();
    let ((lo, hi), (a, b)) = (ends(figure), ends(&plain));
    assert!(figure.open == 10 && lo < a && b < hi && hi - lo > 0.05 + b - a, "{figure:?}");
    // V = 0.0270², n₀ = 224.4, n = 224.4/(1 + 224.4/200) = 105.7.
    assert_eq!(plain.labels_missing, Some(6), "{plain:?}");
    assert!(figure.labels_missing.is_some_and(|missing| missing <= 100), "{figure:?}");
}

/// DC-21: a gate by interval asks of outputs like these, so it is undecided where a point of these outputs passes.
#[test]
fn gates_by_interval_ask_of_outputs_like_these() {
    let (run, both) = verdicts();
    let labels = (0..200).map(|at| (at, both[at].0, None)).collect();
    let people: Arc<[PeopleTask]> = vec![designed(LabelDesignKind::Random, "", labels)].into();
    let findings = analyse(&run, &Options { people, ..Options::default() }).unwrap();
    let verdict = |decide: GateBasis| {
        let min = Some(Threshold { value: 0.79, percent: false });
        let gate = Gate { min, decide, human_anchor: true, ..Gate::for_metric("quality.overall") };
        let rules = GateRules { gates: vec![gate], ..GateRules::default() };
        gate::decide(&findings, &run, &rules, &gate::References::default()).unwrap().decisions.remove(0).verdict
    };
    assert_eq!((verdict(GateBasis::Point), verdict(GateBasis::Interval)), (Verdict::Pass, Verdict::Undecided));
}
