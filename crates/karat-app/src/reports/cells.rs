//! The file of cells, the largest part of a report: written while everything else is computed, and left alone if it
//! would stay the same.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::ScopedJoinHandle;

use karat_analysis::resolve_checks;
use karat_report::json::{self, CellsFile};
use karat_report::{Cells, RenderError, Report};
use karat_store::{Store, StoredRun};
use karat_types::{Key, KeyBuilder, PlanHeader, RunRows, UncachedCost};

use crate::AppError;
use crate::error::Bug;
use crate::project::atomic_file::{AtomicFile, report_write_error};
use crate::reports::manifest::Listed;
use crate::stored::invocation::stored_estimate;

/// The cells of a stored run, ready to be written.
pub(crate) struct CellSource {
    rows: StoredRun,
    plan: Arc<PlanHeader>,
    estimate: Option<UncachedCost>,
    canonical: bool,
    /// Hash of everything that the file of cells is made of: equal hashes give equal files.
    made_of: Key,
    count: u64,
}

impl CellSource {
    pub fn of(store: &Store, run: &str, canonical: bool) -> Result<Self, AppError> {
        let rows = store.rows(run)?.checked_once();
        // Read before any row: a later write changes it.
        let state = rows.state()?;
        let made_of = KeyBuilder::new("karat/cells-file/1").key(state).number(canonical.into());
        Ok(Self {
            plan: resolve_checks(&rows).map_err(RenderError::from)?,
            estimate: stored_estimate(rows.header()),
            canonical,
            made_of: made_of.text(env!("CARGO_PKG_VERSION")).finish(),
            count: rows.totals()?.cells,
            rows,
        })
    }

    /// Returns whether there are too many cells for report.json.
    pub fn fills_file(&self) -> bool {
        self.count > json::INLINE_CELLS
    }

    fn cells(&self) -> Cells<'_> {
        let Self { rows, plan, estimate, canonical, .. } = self;
        Cells { plan, rows, estimate: estimate.as_ref(), canonical: *canonical, whole_outputs: false, findings: None }
    }

    /// Writes the file of cells in plan order. `kept` is the manifest's entry for the present file.
    pub fn file(&self, target: PathBuf, kept: Option<&Listed>) -> Result<WrittenCells, AppError> {
        let (cells, made_of) = (self.cells(), self.made_of);
        let path = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let kept = kept.filter(|kept| kept.made_of == Some(made_of) && kept.is_intact(&target));
        // A running run may have more cells by now than the file holds.
        if let Some((n, blake3)) = kept.and_then(|kept| kept.n.zip(kept.blake3.clone()))
            && starts_alike(cells, &target)?
        {
            return Ok(WrittenCells { facts: CellsFile { path, n, blake3 }, target, made_of });
        }
        let mut out = AtomicFile::create(&target).map_err(|error| report_write_error(&target, error))?;
        let facts = json::write_cells(cells, &path, &mut out)?;
        out.finish().map_err(|error| report_write_error(&target, error))?;
        Ok(WrittenCells { target, facts, made_of })
    }
}

/// The file of cells, written while everything else of the report is made.
#[derive(Default)]
pub(crate) enum CellsBeside<'scope> {
    /// No format needs the file.
    #[default]
    Nowhere,
    /// The file is being written, or is finished.
    Writing(ScopedJoinHandle<'scope, Result<WrittenCells, AppError>>),
    Written(WrittenCells),
}

impl CellsBeside<'_> {
    /// Waits for the file of cells, if there is one.
    pub fn wait_for_file(&mut self) -> Result<Option<&WrittenCells>, AppError> {
        if let Self::Writing(_) = self
            && let Self::Writing(thread) = std::mem::take(self)
        {
            let died = |_| Err(AppError::from(Bug::CellsWriter));
            *self = Self::Written(thread.join().unwrap_or_else(died)?);
        }
        Ok(if let Self::Written(cells) = self { Some(cells) } else { None })
    }

    /// Writes report.json with the cells, or with the name of their file.
    pub fn report(&mut self, report: Report<'_>, out: &mut dyn Write) -> Result<(), AppError> {
        Ok(match self.wait_for_file()? {
            Some(cells) => json::write_beside_cells(report, &cells.facts, out),
            None => json::write(report, out),
        }?)
    }
}

/// A finished file of cells.
pub(crate) struct WrittenCells {
    pub target: PathBuf,
    pub facts: CellsFile,
    made_of: Key,
}

impl WrittenCells {
    /// Its manifest entry.
    pub fn manifest_entry(&self, path: String) -> std::io::Result<Listed> {
        let bytes = std::fs::metadata(&self.target)?.len();
        let CellsFile { n, blake3, .. } = self.facts.clone();
        let (blake3, n, made_of) = (Some(blake3), Some(n), Some(self.made_of));
        Ok(Listed { path, bytes: Some(bytes), blake3, n, made_of, ..Listed::default() })
    }
}

/// Returns whether a file starts as it would be written now: a version of Karat that writes cells differently rewrites
/// all of them.
fn starts_alike(cells: Cells<'_>, target: &Path) -> Result<bool, AppError> {
    let Ok(mut file) = File::open(target) else { return Ok(false) };
    Ok(json::starts_alike(cells, &mut file)?)
}
