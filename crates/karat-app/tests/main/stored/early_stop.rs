//! Runs that stop once their gates are decided.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use karat_app::{App, CallRecording, CompareRequest, Correction, Execution, Invocation, Outputs, Party, Rescoring};
use karat_store::Store;
use karat_types::{Event, Observer, ReportFormat, RunStatus};
use serde_json::Value;
use testkit::{Behaviour, Condition, FakeProvider, ReceivedRequest, Script};

use crate::place::{app, execution};

/// Samples of the dataset.
const SAMPLES: usize = 200;

/// A number between 0 and 99 that depends on the request alone.
fn draw(body: &[u8]) -> u64 {
    body.iter().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte))) / 7 % 100
}

/// A model that is right in `right` of 100 questions, after up to `slowest` milliseconds.
fn provider(right: u64, slowest: u64) -> FakeProvider {
    let script = Script::by(move |received| {
        let draw = draw(&received.body);
        let reply = Behaviour::ok(if draw < right { "yes" } else { "no" });
        match slowest {
            0 => reply,
            most => Behaviour::Slow(Duration::from_millis(draw * 37 % (most + 1)), Box::new(reply)),
        }
    });
    FakeProvider::start(script).unwrap()
}

struct Suite<'a> {
    gates: &'a str,
    more: &'a str,
    concurrency: usize,
}

impl Default for Suite<'_> {
    fn default() -> Self {
        Self { gates: "[ { metric: hit, min: 0.7 } ]", more: "", concurrency: 8 }
    }
}

impl Suite<'_> {
    fn write(&self, folder: &Path, provider: &FakeProvider) -> Invocation {
        let rows = (0..SAMPLES).map(|at| {
            format!(
                "{{\"id\":\"q{at}\",\"question\":\"Question {at}?\",\"target\":\"yes\",\"topic\":\"t{}\"}}\n",
                at / 5
            )
        });
        std::fs::write(folder.join("data.jsonl"), rows.collect::<String>()).unwrap();
        let Self { gates, more, concurrency } = self;
        let suite = format!(
            r#"
name: early
dataset: {{ source: data.jsonl, id: id, input: question, reference: target{more} }}
models: [ {{ id: mock, provider: openai, model: mock-model, base_url: "{}", api_key_env: MOCK_KEY, price: {{ input: 1.0, output: 2.0 }} }} ]
variants: {{ direct: [ {{ prompt: {{ text: "{{{{ sample.question }}}}" }} }} ] }}
scorers: {{ hit: {{ metric: contains }} }}
gates: {gates}
run: {{ max_concurrency: {concurrency}, budget_usd: 1000, stop_early: true }}
"#,
            provider.base_url()
        );
        let path = folder.join("karat.yaml");
        std::fs::write(&path, suite).unwrap();
        Invocation::of(path.to_str().unwrap())
    }
}

fn run(app: &App, invocation: &Invocation, execution: Execution) -> RunStatus {
    app.runs().run(app.runs().load(invocation).unwrap(), invocation, execution).unwrap().status
}

fn text(app: &App, run: &str, canonical: bool) -> String {
    let mut report = Vec::new();
    app.reports().export(run, ReportFormat::Json, Outputs::default(), canonical, &mut report).unwrap();
    String::from_utf8(report).unwrap()
}

fn report(app: &App, run: &str) -> Value {
    serde_json::from_str(&text(app, run, false)).unwrap()
}

/// The samples of a report's cells that enter figures.
fn counted(report: &Value) -> BTreeSet<String> {
    let cells = report["cells"].as_array().unwrap().iter().filter(|cell| cell["after_stop"] != true);
    cells.map(|cell| cell["sample"].as_str().unwrap().to_owned()).collect()
}

