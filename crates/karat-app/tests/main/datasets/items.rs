//! Test sets: versions and differences of rows, comparisons over versions, and what runs know of items.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use karat_app::{
    App, CompareRequest, Correction, DatasetOutput, DatasetRequest, DatasheetRequest, ErrorKind, FlagKind, GateRequest,
    Invocation, ItemsFrom, ItemsRequest, ItemsSuite, LabelRequest, NextRequest, Party, PowerRequest, RemovalRequest,
    RowDifference, TaskRequest, TextFrom, Threshold,
};
use serde_json::{Map, Value, json};

use crate::place::{app, execution};

/// Answers of four systems are recorded; the first two fail on every fifth row.
const SUITE: &str = r#"name: tickets
dataset: { source: tickets.jsonl, input: ticket, reference: category, metadata: [topic], version: "1" }
models: []
variants:
  small: [ { recorded: { column: small } } ]
  large: [ { recorded: { column: large } } ]
  other: [ { recorded: { column: other } } ]
scorers: { category: { metric: exact } }
"#;

const CATEGORIES: [&str; 4] = ["billing", "login", "delivery", "other"];

/// Rows whose references are right, but those of `wrong`.
fn rows(n: usize, wrong: &[usize]) -> Vec<Value> {
    let row = |at: usize| {
        let right = CATEGORIES[at % 4];
        let reference = if wrong.contains(&at) { CATEGORIES[(at + 1) % 4] } else { right };
        let answer = |fails: bool, other: usize| if fails { CATEGORIES[(at + other) % 4] } else { right };
        json!({
            "id": format!("t{at}"), "ticket": format!("ticket {at}"), "category": reference, "topic": at % 2,
            "small": answer(at % 5 == 3, 2), "large": answer(at % 7 == 3, 1), "other": answer(at % 9 == 4, 3),
        })
    };
    (0..n).map(row).collect()
}

fn write(path: &Path, rows: &[Value]) {
    fs::write(path, rows.iter().map(|row| format!("{row}\n")).collect::<String>()).unwrap();
}

fn run(app: &App, folder: &Path, id: &str) {
    let invocation = Invocation::of(folder.join("karat.yaml").display().to_string());
    app.runs().run(app.runs().load(&invocation).unwrap(), &invocation, execution(id)).unwrap();
}

fn request(folder: &Path, name: &str) -> DatasetRequest {
    DatasetRequest {
        input: Some("ticket".to_owned()),
        reference: Some("category".to_owned()),
        ..DatasetRequest::of(folder.join(name).display().to_string())
    }
}

fn items(folder: &Path) -> ItemsRequest {
    let suite = ItemsSuite::Named(folder.join("karat.yaml").display().to_string());
    ItemsRequest { suite, runs: Vec::new(), metric: None, seed: 1 }
}

fn comparing() -> CompareRequest {
    CompareRequest {
        metrics: Vec::new(),
        correction: Correction::Holm,
        confidence: 0.95,
        margins: Default::default(),
        mde: Default::default(),
        allow_changed: false,
        movers: 3,
        outputs: false,
    }
}

fn party(run: &str) -> Party {
    Party { run: run.to_owned(), ..Party::default() }
}

/// F113: the version that a run names is the one that its rows are recorded as; a suite cannot say another.
#[test]
fn the_version_of_a_run_is_that_of_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let app = app(folder.path());
    let path = folder.path().join("tickets.jsonl");
    let suite = folder.path().join("karat.yaml");
    let load = |version: &str| {
        fs::write(&suite, SUITE.replace(", version: \"1\"", version)).unwrap();
        app.runs().load(&Invocation::of(suite.display().to_string())).map(|plan| {
            let notes = plan.notes.join("\n");
            (plan.header.dataset.version.clone(), notes)
        })
    };
    let mut all = rows(12, &[]);
    write(&path, &all);
    let asked = request(folder.path(), "tickets.jsonl");
    assert_eq!(load(", version: \"2031.1\"").unwrap().0.as_deref(), Some("2031.1"), "nothing is recorded yet");
    app.datasets().record_version(&asked, "1", "First version.").unwrap();
    for version in ["", ", version: \"1\""] {
        assert_eq!(load(version).unwrap().0.as_deref(), Some("1"));
    }
    let error = load(", version: \"2031.1\"").unwrap_err();
    assert!(error.to_string().contains("records these rows as version `1`"), "{error}");
    all[0]["category"] = json!("corrected");
    write(&path, &all);
    for version in ["1", "2", "2031.1"] {
        let error = load(&format!(", version: \"{version}\"")).unwrap_err();
        assert!(error.to_string().contains("changed after `1`"), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("karat dataset version")), "{error}");
    }
    let (version, notes) = load("").unwrap();
    assert!(version.is_none() && notes.contains("differ from version 1"), "{notes}");
    app.datasets().record_version(&asked, "2", "One reference is corrected.").unwrap();
    assert_eq!(load(", version: \"2\"").unwrap().0.as_deref(), Some("2"));
    write(&path, &rows(12, &[]));
    assert_eq!(load("").unwrap().0.as_deref(), Some("1"), "an earlier version is known by its rows");
}

