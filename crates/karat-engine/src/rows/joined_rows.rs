//! The rows of files that scorers join with a cell.

use std::fmt;

use karat_scoring::scorer::{JoinedRows, RowJoin};
use karat_text::half_characters;
use karat_types::{CallErrorCode, FileRow, FileTrial, json};
use serde_json::Value;

use crate::plan::joins::Joins;
use crate::plan::ready::ReadySystem;
use crate::rows::files::RecordedFiles;
use crate::rows::row::{Row, step_input};

/// The joined rows of one cell.
pub(crate) struct CellRows<'a> {
    pub joins: &'a Joins,
    pub files: &'a RecordedFiles,
    pub row: &'a Row,
    pub system: &'a ReadySystem,
    /// The trial, from 0.
    pub trial: u32,
}

impl fmt::Debug for CellRows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CellRows").field("trial", &self.trial).finish_non_exhaustive()
    }
}

impl JoinedRows for CellRows<'_> {
    fn row(&self, join: &RowJoin) -> Result<Value, String> {
        let templates = self.joins.templates(join).ok_or("this file is not in the plan; this is a bug in karat")?;
        let context = step_input(self.row, self.system, None).context;
        let path = templates.from.render(&context).map_err(|error| format!("`from`: {error}"))?;
        let id = templates.by.as_ref().map(|by| by.render(&context)).transpose();
        let id = id.map_err(|error| format!("`by`: {error}"))?;
        let trial = join.trial.as_ref().map(|at| FileTrial::of_cell(at, self.trial));
        let row = id.map(|id| FileRow { id, trial });
        let reply = self.files.read(&path, row.as_ref()).map_err(|error| match (error.code, &row) {
            (CallErrorCode::NotFound, Some(row)) => format!("there is no {row} of {path}"),
            _ => error.message,
        })?;
        half_characters::value(&json::nan_as_null(&reply.text))
            .map(|read| read.value)
            .map_err(|error| format!("reading {path}: the row is not JSON: {error}"))
    }
}
