//! The patience with a database that does not answer: another process keeps it locked, or its server is away.
//!
//! All connections of a store share one. Once the database has been away for as long as it is waited for, what asks next
//! fails after one short attempt, and what asks right after that at once, until the database answers again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The time for which a database may be away.
const LIMIT: Duration = Duration::from_secs(55);

/// The patience of a store. Clones share it.
#[derive(Debug, Clone)]
pub struct Patience(Arc<Mutex<Waiting>>);

#[derive(Debug)]
struct Waiting {
    limit: Duration,
    /// The start of the absence, while there is one.
    away_since: Option<Instant>,
    /// The end of all waits for an absence that begins before it.
    until: Option<Instant>,
    /// The last failed attempt.
    failed_at: Option<Instant>,
}

impl Default for Patience {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Waiting { limit: LIMIT, away_since: None, until: None, failed_at: None })))
    }
}

impl Patience {
    /// Ends waits within this time, because the process is about to end.
    pub fn shorten(&self, most: Duration) {
        let mut waiting = self.waiting();
        let until = Instant::now() + most;
        // A wait that was shortened before ends no later.
        waiting.until = Some(waiting.until.filter(|before| *before > Instant::now()).map_or(until, |it| it.min(until)));
    }

    /// Sets the time for which the database may be away.
    #[cfg(test)]
    pub fn set_limit(&self, limit: Duration) {
        self.waiting().limit = limit;
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the database does not answer, since a moment.
    pub(crate) fn note_away(&self, since: Instant) {
        self.waiting().away_since.get_or_insert(since);
    }

    /// Notes the same after an attempt to connect. A request that is refused without one does not put off the next attempt.
    pub(crate) fn note_failed(&self, since: Instant) {
        self.note_away(since);
        self.waiting().failed_at = Some(Instant::now());
    }

    /// Notes that the database answers.
    pub(crate) fn note_back(&self) {
        self.waiting().away_since = None;
    }

    /// Returns `true` while the database does not answer.
    pub(crate) fn is_away(&self) -> bool {
        self.waiting().away_since.is_some()
    }

    /// Returns `true` once a database that is away is not waited for any more.
    pub(crate) fn is_over(&self) -> bool {
        self.waiting().end().is_some_and(|end| end <= Instant::now())
    }

    /// Returns `true` while another attempt would be for nothing: the patience is over, and one has just failed.
    pub(crate) fn has_just_failed(&self) -> bool {
        let waiting = self.waiting();
        let is_recent = waiting.failed_at.is_some_and(|at| at.elapsed() < waiting.limit / 30);
        is_recent && waiting.end().is_some_and(|end| end <= Instant::now())
    }

    /// The time for one attempt to connect.
    pub(crate) fn for_attempt(&self) -> Duration {
        let waiting = self.waiting();
        let most = waiting.limit / 3;
        let hurry = waiting.hurry();
        let least = waiting.limit / if hurry.is_some() { 60 } else { 18 };
        waiting.end().or(hurry).map_or(most, |end| left_until(end).clamp(least, most / 2))
    }

    /// The silence after which a server is asked whether it still works.
    pub(crate) fn for_silence(&self) -> Duration {
        let waiting = self.waiting();
        let (least, most) = (waiting.limit / 60, waiting.limit / 12);
        match waiting.end() {
            Some(end) if end <= Instant::now() => least,
            _ => waiting.hurry().map_or(most, |end| left_until(end).clamp(least, most)),
        }
    }
}

impl Waiting {
    /// The end of the waits for the present absence.
    fn end(&self) -> Option<Instant> {
        let end = self.away_since? + self.limit;
        Some(self.hurry().map_or(end, |until| until.min(end)))
    }

    /// The moment at which the process wants to end, if that concerns the present absence, or one that begins now.
    fn hurry(&self) -> Option<Instant> {
        let since = self.away_since.unwrap_or_else(Instant::now);
        self.until.filter(|until| since <= *until)
    }
}

fn left_until(end: Instant) -> Duration {
    end.saturating_duration_since(Instant::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// X13: a process that is asked to end does not wait for a minute, and an absence long after that is waited for.
    #[test]
    fn a_stop_shortens_the_waits() {
        let patience = Patience::default();
        patience.note_away(Instant::now());
        assert!(!patience.is_over());
        patience.shorten(Duration::ZERO);
        assert!(patience.is_over());
        patience.note_back();
        std::thread::sleep(Duration::from_millis(2));
        patience.note_away(Instant::now());
        assert!(!patience.is_over());
    }

    /// X13: what is begun shortly before a process wants to end is not waited for much longer than that.
    #[test]
    fn each_wait_ends_with_the_process() {
        let patience = Patience::default();
        let (attempt, silence) = (patience.for_attempt(), patience.for_silence());
        assert!(attempt > silence && silence > Duration::from_secs(4));
        patience.shorten(Duration::from_secs(2));
        assert!(patience.for_attempt() <= Duration::from_secs(2) && patience.for_silence() <= Duration::from_secs(2));
        patience.note_away(Instant::now());
        assert!(patience.for_attempt() <= Duration::from_secs(2) && patience.for_silence() <= Duration::from_secs(2));
        patience.shorten(Duration::ZERO);
        assert!(patience.for_attempt() < Duration::from_secs(1) && patience.for_silence() < Duration::from_secs(1));
        patience.note_back();
        assert_eq!((patience.for_attempt(), patience.for_silence()), (attempt, silence));
    }

    /// X14, F104: once the patience is over, some ask again and again, without an attempt; that puts off no attempt.
    #[test]
    fn refusals_put_off_no_attempt() {
        let patience = Patience::default();
        patience.set_limit(Duration::from_millis(300));
        let since = Instant::now();
        patience.note_failed(since);
        std::thread::sleep(Duration::from_millis(305));
        patience.note_failed(since);
        assert!(patience.is_over() && patience.has_just_failed());
        let refused = (0..1_000).take_while(|_| patience.has_just_failed()).inspect(|_| {
            patience.note_away(Instant::now());
            std::thread::sleep(Duration::from_millis(1));
        });
        assert!(refused.count() < 1_000, "it is tried again");
    }
}
