//! Room in memory for large answers, however many calls are under way.
//!
//! An answer takes its size while it is read, as it grows, and three times from then until it is on disk: as it came, as the
//! text that stands in it, and packed for the ledger. Those in the second half wait for nothing but the disk. Of those in the
//! first half that wait for more than there is, one at a time goes on without: so somebody always can, and an answer that
//! hangs keeps no more from others than has come of it.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Answers up to this size need no room of their own: all calls in flight together take little.
pub(crate) const SMALL: usize = 64 * KIB;

/// An answer that grows takes so much more at once, or what it has announced: most need room once only. Where all took little
/// often, many would have some room and none enough.
const STEP: usize = 1024 * KIB;

const KIB: usize = 1024;

/// What an answer takes in the second half, beside what it takes in the first.
const COPIES: usize = 2;

/// Room for all large answers together.
pub(crate) struct ResponseMemory {
    /// For those that are read, in KiB, less what the largest can take.
    incoming: Arc<Semaphore>,
    /// Whoever has this reads on without room: what the largest answer can take is kept for it.
    overcommit: Arc<Semaphore>,
    /// For those that are on their way to disk, in KiB.
    outgoing: Arc<Semaphore>,
    /// All of that.
    most_outgoing: u32,
}

/// What a large answer takes; given back when it is dropped. Hold it until the answer is on disk.
#[derive(Debug, Default)]
pub(crate) struct MemoryGrant {
    incoming: Option<OwnedSemaphorePermit>,
    overcommit: Option<OwnedSemaphorePermit>,
    outgoing: Option<OwnedSemaphorePermit>,
}

impl ResponseMemory {
    /// So many bytes for all answers, of which one may have `largest`. The smallest there can be still lets one go on.
    pub fn new(bytes: usize, largest: usize) -> Self {
        let most_outgoing = in_kib(bytes / 2);
        Self {
            incoming: Arc::new(Semaphore::new(in_kib((bytes / 2).saturating_sub(largest)) as usize)),
            overcommit: Arc::new(Semaphore::new(1)),
            outgoing: Arc::new(Semaphore::new(most_outgoing as usize)),
            most_outgoing,
        }
    }

    /// Waits for room for an answer of which so many bytes have come, of so many that it has announced, if any. Says how
    /// many bytes it may take by now.
    pub async fn grow(&self, room: &mut MemoryGrant, bytes: usize, announced: usize) -> usize {
        let step = bytes.next_multiple_of(STEP);
        let wanted = if bytes <= announced { announced.min(step) } else { step };
        let taken = room.incoming.as_ref().map_or(0, OwnedSemaphorePermit::num_permits) * KIB;
        if room.overcommit.is_some() || taken >= wanted {
            return wanted;
        }
        let more = in_kib(wanted - taken);
        // Closed semaphores bound nothing; these are never closed.
        tokio::select! {
            biased;
            Ok(permit) = self.incoming.clone().acquire_many_owned(more) => match &mut room.incoming {
                Some(incoming) => incoming.merge(permit),
                none => *none = Some(permit),
            },
            Ok(way) = self.overcommit.clone().acquire_owned() => room.overcommit = Some(way),
            else => {}
        }
        wanted
    }

    /// Waits until an answer that came with so many bytes may go on to where it is used.
    pub async fn begin_storing(&self, room: &mut MemoryGrant, bytes: usize) {
        let kib = in_kib(COPIES * bytes).min(self.most_outgoing);
        room.outgoing = self.outgoing.clone().acquire_many_owned(kib).await.ok();
    }

    /// Whether an answer that is read waits for another.
    #[cfg(test)]
    pub fn has_waiters(&self) -> bool {
        // One is this, one may be with whoever has the way; who waits for it holds it, too.
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

    /// BY-09: room is taken until the answer is on disk.
    #[tokio::test]
    async fn room_is_free_once_an_answer_is_on_disk() {
        let rooms = ResponseMemory::new(16 * MIB, 4 * MIB);
        let [mut first, mut second, mut third] = <[MemoryGrant; 3]>::default();
        rooms.grow(&mut first, 3 * MIB, 3 * MIB).now_or_never().unwrap();
        rooms.grow(&mut second, 3 * MIB, 3 * MIB).now_or_never().unwrap();
        assert!(second.overcommit.is_some(), "of 4 MiB the first one takes 3");
        assert!(rooms.grow(&mut third, 3 * MIB, 0).now_or_never().is_none());
        rooms.begin_storing(&mut first, 3 * MIB).now_or_never().unwrap();
        assert!(rooms.begin_storing(&mut second, 3 * MIB).now_or_never().is_none(), "the first one takes 6 MiB of 8");
        drop(first);
        rooms.begin_storing(&mut second, 3 * MIB).now_or_never().unwrap();
        rooms.grow(&mut third, 3 * MIB, 3 * MIB).now_or_never().unwrap();
    }

    /// BY-09, PE-27: answers that hang keep from others what has come of them, not what they may become.
    #[tokio::test]
    async fn who_hangs_keeps_only_what_has_come() {
        let rooms = ResponseMemory::new(64 * MIB, 8 * MIB);
        let mut hung: Vec<MemoryGrant> = std::iter::repeat_with(MemoryGrant::default).take(20).collect();
        for room in &mut hung {
            rooms.grow(room, 2 * SMALL, 8 * MIB).now_or_never().unwrap();
        }
        assert!(hung.iter().all(|room| room.overcommit.is_none()));
        let mut good = MemoryGrant::default();
        for size in (0..=3 * MIB).step_by(SMALL) {
            rooms.grow(&mut good, size, 0).now_or_never().unwrap();
        }
        assert!(good.incoming.is_some_and(|permit| permit.num_permits() * KIB == 3 * MIB));
    }

    /// BY-09, PE-24: whatever the room, large answers that grow beside each other all come to their end.
    #[tokio::test]
    async fn somebody_can_always_go_on() {
        for bytes in [0, 16 * MIB, 40 * MIB] {
            let rooms = ResponseMemory::new(bytes, 8 * MIB);
            let answers = (0..50).map(async |_| {
                let mut room = MemoryGrant::default();
                for size in (0..=8 * MIB).step_by(STEP) {
                    rooms.grow(&mut room, size, 0).await;
                    tokio::task::yield_now().await;
                }
                rooms.begin_storing(&mut room, 8 * MIB).await;
                tokio::task::yield_now().await;
            });
            tokio::time::timeout(Duration::from_secs(20), join_all(answers)).await.unwrap();
        }
    }
}
