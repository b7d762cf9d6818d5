//! Section on drift: the verdict on the last days and its evidence.

use karat_analysis::Outcome;
use karat_analysis::drift::{Drift, DriftStatus};

use crate::markdown::page::{Inline, Page, columns};
use crate::shared::figures::count;
use crate::shared::report::Report;

/// Writes the result of every `drift` analysis, for each system.
pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
    let found = report.findings.analyses.iter().filter_map(|analysed| match &analysed.outcome {
        Outcome::Drift(found) => Some(found.iter().map(|found| (&analysed.id, found))),
        _ => None,
    });
    for (at, (id, found)) in found.flatten().enumerate() {
        if at == 0 {
            page.heading(2, Inline::plain("Drift"));
        }
        one(page, id, found);
    }
}

fn one(page: &mut Page, id: &str, found: &Drift) {
    let verdict = match found.status {
        DriftStatus::Ok if found.is_silent() => {
            "too few days in this run for a verdict; `karat drift` reads the days of all runs"
        }
        DriftStatus::Ok => "no drift",
        DriftStatus::Alert => "**ALERT**",
        DriftStatus::NoData => "no data",
    };
    page.paragraph(
        Inline::code(id)
            .and(" (")
            .and_text(found.method.as_str())
            .and(" of ")
            .and_code(&found.metric)
            .and(" of ")
            .and_text(found.system.as_deref().unwrap_or("no system"))
            .and(", as of ")
            .and_text(&found.as_of)
            .and(", ")
            .and_text(count(found.n as u64))
            .and(" days with a score): ")
            .and(verdict)
            .and("."),
    );
    if !found.alerts.is_empty() {
        let rows = found.alerts.iter().map(|alert| {
            let figures = [alert.short_median, alert.long_median, alert.z];
            let figures = figures.map(|value| Inline::text(format!("{value:.2}")));
            let n = format!("{} and {}", alert.n_short, alert.n_long);
            std::iter::once(Inline::text(&alert.day)).chain(figures).chain([Inline::text(n)]).collect()
        });
        page.table(&columns(&["Bad day", "Short median", "Long median", "z", "Scores"]), rows);
    }
    let skipped = found.skipped.iter().map(|day| Inline::text(&day.day).and(" was skipped: ").and_text(&day.reason));
    let incident = found.incident.iter().map(|incident| match &incident.closed {
        None => Inline::plain("An incident is open since ").and_text(&incident.opened).and("."),
        Some(closed) => Inline::plain("The last incident lasted from ")
            .and_text(&incident.opened)
            .and(" to ")
            .and_text(closed)
            .and("."),
    });
    page.list(skipped.chain(incident).chain(found.warnings.iter().map(Inline::text)));
}
