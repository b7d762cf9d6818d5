//! The state that stays open between the steps of a command: the store, the root, the plan of a run that was asked for.

use std::sync::Arc;

use karat_app::{App, AppError, ErrorKind, Invocation, Overrides, Queueing, Session};
use karat_types::{Clock, Moment};

use crate::place::{app, execution};

fn suite(limit: u64) -> Invocation {
    Invocation { overrides: Overrides { limit: Some(limit), ..Overrides::default() }, ..Invocation::of("claims") }
}

fn run(app: &App, id: &str, limit: u64) {
    app.runs().run(app.runs().load(&suite(limit)).unwrap(), &suite(limit), execution(id)).unwrap();
}

/// BY-06: a store that stays open knows what another process has written since, as if it were opened now.
#[test]
fn a_store_that_stays_open_knows_what_others_have_written() {
    let folder = testkit::scratch().unwrap();
    let (one, other) = (app(folder.path()), app(folder.path()));
    run(&one, "a", 1);
    let plan = one.runs().load(&suite(2)).unwrap();
    let left = || one.runs().estimate(&plan).unwrap().fresh;
    assert!(left() > 0);
    run(&other, "b", 2);
    assert_eq!(left(), 0);
}

/// LI-07: a run that starts at once is not loaded again; one that has waited is, so that a change of its suite is found.
#[test]
fn a_run_that_starts_at_once_is_loaded_once() {
    struct Later;

    impl Clock for Later {
        fn now(&self) -> Moment {
            Moment(1_700_000_003_000)
        }
    }

    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let suite = folder.path().join("faq");
    app.project().init("faq", &suite, false).unwrap();
    let invocation = Invocation::of(suite.display().to_string());
    for (run, waits) in [("a", false), ("b", true)] {
        let plan = app.runs().load(&invocation).unwrap();
        let order = app.service().start_order(&plan, &invocation, Some(run.to_owned())).unwrap();
        assert_eq!(app.service().enqueue(&order, Some(plan), None, 9).unwrap(), Queueing::Added);
        let queued = app.service().take_queued("server").unwrap().unwrap();
        let later = App { clock: Arc::new(Later), ..app.clone() };
        let text = std::fs::read_to_string(suite.join("karat.yaml")).unwrap();
        std::fs::write(suite.join("karat.yaml"), "name: [").unwrap();
        let ended = if waits { &later } else { &app }.service().execute_order(&queued, true, execution(run));
        std::fs::write(suite.join("karat.yaml"), text).unwrap();
        assert_eq!(ended.is_err(), waits, "{run}");
    }
}

/// LI-07, SV-10: whatever is read of a suite keeps to the root of the server.
#[test]
fn every_reader_of_a_suite_keeps_to_the_root() {
    let folder = testkit::scratch().unwrap();
    let root = folder.path().join("root");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(folder.path().join("out.jsonl"), "{}").unwrap();
    let suite = "name: a\ndataset: { source: ../out.jsonl }\nvariants: { v: [ { template: { text: x } } ] }\n";
    std::fs::write(root.join("karat.yaml"), suite).unwrap();
    let app = App { opened: Session::below(&root).unwrap(), ..app(folder.path()) };
    for suite in [root.join("karat.yaml"), folder.path().join("out.jsonl")] {
        let suite = suite.display().to_string();
        let invocation = Invocation::of(&suite);
        let refused = |error: Option<AppError>| error.map(|error| error.kind()) == Some(ErrorKind::OutsideRoot);
        assert!(refused(app.runs().load(&invocation).err()), "load {suite}");
        assert!(refused(app.project().validate(&invocation).err()), "validate {suite}");
        assert!(refused(app.project().dataset_checks(&invocation).err()), "dataset_checks {suite}");
        assert!(refused(app.project().registry(Some(&suite)).err()), "registry {suite}");
        assert!(refused(app.tasks().labels(&invocation, None).err()), "labels {suite}");
        assert!(refused(app.project().fetch(&invocation, &mut |_| {}).err()), "fetch {suite}");
    }
}
