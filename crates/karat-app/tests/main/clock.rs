//! Clocks that jump.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use karat_app::{App, Invocation, Overrides, RunEnd};
use karat_store::StoreUrl;
use karat_types::{Clock, Moment, ReportFormat, RunStatus};

use crate::place::execution;

const NOW: i64 = 1_795_000_000_000;
const TEN_YEARS: i64 = 315_360_000_000;

/// A clock that is set back and forth by years between two looks.
#[derive(Default)]
struct Jumping(AtomicUsize);

impl Clock for Jumping {
    fn now(&self) -> Moment {
        let jumps = [0, -TEN_YEARS, TEN_YEARS, -TEN_YEARS / 2];
        Moment(NOW + jumps[self.0.fetch_add(1, Ordering::Relaxed) % jumps.len()])
    }
}

fn app(folder: &Path) -> App {
    App {
        store: StoreUrl::in_folder(folder),
        home: folder.to_owned(),
        lookup: Arc::new(|_| None),
        clock: Arc::new(Jumping::default()),
        own_program: None,
        opened: karat_app::Session::default(),
    }
}

fn run(app: &App, id: &str) -> RunEnd {
    let invocation =
        Invocation { overrides: Overrides { limit: Some(1), ..Overrides::default() }, ..Invocation::of("claims") };
    app.runs().run(app.runs().load(&invocation).unwrap(), &invocation, execution(id)).unwrap()
}

/// BY-04: a machine whose clock jumps by years loses nothing, makes nothing twice, and its runs can be reported.
#[test]
fn a_clock_that_jumps_changes_no_result() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let first = run(&app, "a");
    assert!(first.status == RunStatus::Finished && first.calls > 0);
    let second = run(&app, "b");
    assert_eq!(
        (second.status, second.calls),
        (RunStatus::Finished, 0),
        "what is there is taken over, whatever its age"
    );
    let report = |run, format, canonical| {
        let mut report = Vec::new();
        app.reports().export(run, format, karat_app::Outputs::default(), canonical, &mut report).unwrap();
        String::from_utf8(report).unwrap()
    };
    for format in [ReportFormat::Json, ReportFormat::Markdown, ReportFormat::Html] {
        let text = report("b", format, false);
        // Scripts and fonts of a page hold any letters; what a reader sees is in its body.
        let shown = text.split_once("<body>").map_or(text.as_str(), |(_, body)| body);
        assert!(!shown.contains("NaN"), "{shown}");
    }
    assert_eq!(report("a", ReportFormat::Json, true), report("b", ReportFormat::Json, true));
}
