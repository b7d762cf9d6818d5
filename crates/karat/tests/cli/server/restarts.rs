//! Servers that are killed: their runs go on, nothing is asked for twice, and copies of their stores are whole.

use std::time::Duration;

use testkit::{Echo, FakeProvider, Script};

use crate::place::{Place, questions, suite};
use crate::server::served::Served;

const JSON: &str = "Content-Type: application/json\r\n";

fn provider() -> FakeProvider {
    let latency = Duration::from_millis(20);
    FakeProvider::start(Script::echo(Echo { latency, ..Echo::default() })).unwrap()
}

fn bench(provider: &FakeProvider, cells: usize) -> Place {
    let place = Place::new();
    place.write("data.jsonl", &questions(cells));
    place.write("karat.yaml", &suite(&provider.base_url()));
    place
}

/// SV-04, SV-07: a server that is killed again and again completes its run; the calls that are made twice are bounded by
/// those in flight, and the report is that of the command line. `KARAT_TEST_KILLS` sets the number of kills.
#[test]
fn a_killed_server_completes_its_run() {
    let kills: u64 = std::env::var("KARAT_TEST_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(5);
    let cells = 60 * usize::try_from(kills).unwrap() + 500;
    let provider = provider();
    let place = bench(&provider, cells);
    let key = format!("{JSON}Idempotency-Key: k\r\n");
    let body = r#"{"suite": "karat.yaml", "run_id": "r"}"#;
    let mut done = 0;
    for kill in 0..kills {
        let served = Served::start(&place, &[]);
        let (status, answer) = served.ask("POST /eval/run", &key, body);
        assert_eq!(status, 202, "{answer}");
        assert_eq!(answer.to_lowercase().contains("idempotency-replayed: true"), kill > 0, "{answer}");
        // The first kill may come before the first call. Later ones come behind a new row, at different moments: a server
        // that is killed three times without one leaves its run alone.
        if kill > 0 {
            done = served.wait_for_more("r", done);
        }
        std::thread::sleep(Duration::from_millis(kill * 37 % 211));
        served.kill();
    }
    let served = Served::start(&place, &[]);
    served.wait_for("r", "completed");
    assert_eq!(served.ask("POST /eval/run", JSON, body).0, 409, "the id is taken");
    assert_eq!(served.end(), Some(0));
    let made = provider.requests();
    assert!(made <= cells + 16 * usize::try_from(kills).unwrap(), "{made} calls for {cells} cells and {kills} kills");
    let canonical = place.canonical("r");
    let other = bench(&provider, cells);
    other.succeed(&["run", "--run-id", "r", "--yes"]);
    assert!(canonical == other.canonical("r"), "the report differs from that of the command line");
}

/// SV-27: a copy that is made while a run writes holds what was there at one moment; its run is resumed from it.
#[test]
fn a_copy_of_a_running_store_is_resumed() {
    let provider = provider();
    let place = bench(&provider, 800);
    let served = Served::start(&place, &[]);
    assert_eq!(served.ask("POST /eval/run", JSON, r#"{"suite": "karat.yaml", "run_id": "r"}"#).0, 202);
    served.wait_for("r", "running");
    place.succeed(&["store", "backup", "copy.db"]);
    assert_eq!(place.karat(&["store", "backup", "copy.db"]).code, 1, "a copy is not replaced");
    served.kill();
    let other = bench(&provider, 800);
    let copy = place.path().join("copy.db").display().to_string();
    other.succeed(&["store", "restore", &copy]);
    assert_eq!(other.karat(&["store", "restore", &copy]).code, 1, "a store is not replaced");
    other.succeed(&["store", "check"]);
    other.succeed(&["resume", "r"]);
    let whole = bench(&provider, 800);
    whole.succeed(&["run", "--run-id", "r", "--yes"]);
    assert!(other.canonical("r") == whole.canonical("r"), "the report differs from that of a run without a copy");
}

/// HU-04: a label whose submit was answered is there after `kill -9`.
#[test]
fn an_answered_label_outlives_a_kill() {
    let place = Place::new();
    let rows = (0..5).map(|at| format!("{{\"id\": \"s{at}\", \"output\": \"text {at}\"}}\n"));
    place.write("rows.jsonl", &rows.collect::<String>());
    place.write("questions.yaml", "[{ id: good, ask: Good?, kind: scale, scale: [1, 5], step: 1 }]");
    let create = ["annotate", "create", "--dataset", "rows.jsonl", "--questions", "questions.yaml", "--task", "t"];
    place.succeed(&create);
    for kill in 0..5 {
        let served = Served::start(&place, &[]);
        let (status, next) = served.ask("POST /annotations/t/next?as=ann", JSON, "{}");
        assert_eq!(status, 200, "{next}");
        let body: serde_json::Value = serde_json::from_str(next.split_once("\r\n\r\n").unwrap().1).unwrap();
        let label = format!("{{\"item\": {}, \"answers\": {{\"good\": {}}}}}", body["item"]["id"], kill % 5 + 1);
        let (status, answer) = served.ask("POST /annotations/t/labels?as=ann", JSON, &label);
        served.kill();
        assert_eq!(status, 200, "{answer}");
        let audit = place.succeed(&["annotate", "export", "t", "--audit"]).stdout;
        assert_eq!(audit.lines().count(), kill + 2, "{audit}");
    }
}