/// BC-06: a recorded version is found again whatever the order of rows and keys; a change without a line is an error that
/// says what to do.
#[test]
fn a_change_needs_a_changelog_line() {
    let folder = tempfile::tempdir().unwrap();
    let app = app(folder.path());
    let path = folder.path().join("tickets.jsonl");
    let mut all = rows(12, &[]);
    write(&path, &all);
    let asked = request(folder.path(), "tickets.jsonl");
    assert!(app.datasets().version(&asked).unwrap().check().is_ok(), "nothing is recorded yet");
    let manifest = app.datasets().record_version(&asked, "1", "First version.").unwrap();
    assert_eq!(manifest.manifest, folder.path().join("tickets.dataset.json"));
    let again = app.datasets().record_version(&asked, "1", "First version.").unwrap();
    assert!(again.text("1").starts_with("replaced the line of version 1"), "{}", again.text("1"));
    all.reverse();
    write(&path, &all);
    let turned = app.datasets().version(&asked).unwrap();
    assert!(turned.check().is_ok() && turned.text().contains("1 of 2023-11-14: First version."), "{}", turned.text());
    all[0]["category"] = json!("corrected");
    write(&path, &all);
    let error = app.datasets().version(&asked).unwrap().check().unwrap_err();
    assert!(error.to_string().contains("no changelog line"), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("--set VERSION --note LINE")));
    let taken = app.datasets().record_version(&asked, "1", "Again.").unwrap_err();
    assert!(taken.to_string().contains("give the new rows a new version"), "{taken}");
    app.datasets().record_version(&asked, "2", "The reference of t11 is corrected.").unwrap();
    assert!(app.datasets().version(&asked).unwrap().check().is_ok());
    assert_eq!(all.len(), 12, "the rows are not touched");
}

/// BC-06: a file and the suite that reads it have one version, whatever the suite calls metadata.
#[test]
fn a_file_and_its_suite_have_one_version() {
    let folder = tempfile::tempdir().unwrap();
    let app = app(folder.path());
    fs::write(folder.path().join("karat.yaml"), SUITE).unwrap();
    let suite = DatasetRequest::of(folder.path().join("karat.yaml").display().to_string());
    let file = request(folder.path(), "tickets.jsonl");
    for recorded in [&suite, &file] {
        write(&folder.path().join("tickets.jsonl"), &rows(6, &[]));
        app.datasets().record_version(recorded, "1", "First version.").unwrap();
        for asked in [&suite, &file] {
            let found = app.datasets().version(asked).unwrap();
            assert!(found.check().is_ok() && found.text().contains("1 of"), "{}", found.text());
        }
        fs::remove_file(folder.path().join("tickets.dataset.json")).unwrap();
    }
}

