//! Runs whose stored rows are damaged.

use std::path::Path;
use std::sync::Arc;

use karat_app::{AppError, CallRecording, Execution, Format, Invocation, Outputs, Overrides, RunEnd, Stop};
use karat_types::SilentObserver;

use crate::place::app;

fn execution() -> Execution {
    let (observer, stop) = (Arc::new(SilentObserver), Stop::default());
    Execution { run_id: Some("a".to_owned()), resume: false, observer, stop, tape: CallRecording::None }
}

fn report(folder: &Path) -> Result<String, AppError> {
    let mut report = Vec::new();
    app(folder).export("a", Format::Json, Outputs::default(), true, &mut report)?;
    Ok(String::from_utf8(report).unwrap())
}

/// A4: a report of a run with missing or damaged rows is an error that names `resume`, and `resume` makes what is missing:
/// the report is the same as before.
#[test]
fn resume_makes_what_a_report_misses() {
    for (damage, said) in [
        ("delete from judgments where rowid % 2 = 0", "judgments, and"),
        ("delete from cells where rowid % 2 = 0", "cells, and"),
        (
            "update cells set facts = cast(substr(facts, 1, length(facts) - 5) || x'0000000000' as blob) where rowid % 2 = 0",
            "checksum",
        ),
    ] {
        let scratch = testkit::scratch().unwrap();
        let folder = scratch.path();
        let invocation =
            Invocation { overrides: Overrides { limit: Some(1), ..Overrides::default() }, ..Invocation::of("claims") };
        let first = app(folder);
        first.run(first.load(&invocation).unwrap().plan, &invocation, execution()).unwrap();
        drop(first);
        let before = report(folder).unwrap();
        assert!(app(folder).check_store().unwrap().is_sound());

        let store = rusqlite::Connection::open(folder.join("karat.db")).unwrap();
        assert!(store.execute(damage, []).unwrap() > 0);
        drop(store);
        let error = report(folder).unwrap_err().to_string();
        assert!(error.contains(said) && error.contains("`karat resume a`"), "{error}");
        let checked = app(folder).check_store().unwrap();
        assert!(
            !checked.is_sound() && checked.text().contains("`karat resume a` makes them again"),
            "{}",
            checked.text()
        );

        let RunEnd { notice, .. } = app(folder).resume("a", &Invocation::default(), execution()).unwrap();
        assert!(notice.is_none_or(|notice| !notice.contains("nothing to resume")));
        assert!(report(folder).unwrap() == before, "{damage}: the reports differ");
        assert!(app(folder).check_store().unwrap().is_sound());
        let again = app(folder).resume("a", &Invocation::default(), execution()).unwrap();
        assert!(again.notice.is_some_and(|notice| notice.contains("nothing to resume")));
    }
}
