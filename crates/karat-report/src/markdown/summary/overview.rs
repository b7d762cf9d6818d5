//! Title and executive summary, which starts with the verdict.

use crate::markdown::page::{Inline, Page};
use crate::shared::figures::{self, count};
use crate::shared::ranking;
use crate::shared::report::Report;

pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
    let findings = report.findings;
    page.heading(1, Inline::plain("Evaluation report: ").and_text(&findings.plan.suite));
    if let Some(about) = &findings.plan.about {
        page.paragraph(Inline::text(about));
    }
    page.heading(2, Inline::plain("Executive summary"));
    page.list(summary(report));
    for warning in report.warnings() {
        page.paragraph(Inline::plain("**Warning:** ").then(Inline::sentence(warning)));
    }
}

fn summary(report: Report<'_>) -> Vec<Inline> {
    let (findings, summary) = (report.findings, &report.findings.summary);
    let mut lines: Vec<Inline> = super::gates::verdict(&report.context.verdicts).into_iter().collect();
    if let (Some((at, metric)), Some(board)) = (report.primary(), findings.primary_board()) {
        let place = |label: &'static str, place: Option<&karat_analysis::RankedPlace>| {
            let place = place?;
            let figure = figures::value_with_method(metric, &place.finding);
            Some(Inline::plain(label).and_code(&place.id).and(", ").and_code(&metric.name).and(" ").and_text(figure))
        };
        let ranked = board.places.len() > 1 && !board.is_level();
        let level = || Inline::text(format!("All {} have the same score.", count(board.places.len() as u64)));
        lines.extend(board.is_level().then(level));
        let first = match (ranked, ranking::is_open(board)) {
            (false, _) => "**Score:** ",
            (true, false) => "**Best:** ",
            (true, true) => "**First, undecided:** ",
        };
        lines.extend(place(first, board.places.first()));
        lines.extend(place("**Last:** ", board.places.last().filter(|_| ranked)));
        lines.extend(place("**Hardest sample:** ", board.hardest_sample.as_ref()));
        let of_all = findings.run.metrics.get(at).and_then(|spread| spread.figure());
        if let Some(figure) = of_all.filter(|_| findings.systems.len() > 1) {
            let figure = figures::value_with_method(metric, figure);
            lines.push(Inline::plain("**Overall** (equal-weight mean over systems): ").and_text(figure));
        }
        let compared = Inline::plain("Compared on ")
            .and_text(count(summary.shared))
            .and(" of ")
            .and_text(count(summary.scored))
            .and(" scored sample × variant pairs: those that all ranked models share.");
        lines.extend((board.places.len() > 1).then_some(compared));
    }
    lines.push(totals(report));
    lines.extend(
        report
            .context
            .stop
            .as_ref()
            .map(|stop| Inline::plain("**Early stop:** ").and_text(format!("{}.", stop.sentence()))),
    );
    lines.extend(report.context.failures.iter().map(|it| Inline::plain("**Failed:** ").and_text(it)));
    lines
}

fn totals(report: Report<'_>) -> Inline {
    let tally = report.findings.run.tally;
    let mut line = Inline::text(count(tally.cells))
        .and(" of ")
        .and_text(count(report.findings.planned))
        .and(" planned cells: ")
        .and_text(count(tally.ok))
        .and(" with an output, ")
        .and_text(count(tally.errors))
        .and(" failed, ")
        .and_text(count(tally.skipped))
        .and(" skipped, ")
        .and_text(count(tally.unscored))
        .and(" unscored");
    if !report.context.canonical {
        line = line.and(", ").and_text(count(tally.reused)).and(" reused");
    }
    line = line.and("; judgments: ").and_text(count(tally.judgments));
    if !report.context.canonical && tally.judgments > 0 {
        line = line.and(", ").and_text(count(tally.judgments_reused)).and(" reused");
    }
    line.and(".")
}
