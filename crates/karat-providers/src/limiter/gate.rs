//! Slots: so many calls in flight over all who are called, shared fairly between them.
//!
//! A free slot goes to whoever asks. Where more ask than there are slots, the next one goes to those who hold the fewest,
//! of equals to those who have waited longest since their last: each gets the same share, and what one does not need
//! the others have. A slow model therefore never holds more than its share while a fast one has calls to make.
//!
//! At the start all slots are free, and whoever came first would have them all: until everybody who has a door has asked
//! for a share, nobody holds more than that. Who does not ask soon is not waited for.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot::{self, error::RecvError};
use tokio::sync::{Notify, Semaphore};
use tokio::time::timeout;

use crate::http::response_memory::MemoryGrant;

/// For so long a slot is kept free at the start for somebody who has not asked for it yet. First calls come within some
/// milliseconds of each other; where they do not, something slower comes before them, or nothing is to be called.
const START_WAIT: Duration = Duration::from_millis(100);

/// What all calls of a run pass: so many in flight, and none once it is shut. Cheap to clone; clones are the same gate.
#[derive(Clone)]
pub struct Gate(Arc<Inner>);

struct Inner {
    state: Mutex<GateState>,
    /// Never has a permit; closed when the gate is shut, which wakes everybody who waits.
    shut: Semaphore,
}

#[derive(Debug)]
struct GateState {
    slots: usize,
    free: usize,
    queues: Vec<ModelQueue>,
    /// Some line with a door has not asked for a share yet.
    starting: bool,
    /// Slots given so far.
    granted: u64,
}

/// The calls of one model, or of one service or program.
#[derive(Debug, Default)]
struct ModelQueue {
    who: Box<str>,
    in_use: usize,
    waiting: VecDeque<oneshot::Sender<()>>,
    /// Tells one at the door when it has become shorter and is short, or a slot is free.
    short: Arc<Notify>,
    /// How many come to its door: without any, the line has none.
    entries: usize,
    /// How many of them are not at the door: they make what they went in for.
    inside: usize,
    /// How many calls have asked for a slot.
    requested: usize,
    /// How many slots had been given when it got its last.
    last_grant: u64,
}

/// Where a line stands in its gate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueId(usize);

/// Where those wait who would first have to make a call of a line ready. Each has a clone; dropped, it is the next one's
/// turn to see whether the line is short.
pub struct QueueEntry {
    gate: Gate,
    line: QueueId,
    short: Arc<Notify>,
    is_inside: bool,
}

/// The right to have one call in flight, and its answer in memory. Hold it until the call's record is on disk.
pub struct SlotGuard {
    gate: Gate,
    line: QueueId,
    memory: Option<MemoryGrant>,
}

/// A place in a line. Left before its turn is taken, the turn is the next one's.
struct QueuedCall<'a> {
    gate: &'a Gate,
    line: QueueId,
    turn: oneshot::Receiver<()>,
}

impl Gate {
    /// A gate for so many calls in flight.
    pub fn new(calls: usize) -> Self {
        let slots = calls.max(1);
        let state = GateState { slots, free: slots, queues: Vec::new(), starting: false, granted: 0 };
        Self(Arc::new(Inner { state: Mutex::new(state), shut: Semaphore::new(0) }))
    }

    /// Lets nobody pass any more. Calls that wait here, for their model's limits or for another attempt, end; calls in
    /// flight do not.
    pub fn shut(&self) {
        self.0.shut.close();
        self.state().queues.iter_mut().for_each(|line| line.waiting.clear());
    }

    /// Whether it is shut.
    pub fn is_shut(&self) -> bool {
        self.0.shut.is_closed()
    }

