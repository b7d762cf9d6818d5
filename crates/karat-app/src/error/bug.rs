//! Failures that only a bug in Karat can cause.

/// A bug in Karat.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the message says what each variant and field is")]
pub enum Bug {
    #[error("{source}; this is a bug in karat")]
    RunTask { source: tokio::task::JoinError },
    #[error("writing the cells of the report stopped; this is a bug in karat")]
    CellsWriter,
    #[error("writing {what}: {source}. This is a bug in karat")]
    Json { what: &'static str, source: serde_json::Error },
    #[error("the order of a queued run cannot be read: {source}. This is a bug in karat")]
    Order { source: serde_json::Error },
    #[error("no series to look at. This is a bug in karat")]
    NoSeries,
    #[error("the preset's {file} has no {part:?}; this is a bug in karat")]
    PresetText { file: String, part: String },
    #[error("the preset's suite has no manual variants; this is a bug in karat")]
    NoManualVariants,
    #[error("{problem}. This is a bug in karat")]
    Demo { problem: String },
}
