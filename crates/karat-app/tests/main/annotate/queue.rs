//! The queue under many people, blindness, carried labels, settling and exports.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use karat_app::{
    AdjudicationRequest, App, CreatedTask, ErrorKind, ExportForm, ExportRequest, GoldItems, ItemsFrom, LabelRequest,
    NextRequest, Session, TaskRequest, TextFrom,
};
use serde_json::{Map, Value, json};

use super::{MINUTE, draft, item_of, label, moved_app, next, reason, request, submit};
use crate::place;

/// HU-01: the same request gives the same task, other content a new version, and the labels of both stay apart.
#[test]
fn the_same_request_is_the_same_task() {
    let folder = tempfile::tempdir().unwrap();
    let app = place::app(folder.path());
    let asked = request(folder.path(), 4, 1);
    let first = app.tasks().create(&asked).unwrap();
    let CreatedTask { hash, version, items, is_new, .. } = first.clone();
    assert_eq!((version, items, is_new), (1, 4, true));
    let again = app.tasks().create(&asked).unwrap();
    assert_eq!((again.hash, again.version, again.is_new), (hash, 1, false));
    let one = next(&app, "ann");
    submit(&app, "ann", &item_of(&one), 3);
    let changed = TaskRequest { guidelines: Some(TextFrom::Text("Be strict.".to_owned())), ..asked };
    let second = app.tasks().create(&changed).unwrap();
    assert_eq!((second.version, second.known_labels), (2, 0), "other guidelines are other questions");
    let labels = |name: &str| app.tasks().overview(name).unwrap()["labels"]["counted"].as_u64();
    assert_eq!((labels("t@1"), labels("t@2"), labels("t")), (Some(1), Some(0), Some(0)));
}

