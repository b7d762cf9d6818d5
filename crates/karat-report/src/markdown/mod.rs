//! report.md: CommonMark with GFM tables, one file a section.
//!
//! Everything that comes from a suite, a dataset, a model or a provider goes through
//! `page::Inline::text` or `page::Inline::code` and cannot leave its place.

mod agreement;
mod baselines;
mod calibration;
mod changes;
mod comparison;
mod cost;
mod dataset;
mod delta;
mod diagnostics;
mod drift;
mod evidence_position;
mod failures;
mod gates;
mod human_anchor;
mod judge_bias;
mod judges;
mod kpis;
mod leaderboards;
mod legend;
mod matrix;
mod missing_items;
mod overview;
mod page;
mod power;
mod recommendations;
mod scorecards;
mod sessions;
mod slices;
mod systems;

pub use agreement::agreement;
pub use calibration::calibration;
pub use comparison::comparison;
pub use gates::gates;
pub(crate) use page::{Column, Inline, Page};

use crate::report::Report;

/// The report as Markdown.
pub fn render(report: Report<'_>) -> String {
    let mut page = Page::default();
    for section in [
        overview::write,
        gates::write,
        kpis::write,
        systems::write,
        matrix::write,
        legend::write,
        scorecards::write,
        leaderboards::write,
        delta::write,
        baselines::write,
        slices::write,
        power::write,
        missing_items::write,
        diagnostics::write,
        sessions::write,
        drift::write,
        dataset::write,
        judges::write,
        human_anchor::write,
        judge_bias::write,
        evidence_position::write,
        calibration::write,
        cost::write,
        failures::write,
        failures::write_errors,
        failures::write_left_out,
        failures::write_notes,
        recommendations::write,
    ] {
        section(&mut page, report);
    }
    page.finish()
}
