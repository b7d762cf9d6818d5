//! Recorded and replayed runs.

use std::io::ErrorKind;
use std::net::TcpListener;

use testkit::{Echo, FakeProvider, Script};

use crate::place::{Place, Said, questions, suite};

const KEY: &str = "sk-planted-93ac1e55";

/// A place with a suite of twenty samples.
fn twenty(provider: &FakeProvider) -> Place {
    let place = Place::new();
    place.write("data.jsonl", &questions(20));
    place.write("karat.yaml", &suite(&provider.base_url()));
    place
}

fn karat(place: &Place, arguments: &[&str]) -> Said {
    place.command(arguments).env("MOCK_KEY", KEY).output().map(Said::of).unwrap()
}

fn recorded(provider: &FakeProvider) -> Place {
    let place = twenty(provider);
    let said = karat(&place, &["run", "--run-id", "live", "--trials", "2", "--record", "calls.jsonl"]);
    assert_eq!(said.code, 0, "{}", said.all());
    place
}

/// PE-15, CL-25: a replayed run opens no connection, needs no key, pays nothing and ends with the same canonical report
/// and the same bytes; the recording holds no key.
#[test]
fn a_recorded_run_is_replayed_byte_for_byte() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = recorded(&provider);
    let (recording, report) =
        (std::fs::read_to_string(place.path().join("calls.jsonl")).unwrap(), place.canonical("live"));
    assert_eq!(recording.lines().count(), 1 + 40);
    assert!(!recording.contains(KEY));
    let trace = |place: &Place, run: &str| -> serde_json::Value {
        let trace: serde_json::Value =
            serde_json::from_str(&place.fine(&["trace", run, "q7/mock/direct/1", "--json"]).stdout).unwrap();
        serde_json::json!([trace["calls"][0]["request"], trace["calls"][0]["response"]])
    };

    let elsewhere = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    elsewhere.write("data.jsonl", &questions(20));
    elsewhere.write("karat.yaml", &suite(&base_url));
    elsewhere.write("calls.jsonl", &recording);
    let said = elsewhere.fine(&["run", "--run-id", "again", "--trials", "2", "--replay", "calls.jsonl"]);
    assert!(said.stderr.contains("$0.00 paid"), "{}", said.all());
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "nobody called");
    let without_hash = |report: &str| -> Vec<String> {
        report
            .lines()
            .filter(|line| !line.contains("_hash\"") && !line.contains("base_url"))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(without_hash(&elsewhere.canonical("again")), without_hash(&report));
    assert_eq!(trace(&elsewhere, "again"), trace(&place, "live"));
}

/// CL-25: what was not recorded is an error that names the request, and the run says so; a broken file is refused.
#[test]
fn a_miss_is_an_error() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = recorded(&provider);
    let requests = provider.requests();
    place.write("data.jsonl", &questions(21));
    let said = place.karat(&["run", "--run-id", "more", "--replay", "calls.jsonl"]);
    assert_eq!((said.code, provider.requests()), (1, requests), "{}", said.all());
    let report = place.report("more");
    assert_eq!(report["totals"]["errors"], 1);
    let cells = report["cells"].as_array().unwrap();
    let error = cells.iter().find_map(|cell| cell["error"]["message"].as_str()).unwrap();
    assert!(error.contains("Question 20") && error.contains("calls.jsonl"), "{error}");
    for (content, why) in
        [("", "it is empty"), ("{\"schema\":\"karat.recording/2\"}\n", "karat.recording/2"), ("x\n", "is no recording")]
    {
        place.write("broken.jsonl", content);
        let said = place.karat(&["run", "--replay", "broken.jsonl"]);
        assert!(said.code == 1 && said.stderr.contains(why), "{}", said.all());
    }
    let said = place.karat(&["run", "--replay", "absent.jsonl"]);
    assert!(said.code == 1 && said.stderr.contains("absent.jsonl"), "{}", said.all());
}

