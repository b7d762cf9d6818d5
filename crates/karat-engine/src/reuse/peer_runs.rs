//! Runs of other processes on the same store: this run waits for results that another run is making, and reuses them.
//!
//! ```text
//! alone       no leases are taken; the store is checked for other runs at intervals
//! with peers  a run holds the lease of a result until it is on disk; others wait for the lease, then look again
//! ```
//!
//! A run that starts waits until the others have noticed it and have taken leases on their running work. A run that has
//! met a peer keeps taking leases, because another may start.

use std::future::pending;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use karat_store::StoreLease;
use karat_types::Key;
use tokio::time::{Instant, sleep};

use crate::control::single_flight::SingleFlight;
use crate::control::stop::Stop;

/// Interval of the checks for other runs.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Longest wait for the others to notice this run: one of them may hang.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// First interval at which a waiting task checks a lease.
const FIRST_WAIT: Duration = Duration::from_millis(2);

/// Interval up to which it grows.
const LONGEST_WAIT: Duration = Duration::from_millis(50);

/// Waiting ends if no peer has written anything for this long, or for the longest duration of a call if that is longer:
/// they hang, or were suspended.
const SILENCE_LIMIT: Duration = Duration::from_mins(15);

/// Interval of the checks for activity of peers.
const ACTIVITY_INTERVAL: Duration = Duration::from_secs(1);

/// Number of waiting tasks at which each checks half as often, and so on: a check costs more the more tasks wait.
const WAITERS_PER_STEP: u32 = 64;

/// The notice for the user.
pub(crate) const NOTICE: &str = "another run is under way on this store: what both need is made once, and each waits for what \
     the other is making";

/// The known state of other runs.
pub(crate) struct PeerRuns {
    /// `None` if this run reuses nothing from others.
    store_lease: Option<StoreLease>,
    peers_present: AtomicBool,
    silence_limit: Duration,
    /// The number of tasks that wait for them.
    waiting: AtomicU32,
    peer_activity: Mutex<PeerActivity>,
}

/// The last sign of life of the peers.
struct PeerActivity {
    /// `None` once they have been silent for too long.
    last: Option<Instant>,
    /// The last check for it.
    checked: Instant,
}

impl PeerRuns {
    /// The peers of a run whose calls may take so long.
    pub fn new(store_lease: Option<StoreLease>, call: Duration) -> Self {
        let now = Instant::now();
        Self {
            store_lease,
            peers_present: AtomicBool::new(false),
            silence_limit: call.max(SILENCE_LIMIT),
            waiting: AtomicU32::new(0),
            peer_activity: Mutex::new(PeerActivity { last: Some(now), checked: now }),
        }
    }

    /// Returns whether there are any, as far as is known.
    pub fn are_present(&self) -> bool {
        self.peers_present.load(Ordering::Relaxed)
    }

    /// Waits until present runs have noticed this one. Returns whether there are any.
    pub async fn announce(&self, stop: &Stop) -> bool {
        let Some(store_lease) = self.store_lease.as_ref().filter(|store_lease| store_lease.has_peers()) else {
            return false;
        };
        self.peers_present.store(true, Ordering::Relaxed);
        store_lease.announce();
        let began = Instant::now();
        while !store_lease.peers_are_aware() && began.elapsed() < HANDSHAKE_TIMEOUT && !stop.is_set() {
            pause(FIRST_WAIT, stop).await;
        }
        true
    }

    /// Checks for other runs until one is present. From then on, new work takes a lease; the caller takes leases on
    /// running work. Never returns if a run is present already, or if none matters.
    pub async fn wait_for_peer(&self) -> &StoreLease {
        let Some(store_lease) = self.store_lease.as_ref().filter(|_| !self.are_present()) else {
            return pending().await;
        };
        while !store_lease.has_peers() {
            sleep(POLL_INTERVAL).await;
        }
        self.peers_present.store(true, Ordering::Relaxed);
        store_lease
    }

    /// Takes the lease of running work; waits while another process holds it.
    pub async fn lease<T>(&self, flights: &SingleFlight<T>, key: Key, stop: &Stop) {
        let Some(store_lease) = &self.store_lease else { return };
        if flights.take_lease(store_lease, key) {
            return;
        }
        let waiting = self.count_waiter();
        let mut time = FIRST_WAIT;
        while !flights.take_lease(store_lease, key) && self.are_active(store_lease) && !stop.is_set() {
            pause(time, stop).await;
            time = (time * 3 / 2).min(LONGEST_WAIT * (1 + waiting.0.load(Ordering::Relaxed) / WAITERS_PER_STEP));
        }
    }

