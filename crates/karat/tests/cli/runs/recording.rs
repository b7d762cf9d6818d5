//! Recorded and replayed runs.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use testkit::{Behaviour, Echo, FakeProvider, Script};

use crate::place::{CommandOutput, Place, questions, suite};

const KEY: &str = "sk-planted-93ac1e55";

/// A place with a suite of twenty samples.
fn twenty(provider: &FakeProvider) -> Place {
    let place = Place::new();
    place.write("data.jsonl", &questions(20));
    place.write("karat.yaml", &suite(&provider.base_url()));
    place
}

fn karat(place: &Place, arguments: &[&str]) -> CommandOutput {
    place.command(arguments).env("MOCK_KEY", KEY).output().map(CommandOutput::of).unwrap()
}

fn recorded(provider: &FakeProvider) -> Place {
    let place = twenty(provider);
    let result = karat(&place, &["run", "--run-id", "live", "--trials", "2", "--record", "calls.jsonl"]);
    assert_eq!(result.code, 0, "{}", result.all());
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
            serde_json::from_str(&place.succeed(&["trace", run, "q7/mock/direct/1", "--json"]).stdout).unwrap();
        serde_json::json!([trace["calls"][0]["request"], trace["calls"][0]["response"]])
    };

    let elsewhere = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    elsewhere.write("data.jsonl", &questions(20));
    elsewhere.write("karat.yaml", &suite(&base_url));
    elsewhere.write("calls.jsonl", &recording);
    let result = elsewhere.succeed(&["run", "--run-id", "again", "--trials", "2", "--replay", "calls.jsonl"]);
    assert!(result.stderr.contains("$0 paid"), "{}", result.all());
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
    let result = place.karat(&["run", "--run-id", "more", "--replay", "calls.jsonl"]);
    assert_eq!((result.code, provider.requests()), (1, requests), "{}", result.all());
    let report = place.report("more");
    assert_eq!(report["totals"]["errors"], 1);
    let cells = report["cells"].as_array().unwrap();
    let error = cells.iter().find_map(|cell| cell["error"]["message"].as_str()).unwrap();
    assert!(error.contains("Question 20") && error.contains("calls.jsonl"), "{error}");
    for (content, why) in [
        ("", "it is empty"),
        ("{\"schema\":\"karat.recording/2\"}\n", "karat.recording/2"),
        ("x\n", "is not a recording"),
    ] {
        place.write("broken.jsonl", content);
        let result = place.karat(&["run", "--replay", "broken.jsonl"]);
        assert!(result.code == 1 && result.stderr.contains(why), "{}", result.all());
    }
    let result = place.karat(&["run", "--replay", "absent.jsonl"]);
    assert!(result.code == 1 && result.stderr.contains("absent.jsonl"), "{}", result.all());
}

/// CL-25: a stopped run continues its recording, which then holds the calls of all its parts.
#[test]
fn a_resumed_run_continues_its_recording() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = twenty(&provider);
    let result = karat(&place, &["run", "--run-id", "live", "--record", "calls.jsonl", "--max-calls", "8"]);
    assert_eq!(result.code, 5, "{}", result.all());
    // As a kill leaves it: the last line was cut off.
    let recording = place.path().join("calls.jsonl");
    let begun = std::fs::read_to_string(&recording).unwrap();
    std::fs::write(&recording, format!("{begun}{{\"key\":")).unwrap();
    let result = karat(&place, &["resume", "live", "--max-calls", "20"]);
    assert_eq!((result.code, provider.requests()), (0, 20), "{}", result.all());
    assert_eq!(std::fs::read_to_string(&recording).unwrap().lines().count(), 1 + 20);
    drop(provider);
    place.succeed(&["run", "--run-id", "again", "--replay", "calls.jsonl"]);
    assert_eq!(place.report("again")["totals"]["errors"], 0);
}

