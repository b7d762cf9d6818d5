//! Runs during which their process died, such as one that takes all memory: they go on, unless they die at the same cells
//! again.
//!
//! A run whose process died is still marked as running, and no process writes it. Replies that it has paid for and no result
//! uses are those of the cells that were at work; if the same are left twice and nothing was finished in between, the next
//! start would die at them, too.

use karat_store::{Store, StoreError};
use karat_types::{Key, RunStatus};
use serde::{Deserialize, Serialize};

use crate::AppError;
use crate::error::RunError;
use crate::service::Service;

/// Kind of the data that is kept with the run, and its version.
const KIND: &str = "deaths/1";

/// Deaths without progress, or at the same cells with some, after which a run is parked.
const MOST: u32 = 3;

/// Replies that are remembered.
const REMEMBERED: usize = 256;

/// The facts known of a run when its process was found dead.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Deaths {
    /// Deaths in a row.
    count: u32,
    /// Calls, cells and judgments that had ended.
    progress: u64,
    /// Replies that no result used.
    replies: Vec<Key>,
}

impl Deaths {
    /// The state after another death.
    fn after(&self, progress: u64, replies: Vec<Key>) -> Self {
        let is_at_same = replies.iter().any(|reply| self.replies.contains(reply));
        let is_stuck = progress == self.progress;
        let count = match (is_at_same, is_stuck) {
            _ if self.count == 0 => 1,
            (true, true) => MOST,
            (true, false) | (false, true) => self.count + 1,
            (false, false) => 1,
        };
        Self { count, progress, replies }
    }
}

impl Service<'_> {
    /// Notes that the process of a run died, if it did, before the run is started again.
    ///
    /// # Errors
    /// It died at the same cells as before: the run is parked. The store cannot be read.
    pub(crate) fn note_death(&self, run: &str) -> Result<(), AppError> {
        let store = self.app.open_store()?;
        let is_dead = match store.run(run) {
            Ok(header) => header.status == RunStatus::Running && !store.is_claimed(run),
            Err(StoreError::NoSuchRun { .. }) => false,
            Err(error) => return Err(error.into()),
        };
        if !is_dead {
            return Ok(());
        }
        let rows = store.rows(run)?;
        let known = rows.read_derived(KIND, key())?;
        let known: Deaths = known.and_then(|known| serde_json::from_slice(&known).ok()).unwrap_or_default();
        let (progress, replies) = work_of(&store, run)?;
        let open = replies.len();
        let now = known.after(progress, replies);
        let is_parked = now.count >= MOST;
        // Who asks for the run again, asks for other attempts.
        let kept = if is_parked { Deaths::default() } else { now };
        rows.keep_derived(KIND, key(), &serde_json::to_vec(&kept).unwrap_or_default())?;
        match is_parked {
            true => Err(RunError::Parked { run: run.to_owned(), deaths: known.count + 1, replies: open }.into()),
            false => Ok(()),
        }
    }
}

fn key() -> Key {
    Key::of("karat/deaths/1", b"")
}

/// The work that a run has done, and the replies that it has paid for and no result uses.
fn work_of(store: &Store, run: &str) -> Result<(u64, Vec<Key>), StoreError> {
    let (account, finished) = (store.account(run)?, store.finished_cells(run)?);
    let judged: u64 = finished.judgments.values().map(|judged| judged.present.len()).sum();
    let progress = account.spending.calls + finished.cells.len() + judged;
    Ok((progress, account.paid.keys_without_use().take(REMEMBERED).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// X6: two deaths at the same replies with nothing finished in between are enough; with progress it takes a third, and
    /// deaths elsewhere begin anew.
    #[test]
    fn deaths_at_the_same_cells_are_counted() {
        let key = |name: &str| Key::of("test", name.as_bytes());
        let first = Deaths::default().after(5, vec![key("a"), key("b")]);
        assert_eq!(first.count, 1);
        assert_eq!(first.after(5, vec![key("b")]).count, MOST);
        let moved = first.after(9, vec![key("b")]);
        assert_eq!((moved.count, moved.after(9, vec![key("b")]).count), (2, MOST));
        assert_eq!(moved.after(12, vec![key("b")]).count, MOST);
        assert_eq!(first.after(9, vec![key("c")]).count, 1);
        // Without a reply nobody knows the cells: a third death decides.
        let stuck = Deaths::default().after(0, vec![]).after(0, vec![]);
        assert_eq!((stuck.count, stuck.after(0, vec![]).count), (2, MOST));
    }
}
