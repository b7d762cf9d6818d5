//! A row of the source, and its place.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::dataset::DatasetError;
use crate::diagnostics::Diagnostic;

/// A row before anything is added to it.
#[derive(Debug, Clone)]
pub(crate) struct SourceRow {
    /// An object.
    pub value: Value,
    pub at: Arc<RowPlace>,
}

/// File, line and text of a row.
#[derive(Debug, Clone)]
pub(crate) struct RowPlace {
    pub file: Arc<str>,
    pub line: usize,
    pub text: String,
}

impl RowPlace {
    /// A problem of this row; `what` is the part of the row that is pointed at.
    pub fn problem(&self, what: &str, message: impl Into<String>) -> DatasetError {
        let span = self.span_of(what);
        let above = &self.text[..span.start];
        let line_start = above.rfind('\n').map_or(0, |newline| newline + 1);
        let line = self.line + above.matches('\n').count();
        let text = self.text[line_start..].lines().next().unwrap_or_default();
        let span = span.start - line_start..span.end - line_start;
        DatasetError::new(Diagnostic::of_line(&self.file, line, text, span, message))
    }

    /// The same as [`RowPlace::problem`], with a hint.
    pub fn problem_with_hint(&self, what: &str, message: impl Into<String>, hint: Option<String>) -> DatasetError {
        let mut error = self.problem(what, message);
        error.problem.maybe_hint(hint);
        error
    }

    /// The text of a column's value, where the row is a JSON object; of one within others as `outer.inner`.
    pub fn written_value(&self, column: &str) -> Option<String> {
        let within =
            |text, name| Some(serde_json::from_str::<BTreeMap<String, &RawValue>>(text).ok()?.get(name)?.get());
        column.split('.').try_fold(self.text.as_str(), within).map(str::to_owned)
    }

    fn span_of(&self, what: &str) -> Range<usize> {
        let quoted = format!("\"{what}\"");
        let position = if what.is_empty() { None } else { self.text.find(&quoted) };
        let first_line = self.text.find('\n').unwrap_or(self.text.len());
        position.map_or(0..first_line.min(1), |at| at..at + quoted.len())
    }
}
