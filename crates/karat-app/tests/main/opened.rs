//! A store that stays open between the steps of a command.

use karat_app::{App, Invocation, Overrides};

use crate::place::{app, execution};

fn suite(limit: u64) -> Invocation {
    Invocation { overrides: Overrides { limit: Some(limit), ..Overrides::default() }, ..Invocation::of("claims") }
}

fn run(app: &App, id: &str, limit: u64) {
    app.run(app.load(&suite(limit)).unwrap().plan, &suite(limit), execution(id)).unwrap();
}

/// BY-06: a store that stays open knows what another process has written since, as if it were opened now.
#[test]
fn a_store_that_stays_open_knows_what_others_have_written() {
    let folder = testkit::scratch().unwrap();
    let (one, other) = (app(folder.path()), app(folder.path()));
    run(&one, "a", 1);
    let plan = one.load(&suite(2)).unwrap().plan;
    let left = || one.estimate(&plan).unwrap().fresh;
    assert!(left() > 0);
    run(&other, "b", 2);
    assert_eq!(left(), 0);
}