/// BC-06: sets are compared by id and word, across forms of files; order and ids are apart.
#[test]
fn sets_are_compared_by_id_and_word() {
    let folder = tempfile::tempdir().unwrap();
    let app = app(folder.path());
    let before = rows(12, &[]);
    write(&folder.path().join("a.jsonl"), &before);
    let mut after = before.clone();
    after[3]["ticket"] = json!("ticket three, at last");
    after.remove(5);
    after.push(json!({"id": "new", "ticket": "a new one", "category": "other"}));
    after.swap(0, 1);
    fs::write(folder.path().join("b.json"), Value::from(after).to_string()).unwrap();
    let sides = [request(folder.path(), "a.jsonl"), request(folder.path(), "b.json")];
    let diff = app.datasets().difference(&sides, 20).unwrap();
    assert_eq!((&diff.rows.added, &diff.rows.removed), (&vec!["new".to_owned()], &vec!["t5".to_owned()]));
    assert_eq!(diff.rows.changed, ["t3"]);
    assert!(diff.has(RowDifference::Added) && diff.has(RowDifference::Changed) && diff.rows.is_reordered);
    let text = diff.text();
    assert!(text.contains("ticket [-3-] {+three, at last+}"), "{text}");
    super::check_keys(&diff.json().unwrap());
    assert!(serde_json::from_str::<Value>(&diff.json().unwrap()).unwrap()["rows"][0]["columns"].is_array());
    let same = app.datasets().difference(&[sides[0].clone(), sides[0].clone()], 20).unwrap();
    assert!(same.text().contains("no difference"), "{}", same.text());
    write(&folder.path().join("twice.jsonl"), &[before[0].clone(), before[0].clone()]);
    assert!(app.datasets().difference(&[sides[0].clone(), request(folder.path(), "twice.jsonl")], 20).is_err());
}

/// BC-06: one corrected reference that no step reads: comparison and gate leave the row out, name both versions, and
/// `dataset diff` of the runs names it.
#[test]
fn a_corrected_reference_leaves_comparisons() {
    let folder = tempfile::tempdir().unwrap();
    let app = app(folder.path());
    fs::write(folder.path().join("karat.yaml"), SUITE).unwrap();
    write(&folder.path().join("tickets.jsonl"), &rows(40, &[7]));
    run(&app, folder.path(), "before");
    let baseline = folder.path().join("baseline.json").display().to_string();
    app.analysis().pin("before", Some(&baseline)).unwrap();
    write(&folder.path().join("tickets.jsonl"), &rows(40, &[]));
    fs::write(folder.path().join("karat.yaml"), SUITE.replace("\"1\"", "\"2\"")).unwrap();
    run(&app, folder.path(), "after");
    let compared = app.analysis().compare(&party("before"), &party("after"), &comparing()).unwrap();
    let text = compared.terminal();
    assert!(text.contains("39 samples in both"), "{text}");
    assert!(text.contains("content differs between the two sides, left out: t7"), "{text}");
    assert!(text.contains("version 1 (") && text.contains("version 2 ("), "{text}");
    let json: Value = serde_json::from_str(&compared.json().unwrap()).unwrap();
    assert_eq!(json["changed"], json!(["t7"]));
    let flags = karat_app::GateFlags {
        baseline: Some(baseline),
        max_drop: vec![(Some("category".to_owned()), Threshold { value: 0.5, percent: false })],
        ..Default::default()
    };
    let gated = app.analysis().gate("after", &GateRequest { flags, ..GateRequest::default() }).unwrap();
    let notes = gated.terminal();
    assert!(notes.contains("(version 1, here 2): samples with other content are left out, 1: t7"), "{notes}");
    let sides = ["run:before", "run:after"].map(DatasetRequest::of);
    assert_eq!(app.datasets().difference(&sides, 5).unwrap().rows.changed, ["t7"]);
}

/// BC-08: a wrong reference that systems contradict is found, and becomes a task for people; the same suspects make the same
/// task, and what people said of a row follows it to another id.
#[test]
fn suspects_become_a_task() {
    let folder = tempfile::tempdir().unwrap();
    let app = app(folder.path());
    fs::write(folder.path().join("karat.yaml"), SUITE).unwrap();
    let stored = |name: &str| ItemsRequest { suite: ItemsSuite::Stored(name.to_owned()), ..items(folder.path()) };
    assert!(app.analysis().items(&items(folder.path())).is_err(), "there is no run");
    write(&folder.path().join("tickets.jsonl"), &rows(60, &[8, 21]));
    run(&app, folder.path(), "first");
    let found = app.analysis().items(&items(folder.path())).unwrap();
    let suspects: BTreeSet<&str> = found.analysis().suspects().map(|item| item.id.as_str()).collect();
    assert_eq!(suspects, BTreeSet::from(["t21", "t8"]));
    assert_eq!(found.ids(&[]).0, found.ids(&[FlagKind::LabelSuspect]).0);
    assert!(found.text().contains("3 of 3 systems of 3 families answer"), "{}", found.text());
    assert_eq!(found.csv().lines().count(), 61);
    super::check_keys(&found.json().unwrap());
    assert_eq!(app.analysis().items(&stored("tickets")).unwrap(), found);
    let file = folder.path().join("karat.yaml").display().to_string();
    assert_eq!(app.analysis().items(&stored(&file)).unwrap_err().kind(), ErrorKind::NotFound, "no file is looked at");
    let other = ItemsRequest { metric: Some("speed".to_owned()), ..items(folder.path()) };
    assert_eq!(app.analysis().items(&other).unwrap_err().kind(), ErrorKind::BadRequest);
    let page = app.analysis().items_page(&items(folder.path())).unwrap().to_file();
    assert!(page.contains("label-suspect") && page.contains("t21"));
    let made = app.tasks().create_suspects(&items(folder.path())).unwrap();
    assert_eq!((made.task.as_str(), made.items, made.is_new), ("tickets-suspects", 2, true));
    assert!(!app.tasks().create_suspects(&items(folder.path())).unwrap().is_new);
    let next = app.tasks().next("tickets-suspects", "ann", &NextRequest::default()).unwrap();
    assert!(next["item"]["text"].is_string(), "{next}");
    write(&folder.path().join("tickets.jsonl"), &rows(60, &[]));
    run(&app, folder.path(), "second");
    assert!(app.tasks().create_suspects(&items(folder.path())).is_err(), "nothing is suspect any more");
}

