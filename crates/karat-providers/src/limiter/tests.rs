//! Limits in virtual time.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;

use super::*;

/// Makes calls of `tokens` one after the other as fast as they may pass; returns when each began, in seconds.
async fn starts(limiter: &Arc<Limiter>, calls: usize, tokens: u64, took: Duration) -> Vec<f64> {
    let started = Instant::now();
    let tasks = (0..calls).map(|_| {
        let limiter = limiter.clone();
        tokio::spawn(async move {
            let admission = limiter.admit(tokens).await;
            let at = started.elapsed().as_secs_f64();
            tokio::time::sleep(took).await;
            admission.end(CallEnd::Succeeded(Some(tokens)), None);
            at
        })
    });
    let mut starts = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        starts.push(task.await.unwrap());
    }
    starts.sort_by(f64::total_cmp);
    starts
}

fn path<'a>(gate: &'a Gate, limiter: &'a Limiter) -> AdmissionPath<'a> {
    AdmissionPath { gate, queue: gate.queue("model"), limiter: Some(limiter), tokens: 1 }
}

fn within_a_minute(starts: &[f64]) -> usize {
    let from = |first: f64| starts.iter().filter(|at| (first..first + 60.0).contains(*at)).count();
    starts.iter().map(|first| from(*first)).max().unwrap_or(0)
}

/// PE-30, CL-15: no minute has more requests than declared.
#[tokio::test(start_paused = true)]
async fn requests_a_minute_are_kept() {
    let limiter = Limiter::new(Limits { rpm: Some(120), ..Limits::default() });
    let starts = starts(&limiter, 300, 10, Duration::from_millis(100)).await;
    assert!(within_a_minute(&starts) <= 120, "{}", within_a_minute(&starts));
    // And it is used: 300 requests at 2 a second.
    assert!((145.0..155.0).contains(starts.last().unwrap()), "{:?}", starts.last());
}

/// PE-30, CL-15: tokens are reserved on an estimate and what was not used goes back.
#[tokio::test(start_paused = true)]
async fn tokens_a_minute_are_settled_on_usage() {
    let limits = Limits { tpm: Some(60_000), ..Limits::default() };
    let whole = starts(&Limiter::new(limits), 120, 1000, Duration::ZERO).await;
    assert!((115.0..122.0).contains(whole.last().unwrap()), "{:?}", whole.last());

    let limiter = Limiter::new(limits);
    let started = Instant::now();
    for _ in 0..120 {
        limiter.admit(1000).await.end(CallEnd::Succeeded(Some(100)), None);
    }
    let took = started.elapsed().as_secs_f64();
    assert!((10.0..14.0).contains(&took), "{took}");
}

/// A call larger than a minute's tokens waits for a full bucket instead of for ever.
#[tokio::test(start_paused = true)]
async fn a_call_above_the_limit_passes_in_the_end() {
    let limiter = Limiter::new(Limits { tpm: Some(60), ..Limits::default() });
    let starts = starts(&limiter, 2, 1000, Duration::ZERO).await;
    assert!(starts[0] < 1.0 && (900.0..1100.0).contains(&starts[1]), "{starts:?}");
}

