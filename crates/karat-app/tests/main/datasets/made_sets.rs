//! The files that `sample`, `dedup` and `split` write.

use std::collections::BTreeSet;
use std::fs;

use karat_app::{DatasetRequest, Existing, Invocation, KeptRow, SampleMethod};
use serde_json::{Value, json};

use super::{check_keys, dedup, ids, question, read, sample, split, write_rows};
use crate::place::{app, execution};

fn stratified(allocation: &str) -> SampleMethod {
    SampleMethod::Stratified { by: "topic".to_owned(), allocation: allocation.to_owned() }
}

/// BC-01, BC-06: a sample has whole rows, a manifest with parent, seed and strata, and the same seed draws the same.
#[test]
fn a_sample_says_where_it_comes_from() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let topic = |at| if at < 3 { "rare" } else { "common" };
    let rows = write_rows(
        &folder.path().join("logs.jsonl"),
        (0..60).map(|at| json!({"id": format!("r{at}"), "input": question(at), "topic": topic(at)})),
    );
    let file = folder.path().join("draft.jsonl");
    let drawn = app.datasets().sample(&sample(&rows, 20, stratified("equal"), file.clone())).unwrap();
    assert_eq!((drawn.rows, drawn.got), (60, 13));
    assert!(drawn.notes.iter().any(|note| note.contains("rare (3 of 10)")), "{:?}", drawn.notes);
    assert!(read(&file).iter().all(|row| row["input"].is_string() && row["topic"].is_string()));
    let manifest: Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("draft.dataset.json")).unwrap()).unwrap();
    assert_eq!(
        (&manifest["rows"], &manifest["made_by"]["seed"], &manifest["parents"][0]["rows"]),
        (&json!(13), &json!(7), &json!(60))
    );
    assert_eq!(manifest["counts"]["strata"][1], json!({"stratum": "rare", "rows": 3, "asked": 10, "got": 3}));
    let parent = app.datasets().rows(&rows).unwrap().version().unwrap();
    let made = app.datasets().rows(&DatasetRequest::of(file.display().to_string())).unwrap().version().unwrap();
    assert_eq!((&manifest["parents"][0]["hash"], &manifest["hash"]), (&json!(parent.hash), &json!(made.hash)));
    let again = folder.path().join("again.jsonl");
    app.datasets().sample(&sample(&rows, 20, stratified("equal"), again.clone())).unwrap();
    assert_eq!(fs::read(file).unwrap(), fs::read(again).unwrap());
}

/// BC-01: more rows than there are gives all of them; a condition narrows them; rows without an id get one.
#[test]
fn a_sample_takes_what_there_is() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let mut rows =
        write_rows(&folder.path().join("logs.jsonl"), (0..10).map(|at| json!({"input": question(at), "n": at})));
    let all =
        app.datasets().sample(&sample(&rows, 1000, SampleMethod::Random, folder.path().join("all.jsonl"))).unwrap();
    assert_eq!((all.got, all.asked), (10, 1000));
    assert!(ids(&folder.path().join("all.jsonl")).iter().all(|id| id.len() == 16));
    rows.condition = Some("sample.n >= 8".to_owned());
    let few = app.datasets().sample(&sample(&rows, 5, SampleMethod::Random, folder.path().join("few.jsonl"))).unwrap();
    assert_eq!((few.rows, few.got), (2, 2));
    let diverse = app
        .datasets()
        .sample(&sample(
            &DatasetRequest { condition: None, ..rows },
            3,
            SampleMethod::Diverse,
            folder.path().join("far.jsonl"),
        ))
        .unwrap();
    assert!(diverse.got == 3 && diverse.distance.is_some());
}

