//! Labels of the outputs of runs: golden sets, human-anchored figures, tournaments.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use karat_app::{
    AdjudicationRequest, App, CallRecording, Execution, GateRequest, GoldenRequest, Invocation, ItemsFrom,
    LabelPinRequest, LabelRequest, Outputs, Pinning, Session, Stop, TaskRequest, TextFrom,
};
use karat_types::{Exit, ReportFormat, SilentObserver};
use serde_json::{Map, Value, json};

use super::{item_of, next};
use crate::place;

/// Outputs are recorded numbers. The judge says one more than each, and people say the number.
const SUITE: &str = r#"name: numbers
dataset: { source: data.jsonl, id: id }
registry: [models.yaml]
models: []
judges: [kind]
variants: { plain: [ { recorded: { column: num } } ], more: [ { recorded: { column: next } } ] }
scorers:
  quality:
    rubric:
      id: q
      ask: Repeat the number.
      show: { text: "{{ output }}" }
      dimensions: { truth: { scale: [0, 20], step: 1 } }
      rationale: { field: reasoning }
"#;

const MODELS: &str = "
schema: karat.models/1
as_of: 2026-06-01
models:
  - { id: kind, provider: scripted, with: { reply: kind.j2 } }
  - { id: even, provider: scripted, with: { reply: even.j2 } }
";

const KIND: &str =
    r#"{"code": {{ code | json }}, "scores": {"truth": {{ fenced('TEXT', '0') | int + 1 }}}, "reasoning": "so"}"#;

