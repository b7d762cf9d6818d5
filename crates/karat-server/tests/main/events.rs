//! The stream of a run's events.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use futures::StreamExt;
use http::StatusCode;
use karat_app::Stop;
use karat_server::Server;
use serde_json::Value;
use testkit::{Echo, FakeProvider, Script};
use tower::ServiceExt;

use crate::place::{Place, questions, run, suite};

/// An event as a browser sees it.
#[derive(Debug, Clone)]
struct Seen {
    name: String,
    id: String,
    data: Value,
}

/// Reads events behind `after` until the stream ends or `enough` of them are there.
fn read(place: &Place, server: &Server, path: &str, after: &str, enough: impl Fn(&[Seen]) -> bool) -> Vec<Seen> {
    let request = Request::builder().uri(path).header("Host", "localhost").header("Last-Event-ID", after);
    let request = request.body(Body::empty()).unwrap();
    place.runtime.block_on(async {
        let response = server.router().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut body = response.into_body().into_data_stream();
        let (mut text, mut seen) = (String::new(), Vec::new());
        while let Ok(Some(part)) = tokio::time::timeout(Duration::from_secs(20), body.next()).await {
            text.push_str(std::str::from_utf8(&part.unwrap()).unwrap());
            while let Some((event, rest)) = text.split_once("\n\n") {
                seen.extend(parse(event));
                text = rest.to_owned();
            }
            if enough(&seen) {
                break;
            }
        }
        seen
    })
}

fn parse(event: &str) -> Option<Seen> {
    let field = |name: &str| event.lines().find_map(|line| Some(line.strip_prefix(name)?.trim_start().to_owned()));
    let data = serde_json::from_str(&field("data:")?).unwrap();
    Some(Seen { name: field("event:")?, id: field("id:").unwrap_or_default(), data })
}

fn cells(seen: &[Seen]) -> Vec<u64> {
    seen.iter().filter(|event| event.name == "cell").map(|event| event.data["cell"].as_u64().unwrap()).collect()
}

fn last_id(seen: &[Seen]) -> String {
    seen.iter().rev().map(|event| event.id.clone()).find(|id| !id.is_empty()).unwrap_or_default()
}

/// SV-06: the events of a run that has ended: its cells as asked, its progress, and its end; behind the end 204.
#[test]
fn a_stream_ends_with_the_run() {
    let place = Place::view();
    place.run("faq", "a");
    let server = place.restarted();
    let seen = read(&place, &server, "/eval/runs/a/events?cells=all", "", |_| false);
    let planned = place.get("/eval/runs/a").json()["cells"]["planned"].as_u64().unwrap();
    assert_eq!(cells(&seen).into_iter().collect::<BTreeSet<_>>(), (0..planned).collect());
    assert_eq!(cells(&seen).len() as u64, planned);
    let ids: Vec<u64> = seen.iter().filter_map(|event| event.id.parse().ok()).collect();
    assert!(ids.is_sorted());
    let end = seen.last().unwrap();
    assert_eq!(
        (end.name.as_str(), &end.data["status"], &end.data["exit_code"]),
        ("end", &"completed".into(), &0.into())
    );
    let progress = seen.iter().find(|event| event.name == "progress").unwrap();
    for field in ["done", "planned", "errors", "unscored", "cached", "spend_usd", "eta_s"] {
        assert!(progress.data.get(field).is_some(), "{field}");
    }
    let cell = seen.iter().find(|event| event.name == "cell").unwrap();
    for field in ["sample", "model", "variant", "trial", "status", "scores"] {
        assert!(cell.data.get(field).is_some(), "{field}");
    }

    let behind = place.send("GET", "/eval/runs/a/events", &[&format!("Last-Event-ID: {}", last_id(&seen))], "");
    assert_eq!(behind.status, StatusCode::NO_CONTENT);
    assert!(cells(&read(&place, &server, "/eval/runs/a/events", "", |_| false)).is_empty());
    assert!(cells(&read(&place, &server, "/eval/runs/a/events?cells=latest", "", |_| false)).len() <= 20);
    assert_eq!(place.send("GET", "/eval/runs/a/events", &["Last-Event-ID: x"], "").status, StatusCode::BAD_REQUEST);
}

/// SV-06, DB-21: a run of another process is followed through a restart of the server: each cell once, at most four
/// updates a second, and the end.
#[test]
fn no_event_is_lost_or_doubled_by_a_restart() {
    let place = Place::view();
    let echo = Echo { latency: Duration::from_millis(25), ..Echo::default() };
    let provider = FakeProvider::start(Script::echo(echo)).unwrap();
    place.write("bench/data.jsonl", &questions(60));
    place.write("bench/karat.yaml", &suite(&provider.base_url(), "data.jsonl"));
    let app = place.fresh_app();
    let path = place.folder.path().join("bench/karat.yaml").display().to_string();
    let running = std::thread::spawn(move || run(&app, &path, "r", Stop::new()));
    place.wait_for("r", "running");

    let started = std::time::Instant::now();
    let events = "/eval/runs/r/events?cells=all";
    let mut seen = read(&place, &place.restarted(), events, "", |seen| cells(seen).len() >= 10);
    assert!(cells(&seen).len() < 60, "the stream is cut while the run goes on");
    for enough in [25, usize::MAX] {
        let more = read(&place, &place.restarted(), events, &last_id(&seen), |more| cells(more).len() >= enough);
        seen.extend(more);
    }
    let updates = seen.iter().filter(|event| event.name == "progress").count() as f64;
    assert!(updates <= 4.0 * started.elapsed().as_secs_f64() + 4.0, "{updates}");
    running.join().unwrap();
    let mut all = cells(&seen);
    all.sort_unstable();
    assert_eq!(all, (0..60).collect::<Vec<_>>());
    assert_eq!(seen.last().unwrap().data["status"], "completed");
}

/// DB-17: a page that follows a run gets the texts that it shows, made harmless by the server.
#[test]
fn a_page_gets_its_texts() {
    let place = Place::view();
    place.run("faq", "a");
    let seen = read(&place, &place.restarted(), "/eval/runs/a/events?cells=latest", "", |_| false);
    let texts = &seen.iter().find(|event| event.name == "progress").unwrap().data["texts"];
    for name in ["done", "planned", "remaining", "speed", "spent", "budget", "failures", "summary"] {
        assert!(texts[name].is_string(), "{name}");
    }
    let cell = seen.iter().find(|event| event.name == "cell").unwrap();
    assert_eq!(cell.data["texts"].as_array().unwrap().len(), 3);
    assert_eq!(cell.data["texts"][2], "ok");
}
