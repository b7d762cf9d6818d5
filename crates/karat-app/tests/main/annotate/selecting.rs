//! The choice of items, and what a request for a task may say.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use karat_app::{
    App, CallRecording, ErrorKind, Execution, GoldItems, Invocation, ItemsFrom, LabelSource, Stop, TaskRequest,
    TextFrom,
};
use karat_types::SilentObserver;
use serde_json::{Value, json};

use super::{MINUTE, QUESTIONS, item_of, moved_app, next, request, submit};
use crate::place;

/// Two judges on recorded numbers: one repeats the number, the other one always says 5. `low` fails below 3.
const SUITE: &str = r#"name: numbers
dataset: { source: data.jsonl, id: id, metadata: [topic] }
registry: [models.yaml]
models: []
judges: [good, flat]
variants: { same: [ { recorded: { column: num } } ] }
scorers:
  quality:
    rubric:
      id: q
      ask: Repeat the number.
      show: { text: "{{ output }}" }
      dimensions: { truth: { scale: [0, 10], step: 1 } }
      rationale: { field: reasoning }
  even: { metric: contains, value: "even" }
"#;

const MODELS: &str = "
schema: karat.models/1
as_of: 2026-06-01
models:
  - { id: good, provider: scripted, with: { reply: good.j2 } }
  - { id: flat, provider: scripted, with: { reply: flat.j2 } }
";

/// A run of 22 outputs, `0 even` to `10 even` twice.
fn numbers_run(app: &App, folder: &Path) {
    numbers_run_of(app, folder, SUITE);
}

fn numbers_run_of(app: &App, folder: &Path, suite: &str) {
    let row = |at: u32| {
        let number = at % 11;
        let text = if number.is_multiple_of(2) { format!("{number} even") } else { number.to_string() };
        format!("{}\n", json!({ "id": format!("s{at}"), "num": text, "topic": if at < 4 { "rare" } else { "usual" } }))
    };
    fs::write(folder.join("data.jsonl"), (0..22).map(row).collect::<String>()).unwrap();
    fs::write(folder.join("models.yaml"), MODELS).unwrap();
    let reply = |truth: &str| {
        format!("{{\"code\": {{{{ code | json }}}}, \"scores\": {{\"truth\": {truth}}}, \"reasoning\": \"so\"}}")
    };
    fs::write(folder.join("good.j2"), reply("{{ fenced('TEXT', '0') | trim | replace(' even', '') }}")).unwrap();
    fs::write(folder.join("flat.j2"), reply("5")).unwrap();
    fs::write(folder.join("karat.yaml"), suite).unwrap();
    let invocation = Invocation::of(folder.join("karat.yaml").display().to_string());
    let execution = Execution {
        run_id: Some("base".to_owned()),
        resume: false,
        observer: Arc::new(SilentObserver),
        stop: Stop::default(),
        tape: CallRecording::None,
    };
    app.runs().run(app.runs().load(&invocation).unwrap(), &invocation, execution).unwrap();
}

fn of_run(select: &str, count: usize) -> TaskRequest {
    TaskRequest {
        name: Some("t".to_owned()),
        places: 1,
        count: Some(count),
        select: select.to_owned(),
        ..TaskRequest::new(ItemsFrom::Run("base".to_owned()))
    }
}

/// The texts of all items, as a person sees them.
fn texts(app: &App) -> Vec<String> {
    let mut texts = Vec::new();
    loop {
        let answer = next(app, "reader");
        let Some(text) = answer["item"]["text"].as_str() else { return texts };
        texts.push(text.to_owned());
        app.tasks().skip("t", "reader", &super::reason(&item_of(&answer), "cannot_judge")).unwrap();
    }
}