/// F79: people see what is labelled, input, reference and the columns that are asked for; what nobody sees is named. Gold
/// items show the same columns.
#[test]
fn columns_that_nobody_sees_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let app = place::app(folder.path());
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let rows =
        write("rows.csv", "id,transcript,claim_date,output,reference\na,We rose 4 %.,2031-01-02,It rose.,rose\n");
    let questions =
        Some(TextFrom::Text("[{ id: ok, ask: Right?, kind: choice, choices: [{ id: y }, { id: n }] }]".to_owned()));
    let asked =
        TaskRequest { name: Some("t".to_owned()), questions, places: 1, ..TaskRequest::new(ItemsFrom::Dataset(rows)) };
    let names = |found: &Value| -> Vec<String> {
        let context = found["item"]["context"].as_array().unwrap();
        context.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    };
    let plain = app.tasks().create(&asked).unwrap();
    assert_eq!(plain.hidden, ["claim_date", "transcript"]);
    assert_eq!(names(&next(&app, "ann")), ["reference"]);
    let shown = TaskRequest { show: vec!["transcript".to_owned()], ..asked.clone() };
    let made = app.tasks().create(&shown).unwrap();
    assert_eq!((made.version, made.hidden), (2, vec!["claim_date".to_owned()]));
    assert_eq!(names(&next(&app, "ann")), ["transcript", "reference"]);
    let unknown = TaskRequest { show: vec!["transcripts".to_owned()], ..asked.clone() };
    let error = app.tasks().create(&unknown).unwrap_err();
    assert!(
        error.to_string().contains("`--show transcripts`") && error.hint().unwrap().contains("transcript"),
        "{error}"
    );
    // Without an output the input is labelled, and without both the whole row: then nothing is hidden.
    let inputs = write("inputs.jsonl", r#"{"id":"a","input":"a text","source":"web"}"#);
    let of = |file| TaskRequest { items: ItemsFrom::Dataset(file), name: Some("u".to_owned()), ..asked.clone() };
    assert_eq!(app.tasks().create(&of(inputs)).unwrap().hidden, ["source"]);
    let whole = write("whole.jsonl", r#"{"id":"a","claim":"It rose.","source":"web"}"#);
    assert_eq!(app.tasks().create(&of(whole)).unwrap().hidden, Vec::<String>::new());
}

/// HU-03: the same output in another task with the same questions has its labels already; no person is asked twice.
#[test]
fn known_outputs_have_their_labels() {
    let folder = tempfile::tempdir().unwrap();
    let app = place::app(folder.path());
    app.tasks().create(&request(folder.path(), 3, 1)).unwrap();
    for quality in [2, 3, 4] {
        let item = item_of(&next(&app, "ann"));
        submit(&app, "ann", &item, quality);
    }
    assert_eq!(next(&app, "ann")["item"], Value::Null);
    let more = request(folder.path(), 5, 1);
    let made = app.tasks().create(&more).unwrap();
    assert_eq!((made.version, made.known_labels), (2, 3));
    let new: BTreeSet<String> = (0..2)
        .map(|_| {
            let answer = next(&app, "ann");
            submit(&app, "ann", &item_of(&answer), 1);
            answer["item"]["text"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(new, ["output 3", "output 4"].map(str::to_owned).into());
    assert_eq!(next(&app, "ann")["item"], Value::Null);
    let view = app.tasks().overview("t").unwrap();
    assert_eq!((&view["people"][0]["labels"], &view["people"][0]["earlier"]), (&json!(5), &json!(3)));
}

/// HU-10, HU-13: two hundred people on a hundred items, with stalls and kills: each item gets exactly three labels of different
/// people, every accepted label is kept, and those that came too late are kept as extras.
#[test]
fn each_item_gets_enough_different_people() {
    const PEOPLE: usize = 200;
    const ITEMS: usize = 100;
    let folder = tempfile::tempdir().unwrap();
    let (app, clock) = moved_app(folder.path());
    app.tasks().create(&request(folder.path(), ITEMS, 3)).unwrap();
    let (counted, extra) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for number in 0..PEOPLE {
            let (app, clock, counted, extra) = (app.clone(), &clock, &counted, &extra);
            scope.spawn(move || {
                let person = format!("p{number}");
                let mut dice = karat_types::KeyBuilder::new("dice").number(number as u64).finish();
                let mut roll = || {
                    dice = karat_types::Key::of("dice", &dice.0);
                    dice.0[0]
                };
                for _ in 0..400 {
                    let answer = next(&app, &person);
                    if answer["item"].is_null() {
                        let missing = app.tasks().overview("t").unwrap()["labels"]["missing"].as_u64();
                        if missing == Some(0) {
                            return;
                        }
                        // Places of people who went away come free.
                        clock.0.fetch_add(MINUTE, Ordering::SeqCst);
                        continue;
                    }
                    let item = item_of(&answer);
                    match roll() {
                        0..=3 => return,
                        4..=40 => {
                            clock.0.fetch_add(11 * MINUTE, Ordering::SeqCst);
                        }
                        41..=80 => {
                            draft(&app, &person, &item);
                        }
                        _ => {}
                    }
                    let state = submit(&app, &person, &item, 1 + u32::from(roll()) % 5);
                    match state["state"].as_str().unwrap() {
                        "counted" => counted.fetch_add(1, Ordering::SeqCst),
                        "extra" => extra.fetch_add(1, Ordering::SeqCst),
                        other => panic!("{other}"),
                    };
                }
            });
        }
    });
    assert_eq!(counted.load(Ordering::SeqCst), 3 * ITEMS);
    // Another process reads the same.
    let fresh = App { opened: Session::default(), ..app };
    let asked = ExportRequest { form: ExportForm::Jsonl, settled: false, audit: false, pseudonyms: false };
    let export = fresh.tasks().export("t", &asked).unwrap();
    let mut extras = 0;
    for line in export.lines().skip(1) {
        let item: Value = serde_json::from_str(line).unwrap();
        let labels = item["labels"].as_array().unwrap();
        let people: BTreeSet<&str> = labels.iter().map(|label| label["person"].as_str().unwrap()).collect();
        assert_eq!(people.len(), labels.len());
        assert_eq!(labels.iter().filter(|label| label["counted"] == true).count(), 3, "{item}");
        extras += labels.iter().filter(|label| label["counted"] == false).count();
    }
    assert!(extras > 0 && extras == extra.load(Ordering::SeqCst), "{extras}");
    let view = fresh.tasks().overview("t").unwrap();
    assert_eq!((&view["items"]["by_labels"], &view["labels"]["missing"]), (&json!([0, 0, 0, ITEMS]), &json!(0)));
}

/// HU-10: the number of labels is held by the store, a sign of life after one's own submit is not an error, and an untouched
/// queue is not done. An expired lease frees its place; its holder may renew while the place is free.
#[test]
fn leases_end_and_are_renewed() {
    let folder = tempfile::tempdir().unwrap();
    let (app, clock) = moved_app(folder.path());
    app.tasks().create(&request(folder.path(), 1, 1)).unwrap();
    let first = next(&app, "ann");
    assert_eq!((&first["progress"]["left"], &first["closed"]), (&json!(1), &json!(false)));
    let item = item_of(&first);
    assert_eq!(next(&app, "ann")["item"]["id"], first["item"]["id"], "a held item comes again");
    assert_eq!(next(&app, "bob")["item"], Value::Null);
    clock.0.fetch_add(9 * MINUTE, Ordering::SeqCst);
    assert_eq!(draft(&app, "ann", &item)["state"], "open");
    clock.0.fetch_add(9 * MINUTE, Ordering::SeqCst);
    assert_eq!(next(&app, "bob")["item"], Value::Null, "the lease was renewed");
    clock.0.fetch_add(2 * MINUTE, Ordering::SeqCst);
    assert_eq!(draft(&app, "ann", &item)["state"], "open", "the place is free, so its holder gets it back");
    clock.0.fetch_add(11 * MINUTE, Ordering::SeqCst);
    assert_eq!(item_of(&next(&app, "bob")), item);
    assert_eq!(draft(&app, "ann", &item)["state"], "lost");
    let late = submit(&app, "ann", &item, 2);
    assert!(late["state"] == "extra" && late["message"].is_string(), "{late}");
    assert_eq!(submit(&app, "bob", &item, 4)["state"], "counted");
    assert_eq!(draft(&app, "bob", &item)["state"], "submitted");
    assert_eq!(submit(&app, "bob", &item, 5)["state"], "counted", "a second label replaces the first");
    let unseen = app.tasks().submit("t", "cat", &label(&item, 3)).unwrap_err();
    assert_eq!(unseen.kind(), ErrorKind::NotAllowed);
}

/// HU-11: a skip goes to another person and comes back by choice only; after k + 2 skips the item leaves the queue, and is
/// counted apart. A flag goes to the owner at once, who gives the item back.
#[test]
fn skipped_and_flagged_items_go_to_the_owner() {
    let folder = tempfile::tempdir().unwrap();
    let app = place::app(folder.path());
    app.tasks().create(&request(folder.path(), 1, 1)).unwrap();
    let mut item = String::new();
    for person in ["ann", "bob", "cat"] {
        item = item_of(&next(&app, person));
        app.tasks().skip("t", person, &reason(&item, "cannot_judge")).unwrap();
        let after = next(&app, person);
        assert!(after["item"].is_null() && after["progress"]["skipped"] == 1 && after["progress"]["done"] == 0);
    }
    assert!(app.tasks().skip("t", "ann", &reason(&item, "boring")).is_err());
    assert_eq!(next(&app, "dan")["item"], Value::Null, "k + 2 people skipped it");
    let view = app.tasks().overview("t").unwrap();
    assert_eq!(
        (&view["items"]["skipped"], &view["items"]["open"], &view["labels"]["counted"]),
        (&json!(1), &json!(1), &json!(0))
    );
    assert_eq!(view["with_owner"][0]["why"]["skips"].as_array().unwrap().len(), 3);
    let requeue = AdjudicationRequest { item: Some(item.clone()), requeue: true, ..AdjudicationRequest::default() };
    app.tasks().adjudicate("t", "owner", &requeue).unwrap();
    let back = NextRequest { item: Some(item.clone()), ..NextRequest::default() };
    assert_eq!(app.tasks().next("t", "ann", &back).unwrap()["item"]["state"], "skipped");
    assert_eq!(next(&app, "dan")["item"], Value::Null, "ann holds the place");
    app.tasks().flag("t", "ann", &reason(&item, "harmful")).unwrap();
    assert_eq!(next(&app, "dan")["item"], Value::Null, "it is with the owner");
    assert_eq!(app.tasks().overview("t").unwrap()["items"]["flagged"], 1);
    app.tasks().adjudicate("t", "owner", &requeue).unwrap();
    assert_eq!(item_of(&next(&app, "dan")), item);
    assert_eq!(submit(&app, "dan", &item, 3)["state"], "counted");
}

/// HU-12: an undo removes the label, keeps its answers as a draft, and is not a low score; drafts and the last labels are
/// there in another process.
#[test]
fn an_undo_removes_the_label() {
    let folder = tempfile::tempdir().unwrap();
    let app = place::app(folder.path());
    app.tasks().create(&request(folder.path(), 3, 1)).unwrap();
    assert_eq!(next(&app, "ann")["item"]["answers"], Value::Null, "HU-06: no control has a value before the first key");
    let first = item_of(&next(&app, "ann"));
    submit(&app, "ann", &first, 2);
    let second = item_of(&next(&app, "ann"));
    submit(&app, "ann", &second, 4);
    let undone = app.tasks().undo("t", "ann", None).unwrap();
    assert_eq!((&undone["item"], &undone["progress"]["done"]), (&json!(second), &json!(1)));
    let fresh = App { opened: Session::default(), ..app };
    let again = next(&fresh, "ann");
    assert_eq!((item_of(&again), &again["item"]["draft"]["answers"]["quality"]), (second, &json!(4)));
    assert_eq!(again["recent"].as_array().unwrap().len(), 1);
    assert_eq!((&again["recent"][0]["item"], &again["recent"][0]["answers"]["quality"]), (&json!(first), &json!(2)));
    assert_eq!(fresh.tasks().overview("t").unwrap()["labels"]["counted"], 1);
    fresh.tasks().undo("t", "ann", Some(&first)).unwrap();
    assert!(fresh.tasks().undo("t", "ann", None).is_err());
    assert_eq!(fresh.tasks().overview("t").unwrap()["labels"]["counted"], 0);
}

/// HU-04: the audit export holds every event with the value before it; what it says is the present state.
#[test]
fn the_audit_replays_to_the_state() {
    let folder = tempfile::tempdir().unwrap();
    let app = place::app(folder.path());
    app.tasks().create(&request(folder.path(), 4, 2)).unwrap();
    for person in ["ann", "bob"] {
        for quality in 1..=4 {
            let item = item_of(&next(&app, person));
            submit(&app, person, &item, quality);
            if quality == 2 {
                submit(&app, person, &item, 5);
            }
        }
    }
    app.tasks().undo("t", "bob", None).unwrap();
    let asked = ExportRequest { form: ExportForm::Jsonl, settled: false, audit: true, pseudonyms: false };
    let audit = app.tasks().export("t", &asked).unwrap();
    let mut standing: BTreeMap<(String, String), Value> = BTreeMap::new();
    let mut last = 0;
    for line in audit.lines().skip(1) {
        let event: Value = serde_json::from_str(line).unwrap();
        assert!(event["seq"].as_i64().unwrap() > last);
        last = event["seq"].as_i64().unwrap();
        let key = (event["item"].as_str().unwrap().to_owned(), event["person"].as_str().unwrap().to_owned());
        match event["kind"].as_str().unwrap() {
            "label" => {
                let before = standing.insert(key, event["body"]["answers"].clone());
                assert_eq!(before, event["body"].get("previous").cloned());
            }
            "undo" => assert_eq!(standing.remove(&key), event["body"].get("previous").cloned()),
            other => panic!("{other}"),
        }
    }
    let items = app.tasks().export("t", &ExportRequest { audit: false, ..asked }).unwrap();
    let mut present = BTreeMap::new();
    for line in items.lines().skip(1) {
        let item: Value = serde_json::from_str(line).unwrap();
        for label in item["labels"].as_array().unwrap() {
            let key = (item["item"].as_str().unwrap().to_owned(), label["person"].as_str().unwrap().to_owned());
            present.insert(key, label["answers"].clone());
        }
    }
    assert!(present.len() == 7 && present == standing);
}

/// HU-05: people see items in different orders, and equal rows of two tasks have different ids.
#[test]
fn orders_and_ids_say_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let app = place::app(folder.path());
    app.tasks().create(&request(folder.path(), 30, 2)).unwrap();
    let order = |person: &str| -> Vec<String> {
        let mut seen = Vec::new();
        for _ in 0..30 {
            let answer = next(&app, person);
            seen.push(answer["item"]["text"].as_str().unwrap().to_owned());
            submit(&app, person, &item_of(&answer), 3);
        }
        seen
    };
    let (ann, bob) = (order("ann"), order("bob"));
    assert_ne!(ann, bob);
    assert_eq!(ann.iter().collect::<BTreeSet<_>>(), bob.iter().collect::<BTreeSet<_>>());
    let other = TaskRequest { name: Some("u".to_owned()), ..request(folder.path(), 30, 2) };
    app.tasks().create(&other).unwrap();
    let ids = |task: &str| -> BTreeSet<String> {
        let asked = ExportRequest { form: ExportForm::Jsonl, settled: false, audit: false, pseudonyms: false };
        let text = app.tasks().export(task, &asked).unwrap();
        let items = text.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap());
        items.map(|item| item["item"].as_str().unwrap().to_owned()).collect()
    };
    assert!(ids("t").is_disjoint(&ids("u")));
}

