//! Section on the judges: their agreement, and the cells on which they disagree (CL-16).

use karat_analysis::{Agreement, Grading, JudgePair};

use crate::markdown::page::{Column, Inline, Page};
use crate::shared::figures::{self, count};
use crate::shared::report::Report;

/// Number of cells shown on which the judges disagree.
const CELLS: usize = 10;

pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
    let findings = report.findings;
    let graded = findings.grading().filter(|grading| grading.shared_cells + grading.single_judge_cells > 0);
    if graded.is_none() && findings.agreement().is_none() {
        return;
    }
    page.heading(2, Inline::plain("Judges"));
    if let Some(grading) = graded {
        write_grading(page, grading);
    }
    if let Some(agreement) = findings.agreement() {
        write_agreement(page, report, agreement);
    }
}

fn write_grading(page: &mut Page, grading: &Grading) {
    let mut counts = Inline::plain("Cells graded by several judges: ")
        .and_text(count(grading.shared_cells))
        .and("; by only one although several were required: ")
        .and_text(count(grading.single_judge_cells));
    let few = grading.few_judge_cells.saturating_sub(grading.single_judge_cells);
    if few > 0 {
        counts = counts.and("; by several, but fewer than ").and_code("min_judges").and(": ").and_text(count(few));
    }
    page.paragraph(
        counts.and("; flagged because the judges disagree: ").and_text(count(grading.flagged_cells)).and("."),
    );
    let row = |it: &karat_analysis::FlaggedCell| {
        vec![
            Inline::code(&it.sample).and(" ").and_code(&it.system),
            Inline::code(&it.metric),
            Inline::text(format!("{:.2}", it.variance)),
            Inline::text(count(u64::from(it.judges))),
        ]
    };
    if !grading.flagged.is_empty() {
        let heads = [
            Column::left(Inline::plain("Flagged cell")),
            Column::left(Inline::plain("Largest disagreement in")),
            Column::right(Inline::plain("Variance (÷ n)")),
            Column::right(Inline::plain("Judges")),
        ];
        page.table(&heads, grading.flagged.iter().take(CELLS).map(row));
    }
}

fn write_agreement(page: &mut Page, report: Report<'_>, agreement: &Agreement) {
    let heads = [
        Column::left(Inline::plain("Metric")),
        Column::left(Inline::plain("Judges")),
        Column::right(Inline::plain("Mean absolute difference")),
        Column::right(Inline::plain("Bias (first − second)")),
        Column::right(Inline::plain("ICC(2,1)")),
        Column::right(Inline::plain("α")),
        Column::right(Inline::plain("n")),
    ];
    let share = |found: &Option<karat_analysis::Finding>| {
        Inline::text(found.as_ref().map_or(figures::NONE.to_owned(), |it| format!("{:.2}", it.value())))
    };
    let shown = report.metrics().filter_map(|(_, metric)| Some((metric, agreement.metrics.get(&metric.name)?)));
    let rows = shown.flat_map(|(metric, found)| {
        found.pairs.iter().map(move |pair: &JudgePair| {
            vec![
                Inline::code(&metric.name),
                Inline::code(&pair.judges.0).and(", ").and_code(&pair.judges.1),
                Inline::text(figures::value(metric, pair.mean_abs_difference.value())),
                Inline::text(figures::difference_with_method(metric, &pair.bias)),
                share(&pair.icc),
                share(&pair.alpha),
                Inline::text(count(pair.bias.n())),
            ]
        })
    });
    page.table(&heads, rows);
}
