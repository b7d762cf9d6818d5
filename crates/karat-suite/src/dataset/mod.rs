//! The dataset: its rows, the columns that are added to them, and the selection of those that count. Rows are streamed;
//! memory does not grow with their number, apart from a hash of each id while they are checked.
//!
//! - `source/` reads rows from files; `columns/` adds columns; `checks/` holds the rules for rows
//! - `rows.rs` turns rows into samples, with `roles.rs`, `date.rs` and `draw.rs`; start reading there
//! - `scan.rs` passes over all rows once while a suite is loaded; `representative_rows.rs` keeps some of them, and
//!   `ragged_columns.rs` finds those that lack a column
//! - `turns.rs` checks messages that rows hold; `row_redaction.rs` redacts what messages quote of a row

pub(crate) mod checks;
pub(crate) mod columns;
pub(crate) mod date;
pub(crate) mod draw;
mod ragged_columns;
mod representative_rows;
mod roles;
mod row_redaction;
mod rows;
pub(crate) mod scalar;
pub(crate) mod scan;
pub(crate) mod source;
pub(crate) mod turns;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use karat_text::path::Path;
use karat_text::template::Expression;
use karat_types::Sample;

use crate::diagnostics::Diagnostic;
use crate::files::Files;

pub(crate) use roles::{Role, Roles};
pub(crate) use row_redaction::RowRedaction;
/// Names that other tools give to a role's column.
pub(crate) mod aliases {
    pub(crate) use super::roles::{ID, INPUT, LIKELY_REFERENCE, REFERENCE};
}
pub(crate) use checks::row_schema::RowSchema;
pub use representative_rows::RepresentativeRows;
pub(crate) use scalar::plain;
pub(crate) use source::DatasetSource;
pub use source::{read_placed_rows, read_rows};

/// Message for a bad row whose content must not be shown.
const CONCEALED: &str = "this row is invalid; details are hidden because of `privacy.sensitive`";

/// A row that cannot be used, with its file and line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatasetError {
    problem: Box<Diagnostic>,
    /// Further problems of the row.
    more: Vec<Diagnostic>,
    /// Position of the row in the planned dataset, where a bad row is reported and does not end the load.
    pub row: Option<u64>,
    /// The row's id, where it has one in spite of what is wrong.
    pub id: Option<Arc<str>>,
    /// Position of the row in the source, from 0, where that can be read so far.
    number: Option<u64>,
    /// True if rows behind it cannot be read because of it: then it is not a row of its own that could be reported.
    hides_rows: bool,
}

impl DatasetError {
    pub(crate) fn new(problem: Diagnostic) -> Self {
        Self { problem: Box::new(problem), more: Vec::new(), row: None, id: None, number: None, hides_rows: false }
    }

    /// Several problems of one row as one; nothing where there are none.
    pub(crate) fn of_all(errors: impl IntoIterator<Item = Self>) -> Option<Self> {
        errors.into_iter().reduce(|mut first, next| {
            first.more.push(*next.problem);
            first.more.extend(next.more);
            first
        })
    }

    /// The name of the sample: its id, else its position in the source, whichever rows are planned.
    pub fn sample(&self) -> Arc<str> {
        let number = self.number.or(self.row).unwrap_or_default() + 1;
        self.id.clone().unwrap_or_else(|| format!("row {number}").into())
    }

    /// The error with the row's content redacted as the privacy rules require.
    fn redact(mut self, row_redaction: &RowRedaction) -> Self {
        *self.problem = row_redaction.problem(&self.problem, CONCEALED);
        self.more = self.more.iter().map(|problem| row_redaction.problem(problem, CONCEALED)).collect();
        self
    }

    /// The first of all [`Self::problems`].
    pub fn problem(&self) -> &Diagnostic {
        &self.problem
    }

    /// Everything that is wrong with the row.
    pub fn problems(&self) -> impl Iterator<Item = &Diagnostic> {
        std::iter::once(&*self.problem).chain(&self.more)
    }
}

impl fmt::Display for DatasetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}

impl std::error::Error for DatasetError {}

/// A dataset as the suite declares it, everything compiled.
pub(crate) struct Dataset {
    pub files: Arc<dyn Files>,
    pub source: DatasetSource,
    pub roles: Roles,
    pub asserts: Option<checks::row_checks::RowChecks>,
    /// The systems that rows may name.
    pub systems: checks::only::KnownSystems,
    /// Checks of the messages that rows hold.
    pub turns: Vec<turns::TurnsCheck>,
    pub columns: Vec<columns::Column>,
    pub row_schema: Option<RowSchema>,
    pub condition: Option<Expression>,
    /// First and last day of the rows that count, YYYY-MM-DD.
    pub days: Option<(String, String)>,
    pub draw: Option<draw::Draw>,
    /// The drawn rows, by their number among those that the filters keep; computed on first use.
    pub drawn: OnceLock<draw::DrawnRows>,
    pub limit: Option<u64>,
    /// Requested ids; empty = all.
    pub only: BTreeSet<String>,
    /// True if a bad row becomes an errored sample.
    pub reports_broken: bool,
    /// Redaction of messages about rows.
    pub row_redaction: RowRedaction,
    /// Number of rows from which a sample of them is kept; `None` for the usual one.
    pub large: Option<u64>,
    pub metadata: Vec<(String, Path)>,
    /// Conditions that fetched content must not meet.
    pub rules: Vec<columns::fetch::ForbiddenCondition>,
}

impl Dataset {
    /// Returns the values of all rows of the source, for a column of earlier values.
    pub fn history(
        self: &Arc<Self>,
        column: usize,
        prior: &columns::earlier_values::EarlierValues,
    ) -> columns::earlier_values::History {
        rows::Rows::new(self.clone()).history(column, prior)
    }

    /// Returns whether all rows of the source are planned.
    pub fn is_unfiltered(&self) -> bool {
        let has_bounds = self.days.is_some() || self.draw.is_some() || self.limit.is_some();
        self.condition.is_none() && self.only.is_empty() && !has_bounds
    }

    /// Keeps columns with the results too, because something that is applied to stored runs reads them.
    pub fn keep(&mut self, columns: impl IntoIterator<Item = String>) {
        for column in columns {
            if let (Ok(path), false) = (Path::parse(&column), self.metadata.iter().any(|(name, _)| *name == column)) {
                self.metadata.push((column, path));
            }
        }
    }

    /// The rows that are planned, in order. Every pass gives the same ones.
    pub fn rows(self: &Arc<Self>) -> Box<dyn Iterator<Item = Result<Sample, DatasetError>> + Send> {
        let dataset = self.clone();
        let rows = rows::Rows::new(self.clone()).planned_samples();
        Box::new(rows.map(move |row| row.map_err(|error| error.redact(&dataset.row_redaction))))
    }
}
