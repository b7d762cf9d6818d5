//! Slots: a limit of calls in flight over all models and services, shared fairly between them.
//!
//! A free slot goes to the next request. If more calls ask than there are slots, the next slot goes to the model that
//! holds the fewest, and among equals to the one that has waited longest since its last: each model gets the same
//! share, and others use what one does not need. So a slow model never holds more than its share while a fast one has
//! calls to make.
//!
//! At the start all slots are free. Until every registered model has requested its share, no model may exceed it; a
//! model that has not asked within 100 ms is skipped.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot::{self, error::RecvError};
use tokio::sync::{Notify, Semaphore};
use tokio::time::timeout;

use crate::limiter::response_memory::MemoryGrant;

/// Time for which slots are kept free at the start for a model that has not asked yet. First calls come within some
/// milliseconds of each other; otherwise something slower precedes them, or the model makes no calls.
const START_WAIT: Duration = Duration::from_millis(100);

/// The limit of calls in flight of a run. Once shut, it admits none. Clones are the same gate.
#[derive(Clone)]
pub struct Gate(Arc<Inner>);

struct Inner {
    state: Mutex<GateState>,
    /// Never has a permit; closing it wakes all waiters.
    shut: Semaphore,
}

#[derive(Debug)]
struct GateState {
    slots: usize,
    free: usize,
    queues: Vec<ModelQueue>,
    /// True while a queue with entries has not requested its share.
    starting: bool,
    /// Slots granted so far.
    granted: u64,
}

/// The calls of one model, service or program.
#[derive(Debug, Default)]
struct ModelQueue {
    who: Box<str>,
    in_use: usize,
    waiting: VecDeque<oneshot::Sender<()>>,
    /// Notified when the queue is short or a slot is free.
    short: Arc<Notify>,
    /// The number of its entries; without any, the queue has no share.
    entries: usize,
    /// The number of entries that were let in and prepare or make a call.
    inside: usize,
    /// Slot requests so far.
    requested: usize,
    /// The number of slots granted in total when it got its last.
    last_grant: u64,
}

/// Index of a queue in its gate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueId(usize);

/// A worker's entry to a queue, where it waits before it prepares a call. Each worker has a clone; dropping one lets
/// the next check whether the queue is short.
pub struct QueueEntry {
    gate: Gate,
    queue: QueueId,
    short: Arc<Notify>,
    is_inside: bool,
}

/// The right to have one call in flight and its answer in memory. Hold it until the call's record is on disk.
pub struct SlotGuard {
    gate: Gate,
    queue: QueueId,
    memory: Option<MemoryGrant>,
}

/// A place in a queue. If it is dropped before its turn is used, the next call gets the turn.
struct QueuedCall<'a> {
    gate: &'a Gate,
    queue: QueueId,
    turn: oneshot::Receiver<()>,
}

impl Gate {
    /// A gate for this number of calls in flight.
    pub fn new(calls: usize) -> Self {
        let slots = calls.max(1);
        let state = GateState { slots, free: slots, queues: Vec::new(), starting: false, granted: 0 };
        Self(Arc::new(Inner { state: Mutex::new(state), shut: Semaphore::new(0) }))
    }

    /// Admits no more calls. Calls that wait here, for their model's limits or for another attempt, end; calls in
    /// flight do not.
    pub fn shut(&self) {
        self.0.shut.close();
        self.state().queues.iter_mut().for_each(|queue| queue.waiting.clear());
    }

    /// Returns whether it is shut.
    pub fn is_shut(&self) -> bool {
        self.0.shut.is_closed()
    }

