//! `karat serve` and `karat token`: who may ask, and where secrets are.

use std::path::Path;

use crate::place::Place;
use crate::server::served::Served;

/// All bytes below a folder.
fn bytes_below(folder: &Path) -> Vec<u8> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { bytes_below(&path) } else { std::fs::read(&path).unwrap() }).collect()
}

/// SV-08: a token is printed once and stored nowhere; the list says when it was used; revoking it works without a restart.
#[test]
fn a_token_is_shown_once_and_revoked_at_once() {
    let place = Place::new();
    let created = place.succeed(&["token", "create", "--role", "run", "--name", "ci", "--expires", "90d"]);
    let token = created.stdout.trim();
    assert!(token.starts_with("karat_") && !created.stderr.contains(token), "{}", created.all());
    let served = Served::start(&place, &[]);
    let bearer = format!("Authorization: Bearer {token}\r\n");
    assert_eq!(served.ask("GET /eval/runs", "", "").0, 401);
    assert_eq!(served.ask("GET /eval/runs", &bearer, "").0, 200);
    let secret = token.splitn(3, '_').nth(2).unwrap();
    let stored = bytes_below(&place.path().join(".karat"));
    assert!(!stored.windows(20).any(|window| window == &secret.as_bytes()[..20]));

    let list: serde_json::Value = serde_json::from_str(&place.succeed(&["token", "ls", "--json"]).stdout).unwrap();
    assert_eq!(
        (&list[0]["name"], &list[0]["role"], &list[0]["status"]),
        (&"ci".into(), &"run".into(), &"active".into())
    );
    assert!(list[0]["last_used_at"].is_string() && list[0]["expires_at"].is_string());
    let id = list[0]["id"].as_str().unwrap();
    let rotated = place.succeed(&["token", "rotate", id, "--grace", "1h"]).stdout;
    assert_eq!(served.ask("GET /eval/runs", &bearer, "").0, 200, "the old one has an hour");
    place.succeed(&["token", "revoke", id]);
    assert_eq!(served.ask("GET /eval/runs", &bearer, "").0, 401);
    let bearer = format!("Authorization: Bearer {}\r\n", rotated.trim());
    assert_eq!(served.ask("GET /eval/runs", &bearer, "").0, 200);
    assert_eq!(place.karat(&["token", "revoke", "nope"]).code, 1);
    assert_eq!(served.end(), Some(0));
}

/// A server that cannot have a store says so when it is started, not at the first request.
#[test]
fn a_server_without_a_place_for_its_store_does_not_start() {
    let place = Place::new();
    place.write("file", "");
    let refused = place.karat(&["serve", "--listen", "127.0.0.1:0", "--store", "sqlite:file/karat.db"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""), "{}", refused.all());
    assert!(refused.stderr.contains("cannot open the store"), "{}", refused.all());
}

/// SV-09: without a token, only this machine is served.
#[test]
fn other_machines_need_a_token_first() {
    let place = Place::new();
    let refused = place.karat(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""), "{}", refused.all());
    assert!(refused.stderr.contains("karat token create"), "{}", refused.all());
}

/// RG-12, SV-02, SV-10: a suite below the root runs over HTTP; the state stays in the folder of the command.
#[test]
fn a_suite_below_the_root_runs() {
    let place = Place::new();
    place.succeed(&["init", "faq", "suites/faq"]);
    let served = Served::start(&place, &["--root", "suites"]);
    let json = "Content-Type: application/json\r\n";
    let (status, answer) = served.ask("POST /eval/run", json, r#"{"suite": "./faq", "run_id": "mine"}"#);
    assert_eq!(status, 202, "{answer}");
    let ended = (0..400).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(25));
        served.ask("GET /eval/runs/mine", "", "").1.contains("\"status\":\"completed\"")
    });
    assert!(ended, "{}", served.ask("GET /eval/runs/mine", "", "").1);
    let (status, answer) = served.ask("POST /eval/run", json, r#"{"suite": "../.karat"}"#);
    assert!(status == 403 && answer.contains("outside-root"), "{answer}");
    assert_eq!(served.end(), Some(0));
    assert!(place.succeed(&["ls"]).stdout.contains("mine"));
    assert!(!place.path().join("suites/.karat").exists());
}

/// SV-21, SV-22: what an application sends is scored by a suite as the rows of its day, and removed by person.
#[test]
fn traces_are_scored_as_the_rows_of_their_day() {
    let place = Place::new();
    let suite = "name: live\ndataset: { source: \"traces:faq\", days: 1 }\nvariants:\n  live:\n    - recorded: { column: output, missing: skip }\n      meter: { latency_ms: { call: latency_ms } }\nscorers:\n  short: { metric: length, max: 6 }\n  latency: { metric: latency, with: { stage: call } }\n";
    place.write("live/karat.yaml", suite);
    let served = Served::start(&place, &[]);
    let line = |n: u32, output: &str| {
        format!(
            "{{\"input\":\"q{n}\",\"output\":{output},\"time\":\"2026-03-01T0{n}:00:00Z\",\"latency_ms\":250,\"metadata\":{{\"user\":\"u{n}\",\"error\":\"429\"}}}}\n"
        )
    };
    let lines = line(1, "\"short\"") + &line(2, "\"much too long\"") + &line(3, "null");
    let (status, answer) = served.ask("POST /traces?dataset=faq", "Content-Type: application/x-ndjson\r\n", &lines);
    assert!(status == 200 && answer.contains("\"accepted\":3"), "{answer}");
    assert_eq!(served.end(), Some(0));

    let run = place.succeed(&["run", "live", "--as-of", "2026-03-01", "--run-id", "day"]);
    assert!(run.all().contains("cells 3 of 3, 0 failed, 0 unscored, 1 skipped"), "{}", run.all());
    let report = place.report("day");
    assert_eq!(report["cells"][0]["scores"]["latency"]["value"], 250.0, "{}", report["cells"][0]);
    let list: serde_json::Value = serde_json::from_str(&place.succeed(&["traces", "ls", "--json"]).stdout).unwrap();
    assert_eq!((&list[0]["name"], &list[0]["rows"]), (&"faq".into(), &3.into()));
    // F73: a command lists the newest calls, and reads one trace whole.
    let listed = place.succeed(&["traces", "show", "faq", "-n", "2"]);
    let (newest, older) = (listed.stdout.find("q3").unwrap(), listed.stdout.find("much too long").unwrap());
    assert!(newest < older && listed.stdout.contains("failed: 429"), "{}", listed.all());
    assert!(listed.stderr.contains("1 call of 2026-03-01 not listed"), "{}", listed.all());
    let rows: serde_json::Value =
        serde_json::from_str(&place.succeed(&["traces", "show", "faq", "--json"]).stdout).unwrap();
    let id = rows[2]["trace_id"].as_str().unwrap();
    let trace = place.succeed(&["traces", "show", "faq", &id[..12]]).stdout;
    assert!(trace.contains("[input]\nq1\n[failed]\n429"), "{trace}");
    let none = place.karat(&["traces", "show", "faq", "zzzz"]);
    assert!(none.code == 1 && none.stderr.contains("`karat traces show faq` lists the newest"), "{}", none.all());
    let removed = place.succeed(&["traces", "rm", "--match", "metadata.user=u1"]);
    assert!(removed.stderr.contains("removed 1 row"), "{}", removed.all());
    assert_eq!(place.karat(&["run", "live", "--as-of", "2026-03-02"]).code, 1);
}
