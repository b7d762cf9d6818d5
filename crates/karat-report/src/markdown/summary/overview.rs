//! Title and executive summary, which starts with the verdict.

use crate::markdown::page::{Inline, Page};
use crate::shared::figures::{self, count};
use crate::shared::report::Report;
use crate::shared::scales;
use crate::wording::answer;

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
    let findings = report.findings;
    let mut lines: Vec<Inline> = super::gates::verdict(&report.context.verdicts).into_iter().collect();
    lines.extend(answer::answers(report).iter().map(|it| {
        let line = Inline::plain("**").and(it.question).and("** ").then(Inline::sentence(&it.answer));
        match &it.caveat {
            Some(caveat) => line.and(" *Caveat:* ").then(Inline::sentence(caveat)),
            None => line,
        }
    }));
    if let (Some((at, metric)), Some(board)) = (report.primary(), findings.primary_board()) {
        lines.extend(answer::level(report, board).map(Inline::text));
        lines.extend(answer::leaders(report).into_iter().map(|it| {
            let line = Inline::plain("**").and_text(answer::label(&it)).and(":** ").and_code(it.id);
            line.and(", ").and_code(&metric.name).and(" ").and_text(it.text)
        }));
        let of_all = findings.run.metrics.get(at).and_then(|spread| spread.figure());
        if let Some(figure) = of_all.filter(|_| findings.systems.len() > 1) {
            let figure = figures::value_with_method(&scales::scale_of(&findings.plan, metric), figure);
            lines.push(Inline::plain("**Overall** (equal-weight mean over systems): ").and_text(figure));
        }
        lines.extend(answer::shared_part(report, board).map(Inline::text));
    }
    lines.push(totals(report));
    lines.extend(
        report
            .context
            .stop
            .as_ref()
            .map(|stop| Inline::plain("**Early stop:** ").and_text(format!("{}.", stop.sentence()))),
    );
    lines.extend(report.context.failures.iter().map(|it| Inline::plain("**Failed:** ").and_text(it.to_string())));
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
