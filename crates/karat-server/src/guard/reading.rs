//! A reading of the store that callers who need it at the same time share.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;

/// Something that every request reads. Nobody gets a reading that was begun before they asked.
#[derive(Default)]
pub(crate) struct SharedReading<T> {
    /// The number of readings that were begun.
    begun: AtomicU64,
    /// The last one that succeeded, with its number. Locked while one is made.
    last: Mutex<Option<(u64, T)>>,
}

impl<T: Clone> SharedReading<T> {
    /// Reads, or waits for the reading of another caller.
    ///
    /// # Errors
    /// Those of this caller's reading; they are not shared.
    pub async fn read<E>(&self, read: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        let before = self.begun.load(Ordering::SeqCst);
        let mut last = self.last.lock().await;
        if let Some((_, value)) = last.as_ref().filter(|(number, _)| *number > before) {
            return Ok(value.clone());
        }
        let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        let value = read.await?;
        *last = Some((number, value.clone()));
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// SV-28, SV-09: many callers cost two readings, and who asks after a change sees it.
    #[tokio::test(start_paused = true)]
    async fn a_reading_is_shared_by_those_who_asked_before_it() {
        let (reading, made) = (SharedReading::default(), AtomicU64::new(0));
        let read = || {
            reading.read(async {
                tokio::time::sleep(Duration::from_millis(10)).await;
                Ok::<_, ()>(made.fetch_add(1, Ordering::SeqCst))
            })
        };
        let all = futures::future::join_all((0..50).map(|_| read())).await;
        assert_eq!(all[0], Ok(0));
        assert!(all[1..].iter().all(|it| *it == Ok(1)));
        assert_eq!(read().await, Ok(2));
        assert_eq!(reading.read(async { Err("no store") }).await, Err("no store"));
        assert_eq!(read().await, Ok(3));
    }
}
