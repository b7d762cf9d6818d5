//! Tables of a run as streams, for readers in this process.

use karat_columnar::{StreamError, StreamWriter, TableStream, table_stream};
use karat_store::{Store, StoredRun};
use karat_types::{PlanHeader, RunRows};

use super::tables::{RunTable, TableRows};
use super::{figures, for_each_cell};
use crate::AppError;
use crate::error::FileError;
use crate::reports::Reports;

impl Reports<'_> {
    /// A table of a run, whose rows a thread of its own reads from the store while the stream is read.
    ///
    /// # Errors
    /// The run cannot be read; an error after the beginning stands in the stream.
    pub fn run_table(&self, run: &str, table: RunTable) -> Result<TableStream, AppError> {
        let store = self.app.existing_store()?;
        let stored = store.rows(&store.resolve(run)?)?;
        let (mut writer, stream) = table_stream(table.columns(&stored.header().plan));
        let fill = move || match push_rows(&store, &stored, table, &mut writer) {
            // A reader that closes the stream has what it wants.
            Ok(()) => {
                let _ = writer.finish();
            }
            Err(error) => writer.fail(error),
        };
        start(fill)?;
        Ok(stream)
    }

    /// The figures of a run as a stream.
    ///
    /// # Errors
    /// The run cannot be read or analysed.
    pub fn figure_table(&self, run: &str) -> Result<TableStream, AppError> {
        let (mut writer, stream) = table_stream(figures::columns());
        let rows = figures::rows(&self.app.stored().run(run)?)?;
        let fill = move || {
            // A reader that closes the stream has what it wants.
            let _ = rows.into_iter().try_for_each(|row| writer.push(row)).and_then(|()| writer.finish());
        };
        start(fill)?;
        Ok(stream)
    }
}

/// Starts the thread that fills a stream.
fn start(fill: impl FnOnce() + Send + 'static) -> Result<(), AppError> {
    let thread = std::thread::Builder::new().name("table".to_owned()).spawn(fill);
    thread.map(drop).map_err(|error| unreadable(error).into())
}

fn unreadable(error: std::io::Error) -> FileError {
    FileError::of("reading a table", "of the run", error)
}

/// Pushes all rows of a table, until nothing reads them any longer.
fn push_rows(store: &Store, stored: &StoredRun, table: RunTable, writer: &mut StreamWriter) -> Result<(), AppError> {
    let header = stored.header();
    let plan: &PlanHeader = &header.plan;
    let mut rows = TableRows::new(&header.id, plan);
    for_each_cell(stored, |row| {
        let cell = rows.with_scores(row);
        for row in rows.of_cell(table, (store, stored), &cell)? {
            writer.push(row).map_err(|error: StreamError| unreadable(std::io::Error::other(error)))?;
        }
        Ok(())
    })
}
