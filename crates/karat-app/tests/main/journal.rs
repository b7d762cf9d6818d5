//! The records that earlier versions wrote into the journal.

use std::sync::Arc;

use karat_app::{App, CallRecording, DriftRequest, DriftStatus, Execution, Invocation, Overrides, Stop};
use karat_store::{JournalEntry, Store, StoreUrl};
use karat_types::{Clock, Moment, SilentObserver};
use serde_json::json;

struct Still;

impl Clock for Still {
    fn now(&self) -> Moment {
        Moment(1_795_000_000_000)
    }
}

/// BR-13, law 7: an alert that was raised when all systems were one series still stands where there is one system.
#[test]
fn an_alert_without_a_system_stands() {
    let folder = testkit::scratch().unwrap();
    let store = StoreUrl::in_folder(folder.path());
    let app = App {
        store: store.clone(),
        home: folder.path().to_owned(),
        lookup: Arc::new(|_| None),
        clock: Arc::new(Still),
        own_program: None,
        opened: karat_app::Session::default(),
    };
    let invocation =
        Invocation { overrides: Overrides { limit: Some(20), ..Overrides::default() }, ..Invocation::of("briefing") };
    let execution = Execution {
        run_id: Some("a".to_owned()),
        resume: false,
        observer: Arc::new(SilentObserver),
        stop: Stop::default(),
        tape: CallRecording::None,
    };
    app.run(app.load(&invocation).unwrap().plan, &invocation, execution).unwrap();
    let body = json!({
        "rule": {
            "analysis": "drift", "judge": null, "prompt_version": null,
            "options": {
                "metric": "quality.composite", "method": "median_mad", "short": 7, "long": 30, "z": 1.5, "streak": 2, "floor": 0.05,
                "min_short": 3, "min_long": 7, "k": null, "h": null, "lambda": null, "limit": null, "worse": null,
            },
        },
        "as_of": "2026-03-18",
        "alerts": [{ "day": "2026-03-18", "short_median": 1.0, "long_median": 3.45, "z": -3.27, "n_short": 7, "n_long": 18 }],
        "series": [],
    });
    Store::open(&store)
        .unwrap()
        .add_journal_entry("briefing", "drift_alert", &JournalEntry { at: Moment(0), body })
        .unwrap();
    let drift = |as_of: &str| {
        let asked = DriftRequest { as_of: Some(as_of.to_owned()), ..DriftRequest::default() };
        app.drift(&invocation, &asked).unwrap()
    };
    let found = drift("2026-03-18");
    let one = found.iter().next().unwrap();
    assert_eq!((found.status(), one.drift.alerts[0].z), (DriftStatus::Alert, -3.27));
    assert_eq!(one.drift.system.as_deref(), Some("published"));
    assert_eq!(drift("2026-03-17").status(), DriftStatus::Ok);
}
