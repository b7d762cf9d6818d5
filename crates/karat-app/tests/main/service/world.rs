//! A suite in a folder, a clock that the test sets, and a receiver of alerts.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use karat_app::{App, CallRecording, DueRunEnd, DueState, Execution, Session, Stop, StoreUrl};
use karat_types::{Clock, Moment, SilentObserver};
use serde_json::Value;
use testkit::{Behaviour, FakeProvider, Scratch, Script};

pub(super) const SECRET: &str = "whsec_a2FyYXQtdGVzdC1zZWNyZXQtMDEyMzQ1Njc4OWFiY2Q=";

/// The first night: 2027-03-01T01:30Z, 02:30 in Berlin.
pub(super) const FIRST_DUE: &str = "2027-03-01T01:30:00Z";

const SUITE: &str = r#"schema: karat.suite/1
name: support
dataset: { source: data.jsonl, id: id, input: question, reference: target, date: day, days: 1, zone: Europe/Berlin }
variants: { published: [ { recorded: { column: answer } } ] }
scorers: { hit: { metric: contains } }
analyses:
  - { analysis: drift, with: { metric: hit, method: median_mad, short: 1, long: 14, z: 3, streak: 1, floor: 0.05, min_short: 1, min_long: 5 } }
gates: [ { metric: hit, min: 60%, decide: point } ]
schedules:
  nightly: { cron: "30 2 * * *", zone: Europe/Berlin, report: [json] }
alerts:
  oncall:
    send: webhook
    with: { url: "${HOOK}", secret: "${HOOK_SECRET}" }
    events: [gate_failed, drift, run_failed, schedule_missed]
    quiet: 0
"#;

/// A clock that the test sets.
pub(super) struct TestClock(AtomicI64);

impl Clock for TestClock {
    fn now(&self) -> Moment {
        Moment(self.0.load(Ordering::SeqCst))
    }
}

/// A folder with a suite, and the world around it.
pub(super) struct World {
    pub folder: Scratch,
    pub clock: Arc<TestClock>,
    pub receiver: FakeProvider,
    hook: String,
}

impl World {
    pub fn new(receiver: impl Into<Script>) -> Self {
        let folder = testkit::scratch().unwrap();
        fs::write(folder.path().join("karat.yaml"), SUITE).unwrap();
        let receiver = FakeProvider::start(receiver).unwrap();
        let hook = format!("{}/hook-path-9f8e7d", receiver.url());
        let world = Self { folder, clock: Arc::new(TestClock(AtomicI64::new(0))), receiver, hook };
        world.write_days(-20..20, |_| 9);
        world.set_time(FIRST_DUE);
        world
    }

    pub fn accepting() -> Self {
        Self::new(Behaviour::raw(200, "{}"))
    }

    pub fn suite(&self) -> String {
        self.folder.path().join("karat.yaml").display().to_string()
    }

    pub fn edit(&self, from: &str, to: &str) {
        let path = self.folder.path().join("karat.yaml");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{from}");
        fs::write(path, text.replace(from, to)).unwrap();
    }

    pub fn set_time(&self, time: &str) {
        let time: jiff::Timestamp = time.parse().unwrap();
        self.clock.0.store(time.as_millisecond(), Ordering::SeqCst);
    }

    pub fn advance(&self, milliseconds: i64) {
        self.clock.0.fetch_add(milliseconds, Ordering::SeqCst);
    }

    /// Writes ten rows for each of these days, counted from the day that the first night is about, of which so many have
    /// a good answer.
    pub fn write_days(&self, days: std::ops::Range<i64>, good: impl Fn(i64) -> usize) {
        let first: jiff::civil::Date = "2027-02-28".parse().unwrap();
        let mut rows = String::new();
        for day in days {
            let date = first.checked_add(jiff::Span::new().days(day)).unwrap();
            for row in 0..10 {
                let answer = if row < good(day) { "it is Paris" } else { "<!channel> no idea \u{202e}" };
                let id = format!("{date}-{row}");
                let row = serde_json::json!({ "id": id, "day": date.to_string(), "question": "capital of France?",
                    "target": "Paris", "answer": answer });
                writeln!(rows, "{row}").unwrap();
            }
        }
        fs::write(self.folder.path().join("data.jsonl"), rows).unwrap();
    }

    /// An app as in a process of its own.
    pub fn app(&self) -> App {
        let home = self.folder.path().join(".karat");
        let hook = self.hook.clone();
        let lookup = move |name: &str| match name {
            "HOOK" => Some(hook.clone()),
            "HOOK_SECRET" => Some(SECRET.to_owned()),
            _ => None,
        };
        App {
            store: StoreUrl::in_folder(&home),
            home,
            lookup: Arc::new(lookup),
            clock: self.clock.clone(),
            own_program: None,
            opened: Session::default(),
        }
    }

    /// Runs the due time of this moment, as `karat schedule run` does, and sends what is due.
    pub fn night(&self, app: &App) -> DueRunEnd {
        let due = app.service().due_run(&self.suite(), "nightly", None).unwrap();
        assert_eq!(app.service().claim_due_run(&due).unwrap(), DueState::New);
        let ended = app.service().run_due(&due, execution()).unwrap();
        assert!(ended.failure.is_none(), "{:?}", ended.failure);
        app.service().deliver_due().unwrap();
        ended
    }

    /// The types, events and suites of all messages that arrived.
    pub fn received(&self) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let read = |body: Value| (text(&body["type"]), text(&body["data"]["event"]));
        self.receiver.received_requests().iter().map(|request| read(request.json())).collect()
    }

    /// Returns whether a text is in any file below the folder, but the suite.
    pub fn is_stored(&self, text: &str) -> bool {
        holds(&self.folder.path().join(".karat"), text)
    }
}

pub(super) fn execution() -> Execution {
    Execution {
        run_id: None,
        resume: false,
        observer: Arc::new(SilentObserver),
        stop: Stop::default(),
        tape: CallRecording::None,
    }
}

fn holds(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).unwrap().map(Result::unwrap).any(|entry| match entry.path() {
        path if path.is_dir() => holds(&path, text),
        path => {
            let bytes = fs::read(path).unwrap();
            bytes.windows(text.len()).any(|window| window == text.as_bytes())
        }
    })
}