/// BC-06: a label belongs to what people saw: the row's content under another id has it already.
#[test]
fn labels_follow_the_content_of_rows() {
    let folder = tempfile::tempdir().unwrap();
    let app = app(folder.path());
    let questions =
        "[{ id: fine, ask: Is it right?, kind: choice, choices: [{ id: yes-it-is }, { id: no-it-is-not }] }]";
    let task = |name: &str, id: &str, text: &str| {
        let file = folder.path().join(format!("{name}.jsonl"));
        write(&file, &[json!({"id": id, "ticket": text, "category": "billing"})]);
        let asked = TaskRequest {
            name: Some(name.to_owned()),
            questions: Some(TextFrom::Text(questions.to_owned())),
            places: 1,
            ..TaskRequest::new(ItemsFrom::Dataset(file))
        };
        app.tasks().create(&asked).unwrap()
    };
    task("first", "a", "where is it");
    let item = app.tasks().next("first", "ann", &NextRequest::default()).unwrap();
    let answers: Map<String, Value> = json!({"fine": "yes-it-is"}).as_object().unwrap().clone();
    let label = LabelRequest {
        item: item["item"]["id"].as_str().unwrap().to_owned(),
        answers,
        note: String::new(),
        ms: Some(1_000),
        client: String::new(),
    };
    app.tasks().submit("first", "ann", &label).unwrap();
    assert_eq!(task("second", "b", "where is it").known_labels, 1);
    assert_eq!(task("third", "a", "where is it now").known_labels, 0);
}

/// BC-09: the smallest difference that a set shows is that of `plan --mde`.
#[test]
fn headroom_is_what_planning_says() {
    let folder = tempfile::tempdir().unwrap();
    let app = app(folder.path());
    fs::write(folder.path().join("karat.yaml"), SUITE).unwrap();
    write(&folder.path().join("tickets.jsonl"), &rows(60, &[]));
    run(&app, folder.path(), "first");
    let found = app.analysis().items(&items(folder.path())).unwrap();
    let power = found.analysis().headroom.power.clone().unwrap();
    let invocation = Invocation::of(folder.path().join("karat.yaml").display().to_string());
    let plan = app.runs().load(&invocation).unwrap();
    let wanted = [PowerRequest { metric: None, difference: Threshold { value: 0.1, percent: false } }];
    let planned = app.analysis().power(&plan, &wanted).unwrap();
    assert!(power.detectable.is_some());
    assert_eq!((power.detectable, power.samples), (planned.metrics[0].detectable, planned.metrics[0].samples));
}

