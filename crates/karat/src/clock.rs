//! The clock of the process: the system's, or in a build for development one that a test sets.

use std::sync::Arc;

use karat_types::{Clock, Moment};

use crate::environment::Environment;

/// The clock that everything else is passed.
///
/// A build with debug assertions follows the file that `KARAT_TEST_CLOCK` names, so that a soak sees a day in minutes. A
/// release has no such switch: the times of its schedules and tokens are those of the system.
pub fn of_process(environment: &Environment) -> Arc<dyn Clock> {
    #[cfg(debug_assertions)]
    if let Some(file) = environment.get("KARAT_TEST_CLOCK") {
        return Arc::new(SetClock { file: file.into(), last: std::sync::atomic::AtomicI64::new(0) });
    }
    let _ = environment;
    Arc::new(SystemClock)
}

/// The system's clock: the only place of the binary that reads it.
struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        #[expect(clippy::disallowed_methods, reason = "the clock that everything else is passed")]
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Moment(now.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
    }
}

/// A clock that another process sets: its file holds the milliseconds by which it is ahead of the system's. Between two
/// settings it runs as that does.
#[cfg(debug_assertions)]
struct SetClock {
    file: std::path::PathBuf,
    /// Milliseconds ahead at the last look, for one at which the file cannot be read.
    last: std::sync::atomic::AtomicI64,
}

#[cfg(debug_assertions)]
impl Clock for SetClock {
    fn now(&self) -> Moment {
        use std::sync::atomic::Ordering;
        let ahead = std::fs::read_to_string(&self.file).ok().and_then(|text| text.trim().parse().ok());
        if let Some(ahead) = ahead {
            self.last.store(ahead, Ordering::Relaxed);
        }
        Moment(SystemClock.now().0.saturating_add(self.last.load(Ordering::Relaxed)))
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;

    /// A clock that is set runs on from there, and stays where it was while its file is away.
    #[test]
    fn a_set_clock_is_ahead_by_what_its_file_says() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("clock");
        let clock = SetClock { file: file.clone(), last: std::sync::atomic::AtomicI64::new(0) };
        let ahead = || clock.now().0 - SystemClock.now().0;
        for hours in [24, -1, 2] {
            std::fs::write(&file, (hours * 3_600_000).to_string()).unwrap();
            assert_eq!((ahead() + 600_000).div_euclid(3_600_000), hours);
        }
        std::fs::remove_file(&file).unwrap();
        assert_eq!((ahead() + 600_000).div_euclid(3_600_000), 2);
    }
}
