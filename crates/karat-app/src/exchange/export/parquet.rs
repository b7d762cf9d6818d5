//! A run as Parquet files: `cells`, `metrics`, `judgments` and `calls`.

use std::path::{Path, PathBuf};

use karat_columnar::{TableWriter, WriteError};
use karat_types::RunRows;

use super::tables::{RunTable, TableRows};
use super::{ExportedFiles, for_each_cell};
use crate::error::FileError;
use crate::{App, AppError, AtomicFile};

/// Version of the tables' columns.
const SCHEMA: &str = "1";

impl App {
    /// Writes the tables of a run into a folder.
    ///
    /// # Errors
    /// The run cannot be read, a file cannot be written.
    pub fn export_parquet(&self, run: &str, folder: &Path) -> Result<ExportedFiles, AppError> {
        let store = self.existing_store()?;
        let run = store.resolve(run)?;
        let stored = store.rows(&run)?;
        let plan = stored.header().plan.clone();
        let create = |table| TableFile::create(folder, table, &run, &plan);
        let mut files = RunTable::ALL.into_iter().map(create).collect::<Result<Vec<_>, _>>()?;
        let mut rows = TableRows::new(&run, &plan);
        let mut cells = 0;
        for_each_cell(&stored, |row| {
            cells += 1;
            let cell = rows.with_scores(row);
            for file in &mut files {
                for row in rows.of_cell(file.table, (&store, &stored), &cell)? {
                    file.writer.push(row).map_err(|error| unwritable(&file.path, error))?;
                }
            }
            Ok(())
        })?;
        Ok(ExportedFiles { files: files.into_iter().map(TableFile::finish).collect::<Result<_, _>>()?, cells })
    }
}

/// A table that is being written.
struct TableFile {
    table: RunTable,
    path: PathBuf,
    writer: TableWriter<AtomicFile>,
}

impl TableFile {
    fn create(folder: &Path, table: RunTable, run: &str, plan: &karat_types::PlanHeader) -> Result<Self, AppError> {
        let path = folder.join(match table {
            RunTable::Cells => "cells.parquet",
            RunTable::Scores => "metrics.parquet",
            RunTable::Judgments => "judgments.parquet",
            RunTable::Calls => "calls.parquet",
        });
        let file = AtomicFile::create(&path).map_err(|error| FileError::writing(&path, error))?;
        let metadata = [("karat.run", run), ("karat.schema", SCHEMA)];
        let writer =
            TableWriter::new(file, table.columns(plan), &metadata).map_err(|error| unwritable(&path, error))?;
        Ok(Self { table, path, writer })
    }

    fn finish(self) -> Result<PathBuf, AppError> {
        let Self { path, writer, .. } = self;
        let file = writer.finish().map_err(|error| unwritable(&path, error))?;
        file.finish().map_err(|error| FileError::writing(&path, error))?;
        Ok(path)
    }
}

fn unwritable(path: &Path, error: WriteError) -> AppError {
    FileError::writing(path, std::io::Error::other(error)).into()
}
