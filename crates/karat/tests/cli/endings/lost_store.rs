//! A store that is deleted, and files that killed processes leave.

use testkit::{Behaviour, Echo, FakeProvider, RequestLog, Script};

use crate::place::{Place, questions, suite};

/// A store that is deleted under a run ends the run at the next answer, and the message says that its results are gone.
#[test]
fn a_deleted_store_ends_the_run() {
    const CELLS: usize = 200;
    let place = Place::new();
    let store = place.path().join(".karat/karat.db");
    let script = {
        let store = store.clone();
        Script::by(move |received| {
            if received.number == 50 {
                std::fs::remove_file(&store).unwrap();
            }
            Behaviour::ok("answer")
        })
    };
    let provider = FakeProvider::start_on(0, script, RequestLog::Counts).unwrap();
    place.write("data.jsonl", &questions(CELLS));
    place.write("karat.yaml", &suite(&provider.base_url()));
    let result = place.karat(&["run", "-q", "-j", "4"]);
    assert_eq!(result.code, 1, "{}", result.all());
    assert!(
        result.stderr.contains("was deleted or replaced") && result.stderr.contains("run the suite again"),
        "{}",
        result.all()
    );
    assert!(provider.requests() <= 60, "{} calls", provider.requests());
}

/// Where only the log of changes is left of a store, `ls` is an error and not an empty list.
#[test]
fn a_log_without_its_store_is_not_an_empty_list() {
    let place = Place::new();
    place.write(".karat/karat.db-wal", "changes");
    for arguments in [&["ls"][..], &["report"], &["run", "claims", "--limit", "1"]] {
        let result = place.karat(arguments);
        assert!(result.code == 1 && result.stderr.contains("karat.db-wal is there"), "{arguments:?}: {}", result.all());
    }
    assert_eq!(place.text(".karat/karat.db-wal"), "changes");
}

/// The parts of files that a killed `report` was writing are removed by the next one, whatever its formats.
#[test]
fn parts_of_a_killed_report_are_removed() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(2));
    place.write("karat.yaml", &suite(&provider.base_url()));
    place.succeed(&["run", "--run-id", "a", "-o", "out"]);
    // No process has this number.
    for name in [".report.json.999999999-0a.part", ".report.html.999999999-0b.part", "mine.part"] {
        place.write(&format!("out/{name}"), "half");
    }
    place.succeed(&["report", "a", "--format", "md", "-o", "out"]);
    let files = std::fs::read_dir(place.path().join("out")).unwrap().flatten();
    let parts: Vec<_> =
        files.map(|file| file.file_name()).filter(|name| name.to_string_lossy().ends_with(".part")).collect();
    assert_eq!(parts, ["mine.part"], "files of others stay");
}