    /// Does something; `None` when the gate is shut before it is done.
    pub(super) async fn until_shut<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = work => Some(done),
            _ = self.0.shut.acquire() => None,
        }
    }

    /// The line of who is called.
    pub(crate) fn queue(&self, who: &str) -> QueueId {
        self.state().queue_id(who)
    }

    /// The door to the line of who is called, and will be waited for at the start.
    pub fn queue_entry(&self, who: &str) -> QueueEntry {
        let mut state = self.state();
        state.starting = true;
        let at = state.queue_id(who);
        let line = &mut state.queues[at.0];
        line.entries += 1;
        QueueEntry { gate: self.clone(), line: at, short: line.short.clone(), is_inside: false }
    }

    /// Waits in a line for a slot; `None` once the gate is shut.
    pub(super) async fn slot(&self, line: QueueId) -> Option<SlotGuard> {
        if self.is_shut() {
            return None;
        }
        let (turn, is_start) = {
            let mut state = self.state();
            (state.take_or_queue(line), state.starting)
        };
        if let Some(turn) = turn {
            let mut waiting = QueuedCall { gate: self, line, turn };
            let turn = match is_start {
                // Boxed: few wait at the start, and all others would hold the clock, too.
                true => Box::pin(self.turn_at_start(&mut waiting.turn)).await,
                false => (&mut waiting.turn).await,
            };
            turn.ok()?;
        }
        Some(SlotGuard { gate: self.clone(), line, memory: None })
    }

    /// Waits for a turn, and longer than [`START_WAIT`] for nobody else.
    async fn turn_at_start(&self, turn: &mut oneshot::Receiver<()>) -> Result<(), RecvError> {
        match timeout(START_WAIT, &mut *turn).await {
            Ok(turn) => turn,
            Err(_) => {
                self.state().end_start();
                turn.await
            }
        }
    }

    fn give_back(&self, QueueId(line): QueueId) {
        let mut state = self.state();
        state.queues[line].in_use -= 1;
        state.free += 1;
        state.grant_free_slots();
    }

    fn state(&self) -> MutexGuard<'_, GateState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GateState {
    fn queue_id(&mut self, who: &str) -> QueueId {
        let known = self.queues.iter().position(|line| *line.who == *who);
        QueueId(known.unwrap_or_else(|| {
            self.queues.push(ModelQueue { who: who.into(), ..ModelQueue::default() });
            self.queues.len() - 1
        }))
    }

    /// Whether fewer wait in a line than its share of the slots: that many become free together, and as long as a line has
    /// nobody for them, they are the others'. Where some in the line have not come through its door, those who do have to
    /// be as many, or would have hardly any slot.
    fn is_short(&self, QueueId(line): QueueId) -> bool {
        let ModelQueue { waiting, inside, .. } = &self.queues[line];
        waiting.len() < self.share() || waiting.len() > *inside
    }

    /// Whether one who comes to the door of a line may go in; `is_inside` is one who has been.
    fn try_enter(&mut self, line: QueueId, is_inside: bool) -> bool {
        self.queues[line.0].inside -= usize::from(is_inside);
        let is_short = self.is_short(line);
        self.queues[line.0].inside += usize::from(is_short);
        is_short
    }

    /// So many slots are a line's, rounded up: of two lines and one slot, either may have one in line.
    fn share(&self) -> usize {
        self.slots.div_ceil(self.active_queues())
    }

    fn active_queues(&self) -> usize {
        self.queues.iter().filter(|line| line.entries > 0).count().max(1)
    }

    /// Whether a line may have one of the free slots.
    fn may_have_more(&self, line: &ModelQueue) -> bool {
        !self.starting || line.in_use < self.whole_share()
    }

    /// So many slots each line can have while all others have as many.
    fn whole_share(&self) -> usize {
        (self.slots / self.active_queues()).max(1)
    }

    /// Ends the start once each line with a door has asked for its share, or for as many slots as come to its door.
    fn end_start_if_all_asked(&mut self) {
        let has_asked = |line: &ModelQueue| line.requested >= self.whole_share().min(line.entries);
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

    /// One comes to a door no more. With the last one goes the line's share, and others have more.
    fn leave(&mut self, QueueId(line): QueueId, is_inside: bool) {
        self.queues[line].inside -= usize::from(is_inside);
        self.queues[line].entries -= 1;
        if self.queues[line].entries == 0 {
            let share = self.share();
            for line in &self.queues {
                let at_the_door = line.entries - line.inside;
                (line.waiting.len()..share).take(at_the_door).for_each(|_| line.short.notify_last());
            }
            self.grant_free_slots();
        }
        self.end_start_if_all_asked();
    }

    /// Takes a slot where one is free, or else a place in the line.
    fn take_or_queue(&mut self, QueueId(line): QueueId) -> Option<oneshot::Receiver<()>> {
        self.queues[line].requested += 1;
        let turn = if self.free > 0 && self.may_have_more(&self.queues[line]) {
            self.grant(line);
            None
        } else {
            let (sender, turn) = oneshot::channel();
            self.queues[line].waiting.push_back(sender);
            Some(turn)
        };
        self.end_start_if_all_asked();
        turn
    }

    fn grant(&mut self, line: usize) {
        self.free -= 1;
        self.granted += 1;
        let line = &mut self.queues[line];
        line.in_use += 1;
        line.last_grant = self.granted;
    }

    /// Gives what is free to those who wait.
    fn grant_free_slots(&mut self) {
        while self.free > 0 {
            let waiting = self.queues.iter().enumerate().filter(|(_, line)| !line.waiting.is_empty());
            let waiting = waiting.filter(|(_, line)| self.may_have_more(line));
            let Some((next, _)) = waiting.min_by_key(|(_, line)| (line.in_use, line.last_grant)) else {
                self.queues.iter().for_each(|line| line.short.notify_last());
                return;
            };
            let turn = self.queues[next].waiting.pop_front();
            if self.is_short(QueueId(next)) {
                self.queues[next].short.notify_last();
            }
            // Who has gone away in the meantime takes nothing.
            if turn.is_some_and(|turn| turn.send(()).is_ok()) {
                self.grant(next);
            }
        }
    }
}

impl QueueEntry {
    /// Waits until fewer wait in the line than its share of the slots: a call that is made ready before only waits the
    /// longer, with all that it holds.
    pub async fn wait_until_short(&mut self) {
        let Self { gate, line, short, is_inside } = self;
        loop {
            let mut told = pin!(short.notified());
            told.as_mut().enable();
            *is_inside = gate.state().try_enter(*line, *is_inside);
            if *is_inside {
                return;
            }
            told.await;
        }
    }
}

impl Clone for QueueEntry {
    fn clone(&self) -> Self {
        self.gate.state().queues[self.line.0].entries += 1;
        Self { gate: self.gate.clone(), line: self.line, short: self.short.clone(), is_inside: false }
    }
}

impl Drop for QueueEntry {
    fn drop(&mut self) {
        self.gate.state().leave(self.line, self.is_inside);
        self.short.notify_last();
    }
}

impl SlotGuard {
    /// Keeps the room that a large answer takes.
    pub(crate) fn hold_memory(&mut self, room: Option<MemoryGrant>) {
        self.memory = room;
    }
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        self.gate.give_back(self.line);
    }
}

impl Drop for QueuedCall<'_> {
    fn drop(&mut self) {
        self.turn.close();
        if self.turn.try_recv().is_ok() {
            self.gate.give_back(self.line);
        }
    }
}