/// BC-07: a datasheet is the same each time, keeps what people wrote, and replaces no other file; `validate` counts its gaps.
#[test]
fn a_datasheet_is_kept_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let app = app(folder.path());
    fs::write(folder.path().join("karat.yaml"), SUITE).unwrap();
    let mut all = rows(20, &[]);
    all[1]["ticket"] = all[0]["ticket"].clone();
    write(&folder.path().join("tickets.jsonl"), &all);
    let suite = folder.path().join("karat.yaml").display().to_string();
    let asked = DatasheetRequest { rows: DatasetRequest::of(&*suite), by: vec!["category".to_owned()], output: None };
    let written = app.datasets().write_datasheet(&asked).unwrap();
    assert_eq!((written.path.clone(), written.unwritten.len()), (folder.path().join("datasheet.md"), 5));
    let first = fs::read_to_string(&written.path).unwrap();
    for line in ["| rows | 20 |", "| equal to another row | 1 |", "## Values of topic", "## Values of category"] {
        assert!(first.contains(line), "{line}\n{first}");
    }
    app.datasets().write_datasheet(&asked).unwrap();
    assert_eq!(fs::read_to_string(&written.path).unwrap(), first);
    let plan = app.runs().load(&Invocation::of(&*suite)).unwrap();
    assert!(app.datasets().datasheet_gaps(&suite, &plan).is_some_and(|gaps| gaps.contains("5 sections still to do")));
    fs::write(&written.path, "# Something else").unwrap();
    assert!(app.datasets().write_datasheet(&asked).is_err());
    assert_eq!(fs::read_to_string(&written.path).unwrap(), "# Something else");
}

/// BC-08: leaving items out makes a new version with a line that says which; the suite's rows are not touched.
#[test]
fn removed_items_make_a_new_version() {
    let folder = tempfile::tempdir().unwrap();
    let app = app(folder.path());
    fs::write(folder.path().join("karat.yaml"), SUITE).unwrap();
    write(&folder.path().join("tickets.jsonl"), &rows(60, &[8, 21]));
    run(&app, folder.path(), "first");
    let found = app.analysis().items(&items(folder.path())).unwrap();
    let asked = |flags: &[FlagKind], name: &str, version: &str| RemovalRequest {
        suite: items(folder.path()).suite.name().to_owned(),
        flags: flags.to_vec(),
        output: DatasetOutput { path: folder.path().join(name), ..DatasetOutput::default() },
        version: version.to_owned(),
    };
    let removed =
        app.datasets().remove_items(found.analysis(), &asked(&[FlagKind::LabelSuspect], "less.jsonl", "2")).unwrap();
    assert_eq!((removed.rows, removed.absent), (58, 0));
    assert_eq!(removed.line, "2 of 60 rows left out: label-suspect 2.");
    let version = app.datasets().version(&request(folder.path(), "less.jsonl")).unwrap();
    assert!(version.check().is_ok() && version.text().contains("2 of 2023-11-14"), "{}", version.text());
    let manifest: Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("less.dataset.json")).unwrap()).unwrap();
    assert_eq!((&manifest["parents"][0]["rows"], &manifest["counts"]["label-suspect"]), (&json!(60), &json!(2)));
    assert_eq!(fs::read_to_string(folder.path().join("tickets.jsonl")).unwrap().lines().count(), 60);
    assert!(
        app.datasets().remove_items(found.analysis(), &asked(&[FlagKind::Noisy], "none.jsonl", "2")).is_err(),
        "no item is noisy"
    );
    assert!(
        app.datasets().remove_items(found.analysis(), &asked(&[FlagKind::LabelSuspect], "bad.jsonl", "\n")).is_err()
    );
    assert!(
        app.datasets().remove_items(found.analysis(), &asked(&[FlagKind::LabelSuspect], "tickets.jsonl", "2")).is_err(),
        "own input"
    );
    assert!(!folder.path().join("bad.jsonl").exists() && !folder.path().join("none.jsonl").exists());
}

/// BC-06: a plan whose rows changed under the same version says so.
#[test]
fn rows_that_changed_under_one_version_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let app = app(folder.path());
    fs::write(folder.path().join("karat.yaml"), SUITE).unwrap();
    write(&folder.path().join("tickets.jsonl"), &rows(20, &[]));
    run(&app, folder.path(), "first");
    let changes = || {
        let invocation = Invocation::of(folder.path().join("karat.yaml").display().to_string());
        app.project().changes(&app.runs().load(&invocation).unwrap().header).unwrap()
    };
    assert_eq!(changes(), Vec::<String>::new());
    write(&folder.path().join("tickets.jsonl"), &rows(21, &[]));
    assert!(changes().iter().any(|change| change.contains("under the same version `1`")), "{:?}", changes());
    fs::write(folder.path().join("karat.yaml"), SUITE.replace("\"1\"", "\"2\"")).unwrap();
    assert_eq!(changes(), Vec::<String>::new());
}