fn write_suite(folder: &Path, suite: &str) {
    let mut rows = String::new();
    for at in 0..22 {
        writeln!(
            rows,
            "{}",
            json!({ "id": format!("s{at}"), "num": (at % 11).to_string(), "next": (at % 11 + 5).to_string() })
        )
        .unwrap();
    }
    fs::write(folder.join("data.jsonl"), rows).unwrap();
    fs::write(folder.join("models.yaml"), MODELS).unwrap();
    fs::write(folder.join("kind.j2"), KIND).unwrap();
    fs::write(folder.join("even.j2"), r#"{"better": "tie"}"#).unwrap();
    fs::write(folder.join("karat.yaml"), suite).unwrap();
}

fn invocation(folder: &Path) -> Invocation {
    Invocation::of(folder.join("karat.yaml").display().to_string())
}

fn execution(run: &str) -> Execution {
    Execution {
        run_id: Some(run.to_owned()),
        resume: false,
        observer: Arc::new(SilentObserver),
        stop: Stop::default(),
        tape: CallRecording::None,
    }
}

fn run(app: &App, folder: &Path, id: &str) {
    let invocation = invocation(folder);
    app.runs().run(app.runs().load(&invocation).unwrap(), &invocation, execution(id)).unwrap();
}

fn task(run: &str, places: usize) -> TaskRequest {
    TaskRequest { name: Some("t".to_owned()), places, ..TaskRequest::new(ItemsFrom::Run(run.to_owned())) }
}

/// A person gives every item the number that it shows, with 40 s each.
fn label_numbers(app: &App, person: &str) -> usize {
    let mut labelled = 0;
    loop {
        let answer = next(app, person);
        let Some(text) = answer["item"]["text"].as_str() else { return labelled };
        let answers = Map::from_iter([("truth".to_owned(), json!(text.parse::<u64>().unwrap()))]);
        let label = LabelRequest { item: item_of(&answer), answers, ms: Some(40_000), ..LabelRequest::default() };
        app.tasks().submit("t", person, &label).unwrap();
        labelled += 1;
    }
}

fn report(app: &App, run: &str) -> Value {
    let mut bytes = Vec::new();
    app.reports().export(run, ReportFormat::Json, Outputs::default(), false, &mut bytes).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// HU-32: settled labels of a closed task become a golden set that names its people; `golden check` and gates read it
/// without an edit. Labels of several systems need a choice, and a second export changes nothing.
#[test]
fn settled_labels_become_a_golden_set() {
    let folder = testkit::scratch().unwrap();
    let folder = folder.path();
    let app = place::app(folder);
    let golden = folder.join("golden");
    let gate = format!("baseline: {}\ngates: [ {{ metric: quality, max_drop: 0.5 }} ]\n", golden.display());
    write_suite(folder, &format!("{SUITE}{gate}"));
    run(&app, folder, "base");
    app.tasks().create(&task("base", 1)).unwrap();
    assert_eq!(label_numbers(&app, "ann"), 44);
    let asked = LabelPinRequest::default();
    let refused = |asked: &LabelPinRequest| app.tasks().pin_labels("t", asked).unwrap_err().to_string();
    assert!(refused(&asked).contains("still label"), "{}", refused(&asked));
    let no_task = app.tasks().pin_labels_of_suite(&invocation(folder), None, &asked).unwrap_err().to_string();
    assert!(no_task.contains("numbers has no closed annotation task"), "{no_task}");
    app.tasks().close("t", "owner").unwrap();
    assert!(refused(&asked).contains("2 systems (more, plain)"), "{}", refused(&asked));
    let of = |system: &str| LabelPinRequest { system: Some(system.to_owned()), pseudonyms: true, ..asked.clone() };
    assert!(refused(&of("less")).contains("`less`"));
    let pinned = app.tasks().pin_labels("t", &of("plain")).unwrap();
    assert_eq!((pinned.folder.as_path(), pinned.files.len()), (golden.as_path(), 22));
    assert_eq!(pinned.files["s3"], Pinning::New { to: 3.0 });
    let again = app.tasks().pin_labels_of_suite(&invocation(folder), Some("quality"), &of("plain")).unwrap();
    assert!(again.files.values().all(|pinning| *pinning == Pinning::Same), "{again:?}");
    let file: Value = serde_json::from_str(&fs::read_to_string(golden.join("s3.json")).unwrap()).unwrap();
    let people = &file["baseline_people"];
    assert_eq!(
        (&people["task"], &people["people"], &people["labels_per_item"]),
        (&json!("t"), &json!(["a1"]), &json!(1))
    );
    assert_eq!((&file["system"], &file["baseline_judge"]), (&json!("plain"), &Value::Null));

    // The judge says one more than people: no drop. A stricter judge is below them.
    let check = |name: &str| {
        let asked = GoldenRequest::default();
        app.analysis().golden_check(&invocation(folder), &asked, execution(name)).unwrap().0
    };
    let kind = check("kind");
    assert_eq!((kind.verdict.cards.len(), kind.verdict.regressions, kind.exit), (22, 0, Exit::Pass), "{kind:?}");
    assert_eq!(kind.verdict.cards[0].delta, Some(1.0));
    assert!(kind.verdict.warnings.iter().any(|it| it.contains("people scored 22 of the 22")), "{kind:?}");
    assert!(kind.verdict.canary.is_none() && !kind.terminal().contains("pinned judge is"), "{kind:?}");
    fs::write(folder.join("kind.j2"), KIND.replace("+ 1", "* 0")).unwrap();
    let strict = check("strict");
    assert_eq!((strict.verdict.regressions, strict.exit), (20, Exit::GateFailed), "{strict:?}");

    let gated = app.analysis().gate("base", &GateRequest::default()).unwrap();
    assert!(gated.markdown().contains("judged by people"), "{}", gated.markdown());
    let gated: Value = serde_json::from_str(&gated.json().unwrap()).unwrap();
    let plain = gated["gates"].as_array().unwrap().iter().find(|gate| gate["system"] == "plain").unwrap();
    assert_eq!((&plain["verdict"], &plain["reference"]), (&json!("pass"), &json!(5.0)), "{gated}");
}

/// HU-32: labels that score no metric are refused with the reason.
#[test]
fn labels_without_a_metric_pin_nothing() {
    let folder = testkit::scratch().unwrap();
    let folder = folder.path();
    let app = place::app(folder);
    write_suite(folder, SUITE);
    run(&app, folder, "base");
    for (questions, said) in [
        ("[{ id: truth, ask: Which?, kind: pairwise }]", "compare two outputs"),
        ("[{ id: truth, ask: True?, kind: scale, scale: [0, 20], step: 1 }]", "no metric"),
    ] {
        let questions = Some(TextFrom::Text(questions.to_owned()));
        app.tasks().create(&TaskRequest { questions, ..task("base", 1) }).unwrap();
        app.tasks().close("t", "owner").unwrap();
        let refused = app.tasks().pin_labels("t", &LabelPinRequest::default()).unwrap_err().to_string();
        assert!(refused.contains(said), "{refused}");
    }
    app.tasks().create(&task("base", 1)).unwrap();
    app.tasks().close("t", "owner").unwrap();
    let none =
        app.tasks().pin_labels("t", &LabelPinRequest { folder: Some(folder.join("g")), ..LabelPinRequest::default() });
    assert!(none.unwrap_err().to_string().contains("no item of the task t is settled"));
}

/// HU-40: settled labels anchor the figures of a run as soon as their task is closed, in its report and gates; the store's
/// kept figures follow. A targeted task changes nothing, and a report is the same twice.
#[test]
fn closed_tasks_anchor_the_figures_of_runs() {
    let folder = testkit::scratch().unwrap();
    let folder = folder.path();
    let app = place::app(folder);
    write_suite(folder, &format!("{SUITE}gates: [ {{ metric: quality, max: 15, anchor: human }} ]\n"));
    run(&app, folder, "base");
    let anchored = |app: &App| report(app, "base")["systems"][0]["anchored"]["quality"].clone();
    assert_eq!(app.analysis().run_figures("base").unwrap().verdict.as_deref(), Some("undecided"));
    app.tasks().create(&TaskRequest { count: Some(30), ..task("base", 2) }).unwrap();
    assert_eq!([label_numbers(&app, "ann"), label_numbers(&app, "bob")], [30, 30]);
    assert_eq!(anchored(&app), Value::Null, "the task is open");
    app.tasks().close("t", "owner").unwrap();
    let figure = anchored(&app);
    let labelled = figure["labelled"].as_u64().unwrap();
    assert!((10..=20).contains(&labelled), "{figure}");
    // The judge says one more than people for each output: 6 on the mean, where people say 5.
    let value = |name: &str| figure[name]["value"].as_f64().unwrap();
    assert_eq!((value("judge"), value("correction")), (6.0, -1.0), "{figure}");
    let (lo, hi) = (figure["anchored"]["ci"][0].as_f64().unwrap(), figure["anchored"]["ci"][1].as_f64().unwrap());
    assert!(lo < 5.0 && 5.0 < hi && value("anchored") < 5.5, "{figure}");
    assert_eq!(app.analysis().run_figures("base").unwrap().verdict.as_deref(), Some("pass"));
    let whole = report(&app, "base");
    let found = &whole["analyses"]["human_anchor"];
    assert_eq!((&found["tasks"][0]["task"], &found["tasks"][0]["settled"]), (&json!("t@1"), &json!(30)), "{found}");
    let fresh = App { opened: Session::default(), ..app.clone() };
    assert_eq!(report(&fresh, "base"), whole);
    let targeted = TaskRequest { select: "uncertain".to_owned(), count: Some(20), ..task("base", 2) };
    app.tasks().create(&targeted).unwrap();
    label_numbers(&app, "cat");
    label_numbers(&app, "dan");
    app.tasks().close("t", "owner").unwrap();
    assert_eq!(anchored(&app), figure);
    let found = report(&app, "base")["analyses"]["human_anchor"].clone();
    assert_eq!((&found["targeted"], &found["tasks"][0]["counts"]), (&json!(20), &json!(false)), "{found}");
}

/// DC-22: open items of a closed task count with the mean of their labels, and figures hold whatever they become; the next
/// version has their labels and decisions, and once it is closed it counts alone.
#[test]
fn open_items_can_be_settled_after_closing() {
    let folder = testkit::scratch().unwrap();
    let folder = folder.path();
    let app = place::app(folder);
    write_suite(folder, SUITE);
    run(&app, folder, "base");
    app.tasks().create(&task("base", 1)).unwrap();
    let answer = |item: &str, truth: u64| LabelRequest {
        item: item.to_owned(),
        answers: Map::from_iter([("truth".to_owned(), json!(truth))]),
        ..LabelRequest::default()
    };
    let flagged = item_of(&next(&app, "ann"));
    app.tasks().flag("t", "ann", &super::reason(&flagged, "wrong_reference")).unwrap();
    let decided = item_of(&next(&app, "ann"));
    app.tasks().submit("t", "ann", &answer(&decided, 7)).unwrap();
    let decision = AdjudicationRequest {
        item: Some(decided.clone()),
        answers: Some(Map::from_iter([("truth".to_owned(), json!(8))])),
        confirm: true,
        ..AdjudicationRequest::default()
    };
    app.tasks().adjudicate("t", "owner", &decision).unwrap();
    label_numbers(&app, "ann");
    assert_eq!(app.tasks().close("t", "owner").unwrap()["open"], json!(1));
    let figures = || report(&app, "base")["analyses"]["human_anchor"].clone();
    let found = figures();
    assert_eq!((&found["tasks"][0]["open"], &found["labels"]), (&json!(1), &json!([44, 44])), "{found}");
    let open = found["figures"].as_array().unwrap().iter().find(|figure| figure["open"] == 1).unwrap().clone();
    let ends = &open["anchored"]["ci"];
    let width = ends[1].as_f64().unwrap() - ends[0].as_f64().unwrap();
    // One of 22 outputs lies anywhere on the scale from 0 to 20.
    assert!((width - 20.0 / 22.0).abs() < 1e-9, "{open}");
    let mut text = Vec::new();
    app.reports().export("base", ReportFormat::Markdown, Outputs::default(), false, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    for part in ["1 open: ", " whatever they will be", "Open in t@1: 1; settle them: karat annotate adjudicate t@1"] {
        assert!(text.contains(part), "{part}: {text}");
    }

    let next_version = app.tasks().reopen("t").unwrap();
    assert_eq!((next_version.version, next_version.is_new, next_version.open), (2, true, 1));
    assert_eq!(app.tasks().reopen("t").unwrap().version, 2);
    let items = app.tasks().overview("t").unwrap()["items"].clone();
    // The flagged output is that of another sample, too, whose label is known.
    assert_eq!(
        (&items["adjudicated"], &items["open"], &items["settled"]),
        (&json!(1), &json!(0), &json!(43)),
        "{items}"
    );
    assert_eq!(app.tasks().close("t", "owner").unwrap()["open"], json!(0));
    let found = figures();
    assert_eq!((&found["tasks"][0]["open"], &found["labels"]), (&json!(0), &json!([44, 44])), "{found}");
    for figure in found["figures"].as_array().unwrap() {
        let anchored = &figure["anchored"];
        assert_eq!(anchored["ci"], json!([anchored["value"], anchored["value"]]), "every output is labelled: {figure}");
        assert!(anchored["population"][0].as_f64() < anchored["value"].as_f64(), "{figure}");
    }
}

/// HU-40: of two closed tasks with other guidelines the newest says how people are asked; the labels of the other one are
/// counted as left out. Missing labels are stated with the minutes that they take.
#[test]
fn labels_of_another_version_do_not_count() {
    let folder = testkit::scratch().unwrap();
    let folder = folder.path();
    let app = place::app(folder);
    write_suite(
        folder,
        &format!("{SUITE}analyses: [ {{ analysis: human_anchor, with: {{ scorer: quality, width: 0.01 }} }} ]\n"),
    );
    run(&app, folder, "base");
    let found = || report(&app, "base")["analyses"]["human_anchor"].clone();
    assert_eq!(found()["labels"], json!([0, 0]), "{}", found());
    app.tasks().create(&TaskRequest { count: Some(20), ..task("base", 1) }).unwrap();
    label_numbers(&app, "ann");
    app.tasks().close("t", "owner").unwrap();
    assert_eq!((&found()["labels"], &found()["other_version"]), (&json!([20, 20]), &json!(0)));
    let guidelines = Some(TextFrom::Text("Be strict.".to_owned()));
    app.tasks().create(&TaskRequest { count: Some(10), guidelines, ..task("base", 1) }).unwrap();
    let item = item_of(&next(&app, "ann"));
    let off = LabelRequest {
        item,
        answers: Map::from_iter([("truth".to_owned(), json!(20))]),
        ms: Some(40_000),
        ..LabelRequest::default()
    };
    app.tasks().submit("t", "ann", &off).unwrap();
    label_numbers(&app, "ann");
    app.tasks().close("t", "owner").unwrap();
    let found = found();
    assert_eq!((&found["labels"], &found["other_version"]), (&json!([10, 30]), &json!(20)), "{found}");
    let figures = found["figures"].as_array().unwrap();
    let short = figures.iter().find(|figure| figure["labels_missing"].is_u64()).expect("a figure lacks labels");
    let missing = short["labels_missing"].as_u64().unwrap();
    assert_eq!(short["minutes_missing"], json!((missing * 40).div_ceil(60)), "{short}");
    let mut text = Vec::new();
    app.reports().export("base", ReportFormat::Markdown, Outputs::default(), false, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    for part in ["20 because they are of another version", "Tasks: t@2.", "nothing is estimated then"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// PW-01: verdicts of people on pairs are games of the ranking, beside those of a judge that calls everything a tie; both bad
/// is a tie. An excluded person plays no game.
#[test]
fn people_decide_a_tournament() {
    let folder = testkit::scratch().unwrap();
    let folder = folder.path();
    let app = place::app(folder);
    let scorer = "  duel:\n    versus: all\n    rubric: { ask: Which is larger?, dimensions: { better: { definition: larger, \
                  scale: [1, 5] } }, invalid: { reask: 0 } }\n";
    let suite =
        SUITE.split("scorers:").next().unwrap().replace("[kind]", "[even]").replace("id: id }", "id: id, input: id }");
    write_suite(folder, &format!("{suite}scorers:\n{scorer}"));
    run(&app, folder, "base");
    let ranking = || report(&app, "base")["analyses"]["ranking"][0].clone();
    assert_eq!((&ranking()["games"], &ranking()["by_people"]), (&json!(22), &json!(0)), "{}", ranking());
    app.tasks().create(&task("base", 2)).unwrap();
    for person in ["ann", "bob"] {
        loop {
            let answer = next(&app, person);
            let Some(a) = answer["item"]["a"].as_str() else { break };
            let side = |text: &str| text.parse::<u32>().unwrap();
            let (a, b) = (side(a), side(answer["item"]["b"].as_str().unwrap()));
            // Bob is wrong of purpose.
            let says = match (a > b, person, a.min(b)) {
                (_, "ann", 0) => "both_bad",
                (is_larger, person, _) if is_larger == (person == "ann") => "a",
                _ => "b",
            };
            let answers = Map::from_iter([("better".to_owned(), json!(says))]);
            let label = LabelRequest { item: item_of(&answer), answers, ..LabelRequest::default() };
            app.tasks().submit("t", person, &label).unwrap();
        }
    }
    let exclude = AdjudicationRequest {
        exclude: Some("bob".to_owned()),
        reason: "always the smaller one".to_owned(),
        ..AdjudicationRequest::default()
    };
    app.tasks().adjudicate("t", "owner", &exclude).unwrap();
    assert_eq!(ranking()["by_people"], json!(0), "the task is open");
    app.tasks().close("t", "owner").unwrap();
    let found = ranking();
    assert_eq!((&found["games"], &found["by_people"]), (&json!(44), &json!(22)), "{found}");
    // Two pairs have a 0, and are bad on both sides; the judge calls all 22 a tie.
    assert_eq!((&found["systems"][0]["system"], &found["systems"][0]["record"]), (&json!("more"), &json!([20, 24, 0])));
    assert!(found["without"].as_array().unwrap().iter().any(|it| it["judge"] == "people"), "{found}");
}
