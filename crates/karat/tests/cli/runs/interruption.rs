//! Ctrl-C, and other ways in which a run does not end by itself.

use std::process::{Command, Stdio};
use std::time::Duration;

use testkit::{Echo, FakeProvider, Script};

use crate::place::{CommandOutput, Place, questions, suite};

/// CL-04: Ctrl-C says how to resume; what was paid is kept, and resume makes the rest only, where the first part would
/// have written its report.
#[test]
fn ctrl_c_says_how_to_resume() {
    interrupted_by("-INT");
}

/// CL-04: a service manager's signal is as good as Ctrl-C.
#[test]
fn sigterm_stops_a_run_like_ctrl_c() {
    interrupted_by("-TERM");
}

fn interrupted_by(signal: &str) {
    let provider =
        FakeProvider::start(Script::echo(Echo { latency: Duration::from_millis(100), ..Echo::default() })).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(150));
    place.write("karat.yaml", &suite(&provider.base_url()));
    let child = place
        .command(&["run", "--run-id", "a", "-j", "4", "-o", "reports"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while provider.requests() < 8 {
        std::thread::sleep(Duration::from_millis(5));
    }
    Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    let result = CommandOutput::of(child.wait_with_output().unwrap());
    assert_eq!(result.code, 130, "{}", result.all());
    assert!(result.stderr.contains("karat resume a"), "{}", result.stderr);
    assert!(provider.requests() < 150);
    std::fs::remove_dir_all(place.path().join("reports")).unwrap();
    place.succeed(&["resume", "a"]);
    assert!(place.path().join("reports/report.md").exists());
    assert_eq!((provider.requests(), provider.duplicates()), (150, 0));
}

/// A run id belongs to one run; another plan is refused with what changed.
#[test]
fn resume_requires_the_same_plan() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(5));
    place.write("karat.yaml", &suite(&provider.base_url()));
    place.succeed(&["run", "--run-id", "a"]);
    let again = place.karat(&["run", "--run-id", "a"]);
    assert_eq!(again.code, 1, "{}", again.all());
    assert!(again.stderr.contains("exists"), "{}", again.stderr);
    place.write("data.jsonl", &questions(6));
    let changed = place.karat(&["run", "--run-id", "a", "--resume"]);
    assert_eq!(changed.code, 1, "{}", changed.all());
    assert!(changed.stderr.contains("dataset"), "{}", changed.stderr);
    let fresh = place.succeed(&["run", "--resume"]);
    assert!(fresh.stderr.contains("no unfinished run"), "{}", fresh.stderr);
}
