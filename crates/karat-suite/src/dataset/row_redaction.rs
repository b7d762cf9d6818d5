//! Redaction of messages about rows: problems and contradictions quote them, so they pass the privacy rules before they
//! are shown or kept.

use karat_text::redact::Redactor;

use crate::diagnostics::Diagnostic;

/// The privacy rules for messages about rows.
#[derive(Debug, Default)]
pub(crate) struct RowRedaction {
    /// True if nothing of the rows may be shown.
    pub is_sensitive: bool,
    /// Redacts text that is shown; `None` without rules.
    pub redactor: Option<Redactor>,
}

impl RowRedaction {
    /// Words about a row; `instead` where nothing of it may be shown.
    pub fn text(&self, text: String, instead: &str) -> String {
        match &self.redactor {
            _ if self.is_sensitive => instead.to_owned(),
            Some(redactor) => redactor.text(&text).into_owned(),
            None => text,
        }
    }

    /// A problem of a row. Where there are rules its line is not quoted: what is cut out of a line may hold the half of
    /// something that no rule knows any more.
    pub fn problem(&self, problem: &Diagnostic, instead: &str) -> Diagnostic {
        match &self.redactor {
            None if !self.is_sensitive => problem.clone(),
            _ => {
                let hint = problem.hint.clone().filter(|_| !self.is_sensitive);
                let mut concealed = problem.without_content(self.text(problem.message.clone(), instead));
                concealed.maybe_hint(hint.map(|hint| self.text(hint, instead)));
                concealed
            }
        }
    }
}
