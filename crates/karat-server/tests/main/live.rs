//! The page of a run while it runs, and after.

use std::time::Duration;

use http::StatusCode;
use karat_app::Stop;
use testkit::{Echo, FakeProvider, Script};

use crate::place::{Place, questions, run, suite};

/// DB-17: the page of a running run shows its progress; it can be cancelled where it was started, and nowhere else.
#[test]
fn a_running_run_has_a_live_page() {
    let place = Place::serve();
    let echo = Echo { latency: Duration::from_millis(30), ..Echo::default() };
    let provider = FakeProvider::start(Script::echo(echo)).unwrap();
    place.write("bench/data.jsonl", &questions(300));
    place.write("bench/karat.yaml", &suite(&provider.base_url(), "data.jsonl"));
    let (app, stop) = (place.fresh_app(), Stop::new());
    let path = place.folder.path().join("bench/karat.yaml").display().to_string();
    let own = stop.clone();
    let running = std::thread::spawn(move || run(&app, &path, "other", own));
    place.wait_for("other", "running");
    let page = place.page("/runs/other");
    assert_eq!(page.status, StatusCode::OK);
    for part in ["page-live", "progress", "cost-so-far", "/eval/runs/other/events?cells=latest", "aria-live=\"polite\""]
    {
        assert!(page.text.contains(part), "{part}");
    }
    assert!(!page.text.contains("data-testid=\"cancel\""), "another process runs it");
    // A run that is stopped before its first cell has no page. At most 16 calls are under way.
    while provider.requests() < 40 {
        std::thread::sleep(Duration::from_millis(5));
    }
    stop.set();
    running.join().unwrap();
    let ended = place.page("/runs/other");
    assert!(ended.text.contains("data-testid=\"page-run\""), "{} {}", ended.status, ended.text);

    assert_eq!(place.post("/eval/run", r#"{"suite": "bench", "run_id": "own"}"#).status, StatusCode::ACCEPTED);
    place.wait_for("own", "running");
    let page = place.page("/runs/own");
    assert!(page.text.contains("data-testid=\"cancel\"") && page.text.contains("/eval/runs/own/cancel"));
    place.post("/eval/runs/own/cancel", "");
    place.wait_for("own", "cancelled");
}

/// DB-11, DB-52: a run that has ended shows its verdict; one that is not there is an error page.
#[test]
fn an_ended_run_shows_its_verdict() {
    let place = Place::view();
    place.run("faq", "a");
    let page = place.page("/runs/a");
    assert!(page.text.contains("data-testid=\"page-run\"") && page.text.contains("data-testid=\"verdict\""));
    let gone = place.page("/runs/nope");
    assert_eq!(gone.status, StatusCode::NOT_FOUND);
    assert!(gone.text.contains("data-testid=\"error-state\""));
}