/// HU-23: gold items are mixed in unmarked; from ten of them a person has a share with an interval, and the owner is told
/// of a person below the limit. An exclusion is stored with its reason, and frees the places.
#[test]
fn gold_measures_people() {
    let folder = tempfile::tempdir().unwrap();
    let app = place::app(folder.path());
    let gold: String = (0..12)
        .map(|at| {
            format!(
                "{}\n",
                json!({ "input": format!("known {at}"), "output": format!("gold {at}"), "scores": { "quality": 5 } })
            )
        })
        .collect();
    let file = folder.path().join("gold.jsonl");
    std::fs::write(&file, gold).unwrap();
    let asked = TaskRequest { gold: Some(GoldItems { file, share: 0.5, limit: 0.8 }), ..request(folder.path(), 10, 2) };
    assert_eq!(app.tasks().create(&asked).unwrap().items, 20);
    for person in ["ann", "bob"] {
        for _ in 0..20 {
            let answer = next(&app, person);
            assert!(
                answer["item"].get("gold").is_none() && answer["item"]["context"][0]["name"] == "input",
                "{answer}"
            );
            let is_gold = answer["item"]["text"].as_str().unwrap().starts_with("gold");
            let quality = if is_gold && person == "ann" { 5 } else { 2 };
            submit(&app, person, &item_of(&answer), quality);
        }
    }
    let view = app.tasks().overview("t").unwrap();
    let gold = |at: usize| view["people"][at]["gold"].clone();
    assert_eq!(
        (&gold(0)["right"], &gold(0)["share"]["share"], &gold(0)["share"]["below_limit"]),
        (&json!(10), &json!(1.0), &json!(false))
    );
    assert_eq!((&gold(1)["right"], &gold(1)["share"]["below_limit"]), (&json!(0), &json!(true)));
    // Wilson, 10 of 10: 10 / (10 + 1.96²).
    let lo = gold(0)["share"]["ci"][0].as_f64().unwrap();
    assert!((lo - 10.0 / (10.0 + 1.959_963_984_540_054_f64.powi(2))).abs() < 1e-9, "{lo}");
    let exclude = |reason: &str| AdjudicationRequest {
        exclude: Some("bob".to_owned()),
        reason: reason.to_owned(),
        ..AdjudicationRequest::default()
    };
    assert!(app.tasks().adjudicate("t", "owner", &exclude(" ")).is_err());
    app.tasks().adjudicate("t", "owner", &exclude("always says 2")).unwrap();
    let view = app.tasks().overview("t").unwrap();
    assert_eq!((&view["people"][1]["excluded"], &view["labels"]["missing"]), (&json!("always says 2"), &json!(20)));
    assert_eq!(app.tasks().agreement("t").unwrap()["excluded"]["bob"], "always says 2");
    assert_eq!(next(&app, "bob")["item"], Value::Null);
    assert!(next(&app, "cat")["item"].is_object());
}

