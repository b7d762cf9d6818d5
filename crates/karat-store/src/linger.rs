//! How long the writer waits for more records before it writes those that are there.
//!
//! A commit costs nearly the same for one record as for a hundred, so under load waiting a moment halves what recording
//! costs. A caller that waited long for its answer does not feel it, while one that got it at once would do nothing else
//! meanwhile.

use std::time::Duration;

use tokio::runtime::{Handle, RuntimeMetrics};
use tokio::time::Instant;

/// A commit of so many records, with more of them waiting behind it, is one of many.
const BUSY_RECORDS: usize = 16;

/// They are waited for then, for such a part of the time that the calls of the last group took,
const PART: f64 = 0.02;

/// no longer than this, in milliseconds,
const LONGEST_MS: f64 = 1.0;

/// and not at all where it is not much longer than falling asleep takes.
const SHORTEST_MS: f64 = 0.2;

/// Where the callers' threads have no time left, answers wait for these threads anyway, and what recording costs is what
/// they lack: then it is up to so many times as long,
const LONGEST_FACTOR: f64 = 4.0;

/// the more the nearer they come to working all the time from such a part of it on: as soon as they have to wait for
/// answers, it is less again.
const HARDLY_ANY_LEFT: f64 = 0.8;

/// That is seen over at least so long.
const LOOK: Duration = Duration::from_millis(20);

/// The threads of those who append, and how much they work.
#[derive(Debug)]
pub(crate) struct Callers(Option<RuntimeMetrics>);

impl Callers {
    /// Those of the runtime that asks.
    pub fn here() -> Self {
        Self(Handle::try_current().ok().map(|handle| handle.metrics()))
    }

    /// How long they have worked so far, by thread.
    fn worked(&self) -> Option<Duration> {
        let metrics = self.0.as_ref()?;
        let threads = metrics.num_workers();
        let worked: Duration = (0..threads).map(|thread| worked(metrics, thread)).sum();
        worked.checked_div(u32::try_from(threads).ok()?)
    }
}

#[cfg(target_has_atomic = "64")]
fn worked(metrics: &RuntimeMetrics, thread: usize) -> Duration {
    metrics.worker_total_busy_duration(thread)
}

/// It is not counted there.
#[cfg(not(target_has_atomic = "64"))]
fn worked(_: &RuntimeMetrics, _: usize) -> Duration {
    Duration::ZERO
}

/// What the writer knows of those who append.
#[derive(Debug, Default)]
pub(crate) struct Linger {
    /// When they were looked at last, and how long they had worked by then.
    seen: Option<(Instant, Duration)>,
    /// The part of the time that they worked between the last two looks.
    busy: f64,
}

impl Linger {
    /// How long more records are waited for behind a group of so many, whose calls took these milliseconds, if at all.
    pub fn after(
        &mut self,
        records: usize,
        took: impl Iterator<Item = f64>,
        callers: Option<&Callers>,
    ) -> Option<Duration> {
        if let Some(worked) = callers.and_then(Callers::worked) {
            self.look(Instant::now(), worked);
        }
        let lack = ((self.busy - HARDLY_ANY_LEFT) / (1.0 - HARDLY_ANY_LEFT)).clamp(0.0, 1.0);
        usual(records, took).map(|usual| usual.mul_f64(1.0 + lack * (LONGEST_FACTOR - 1.0)))
    }

    fn look(&mut self, now: Instant, worked: Duration) {
        let (then, before) = *self.seen.get_or_insert((now, worked));
        let passed = now - then;
        if passed >= LOOK {
            self.busy = worked.saturating_sub(before).div_duration_f64(passed);
            self.seen = Some((now, worked));
        }
    }
}

fn usual(records: usize, took: impl Iterator<Item = f64>) -> Option<Duration> {
    let (sum, calls) = took.fold((0.0, 0_u32), |(sum, calls), ms| (sum + ms, calls + 1));
    let ms = (PART * sum / f64::from(calls.max(1))).min(LONGEST_MS);
    (records >= BUSY_RECORDS && ms >= SHORTEST_MS).then(|| Duration::from_secs_f64(ms / 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nobody waits for others who got an answer at once, or where no others are.
    #[test]
    fn records_gather_for_a_part_of_what_calls_take() {
        let linger = |records, took: &[f64]| usual(records, took.iter().copied()).map(|it| it.as_micros());
        assert_eq!(linger(64, &[20.0, 40.0]), Some(600));
        assert_eq!(linger(64, &[30_000.0]), Some(1000));
        assert_eq!((linger(64, &[3.0, 2.0]), linger(64, &[]), linger(3, &[40.0])), (None, None, None));
        assert_eq!((linger(64, &[f64::INFINITY]), linger(64, &[-1.0])), (Some(1000), None));
    }

    /// Callers without time wait longer: it costs them nothing, and spares them commits.
    #[test]
    fn they_gather_longer_for_callers_without_time() {
        let start = Instant::now();
        let mut linger = Linger::default();
        let mut after = |at: u64, worked: u64| {
            linger.look(start + Duration::from_millis(at), Duration::from_millis(worked));
            linger.after(64, [50.0].into_iter(), None).unwrap().as_micros()
        };
        assert_eq!((after(0, 500), after(10, 510)), (1000, 1000), "nothing is known yet");
        assert_eq!((after(40, 540), after(50, 540)), (4000, 4000), "all the time, and not looked at again so soon");
        assert_eq!((after(140, 630), after(240, 710), after(340, 760)), (2500, 1000, 1000), "90, 80 and 50 % of it");
    }

    #[test]
    fn callers_are_the_threads_of_the_runtime_that_asks() {
        assert_eq!(Callers::here().worked(), None);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        assert!(runtime.block_on(async { Callers::here() }).worked().is_some());
    }
}