/// CL-25: a run that is refused or gets no reply leaves a recording unchanged, and a file that is not a recording is
/// never replaced.
#[test]
fn a_recording_is_lost_to_no_other_run() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = recorded(&provider);
    let recording = place.text("calls.jsonl");
    for (arguments, code, why) in [
        (&["run", "--run-id", "live", "--record", "calls.jsonl"][..], 1, "already exists"),
        (&["run", "--max-calls", "0", "--record", "calls.jsonl"], 5, "max-calls"),
        (&["run", "--record", "data.jsonl"], 1, "is not a recording"),
        (&["run", "--record", "karat.yaml"], 1, "is not a recording"),
    ] {
        let result = karat(&place, arguments);
        assert!(result.code == code && result.stderr.contains(why), "{}", result.all());
        assert_eq!(place.text("calls.jsonl"), recording);
    }
    assert_eq!(place.text("data.jsonl"), questions(20));
    assert_eq!(place.text("karat.yaml"), suite(&provider.base_url()));
    let result = karat(&place, &["run", "--run-id", "part", "--max-calls", "8", "--record", "calls.jsonl"]);
    assert!(result.code == 5 && result.stderr.contains("calls.jsonl.part.part"), "{}", result.all());
    assert_eq!(place.text("calls.jsonl"), recording);
    let result = karat(&place, &["resume", "part", "--max-calls", "20"]);
    assert_eq!(result.code, 0, "{}", result.all());
    assert_eq!(place.text("calls.jsonl").lines().count(), 1 + 20);
    assert!(!place.path().join("calls.jsonl.part.part").exists());
}

/// CL-25: the parts of a run stand in one recording: one that was moved away is asked for.
#[test]
fn a_moved_recording_is_asked_for() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = twenty(&provider);
    karat(&place, &["run", "--run-id", "live", "--record", "calls.jsonl", "--max-calls", "8"]);
    std::fs::rename(place.path().join("calls.jsonl"), place.path().join("moved.jsonl")).unwrap();
    let result = karat(&place, &["resume", "live", "--max-calls", "20"]);
    assert!(result.code == 1 && result.stderr.contains("calls.jsonl is gone"), "{}", result.all());
    assert_eq!(provider.requests(), 8);
    let result = karat(&place, &["resume", "live", "--max-calls", "20", "--record", "moved.jsonl"]);
    assert_eq!((result.code, provider.requests()), (0, 20), "{}", result.all());
    assert_eq!(place.text("moved.jsonl").lines().count(), 1 + 20);
}

/// CL-25: an unfinished recording of the same name is reported with the next step; a recording that starts with the
/// second part of a run says that the first is missing.
#[test]
fn incomplete_recordings_are_reported() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = recorded(&provider);
    place.write("calls.jsonl.nightly.part", "{\"schema\":\"karat.recording/1\"}\n");
    let result = karat(&place, &["run", "--run-id", "nightly", "--no-cache", "--record", "calls.jsonl"]);
    assert!(
        result.code == 1 && result.stderr.contains("calls.jsonl.nightly.part belongs to the unfinished run"),
        "{}",
        result.all()
    );
    assert!(result.stderr.contains("move") && !result.stderr.contains("File exists"), "{}", result.all());

    let result = karat(&place, &["run", "--run-id", "late", "--no-cache", "--max-calls", "8"]);
    assert_eq!(result.code, 5, "{}", result.all());
    let result = karat(&place, &["resume", "late", "--max-calls", "20", "--record", "late.jsonl"]);
    assert!(result.code == 0 && result.stderr.contains("from now on"), "{}", result.all());
    assert_eq!(place.text("late.jsonl").lines().count(), 1 + 12);
}

/// A suite whose rows take four calls each: a step that two variants share, a step behind it, and a judge of both.
fn judged(provider: &FakeProvider, rows: usize) -> Place {
    let place = Place::new();
    place.write("data.jsonl", &questions(rows));
    let url = provider.base_url();
    let text = suite(&url)
        .replace("} ] }\nscorers", "} ], two: [ { use: direct }, { id: edit, prompt: { text: \"Edit {{ output }}\" } } ] }\nscorers")
        .replace(
            "scorers: { hit: { metric: contains } }",
            &format!(
                "judges: [ {{ id: j, provider: openai, model: judge, base_url: \"{url}\", price: {{ input: 1.0, output: 1.0 }} }} ]\n\
                 scorers: {{ q: {{ rubric: {{ ask: Is it good?, dimensions: {{ good: {{ scale: [1, 5] }} }}, \
                 show: {{ output: \"{{{{ output }}}}\" }} }} }} }}"
            ),
        );
    place.write("karat.yaml", &text);
    place
}