/// HU-31, HU-32: each item ends settled, adjudicated or open; the adjudicator answers first and sees labels without names;
/// closing is final.
#[test]
fn items_end_settled_adjudicated_or_open() {
    let folder = tempfile::tempdir().unwrap();
    let app = place::app(folder.path());
    app.tasks().create(&request(folder.path(), 3, 2)).unwrap();
    for person in ["ann", "bob"] {
        for _ in 0..3 {
            let answer = next(&app, person);
            let quality = match (answer["item"]["text"].as_str().unwrap(), person) {
                ("output 0", _) => 3,
                ("output 1", "ann") => 1,
                _ => 5,
            };
            // The third item has one label only.
            if answer["item"]["text"] != "output 2" || person == "ann" {
                submit(&app, person, &item_of(&answer), quality);
            } else {
                app.tasks().skip("t", person, &reason(&item_of(&answer), "broken")).unwrap();
            }
        }
    }
    let states = || {
        let items = app.tasks().overview("t").unwrap()["items"].clone();
        ["settled", "adjudicated", "open", "disagreements"].map(|name| items[name].as_u64().unwrap())
    };
    assert_eq!(states(), [1, 0, 2, 1]);
    let item = app.tasks().overview("t").unwrap()["adjudication"][0]["item"].as_str().unwrap().to_owned();
    let own = AdjudicationRequest {
        item: Some(item),
        answers: Some(Map::from_iter([("quality".to_owned(), json!(4))])),
        ..AdjudicationRequest::default()
    };
    let shown = app.tasks().adjudicate("t", "ann", &own).unwrap();
    assert_eq!((&shown["stored"], &shown["labelled_by_you"]), (&json!(false), &json!(true)));
    assert!(shown["labels"][1]["person"] == 2 && !shown.to_string().contains("bob"), "{shown}");
    assert_eq!(states(), [1, 0, 2, 1], "nothing is stored before it is confirmed");
    app.tasks().adjudicate("t", "ann", &AdjudicationRequest { confirm: true, ..own }).unwrap();
    assert_eq!(states(), [1, 1, 1, 0]);
    let closed = app.tasks().close("t", "owner").unwrap();
    assert_eq!(app.tasks().close("t", "other").unwrap(), closed);
    assert_eq!(next(&app, "ann")["closed"], true);
    assert_eq!(app.tasks().undo("t", "ann", None).unwrap_err().kind(), ErrorKind::TaskClosed);
    let asked = ExportRequest { form: ExportForm::Labels, settled: true, audit: false, pseudonyms: true };
    let rows = app.tasks().export("t", &asked).unwrap();
    let rows: Vec<Value> = rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let scores: BTreeMap<&str, f64> =
        rows.iter().map(|row| (row["output"].as_str().unwrap(), row["scores"]["quality"].as_f64().unwrap())).collect();
    assert_eq!(scores, BTreeMap::from([("output 0", 3.0), ("output 1", 4.0)]));
    assert_eq!(rows[0]["provenance"]["people"], json!(["a1", "a2"]));
}