/// SL-07: whatever the delays of calls and their number at a time, a run stops after the same units with the same
/// canonical report, and at most the window is paid beyond them.
#[test]
fn delays_and_concurrency_do_not_move_the_stop() {
    let mut reports = BTreeSet::new();
    for (concurrency, slowest) in [(1, 0), (8, 0), (8, 300), (32, 300)] {
        let provider = provider(93, slowest);
        let scratch = testkit::scratch().unwrap();
        let app = app(scratch.path());
        let suite = Suite { concurrency, ..Suite::default() };
        assert_eq!(run(&app, &suite.write(scratch.path(), &provider), execution("a")), RunStatus::Finished);
        let found = report(&app, "a");
        let stop = &found["stop_early"];
        let after = stop["stopped_after"].as_u64().unwrap() as usize;
        assert!((30..150).contains(&after) && stop["claims"][0]["verdict"] == "pass", "{stop}");
        assert_eq!((counted(&found).len(), &found["verdict"]), (after, &"pass".into()));
        let requests = provider.requests();
        assert!(requests <= after + concurrency && provider.duplicates() == 0, "{requests} requests, {after} units");
        assert_eq!(stop["calls_made"].as_u64().unwrap() as usize, requests);
        let canonical = text(&app, "a", true);
        // The address of the provider and the number of calls at a time stand in the plan.
        let plain =
            canonical.replace(&provider.base_url(), "URL").replace(&format!("\"max_concurrency\":{concurrency}"), "");
        let hashes = ["suite_hash", "plan_hash"];
        let lines = plain.lines().filter(|line| !hashes.iter().any(|hash| line.contains(hash)));
        reports.insert(lines.map(|line| format!("{line}\n")).collect::<String>());
    }
    assert_eq!(reports.len(), 1, "{reports:#?}");
}

/// Copies the store after some cells, as a kill would leave it.
struct Snapshots {
    folder: PathBuf,
    seen: AtomicUsize,
    each: usize,
}

impl Observer for Snapshots {
    fn on_event(&self, event: &Event<'_>) {
        if let Event::CellFinished(_) = event {
            let seen = self.seen.fetch_add(1, Ordering::Relaxed) + 1;
            if seen.is_multiple_of(self.each) {
                app(&self.folder).stored().back_up(&self.folder.join(format!("copy-{seen}.db"))).unwrap();
            }
        }
    }
}

/// SL-07: a run that was cut off anywhere and is resumed stops after the same units with the same verdict; no call that
/// was recorded is made again, and no more than the window is paid beyond the prefix.
#[test]
fn a_run_cut_off_anywhere_stops_at_the_same_unit() {
    let provider = provider(93, 3);
    let scratch = testkit::scratch().unwrap();
    let (folder, suite) = (scratch.path(), Suite::default());
    let invocation = suite.write(folder, &provider);
    let whole = app(folder);
    let observer = Arc::new(Snapshots { folder: folder.to_owned(), seen: AtomicUsize::new(0), each: 1 });
    run(&whole, &invocation, Execution { observer, ..execution("a") });
    let (expected, canonical) = (report(&whole, "a"), text(&whole, "a", true));
    let after = expected["stop_early"]["stopped_after"].as_u64().unwrap() as usize;
    let copies = (1..=SAMPLES).map(|seen| folder.join(format!("copy-{seen}.db"))).filter(|copy| copy.exists());
    let copies: Vec<PathBuf> = copies.collect();
    assert!(copies.len() >= 30, "{} copies", copies.len());
    for copy in &copies {
        let resumed = testkit::scratch().unwrap();
        let place = app(resumed.path());
        place.stored().restore(copy).unwrap();
        let before = provider.requests();
        let end = place.runs().resume("a", &Invocation::default(), execution("a")).unwrap();
        assert_eq!(end.status, RunStatus::Finished);
        let found = report(&place, "a");
        assert_eq!(text(&place, "a", true), canonical, "{}", copy.display());
        assert_eq!(counted(&found), counted(&expected));
        let made = found["stop_early"]["calls_made"].as_u64().unwrap() as usize;
        assert!(made <= after + suite.concurrency, "{made} calls, {after} units");
        let now = provider.requests() - before;
        assert_eq!(now as u64, end.calls, "{now} requests");
    }
}

/// SL-08: `resume` leaves a stopped run and says so; continued to its end, its figures bind and the early verdict is kept
/// with whether they agree.
#[test]
fn a_stopped_run_continues_to_its_end_when_asked() {
    let provider = provider(93, 0);
    let scratch = testkit::scratch().unwrap();
    let app = app(scratch.path());
    run(&app, &Suite::default().write(scratch.path(), &provider), execution("a"));
    let stopped = report(&app, "a");
    let requests = provider.requests();
    let end = app.runs().resume("a", &Invocation::default(), execution("a")).unwrap();
    assert!(end.notice.unwrap().contains("`karat resume a --to-end` makes the rest"));
    assert_eq!(provider.requests(), requests);
    let end = app.runs().resume_to_end("a", &Invocation::default(), execution("a")).unwrap();
    assert_eq!((end.status, provider.requests(), provider.duplicates()), (RunStatus::Finished, SAMPLES, 0));
    let found = report(&app, "a");
    assert_eq!(counted(&found).len(), SAMPLES);
    assert_eq!(found["stop_early"]["after_end"], serde_json::json!({ "agrees": true }));
    assert_eq!(found["stop_early"]["claims"], stopped["stop_early"]["claims"]);
    assert_eq!((&found["gates"][0]["n"], &found["gates"][0]["method"]), (&200.into(), &"Wilson".into()));
    let again = app.runs().resume_to_end("a", &Invocation::default(), execution("a")).unwrap();
    assert!(again.notice.unwrap().contains("went to its end"));
    let never = app.runs().resume_to_end("nothing", &Invocation::default(), execution("a"));
    assert!(never.is_err());
}