    /// Counts a waiting task until the guard is dropped. The first one starts a new period of silence.
    fn count_waiter(&self) -> WaiterGuard<'_> {
        if self.waiting.fetch_add(1, Ordering::Relaxed) == 0 {
            let mut activity = self.peer_activity.lock().unwrap_or_else(PoisonError::into_inner);
            activity.last = activity.last.map(|_| Instant::now());
        }
        WaiterGuard(&self.waiting)
    }

    /// Returns whether the peers can be expected to continue.
    fn are_active(&self, store_lease: &StoreLease) -> bool {
        let (mut activity, now) = (self.peer_activity.lock().unwrap_or_else(PoisonError::into_inner), Instant::now());
        if now.duration_since(activity.checked) >= ACTIVITY_INTERVAL {
            activity.checked = now;
            if store_lease.peers_have_written() {
                activity.last = Some(now);
            }
        }
        activity.last = activity.last.filter(|last| now.duration_since(*last) < self.silence_limit);
        activity.last.is_some()
    }
}

struct WaiterGuard<'a>(&'a AtomicU32);

impl Drop for WaiterGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn pause(wait: Duration, stop: &Stop) {
    tokio::select! {
        () = sleep(wait) => (),
        () = stop.wait() => (),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use karat_store::{Ledger, Store, StoreUrl};
    use karat_types::{Moment, Money, Record, RunHeader, RunStatus};
    use tokio::runtime::Runtime;
    use tokio::task::JoinHandle;

    use super::*;

    const PLAN: &str = r#"{"schema": "karat.plan/1", "suite": "t", "suite_hash": "", "plan_hash": "00000000000000000000000000000000",
        "dataset": {"rows": 1, "hash": "", "sources": [], "clustered": false}, "models": [], "judges": [], "variants": [], "systems": [], "trials": 1,
        "scorers": [], "metrics": [], "run": {"max_concurrency": 1, "timeout_ms": 1, "retries": 0, "seed": 0, "cache": "reuse"},
        "tokenizer": ""}"#;

    type Side = (PeerRuns, SingleFlight<()>);

    /// Two runs on one store, as two processes have them, each with its peers and its work.
    fn two_runs(folder: &Path, call: Duration) -> [(Arc<Side>, Ledger); 2] {
        ["one", "other"].map(|run| {
            let store = Store::open(&StoreUrl::in_folder(folder)).unwrap();
            let ledger = store.begin(&header(run)).unwrap();
            let peers = PeerRuns::new(store.open_lease(run).ok(), call);
            (Arc::new((peers, SingleFlight::new())), ledger)
        })
    }

    fn header(run: &str) -> RunHeader {
        RunHeader {
            id: run.to_owned(),
            plan: Arc::new(serde_json::from_str(PLAN).unwrap()),
            started_at: Moment(0),
            completed_at: None,
            status: RunStatus::Running,
            version: String::new(),
            shard: None,
            git_commit: None,
            invocation: serde_json::Value::Null,
        }
    }

    /// Joins some work and returns the time that it waited for it.
    fn time_lease(side: &Arc<Side>, key: Key, stop: &Stop) -> JoinHandle<Duration> {
        let (side, stop) = (side.clone(), stop.clone());
        tokio::spawn(async move {
            let started = Instant::now();
            let _landed = side.1.join(key, async { side.0.lease(&side.1, key, &stop).await }).await;
            started.elapsed()
        })
    }

