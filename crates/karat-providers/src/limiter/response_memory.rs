//! A memory limit for large answers, however many calls are in flight.
//!
//! An answer takes its size while it is read, as it grows, and three times its size from then until it is on disk: the
//! received bytes, the text in them, and the compressed record. Answers in the second phase wait only for the disk. If
//! answers in the first phase need more than there is, one at a time may continue without a grant: so one can always
//! finish, and an answer that hangs withholds only what it has received.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Answers up to this size need no grant: all calls in flight together take little.
pub(crate) const SMALL: usize = 64 * KIB;

/// Step by which a grant grows, unless the announced length is smaller. With small steps, many answers would hold some
/// memory and none enough.
const STEP: usize = 1024 * KIB;

const KIB: usize = 1024;

/// Copies of an answer in the second phase, beside the received bytes.
const COPIES: usize = 2;

/// The memory for all large answers.
pub(crate) struct ResponseMemory {
    /// For answers being read, in KiB, less the size of the largest possible answer.
    incoming: Arc<Semaphore>,
    /// The permit to continue without a grant; the size of the largest possible answer is kept back for it.
    overcommit: Arc<Semaphore>,
    /// For answers on their way to disk, in KiB.
    outgoing: Arc<Semaphore>,
    /// Its total.
    most_outgoing: u32,
}

/// The memory granted to a large answer, returned on drop. Hold it until the answer is on disk.
#[derive(Debug, Default)]
pub(crate) struct MemoryGrant {
    incoming: Option<OwnedSemaphorePermit>,
    overcommit: Option<OwnedSemaphorePermit>,
    outgoing: Option<OwnedSemaphorePermit>,
}

impl ResponseMemory {
    /// A limit for all answers, each of at most `largest` bytes. Even the smallest limit lets one answer continue.
    pub fn new(bytes: usize, largest: usize) -> Self {
        let most_outgoing = in_kib(bytes / 2);
        Self {
            incoming: Arc::new(Semaphore::new(in_kib((bytes / 2).saturating_sub(largest)) as usize)),
            overcommit: Arc::new(Semaphore::new(1)),
            outgoing: Arc::new(Semaphore::new(most_outgoing as usize)),
            most_outgoing,
        }
    }

    /// Waits for memory for an answer with this many received and announced bytes. Returns the number of bytes it may
    /// hold now.
    pub async fn grow(&self, grant: &mut MemoryGrant, bytes: usize, announced: usize) -> usize {
        let step = bytes.next_multiple_of(STEP);
        let wanted = if bytes <= announced { announced.min(step) } else { step };
        let taken = grant.incoming.as_ref().map_or(0, OwnedSemaphorePermit::num_permits) * KIB;
        if grant.overcommit.is_some() || taken >= wanted {
            return wanted;
        }
        let more = in_kib(wanted - taken);
        // These semaphores are never closed.
        tokio::select! {
            biased;
            Ok(permit) = self.incoming.clone().acquire_many_owned(more) => match &mut grant.incoming {
                Some(incoming) => incoming.merge(permit),
                none => *none = Some(permit),
            },
            Ok(permit) = self.overcommit.clone().acquire_owned() => grant.overcommit = Some(permit),
            else => {}
        }
        wanted
    }

    /// Waits until a complete answer of this size may be stored.
    pub async fn begin_storing(&self, grant: &mut MemoryGrant, bytes: usize) {
        let kib = in_kib(COPIES * bytes).min(self.most_outgoing);
        grant.outgoing = self.outgoing.clone().acquire_many_owned(kib).await.ok();
    }

    /// Returns whether an answer waits for memory.
    #[cfg(test)]
    pub fn has_waiters(&self) -> bool {
        // One count is this, one may belong to the holder of the permit; a waiter holds one, too.
        Arc::strong_count(&self.overcommit) > 2
    }
}

fn in_kib(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(KIB)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::future::{FutureExt, join_all};

    use super::*;

    const MIB: usize = 1024 * KIB;

    /// BY-09: memory is held until the answer is on disk.
    #[tokio::test]
    async fn memory_is_free_once_an_answer_is_on_disk() {
        let memory = ResponseMemory::new(16 * MIB, 4 * MIB);
        let [mut first, mut second, mut third] = <[MemoryGrant; 3]>::default();
        memory.grow(&mut first, 3 * MIB, 3 * MIB).now_or_never().unwrap();
        memory.grow(&mut second, 3 * MIB, 3 * MIB).now_or_never().unwrap();
        assert!(second.overcommit.is_some(), "of 4 MiB the first one takes 3");
        assert!(memory.grow(&mut third, 3 * MIB, 0).now_or_never().is_none());
        memory.begin_storing(&mut first, 3 * MIB).now_or_never().unwrap();
        assert!(memory.begin_storing(&mut second, 3 * MIB).now_or_never().is_none(), "the first one takes 6 MiB of 8");
        drop(first);
        memory.begin_storing(&mut second, 3 * MIB).now_or_never().unwrap();
        memory.grow(&mut third, 3 * MIB, 3 * MIB).now_or_never().unwrap();
    }

    /// BY-09, PE-27: answers that hang withhold from others what they received, not what they may become.
    #[tokio::test]
    async fn a_hanging_answer_holds_only_received_bytes() {
        let memory = ResponseMemory::new(64 * MIB, 8 * MIB);
        let mut hung: Vec<MemoryGrant> = std::iter::repeat_with(MemoryGrant::default).take(20).collect();
        for grant in &mut hung {
            memory.grow(grant, 2 * SMALL, 8 * MIB).now_or_never().unwrap();
        }
        assert!(hung.iter().all(|grant| grant.overcommit.is_none()));
        let mut good = MemoryGrant::default();
        for size in (0..=3 * MIB).step_by(SMALL) {
            memory.grow(&mut good, size, 0).now_or_never().unwrap();
        }
        assert!(good.incoming.is_some_and(|permit| permit.num_permits() * KIB == 3 * MIB));
    }

    /// BY-09, PE-24: with any limit, large answers that grow concurrently all finish.
    #[tokio::test]
    async fn one_answer_can_always_finish() {
        for bytes in [0, 16 * MIB, 40 * MIB] {
            let memory = ResponseMemory::new(bytes, 8 * MIB);
            let answers = (0..50).map(async |_| {
                let mut grant = MemoryGrant::default();
                for size in (0..=8 * MIB).step_by(STEP) {
                    memory.grow(&mut grant, size, 0).await;
                    tokio::task::yield_now().await;
                }
                memory.begin_storing(&mut grant, 8 * MIB).await;
                tokio::task::yield_now().await;
            });
            tokio::time::timeout(Duration::from_secs(20), join_all(answers)).await.unwrap();
        }
    }
}
