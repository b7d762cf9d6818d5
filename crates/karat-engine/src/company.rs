//! Runs of other processes on the same store: what one of them is making, this one waits for, and takes over.
//!
//! ```text
//! alone       nobody says what is being made; whether there is company is asked now and then
//! in company  whoever makes a result has its lease until it is on disk; who finds it taken waits, then looks again
//! ```
//!
//! Who comes waits until the others have noticed, and have taken leases of what they had under way. Who was in company once
//! stays so: somebody else may come.

use std::future::pending;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use karat_store::StoreLease;
use karat_types::Key;
use tokio::time::{Instant, sleep};

use crate::flights::Flights;
use crate::stop::Stop;

/// So often it is asked whether there is company.
const ROUND: Duration = Duration::from_millis(50);

/// So long the others are waited for until they know of this process: one of them may hang.
const GREETING: Duration = Duration::from_secs(5);

/// Somebody who waits looks this often at first, then less and less often,
const SOON: Duration = Duration::from_millis(2);

/// up to this.
const LATE: Duration = Duration::from_millis(50);

/// Waiting for others ends where nothing has come from any of them for so long, or for as long as a call may take: they
/// hang, or were suspended.
const PATIENCE: Duration = Duration::from_mins(15);

/// So often it is asked whether anything has come.
const PULSE: Duration = Duration::from_secs(1);

/// With so many who wait, each looks half as often, and so on: a look costs more the more there are.
const MANY: u32 = 64;

/// What the user is told.
pub(crate) const NOTICE: &str = "another run is under way on this store: what both need is made once, and each waits for what \
     the other is making";

/// What is known of other processes.
pub(crate) struct Neighbours {
    /// None where this run takes nothing over from others.
    company: Option<StoreLease>,
    are_there: AtomicBool,
    patience: Duration,
    /// How many wait for them.
    waiting: AtomicU32,
    heard: Mutex<Heard>,
}

/// When something was last heard of them.
struct Heard {
    /// None since they have been silent for too long.
    at: Option<Instant>,
    asked: Instant,
}

impl Neighbours {
    /// For a run whose calls may take so long.
    pub fn new(company: Option<StoreLease>, call: Duration) -> Self {
        let now = Instant::now();
        Self {
            company,
            are_there: AtomicBool::new(false),
            patience: call.max(PATIENCE),
            waiting: AtomicU32::new(0),
            heard: Mutex::new(Heard { at: Some(now), asked: now }),
        }
    }

    /// Whether there are any, as far as is known.
    pub fn are_there(&self) -> bool {
        self.are_there.load(Ordering::Relaxed)
    }

    /// Lets those who are there notice this run, where there are any. Says whether there are.
    pub async fn greet(&self, stop: &Stop) -> bool {
        let Some(company) = self.company.as_ref().filter(|company| company.has_peers()) else { return false };
        self.are_there.store(true, Ordering::Relaxed);
        company.announce();
        let began = Instant::now();
        while !company.peers_are_aware() && began.elapsed() < GREETING && !stop.is_set() {
            pause(SOON, stop).await;
        }
        true
    }

    /// Looks for others now and then, until some have come. Then whoever begins to make something takes a lease of it, and
    /// what is under way already is the caller's to lease. Never ends where there are some already, or are of no concern.
    pub async fn arrival(&self) -> &StoreLease {
        let Some(company) = self.company.as_ref().filter(|_| !self.are_there()) else { return pending().await };
        while !company.has_peers() {
            sleep(ROUND).await;
        }
        self.are_there.store(true, Ordering::Relaxed);
        company
    }

    /// Takes the lease of work that is under way here; waits while another process has it.
    pub async fn lease<T>(&self, flights: &Flights<T>, key: Key, stop: &Stop) {
        let Some(company) = &self.company else { return };
        if flights.take_lease(company, key) {
            return;
        }
        let waiting = self.wait();
        let mut time = SOON;
        while !flights.take_lease(company, key) && self.are_heard(company) && !stop.is_set() {
            pause(time, stop).await;
            time = (time * 3 / 2).min(LATE * (1 + waiting.0.load(Ordering::Relaxed) / MANY));
        }
    }

    /// Counts one who waits, until it is dropped. The first of them has heard nothing bad yet.
    fn wait(&self) -> Waiting<'_> {
        if self.waiting.fetch_add(1, Ordering::Relaxed) == 0 {
            let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
            heard.at = heard.at.map(|_| Instant::now());
        }
        Waiting(&self.waiting)
    }

    /// Whether others can be expected to go on.
    fn are_heard(&self, company: &StoreLease) -> bool {
        let (mut heard, now) = (self.heard.lock().unwrap_or_else(PoisonError::into_inner), Instant::now());
        if now.duration_since(heard.asked) >= PULSE {
            heard.asked = now;
            if company.peers_have_written() {
                heard.at = Some(now);
            }
        }
        heard.at = heard.at.filter(|at| now.duration_since(*at) < self.patience);
        heard.at.is_some()
    }
}

struct Waiting<'a>(&'a AtomicU32);

