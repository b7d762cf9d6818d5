//! The page of a comparison: the verdict for each metric, what differs between the sides, differences around zero, and the
//! samples that moved with their outputs.
//!
//! The blocks are those of `blocks/changes/comparison`; `differs` has the plans.

mod differs;

use karat_analysis::compare::{ComparisonVerdict, RunComparison};
use karat_page::block::verdict::verdict_line;
use karat_page::number::count_noun;
use karat_page::text::markdown;
use karat_page::text::visible::Words;
use karat_page::{Block, Document, Markup, html, render};
use karat_text::kind::capitalize;
use karat_types::PlanHeader;

use super::links::Links;
use super::sections::{Sections, disclosure, remarks};
use crate::blocks::changes::comparison as blocks;
use crate::wording::comparison::{
    answer, changed_samples, costs, how_made, page_verdict, pairing_line, unmatched_samples, verdict_word,
};
use crate::wording::movers::{system_correction, unchanged_systems};

/// Number of metrics whose differences by system are shown at once.
const SYSTEM_METRICS: usize = 2;

/// Returns the page of a comparison of two sides with their plans, the baseline first.
pub fn comparison(compared: &RunComparison, plans: [&PlanHeader; 2], links: &Links) -> Document {
    let mut sections = Sections::default();
    sections.add("verdict", "Verdict", None, &verdict(compared));
    sections.add("differs", "What differs", None, &differs::section(compared, plans));
    sections.add("differences", "Differences in scores", None, &render_all(&blocks::differences(compared)));
    sections.add("movers", "Samples that moved", None, &moved_samples(compared, links));
    sections.add("systems", "Each system", Some(&format!("{}.", system_correction(compared))), &systems(compared));
    sections.add("diagnostics", "Diagnostics", None, &diagnostics(compared));
    let notes: Vec<String> = [&compared.baseline, &compared.candidate]
        .into_iter()
        .filter_map(unmatched_samples)
        .chain(changed_samples(compared))
        .chain(unchanged_systems(compared))
        .chain(compared.warnings.iter().map(|warning| format!("Warning: {warning}")))
        .collect();
    let made = html! {
        dl.facts-list data-testid="provenance" {
            dt { "sides" } dd { (Words(&pairing_line(compared))) }
            dt { "numbers" } dd { (Words(&how_made(compared))) }
        }
        (remarks(&notes))
    };
    sections.add("provenance", "How these numbers were made", None, &made);
    let page = sections.document("page-compare", "Comparison");
    let side = |side: &karat_analysis::compare::SideSummary| format!("{} ({})", side.label, side.systems.join(", "));
    let lead = format!("{} against the baseline {}", side(&compared.candidate), side(&compared.baseline));
    Document { lead: Some(lead), ..page }
}

fn render_all(blocks: &[Block]) -> Markup {
    html! { @for block in blocks { (render(block)) } }
}

/// The differences of each system: the first metrics, and the others for a reader who opens them.
fn systems(compared: &RunComparison) -> Markup {
    let all = blocks::systems(compared);
    let (first, rest) = all.split_at(all.len().min(SYSTEM_METRICS));
    let more = html! { div.section { (render_all(rest)) } };
    html! {
        (render_all(first))
        @if !rest.is_empty() { (disclosure(&count_noun(rest.len() as u64, "more metric"), &more)) }
    }
}

fn moved_samples(compared: &RunComparison, links: &Links) -> Markup {
    let found = blocks::moved_samples(compared, &|id| links.sample(id));
    html! {
        (render_all(&found))
        @if found.is_empty() { p.soft { "No sample scores differently." } }
        @if found.len() == 1 {
            p.soft { code { "karat compare --outputs" } " shows the outputs of these samples and what differs in them." }
        }
    }
}

/// The verdict over all metrics, and one sentence for each.
fn verdict(compared: &RunComparison) -> Markup {
    let number = |wanted| compared.metrics.iter().filter(|metric| metric.verdict == wanted).count() as u64;
    // The worst decides; a reader must not miss one metric that fell behind.
    let order = [
        ComparisonVerdict::Worse,
        ComparisonVerdict::Better,
        ComparisonVerdict::Undecided,
        ComparisonVerdict::Equivalent,
    ];
    let counted = order.iter().filter(|verdict| number(**verdict) > 0);
    let counted: Vec<String> = counted.map(|it| format!("{} {}", number(*it), verdict_word(*it))).collect();
    let overall = order.into_iter().find(|verdict| number(*verdict) > 0).unwrap_or(ComparisonVerdict::Undecided);
    let of = count_noun(compared.metrics.len() as u64, "metric");
    html! {
        (verdict_line(page_verdict(overall), &format!("{of}: {}.", counted.join(", "))))
        @if let Some(answer) = answer(compared) { p data-testid="answer" { (Words(&answer)) } }
        @for line in costs(compared) { p.soft { (Words(&format!("{}.", capitalize(&line)))) } }
        (render(&blocks::verdicts(compared)))
    }
}

/// The changes in diagnostics, as report.md has them.
fn diagnostics(compared: &RunComparison) -> Markup {
    if compared.diagnostics.is_empty() {
        return html! {};
    }
    html! { div.prose-block.wide-prose { (markdown::render(&crate::markdown::diagnostics_changes(compared))) } }
}