/// BC-01: a run is a source: its samples once each, with the metric that Neyman's allocation needs.
#[test]
fn a_run_is_a_source_of_rows() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let row = |at: usize| json!({"id": format!("r{at}"), "input": format!("w{at}"), "reference": if at.is_multiple_of(2) || at < 20 { format!("w{at}") } else { "no".to_owned() }, "topic": if at < 20 { "easy" } else { "mixed" }});
    write_rows(&folder.path().join("data.jsonl"), (0..40).map(row));
    let suite = folder.path().join("karat.yaml");
    fs::write(&suite, "name: s\ndataset: { source: data.jsonl, metadata: [topic] }\nmodels: [ { id: echo, provider: scripted, with: { reply: '{{ user }}' }, price: { input: 1, output: 1 } } ]\nvariants: { v: [ { prompt: { text: '{{ input }}' } } ] }\nscorers: { hit: { metric: exact } }\nrun: { trials: 2 }\n").unwrap();
    let invocation = Invocation::of(suite.display().to_string());
    app.runs().run(app.runs().load(&invocation).unwrap(), &invocation, execution("one")).unwrap();
    let rows = DatasetRequest::of("run:one");
    let drawn =
        app.datasets().sample(&sample(&rows, 10, stratified("neyman:hit"), folder.path().join("drawn.jsonl"))).unwrap();
    let got: Vec<(&str, u64, u64)> = drawn.strata.iter().map(|it| (&*it.stratum, it.rows, it.got)).collect();
    // Every easy row is solved: one is enough.
    assert_eq!(got, [("easy", 20, 1), ("mixed", 20, 9)]);
    assert!(read(&folder.path().join("drawn.jsonl")).iter().all(|row| row["reference"].is_string()));
    let unknown = app
        .datasets()
        .sample(&sample(&rows, 10, stratified("neyman:hits"), folder.path().join("no.jsonl")))
        .unwrap_err();
    assert!(unknown.to_string().contains("no metric `hits`"), "{unknown}");
    // The suite itself is a source too.
    let rows = DatasetRequest::of(suite.display().to_string());
    assert_eq!(
        app.datasets().sample(&sample(&rows, 4, SampleMethod::Random, folder.path().join("own.jsonl"))).unwrap().rows,
        40
    );
}

/// BC-03: the kept rows are written, the clusters show what differs and which references do, and the input stays.
#[test]
fn duplicates_are_left_out_and_shown() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let long = format!("harbour {}", (0..30).map(question).collect::<Vec<_>>().join(" "));
    let rows = [
        json!({"id": "a", "input": long}),
        json!({"id": "b", "input": long.replacen("harbour", "haven", 1), "reference": "yes"}),
        json!({"id": "c", "input": long.to_uppercase(), "reference": "no"}),
        json!({"id": "d", "input": "Where is order 17 of this week please, and who brings it to me?"}),
        json!({"id": "e", "input": "Where is order 18 of this week please, and who brings it to me?"}),
        json!({"id": "f", "input": ""}),
        json!({"id": "g", "input": ""}),
    ];
    let input = folder.path().join("rows.jsonl");
    let rows = write_rows(&input, rows);
    let before = fs::read(&input).unwrap();
    let report = app.datasets().dedup(&dedup(&rows, None)).unwrap();
    assert_eq!((report.rows, report.kept, report.exact, report.near), (7, 5, 1, 1));
    assert_eq!((report.same_frame, report.textless, report.other_reference), (2, 2, 0));
    assert!(report.text().contains("[-harbour-] {+haven+}"), "{}", report.text());
    assert!(report.text().contains("nothing was removed"));
    let file = folder.path().join("kept.jsonl");
    let mut asked = dedup(&rows, Some(file.clone()));
    asked.keep = KeptRow::Labelled;
    let report = app.datasets().dedup(&asked).unwrap();
    assert_eq!(ids(&file), ["b", "d", "e", "f", "g"]);
    assert_eq!((report.clusters[0].kept.as_str(), report.other_reference), ("b", 1));
    assert_eq!(fs::read(&input).unwrap(), before);
}

