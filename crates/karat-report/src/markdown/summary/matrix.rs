//! Section with a table of models × samples in the primary metric; poor values are bold.

use karat_analysis::{DeltaAxis, Group};
use karat_types::MetricSpec;

use crate::markdown::page::{Column, Inline, Page};
use crate::shared::figures;
use crate::shared::report::Report;
use crate::shared::scales;

/// Number of samples shown. Of more, the hardest are shown.
const SAMPLES: usize = 50;

/// Share of the range below which a value is poor, as in the failure analysis.
const POOR: f64 = 0.4;

pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
    let (Some((at, metric)), findings) = (report.primary(), report.findings) else { return };
    let groups = findings.ranked_groups();
    let (title, over) = match findings.ranked_axis() {
        DeltaAxis::Model => ("Model × sample", " over variants and trials"),
        _ => ("Variant × sample", " over trials"),
    };
    page.heading(2, Inline::plain(title));
    let shown = findings.hardest_samples(at, SAMPLES);
    let value = |sample: usize, group: &Group| findings.on_sample(at, sample, group).map(|found| found.value());
    let has_poor = shown.iter().any(|sample| groups.iter().any(|group| is_poor(metric, value(*sample, group))));
    let mean = Inline::plain("Mean ").and_code(&metric.name).and(over);
    page.paragraph(mean.and(match has_poor {
        true => ". Values in the worst 40 % of the range are bold.",
        false => ". No value is in the worst 40 % of the range.",
    }));
    if shown.len() < findings.samples() {
        page.paragraph(
            Inline::plain("The ")
                .and_text(figures::count(shown.len() as u64))
                .and(" hardest of ")
                .and_text(figures::count(findings.samples() as u64))
                .and(" samples; report.json has all."),
        );
    }
    let mut heads = vec![Column::left(Inline::plain("Sample"))];
    heads.extend(groups.iter().map(|group| Column::right(Inline::code(&group.id))));
    let scale = scales::scale_of(&findings.plan, metric);
    let row = |sample: usize| {
        let cell = |group: &Group| {
            let value = value(sample, group);
            let text = Inline::text(figures::value_or_none(&scale, value));
            if is_poor(metric, value) { text.bold() } else { text }
        };
        let id = Inline::code(findings.sample_id(sample));
        std::iter::once(id).chain(groups.iter().map(cell)).collect()
    };
    page.table(&heads, shown.into_iter().map(row));
}

fn is_poor(metric: &MetricSpec, value: Option<f64>) -> bool {
    value.and_then(|value| figures::goodness(metric, value)).is_some_and(|share| share < POOR)
}
