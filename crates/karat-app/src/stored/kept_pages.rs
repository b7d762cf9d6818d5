//! Pages of ended runs, and of their comparisons, that a process keeps in memory: each takes passes over all cells.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use karat_report::page::Document;
use karat_store::StoredRun;
use karat_types::{GateReference, Key, KeyBuilder, RunRows, RunStatus};
use serde::{Deserialize, Serialize};

use crate::AppError;
use crate::stored::Stored;
use crate::stored::figures::figures_key;
use crate::stored::invocation::read_stored_invocation;

/// Bytes of pages of a kind that are kept.
const MEMORY: usize = 32 << 20;

/// The page of a run, with what the pages around it need.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunPage {
    /// The page.
    pub document: Document,
    /// The suite, if its samples have dates.
    pub dated_suite: Option<String>,
    /// The run of the suite before this one.
    pub previous: Option<String>,
}

/// A page that can be kept.
pub(crate) trait Page {
    /// Its size in bytes, roughly.
    fn size(&self) -> usize;
}

impl Page for RunPage {
    fn size(&self) -> usize {
        self.document.size()
    }
}

impl Page for Document {
    fn size(&self) -> usize {
        self.body.0.len()
    }
}

/// The pages of one kind.
pub(crate) struct KeptPages<P> {
    /// Latest used last.
    pages: Vec<(Key, Arc<P>)>,
    /// The turns of those that are being built.
    turns: Vec<(Key, Weak<Mutex<()>>)>,
}

impl<P> Default for KeptPages<P> {
    fn default() -> Self {
        Self { pages: Vec::new(), turns: Vec::new() }
    }
}

impl<P: Page> KeptPages<P> {
    fn find(&mut self, key: Key) -> Option<Arc<P>> {
        let at = self.pages.iter().position(|(known, _)| *known == key)?;
        let kept = self.pages.remove(at);
        let page = Arc::clone(&kept.1);
        self.pages.push(kept);
        Some(page)
    }

    /// Adds a page, and drops those that were not used for the longest time.
    fn add(&mut self, key: Key, page: Arc<P>) {
        self.pages.retain(|(known, _)| *known != key);
        self.pages.push((key, page));
        let mut size: usize = self.pages.iter().map(|(_, page)| page.size()).sum();
        while size > MEMORY && !self.pages.is_empty() {
            size -= self.pages.remove(0).1.size();
        }
    }

    /// The lock that whoever builds a page holds.
    fn turn(&mut self, key: Key) -> Arc<Mutex<()>> {
        self.turns.retain(|(_, turn)| turn.strong_count() > 0);
        let known = self.turns.iter().find(|(known, _)| *known == key).and_then(|(_, turn)| turn.upgrade());
        known.unwrap_or_else(|| {
            let turn = Arc::default();
            self.turns.push((key, Arc::downgrade(&turn)));
            turn
        })
    }
}

/// The page of a key: one that is kept, or one that is built now and then kept. Many who ask at once wait for one who
/// builds it.
pub(crate) fn find_or_build<P: Page>(
    kept: &Mutex<KeptPages<P>>,
    key: Key,
    build: impl FnOnce() -> Result<P, AppError>,
) -> Result<Arc<P>, AppError> {
    if let Some(page) = lock(kept).find(key) {
        return Ok(page);
    }
    let turn = lock(kept).turn(key);
    let _building = lock(&turn);
    if let Some(page) = lock(kept).find(key) {
        return Ok(page);
    }
    let page = Arc::new(build()?);
    lock(kept).add(key, Arc::clone(&page));
    Ok(page)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stored<'_> {
    /// The key of a run's page: all that it shows, which is the run, its baseline file, the runs that its gates name,
    /// and those that a gate may take for the one before. `None` if the page is not to be kept.
    pub(crate) fn page_key(&self, stored: &StoredRun) -> Result<Option<Key>, AppError> {
        let header = stored.header();
        let Some(figures) = figures_key(stored)? else { return Ok(None) };
        let mut key = KeyBuilder::new("karat/run-page").text(&header.id).key(figures);
        let store = self.app.existing_store()?;
        // A run that a gate names may be retried later.
        let rules = read_stored_invocation(header)?.rules;
        for gate in &rules.gates {
            if let Some(GateReference::Run(id)) = &gate.against {
                let Ok(named) = self.run(id) else { return Ok(None) };
                key = key.text(id).key(named.state()?);
            }
        }
        let mut before = store.run_before(&header.id)?;
        // Up to the first finished one: those between may be resumed and then take its place.
        while let Some(id) = before {
            let run = store.rows(&id)?;
            key = key.text(&id).key(run.state()?);
            if run.header().status == RunStatus::Finished && !run.header().plan.run.measures_judges {
                break;
            }
            before = store.run_before(&id)?;
        }
        Ok(Some(key.finish()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    struct Sized(usize);

    impl Page for Sized {
        fn size(&self) -> usize {
            self.0
        }
    }

    /// SV-28: many who open a page at once wait for one who builds it.
    #[test]
    fn a_page_is_built_once() {
        let (kept, built, begin) = (Mutex::new(KeptPages::default()), AtomicUsize::new(0), Barrier::new(8));
        let key = KeyBuilder::new("page").finish();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    begin.wait();
                    let build = || Ok(Sized(1 + built.fetch_add(1, Ordering::SeqCst)));
                    assert_eq!(find_or_build(&kept, key, build).unwrap().0, 1);
                });
            }
        });
        assert_eq!(built.into_inner(), 1);
    }

    /// DB-60: memory is bounded; the page that was not used for the longest time goes first.
    #[test]
    fn pages_are_dropped_when_they_are_too_many() {
        let kept = Mutex::new(KeptPages::default());
        let key = |at: u64| KeyBuilder::new("page").number(at).finish();
        for at in 0..3 {
            find_or_build(&kept, key(at), || Ok(Sized(MEMORY / 2))).unwrap();
        }
        let found = (0..3).map(|at| lock(&kept).find(key(at)).is_some()).collect::<Vec<_>>();
        assert_eq!(found, [false, true, true]);
    }
}