#[tokio::test(start_paused = true)]
async fn concurrency_is_kept() {
    let limiter = Limiter::new(Limits { concurrency: Some(3), ..Limits::default() });
    let (now, peak) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let tasks = (0..50).map(|_| {
        let (limiter, now, peak) = (limiter.clone(), now.clone(), peak.clone());
        tokio::spawn(async move {
            let _admission = limiter.admit(1).await;
            peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(10)).await;
            now.fetch_sub(1, Ordering::SeqCst);
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(peak.load(Ordering::SeqCst), 3);
}

/// A server that has room for `room` calls at once and refuses the rest: refusals die out, calls go on.
#[tokio::test(start_paused = true)]
async fn an_undeclared_limit_is_found() {
    const ROOM: usize = 10;
    let limiter = Limiter::new(Limits::default());
    let (busy, refused, served) =
        (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let tasks = (0..64).map(|_| {
        let (limiter, busy, refused, served) = (limiter.clone(), busy.clone(), refused.clone(), served.clone());
        tokio::spawn(async move {
            while served.load(Ordering::SeqCst) < 3000 {
                let admission = limiter.admit(1).await;
                let fits = busy.fetch_add(1, Ordering::SeqCst) < ROOM;
                tokio::time::sleep(Duration::from_millis(if fits { 100 } else { 1 })).await;
                busy.fetch_sub(1, Ordering::SeqCst);
                if fits {
                    served.fetch_add(1, Ordering::SeqCst);
                    admission.end(CallEnd::Succeeded(None), None);
                } else {
                    refused.fetch_add(1, Ordering::SeqCst);
                    admission.end(CallEnd::RateLimited, Some(Duration::from_millis(200)));
                }
            }
        })
    });
    let started = Instant::now();
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let (refused, took) = (refused.load(Ordering::SeqCst), started.elapsed().as_secs_f64());
    assert!(refused < 300, "{refused}");
    // The ideal is 3000 calls of 0.1 s, ten at a time.
    assert!(took < 60.0, "{took}");
}

/// All calls wait as long as the provider says, not only the one that was rejected.
#[tokio::test(start_paused = true)]
async fn a_pause_holds_for_all() {
    let limiter = Limiter::new(Limits::default());
    limiter.admit(1).await.end(CallEnd::RateLimited, Some(Duration::from_secs(7)));
    let started = Instant::now();
    drop(limiter.admit(1).await);
    assert_eq!(started.elapsed(), Duration::from_secs(7));
}

/// PE-30: a pause also holds calls that were admitted before it and wait for their slot.
#[tokio::test(start_paused = true)]
async fn a_pause_holds_for_those_who_wait_for_a_slot() {
    let (gate, limiter) = (Arc::new(Gate::new(2)), Limiter::new(Limits::default()));
    let started = Instant::now();
    let calls = (0..6).map(|_| {
        let (gate, limiter) = (gate.clone(), limiter.clone());
        tokio::spawn(async move {
            let (_slot, admission) = path(&gate, &limiter).admit().await.unwrap();
            let at = started.elapsed();
            tokio::time::sleep(Duration::from_millis(10)).await;
            let named_wait = at.is_zero().then_some(Duration::from_secs(7));
            let end = if at.is_zero() { CallEnd::RateLimited } else { CallEnd::Succeeded(None) };
            admission.unwrap().end(end, named_wait);
            at
        })
    });
    let mut starts = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        starts.push(call.await.unwrap());
    }
    starts.sort_unstable();
    assert_eq!(starts[..2], [Duration::ZERO; 2]);
    assert!(starts[2..].iter().all(|at| *at >= Duration::from_secs(7)), "{starts:?}");
}

/// A rejection longer than any clock can count also closes the limiter.
#[tokio::test(start_paused = true)]
async fn an_endless_retry_after_closes_the_limiter() {
    let limiter = Limiter::new(Limits::default());
    let error = CallError { code: karat_types::CallErrorCode::RateLimited, message: "no".to_owned(), status: None };
    limiter.close(Duration::MAX, &error);
    assert_eq!(limiter.closing_error(), Some(error));
}

#[tokio::test(start_paused = true)]
async fn calls_are_not_slowed_without_a_reason() {
    let starts = starts(&Limiter::new(Limits::default()), 1000, 1_000_000, Duration::from_secs(1)).await;
    assert!(starts.iter().all(|at| *at < 1e-6));
}

/// BY-05: a slow model keeps no slot from a fast one.
#[tokio::test(start_paused = true)]
async fn calls_that_wait_for_their_model_hold_no_slot() {
    let gate = Arc::new(Gate::new(2));
    let slow = Limiter::new(Limits { rpm: Some(1), ..Limits::default() });
    let waiting = (0..10).map(|_| {
        let (gate, slow) = (gate.clone(), slow.clone());
        tokio::spawn(async move {
            let (_slot, admission) = path(&gate, &slow).admit().await?;
            admission.map(|admission| admission.end(CallEnd::Succeeded(None), None))
        })
    });
    let waiting: Vec<_> = waiting.collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let fast = Limiter::new(Limits::default());
    let started = Instant::now();
    for _ in 0..100 {
        let _passed = path(&gate, &fast).admit().await.unwrap();
    }
    assert!(started.elapsed() < Duration::from_millis(1));
    gate.shut();
    for task in waiting.into_iter().skip(1) {
        assert!(task.await.unwrap().is_none());
    }
    assert!(
        path(&gate, &fast).admit().await.is_none() && path(&gate, &fast).wait(Duration::from_secs(1)).await.is_none()
    );
}

/// A call that was admitted and not made, because the budget refused it, delays no other call.
#[tokio::test(start_paused = true)]
async fn a_call_that_is_not_made_takes_nothing() {
    let limiter = Limiter::new(Limits { rpm: Some(1), tpm: Some(100), ..Limits::default() });
    let started = Instant::now();
    for _ in 0..10 {
        drop(limiter.admit(4000).await);
    }
    assert_eq!(started.elapsed(), Duration::ZERO);
}

/// Makes `calls` calls of one queue, each `took` long. Returns when each began, in milliseconds.
fn calls_of(gate: &Arc<Gate>, who: &str, calls: usize, took: Duration) -> Vec<tokio::task::JoinHandle<u128>> {
    let started = Instant::now();
    let call = |_| {
        let (gate, queue) = (gate.clone(), gate.queue(who));
        tokio::spawn(async move {
            let _slot = gate.slot(queue).await;
            let at = started.elapsed().as_millis();
            tokio::time::sleep(took).await;
            at
        })
    };
    (0..calls).map(call).collect()
}

async fn all(calls: Vec<tokio::task::JoinHandle<u128>>) -> Vec<u128> {
    futures::future::join_all(calls).await.into_iter().map(Result::unwrap).collect()
}

/// BY-05: a slow model that was first gets its share of slots and no more while a fast one has calls, and all of them
/// afterwards.
#[tokio::test(start_paused = true)]
async fn slots_are_shared_fairly() {
    let gate = Arc::new(Gate::new(8));
    let slow = calls_of(&gate, "slow", 64, Duration::from_secs(2));
    tokio::task::yield_now().await;
    let fast = all(calls_of(&gate, "fast", 400, Duration::from_millis(1))).await;
    // The slow one had all slots at first; then 400 calls of 1 ms in its share of four.
    assert!(fast.iter().all(|at| (2_000..=2_101).contains(at)), "{fast:?}");
    // Eight slots, and four of them for a tenth of a second: 64 calls in little more than 8 turns.
    assert!(all(slow).await.iter().all(|at| *at < 14_500));
}

/// BY-05: with more models than slots, each has its turn.
#[tokio::test(start_paused = true)]
async fn more_models_than_slots_take_turns() {
    let gate = Arc::new(Gate::new(1));
    let queues: Vec<_> = (0..3).map(|at| calls_of(&gate, &format!("m{at}"), 4, Duration::from_millis(10))).collect();
    let mut starts = Vec::new();
    for (at, queue) in queues.into_iter().enumerate() {
        starts.extend(all(queue).await.into_iter().map(|start| (start, at)));
    }
    starts.sort_unstable();
    for turn in starts.chunks(3) {
        let mut served: Vec<usize> = turn.iter().map(|(_, queue)| *queue).collect();
        served.sort_unstable();
        assert_eq!(served, [0, 1, 2], "{starts:?}");
    }
}

/// A call that is dropped in the queue, or with an unused turn, keeps no slot from the next.
#[tokio::test(start_paused = true)]
async fn an_unused_turn_passes_to_the_next_call() {
    let gate = Gate::new(1);
    let queue = gate.queue("model");
    let held = gate.slot(queue).await;
    let (mut gone, mut late) = (Box::pin(gate.slot(queue)), Box::pin(gate.slot(queue)));
    assert!(futures::poll!(&mut gone).is_pending() && futures::poll!(&mut late).is_pending());
    let mut last = Box::pin(gate.slot(queue));
    assert!(futures::poll!(&mut last).is_pending());
    drop(gone);
    drop(held);
    drop(late);
    assert!(last.await.is_some());
}

/// The result of [`workers`].
#[derive(Debug, Default)]
struct WorkerStats {
    /// Maximum number of calls that were prepared or in flight.
    most: usize,
    took: Duration,
    made: usize,
}

/// Runs this number of workers over `cells` cells, each a call and a time `after` it without a slot.
async fn workers(gate: Gate, who: &str, workers: usize, cells: usize, call: Duration, after: Duration) -> WorkerStats {
    let started = Instant::now();
    let (left, seen) = (Arc::new(Mutex::new(cells)), Arc::new(Mutex::new((0, WorkerStats::default()))));
    let (queue, entry) = (gate.queue(who), gate.queue_entry(who));
    let worker = |_| {
        let (gate, mut entry, left, seen) = (gate.clone(), entry.clone(), left.clone(), seen.clone());
        tokio::spawn(async move {
            loop {
                entry.wait_until_short().await;
                match &mut *left.lock().unwrap() {
                    0 => return,
                    left => *left -= 1,
                }
                let under_way = |more: isize| {
                    let (now, seen) = &mut *seen.lock().unwrap();
                    *now += more;
                    seen.most = seen.most.max(*now as usize);
                };
                under_way(1);
                let slot = gate.slot(queue).await.unwrap();
                tokio::time::sleep(call).await;
                under_way(-1);
                drop(slot);
                tokio::time::sleep(after).await;
                seen.lock().unwrap().1.made += 1;
            }
        })
    };
    let workers: Vec<_> = (0..workers).map(worker).collect();
    for worker in workers {
        worker.await.unwrap();
    }
    let (_, seen) = std::mem::take(&mut *seen.lock().unwrap());
    WorkerStats { took: started.elapsed(), ..seen }
}

/// BY-09: no more calls are prepared than there are slots, and as many again; every slot is used all the same.
#[tokio::test(start_paused = true)]
async fn prepared_calls_do_not_exceed_twice_the_slots() {
    let second = Duration::from_secs(1);
    let gate = Gate::new(64);
    let models = ["a", "b", "c", "d"].map(|who| workers(gate.clone(), who, 80, 1600, second, Duration::ZERO));
    let seen = futures::future::join_all(models).await;
    assert_eq!(seen.iter().map(|seen| seen.took).max(), Some(100 * second), "{seen:?}");
    assert_eq!(seen.iter().map(|seen| seen.made).sum::<usize>(), 6400);
    // A share of the slots and as many again, both of which grow as others end.
    assert!(seen.iter().all(|seen| (16 + 16..40).contains(&seen.most)), "{seen:?}");
    let single = workers(Gate::new(1), "model", 10, 20, second, Duration::ZERO).await;
    assert_eq!((single.made, single.took, single.most), (20, 20 * second, 2));
}

/// BY-05: a slow model does not take the slots of a fast one whose calls end together and whose next calls are not
/// prepared yet.
#[tokio::test(start_paused = true)]
async fn a_fast_model_keeps_its_share_of_slots() {
    let gate = Gate::new(16);
    let of = |who, ms| workers(gate.clone(), who, 24, 960, Duration::from_millis(ms), Duration::ZERO);
    let (slow, fast) = futures::join!(of("slow", 800), of("fast", 5));
    // 960 calls of 5 ms in the share of eight.
    assert!(fast.took <= Duration::from_millis(620), "{fast:?}");
    assert!(slow.took <= Duration::from_millis(960 / 16 * 800 + 1600), "{slow:?}");
}

/// If cells take long without a slot, all workers have a cell, and all cells end.
#[tokio::test(start_paused = true)]
async fn workers_are_let_in_while_slots_are_free() {
    let (call, after) = (Duration::from_millis(10), Duration::from_secs(10));
    let seen = workers(Gate::new(4), "model", 64, 640, call, after).await;
    assert_eq!(seen.made, 640);
    // Ten cells a worker; the last worker starts after sixteen rounds of four calls.
    assert!(seen.took <= 10 * (call + after) + 16 * call, "{seen:?}");
}

/// A worker at the entry is woken each time the queue becomes short, and each time a slot is not taken. A worker that
/// is dropped before it wakes leaves that to the next.
#[tokio::test(start_paused = true)]
async fn waiting_workers_are_woken_when_the_queue_is_short() {
    let gate = Gate::new(1);
    let (queue, mut entries) = (gate.queue("model"), [(); 5].map(|()| gate.queue_entry("model")));
    let [inside, too, entries @ ..] = &mut entries;
    assert_eq!((inside.wait_until_short().now_or_never(), too.wait_until_short().now_or_never()), (Some(()), Some(())));
    let held = gate.slot(queue).await;
    let mut next = Box::pin(gate.slot(queue));
    assert!(futures::poll!(&mut next).is_pending());
    let [mut first, mut second, mut third] = entries.each_mut().map(|entry| Box::pin(entry.wait_until_short()));
    for waits in [&mut first, &mut second, &mut third] {
        assert!(futures::poll!(waits).is_pending());
    }
    drop(held);
    drop(third);
    assert!(futures::poll!(&mut first).is_pending());
    assert!(futures::poll!(&mut second).is_ready());
    drop(next.await);
    assert!(futures::poll!(&mut first).is_ready());
}

/// Requests this number of slots; returns those granted at once, and the waiting requests.
fn ask<'a>(
    gate: &'a Gate,
    who: &str,
    calls: usize,
) -> (Vec<SlotGuard>, Vec<impl Future<Output = Option<SlotGuard>> + use<'a>>) {
    let queue = gate.queue(who);
    let (mut there, mut waiting) = (Vec::new(), Vec::new());
    for _ in 0..calls {
        let mut slot = Box::pin(gate.slot(queue));
        match (&mut slot).now_or_never() {
            Some(got) => there.extend(got),
            None => waiting.push(slot),
        }
    }
    (there, waiting)
}

/// The slots that waiting requests have been granted.
fn turns(waiting: &mut Vec<impl Future<Output = Option<SlotGuard>> + Unpin>) -> Vec<SlotGuard> {
    let mut there = Vec::new();
    waiting.retain_mut(|slot| match slot.now_or_never() {
        Some(got) => {
            there.extend(got);
            false
        }
        None => true,
    });
    there
}

/// The number of workers that are let in.
fn let_in(entries: &mut [QueueEntry]) -> usize {
    entries.iter_mut().filter_map(|entry| entry.wait_until_short().now_or_never()).count()
}

/// BY-05: the first model leaves each of the others its share, until they have requested as much as they need.
#[tokio::test(start_paused = true)]
async fn no_model_takes_all_slots_at_the_start() {
    let gate = Gate::new(16);
    let (_slow, fast, few) =
        (vec![gate.queue_entry("slow"); 20], vec![gate.queue_entry("fast"); 20], vec![gate.queue_entry("few"); 2]);
    let (first, mut waiting) = ask(&gate, "slow", 20);
    assert_eq!((first.len(), waiting.len()), (5, 15));
    // Queues without entries, such as judges, exceed it neither.
    let (judged, judging) = ask(&gate, "judge", 6);
    assert_eq!((judged.len(), judging.len()), (5, 1));
    drop((judging, judged));
    let (of_few, _) = ask(&gate, "few", 2);
    let (of_fast, mut in_queue) = ask(&gate, "fast", 4);
    assert_eq!((of_few.len(), of_fast.len(), turns(&mut waiting).len()), (2, 4, 0));
    // The fifth is its share; the remaining slots go to the queue that holds the fewest.
    let (fifth, _) = ask(&gate, "fast", 1);
    assert_eq!((fifth.len(), turns(&mut waiting).len(), turns(&mut in_queue).len()), (1, 4, 0));
    drop((fast, few));
}

/// A model that is late, or makes no calls, is not waited for.
#[tokio::test(start_paused = true)]
async fn late_models_are_skipped_at_the_start() {
    let gate = Gate::new(16);
    let _doors = [vec![gate.queue_entry("early"); 20], vec![gate.queue_entry("late"); 20]];
    let (held, mut waiting) = ask(&gate, "early", 20);
    assert_eq!(held.len(), 8);
    tokio::time::sleep(Duration::from_millis(90)).await;
    assert_eq!(turns(&mut waiting).len(), 0);
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!((turns(&mut waiting).len(), waiting.len()), (8, 4));

    let gate = Gate::new(16);
    let (_early, late, mut none) =
        (vec![gate.queue_entry("early"); 20], vec![gate.queue_entry("late"); 20], vec![gate.queue_entry("none"); 20]);
    let (mut held, mut waiting) = ask(&gate, "early", 20);
    assert_eq!(held.len(), 5);
    none.truncate(1);
    assert_eq!(turns(&mut waiting).len(), 0);
    drop(none);
    held.extend(turns(&mut waiting));
    assert_eq!(held.len(), 8);
    drop(late);
    assert_eq!(turns(&mut waiting).len(), 8);
}

/// Workers at the entry are woken when other models have left and shares have grown.
#[tokio::test(start_paused = true)]
async fn shares_grow_when_models_leave() {
    let gate = Gate::new(4);
    let (mut entries, other) = (vec![gate.queue_entry("model"); 8], gate.queue_entry("other"));
    let _others = ask(&gate, "other", 2);
    let (inside, entries) = entries.split_at_mut(4);
    assert_eq!(let_in(inside), 4);
    let (held, waiting) = ask(&gate, "model", 4);
    assert_eq!((held.len(), waiting.len()), (2, 2));
    let mut waiting_workers: Vec<_> = entries.iter_mut().map(|entry| Box::pin(entry.wait_until_short())).collect();
    let mut woken = || waiting_workers.iter_mut().filter_map(FutureExt::now_or_never).count();
    assert_eq!(woken(), 0);
    drop(other);
    assert_eq!(woken(), 2);
}

/// With any number of slots, only waiting workers are woken.
#[tokio::test(start_paused = true)]
async fn an_unlimited_gate_wakes_only_waiting_workers() {
    let gate = Gate::new(usize::MAX);
    let (mut entries, other) = (vec![gate.queue_entry("model"); 8], gate.queue_entry("other"));
    assert_eq!(let_in(&mut entries[..4]), 4);
    drop(other);
    assert_eq!((ask(&gate, "model", 8).0.len(), let_in(&mut entries)), (8, 8));
}

/// If a queue is long because of calls without an entry, such as a judge that also answers, as many calls come through
/// its entries.
#[tokio::test(start_paused = true)]
async fn a_queue_filled_by_others_stays_open() {
    let gate = Gate::new(4);
    let mut others = vec![gate.queue_entry("other"); 20];
    let mut entries = vec![gate.queue_entry("judge"); 20];
    let (held, judging) = ask(&gate, "judge", 14);
    assert_eq!((held.len(), judging.len(), let_in(&mut entries)), (2, 12, 12));
    // If all calls come through entries: as many as there are slots, plus its share of two.
    let (inside, outside) = others.split_at_mut(4);
    assert_eq!(let_in(inside), 4);
    let (of_others, in_queue) = ask(&gate, "other", 4);
    assert_eq!((of_others.len(), in_queue.len(), let_in(outside)), (2, 2, 0));
    // A worker that returns no longer counts as inside.
    assert_eq!((let_in(&mut entries), let_in(&mut entries[..1])), (12, 1));
    // Nor does one that was dropped.
    entries.drain(..6);
    assert_eq!(let_in(&mut entries[6..]), 6);
}
