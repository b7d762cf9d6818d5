//! Document of `karat compare`: a comparison of two runs, systems, models or variants.

use karat_analysis::compare::{ComparedMetric, RunComparison, SideSummary};

use crate::blocks::changes::comparison as blocks;
use crate::markdown::block;
use crate::markdown::page::{Inline, Page};
use crate::shared::figures::count;
use crate::wording::comparison::{
    answer, changed_samples, costs, how_made, magnitude, pairing_line, second_test, unmatched_samples,
};
use crate::wording::movers::{system_correction, unchanged_systems};

/// Returns the comparison as Markdown.
pub fn comparison(compared: &RunComparison) -> String {
    let mut document = Page::default();
    let page = &mut document;
    page.heading(1, Inline::plain("Comparison"));
    answer(compared).into_iter().for_each(|it| page.paragraph(Inline::text(it)));
    page.list([side("Candidate: ", &compared.candidate), side("Baseline: ", &compared.baseline)]);
    page.paragraph(Inline::text(pairing_line(compared)).and("."));
    let left_out = [&compared.baseline, &compared.candidate]
        .into_iter()
        .filter_map(unmatched_samples)
        .chain(changed_samples(compared))
        .chain(unchanged_systems(compared));
    page.list(left_out.map(Inline::text));
    let several = compared.candidate.systems.len() > 1;
    if several {
        page.heading(2, Inline::plain("Each system"));
        page.paragraph(Inline::text(system_correction(compared)).and("."));
        blocks::systems(compared).iter().for_each(|it| block::write(page, it, 3));
        page.heading(2, Inline::plain("Average over systems"));
    }
    block::write(page, &blocks::verdicts(compared), if several { 3 } else { 2 });
    blocks::moved_samples(compared, &|_| None).iter().for_each(|it| block::write(page, it, 2));
    page.list(costs(compared).into_iter().map(Inline::text));
    super::diagnostics::write(page, &compared.diagnostics);
    beside(page, compared);
    for warning in &compared.warnings {
        page.quote(Inline::text(warning));
    }
    page.paragraph(Inline::plain("How these numbers were made: ").and_text(how_made(compared)).and("."));
    document.finish()
}

fn side(role: &'static str, side: &SideSummary) -> Inline {
    let systems = Inline::list(side.systems.iter().map(Inline::code));
    Inline::plain(role).and_code(&side.label).and(" (").then(systems).and(")")
}

fn beside(page: &mut Page, compared: &RunComparison) {
    let detectable = |metric: &ComparedMetric| {
        let least = metric.detectable?;
        Some(format!("{} samples detect {} or more", count(metric.difference.n()), magnitude(metric, least)))
    };
    let line = |metric: &ComparedMetric| {
        let others = metric.beside.iter().map(|it| second_test(metric, it)).chain(detectable(metric));
        Inline::code(&metric.metric).and(": ").and_text(others.collect::<Vec<_>>().join("; "))
    };
    let has_details = |metric: &&ComparedMetric| !metric.beside.is_empty() || metric.detectable.is_some();
    page.heading(2, Inline::plain("Other tests"));
    page.list(compared.metrics.iter().filter(has_details).map(line));
}