    /// BY-06: a run waits for the work of another process until it is done, or until the run is stopped.
    #[tokio::test(start_paused = true)]
    async fn a_run_waits_for_a_lease() {
        let folder = testkit::scratch().unwrap();
        let [(one, _ledger), (other, _)] = two_runs(folder.path(), Duration::ZERO);
        let (key, stop) = (Key::of("test", b""), Stop::new());
        let greeting = Instant::now();
        assert!(one.0.announce(&stop).await && other.0.announce(&stop).await);
        // Neither run watches for the other here, so one of them has waited for the whole timeout.
        assert!((HANDSHAKE_TIMEOUT..HANDSHAKE_TIMEOUT + LONGEST_WAIT).contains(&greeting.elapsed()));
        let (_, flight) = one.1.join(key, async { one.0.lease(&one.1, key, &stop).await }).await;
        let stopped = Stop::new();
        let waiting = time_lease(&other, key, &stopped);
        sleep(Duration::from_secs(1)).await;
        stopped.set();
        assert_eq!(waiting.await.unwrap(), Duration::from_secs(1));
        let waiting = time_lease(&other, key, &stop);
        sleep(Duration::from_secs(1)).await;
        // On disk, although its cell is not done.
        drop(flight.unwrap().lease());
        assert!((Duration::from_secs(1)..Duration::from_secs(1) + LONGEST_WAIT).contains(&waiting.await.unwrap()));
    }

    /// BY-06: a run waits for a slow process as long as it writes; for a silent one it waits a quarter of an hour once,
    /// not once per result.
    #[tokio::test(start_paused = true)]
    async fn a_silent_peer_is_waited_for_once() {
        let folder = testkit::scratch().unwrap();
        let [(one, ledger), (other, _own)] = two_runs(folder.path(), Duration::ZERO);
        let (keys, stop) = ([1, 2, 3].map(|n| Key::of("test", &[n])), Stop::new());
        let mut flights = Vec::new();
        for key in keys {
            flights.push(one.1.join(key, async { one.0.lease(&one.1, key, &stop).await }).await.1);
        }
        // On a thread of its own, because time stands still in the meantime.
        let write = || {
            let record = || vec![Record::Released { calls: 0, upper: Money::ZERO }];
            let append = || Runtime::new().unwrap().block_on(ledger.append(record())).unwrap();
            std::thread::scope(|scope| scope.spawn(append).join().unwrap());
        };
        let waiting = time_lease(&other, keys[0], &stop);
        for _ in 0..3 {
            sleep(SILENCE_LIMIT - 2 * ACTIVITY_INTERVAL).await;
            assert!(!waiting.is_finished());
            write();
        }
        let whole = waiting.await.unwrap();
        assert!((4 * SILENCE_LIMIT - 6 * ACTIVITY_INTERVAL..4 * SILENCE_LIMIT).contains(&whole), "{whole:?}");
        assert!(time_lease(&other, keys[1], &stop).await.unwrap() <= ACTIVITY_INTERVAL);
        // It writes again, and is waited for again.
        write();
        sleep(ACTIVITY_INTERVAL).await;
        let waiting = time_lease(&other, keys[2], &stop);
        sleep(SILENCE_LIMIT / 2).await;
        assert!(!waiting.is_finished());
        flights.clear();
        assert!((SILENCE_LIMIT / 2..SILENCE_LIMIT / 2 + LONGEST_WAIT).contains(&waiting.await.unwrap()));
    }

    /// BY-06: if a call may take longer than that, the wait is as long as the call.
    #[tokio::test(start_paused = true)]
    async fn a_run_waits_as_long_as_a_call_may_take() {
        let folder = testkit::scratch().unwrap();
        let call = 3 * SILENCE_LIMIT;
        let [(one, _), (other, _)] = two_runs(folder.path(), call);
        let (key, stop) = (Key::of("test", b""), Stop::new());
        let _flight = one.1.join(key, async { one.0.lease(&one.1, key, &stop).await }).await;
        assert!((call..call + ACTIVITY_INTERVAL).contains(&time_lease(&other, key, &stop).await.unwrap()));
    }

    /// BY-06: running work is leased once a peer is noticed, and only once.
    #[tokio::test(start_paused = true)]
    async fn running_work_is_leased_when_a_peer_starts() {
        let folder = testkit::scratch().unwrap();
        let [(one, _), (other, _)] = two_runs(folder.path(), Duration::ZERO);
        let key = Key::of("test", b"");
        let (ours, theirs) = (one.0.store_lease.as_ref().unwrap(), other.0.store_lease.as_ref().unwrap());
        let (_, flight) = one.1.join(key, async {}).await;
        one.1.take_leases(ours);
        assert!(one.1.take_lease(ours, key));
        let (_, their) = other.1.join(key, async {}).await;
        assert!(!other.1.take_lease(theirs, key));
        drop(flight);
        assert!(other.1.take_lease(theirs, key));
        drop(their);
    }
}
