//! Operations: health, metrics, logs, the supervisor.

use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::place::Place;
use crate::server::served::Served;

/// SV-24: `karat health` says by its exit code whether a server works.
#[test]
fn health_is_an_exit_code() {
    let place = Place::new();
    let served = Served::start(&place, &[]);
    let url = format!("http://{}", served.address);
    assert_eq!(place.succeed(&["health", &url]).stdout.trim(), "ok");
    assert_eq!(served.end(), Some(0));
    let down = place.karat(&["health", &url]);
    assert!(down.code == 1 && down.stderr.contains(&url), "{}", down.all());
}

/// SV-25: Prometheus's own tool finds nothing wrong with the figures of a server that has run something.
#[test]
fn promtool_accepts_the_figures() {
    let place = Place::new();
    place.succeed(&["init", "agent", "agent"]);
    let served = Served::start(&place, &["--max-runs", "1"]);
    let json = "Content-Type: application/json\r\n";
    assert_eq!(served.ask("POST /eval/run", json, r#"{"suite": "./agent", "run_id": "mine"}"#).0, 202);
    served.wait_for("mine", "completed");
    let counted = (0..400).map(|_| {
        std::thread::sleep(Duration::from_millis(25));
        served.ask("GET /metrics", "", "").1
    });
    let answer = counted.into_iter().find(|answer| answer.contains("karat_runs_total{")).unwrap();
    let text = answer.split_once("\r\n\r\n").unwrap().1;
    for name in [
        "karat_build_info{",
        "karat_cells_total{",
        "karat_calls_total{provider=\"scripted\",model=",
        "karat_call_duration_seconds_count{provider=\"scripted\",model=",
        "karat_tokens_total{provider=\"scripted\",model=",
        "karat_http_requests_total{",
        "karat_queue_depth 0",
    ] {
        assert!(text.contains(name), "{name}\n{text}");
    }
    let Ok(mut promtool) = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
    else {
        eprintln!("SKIPPED: promtool is not installed (Debian: prometheus)");
        return;
    };
    std::io::Write::write_all(&mut promtool.stdin.take().unwrap(), text.as_bytes()).unwrap();
    let result = promtool.wait_with_output().unwrap();
    let all = [result.stdout, result.stderr].concat();
    assert!(result.status.success() && all.is_empty(), "{}\n{text}", String::from_utf8_lossy(&all));
}

/// SV-26: a server tells its supervisor when it is ready, alive, and stopping.
#[test]
fn the_supervisor_is_told() {
    let place = Place::new();
    let path = place.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
    let mut server = command.env("NOTIFY_SOCKET", &path).stdout(Stdio::null()).spawn().unwrap();
    let wait_for = |state: &str| {
        let mut text = [0; 64];
        std::iter::from_fn(|| socket.recv(&mut text).ok().map(|length| text[..length].to_vec()))
            .any(|received| received == state.as_bytes())
    };
    assert!(wait_for("READY=1") && wait_for("WATCHDOG=1"));
    Command::new("kill").args(["-TERM", &server.id().to_string()]).status().unwrap();
    assert!(wait_for("STOPPING=1"));
    assert_eq!(server.wait().unwrap().code(), Some(0));
}

/// SV-26: systemd itself accepts the unit, and rates its hardening.
#[test]
fn systemd_accepts_the_unit() {
    let unit = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/karat.service");
    let text = std::fs::read_to_string(unit).unwrap();
    for line in ["Type=notify", "WatchdogSec=60", "TimeoutStopSec=40", "DynamicUser=yes", "StateDirectory=karat"] {
        assert!(text.lines().any(|own| own == line), "{line}");
    }
    let rate = Command::new("systemd-analyze").args(["security", "--offline=yes", "--threshold=25", unit]).output();
    let Ok(rated) = rate else {
        eprintln!("SKIPPED: systemd-analyze is not installed");
        return;
    };
    assert!(rated.status.success(), "{}", String::from_utf8_lossy(&rated.stdout));
    // The program of the unit is not installed here.
    let place = Place::new();
    let copy = place.write("karat.service", &text.replace("/usr/bin/karat", "/bin/true"));
    let verified = Command::new("systemd-analyze").arg("verify").arg(copy).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
}

/// SV-23: `--log json` writes a line for each request and each change of a run, without bodies and secrets.
#[test]
fn the_log_has_a_line_for_each_request() {
    let place = Place::new();
    let token = place.succeed(&["token", "create", "--role", "run", "--name", "ci"]).stdout.trim().to_owned();
    place.succeed(&["init", "faq", "faq"]);
    let served = Served::start_logged(&place, &["--log", "json"]);
    let bearer = format!("Authorization: Bearer {token}\r\nContent-Type: application/json\r\n");
    let traced = format!("{bearer}traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n");
    assert_eq!(served.ask("POST /eval/run", &traced, r#"{"suite": "./faq", "run_id": "mine"}"#).0, 202);
    let ended = (0..400).any(|_| {
        std::thread::sleep(Duration::from_millis(25));
        served.ask("GET /eval/runs/mine", &bearer, "").1.contains("\"status\":\"completed\"")
    });
    assert!(ended);
    // Refused: an unknown run, a misspelt field, and what the role does not allow.
    let reader = place.succeed(&["token", "create", "--role", "read", "--name", "eyes"]).stdout.trim().to_owned();
    let reading = format!("Authorization: Bearer {reader}\r\nContent-Type: application/json\r\n");
    assert_eq!(served.ask("GET /eval/runs/other", &bearer, "").0, 404);
    assert_eq!(served.ask("POST /eval/run", &bearer, r#"{"suit": 1}"#).0, 400);
    assert_eq!(served.ask("POST /eval/run", &reading, r#"{"suite": "./faq"}"#).0, 403);
    let log = served.end_with_log();
    let lines: Vec<serde_json::Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let start = lines.iter().find(|line| line["route"] == "/eval/run").unwrap();
    assert_eq!((&start["status"], &start["method"]), (&202.into(), &"POST".into()));
    assert!(start["id"].is_string() && start["ms"].is_f64() && start["token"].as_str().unwrap().len() == 8, "{start}");
    assert!(start["traceparent"].as_str().unwrap().starts_with("00-0af7"), "{start}");
    for refused in lines.iter().filter(|line| [404, 400, 403].iter().any(|status| line["status"] == *status)) {
        assert_eq!(refused["token"].as_str().map(str::len), Some(8), "{refused}");
    }
    for status in ["running", "completed"] {
        assert!(lines.iter().any(|line| line["run"] == "mine" && line["status"] == status), "{status}\n{log}");
    }
    assert!(!log.contains(&token[15..]) && !log.contains("./faq"), "{log}");
}
