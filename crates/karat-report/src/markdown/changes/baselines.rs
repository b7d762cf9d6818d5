//! Section on variants that call no model, such as results made by hand, compared with the systems that do.

use crate::markdown::page::{Inline, Page, columns};
use crate::shared::figures::{self, count};
use crate::shared::report::Report;

pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
    let baselines = &report.findings.baselines;
    if baselines.is_empty() {
        return;
    }
    page.heading(2, Inline::plain("Manual baseline"));
    page.paragraph(Inline::plain(
        "Variants that call no model, scored by the same scorers, on the samples that they cover. The difference is \
         to the mean of all systems with a model on the same sample.",
    ));
    let rows = baselines.iter().filter_map(|it| {
        let (_, metric) = report.metrics().find(|(_, metric)| metric.name == it.metric)?;
        let difference =
            it.difference.as_ref().map_or(figures::NONE.to_owned(), |it| figures::difference_with_method(metric, it));
        Some(vec![
            Inline::code(&it.variant).and(" ").and_code(&it.metric),
            Inline::text(figures::value(metric, it.figure.value())).bold(),
            Inline::text(count(it.figure.n())),
            Inline::text(difference),
        ])
    });
    page.table(&columns(&["Variant and metric", "Figure", "n", "Difference to the harness"]), rows);
}
