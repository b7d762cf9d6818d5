//! The page of a comparison: the verdict for each metric, differences around zero, the samples that moved with their outputs,
//! and what differs between the sides.
//!
//! `results` has the verdict and the forests, `movers` the samples, `differs` the plans.

mod differs;
mod movers;
mod results;

use karat_analysis::compare::RunComparison;
use karat_page::{Document, html};
use karat_types::PlanHeader;

use super::links::Links;
use super::sections::{Sections, remarks};
use crate::wording::comparison::{changed_samples, how_made, pairing_line, unmatched_samples};
use crate::wording::movers::unchanged_systems;

/// Returns the page of a comparison of two sides with their plans, the baseline first.
pub fn comparison(compared: &RunComparison, plans: [&PlanHeader; 2], links: &Links) -> Document {
    let mut sections = Sections::default();
    sections.add("verdict", "Verdict", None, &results::verdict(compared));
    sections.add("differences", "Differences", None, &results::forests(compared));
    sections.add("movers", "Samples that moved", None, &movers::section(compared, links));
    sections.add("systems", "Each system", None, &results::systems(compared));
    sections.add("diagnostics", "Diagnostics", None, &results::diagnostics(compared));
    sections.add("differs", "What differs", None, &differs::section(compared, plans));
    let notes: Vec<String> = [&compared.baseline, &compared.candidate]
        .into_iter()
        .filter_map(unmatched_samples)
        .chain(changed_samples(compared))
        .chain(unchanged_systems(compared))
        .chain(compared.warnings.iter().map(|warning| format!("Warning: {warning}")))
        .collect();
    let made = html! {
        dl.facts-list data-testid="provenance" {
            dt { "sides" } dd { (karat_page::text::visible::line(&pairing_line(compared))) }
            dt { "numbers" } dd { (karat_page::text::visible::line(&how_made(compared))) }
        }
        (remarks(&notes))
    };
    sections.add("provenance", "How these numbers were made", None, &made);
    let page = sections.document("page-compare", "Comparison");
    let side = |side: &karat_analysis::compare::SideSummary| format!("{} ({})", side.label, side.systems.join(", "));
    let lead = format!("{} against the baseline {}", side(&compared.candidate), side(&compared.baseline));
    Document { lead: Some(lead), ..page }
}
