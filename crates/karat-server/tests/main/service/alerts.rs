//! Incidents and messages over HTTP, and the alerts of runs that are asked for.

use http::StatusCode;
use serde_json::Value;

use super::{RUN, place, run_due};

/// SV-02, SV-16: an incident is listed, acknowledged and closed; its message is listed without content and retried.
#[test]
fn incidents_and_messages_are_listed_and_changed() {
    let place = place();
    run_due(&place);
    let open = place.get("/incidents?state=open").json();
    let incident = &open["items"][0];
    assert_eq!((&incident["event"], &incident["run"], &open["next"]), (&"gate_failed".into(), &RUN.into(), &().into()));
    let id = incident["id"].as_str().unwrap();
    let acked = place.post(&format!("/incidents/{id}/ack"), "{}");
    assert_eq!((acked.status, &acked.json()["state"]), (StatusCode::OK, &"acknowledged".into()));
    let closed = place.post(&format!("/incidents/{id}/close"), "");
    assert_eq!((closed.status, &closed.json()["state"]), (StatusCode::OK, &"closed".into()));
    assert_eq!(place.post(&format!("/incidents/{id}/ack"), "").json()["state"], "closed", "it stays closed");
    assert_eq!(place.get("/incidents?state=open").json()["items"], Value::Array(Vec::new()));
    assert_eq!(place.post("/incidents/inc_none/ack", "").status, StatusCode::NOT_FOUND);

    let message = place.get("/outbox?state=pending").json()["items"][0].clone();
    assert_eq!((&message["alert"], &message["attempts"]), (&"oncall".into(), &0.into()));
    assert!(message.get("body").is_none(), "{message}");
    let retried = place.post(&format!("/outbox/{}/retry", message["id"].as_str().unwrap()), "{}");
    assert_eq!((retried.status, &retried.json()["state"]), (StatusCode::OK, &"pending".into()));
    assert_eq!(place.post("/outbox/msg_none/retry", "").status, StatusCode::NOT_FOUND);
    for path in ["/incidents?state=opn", "/outbox?stat=dead", "/incidents?limit=0", "/outbox?cursor=x"] {
        let refused = place.get(path);
        assert_eq!(
            (refused.status, refused.header("content-type")),
            (StatusCode::BAD_REQUEST, "application/problem+json")
        );
    }
}

/// SV-15, SV-16: a run that is asked for over HTTP alerts when it ends; the message links to its page.
#[test]
fn a_run_over_http_alerts() {
    let place = place();
    assert_eq!(place.post("/eval/run", r#"{"suite": "support", "run_id": "mine"}"#).status, StatusCode::ACCEPTED);
    place.wait_for("mine", "completed");
    let incident = (0..400).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(25));
        place.get("/incidents").json()["items"].get(0).cloned()
    });
    let incident = incident.unwrap();
    assert_eq!((&incident["event"], &incident["run"]), (&"gate_failed".into(), &"mine".into()));
    let store = rusqlite::Connection::open(place.app.store.path()).unwrap();
    let body: String = store.query_row("select body from outbox", [], |row| row.get(0)).unwrap();
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["data"]["links"]["run"], "https://karat.example/runs/mine");
}
