//! What `cargo xtask soak scale` does with a million cells, in small.

use std::time::Duration;

use testkit::{Echo, FakeProvider, Memory, Script};

use crate::place::{Place, questions, suite};

const CELLS: usize = 20_000;

/// Peak of resident memory that such a run may take, in KiB.
const MOST: u64 = 150 * 1024;

/// PE-21, PE-24, BY-09: memory is bounded, and above ten thousand cells they stand in a file of their own.
#[test]
fn many_cells_take_little_memory() {
    let provider = FakeProvider::start_on(0, Script::echo(Echo::default()), Memory::Counts).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(CELLS));
    place.write("karat.yaml", &suite(&provider.base_url()));
    let mut command = place.command(&["run", "-q", "--run-id", "a", "--format", "json", "-o", "reports"]);
    let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let ended = loop {
        peak = peak_of(&status).max(peak);
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(ended.success());
    assert!(peak < MOST, "{peak} KiB");
    assert_eq!((provider.requests(), provider.duplicates()), (CELLS, 0));
    let report = std::fs::read_to_string(place.path().join("reports/report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["cells_file"]["n"], CELLS);
    let cells = std::fs::read_to_string(place.path().join("reports/cells.jsonl")).unwrap();
    assert_eq!(cells.lines().count(), CELLS);
}

/// 0 where the system does not say.
fn peak_of(status: &str) -> u64 {
    let text = std::fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