/// BC-04: parts share no near duplicate and no user, and an enlarged set keeps its rows where they were.
#[test]
fn a_split_is_kept_when_the_set_grows() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let row = |at: usize| json!({"id": format!("r{at}"), "input": question(at), "user": format!("u{}", at / 3), "topic": at % 2});
    let rows = write_rows(&folder.path().join("items.jsonl"), (0..90).map(row));
    let parts = folder.path().join("parts");
    let mut asked = split(&rows, "train=0.8,test=0.2", parts.clone());
    asked.by = vec!["user".to_owned()];
    asked.stratify = Some("topic".to_owned());
    let first = app.datasets().split(&asked).unwrap();
    assert!(first.parts.iter().all(|part| !part.is_off()), "{:?}", first.parts);
    let users = |file: &str| read(&parts.join(file)).iter().map(|row| row["user"].to_string()).collect::<BTreeSet<_>>();
    assert!(users("train.jsonl").is_disjoint(&users("test.jsonl")));
    // Ten new rows; one belongs to users of both parts by what it repeats and by its user.
    let (train, test) = (read(&parts.join("train.jsonl")), read(&parts.join("test.jsonl")));
    let bridge = json!({"id": "new", "input": train[0]["input"], "user": test[0]["user"], "topic": 0});
    let more = write_rows(
        &folder.path().join("more.jsonl"),
        (0..90).rev().map(row).chain((100..109).map(row)).chain([bridge]),
    );
    let again = folder.path().join("parts-2");
    let mut asked = split(&more, "train=0.8,test=0.2", again.clone());
    asked.by = vec!["user".to_owned()];
    asked.keep = Some(parts.join("items.dataset.json"));
    let second = app.datasets().split(&asked).unwrap();
    assert_eq!((second.stayed, second.gone, &second.aside[..]), (90, 0, &["new".to_owned()][..]));
    for part in ["train.jsonl", "test.jsonl"] {
        let (before, after): (BTreeSet<_>, BTreeSet<_>) =
            (ids(&parts.join(part)).into_iter().collect(), ids(&again.join(part)).into_iter().collect());
        assert!(before.is_subset(&after), "{part}");
    }
    assert_eq!(ids(&again.join("aside.jsonl")), ["new"]);
    assert!(second.text().contains("set aside"), "{}", second.text());
}

/// BC-04: by time the test is the latest, and a row without a time is named.
#[test]
fn a_split_by_time_tests_on_the_latest() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let row = |at: usize| json!({"id": format!("r{at}"), "input": question(at), "at": format!("2026-03-01T{:02}:{:02}:00Z", at * 7 % 60 / 3, at)});
    let rows = write_rows(&folder.path().join("items.jsonl"), (0..50).map(row));
    let mut asked = split(&rows, "test=20%,train=80%", folder.path().join("parts"));
    asked.time = Some("at".to_owned());
    let done = app.datasets().split(&asked).unwrap();
    assert_eq!(done.parts.iter().map(|part| part.rows).collect::<Vec<_>>(), [10, 40]);
    let times = |file: &str| {
        read(&folder.path().join("parts").join(file))
            .iter()
            .map(|row| row["at"].as_str().unwrap().to_owned())
            .collect::<BTreeSet<_>>()
    };
    assert!(times("train.jsonl").last() < times("test.jsonl").first());
    let rows = write_rows(&folder.path().join("items.jsonl"), [json!({"id": "x", "input": "a", "at": "soon"})]);
    let mut asked = split(&rows, "train=0.5,test=0.5", folder.path().join("other"));
    asked.time = Some("at".to_owned());
    let refused = app.datasets().split(&asked).unwrap_err().to_string();
    assert!(refused.contains("`x`") && refused.contains("soon"), "{refused}");
}

/// BC-01: a file that is there already is replaced only if asked.
#[test]
fn outputs_replace_nothing_unasked() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let rows = write_rows(&folder.path().join("rows.jsonl"), (0..5).map(|at| json!({"id": at, "input": question(at)})));
    let file = folder.path().join("out.jsonl");
    let mut asked = sample(&rows, 2, SampleMethod::Random, file.clone());
    app.datasets().sample(&asked).unwrap();
    let refused = app.datasets().sample(&asked).unwrap_err();
    assert!(refused.to_string().contains("already exists"), "{refused}");
    asked.output.existing = Existing::Replaced;
    asked.n = 3;
    app.datasets().sample(&asked).unwrap();
    assert_eq!(read(&file).len(), 3);
    let own = app.datasets().dedup(&dedup(&rows, Some(folder.path().join("rows.jsonl")))).unwrap_err();
    assert!(own.to_string().contains("read from this file"), "{own}");
}

