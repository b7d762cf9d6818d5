//! report.md: CommonMark with GFM tables, one file a section.
//!
//! [`render`] joins the sections in the order of the four lists. `summary/` has the overall figures, `changes/` comparisons,
//! `judging/` everything about judges, `samples/` parts of the dataset and single cells. `digest` and some files of
//! the folders also make documents of their own, and `comment/` the comment on a pull request. `page` builds the Markdown: every text from a suite, a dataset, a
//! model or a provider goes through `page::Inline::text` or `page::Inline::code`, which escape it.

mod changes;
mod comment;
mod digest;
mod judging;
mod page;
mod samples;
mod summary;

pub use self::changes::comparison::comparison;
pub use self::comment::{comment, comment_of_document};
pub use self::digest::digest;
pub use self::judging::agreement::agreement;
pub use self::judging::calibration::calibration;
pub use self::summary::gates::gates;

use self::page::Page;
use crate::shared::report::{RenderError, Report};

/// Returns the changes in diagnostics of a comparison, for pages.
pub(crate) fn diagnostics_changes(compared: &karat_analysis::compare::RunComparison) -> String {
    let mut page = Page::default();
    changes::diagnostics::write(&mut page, &compared.diagnostics);
    page.finish()
}

/// A section of the report.
type Section = fn(&mut Page, Report<'_>);

/// The answer: title, verdict, summary, recommendations.
const OPENING: &[Section] = &[summary::overview::write, summary::recommendations::write];

/// The gates.
const GATES: &[Section] = &[summary::gates::write];

/// The figures of each system, and what failed.
const FIGURES: &[Section] =
    &[summary::kpis::write, summary::systems::write, samples::failures::write_errors, samples::failures::write];

/// Everything that explains the figures; provenance comes last.
const DETAILS: &[Section] = &[
    summary::matrix::write,
    summary::legend::write,
    summary::scorecards::write,
    summary::leaderboards::write,
    changes::ranking::write,
    changes::delta::write,
    changes::baselines::write,
    samples::slices::write,
    changes::power::write,
    samples::missing_items::write,
    samples::diagnostics::write,
    samples::sessions::write,
    changes::drift::write,
    samples::dataset::write,
    judging::judges::write,
    judging::cascade::write,
    judging::human_anchor::write,
    judging::judge_bias::write,
    judging::evidence_position::write,
    judging::calibration::write,
    samples::cost::write,
    samples::failures::write_skipped,
    samples::failures::write_notes,
    summary::provenance::write,
];

/// The report without the texts of cells, in four parts; other formats put something between them.
pub(crate) struct Parts {
    /// Title, verdict, summary, recommendations.
    pub(crate) opening: String,
    /// The gates, if there are any.
    pub(crate) gates: String,
    /// The figures of each system, and what failed.
    pub(crate) figures: String,
    /// Everything else.
    pub(crate) details: String,
}

/// Returns the parts of the report.
pub(crate) fn parts(report: Report<'_>) -> Parts {
    let part = |sections: &[Section]| {
        let mut page = Page::default();
        sections.iter().for_each(|section| section(&mut page, report));
        page.finish()
    };
    Parts { opening: part(OPENING), gates: part(GATES), figures: part(FIGURES), details: part(DETAILS) }
}

/// Returns the report as Markdown.
///
/// # Errors
/// Rows that cannot be read.
pub fn render(report: Report<'_>) -> Result<String, RenderError> {
    let Parts { opening, gates, figures, details } = parts(report);
    let mut page = Page::default();
    samples::outputs::write(&mut page, report)?;
    let all = [opening, gates, figures, page.finish(), details];
    let filled: Vec<String> = all.into_iter().filter(|part| !part.is_empty()).collect();
    Ok(filled.join("\n"))
}