impl Drop for Waiting<'_> {
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

    type Side = (Neighbours, Flights<()>);

    /// Two runs on one store, as two processes have them, each with what it knows of the other and its work.
    fn two(folder: &Path, call: Duration) -> [(Arc<Side>, Ledger); 2] {
        ["one", "other"].map(|run| {
            let store = Store::open(&StoreUrl::in_folder(folder)).unwrap();
            let ledger = store.begin(&header(run)).unwrap();
            let neighbours = Neighbours::new(store.open_lease(run).ok(), call);
            (Arc::new((neighbours, Flights::new())), ledger)
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
            git_commit: None,
            invocation: serde_json::Value::Null,
        }
    }

    /// Works on something, and says how long it waited for that.
    fn waits(side: &Arc<Side>, key: Key, stop: &Stop) -> JoinHandle<Duration> {
        let (side, stop) = (side.clone(), stop.clone());
        tokio::spawn(async move {
            let started = Instant::now();
            let _landed = side.1.join(key, async { side.0.lease(&side.1, key, &stop).await }).await;
            started.elapsed()
        })
    }

    /// BY-06: what another process makes is waited for until it is done, or until the run is stopped.
    #[tokio::test(start_paused = true)]
    async fn a_lease_is_waited_for() {
        let folder = testkit::scratch().unwrap();
        let [(one, _ledger), (other, _)] = two(folder.path(), Duration::ZERO);
        let (key, stop) = (Key::of("test", b""), Stop::new());
        let greeting = Instant::now();
        assert!(one.0.greet(&stop).await && other.0.greet(&stop).await);
        // Nobody looks for the other here, so one of them has waited in vain.
        assert!((GREETING..GREETING + LATE).contains(&greeting.elapsed()));
        let (_, landing) = one.1.join(key, async { one.0.lease(&one.1, key, &stop).await }).await;
        let stopped = Stop::new();
        let waiting = waits(&other, key, &stopped);
        sleep(Duration::from_secs(1)).await;
        stopped.set();
        assert_eq!(waiting.await.unwrap(), Duration::from_secs(1));
        let waiting = waits(&other, key, &stop);
        sleep(Duration::from_secs(1)).await;
        // On disk, though the cell that it belongs to is not done.
        drop(landing.unwrap().lease());
        assert!((Duration::from_secs(1)..Duration::from_secs(1) + LATE).contains(&waiting.await.unwrap()));
    }

    /// BY-06: a process that is slow is waited for as long as something comes of it; one of which nothing comes for a quarter
    /// of an hour, that long and not once more for each thing that it has.
    #[tokio::test(start_paused = true)]
    async fn who_hangs_is_waited_for_once() {
        let folder = testkit::scratch().unwrap();
        let [(one, ledger), (other, _own)] = two(folder.path(), Duration::ZERO);
        let (keys, stop) = ([1, 2, 3].map(|n| Key::of("test", &[n])), Stop::new());
        let mut landings = Vec::new();
        for key in keys {
            landings.push(one.1.join(key, async { one.0.lease(&one.1, key, &stop).await }).await.1);
        }
        // On a thread of its own: time stands still meanwhile.
        let write = || {
            let record = || vec![Record::Released { calls: 0, upper: Money::ZERO }];
            let append = || Runtime::new().unwrap().block_on(ledger.append(record())).unwrap();
            std::thread::scope(|scope| scope.spawn(append).join().unwrap());
        };
        let waiting = waits(&other, keys[0], &stop);
        for _ in 0..3 {
            sleep(PATIENCE - 2 * PULSE).await;
            assert!(!waiting.is_finished());
            write();
        }
        let whole = waiting.await.unwrap();
        assert!((4 * PATIENCE - 6 * PULSE..4 * PATIENCE).contains(&whole), "{whole:?}");
        assert!(waits(&other, keys[1], &stop).await.unwrap() <= PULSE);
        // It goes on, and is waited for again.
        write();
        sleep(PULSE).await;
        let waiting = waits(&other, keys[2], &stop);
        sleep(PATIENCE / 2).await;
        assert!(!waiting.is_finished());
        landings.clear();
        assert!((PATIENCE / 2..PATIENCE / 2 + LATE).contains(&waiting.await.unwrap()));
    }

    /// BY-06: where a call may take longer than that, it is waited for as long as that.
    #[tokio::test(start_paused = true)]
    async fn a_slow_call_is_waited_for() {
        let folder = testkit::scratch().unwrap();
        let call = 3 * PATIENCE;
        let [(one, _), (other, _)] = two(folder.path(), call);
        let (key, stop) = (Key::of("test", b""), Stop::new());
        let _landing = one.1.join(key, async { one.0.lease(&one.1, key, &stop).await }).await;
        assert!((call..call + PULSE).contains(&waits(&other, key, &stop).await.unwrap()));
    }

    /// BY-06: what was under way before somebody came is leased when that is noticed, and once.
    #[tokio::test(start_paused = true)]
    async fn work_under_way_is_leased_when_company_comes() {
        let folder = testkit::scratch().unwrap();
        let [(one, _), (other, _)] = two(folder.path(), Duration::ZERO);
        let key = Key::of("test", b"");
        let (ours, theirs) = (one.0.company.as_ref().unwrap(), other.0.company.as_ref().unwrap());
        let (_, landing) = one.1.join(key, async {}).await;
        one.1.take_leases(ours);
        assert!(one.1.take_lease(ours, key));
        let (_, their) = other.1.join(key, async {}).await;
        assert!(!other.1.take_lease(theirs, key));
        drop(landing);
        assert!(other.1.take_lease(theirs, key));
        drop(their);
    }
}
