//! Pages of ended runs, and of their comparisons, that a process keeps in memory: each takes passes over all cells.

use std::sync::Arc;

use karat_report::page::Document;
use karat_store::StoredRun;
use karat_types::{GateReference, Key, KeyBuilder, RunRows, RunStatus};

use crate::inspect::figures::figures_key;
use crate::report::page::RunPage;
use crate::run::stored_invocation::read_stored_invocation;
use crate::{App, AppError};

/// Bytes of pages of a kind that are kept.
const MEMORY: usize = 32 << 20;

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

/// The pages of one kind, latest used last.
pub(crate) struct KeptPages<P>(Vec<(Key, Arc<P>)>);

impl<P> Default for KeptPages<P> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<P: Page> KeptPages<P> {
    pub fn find(&mut self, key: Key) -> Option<Arc<P>> {
        let at = self.0.iter().position(|(known, _)| *known == key)?;
        let kept = self.0.remove(at);
        let page = Arc::clone(&kept.1);
        self.0.push(kept);
        Some(page)
    }

    /// Adds a page, and drops those that were not used for the longest time.
    pub fn add(&mut self, key: Key, page: Arc<P>) {
        self.0.retain(|(known, _)| *known != key);
        self.0.push((key, page));
        let mut size: usize = self.0.iter().map(|(_, page)| page.size()).sum();
        while size > MEMORY && !self.0.is_empty() {
            size -= self.0.remove(0).1.size();
        }
    }
}

impl App {
    /// The key of a run's page: all that it shows, which is the run, its baseline file, the runs that its gates name,
    /// and those that a gate may take for the one before. `None` if the page is not to be kept.
    pub(crate) fn page_key(&self, stored: &StoredRun) -> Result<Option<Key>, AppError> {
        let header = stored.header();
        let Some(figures) = figures_key(stored)? else { return Ok(None) };
        let mut key = KeyBuilder::new("karat/run-page").text(&header.id).key(figures);
        let store = self.existing_store()?;
        // A run that a gate names may be retried later.
        let rules = read_stored_invocation(header).map(|begun| begun.rules).unwrap_or_default();
        for gate in &rules.gates {
            if let Some(GateReference::Run(id)) = &gate.against {
                let Ok(named) = self.stored_run(id) else { return Ok(None) };
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
