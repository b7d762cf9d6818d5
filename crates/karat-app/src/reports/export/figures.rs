//! The figures of a run: a row for each system and metric, with its interval, n and method. Scores of single cells are in
//! other tables.

use std::io::Write;

use karat_columnar::{Column, ColumnKind, Field};
use karat_report::csv::csv_field;
use karat_store::StoredRun;
use karat_types::RunRows;

use crate::AppError;
use crate::error::FileError;
use crate::reports::Reports;
use crate::stored::findings::findings;

impl Reports<'_> {
    /// Writes the figures of a run as CSV; what is absent is an empty field.
    ///
    /// # Errors
    /// The run cannot be read or analysed, the bytes cannot be written.
    pub fn export_figures(&self, run: &str, out: &mut dyn Write) -> Result<(), AppError> {
        let rows = rows(&self.app.stored().run(run)?)?;
        let names = columns().into_iter().map(|column| column.name).collect::<Vec<_>>().join(",");
        let lines = rows.iter().map(|row| row.iter().map(text).collect::<Vec<_>>().join(","));
        for line in std::iter::once(names).chain(lines) {
            let written = out.write_all(line.as_bytes()).and_then(|()| out.write_all(b"\r\n"));
            written.map_err(|error| FileError::of("writing figures", "of the run", error))?;
        }
        Ok(())
    }
}

/// The columns of the table.
pub(super) fn columns() -> Vec<Column> {
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

/// The rows of the table, by system, then metric.
pub(super) fn rows(stored: &StoredRun) -> Result<Vec<Vec<Field>>, AppError> {
    let found = findings(stored)?;
    let plan = &found.plan;
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
    Ok(rows)
}

fn count(n: u64) -> Field {
    i64::try_from(n).ok().into()
}

fn text(field: &Field) -> String {
    match field {
        Field::Text(text) => csv_field(text),
        Field::Integer(number) => number.to_string(),
        Field::Double(number) => number.to_string(),
        _ => String::new(),
    }
}
