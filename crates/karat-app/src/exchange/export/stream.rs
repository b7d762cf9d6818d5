//! Tables of a run as streams, for readers in this process.

use karat_columnar::{Column, ColumnKind, Field, StreamError, StreamWriter, TableStream, table_stream};
use karat_store::{Store, StoredRun};
use karat_types::{PlanHeader, RunRows};

use super::for_each_cell;
use super::tables::{RunTable, TableRows};
use crate::analyse::baseline::findings;
use crate::error::FileError;
use crate::{App, AppError};

impl App {
    /// A table of a run, whose rows a thread of its own reads from the store while the stream is read.
    ///
    /// # Errors
    /// The run cannot be read; an error after the beginning stands in the stream.
    pub fn run_table(&self, run: &str, table: RunTable) -> Result<TableStream, AppError> {
        let store = self.existing_store()?;
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

    /// The metrics of a run: a row for each system and metric, with interval, n and method.
    ///
    /// # Errors
    /// The run cannot be read or analysed.
    pub fn metric_table(&self, run: &str) -> Result<TableStream, AppError> {
        let stored = self.stored_run(run)?;
        let found = findings(&stored)?;
        let plan = &found.plan;
        let (mut writer, stream) = table_stream(metric_columns());
        let mut rows = Vec::new();
        for (system, group) in found.systems.iter().enumerate() {
            for (metric, spread) in plan.metrics.iter().zip(&group.metrics) {
                let figure = spread.figure();
                let interval = figure.and_then(|figure| figure.interval());
                rows.push(vec![
                    stored.header().id.as_str().into(),
                    plan.system_model(system).map(|model| model.id.as_str()).into(),
                    plan.system_variant(system).into(),
                    metric.name.as_str().into(),
                    spread.value().into(),
                    interval.map(|(lo, _)| lo).into(),
                    interval.map(|(_, hi)| hi).into(),
                    figure.and_then(|figure| figure.level()).into(),
                    figure.map(|figure| figure.method().to_owned()).into(),
                    count(spread.n()),
                    count(spread.n_na()),
                    count(spread.n_unscored()),
                    count(spread.n_errors()),
                    plan.unit_of(metric).into(),
                ]);
            }
        }
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

fn count(n: u64) -> Field {
    i64::try_from(n).ok().into()
}

fn metric_columns() -> Vec<Column> {
    let text = |name| (name, ColumnKind::Text);
    let number = |name| (name, ColumnKind::Double);
    let count = |name| (name, ColumnKind::Integer);
    let columns = [
        text("run"),
        text("model"),
        text("variant"),
        text("metric"),
        number("value"),
        number("lo"),
        number("hi"),
        number("level"),
        text("method"),
        count("n"),
        count("n_na"),
        count("n_unscored"),
        count("n_errors"),
        text("unit"),
    ];
    columns.into_iter().map(|(name, kind)| Column::new(name, kind)).collect()
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