/// HU-01: `stratified` takes the same number of each value of a column; `uncertain` takes the outputs on which judges differ
/// most, `failed` those with a failed check, and both are marked as targeted.
#[test]
fn items_are_selected_by_a_rule() {
    let folder = testkit::scratch().unwrap();
    let folder = folder.path();
    let app = place::app(folder);
    numbers_run(&app, folder);
    let make = |select: &str, count: usize| {
        app.tasks().create(&of_run(select, count)).unwrap();
        (texts(&app), app.tasks().overview("t").unwrap())
    };
    let (stratified, view) = make("stratified:topic", 8);
    assert_eq!((stratified.len(), &view["targeted"]), (8, &json!(false)));
    // The four rare outputs are 0, 1, 2 and 3.
    let is_rare = |text: &&String| ["0 even", "1", "2 even", "3"].contains(&text.as_str());
    assert!(stratified.iter().filter(is_rare).count() >= 4, "{stratified:?}");
    let no_column = app.tasks().create(&of_run("stratified:colour", 8)).unwrap_err().to_string();
    assert!(no_column.contains("no column `colour`"), "{no_column}");

    // Judges differ by |number − 5|: most at 0 and 10, which two samples have each.
    let (uncertain, view) = make("uncertain", 4);
    assert_eq!(
        uncertain.iter().collect::<BTreeSet<_>>(),
        BTreeSet::from([&"0 even".to_owned(), &"10 even".to_owned()])
    );
    assert_eq!((uncertain.len(), &view["targeted"]), (4, &json!(true)));

    let (failed, view) = make("failed", 22);
    assert!(failed.len() == 10 && failed.iter().all(|text| !text.contains("even")), "{failed:?}");
    assert_eq!(view["targeted"], json!(true));
}

/// DC-21: a task keeps the design of its choice: outputs and items by stratum. `verdict` takes half of the items from the
/// outputs that the judge passed, and needs a scorer that passes and fails.
#[test]
fn a_task_keeps_the_design_of_its_choice() {
    let folder = testkit::scratch().unwrap();
    let folder = folder.path();
    let app = place::app(folder);
    numbers_run(&app, folder);
    let design = |app: &App, select: &str, count: usize| {
        app.tasks().create(&of_run(select, count)).unwrap();
        app.tasks().overview("t").unwrap()["design"].clone()
    };
    assert_eq!(design(&app, "random", 8), json!({ "kind": "random" }));
    assert_eq!(design(&app, "failed", 8), json!({ "kind": "targeted" }));
    let by_topic = design(&app, "stratified:topic", 8);
    let strata = json!([{ "value": "rare", "rows": 4, "drawn": 4 }, { "value": "usual", "rows": 18, "drawn": 4 }]);
    assert_eq!(by_topic, json!({ "kind": "stratified", "by": "topic", "strata": strata }));
    let refused = app.tasks().create(&of_run("verdict", 8)).unwrap_err().to_string();
    assert!(refused.contains("`quality` gives grades, neither pass nor fail"), "{refused}");

    // The mean of the two judges passes from 3 on: 1 or more of a number from 0 to 10.
    let folder = testkit::scratch().unwrap();
    let folder = folder.path();
    let app = place::app(folder);
    numbers_run_of(&app, folder, &SUITE.replace("  quality:\n", "  quality:\n    min: 3.5\n"));
    let by_verdict = design(&app, "verdict", 8);
    let strata = json!([{ "value": "fail", "rows": 4, "drawn": 4 }, { "value": "pass", "rows": 18, "drawn": 4 }]);
    assert_eq!(by_verdict, json!({ "kind": "verdict", "by": "quality", "strata": strata }));
    let mut texts = texts(&app);
    texts.sort();
    // 0 and 1 fail, each twice.
    assert_eq!(texts[..4], ["0 even", "0 even", "1", "1"].map(str::to_owned), "{texts:?}");
    let unknown = app.tasks().create(&of_run("verdict:quality.tone", 8)).unwrap_err().to_string();
    assert!(unknown.contains("it has `quality`"), "{unknown}");
}

/// HU-01: ids that no sample has are named instead of dropped, and so are an empty list and a task without items.
#[test]
fn unknown_ids_are_named() {
    let folder = testkit::scratch().unwrap();
    let folder = folder.path();
    let app = place::app(folder);
    numbers_run(&app, folder);
    let file = folder.join("ids.txt");
    let select = format!("ids:{}", file.display());
    let refused = |asked: &TaskRequest| app.tasks().create(asked).unwrap_err().to_string();
    fs::write(&file, "s1\ns2\ns99\nS3\n").unwrap();
    let said = refused(&of_run(&select, 5));
    assert!(said.contains("2 of 4") && said.contains("S3, s99"), "{said}");
    fs::write(&file, "\n").unwrap();
    assert!(refused(&of_run(&select, 5)).contains("it has none"));
    assert!(refused(&of_run("random", 0)).contains("`--n 0`"));
    fs::write(&file, "s1\ns2\n").unwrap();
    assert_eq!(app.tasks().create(&of_run(&select, 5)).unwrap().items, 2);
}