/// HU-14, HU-10: an assigned list restricts who may label; names are checked.
#[test]
fn only_assigned_people_label() {
    let folder = tempfile::tempdir().unwrap();
    let app = place::app(folder.path());
    let asked = TaskRequest { assigned: vec!["ann".to_owned()], ..request(folder.path(), 2, 1) };
    app.tasks().create(&asked).unwrap();
    assert!(next(&app, "ann")["item"].is_object());
    let refused = app.tasks().next("t", "bob", &NextRequest::default()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotAllowed);
    assert!(app.service().invite_annotator("t", "bob", None).is_err());
    let token = app.service().invite_annotator("t", "ann", None).unwrap();
    assert_eq!(app.service().invited_person(&token.id).unwrap(), Some(("t".to_owned(), "ann".to_owned())));
}

/// HU-30: agreement by question: AC1 stands beside where one answer has more than 80 %, and spans have characters and F1;
/// below ten items with two labels there is a count.
#[test]
fn agreement_is_by_question() {
    let folder = tempfile::tempdir().unwrap();
    let app = place::app(folder.path());
    let questions = "
- { id: fine, ask: Fine?, kind: choice, choices: [{ id: a }, { id: b }] }
- { id: marks, ask: Where?, kind: spans, categories: [{ id: wrong }, { id: odd }] }
";
    let questions = Some(TextFrom::Text(questions.to_owned()));
    app.tasks().create(&TaskRequest { questions, ..request(folder.path(), 10, 2) }).unwrap();
    let found = || app.tasks().agreement("t").unwrap()["questions"].clone();
    for (person, start) in [("ann", 0), ("bob", 2)] {
        for _ in 0..10 {
            let answer = next(&app, person);
            let text = answer["item"]["text"].as_str().unwrap();
            let fine = if person == "bob" && text == "output 7" { "b" } else { "a" };
            let quote = &text[start..start + 4];
            let marks = json!([{ "start": start, "end": start + 4, "category": "wrong", "quote": quote }]);
            let answers = json!({ "fine": fine, "marks": marks }).as_object().unwrap().clone();
            let item = item_of(&answer);
            app.tasks().submit("t", person, &LabelRequest { item, answers, ..LabelRequest::default() }).unwrap();
        }
        if person == "ann" {
            assert_eq!((&found()[0]["items"], found()[0].get("alpha")), (&json!(0), None));
        }
    }
    let found = found();
    let choice = &found[0];
    // 9 of 10 pairs are equal, and 19 of 20 answers are the same: pe = 2 · 0.95 · 0.05.
    let (observed, chance) = (0.9, 2.0 * 0.95 * 0.05);
    assert!((choice["ac"]["value"].as_f64().unwrap() - (observed - chance) / (1.0 - chance)).abs() < 1e-12, "{choice}");
    assert!((choice["share_equal"]["value"].as_f64().unwrap() - 0.9).abs() < 1e-12);
    // Nominal alpha: 1 − (n − 1) · 2 / (n² − 19² − 1), n = 20.
    let alpha = 1.0 - 19.0 * 2.0 / (400.0 - 361.0 - 1.0);
    assert!((choice["alpha"]["value"].as_f64().unwrap() - alpha).abs() < 1e-12, "{choice}");
    assert!(
        choice["note"].as_str().unwrap().starts_with("95 %") && choice["kappa"][0]["people"] == json!(["ann", "bob"])
    );
    let spans = &found[1];
    // Texts have 8 characters, of which 4 differ.
    assert!((spans["characters"]["value"].as_f64().unwrap() - 0.5).abs() < 1e-12, "{spans}");
    assert_eq!((&spans["f1"][0]["f1"]["value"], &spans["f1"][1]["f1"]), (&json!(0.5), &Value::Null));
}