/// SL-07, SL-09: scored again, a stopped run has the same samples in its figures, without intervals, and says that it
/// stopped; its gates, which the stop was not for, are undecided.
#[test]
fn a_stopped_run_that_is_scored_again_keeps_its_stop() {
    // Slow answers, so that some are under way at the stop.
    let provider = provider(93, 60);
    let scratch = testkit::scratch().unwrap();
    let app = app(scratch.path());
    run(&app, &Suite::default().write(scratch.path(), &provider), execution("a"));
    let stopped = report(&app, "a");
    let after = stopped["stop_early"]["stopped_after"].as_u64().unwrap();
    let end = app.runs().score("a", &Rescoring::default(), execution("b")).unwrap();
    let notice = end.notice.unwrap();
    assert!(notice.contains(&format!("run a stopped early, after {after} of 200 samples")), "{notice}");
    let scored = report(&app, "b");
    assert_eq!(counted(&scored), counted(&stopped));
    let figure = &scored["metrics"]["hit"];
    assert_eq!((&figure["n"], &figure["value"]), (&after.into(), &stopped["metrics"]["hit"]["value"]));
    assert!(figure["ci"].is_null() && figure["method"].as_str().unwrap().contains("no interval"), "{figure}");
    assert_eq!(scored["stop_early"]["stopped_after"], after);
    let warnings = scored["warnings"].to_string();
    assert!(warnings.contains(&format!("figures are of {after} of 200 samples")), "{warnings}");
    assert_eq!(scored["gates"][0]["verdict"], "undecided", "{}", scored["gates"][0]);
    let never = app.runs().resume_to_end("b", &Invocation::default(), execution("b")).err().unwrap();
    assert!(never.to_string().contains("scores the outputs of run a"), "{never}");
    let left = app.runs().resume("b", &Invocation::default(), execution("b")).unwrap().notice.unwrap();
    assert!(left.contains("`karat resume a --to-end`"), "{left}");
    // Once the run went to its end, so does its scoring.
    app.runs().resume_to_end("a", &Invocation::default(), execution("a")).unwrap();
    app.runs().score("a", &Rescoring::default(), execution("c")).unwrap();
    let whole = report(&app, "c");
    assert_eq!((counted(&whole).len(), whole["stop_early"].is_null()), (SAMPLES, true));
}

/// SL-07: results that changed after the stop was stored are found when the run is resumed.
#[test]
fn another_stop_is_an_error() {
    let provider = provider(93, 0);
    let scratch = testkit::scratch().unwrap();
    let app = app(scratch.path());
    run(&app, &Suite::default().write(scratch.path(), &provider), execution("a"));
    let store = Store::open(&app.store).unwrap();
    let mut record = store.stop_of("a").unwrap().unwrap().record;
    record.stopped_after = 5;
    store.forget_stop("a").unwrap();
    assert!(store.keep_stop("a", &record).unwrap().is_none());
    drop(store.reopen("a").unwrap());
    drop(store);
    let error = app.runs().resume("a", &Invocation::default(), execution("a")).unwrap_err().to_string();
    assert!(error.contains("its stored stop is after 5 of 200 samples"), "{error}");
}

/// SL-01, SL-05: clusters are units, and gates on several metrics stop the run once all of them are decided.
#[test]
fn clusters_are_units() {
    let provider = provider(96, 0);
    let scratch = testkit::scratch().unwrap();
    let app = app(scratch.path());
    let suite = Suite {
        gates: "[ { metric: hit, min: 0.5 }, { id: other, metric: hit, max: 0.99 } ]",
        more: ", cluster: topic",
        ..Suite::default()
    };
    run(&app, &suite.write(scratch.path(), &provider), execution("a"));
    let found = report(&app, "a");
    let stop = &found["stop_early"];
    assert_eq!(
        (&stop["unit"], &stop["units"], stop["claims"].as_array().unwrap().len()),
        (&"cluster".into(), &40.into(), 2)
    );
    let after = stop["stopped_after"].as_u64().unwrap();
    assert_eq!(counted(&found).len() as u64, after * 5);
    assert!(stop["claims"].as_array().unwrap().iter().all(|claim| claim["verdict"] == "pass"), "{stop}");
}

