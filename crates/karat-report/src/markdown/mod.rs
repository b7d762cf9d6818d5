//! report.md: CommonMark with GFM tables.
//!
//! [`render`] joins the sections in the order of the four lists. What analyses found comes as blocks from
//! [`blocks`] and is written by `block`; the other sections are in `summary/`, `changes/`, `outputs` and, the short ones,
//! `sections`. `comment/` is the comment on a pull request; `agreement`, `calibration`, `digest` and the
//! comparison in `changes/` are documents of their own. `page` builds the Markdown: every text from a suite, a dataset, a
//! model or a provider goes through `page::Inline`, which escapes it.

mod agreement;
mod block;
mod calibration;
mod changes;
mod comment;
mod digest;
mod outputs;
mod page;
mod sections;
mod summary;

pub use self::agreement::agreement;
pub use self::calibration::calibration;
pub use self::changes::comparison::comparison;
pub use self::comment::{comment, comment_of_document};
pub use self::digest::digest;
pub use self::summary::gates::gates;

use karat_analysis::Outcome;
use karat_page::Block;

use self::page::{Inline, Page};
use crate::blocks;
use crate::blocks::changes::leaderboards;
use crate::blocks::samples::notes;
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
const OPENING: &[Section] = &[summary::overview::write, sections::recommendations];

/// The gates.
const GATES: &[Section] = &[summary::gates::write];

/// The figures of each system, and what failed.
const FIGURES: &[Section] =
    &[summary::kpis::write, summary::systems::write, summary::matrix::write, write_errors, write_failures];

/// Everything that explains the figures; provenance comes last.
const DETAILS: &[Section] = &[
    sections::legend,
    summary::scorecards::write,
    write_leaderboards,
    changes::baselines::write,
    write_analyses,
    sections::mismatches,
    sections::cost,
    write_rest,
    sections::provenance,
];

fn write_leaderboards(page: &mut Page, report: Report<'_>) {
    let boards = leaderboards::blocks(report);
    if !boards.is_empty() {
        page.heading(2, Inline::plain("Leaderboards"));
        leaderboards::notes(report).iter().for_each(|note| page.paragraph(Inline::sentence(note)));
        boards.iter().for_each(|board| block::write(page, board, 3));
    }
}

fn write_errors(page: &mut Page, report: Report<'_>) {
    let errors = blocks::of_outcomes(report, |it| matches!(it, Outcome::Errors(_)));
    errors.iter().take(1).for_each(|block| block::write(page, block, 2));
}

fn write_failures(page: &mut Page, report: Report<'_>) {
    write_panels(page, &blocks::of_outcomes(report, |it| matches!(it, Outcome::Failures(_))));
}

fn write_analyses(page: &mut Page, report: Report<'_>) {
    for analysed in report.findings.analyses.iter().filter(|it| blocks::is_of_analyses(it)) {
        write_panels(page, &blocks::of_analysis(report, analysed));
    }
}

/// Writes the cells that were skipped, the notes and the remarks of judges that changed.
fn write_rest(page: &mut Page, report: Report<'_>) {
    let skipped = blocks::of_outcomes(report, |it| matches!(it, Outcome::Errors(_)));
    skipped.iter().skip(1).for_each(|block| block::write(page, block, 2));
    write_panels(page, &blocks::of_outcomes(report, |it| matches!(it, Outcome::Notes(found) if notes::has_any(found))));
    for (first, _) in blocks::changed_remarks(report) {
        block::write(page, &first, 2);
    }
}

/// Writes the panels of an analysis, the first under a heading of the document.
fn write_panels(page: &mut Page, blocks: &[Block]) {
    for (at, block) in blocks.iter().enumerate() {
        block::write(page, block, if at == 0 { 2 } else { 3 });
    }
}

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
    outputs::write(&mut page, report)?;
    let all = [opening, gates, figures, page.finish(), details];
    let filled: Vec<String> = all.into_iter().filter(|part| !part.is_empty()).collect();
    Ok(filled.join("\n"))
}
