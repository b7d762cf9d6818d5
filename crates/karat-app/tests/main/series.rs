//! The page of a dated suite over stored runs.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use karat_app::{
    App, CardFilter, Invocation, JudgeChoice, Overrides, PinRequest, RowsRequest, SeriesRequest, Session, StoreUrl,
};
use karat_store::Store;
use karat_types::{Clock, Moment};

use crate::place::execution;

/// A clock that goes on by a minute at each look.
#[derive(Default)]
struct Minutes(AtomicI64);

impl Clock for Minutes {
    fn now(&self) -> Moment {
        Moment(1_775_000_000_000 + 60_000 * self.0.fetch_add(1, Ordering::Relaxed))
    }
}

fn app(folder: &Path) -> App {
    App {
        store: StoreUrl::in_folder(folder),
        home: folder.to_owned(),
        lookup: Arc::new(|_| None),
        clock: Arc::new(Minutes::default()),
        own_program: None,
        opened: Session::default(),
    }
}

fn run(app: &App, suite: &str, id: &str, limit: u64) {
    let invocation =
        Invocation { overrides: Overrides { limit: Some(limit), ..Overrides::default() }, ..Invocation::of(suite) };
    app.runs().run(app.runs().load(&invocation).unwrap(), &invocation, execution(id)).unwrap();
}

fn page(app: &App, asked: SeriesRequest) -> String {
    let found = app.analysis().series(&asked).unwrap();
    let (links, state) = (karat_report::series::SeriesLinks::none(), karat_report::series::SeriesState::default());
    karat_report::series::document(&found.view, &links, &state).to_file()
}

fn of(suite: &str) -> SeriesRequest {
    SeriesRequest { suite: suite.to_owned(), ..SeriesRequest::default() }
}

/// DB-30, BR-16: the page shows the rows of `karat show`; axes, weights, caps, gates and drift come from the suite; looking
/// at it raises no alert.
#[test]
fn page_shows_the_stored_rows() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    run(&app, "briefing", "a", 44);
    app.analysis().golden_pin(&Invocation::of("briefing"), &PinRequest::default()).unwrap();
    let found = app.analysis().series(&of("briefing")).unwrap();
    assert!(found.notices.is_empty(), "{:?}", found.notices);
    let rows = app.analysis().history(&RowsRequest { suite: "briefing".to_owned(), ..RowsRequest::default() }).unwrap();
    let rows: Vec<_> = rows.history.rows().collect();
    assert_eq!(found.view.cards.len(), rows.len());
    for (card, row) in found.view.cards.iter().rev().zip(rows) {
        assert_eq!((Some(&card.date), card.composite, &card.notes), (row.date.as_ref(), row.composite, &row.notes));
        assert_eq!(card.baseline, Some(row.composite));
        assert!((card.parts.as_ref().unwrap().sum() - card.composite).abs() < 0.0051);
    }
    let weights: Vec<f64> = found.view.axes.iter().filter_map(|axis| axis.weight).collect();
    assert_eq!(
        weights.iter().map(|weight| format!("{weight:.2}")).collect::<Vec<_>>(),
        ["0.30", "0.20", "0.15", "0.20", "0.15"]
    );
    assert_eq!((found.view.caps.len(), found.view.gate.as_ref().map(|gate| gate.bound)), (2, Some(3.0)));
    assert_eq!(found.view.figures.regressions.map(|it| (it.count, it.of)), Some((0, 44)));
    assert_eq!(found.view.count(CardFilter::All), 44);
    assert_eq!(found.view.drift.as_ref().map(|drift| drift.drift.as_of.clone()).as_deref(), Some("2026-04-14"));
    let store = Store::open_to_read(&app.store).unwrap();
    assert!(store.journal_entries("briefing", "drift_alert").unwrap().is_empty());
}

/// DB-40: the page of a run knows nothing of later runs, so that its file stays the same.
#[test]
fn page_of_a_run_stays_the_same() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    run(&app, "briefing", "a", 10);
    let of_run = || page(&app, SeriesRequest { run: Some("a".to_owned()), ..of("briefing") });
    let before = of_run();
    run(&app, "briefing", "b", 20);
    assert_eq!(of_run(), before);
    assert_eq!(app.analysis().series(&of("briefing")).unwrap().view.cards.len(), 20);
}

/// DB-16: what is not understood is said, and the default is shown.
#[test]
fn bad_values_are_said() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    run(&app, "briefing", "a", 10);
    let asked = SeriesRequest {
        judge: JudgeChoice::One("nobody".to_owned()),
        system: Some("nothing".to_owned()),
        as_of: Some("soon".to_owned()),
        since: Some("2026-03-05".to_owned()),
        ..of("briefing")
    };
    let found = app.analysis().series(&asked).unwrap();
    assert_eq!((found.notices.len(), &found.view.judge), (3, &JudgeChoice::Consensus));
    assert_eq!(found.view.cards.len(), 6);
    assert!(app.analysis().series(&of("nowhere")).is_err());
}

/// DB-30: a copy of the suite under another name gives the same page.
#[test]
fn renamed_suite_gives_the_same_page() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let copy = folder.path().join("copy");
    app.project().init("briefing", &copy, false).unwrap();
    let suite = copy.join("karat.yaml");
    let text = std::fs::read_to_string(&suite).unwrap().replace("name: briefing", "name: digest");
    std::fs::write(&suite, text).unwrap();
    run(&app, "briefing", "a", 12);
    run(&app, &suite.to_string_lossy(), "b", 12);
    let view = |suite: &str| app.analysis().series(&of(suite)).unwrap().view;
    let (one, other) = (view("briefing"), view("digest"));
    assert_eq!((one.axes, one.caps, one.gate, one.rules), (other.axes, other.caps, other.gate, other.rules));
    let plain = |view: &[karat_analysis::series::SeriesCard]| -> Vec<_> {
        view.iter().map(|card| (card.date.clone(), card.composite, card.axes.clone(), card.flags)).collect()
    };
    assert_eq!(plain(&one.cards), plain(&other.cards));
    assert_eq!((one.suite.as_str(), other.suite.as_str()), ("briefing", "digest"));
}
