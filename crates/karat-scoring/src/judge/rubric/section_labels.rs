//! The labels of fenced sections.
//!
//! A value's label is its name in upper case. Where a rubric shows a **document** (a text that may be cut), the labels
//! say what part each value plays:
//!
//! - the document `transcript` is `TRANSCRIPT_TEXT`;
//! - short texts of the sample beside it make up one section, `TRANSCRIPT_CONTEXT`, one `name: value` a line;
//! - what comes from the output, such as `claims`, is `CANDIDATE_CLAIMS`.

use karat_text::fence;
use karat_types::{ShowAs, ShowItem};

/// The label of the reference.
pub(crate) const REFERENCE: &str = "REFERENCE";
/// The label of the calibration examples.
pub(crate) const EXAMPLES: &str = "CALIBRATION_EXAMPLES";

/// The section that a shown value stands in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Section {
    /// One of its own, with this label.
    Own(String),
    /// The shared one of short texts about the document, with this label.
    Context(String),
}

impl Section {
    pub fn label(&self) -> &str {
        match self {
            Self::Own(label) | Self::Context(label) => label,
        }
    }
}

/// The section of each shown value.
pub(crate) fn sections(show: &[ShowItem], reads_output: impl Fn(&ShowItem) -> bool) -> Vec<Section> {
    let document = show.iter().find(|item| is_document(item)).map(|item| fence::label(&item.name));
    show.iter()
        .map(|item| {
            let own = fence::label(&item.name);
            match &document {
                None => Section::Own(own),
                Some(_) if is_document(item) => Section::Own(format!("{own}_TEXT")),
                Some(_) if reads_output(item) => Section::Own(format!("CANDIDATE_{own}")),
                Some(document) if item.form == ShowAs::Text => Section::Context(format!("{document}_CONTEXT")),
                Some(_) => Section::Own(own),
            }
        })
        .collect()
}

/// A text that may be cut by tokens.
pub(crate) fn is_document(item: &ShowItem) -> bool {
    item.form == ShowAs::Text && item.chunk.is_some_and(|chunk| chunk.items.is_none())
}