/// BC-06: a set that replaces another one keeps its changelog: other rows demand a line, a taken version is refused.
#[test]
fn a_replaced_set_keeps_its_changelog() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let rows = write_rows(&folder.path().join("rows.jsonl"), (0..9).map(|at| json!({"id": at, "input": question(at)})));
    let file = folder.path().join("v.jsonl");
    let made = DatasetRequest::of(file.display().to_string());
    let mut asked = sample(&rows, 4, SampleMethod::Random, file.clone());
    asked.output.existing = Existing::Replaced;
    app.datasets().sample(&asked).unwrap();
    app.datasets().record_version(&made, "1", "First version.").unwrap();
    app.datasets().sample(&asked).unwrap();
    assert!(app.datasets().version(&made).unwrap().check().is_ok(), "the same rows are the same version");
    asked.n = 5;
    app.datasets().sample(&asked).unwrap();
    let changed = app.datasets().version(&made).unwrap();
    assert!(changed.check().unwrap_err().to_string().contains("no changelog line"), "{}", changed.text());
    let taken = app.datasets().record_version(&made, "1", "Again.").unwrap_err();
    assert!(taken.to_string().contains("version `1` is recorded with other rows"), "{taken}");
    app.datasets().record_version(&made, "2", "One more row.").unwrap();
    let mut asked = dedup(&rows, Some(file));
    asked.output.as_mut().unwrap().existing = Existing::Replaced;
    app.datasets().dedup(&asked).unwrap();
    let json = app.datasets().version(&made).unwrap().json();
    check_keys(&json);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["state"], json["changelog"].as_array().map(Vec::len)), (&json!("unrecorded"), Some(2)));
    // A manifest that cannot be read is refused before rows are written.
    fs::write(folder.path().join("v.dataset.json"), "{}").unwrap();
    let before = fs::read(folder.path().join("v.jsonl")).unwrap();
    let mut asked = sample(&rows, 2, SampleMethod::Random, folder.path().join("v.jsonl"));
    asked.output.existing = Existing::Replaced;
    assert!(app.datasets().sample(&asked).is_err());
    assert_eq!(fs::read(folder.path().join("v.jsonl")).unwrap(), before);
}

/// BC-04: a split that replaces one with other parts leaves none of them beside its own; a file that someone changed stays
/// and is named.
#[test]
fn a_replaced_split_leaves_no_old_part() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let row = |at: usize| json!({"id": format!("r{at}"), "input": question(at)});
    let rows = write_rows(&folder.path().join("items.jsonl"), (0..40).map(row));
    let parts = folder.path().join("parts");
    let mut asked = split(&rows, "train=0.6,dev=0.2,old=0.1,test=0.1", parts.clone());
    let first = app.datasets().split(&asked).unwrap();
    assert!(first.replaced.removed.is_empty() && first.replaced.left.is_empty());
    write_rows(&parts.join("old.jsonl"), [json!({"id": "own", "input": "a row of someone"})]);
    asked.parts = "train=0.8,test=0.2".to_owned();
    asked.output.existing = Existing::Replaced;
    let second = app.datasets().split(&asked).unwrap();
    assert_eq!(second.replaced.removed, [parts.join("dev.jsonl")]);
    assert_eq!(second.replaced.left, [parts.join("old.jsonl")]);
    assert!(!parts.join("dev.jsonl").exists() && parts.join("train.jsonl").exists());
    assert_eq!(ids(&parts.join("old.jsonl")), ["own"]);
    assert!(second.text().contains("old.jsonl stayed") && second.text().contains("removed "), "{}", second.text());
    // The parts are those of the new split; a part that rows are read from stays.
    let part = DatasetRequest::of(parts.join("train.jsonl").display().to_string());
    let mut again = split(&part, "one=0.5,two=0.5", parts.clone());
    again.output.existing = Existing::Replaced;
    fs::rename(parts.join("items.dataset.json"), parts.join("train.dataset.json")).unwrap();
    let third = app.datasets().split(&again).unwrap();
    assert_eq!(third.replaced.removed, [parts.join("test.jsonl")]);
    assert!(parts.join("train.jsonl").exists());
}