/// Answers a judged suite, after some milliseconds.
fn judging(milliseconds: u64) -> Script {
    Script::by(move |received| {
        let request = received.json();
        match request["model"] == "judge" {
            true => Behaviour::slow(milliseconds, r#"{"reasoning": "It is fine.", "good": 4}"#),
            false => Behaviour::slow(milliseconds, format!("Well: {}", request["messages"][0]["content"])),
        }
    })
}

/// Replays the recording and finds every call in it.
fn is_whole(place: &Place, run: &str) {
    place.succeed(&["run", "--run-id", run, "--replay", "calls.jsonl"]);
    let totals = place.report(run)["totals"].clone();
    assert_eq!((&totals["errors"], &totals["unscored"]), (&0.into(), &0.into()), "{totals}");
}

/// CL-25, BY-04: a recorded run that was killed resumes with its own results, and reuses none of a run that came in
/// between.
#[test]
fn a_resumed_recording_takes_nothing_from_a_run_in_between() {
    for others in [&["run", "--run-id", "other"][..], &["run", "--run-id", "other", "--no-cache"]] {
        let provider = FakeProvider::start(judging(10)).unwrap();
        let place = judged(&provider, 30);
        let recorded = ["run", "--run-id", "r", "--record", "calls.jsonl", "-q", "-j", "4"];
        let mut child = place.command(&recorded).stdout(Stdio::null()).spawn().unwrap();
        while provider.requests() < 50 && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let before = provider.requests();
        assert!((50..115).contains(&before), "{before}");
        place.succeed(others);
        let between = provider.requests();
        let result = place.succeed(&["resume", "r"]);
        let own = before + provider.requests() - between;
        assert!((120..=124).contains(&own), "{own} calls, {before} of them before the kill: {}", result.all());
        assert!((121..=125).contains(&place.text("calls.jsonl").lines().count()));
        is_whole(&place, "again");
    }
}

/// CL-25, BY-06: concurrent runs without a cache reuse nothing from each other.
#[test]
fn recordings_at_once_take_nothing_from_each_other() {
    let provider = FakeProvider::start(judging(2)).unwrap();
    let place = judged(&provider, 60);
    let runs = [&["--run-id", "a", "--record", "calls.jsonl"][..], &["--run-id", "b", "--no-cache"]];
    let start = |arguments: &[&str]| {
        let mut command = place.command(&[&["run", "-j", "4"], arguments].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    for process in runs.map(start) {
        let result = CommandOutput::of(process.wait_with_output().unwrap());
        assert_eq!(result.code, 0, "{}", result.all());
    }
    assert_eq!((provider.requests(), place.text("calls.jsonl").lines().count()), (2 * 240, 1 + 240));
    assert_eq!([place.report("a")["totals"]["cached"].clone(), place.report("b")["totals"]["cached"].clone()], [0, 0]);
    is_whole(&place, "again");
}

/// CL-25: `retry` of a recorded run calls for what failed, though another run has made it since.
#[test]
fn a_retried_recording_takes_nothing_from_another_run() {
    let is_down = Arc::new(AtomicBool::new(true));
    let down = is_down.clone();
    let provider = FakeProvider::start(Script::by(move |_| match down.load(Ordering::Relaxed) {
        true => Behaviour::server_error(),
        false => Behaviour::ok("answer"),
    }))
    .unwrap();
    let place = twenty(&provider);
    let result = place.karat(&["run", "--run-id", "r", "--record", "calls.jsonl", "--retries", "0"]);
    let failed = provider.requests();
    assert!(result.code == 1 && failed >= 4, "{failed}: {}", result.all());
    is_down.store(false, Ordering::Relaxed);
    place.succeed(&["run", "--run-id", "other"]);
    place.succeed(&["retry", "r"]);
    assert_eq!(provider.requests(), failed + 40);
    is_whole(&place, "again");
}
