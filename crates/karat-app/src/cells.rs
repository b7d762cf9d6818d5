//! The cells of a report, which are most of what it costs: serialised while everything else is found. A file of them is left
//! as it is where the same would be written again.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::ScopedJoinHandle;

use karat_analysis::resolve_checks;
use karat_report::json::{self, CellsFile};
use karat_report::{Cells, Estimate, RenderError, Report};
use karat_store::{Store, StoredRun};
use karat_types::{Key, KeyBuilder, PlanHeader, RunRows};

use crate::AppError;
use crate::begun::expected;
use crate::error::Bug;
use crate::manifest::Listed;
use crate::whole::{WholeFile, unwritable};

/// The cells of a stored run, ready to be written.
pub(crate) struct CellSource {
    rows: StoredRun,
    plan: Arc<PlanHeader>,
    estimate: Option<Estimate>,
    canonical: bool,
    /// Hash of everything that the file of cells is made of: equal hashes give equal files.
    made_of: Key,
    count: u64,
}

impl CellSource {
    pub fn of(store: &Store, run: &str, canonical: bool) -> Result<Self, AppError> {
        let rows = store.rows(run)?;
        // Read before any row: a later write changes it.
        let state = rows.state()?;
        let made_of = KeyBuilder::new("karat/cells-file/1").key(state).number(canonical.into());
        Ok(Self {
            plan: resolve_checks(&rows).map_err(RenderError::from)?,
            estimate: expected(rows.header()),
            canonical,
            made_of: made_of.text(env!("CARGO_PKG_VERSION")).finish(),
            count: rows.totals()?.cells,
            rows,
        })
    }

    /// Whether they are too many for report.json.
    pub fn fills_file(&self) -> bool {
        self.count > json::INLINE_CELLS
    }

    fn cells(&self) -> Cells<'_> {
        let Self { rows, plan, estimate, canonical, .. } = self;
        Cells { plan, rows, estimate: estimate.as_ref(), canonical: *canonical }
    }

    /// The file of them in plan order. `kept` is what the manifest says of the one that lies there.
    pub fn file(&self, target: PathBuf, kept: Option<&Listed>) -> Result<WrittenCells, AppError> {
        let (cells, made_of) = (self.cells(), self.made_of);
        let path = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let kept = kept.filter(|kept| kept.made_of == Some(made_of) && kept.is_intact(&target));
        // Of a run under way there may be more cells by now than the file holds.
        if let Some((n, blake3)) = kept.and_then(|kept| kept.n.zip(kept.blake3.clone()))
            && begins(cells, &target)?
        {
            return Ok(WrittenCells { facts: CellsFile { path, n, blake3 }, target, made_of });
        }
        let mut out = WholeFile::create(&target).map_err(|error| unwritable(&target, error))?;
        let facts = json::write_cells(cells, &path, &mut out)?;
        out.finish().map_err(|error| unwritable(&target, error))?;
        Ok(WrittenCells { target, facts, made_of })
    }
}

/// The file of cells, written while everything else of the report is made.
#[derive(Default)]
pub(crate) enum CellsBeside<'scope> {
    /// No format needs the file.
    #[default]
    Nowhere,
    /// A file that is being written, or was.
    Writing(ScopedJoinHandle<'scope, Result<WrittenCells, AppError>>),
    Written(WrittenCells),
}

impl CellsBeside<'_> {
    /// The file of them, once it is written, where there is one.
    pub fn written(&mut self) -> Result<Option<&WrittenCells>, AppError> {
        if let Self::Writing(_) = self
            && let Self::Writing(thread) = std::mem::take(self)
        {
            let died = |_| Err(AppError::from(Bug::CellsWriter));
            *self = Self::Written(thread.join().unwrap_or_else(died)?);
        }
        Ok(if let Self::Written(cells) = self { Some(cells) } else { None })
    }

    /// Writes report.json with them, or with where they are.
    pub fn report(&mut self, report: Report<'_>, out: &mut dyn Write) -> Result<(), AppError> {
        Ok(match self.written()? {
            Some(cells) => json::write_beside_cells(report, &cells.facts, out),
            None => json::write(report, out),
        }?)
    }
}

/// A file of cells as it lies there.
pub(crate) struct WrittenCells {
    pub target: PathBuf,
    pub facts: CellsFile,
    made_of: Key,
}

impl WrittenCells {
    /// What a manifest says of it.
    pub fn listed(&self, path: String) -> std::io::Result<Listed> {
        let bytes = std::fs::metadata(&self.target)?.len();
        let CellsFile { n, blake3, .. } = self.facts.clone();
        let (blake3, n, made_of) = (Some(blake3), Some(n), Some(self.made_of));
        Ok(Listed { path, bytes: Some(bytes), blake3, n, made_of, ..Listed::default() })
    }
}

/// Whether a file begins as it would be written now: a Karat that writes cells in another way writes all of them anew.
fn begins(cells: Cells<'_>, target: &Path) -> Result<bool, AppError> {
    let Ok(mut file) = File::open(target) else { return Ok(false) };
    Ok(json::starts_alike(cells, &mut file)?)
}
