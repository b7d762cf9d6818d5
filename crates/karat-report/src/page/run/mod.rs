//! The page of a run: the answer first, then what explains it.
//!
//! [`run`] joins the sections in this order: `verdict` (with the gates and recommendations), `metrics` (with the change since
//! the baseline), `heat_map`, `leaderboards`, `panels` (analyses, then failures), the texts of cells, `cost`,
//! `provenance`.

mod cost;
mod heat_map;
mod latency;
mod leaderboards;
mod metrics;
mod panels;
mod provenance;
mod verdict;

use karat_page::Document;

use super::links::Links;
use super::sections::Sections;
use super::texts;
use crate::shared::report::{RenderError, Report};

/// Returns the page of a run. Pages of dated suites get their series here as well, once it is drawn: its section comes
/// after the verdict.
///
/// # Errors
/// Rows that cannot be read.
pub fn run(report: Report<'_>, links: &Links) -> Result<Document, RenderError> {
    run_within(report, links, usize::MAX)
}

/// Returns the page of a run; the texts of cells take at most `bytes` of markup.
pub(super) fn run_within(report: Report<'_>, links: &Links, bytes: usize) -> Result<Document, RenderError> {
    let mut sections = Sections::default();
    sections.add("verdict", "Verdict", None, &verdict::section(report));
    sections.add("recommendations", "Recommendations", None, &verdict::recommendations(report));
    sections.add("metrics", "Metrics", None, &metrics::section(report));
    sections.add("samples", "Systems by sample", None, &heat_map::section(report));
    sections.add("leaderboards", "Leaderboards", None, &leaderboards::section(report));
    sections.add("analyses", "Analyses", None, &panels::analyses(report));
    sections.add("failures", "Failures", None, &panels::failures(report, links));
    let (lead, outputs) = texts::section(report, links, bytes)?;
    sections.add("outputs", "Inputs and outputs", lead.as_deref(), &outputs);
    sections.add("cost", "Cost", None, &cost::section(report));
    sections.add("provenance", "How this number was made", None, &provenance::section(report));
    let title = format!("Evaluation report: {}", report.findings.plan.suite);
    let page = sections.document("page-run", title);
    let header = report.rows.header();
    let foot = format!("Made by karat {} from stored results.", header.version);
    Ok(Document { lead: report.findings.plan.about.clone(), foot: Some(foot), ..page })
}
