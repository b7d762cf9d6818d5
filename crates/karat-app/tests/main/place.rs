//! The outside world of a test: a store in a folder, no variables, and a clock that stands still.

use std::path::Path;
use std::sync::Arc;

use karat_app::{App, CallRecording, Execution, Session, Stop, StoreUrl};
use karat_types::{Clock, Moment, SilentObserver};

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

/// The execution of a new run, of which nobody sees anything.
pub(crate) fn execution(id: &str) -> Execution {
    Execution {
        run_id: Some(id.to_owned()),
        resume: false,
        observer: Arc::new(SilentObserver),
        stop: Stop::default(),
        tape: CallRecording::None,
    }
}
