//! Texts about the cells that are shown with input and output.

use crate::outputs::cell_text::SampleTexts;
use crate::outputs::select::Selection;
use crate::shared::figures::count;
use crate::shared::report::ShownOutputs;

/// Title of the section.
pub(crate) const TITLE: &str = "Inputs and outputs";

/// The meaning of a flagged cell, which may have an output: only one without an output failed.
const FLAGGED: &str =
    "A cell is flagged if it failed (it has no output), has a score below its threshold, or an unscored metric.";

/// Returns the sentence that says what is shown, or `None` if there is no section.
pub(crate) fn introduction(shown: ShownOutputs, selection: &Selection<'_>) -> Option<String> {
    let (failed, of, there) = (count(selection.failed), count(selection.of), selection.ordinals.len() as u64);
    let words = match shown {
        ShownOutputs::None => return None,
        _ if selection.of == 0 => return None,
        ShownOutputs::Failed if selection.failed == 0 => {
            format!("None of {of} cells is flagged. With `--outputs all`, the report shows every cell")
        }
        ShownOutputs::Failed if there < selection.failed => {
            format!("{failed} of {of} cells are flagged: the worst {} are shown; `--cells N` shows more", count(there))
        }
        ShownOutputs::Failed => {
            format!("{failed} of {of} cells are flagged and shown, the worst first; `--outputs all` shows every cell")
        }
        ShownOutputs::All if there < selection.asked => {
            format!("{} of {of} cells are shown, {failed} of which are flagged; `--cells N` shows more", count(there))
        }
        ShownOutputs::All => format!("All {of} cells are shown; {failed} are flagged"),
    };
    Some(format!("{words}. {FLAGGED}"))
}

/// Returns the sentence on the cells that are worth reading, or `None` if the run has no cell.
pub(crate) fn worth_reading(selection: &Selection<'_>) -> Option<String> {
    let (failed, of, there) = (count(selection.failed), count(selection.of), count(selection.ordinals.len() as u64));
    let words = format!(
        "{there} of {of} cells are shown: those that are flagged ({failed}), on which judges disagree, that moved since the \
         baseline, and the lowest. `--outputs all` shows every cell, `--cells N` more of them"
    );
    (selection.of > 0).then(|| format!("{words}. {FLAGGED}"))
}

/// The reason why a sample has no texts.
pub(crate) fn missing_texts(sample: &SampleTexts) -> &'static str {
    if sample.is_private {
        "Its input is not stored: the suite keeps no content of samples."
    } else {
        "Its input is not stored: no step or judge reads a column, or an older version of Karat made the run."
    }
}