/// CL-25: the recording of a run that was stopped is gone on with, and holds the calls of all its parts.
#[test]
fn a_resumed_run_goes_on_with_its_recording() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = twenty(&provider);
    let said = karat(&place, &["run", "--run-id", "live", "--record", "calls.jsonl", "--max-calls", "8"]);
    assert_eq!(said.code, 5, "{}", said.all());
    // As a kill leaves it: the last line was cut off.
    let recording = place.path().join("calls.jsonl");
    let begun = std::fs::read_to_string(&recording).unwrap();
    std::fs::write(&recording, format!("{begun}{{\"key\":")).unwrap();
    let said = karat(&place, &["resume", "live", "--max-calls", "20"]);
    assert_eq!((said.code, provider.requests()), (0, 20), "{}", said.all());
    assert_eq!(std::fs::read_to_string(&recording).unwrap().lines().count(), 1 + 20);
    drop(provider);
    place.fine(&["run", "--run-id", "again", "--replay", "calls.jsonl"]);
    assert_eq!(place.report("again")["totals"]["errors"], 0);
}

/// CL-25: a run that is refused leaves a recording as it was, and so does one that nobody answered; what is no recording is
/// never replaced.
#[test]
fn a_recording_is_lost_to_no_other_run() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = recorded(&provider);
    let recording = place.text("calls.jsonl");
    for (arguments, code, why) in [
        (&["run", "--run-id", "live", "--record", "calls.jsonl"][..], 1, "exists already"),
        (&["run", "--max-calls", "0", "--record", "calls.jsonl"], 5, "max-calls"),
        (&["run", "--record", "data.jsonl"], 1, "is no recording"),
        (&["run", "--record", "karat.yaml"], 1, "is no recording"),
    ] {
        let said = karat(&place, arguments);
        assert!(said.code == code && said.stderr.contains(why), "{}", said.all());
        assert_eq!(place.text("calls.jsonl"), recording);
    }
    assert_eq!(place.text("data.jsonl"), questions(20));
    assert_eq!(place.text("karat.yaml"), suite(&provider.base_url()));
    let said = karat(&place, &["run", "--run-id", "part", "--max-calls", "8", "--record", "calls.jsonl"]);
    assert!(said.code == 5 && said.stderr.contains("calls.jsonl.part.part"), "{}", said.all());
    assert_eq!(place.text("calls.jsonl"), recording);
    let said = karat(&place, &["resume", "part", "--max-calls", "20"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(place.text("calls.jsonl").lines().count(), 1 + 20);
    assert!(!place.path().join("calls.jsonl.part.part").exists());
}

/// CL-25: the parts of a run stand in one recording: one that was moved away is asked for.
#[test]
fn a_recording_that_was_moved_is_asked_for() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = twenty(&provider);
    karat(&place, &["run", "--run-id", "live", "--record", "calls.jsonl", "--max-calls", "8"]);
    std::fs::rename(place.path().join("calls.jsonl"), place.path().join("moved.jsonl")).unwrap();
    let said = karat(&place, &["resume", "live", "--max-calls", "20"]);
    assert!(said.code == 1 && said.stderr.contains("calls.jsonl is gone"), "{}", said.all());
    assert_eq!(provider.requests(), 8);
    let said = karat(&place, &["resume", "live", "--max-calls", "20", "--record", "moved.jsonl"]);
    assert_eq!((said.code, provider.requests()), (0, 20), "{}", said.all());
    assert_eq!(place.text("moved.jsonl").lines().count(), 1 + 20);
}

/// CL-25: what a run of the same name has left beside the file is named with what to do; a run that is recorded from its
/// second part on says that the first is lacking.
#[test]
fn recordings_that_are_not_whole_are_told_of() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = recorded(&provider);
    place.write("calls.jsonl.nightly.part", "{\"schema\":\"karat.recording/1\"}\n");
    let said = karat(&place, &["run", "--run-id", "nightly", "--no-cache", "--record", "calls.jsonl"]);
    assert!(said.code == 1 && said.stderr.contains("calls.jsonl.nightly.part is left of a run"), "{}", said.all());
    assert!(said.stderr.contains("move") && !said.stderr.contains("File exists"), "{}", said.all());

    let said = karat(&place, &["run", "--run-id", "late", "--no-cache", "--max-calls", "8"]);
    assert_eq!(said.code, 5, "{}", said.all());
    let said = karat(&place, &["resume", "late", "--max-calls", "20", "--record", "late.jsonl"]);
    assert!(said.code == 0 && said.stderr.contains("from now on only"), "{}", said.all());
    assert_eq!(place.text("late.jsonl").lines().count(), 1 + 12);
}