/// SL-04: a failed cell makes exit code 1 certain where the policy allows none; `retry` makes it again and goes on.
#[test]
fn a_retried_run_stops_anew() {
    let script = Script::by(|received| match received.number {
        3 => Behaviour::status(400, "no"),
        _ => Behaviour::ok("yes"),
    });
    let provider = FakeProvider::start(script).unwrap();
    let scratch = testkit::scratch().unwrap();
    let app = app(scratch.path());
    run(&app, &Suite::default().write(scratch.path(), &provider), execution("a"));
    let found = report(&app, "a");
    let claim = &found["stop_early"]["claims"][0];
    assert_eq!((&claim["verdict"], &claim["by"]), (&"undecided".into(), &"certain".into()), "{claim}");
    assert!(provider.requests() < 40, "{}", provider.requests());
    let end = app.runs().retry("a", &Invocation::default(), execution("a")).unwrap();
    assert_eq!(end.status, RunStatus::Finished);
    let found = report(&app, "a");
    assert_eq!(found["stop_early"]["claims"][0]["verdict"], "pass", "{}", found["stop_early"]);
    assert_eq!(found["verdict"], "pass");
}

/// A place with a judge, a baseline, two variants.
fn place(text: &str, provider: &FakeProvider) -> (testkit::Scratch, App, Invocation) {
    let scratch = testkit::scratch().unwrap();
    let folder = scratch.path().to_owned();
    let rows =
        (0..SAMPLES).map(|at| format!("{{\"id\":\"q{at}\",\"question\":\"Question {at}?\",\"target\":\"yes\"}}\n"));
    std::fs::write(folder.join("data.jsonl"), rows.collect::<String>()).unwrap();
    let path = folder.join("karat.yaml");
    std::fs::write(&path, text.replace("BASE", &provider.base_url())).unwrap();
    (scratch, app(&folder), Invocation::of(path.to_str().unwrap()))
}

const MODELS: &str = r#"
name: early
dataset: { source: data.jsonl, id: id, input: question, reference: target }
registry: [ registry.yaml ]
models: [ { id: mock, provider: openai, model: mock-model, base_url: "BASE", api_key_env: MOCK_KEY, price: { input: 1.0, output: 2.0 } } ]
judges: [ { id: judge, provider: openai, model: judge-model, base_url: "BASE", api_key_env: MOCK_KEY, price: { input: 1.0, output: 2.0 } } ]
"#;

/// Counts the cells that are on disk.
#[derive(Default)]
struct Counted(AtomicUsize);

