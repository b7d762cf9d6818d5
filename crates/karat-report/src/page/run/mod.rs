//! The page of a run: the answer first, then what explains it.
//!
//! [`run`] joins the sections in this order: `verdict` (with the gates and recommendations), the series of a dated suite,
//! `metrics` (with the change since the baseline), `heat_map`, `panels` (leaderboards, analyses, failures), the texts of cells,
//! the cost (in `panels`), `provenance`.

mod heat_map;
mod latency;
mod metrics;
mod panels;
mod provenance;
mod verdict;

use karat_page::Document;

use super::links::Links;
use super::sections::Sections;
use super::texts;
use crate::series::{self, SeriesLinks, SeriesState};
use crate::shared::report::{RenderError, Report};

/// Bytes of markup that texts of cells take on a live page, which links to the pages of all cells.
const LIVE_TEXTS: usize = 60_000;

/// Returns the page of a run with the given links. A live page shows fewer texts of cells than the file.
///
/// # Errors
/// Rows that cannot be read.
pub fn run(report: Report<'_>, links: &Links) -> Result<Document, RenderError> {
    run_within(report, links, if links.is_live() { LIVE_TEXTS } else { usize::MAX })
}

/// Returns the page of a run; the texts of cells take at most `bytes` of markup.
pub(super) fn run_within(report: Report<'_>, links: &Links, bytes: usize) -> Result<Document, RenderError> {
    let mut sections = Sections::default();
    sections.add("verdict", "Verdict", None, &verdict::section(report));
    sections.add("recommendations", "Recommendations", None, &verdict::recommendations(report));
    if let Some(view) = &report.context.series {
        for it in series::sections(view, &SeriesLinks::none(), &SeriesState::default()) {
            sections.add(it.id, &it.title, None, &it.content);
        }
    }
    sections.add("metrics", "Metrics", None, &metrics::section(report));
    sections.add("samples", "Systems by sample", None, &heat_map::section(report));
    sections.add("leaderboards", "Leaderboards", None, &panels::leaderboards(report));
    sections.add("analyses", "Analyses", None, &panels::analyses(report));
    sections.add("failures", "Failures", None, &panels::failures(report, links));
    let (lead, outputs) = texts::section(report, links, bytes)?;
    sections.add("outputs", "Inputs and outputs", lead.as_deref(), &outputs);
    sections.add("cost", "Cost", None, &panels::cost(report));
    sections.add("provenance", "How this number was made", None, &provenance::section(report));
    let title = format!("Evaluation report: {}", report.findings.plan.suite);
    let page = sections.document("page-run", title);
    let header = report.rows.header();
    let foot = format!("Made by karat {} from stored results.", header.version);
    Ok(Document { lead: report.findings.plan.about.clone(), foot: Some(foot), ..page })
}