/// BC-01, BC-03, BC-04: what the commands print as JSON has each key once.
#[test]
fn objects_of_reports_have_each_key_once() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let row = |at: usize| json!({"id": format!("r{at}"), "input": question(at / 2), "topic": at % 2});
    let rows = write_rows(&folder.path().join("items.jsonl"), (0..20).map(row));
    let drawn = app.datasets().sample(&sample(&rows, 9, stratified("equal"), folder.path().join("s.jsonl"))).unwrap();
    check_keys(&serde_json::to_string(&drawn).unwrap());
    let report = app.datasets().dedup(&dedup(&rows, Some(folder.path().join("d.jsonl")))).unwrap();
    assert_eq!(report.exact, 10);
    check_keys(&serde_json::to_string(&report).unwrap());
    let parts = app.datasets().split(&split(&rows, "train=0.8,test=0.2", folder.path().join("parts"))).unwrap();
    check_keys(&serde_json::to_string(&parts).unwrap());
}

/// BC-05: the check of keys finds one that occurs twice.
#[test]
#[should_panic(expected = "duplicate key \"row\"")]
fn a_key_that_occurs_twice_is_found() {
    check_keys(r#"[{"a": 1, "hits": [{"row": "t0", "row": 0}]}]"#);
}

const DRAWN_SUITE: &str = r#"name: drawn
dataset: { source: draft.jsonl, id: id, reference: ref }
models: []
variants: { same: [ { recorded: { column: out } } ] }
scorers: { right: { metric: exact } }
"#;

/// A frame of 180 common rows, of which nine tenths are right, and 20 rare ones, of which none is; ten of each are drawn.
fn drawn_set(app: &karat_app::App, folder: &std::path::Path) -> DatasetRequest {
    let row = |at: usize| {
        let (topic, out) =
            if at < 20 { ("rare", "no") } else { ("common", if at.is_multiple_of(10) { "no" } else { "yes" }) };
        json!({"id": format!("r{at}"), "input": question(at), "topic": topic, "out": out, "ref": "yes"})
    };
    let rows = write_rows(&folder.join("logs.jsonl"), (0..200).map(row));
    app.datasets().sample(&sample(&rows, 20, stratified("equal"), folder.join("draft.jsonl"))).unwrap();
    fs::write(folder.join("karat.yaml"), DRAWN_SUITE).unwrap();
    rows
}

/// DC-20: a draw is kept beside its rows, and a suite that reads them reports the mean over the rows that they stand for; the
/// figure says so. Rows that were removed by hand are plain, with a warning.
#[test]
fn figures_are_weighted_by_the_draw() {
    let folder = testkit::scratch().unwrap();
    let folder = folder.path();
    let app = app(folder);
    let rows = drawn_set(&app, folder);
    let path = folder.join("draft.dataset.json");
    let manifest: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let parent = app.datasets().rows(&rows).unwrap().version().unwrap();
    let design = json!({
        "kind": "stratified", "by": "topic", "frame": { "rows": 200, "hash": parent.hash },
        "strata": [{ "value": "common", "rows": 180, "drawn": 10 }, { "value": "rare", "rows": 20, "drawn": 10 }],
    });
    assert_eq!(manifest["design"], design);
    let suite = folder.join("karat.yaml");
    let figure = |id: &str| {
        let invocation = Invocation::of(suite.display().to_string());
        let plan = app.runs().load(&invocation).unwrap();
        let notes = plan.notes.join("; ");
        app.runs().run(plan, &invocation, execution(id)).unwrap();
        let mut bytes = Vec::new();
        app.reports()
            .export(id, karat_types::ReportFormat::Json, karat_app::Outputs::default(), false, &mut bytes)
            .unwrap();
        let report: Value = serde_json::from_slice(&bytes).unwrap();
        (report["systems"][0]["dimensions"]["right"].clone(), notes)
    };
    let (found, notes) = figure("weighted");
    let passed = read(&folder.join("draft.jsonl")).iter().filter(|row| row["out"] == "yes").count() as f64;
    let value = found["value"].as_f64().unwrap();
    assert!((value - 0.9 * passed / 10.0).abs() < 1e-12 && notes.is_empty(), "{found} {notes}");
    assert_eq!(
        (&found["method"], &found["design"]),
        (
            &json!("stratified by topic, 10 + 10 of 200 rows"),
            &json!({ "kind": "stratified", "by": "topic", "rows": 200, "drawn": 20 })
        ),
        "{found}"
    );
    assert!(found["ci"][0].as_f64() < Some(value) && found["ci"][1].as_f64() > Some(value), "{found}");

    // Without duplicates the draw stays, counted anew.
    let kept = folder.join("kept.jsonl");
    let twice = fs::read_to_string(folder.join("draft.jsonl")).unwrap();
    app.datasets()
        .dedup(&dedup(&DatasetRequest::of(folder.join("draft.jsonl").display().to_string()), Some(kept)))
        .unwrap();
    let of_kept: Value = serde_json::from_str(&fs::read_to_string(folder.join("kept.dataset.json")).unwrap()).unwrap();
    assert_eq!(of_kept["design"], design);

    fs::write(&suite, DRAWN_SUITE.replace("id: id,", "id: id, design: none,")).unwrap();
    let (plain, notes) = figure("plain");
    assert_eq!(
        (plain["value"].as_f64(), &plain["method"], notes.as_str()),
        (Some(passed / 20.0), &json!("Wilson"), "")
    );
    fs::write(&suite, DRAWN_SUITE.replace("id: id,", "id: id, limit: 15,")).unwrap();
    assert!(figure("first").1.contains("the suite takes a part of the drawn rows"), "{}", figure("again").1);
    fs::write(&suite, DRAWN_SUITE).unwrap();
    let fewer: Vec<&str> = twice.lines().skip(1).collect();
    fs::write(folder.join("draft.jsonl"), fewer.join("\n")).unwrap();
    let (changed, notes) = figure("changed");
    assert!(notes.contains("describes other rows (hash differs)") && changed["design"].is_null(), "{notes}");
}

/// DC-20: a file that the suite names must describe the rows, each row must be of a stratum, and figures that a weighted sample
/// does not have are refused before any call.
#[test]
fn a_draw_that_does_not_fit_is_refused() {
    let folder = testkit::scratch().unwrap();
    let folder = folder.path();
    let app = app(folder);
    drawn_set(&app, folder);
    let refused = |suite: &str| {
        fs::write(folder.join("karat.yaml"), suite).unwrap();
        app.runs()
            .load(&Invocation::of(folder.join("karat.yaml").display().to_string()))
            .err()
            .map(|error| error.to_string())
    };
    let named = DRAWN_SUITE.replace("id: id,", "id: id, design: draft.dataset.json,");
    assert_eq!(refused(&named), None);
    let other = named.replace("source: draft", "source: logs");
    let said = refused(&other).unwrap();
    assert!(said.contains("draft.dataset.json describes other rows (hash differs)"), "{said}");
    assert!(refused(&named.replace("draft.dataset", "no.dataset")).is_some());
    let said = refused(&DRAWN_SUITE.replace("metric: exact", "metric: label, aggregate: f1"));
    assert!(
        said.as_ref().is_some_and(|said| said.contains("f1 of a weighted sample is not offered: draw proportionally")),
        "{said:?}"
    );
    let early = format!("{DRAWN_SUITE}gates: [ {{ metric: right, min: 0.5 }} ]\nrun: {{ stop_early: true }}\n");
    assert!(refused(&early).is_some_and(|said| said.contains("stopping early of a weighted sample is not offered")));
    let path = folder.join("draft.dataset.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"value\": \"rare\"", "\"value\": \"other\"")).unwrap();
    let said = refused(DRAWN_SUITE).unwrap();
    assert!(said.contains("strata: topic `rare` is in no frame"), "{said}");
}
