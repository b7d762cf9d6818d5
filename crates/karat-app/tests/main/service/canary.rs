//! Judges whose frozen judgments are made again.

use std::fs;

use karat_app::{DueRunEnd, Invocation, PinRequest};
use karat_types::Exit;
use serde_json::{Value, json};

use super::world::{World, execution};

const DAY_MS: i64 = 86_400_000;

/// A model answers, and a judge grades: 3 or 4 by the number of the row.
const SUITE: &str = r##"schema: karat.suite/1
name: support
dataset: { source: data.jsonl, id: id, input: question, date: day, days: 1, zone: Europe/Berlin }
models: [ { id: writer, provider: scripted, price: { input: 1, output: 1 }, with: { reply: "It is {{ user }}" } } ]
judges: [ { id: grader, provider: scripted, price: { input: 1, output: 1 }, with: { reply: '{"reasoning": "That is how it reads to me.", "depth": {{ 4 if "1?" in user or "3?" in user or "5?" in user else 3 }}}' } } ]
variants: { once: [ { prompt: { user: "{{ input }}" }, version: v1 } ] }
scorers:
  quality:
    rubric: { ask: Grade the answer., version: "1", dimensions: { depth: { definition: How deep it goes., scale: [1, 5] } }, overall: { id: overall, method: mean } }
    canary: { source: frozen }
gates: [ { metric: quality.overall, min: 2, decide: point } ]
schedules:
  nightly: { cron: "30 2 * * *", zone: Europe/Berlin, report: [json] }
  judges:  { cron: "0 2 * * *", zone: Europe/Berlin, task: canary, report: [json] }
alerts:
  oncall:
    send: webhook
    with: { url: "${HOOK}", secret: "${HOOK_SECRET}" }
    events: [judge_moved, gate_failed]
    quiet: 0
"##;

/// A world whose judge has graded one night, and whose grades are frozen.
fn world() -> World {
    let world = World::accepting();
    fs::write(world.folder.path().join("karat.yaml"), SUITE).unwrap();
    let rows: Vec<String> = (0..400)
        .map(|day| {
            let date: jiff::civil::Date = "2027-02-28".parse().unwrap();
            let date = date.checked_add(jiff::Span::new().days(day / 20)).unwrap().to_string();
            json!({ "id": format!("r{day}"), "day": date, "question": format!("row {day}?") }).to_string()
        })
        .collect();
    fs::write(world.folder.path().join("data.jsonl"), rows.join("\n") + "\n").unwrap();
    let app = world.app();
    assert_eq!(world.night(&app).exit, Exit::Pass);
    let pinned = app.analysis().golden_pin(&Invocation::of(world.suite()), &PinRequest::default()).unwrap();
    assert_eq!(pinned.files.len(), 20);
    world.advance(DAY_MS);
    world
}

/// Makes the judge shift, seen from its frozen judgments.
fn shift_judge(world: &World, by: f64) {
    for entry in fs::read_dir(world.folder.path().join("frozen")).unwrap() {
        let path = entry.unwrap().path();
        let mut golden: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        golden["baseline_composite"] = json!(golden["baseline_composite"].as_f64().unwrap() - by);
        golden["baseline_axes"]["depth"] = json!(golden["baseline_axes"]["depth"].as_f64().unwrap() - by);
        fs::write(&path, golden.to_string()).unwrap();
    }
}

fn canary(world: &World) -> DueRunEnd {
    let app = world.app();
    let due = app.service().due_run(&world.suite(), "judges", None).unwrap();
    app.service().claim_due_run(&due).unwrap();
    let ended = app.service().run_due(&due, execution()).unwrap();
    assert!(ended.failure.is_none() && ended.alerted.problems.is_empty(), "{ended:?}");
    ended
}

/// The verdict of the nightly gate, and its reason.
fn gate(world: &World) -> (String, String) {
    let app = world.app();
    let ended = world.night(&app);
    let report: Value = serde_json::from_str(
        &app.analysis().gate(&ended.end.unwrap().run, &Default::default()).unwrap().json().unwrap(),
    )
    .unwrap();
    let gate = &report["gates"][0];
    (gate["verdict"].as_str().unwrap().to_owned(), gate["reason"].as_str().unwrap().to_owned())
}

/// SV-19, BY-08: a canary asks no system again; a judge that moved by half a grade opens one incident, and gates on its
/// figures are undecided and name it; when it grades as before, both end.
#[test]
fn a_moved_judge_makes_its_gates_undecided() {
    let world = world();
    let still = canary(&world);
    assert_eq!(still.end.as_ref().unwrap().calls, 20, "only the judge was asked, and only of what is frozen");
    assert!(world.app().service().incidents(Some("open")).unwrap().is_empty());
    assert_eq!(gate(&world).0, "pass");

    world.advance(DAY_MS);
    shift_judge(&world, 0.5);
    let moved = canary(&world);
    assert_eq!((still.exit, moved.exit), (Exit::Pass, Exit::Undecided));
    assert!(
        moved.summary.unwrap().starts_with("canary of `quality` in run support-judges-20270303T0100Z: the judge moved")
    );
    let open = world.app().service().incidents(Some("open")).unwrap();
    assert_eq!(open.len(), 1, "{open:?}");
    assert!(open[0].summary.contains("the judge moved: quality."), "{}", open[0].summary);
    let (verdict, reason) = gate(&world);
    assert_eq!(verdict, "undecided");
    assert!(reason.contains("the canary of `quality` found in run support-judges-20270303T0100Z"), "{reason}");

    world.advance(DAY_MS);
    shift_judge(&world, -0.5);
    canary(&world);
    assert_eq!(gate(&world).0, "pass");
    world.advance(DAY_MS);
    canary(&world);
    world.app().service().deliver_due().unwrap();
    assert!(world.app().service().incidents(Some("open")).unwrap().is_empty());
    assert_eq!(
        world.received().into_iter().map(|(kind, _)| kind).collect::<Vec<_>>(),
        ["alert.opened", "alert.resolved"]
    );
}

/// SV-19: a judge that is as it should be is pinned anew, and a canary that is a week old says so.
#[test]
fn frozen_judgments_can_be_pinned_anew() {
    let world = world();
    shift_judge(&world, 0.5);
    canary(&world);
    assert_eq!(gate(&world).0, "undecided");
    world.app().analysis().golden_pin(&Invocation::of(world.suite()), &PinRequest::default()).unwrap();
    world.advance(DAY_MS);
    assert_eq!(gate(&world).0, "pass");
    world.advance(9 * DAY_MS);
    let ended = world.night(&world.app());
    let report = world.app().analysis().gate(&ended.end.unwrap().run, &Default::default()).unwrap().json().unwrap();
    assert!(report.contains("the last canary of `quality` is 10 days old"), "{report}");
}