/// HU-05: `--mask` hides what a pattern matches in what people see, and nowhere else: the output that is scored stays whole.
#[test]
fn masked_parts_are_not_shown() {
    let folder = testkit::scratch().unwrap();
    let folder = folder.path();
    let app = place::app(folder);
    numbers_run(&app, folder);
    let masked = TaskRequest { mask: Some("(?i)EVEN".to_owned()), ..of_run("random", 22) };
    app.tasks().create(&masked).unwrap();
    let shown = texts(&app);
    assert!(
        shown.iter().all(|text| !text.contains("even")) && shown.iter().any(|text| text.contains('█')),
        "{shown:?}"
    );
    let asked = karat_app::ExportRequest {
        form: karat_app::ExportForm::Jsonl,
        settled: false,
        audit: false,
        pseudonyms: false,
    };
    let export = app.tasks().export("t", &asked).unwrap();
    assert!(export.contains("\"output\":\"0 even\""), "{export}");
    let wrong = app.tasks().create(&TaskRequest { mask: Some("(".to_owned()), ..of_run("random", 2) });
    assert!(wrong.unwrap_err().to_string().contains("`--mask (`"));
}

/// HU-13: the owner sees labels in an hour and the end that follows from them: with three of four labels a quarter of an hour
/// apart, the last one is due in fifteen minutes.
#[test]
fn the_expected_end_follows_from_the_rate() {
    let folder = tempfile::tempdir().unwrap();
    let (app, clock) = moved_app(folder.path());
    app.tasks().create(&request(folder.path(), 4, 1)).unwrap();
    let labels = || app.tasks().overview("t").unwrap()["labels"].clone();
    assert_eq!((&labels()["per_hour"], &labels()["expected_end"]), (&Value::Null, &Value::Null));
    for _ in 0..3 {
        let item = item_of(&next(&app, "ann"));
        submit(&app, "ann", &item, 3);
        clock.0.fetch_add(15 * MINUTE, Ordering::SeqCst);
    }
    assert_eq!(labels()["per_hour"], json!(4.0));
    let due = clock.0.load(Ordering::SeqCst) + 15 * MINUTE;
    assert_eq!(labels()["expected_end"], json!(karat_app::rfc3339(karat_types::Moment(due))));
    assert_eq!(app.tasks().overview("t").unwrap()["people"][0]["per_hour"], json!(4.0));
    let item = item_of(&next(&app, "ann"));
    submit(&app, "ann", &item, 3);
    assert_eq!((&labels()["missing"], &labels()["expected_end"]), (&json!(0), &Value::Null));
}

/// HU-01: rows come from a file in any form that a dataset has; all forms of the same rows are the same items.
#[test]
fn rows_come_from_every_form_of_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let app = place::app(folder.path());
    let files = BTreeMap::from([
        ("rows.csv", "id,input,output\na,\"one, two\",first\nb,three,second\n"),
        (
            "rows.jsonl",
            "{\"id\":\"a\",\"input\":\"one, two\",\"output\":\"first\"}\n\n{\"id\":\"b\",\"input\":\"three\",\"output\":\"second\"}\n",
        ),
        (
            "rows.json",
            "[{\"id\":\"a\",\"input\":\"one, two\",\"output\":\"first\"},\n {\"id\":\"b\",\"input\":\"three\",\"output\":\"second\"}]",
        ),
        (
            "rows",
            "  [{\"id\":\"a\",\"input\":\"one, two\",\"output\":\"first\"}, {\"id\":\"b\",\"input\":\"three\",\"output\":\"second\"}]",
        ),
    ]);
    let make = |file: &str| {
        let questions = Some(TextFrom::Text(QUESTIONS.to_owned()));
        let from = ItemsFrom::Dataset(folder.path().join(file));
        app.tasks().create(&TaskRequest { questions, places: 1, name: Some("t".to_owned()), ..TaskRequest::new(from) })
    };
    for (file, text) in files {
        fs::write(folder.path().join(file), text).unwrap();
        assert_eq!(make(file).unwrap().items, 2, "{file}");
        let shown = next(&app, "ann");
        let (text, context) = (&shown["item"]["text"], &shown["item"]["context"][0]["text"]);
        assert!(
            [(json!("first"), json!("one, two")), (json!("second"), json!("three"))]
                .contains(&(text.clone(), context.clone())),
            "{file}: {shown}"
        );
    }
    fs::write(folder.path().join("bad.csv"), "id,output\na,b\nc\n").unwrap();
    let said = make("bad.csv").unwrap_err().to_string();
    assert!(said.contains("bad.csv:3"), "{said}");
}

