//! The queue: requests that are repeated, runs that wait, and servers that stop.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::StatusCode;
use karat_app::{CallRecording, Execution, Invocation, Stop};
use karat_server::{Purpose, QueueLimits};
use karat_types::{Clock, Moment, SilentObserver};
use testkit::{Echo, FakeProvider, Script};

use crate::place::{Answer, Noon, Place, questions, suite};

const SERVE: Purpose = Purpose::Serve { allow_commands: false };

fn slow(milliseconds: u64) -> FakeProvider {
    let latency = Duration::from_millis(milliseconds);
    FakeProvider::start(Script::echo(Echo { latency, ..Echo::default() })).unwrap()
}

fn bench(place: &Place, provider: &FakeProvider, cells: usize) {
    place.write("bench/data.jsonl", &questions(cells));
    place.write("bench/karat.yaml", &suite(&provider.base_url(), "data.jsonl"));
}

fn post(place: &Place, key: &str, path: &str, body: &str) -> Answer {
    place.send("POST", path, &["Content-Type: application/json", &format!("Idempotency-Key: {key}")], body)
}

fn kind(answer: &Answer) -> String {
    answer.json()["type"].as_str().unwrap_or_default().rsplit(':').next().unwrap().to_owned()
}

/// SV-04: the same request gets the same answer, also after a restart; another one with its key is refused.
#[test]
fn a_repeated_request_starts_one_run() {
    let place = Place::serve();
    let first = post(&place, "k", "/eval/run", r#"{"suite": "faq", "limit": 1}"#);
    assert_eq!((first.status, first.header("idempotency-replayed")), (StatusCode::ACCEPTED, ""), "{}", first.text);
    let run = first.json()["run_id"].as_str().unwrap().to_owned();
    assert_eq!(first.json()["status"], "queued");
    place.wait_for(&run, "completed");
    for place in [&place, &place.again(SERVE, QueueLimits::default())] {
        let again = post(place, "\"k\"", "/eval/run", r#"{"limit": 1, "suite": "faq"}"#);
        assert_eq!((again.status, again.header("idempotency-replayed")), (StatusCode::ACCEPTED, "true"));
        assert_eq!((&again.text, again.header("location")), (&first.text, first.header("location")));
        let other = post(place, "k", "/eval/run", r#"{"suite": "faq", "limit": 2}"#);
        assert_eq!((other.status, kind(&other).as_str()), (StatusCode::UNPROCESSABLE_ENTITY, "key-reused"));
        assert_eq!(kind(&post(place, "k", "/eval/plan", r#"{"suite": "faq", "limit": 1}"#)), "key-reused");
    }
    assert_eq!(place.get("/eval/runs").json()["items"].as_array().unwrap().len(), 1);
    assert_eq!(post(&place, "ä", "/eval/run", "{}").status, StatusCode::BAD_REQUEST);

    let plan = post(&place, "p", "/eval/plan", r#"{"suite": "faq"}"#);
    let again = post(&place, "p", "/eval/plan", r#"{"suite": "faq"}"#);
    assert_eq!((&again.text, again.header("idempotency-replayed")), (&plan.text, "true"));
    let wrong = post(&place, "w", "/eval/run", r#"{"suite": "nope"}"#);
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    let mended = post(&place, "w", "/eval/run", r#"{"suite": "faq", "limit": 1}"#);
    assert_eq!(mended.status, StatusCode::ACCEPTED, "a refused request had no effect");
}

/// SV-04: fifty requests with one key at the same time start one run; those that come too early are told so.
#[test]
fn fifty_requests_with_one_key_start_one_run() {
    let place = Place::serve();
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let send = || post(&place, "k", "/eval/run", r#"{"suite": "faq", "limit": 1}"#);
        let sending: Vec<_> = (0..50).map(|_| scope.spawn(send)).collect();
        sending.into_iter().map(|sending| sending.join().unwrap()).collect()
    });
    let runs: BTreeSet<String> =
        answers.iter().filter_map(|answer| answer.json()["run_id"].as_str().map(str::to_owned)).collect();
    assert_eq!(runs.len(), 1, "{runs:?}");
    for answer in answers.iter().filter(|answer| answer.status != StatusCode::ACCEPTED) {
        assert_eq!((answer.status, kind(answer).as_str()), (StatusCode::CONFLICT, "key-in-progress"));
        assert_eq!(answer.header("retry-after"), "1");
    }
    assert_eq!(place.get("/eval/runs").json()["items"].as_array().unwrap().len(), 1);
}

/// SV-02, SV-05: runs beyond the limit wait, are listed, and can be cancelled; beyond the queue a request is refused.
#[test]
fn runs_wait_for_their_turn() {
    let provider = slow(20);
    let first = Place::view();
    bench(&first, &provider, 400);
    let place = first.again(SERVE, QueueLimits { max_runs: 1, max_waiting: 2 });
    let start = |id: &str| place.post("/eval/run", &format!(r#"{{"suite": "bench", "run_id": "{id}"}}"#));
    assert_eq!(start("a").status, StatusCode::ACCEPTED);
    place.wait_for("a", "running");
    for id in ["b", "c"] {
        assert_eq!((start(id).status, &start(id).json()["status"]), (StatusCode::ACCEPTED, &409.into()), "{id}");
    }
    let full = start("d");
    assert_eq!((full.status, kind(&full).as_str()), (StatusCode::TOO_MANY_REQUESTS, "queue-full"));
    assert_eq!(full.header("retry-after"), "30");

    let waiting = place.get("/eval/runs/b").json();
    assert_eq!((&waiting["status"], &waiting["started_at"]), (&"queued".into(), &().into()));
    assert_eq!((&waiting["cells"]["planned"], &waiting["trigger"]), (&400.into(), &"api".into()));
    let ids = |path: &str| -> Vec<String> {
        let items = place.get(path).json()["items"].as_array().unwrap().clone();
        items.iter().map(|run| run["run_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids("/eval/runs"), ["c", "b", "a"]);
    assert_eq!(ids("/eval/runs?status=queued&trigger=api&suite=bench"), ["c", "b"]);
    assert_eq!((ids("/eval/runs?trigger=cli"), ids("/eval/runs?suite=faq")), (Vec::new(), Vec::new()));
    let page = place.page("/runs/b");
    assert!(page.status == StatusCode::OK && page.text.contains("This run is queued"), "{}", page.text);

    let cancelled = place.post("/eval/runs/b/cancel", "");
    assert_eq!((cancelled.status, &cancelled.json()["status"]), (StatusCode::OK, &"cancelled".into()));
    let events = place.get("/eval/runs/b/events").text;
    assert!(events.contains("event: end") && events.contains("cancelled"), "{events}");
    assert_eq!(place.post("/eval/runs/a/cancel", "").status, StatusCode::ACCEPTED);
    place.wait_for("c", "running");
    assert_eq!(place.get("/eval/runs/a").json()["status"], "cancelled");
    assert_eq!(place.get("/eval/runs/b").json()["status"], "cancelled");
}

/// A second after the noon of the other tests.
struct Later;

impl Clock for Later {
    fn now(&self) -> Moment {
        Moment(Noon.now().0 + 1_000)
    }
}

/// SV-02: a cancelled run that the command line continues is cancelled no longer, also when it is interrupted again.
#[test]
fn a_continued_run_is_cancelled_no_longer() {
    let provider = slow(20);
    let place = Place::view().again(SERVE, QueueLimits::default());
    bench(&place, &provider, 200);
    assert_eq!(place.post("/eval/run", r#"{"suite": "bench", "run_id": "a"}"#).status, StatusCode::ACCEPTED);
    place.wait_for("a", "running");
    assert_eq!(place.post("/eval/runs/a/cancel", "").status, StatusCode::ACCEPTED);
    place.wait_for("a", "cancelled");
    let stop = Stop::new();
    stop.set();
    let execution = Execution {
        run_id: Some("a".to_owned()),
        resume: true,
        observer: Arc::new(SilentObserver),
        stop,
        tape: CallRecording::None,
    };
    let invocation = Invocation::of("bench");
    let mut command_line = place.app.clone();
    command_line.clock = Arc::new(Later);
    command_line.runs().run(command_line.runs().load(&invocation).unwrap(), &invocation, execution).unwrap();
    assert_eq!(place.get("/eval/runs/a").json()["status"], "interrupted");
}

/// SV-02: two runs of one process share the declared rate of an account.
#[test]
fn two_runs_share_a_rate_limit() {
    let provider = slow(1);
    let place = Place::serve();
    bench(&place, &provider, 20);
    let limited = |text: String| {
        text.replace("price:", "limits: { rpm: 600 }, price:").replace("max_concurrency: 1", "max_concurrency: 8")
    };
    place.write("bench/karat.yaml", &limited(suite(&provider.base_url(), "data.jsonl")));
    place.write("other/data.jsonl", &questions(20).replace("Question", "Task"));
    place.write("other/karat.yaml", &limited(suite(&provider.base_url(), "data.jsonl")));
    let begun = Instant::now();
    for (suite, id) in [("bench", "a"), ("other", "b")] {
        let body = format!(r#"{{"suite": "{suite}", "run_id": "{id}"}}"#);
        assert_eq!(place.post("/eval/run", &body).status, StatusCode::ACCEPTED);
    }
    place.wait_for("a", "completed");
    place.wait_for("b", "completed");
    // 40 calls at 10 a second, of which one may be made at once. A limiter for each run would take half of the time.
    assert!(begun.elapsed() >= Duration::from_millis(3_800), "{:?}", begun.elapsed());
    assert_eq!(provider.requests(), 40);
}

/// SV-07: a run of a server that stops goes on when the next one starts; nothing is paid twice.
#[test]
fn a_run_goes_on_after_a_restart() {
    let provider = slow(20);
    let first = Place::view();
    bench(&first, &provider, 100);
    let before = first.again(SERVE, QueueLimits { max_runs: 1, max_waiting: 9 });
    for id in ["a", "b"] {
        let body = format!(r#"{{"suite": "bench", "run_id": "{id}", "limit": 100}}"#);
        assert_eq!(before.post("/eval/run", &body).status, StatusCode::ACCEPTED);
    }
    before.wait_for("a", "running");
    drop(before);
    // Its last call is answered and stored before the next server starts, as when a process ends. One run at a time:
    // whether runs share calls is another test's question.
    first.wait_for("a", "queued");
    let after = first.again(SERVE, QueueLimits { max_runs: 1, max_waiting: 9 });
    assert_eq!(after.wait_for("a", "completed")["cells"]["done"], 100);
    assert_eq!(after.wait_for("b", "completed")["cells"]["done"], 100);
    assert_eq!((provider.requests(), provider.duplicates()), (100, 0));
}

/// SV-07: a run whose suite has changed since it was asked for fails, and says why; a run of the command line is left alone.
#[test]
fn a_changed_suite_fails_the_run() {
    let provider = slow(10);
    let first = Place::view();
    bench(&first, &provider, 300);
    let before = first.again(SERVE, QueueLimits { max_runs: 1, max_waiting: 9 });
    for id in ["a", "b"] {
        before.post("/eval/run", &format!(r#"{{"suite": "bench", "run_id": "{id}"}}"#));
    }
    before.wait_for("a", "running");
    drop(before);
    first.write("bench/data.jsonl", &questions(299));
    let after = first.again(SERVE, QueueLimits::default());
    for id in ["a", "b"] {
        let run = after.wait_for(id, "failed");
        assert!(run["problem"].as_str().unwrap().contains("changed") && run["exit_code"] == 1, "{run}");
    }
}
