//! Files of other evaluation tools as suites.
//!
//! - A folder per tool reads its files: `promptfoo`, `openai`, `inspect`, `lm_eval`; `testsets` those of ragas and deepeval;
//!   `traces` calls that applications reported.
//! - `evals_registry` reads the files of OpenAI's open-source package, which `openai` does not know.
//! - `recorded` makes a suite of outputs and scores.
//! - `source` reads files below the imported one's folder; `draft` is the suite, and writes its files.
//! - `report` counts, and lists what is not carried over; `text` makes ids valid, and keeps the marks of
//!   templates in texts of the source.
//!
//! An importer never runs code of a source and never copies it. It writes into an empty folder of the caller, who throws
//! the folder away on an error: nothing is left of a failed import. Read `draft`, then an importer.

mod draft;
mod error;
mod evals_registry;
mod inspect;
mod lm_eval;
mod openai;
mod promptfoo;
mod recorded;
mod report;
mod source;
mod testsets;
mod text;
mod traces;

use std::path::Path;

pub use crate::error::ImportError;
pub use crate::report::{Approximate, Counts, Dropped, Figure, ImportReport, Shape, SourceFile, Tool};
pub use crate::traces::TraceRows;

use crate::draft::Draft;
use crate::source::Source;

/// The tool that a file comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportKind {
    /// A promptfoo config, or the results that promptfoo wrote.
    Promptfoo,
    /// An eval of OpenAI's hosted service, or a JSONL of its results.
    OpenaiEvals,
    /// Logs of Inspect.
    Inspect,
    /// A test set of ragas.
    Ragas,
    /// A test set of deepeval.
    Deepeval,
    /// Results of lm-eval, the LM Evaluation Harness.
    LmEval,
    /// Calls that applications reported by OpenTelemetry, or traces of Langfuse.
    Traces(TraceRows),
}

impl ImportKind {
    /// Name of the kind on the command line and in `import.json`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Promptfoo => "promptfoo",
            Self::OpenaiEvals => "openai-evals",
            Self::Inspect => "inspect",
            Self::Ragas => "ragas",
            Self::Deepeval => "deepeval",
            Self::LmEval => "lm-eval",
            Self::Traces(_) => "traces",
        }
    }
}

/// Writes a suite made of `file` into the empty folder `into`: `karat.yaml`, data, prompts, rubrics, `import.json` and
/// `import.md`. Files that it names are read below `root`; without one, below the current folder if the file lies there, and
/// below the file's own folder if not.
///
/// # Errors
/// A file that cannot be read, or is not what `kind` names. The folder may then hold a part of the files.
pub fn import(kind: ImportKind, file: &Path, root: Option<&Path>, into: &Path) -> Result<ImportReport, ImportError> {
    let source = Source::open(file, root)?;
    let mut draft = Draft::new(into, ImportReport::new(kind.name(), &source));
    match kind {
        ImportKind::Promptfoo => promptfoo::import(&source, &mut draft)?,
        ImportKind::OpenaiEvals if evals_registry::is_registry_file(&source) => {
            evals_registry::import(&source, &mut draft)?;
        }
        ImportKind::OpenaiEvals => openai::import(&source, &mut draft)?,
        ImportKind::Inspect => inspect::import(&source, &mut draft)?,
        ImportKind::Ragas => testsets::import_ragas(&source, &mut draft)?,
        ImportKind::Deepeval => testsets::import_deepeval(&source, &mut draft)?,
        ImportKind::LmEval => lm_eval::import(&source, &mut draft)?,
        ImportKind::Traces(per) => traces::import(&source, per, &mut draft)?,
    }
    draft.report.source.blake3 = source.hash()?;
    draft.finish()
}