/// HU-01, HU-02, HU-23: a task that nobody could label, or no program could read again, is refused before it is stored.
#[test]
fn impossible_tasks_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let app = place::app(folder.path());
    let plain = request(folder.path(), 4, 2);
    let questions = |text: &str| TaskRequest { questions: Some(TextFrom::Text(text.to_owned())), ..plain.clone() };
    let names = ["..", ".", "-x", "_x", "a/b", ""];
    let named = names.map(|name| TaskRequest { name: Some(name.to_owned()), ..plain.clone() });
    let file = folder.path().join("gold.jsonl");
    std::fs::write(&file, format!("{}\n", json!({ "output": "right", "scores": { "quality": 5 } }))).unwrap();
    let empty = folder.path().join("empty.jsonl");
    std::fs::write(&empty, "").unwrap();
    let golds = [(&file, 0.5, f64::NAN), (&file, 0.5, 7.0), (&file, 0.0, 0.7), (&empty, 0.5, 0.7)];
    let golds = golds.map(|(file, share, limit)| TaskRequest {
        gold: Some(GoldItems { file: file.clone(), share, limit }),
        ..plain.clone()
    });
    let asked = [
        questions("[{ id: q, ask: Good?, kind: scale, scale: [1, 5], step: 1, anchors: [{ value: .nan, text: z }] }]"),
        questions("[{ id: q, ask: Good?, kind: scale, scale: [1, 5], step: 1, anchors: [{ value: 9, text: z }] }]"),
        questions("[{ id: q, ask: Good?, kind: scale, scale: [1, 5], step: 3 }]"),
        questions("[{ id: q, ask: Good?, kind: choice, choices: [{ id: a, value: .inf }, { id: b }] }]"),
        questions("[{ id: q, ask: ' ', kind: text }]"),
        TaskRequest { assigned: vec!["ann".to_owned(), "ann".to_owned()], ..plain.clone() },
    ];
    for asked in named.into_iter().chain(golds).chain(asked) {
        assert!(app.tasks().create(&asked).is_err(), "{asked:?}");
    }
    assert!(app.tasks().list().unwrap().is_empty());
    app.tasks().create(&plain).unwrap();
    app.tasks().close("t", "owner").unwrap();
    assert!(app.service().invite_annotator("t", "ann", None).is_err());
}