    /// Runs `work`; `None` if the gate is shut before it is done.
    pub(super) async fn until_shut<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = work => Some(done),
            _ = self.0.shut.acquire() => None,
        }
    }

    /// The queue of a model or service.
    pub(crate) fn queue(&self, who: &str) -> QueueId {
        self.state().queue_id(who)
    }

    /// A registered entry to the queue of a model or service, for which slots are kept at the start.
    pub fn queue_entry(&self, who: &str) -> QueueEntry {
        let mut state = self.state();
        state.starting = true;
        let at = state.queue_id(who);
        let queue = &mut state.queues[at.0];
        queue.entries += 1;
        QueueEntry { gate: self.clone(), queue: at, short: queue.short.clone(), is_inside: false }
    }

    /// Waits in a queue for a slot; `None` once the gate is shut.
    pub(super) async fn slot(&self, queue: QueueId) -> Option<SlotGuard> {
        if self.is_shut() {
            return None;
        }
        let (turn, is_start) = {
            let mut state = self.state();
            (state.take_or_queue(queue), state.starting)
        };
        if let Some(turn) = turn {
            let mut waiting = QueuedCall { gate: self, queue, turn };
            let turn = match is_start {
                // Boxed: few calls wait at the start, and all others would carry the timer, too.
                true => Box::pin(self.turn_at_start(&mut waiting.turn)).await,
                false => (&mut waiting.turn).await,
            };
            turn.ok()?;
        }
        Some(SlotGuard { gate: self.clone(), queue, memory: None })
    }

    /// Waits for a turn, and ends the start after [`START_WAIT`].
    async fn turn_at_start(&self, turn: &mut oneshot::Receiver<()>) -> Result<(), RecvError> {
        match timeout(START_WAIT, &mut *turn).await {
            Ok(turn) => turn,
            Err(_) => {
                self.state().end_start();
                turn.await
            }
        }
    }

    fn give_back(&self, QueueId(queue): QueueId) {
        let mut state = self.state();
        state.queues[queue].in_use -= 1;
        state.free += 1;
        state.grant_free_slots();
    }

    fn state(&self) -> MutexGuard<'_, GateState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GateState {
    fn queue_id(&mut self, who: &str) -> QueueId {
        let known = self.queues.iter().position(|queue| *queue.who == *who);
        QueueId(known.unwrap_or_else(|| {
            self.queues.push(ModelQueue { who: who.into(), ..ModelQueue::default() });
            self.queues.len() - 1
        }))
    }

    /// Returns whether fewer calls wait in a queue than its share of the slots: that many slots may become free
    /// together, and without calls for them they go to others. If some calls did not come through an entry, the waiting
    /// calls must also outnumber those that did, or those would hardly get a slot.
    fn is_short(&self, QueueId(queue): QueueId) -> bool {
        let ModelQueue { waiting, inside, .. } = &self.queues[queue];
        waiting.len() < self.share() || waiting.len() > *inside
    }

    /// Returns whether a worker may prepare a call; `is_inside` if it was let in before.
    fn try_enter(&mut self, queue: QueueId, is_inside: bool) -> bool {
        self.queues[queue.0].inside -= usize::from(is_inside);
        let is_short = self.is_short(queue);
        self.queues[queue.0].inside += usize::from(is_short);
        is_short
    }

    /// A queue's share of the slots, rounded up: with two queues and one slot, each may have one call waiting.
    fn share(&self) -> usize {
        self.slots.div_ceil(self.active_queues())
    }

    fn active_queues(&self) -> usize {
        self.queues.iter().filter(|queue| queue.entries > 0).count().max(1)
    }

    /// Returns whether a queue may have one of the free slots.
    fn may_have_more(&self, queue: &ModelQueue) -> bool {
        !self.starting || queue.in_use < self.whole_share()
    }

    /// The share that all queues can have at once.
    fn whole_share(&self) -> usize {
        (self.slots / self.active_queues()).max(1)
    }

    /// Ends the start once each queue with entries has requested its share, or as many slots as it has entries.
    fn end_start_if_all_asked(&mut self) {
        let has_asked = |queue: &ModelQueue| queue.requested >= self.whole_share().min(queue.entries);
        if self.starting && self.queues.iter().all(has_asked) {
            self.end_start();
        }
    }

    fn end_start(&mut self) {
        if self.starting {
            self.starting = false;
            self.grant_free_slots();
        }
    }

    /// Removes an entry. With the last one the queue's share ends, and others have more.
    fn leave(&mut self, QueueId(queue): QueueId, is_inside: bool) {
        self.queues[queue].inside -= usize::from(is_inside);
        self.queues[queue].entries -= 1;
        if self.queues[queue].entries == 0 {
            let share = self.share();
            for queue in &self.queues {
                let waiting_workers = queue.entries - queue.inside;
                (queue.waiting.len()..share).take(waiting_workers).for_each(|_| queue.short.notify_last());
            }
            self.grant_free_slots();
        }
        self.end_start_if_all_asked();
    }

    /// Takes a free slot, or else a place in the queue.
    fn take_or_queue(&mut self, QueueId(queue): QueueId) -> Option<oneshot::Receiver<()>> {
        self.queues[queue].requested += 1;
        let turn = if self.free > 0 && self.may_have_more(&self.queues[queue]) {
            self.grant(queue);
            None
        } else {
            let (sender, turn) = oneshot::channel();
            self.queues[queue].waiting.push_back(sender);
            Some(turn)
        };
        self.end_start_if_all_asked();
        turn
    }

    fn grant(&mut self, queue: usize) {
        self.free -= 1;
        self.granted += 1;
        let queue = &mut self.queues[queue];
        queue.in_use += 1;
        queue.last_grant = self.granted;
    }

    /// Grants free slots to waiting calls.
    fn grant_free_slots(&mut self) {
        while self.free > 0 {
            let waiting = self.queues.iter().enumerate().filter(|(_, queue)| !queue.waiting.is_empty());
            let waiting = waiting.filter(|(_, queue)| self.may_have_more(queue));
            let Some((next, _)) = waiting.min_by_key(|(_, queue)| (queue.in_use, queue.last_grant)) else {
                self.queues.iter().for_each(|queue| queue.short.notify_last());
                return;
            };
            let turn = self.queues[next].waiting.pop_front();
            if self.is_short(QueueId(next)) {
                self.queues[next].short.notify_last();
            }
            // A call that was dropped meanwhile takes none.
            if turn.is_some_and(|turn| turn.send(()).is_ok()) {
                self.grant(next);
            }
        }
    }
}

impl QueueEntry {
    /// Waits until fewer calls wait in the queue than its share of the slots: a call prepared earlier would only wait
    /// longer, with everything it holds.
    pub async fn wait_until_short(&mut self) {
        let Self { gate, queue, short, is_inside } = self;
        loop {
            let mut told = pin!(short.notified());
            told.as_mut().enable();
            *is_inside = gate.state().try_enter(*queue, *is_inside);
            if *is_inside {
                return;
            }
            told.await;
        }
    }
}

impl Clone for QueueEntry {
    fn clone(&self) -> Self {
        self.gate.state().queues[self.queue.0].entries += 1;
        Self { gate: self.gate.clone(), queue: self.queue, short: self.short.clone(), is_inside: false }
    }
}

impl Drop for QueueEntry {
    fn drop(&mut self) {
        self.gate.state().leave(self.queue, self.is_inside);
        self.short.notify_last();
    }
}

impl SlotGuard {
    /// Holds the memory of a large answer.
    pub(crate) fn hold_memory(&mut self, memory: Option<MemoryGrant>) {
        self.memory = memory;
    }
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        self.gate.give_back(self.queue);
    }
}

impl Drop for QueuedCall<'_> {
    fn drop(&mut self) {
        self.turn.close();
        if self.turn.try_recv().is_ok() {
            self.gate.give_back(self.queue);
        }
    }
}
