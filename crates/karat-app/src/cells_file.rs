//! The file of cells beside `report.json`: written beside everything else, and left as it is where the same would be
//! written again. It is most of what the report of a large run costs.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread::ScopedJoinHandle;

use karat_report::Cells;
use karat_report::json::CellsFile;
use karat_store::Store;
use karat_types::{Key, KeyBuilder, RunRows};

use crate::AppError;
use crate::begun::expected;
use crate::manifest::Listed;
use crate::whole::{WholeFile, unwritable};

/// A file of cells as it lies there.
pub(crate) struct WrittenCells {
    pub target: PathBuf,
    pub facts: CellsFile,
    /// What it is made of: the same makes the same file.
    made_of: Key,
}

/// A file of cells that is written meanwhile, where the run has so many.
#[derive(Default)]
pub(crate) struct CellsBeside<'scope> {
    pub thread: Option<ScopedJoinHandle<'scope, Result<WrittenCells, AppError>>>,
    written: Option<WrittenCells>,
}

impl CellsBeside<'_> {
    /// Waits until it is written.
    pub fn written(&mut self) -> Result<Option<&WrittenCells>, AppError> {
        if let Some(thread) = self.thread.take() {
            let died = |_| Err(AppError::harness("writing the cells of the report stopped; this is a bug in karat"));
            self.written = Some(thread.join().unwrap_or_else(died)?);
        }
        Ok(self.written.as_ref())
    }
}

impl WrittenCells {
    /// The cells of a run in plan order. `kept` is what the manifest says of the file that lies there.
    pub fn of_run(
        store: &Store,
        run: &str,
        canonical: bool,
        target: PathBuf,
        kept: Option<&Listed>,
    ) -> Result<Self, AppError> {
        // Each remembers which row it shows, so each thread has its own.
        let readers = [store.rows(run)?, store.rows(run)?];
        // Asked before any row is read: what is written from now on changes it.
        let state = readers[0].state()?;
        let made_of = KeyBuilder::new("karat/cells-file/1").key(state).number(canonical.into());
        let made_of = made_of.text(env!("CARGO_PKG_VERSION")).finish();
        let header = readers[0].header();
        let estimate = expected(header);
        let cells =
            readers.each_ref().map(|rows| Cells { plan: &header.plan, rows, estimate: estimate.as_ref(), canonical });
        let path = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let kept = kept.filter(|kept| kept.made_of == Some(made_of) && kept.is_intact(&target));
        if let Some(blake3) = kept.and_then(|kept| kept.blake3.clone())
            && begins(cells[0], &target)?
        {
            return Ok(Self { facts: CellsFile { path, n: readers[0].totals()?.cells, blake3 }, target, made_of });
        }
        let mut out = WholeFile::create(&target).map_err(|error| unwritable(&target, &error))?;
        let facts = karat_report::json::write_cells(&cells, &path, &mut out)?;
        out.finish().map_err(|error| unwritable(&target, &error))?;
        Ok(Self { target, facts, made_of })
    }

    /// What a manifest says of it.
    pub fn listed(&self, path: String) -> std::io::Result<Listed> {
        let bytes = std::fs::metadata(&self.target)?.len();
        let blake3 = Some(self.facts.blake3.clone());
        Ok(Listed { path, bytes: Some(bytes), blake3, made_of: Some(self.made_of), ..Listed::default() })
    }
}

/// Whether a file begins as it would be written now: a Karat that writes cells in another way writes all of them anew.
fn begins(cells: Cells<'_>, target: &Path) -> Result<bool, AppError> {
    let Ok(mut file) = File::open(target) else { return Ok(false) };
    Ok(karat_report::json::is_begun_alike(cells, &mut file)?)
}
