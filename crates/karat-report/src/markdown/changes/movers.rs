//! Sections of a comparison before the average: the change of each system, and the samples that moved.

use karat_analysis::compare::{ComparedMetric, Mover, RunComparison};

use super::metric_name::name;
use crate::markdown::page::{Column, Inline, Page};
use crate::shared::figures::{self, count, percent};
use crate::wording::comparison::{bounds, p_value, signed_difference, verdict_word};
use crate::wording::movers::{counts, cut_note, other_metrics, output, shown_movers, system_correction};

/// Writes the change of each system.
pub(super) fn write_systems(page: &mut Page, compared: &RunComparison) {
    page.heading(2, Inline::plain("Each system"));
    let heads = [
        Column::left(Inline::plain("System")),
        Column::left(Inline::plain("Metric")),
        Column::right(Inline::plain("Baseline")),
        Column::right(Inline::plain("Candidate")),
        Column::right(Inline::plain("Change")),
        Column::right(Inline::plain("Interval")),
        Column::right(Inline::plain("p corrected")),
        Column::right(Inline::plain("n")),
        Column::left(Inline::plain("Verdict")),
    ];
    let row = |system: &str, metric: &ComparedMetric| {
        let level = metric.difference.level().map_or(String::new(), |level| format!(" ({})", percent(level)));
        vec![
            Inline::code(system),
            name(metric),
            Inline::text(figures::value(metric, metric.baseline.value())),
            Inline::text(figures::value(metric, metric.candidate.value())),
            Inline::text(signed_difference(metric, metric.difference.value())).bold(),
            Inline::text(format!("{}{level}", bounds(metric, &metric.difference))),
            Inline::text(p_value(metric.p_adjusted)),
            Inline::text(count(metric.difference.n())),
            Inline::plain(verdict_word(metric.verdict)).bold(),
        ]
    };
    let all = compared.systems.iter().flat_map(|it| it.metrics.iter().map(|metric| row(&it.candidate, metric)));
    page.table(&heads, all);
    page.paragraph(Inline::text(system_correction(compared)).and("."));
}

/// Writes the samples that got better and worse; nothing if none moved.
pub(super) fn write(page: &mut Page, compared: &RunComparison) {
    let Some((movers, metric)) = shown_movers(compared) else { return };
    page.heading(2, Inline::plain("Samples by ").then(Inline::code(&movers.metric)));
    page.paragraph(Inline::text(counts(compared, movers)).and("."));
    let all: Vec<(&str, &Mover)> =
        movers.better.iter().map(|it| ("better", it)).chain(movers.worse.iter().map(|it| ("worse", it))).collect();
    if !all.is_empty() {
        let with_outputs = all.iter().any(|(_, it)| it.outputs.is_some());
        page.table(&heads(with_outputs), all.iter().map(|(word, it)| row(word, metric, it)));
    }
    page.list([cut_note(movers), other_metrics(compared, movers)].into_iter().flatten().map(Inline::text));
}

fn heads(with_outputs: bool) -> Vec<Column> {
    let mut heads = vec![
        Column::left(Inline::plain("Change")),
        Column::left(Inline::plain("Sample")),
        Column::left(Inline::plain("System")),
        Column::right(Inline::plain("Baseline")),
        Column::right(Inline::plain("Candidate")),
    ];
    if with_outputs {
        heads.extend(["Output before", "Output now"].map(|head| Column::left(Inline::plain(head))));
    }
    heads
}

fn row(word: &str, metric: &ComparedMetric, it: &Mover) -> Vec<Inline> {
    let mut row = vec![
        Inline::text(word),
        Inline::code(&it.sample),
        Inline::code(&it.system),
        Inline::text(figures::value(metric, it.baseline)),
        Inline::text(figures::value(metric, it.candidate)),
    ];
    if let Some(outputs) = &it.outputs {
        row.extend([&outputs.baseline, &outputs.candidate].map(|it| Inline::text(output(it.as_ref()))));
    }
    row
}
