//! report.md: CommonMark with GFM tables, one file a section.
//!
//! [`render`] lists the sections in their order. `summary/` has the overall figures, `changes/` comparisons,
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
use crate::shared::report::Report;

/// Returns the report as Markdown.
pub fn render(report: Report<'_>) -> String {
    let mut page = Page::default();
    for section in [
        summary::overview::write,
        summary::gates::write,
        summary::kpis::write,
        summary::systems::write,
        summary::matrix::write,
        summary::legend::write,
        summary::scorecards::write,
        summary::leaderboards::write,
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
        judging::human_anchor::write,
        judging::judge_bias::write,
        judging::evidence_position::write,
        judging::calibration::write,
        samples::cost::write,
        samples::failures::write,
        samples::failures::write_errors,
        samples::failures::write_skipped,
        samples::failures::write_notes,
        summary::recommendations::write,
    ] {
        section(&mut page, report);
    }
    page.finish()
}
