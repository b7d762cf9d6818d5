//! Room in memory for large answers, however many calls are under way.
//!
//! An answer takes its size once while it is read, and three times from then until it is on disk: as it came, as the text
//! that stands in it, and packed for the ledger. So it waits for room twice, each time for all at once. Those in the second
//! half wait for nothing but the disk, those in the first half for the second only: somebody can always go on.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Answers up to this size need no room of their own: all calls in flight together take little.
pub(crate) const SMALL: usize = 64 * KIB;

const KIB: usize = 1024;

/// What an answer takes in the second half, beside what it takes in the first.
const COPIES: usize = 2;

/// Room for all large answers together.
pub(crate) struct Rooms {
    /// For those that are read, in KiB.
    incoming: Half,
    /// For those that are on their way to disk.
    outgoing: Half,
}

struct Half {
    free: Arc<Semaphore>,
    /// What the largest answer can take: all there is.
    most: u32,
}

/// What a large answer takes; given back when it is dropped. Hold it until the answer is on disk.
#[derive(Debug)]
pub(crate) struct Room {
    incoming: Option<OwnedSemaphorePermit>,
    outgoing: Option<OwnedSemaphorePermit>,
}

impl Rooms {
    /// So many bytes for all answers, of which one may have `largest`. The smallest there can be still lets one go on.
    pub fn new(bytes: usize, largest: usize) -> Self {
        Self { incoming: Half::new((bytes / 2).max(largest)), outgoing: Half::new(bytes / 2) }
    }

    /// Waits for room to read an answer of at most so many bytes.
    pub async fn enter(&self, bytes: usize) -> Room {
        Room { incoming: self.incoming.take(bytes).await, outgoing: None }
    }

    /// Waits until an answer that came with so many bytes may go on to where it is used. What it has not needed others have
    /// at once.
    pub async fn go_on(&self, room: &mut Room, bytes: usize) {
        if let Some(incoming) = &mut room.incoming {
            let surplus = incoming.num_permits().saturating_sub(bytes.div_ceil(KIB));
            drop(incoming.split(surplus));
        }
        room.outgoing = self.outgoing.take(COPIES * bytes).await;
    }
}

impl Half {
    fn new(bytes: usize) -> Self {
        let most = u32::try_from(bytes.div_ceil(KIB)).unwrap_or(u32::MAX);
        Self { free: Arc::new(Semaphore::new(most as usize)), most }
    }

    /// A closed semaphore bounds nothing; these are never closed.
    async fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let kib = u32::try_from(bytes.div_ceil(KIB)).unwrap_or(u32::MAX);
        self.free.clone().acquire_many_owned(kib.min(self.most)).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::future::{FutureExt, join_all};

    use super::*;

    const MIB: usize = 1024 * KIB;

    /// BY-09: room is taken until the answer is on disk, and what a body of unknown size did not need is given back before.
    #[tokio::test]
    async fn room_is_free_once_an_answer_is_on_disk() {
        let rooms = Rooms::new(16 * MIB, 8 * MIB);
        let mut first = rooms.enter(8 * MIB).await;
        assert!(rooms.enter(MIB).now_or_never().is_none(), "it may become as large as any");
        rooms.go_on(&mut first, 3 * MIB).await;
        let mut second = rooms.enter(5 * MIB).now_or_never().unwrap();
        assert!(rooms.enter(1).now_or_never().is_none());
        assert!(rooms.go_on(&mut second, 5 * MIB).now_or_never().is_none(), "the first one takes 6 MiB of 8");
        drop(first);
        rooms.go_on(&mut second, 5 * MIB).now_or_never().unwrap();
    }

    /// BY-09, PE-24: with the least room there can be, large answers go on one after the other, and none waits for ever.
    #[tokio::test]
    async fn the_least_room_lets_large_answers_go_on() {
        let rooms = Rooms::new(0, 8 * MIB);
        let answers = (0..50).map(async |_| {
            let mut room = rooms.enter(8 * MIB).await;
            tokio::task::yield_now().await;
            rooms.go_on(&mut room, 8 * MIB).await;
            tokio::task::yield_now().await;
        });
        tokio::time::timeout(Duration::from_secs(20), join_all(answers)).await.unwrap();
    }
}