impl Observer for Counted {
    fn on_event(&self, event: &Event<'_>) {
        if let Event::CellFinished(_) = event {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// SL-07: after the stop no judge is asked, also about outputs that were under way; they are marked and count nowhere.
#[test]
fn no_judge_is_asked_after_the_stop() {
    let suite = format!(
        "{}{}",
        MODELS.replace("registry: [ registry.yaml ]\n", ""),
        r#"
variants: { direct: [ { prompt: { text: "{{ sample.question }}" } } ] }
scorers: { quality: { rubric: { ask: "Is it fine?" } } }
gates: [ { metric: quality, min: 0.5 } ]
run: { max_concurrency: 8, budget_usd: 1000, stop_early: true }
"#
    );
    let verdict = r#"{"reasoning":"fine","pass":true}"#;
    let is_judge = |received: &ReceivedRequest| received.json()["model"] == "judge-model";
    // A first run, without delays, tells which samples decide: their order depends on the dataset alone.
    let quick = Script::by(move |received| Behaviour::ok(if is_judge(received) { verdict } else { "an answer" }));
    let provider = FakeProvider::start(quick).unwrap();
    let (_scratch, app, invocation) = place(&suite, &provider);
    assert_eq!(run(&app, &invocation, execution("first")), RunStatus::Finished);
    let deciding = counted(&report(&app, "first"));
    // In the second, the last of them comes when others are under way, and those come seconds after the last cell.
    let [on_time, late] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    let finished = Arc::new(Counted::default());
    let (seen, due) = (Arc::clone(&finished), deciding.len());
    let script = Script::by(move |received| {
        if is_judge(received) {
            return Behaviour::ok(verdict);
        }
        let text = String::from_utf8_lossy(&received.body).into_owned();
        let number = text.split_once("Question ").and_then(|(_, rest)| rest.split_once('?')).unwrap().0;
        let answer = Behaviour::ok("an answer");
        let (seen, late) = (Arc::clone(&seen), Arc::clone(&late));
        if deciding.contains(&format!("q{number}")) {
            return match on_time.fetch_add(1, Ordering::Relaxed) + 1 == due {
                true => Behaviour::Held(Condition::new(move || late.load(Ordering::Relaxed) > 0), Box::new(answer)),
                false => answer,
            };
        }
        match late.fetch_add(1, Ordering::Relaxed) {
            0..8 => {
                let is_decided = move || seen.0.load(Ordering::Relaxed) >= due;
                let slow = Behaviour::Slow(Duration::from_secs(3), Box::new(answer));
                Behaviour::Held(Condition::new(is_decided), Box::new(slow))
            }
            _ => answer,
        }
    });
    let provider = FakeProvider::start(script).unwrap();
    let (_scratch, app, invocation) = place(&suite, &provider);
    let watched = Execution { observer: finished, ..execution("a") };
    assert_eq!(run(&app, &invocation, watched), RunStatus::Finished);
    let found = report(&app, "a");
    let stop = &found["stop_early"];
    let after = stop["stopped_after"].as_u64().unwrap() as usize;
    assert!(after < 100 && stop["claims"][0]["verdict"] == "pass", "{stop}");
    let asked = |name: &str| provider.received_requests().iter().filter(|it| it.json()["model"] == name).count();
    let cells = found["cells"].as_array().unwrap();
    let judged = cells.iter().filter(|cell| !cell["judgments"].as_array().unwrap().is_empty()).count();
    assert_eq!((asked("judge-model"), asked("mock-model")), (judged, cells.len()));
    assert_eq!(counted(&found).len(), after);
    assert!(cells.len() > after && judged < cells.len(), "{} cells, {judged} judged, {after} units", cells.len());
    assert_eq!(found["metrics"]["quality"]["n"], after);
    // Continued to its end, the outputs that were under way are judged, and none is made again.
    app.runs().resume_to_end("a", &Invocation::default(), execution("a")).unwrap();
    assert_eq!((asked("judge-model"), asked("mock-model"), provider.duplicates()), (SAMPLES, SAMPLES, 0));
}

/// SL-02, SL-05, SL-08: a change from a variant of the same run stops both; compared with another run, a stopped run has
/// its prefix only, and a warning says so.
#[test]
fn changes_stop_both_variants_and_comparisons_warn() {
    let script = Script::by(|received| {
        let body = String::from_utf8_lossy(&received.body).into_owned();
        let right = if body.contains("Think") { 97 } else { 60 };
        Behaviour::ok(if draw(&received.body) < right { "yes" } else { "no" })
    });
    let provider = FakeProvider::start(script).unwrap();
    let suite = format!(
        "{}{}",
        MODELS.replace("registry: [ registry.yaml ]\n", ""),
        r#"
variants:
  old: [ { prompt: { text: "{{ sample.question }}" } } ]
  new: [ { prompt: { text: "Think. {{ sample.question }}" } } ]
scorers: { hit: { metric: contains } }
gates: [ { metric: hit, max_drop: 0.05, against: "variant:old" } ]
run: { max_concurrency: 4, budget_usd: 1000, stop_early: true }
"#
    );
    let (_scratch, app, invocation) = place(&suite, &provider);
    run(&app, &invocation, execution("a"));
    let found = report(&app, "a");
    let stop = &found["stop_early"];
    let after = stop["stopped_after"].as_u64().unwrap();
    assert!(after < 150 && stop["claims"][0]["bound"] == "max_drop", "{stop}");
    assert_eq!((&found["verdict"], &found["gates"][0]["system"]), (&"pass".into(), &"mock/new".into()));
    let n = |at: usize| found["systems"][at]["dimensions"]["hit"]["n"].as_u64();
    assert_eq!((n(0), n(1)), (Some(after), Some(after)));
    let reason = found["gates"][0]["reason"].as_str().unwrap();
    assert!(reason.contains(&format!("after {after} of 200 samples")) && reason.contains("max_drop 0.050"), "{reason}");

    let party =
        |run: &str, variant: &str| Party { run: run.to_owned(), variant: Some(variant.to_owned()), model: None };
    let asked = CompareRequest {
        metrics: Vec::new(),
        correction: Correction::default(),
        confidence: 0.95,
        margins: Default::default(),
        mde: Default::default(),
        allow_changed: false,
        movers: 0,
        outputs: false,
    };
    let compared = app.analysis().compare(&party("a", "old"), &party("a", "new"), &asked).unwrap();
    let warned = compared.terminal();
    assert!(warned.contains(&format!("stopped early, after {after} of 200 samples")), "{warned}");
}

/// SL-07: a run whose budget is used up before its gates are decided is not a stopped run; with more it stops where an
/// uninterrupted one does.
#[test]
fn a_budget_that_ends_first_is_no_early_stop() {
    let provider = provider(93, 0);
    let scratch = testkit::scratch().unwrap();
    let app = app(scratch.path());
    let mut invocation = Suite::default().write(scratch.path(), &provider);
    run(&app, &invocation, execution("whole"));
    invocation.overrides.no_cache = true;
    invocation.overrides.max_calls = Some(20);
    assert_eq!(run(&app, &invocation, execution("short")), RunStatus::BudgetStopped);
    assert!(report(&app, "short").get("stop_early").is_none());
    let mut later = Invocation::default();
    later.overrides.max_calls = Some(400);
    let end = app.runs().resume("short", &later, execution("short")).unwrap();
    assert_eq!(end.status, RunStatus::Finished);
    let of = |run: &str| report(&app, run)["stop_early"]["claims"].clone();
    assert_eq!(of("short"), of("whole"));
}

/// SL-07: a replay of a recorded run stops after the same units; what the recording lacks was under way and counts nowhere.
#[test]
fn a_replay_stops_at_the_same_unit() {
    let provider = provider(93, 20);
    let scratch = testkit::scratch().unwrap();
    let app = app(scratch.path());
    let mut invocation = Suite::default().write(scratch.path(), &provider);
    invocation.overrides.no_cache = true;
    let tape = scratch.path().join("tape");
    run(&app, &invocation, Execution { tape: CallRecording::Record(tape.clone()), ..execution("a") });
    let requests = provider.requests();
    run(&app, &invocation, Execution { tape: CallRecording::Replay(tape), ..execution("b") });
    assert_eq!(provider.requests(), requests);
    assert_eq!(text(&app, "b", true), text(&app, "a", true));
}

/// SL-07: after the stop no further step of a system is made, also of outputs that were under way.
#[test]
fn no_step_is_made_after_the_stop() {
    let script = Script::by(|received| {
        let is_second = String::from_utf8_lossy(&received.body).contains("Second");
        let wait = if is_second { 1 } else { 5 + draw(&received.body) };
        Behaviour::Slow(Duration::from_millis(wait), Box::new(Behaviour::ok("yes")))
    });
    let provider = FakeProvider::start(script).unwrap();
    let suite = format!(
        "{}{}",
        MODELS.replace("registry: [ registry.yaml ]\n", ""),
        r#"
variants:
  chain:
    - { id: first, prompt: { text: "First {{ sample.question }}" } }
    - { id: second, prompt: { text: "Second {{ sample.id }} {{ output }}" } }
scorers: { hit: { metric: contains } }
gates: [ { metric: hit, min: 0.5 } ]
run: { max_concurrency: 8, budget_usd: 1000, stop_early: true }
"#
    );
    let (_scratch, app, invocation) = place(&suite, &provider);
    assert_eq!(run(&app, &invocation, execution("a")), RunStatus::Finished);
    let found = report(&app, "a");
    let after = found["stop_early"]["stopped_after"].as_u64().unwrap() as usize;
    let asked =
        |step: &str| provider.bodies().iter().filter(|body| String::from_utf8_lossy(body).contains(step)).count();
    let cells = found["cells"].as_array().unwrap().len();
    assert_eq!(asked("Second"), cells);
    assert!(
        asked("First") > cells && cells >= after && asked("First") <= after + 8,
        "{} {cells} {after}",
        asked("First")
    );
    // Continued to its end, no paid step is made again.
    app.runs().resume_to_end("a", &Invocation::default(), execution("a")).unwrap();
    assert_eq!((asked("First"), asked("Second"), provider.duplicates()), (SAMPLES, SAMPLES, 0));
}
