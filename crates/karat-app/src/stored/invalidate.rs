//! Invalidates cached results.

use karat_store::{CachedResults, InvalidatedResults, OrdinalSet, PruneResult, StoreError, Withdraw};
use karat_types::{Moment, RunRows};

use crate::AppError;
use crate::error::StoredError;
use crate::stored::Stored;
use crate::stored::names;

/// The results that an invalidation affects, with the names of their cells.
#[derive(Debug, Clone)]
pub struct Invalidation {
    /// Id of the run.
    pub run: String,
    /// The removed and the kept results.
    pub results: InvalidatedResults,
    /// `sample/model/variant/trial` by ordinal.
    pub cells: std::collections::BTreeMap<u64, String>,
}

impl Stored<'_> {
    /// Invalidates the cached results of a run or of some of its cells, or lists them on a dry run. The run's own rows
    /// and reports stay, and so do results that other runs use, unless `force` withdraws them from all later runs.
    pub fn invalidate(
        &self,
        run: &str,
        cells: &[String],
        dry_run: bool,
        force: bool,
    ) -> Result<Invalidation, AppError> {
        let store = self.app.existing_store()?;
        let run = store.resolve(run)?;
        let rows = store.rows(&run)?;
        let wanted = self.ordinals(&rows, cells)?;
        let chosen = (!cells.is_empty()).then_some(&wanted);
        let results = store.invalidate(&run, chosen, Withdraw { apply: !dry_run, force })?;
        let mut names = std::collections::BTreeMap::new();
        for ordinal in results.gone.iter().chain(&results.kept).flat_map(|result| &result.cells) {
            let (row, system, trial) = rows.header().plan.place(*ordinal);
            if let Some(sample) = rows.sample(row)? {
                names.insert(*ordinal, format!("{}/{trial}", names::path(&rows.header().plan, &sample.id, system)));
            }
        }
        Ok(Invalidation { run, results, cells: names })
    }

    /// The cached results by the run that made them, newest first.
    pub fn cached_results(&self) -> Result<Vec<CachedResults>, AppError> {
        Ok(if self.app.store.exists() { self.app.store_to_read()?.cached_results()? } else { Vec::new() })
    }

    /// Invalidates results of runs older than this age, removes their requests and responses if `traces`, and compacts
    /// the store.
    ///
    /// # Errors
    /// There is no store, or it cannot be read or written. The error of a full disk says how to prune all the same.
    pub fn prune(&self, older_than_ms: u64, traces: bool, dry_run: bool) -> Result<PruneResult, AppError> {
        let before = Moment(self.app.clock.now().0.saturating_sub_unsigned(older_than_ms));
        let to_read = self.app.existing_store()?;
        if to_read.is_writable() {
            return Ok(to_read.prune(before, traces, !dry_run)?);
        }
        match self.app.open_store() {
            Ok(store) => Ok(store.prune(before, traces, !dry_run)?),
            Err(AppError::Store(source @ StoreError::Full { .. })) => {
                let (path, bytes) = (to_read.url().path(), to_read.content_bytes()?);
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let path = path.display().to_string();
                Err(StoredError::PruneOnFullDisk { source, mib: bytes.div_ceil(1 << 20), path, name }.into())
            }
            Err(error) => Err(error),
        }
    }

    fn ordinals(&self, rows: &karat_store::StoredRun, cells: &[String]) -> Result<OrdinalSet, AppError> {
        let mut missing: Vec<&String> = cells.iter().collect();
        let mut found = OrdinalSet::default();
        let plan = rows.header().plan.clone();
        let read = rows.for_each(&mut |row| {
            missing.retain(|cell| {
                let here = names::is_row(cell, &plan, &row);
                if here {
                    found.insert(row.cell.ordinal);
                }
                !here
            });
            if missing.is_empty() { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
        });
        read?;
        match missing.first() {
            None => Ok(found),
            Some(cell) => Err(StoredError::NoCell { run: rows.header().id.clone(), cell: cell.to_string() }.into()),
        }
    }
}
