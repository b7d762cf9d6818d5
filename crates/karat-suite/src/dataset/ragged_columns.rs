//! Rows that lack a column which other rows have, and which a template of their cells reads.

use std::collections::BTreeMap;

use serde_json::Value;

use super::rows::KeptRow;
use super::{Dataset, DatasetError};
use crate::diagnostics::{Problems, Severity};
use crate::syntax::names::{Absence, PendingName};
use crate::syntax::node::Place;

/// The columns that templates read, and the rows without them.
pub(super) struct RaggedColumns {
    columns: BTreeMap<String, RaggedColumn>,
    /// Rows that were added.
    rows: u64,
}

struct RaggedColumn {
    absence: Absence,
    /// The place that reads it.
    place: Place,
    /// Rows without it.
    rows: u64,
    /// The first one: its sample, and the problem at its place.
    first: Option<(String, DatasetError)>,
}

impl RaggedColumns {
    /// The columns that names read. Of one that is read twice the graver reading counts.
    pub fn new(pending: &[PendingName]) -> Self {
        let mut columns = BTreeMap::<String, RaggedColumn>::new();
        for waiting in pending.iter().filter(|waiting| waiting.absence != Absence::Harmless) {
            let Some(column) = waiting.column() else { continue };
            let new = || RaggedColumn { absence: waiting.absence, place: waiting.place.clone(), rows: 0, first: None };
            let known = columns.entry(column.to_owned()).or_insert_with(new);
            if known.absence < waiting.absence {
                *known = new();
            }
        }
        Self { columns, rows: 0 }
    }

    /// Adds a planned row.
    pub fn add_row(&mut self, kept: &KeptRow, row: &Value) {
        self.rows += 1;
        for (column, ragged) in self.columns.iter_mut().filter(|(column, _)| row.get(column.as_str()).is_none()) {
            ragged.rows += 1;
            let problem = || {
                let message = format!("sample `{}` has no column `{column}`", kept.sample.id);
                (kept.sample.id.to_string(), kept.at.problem("", message))
            };
            ragged.first.get_or_insert_with(problem);
        }
    }

    /// Reports each column once, at the first row that lacks it. One that no row has is reported elsewhere, and a default that
    /// every row gets is not a difference between rows.
    pub fn report(self, dataset: &Dataset, is_known: impl Fn(&str) -> bool, problems: &mut Problems) {
        let Self { columns, rows } = self;
        let is_uniform = |it: &RaggedColumn| it.absence == Absence::Defaulted && it.rows == rows;
        let columns = columns.into_iter().filter(|(column, it)| is_known(column) && !is_uniform(it));
        for (column, ragged) in columns {
            let Some((sample, error)) = ragged.first else { continue };
            let reader = format!("{}:{}", problems.path(ragged.place.file), problems.line(&ragged.place));
            let others = match ragged.rows - 1 {
                0 => String::new(),
                1 => ", and another row lacks it too".to_owned(),
                more => format!(", and {more} more rows lack it too"),
            };
            let (severity, effect, hint) = match ragged.absence {
                Absence::Defaulted => (Severity::Notice, format!("{reader} uses its default"), None),
                Absence::MayFail => (Severity::Warning, format!("{reader} may read it"), Some(hint(&column, &reader))),
                _ if dataset.reports_broken => {
                    (Severity::Warning, format!("{reader} reads it, so its cells fail"), Some(hint(&column, &reader)))
                }
                _ => (Severity::Error, format!("{reader} reads it"), Some(hint(&column, &reader))),
            };
            let message = format!("sample `{sample}` has no column `{column}`; {effect}{others}");
            let mut problem = error.problem().clone();
            problem.severity = severity;
            problem.message.clone_from(&message);
            problem.maybe_hint(hint);
            let concealed = format!("a row has no column `{column}`; {effect}{others}");
            problems.push(dataset.row_redaction.problem(&problem, &concealed));
        }
    }
}

fn hint(column: &str, reader: &str) -> String {
    format!("add `{column}` to the row, or write `{{{{ sample.{column} | default('') }}}}` in {reader}")
}
