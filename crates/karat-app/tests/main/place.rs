//! The outside world of a test: a store in a folder, no variables, and a clock that stands still.

use std::path::Path;
use std::sync::Arc;

use karat_app::{App, Session, StoreUrl};
use karat_types::{Clock, Moment};

struct StillClock;

impl Clock for StillClock {
    fn now(&self) -> Moment {
        Moment(1_700_000_000_000)
    }
}

/// An app as in a process of its own, with its store in a folder.
pub(crate) fn app(folder: &Path) -> App {
    App {
        store: StoreUrl::in_folder(folder),
        home: folder.to_owned(),
        lookup: Arc::new(|_| None),
        clock: Arc::new(StillClock),
        own_program: None,
        opened: Session::default(),
    }
}