/// HU-14: a name is taken without the space around it, and one that differs from a known one by case or space only is
/// refused with that name.
#[test]
fn one_person_is_not_two() {
    let folder = tempfile::tempdir().unwrap();
    let app = place::app(folder.path());
    app.tasks().create(&request(folder.path(), 3, 2)).unwrap();
    let item = item_of(&next(&app, "ann"));
    submit(&app, " ann ", &item, 3);
    let view = app.tasks().overview("t").unwrap();
    assert_eq!((view["people"].as_array().unwrap().len(), &view["people"][0]["person"]), (1, &json!("ann")));
    for twin in ["Ann", "ANN "] {
        let refused = app.tasks().next("t", twin, &karat_app::NextRequest::default()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NotAllowed);
        assert!(refused.to_string().contains("`ann`"), "{refused}");
        assert!(app.service().invite_annotator("t", twin, None).is_err());
    }
    app.service().invite_annotator("t", "Bob B", None).unwrap();
    assert!(app.service().invite_annotator("t", "bob  b", None).unwrap_err().to_string().contains("`Bob B`"));
    app.service().invite_annotator("t", "Bob B", None).unwrap();
    let assigned = ["ann", "Ann"].map(str::to_owned).to_vec();
    assert!(app.tasks().create(&TaskRequest { assigned, ..request(folder.path(), 3, 2) }).is_err());
    let assigned = [" ann", "bob "].map(str::to_owned).to_vec();
    app.tasks().create(&TaskRequest { assigned, ..request(folder.path(), 3, 2) }).unwrap();
    assert_eq!(app.tasks().overview("t").unwrap()["assigned"], json!(["ann", "bob"]));
}

/// HU-23: free text is neither right nor wrong: it does not decide on a gold item, and a gold item needs another answer.
#[test]
fn free_text_is_no_gold() {
    let folder = tempfile::tempdir().unwrap();
    let app = place::app(folder.path());
    let questions = "[{ id: quality, ask: x, kind: scale, scale: [1, 5], step: 1, required: false }, \
                     { id: why, ask: Why?, kind: text, required: false }]";
    let file = folder.path().join("gold.jsonl");
    let make = |scores: Value| {
        let rows: String =
            (0..10).map(|at| format!("{}\n", json!({ "output": format!("gold {at}"), "scores": scores }))).collect();
        fs::write(&file, rows).unwrap();
        let gold = Some(GoldItems { file: file.clone(), share: 0.5, limit: 0.8 });
        let questions = Some(TextFrom::Text(questions.to_owned()));
        app.tasks().create(&TaskRequest { questions, gold, ..request(folder.path(), 10, 1) })
    };
    assert!(make(json!({ "why": "because" })).unwrap_err().to_string().contains("free text only"));
    make(json!({ "quality": 5, "why": "because" })).unwrap();
    for _ in 0..20 {
        let answer = next(&app, "ann");
        submit(&app, "ann", &item_of(&answer), 5);
    }
    assert_eq!(app.tasks().overview("t").unwrap()["people"][0]["gold"]["right"], json!(10));
}

/// HU-32: a name that is neither a task nor a suite is said to be neither, with the tasks that there are.
#[test]
fn an_unknown_name_is_no_suite() {
    let folder = tempfile::tempdir().unwrap();
    let app = place::app(folder.path());
    app.tasks().create(&request(folder.path(), 3, 1)).unwrap();
    assert_eq!(app.tasks().label_source("t@1").unwrap(), LabelSource::Task);
    assert_eq!(app.tasks().label_source("claims").unwrap(), LabelSource::Suite);
    let said = app.tasks().label_source("nope").unwrap_err().to_string();
    assert!(said.contains("`nope` is not an annotation task, no suite file and no preset"), "{said}");
}
