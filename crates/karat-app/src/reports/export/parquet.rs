//! A run as Parquet files: `cells`, `metrics` (the scores of each cell), `judgments` and `calls`, then `figures`.

use std::path::{Path, PathBuf};

use karat_columnar::{Column, Field, TableWriter, WriteError};
use karat_types::RunRows;

use super::tables::{RunTable, TableRows};
use super::{ExportedFiles, for_each_cell};
use crate::error::FileError;
use crate::reports::Reports;
use crate::{AppError, AtomicFile};

/// Version of the tables' columns.
const SCHEMA: &str = "1";

impl Reports<'_> {
    /// Writes the tables of a run into a folder.
    ///
    /// # Errors
    /// The run cannot be read, a file cannot be written.
    pub fn export_parquet(&self, run: &str, folder: &Path) -> Result<ExportedFiles, AppError> {
        let store = self.app.existing_store()?;
        let run = store.resolve(run)?;
        let stored = store.rows(&run)?;
        let plan = stored.header().plan.clone();
        let create = |table| -> Result<CellTable, AppError> {
            let path = folder.join(match table {
                RunTable::Cells => "cells.parquet",
                RunTable::Scores => "metrics.parquet",
                RunTable::Judgments => "judgments.parquet",
                RunTable::Calls => "calls.parquet",
            });
            Ok(CellTable { table, file: TableFile::create(path, &run, table.columns(&plan))? })
        };
        let mut files = RunTable::ALL.into_iter().map(create).collect::<Result<Vec<_>, _>>()?;
        let mut rows = TableRows::new(&run, &plan);
        let mut cells = 0;
        for_each_cell(&stored, |row| {
            cells += 1;
            let cell = rows.with_scores(row);
            for file in &mut files {
                for row in rows.of_cell(file.table, (&store, &stored), &cell)? {
                    file.file.push(row)?;
                }
            }
            Ok(())
        })?;
        let mut paths = files.into_iter().map(|it| it.file.finish()).collect::<Result<Vec<_>, _>>()?;
        let mut figures = TableFile::of_figures(folder, &run)?;
        for row in super::figures::rows(&stored)? {
            figures.push(row)?;
        }
        paths.push(figures.finish()?);
        Ok(ExportedFiles { files: paths, cells })
    }
}

/// A table of the cells' rows.
struct CellTable {
    table: RunTable,
    file: TableFile,
}

/// A table that is being written.
struct TableFile {
    path: PathBuf,
    writer: TableWriter<AtomicFile>,
}

impl TableFile {
    fn of_figures(folder: &Path, run: &str) -> Result<Self, AppError> {
        Self::create(folder.join("figures.parquet"), run, super::figures::columns())
    }

    fn create(path: PathBuf, run: &str, columns: Vec<Column>) -> Result<Self, AppError> {
        let file = AtomicFile::create(&path).map_err(|error| FileError::writing(&path, error))?;
        let metadata = [("karat.run", run), ("karat.schema", SCHEMA)];
        let writer = TableWriter::new(file, columns, &metadata).map_err(|error| unwritable(&path, error))?;
        Ok(Self { path, writer })
    }

    fn push(&mut self, row: Vec<Field>) -> Result<(), AppError> {
        self.writer.push(row).map_err(|error| unwritable(&self.path, error))
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
