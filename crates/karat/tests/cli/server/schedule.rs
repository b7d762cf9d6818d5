//! `karat schedule` and `karat alert`: due times, and a scheduled run with its alert.

use serde_json::Value;
use testkit::{Behaviour, FakeProvider};

use crate::place::Place;

/// The due times of a cron expression, to the minute.
fn next(place: &Place, cron: &str, zone: &str, from: &str, count: &str) -> Vec<String> {
    let result =
        place.succeed(&["schedule", "next", "--cron", cron, "--zone", zone, "--from", from, "-n", count, "--json"]);
    let times: Vec<Value> = serde_json::from_str(&result.stdout).unwrap();
    times.iter().map(|time| time["due"].as_str().unwrap()[5..16].to_owned()).collect()
}

/// SV-12: due times where clocks change.
#[test]
fn due_times_follow_changes_of_clocks() {
    let place = Place::new();
    let rows: &[(&str, &str, &str, &[&str])] = &[
        ("30 2 * * *", "Europe/Berlin", "2027-03-27T00:00Z", &["03-27T01:30", "03-28T01:00", "03-29T00:30"]),
        ("30 2 * * *", "Europe/Berlin", "2027-10-30T00:00Z", &["10-30T00:30", "10-31T00:30", "11-01T01:30"]),
        ("0,30 2,3 * * *", "Europe/Berlin", "2027-03-27T23:00Z", &["03-28T01:00", "03-28T01:30"]),
        (
            "*/30 * * * *",
            "Europe/Berlin",
            "2027-10-30T23:59Z",
            &["10-31T00:00", "10-31T00:30", "10-31T01:00", "10-31T01:30", "10-31T02:00"],
        ),
        (
            "0 */2 * * *",
            "Europe/Berlin",
            "2027-10-30T21:59Z",
            &["10-30T22:00", "10-31T00:00", "10-31T01:00", "10-31T03:00", "10-31T05:00"],
        ),
        ("30 2 * * *", "America/New_York", "2027-03-13T00:00Z", &["03-13T07:30", "03-14T07:00", "03-15T06:30"]),
        ("15 2 * * *", "Australia/Lord_Howe", "2027-10-02T13:00Z", &["10-02T15:30"]),
        ("45 1 * * *", "Australia/Lord_Howe", "2027-04-03T13:00Z", &["04-03T14:45"]),
        ("0 0 * * *", "America/Santiago", "2027-09-04T00:00Z", &["09-04T04:00", "09-05T04:00", "09-06T03:00"]),
    ];
    for (cron, zone, from, due) in rows {
        assert_eq!(next(&place, cron, zone, from, &due.len().to_string()), *due, "{cron} {zone}");
    }
    let result = place.karat(&["schedule", "next", "--cron", "0 0 30 2 *", "--zone", "UTC"]);
    assert!(result.code == 1 && result.stderr.contains("never comes"), "{}", result.stderr);
}

/// SV-13, SV-17, RG-13, RG-14: a due time in the foreground: its gate fails, a webhook hears of it, and the exit code says
/// so; a second time nothing is run. The address is in no file of the state folder.
#[test]
fn a_scheduled_run_alerts_and_runs_once() {
    let place = Place::new();
    let receiver = FakeProvider::start(Behaviour::raw(200, "{}")).unwrap();
    place.write("data.jsonl", "{\"id\": \"a\", \"target\": \"Paris\", \"answer\": \"Rome\"}\n");
    place.write(
        "karat.yaml",
        r#"schema: karat.suite/1
name: support
dataset: { source: data.jsonl, id: id, reference: target }
variants: { published: [ { recorded: { column: answer } } ] }
scorers: { hit: { metric: contains } }
gates: [ { metric: hit, min: 60%, decide: point } ]
schedules: { nightly: { cron: "30 2 * * *", zone: UTC } }
alerts: { oncall: { send: webhook, with: { url: "${HOOK}" }, events: [gate_failed] } }
"#,
    );
    let url = format!("{}/secret-path-5f6a", receiver.url());
    let run = || {
        let arguments = ["schedule", "run", "karat.yaml", "nightly", "--due", "2027-03-01T02:30Z"];
        crate::place::CommandOutput::of(place.command(&arguments).env("HOOK", &url).output().unwrap())
    };
    let result = run();
    assert_eq!(result.code, 2, "{}\n{}", result.stdout, result.stderr);
    let received = receiver.received_requests();
    assert_eq!(received.len(), 1, "{}", result.stderr);
    assert_eq!(received[0].json()["data"]["run_id"], "support-nightly-20270301T0230Z");
    let again = run();
    assert_eq!((again.code, receiver.requests()), (2, 1), "{}", again.stderr);
    let incidents: Vec<Value> = serde_json::from_str(&place.succeed(&["alert", "ls", "--json"]).stdout).unwrap();
    assert_eq!((incidents.len(), &incidents[0]["state"]), (1, &"open".into()));
    let history = place.succeed(&["schedule", "history", "karat.yaml"]).stdout;
    assert!(history.contains("support-nightly-20270301T0230Z") && history.contains("done"), "{history}");
    let stored = std::fs::read(place.path().join(".karat/karat.db")).unwrap();
    assert!(!stored.windows(16).any(|window| window == b"secret-path-5f6a"));
    assert!(!format!("{}{}", result.stdout, result.stderr).contains("secret-path"));
}
