//! Section on a corpus of sessions (SU-04).

use karat_analysis::{Outcome, SummaryCorpus, SystemCorpus};

use crate::markdown::page::{Column, Inline, Page};
use crate::shared::figures::{NONE, Unscaled, count, value_with_method};
use crate::shared::report::Report;
use crate::shared::visible::excerpt;

/// Length of a reason, in characters.
const REASON: usize = 80;
/// Number of sessions listed. `report.json` has all.
const SESSIONS: usize = 40;

pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
    for analysed in &report.findings.analyses {
        if let Outcome::SummaryCorpus(corpus) = &analysed.outcome {
            sessions(page, report, corpus);
        }
    }
}

fn number(value: Option<f64>) -> Inline {
    Inline::text(value.map_or_else(|| NONE.to_owned(), |value| format!("{value:.3}")))
}

fn sessions(page: &mut Page, report: Report<'_>, corpus: &SummaryCorpus) {
    page.heading(2, Inline::plain("Sessions"));
    page.paragraph(overview(corpus));
    page.list(
        crate::wording::session_gates::failed_gates(report, corpus)
            .into_iter()
            .map(|failed| Inline::plain("**Gate failed:** ").and_code(failed)),
    );
    let names = corpus.dimension_means.names().map(|name| Column::right(Inline::code(name)));
    let heads: Vec<Column> = [Column::left(Inline::plain("Session")), Column::right(Inline::plain("Overall"))]
        .into_iter()
        .chain(names)
        .collect();
    let means = corpus.dimension_means.iter().map(|(_, mean)| number(*mean));
    let mean = [Inline::plain("*mean*"), number(corpus.overall_mean).bold()].into_iter().chain(means).collect();
    let of_system = |it: &SystemCorpus| {
        let means = it.dimension_means.iter().map(|(_, mean)| number(*mean));
        let name = Inline::plain("*mean of* ").and_code(&it.system);
        [name, number(it.overall_mean).bold()].into_iter().chain(means).collect()
    };
    let means = std::iter::once(mean).chain(corpus.systems.iter().map(of_system));
    let rows = corpus.worst(SESSIONS).into_iter().map(|session| {
        let scores = session.dimensions.iter().map(|it| number(it.score));
        let name = Inline::code(&session.name);
        let name = session.system.as_ref().map_or(name.clone(), |system| name.and(" × ").and_code(system));
        let name = session.reason().map_or(name.clone(), |reason| name.and(" ").and_code(excerpt(reason, REASON)));
        [name, number(session.overall).bold()].into_iter().chain(scores).collect()
    });
    page.table(&heads, means.chain(rows));
    if corpus.sessions.len() > SESSIONS {
        page.paragraph(
            Inline::plain("The ").and_text(count(SESSIONS as u64)).and(" lowest; `report.json` has every session."),
        );
    }
}

fn overview(corpus: &SummaryCorpus) -> Inline {
    let overall =
        corpus.overall.as_ref().map_or_else(|| NONE.to_owned(), |overall| value_with_method(&Unscaled, overall));
    let line = Inline::text(count(corpus.corpus_size))
        .and(" sessions, the lowest first; overall mean ")
        .and_text(overall)
        .and(", lowest ")
        .then(number(corpus.overall_min))
        .and(", highest ")
        .then(number(corpus.overall_max));
    let beside = [("not curated", corpus.not_curated), ("failed", corpus.failed)];
    let beside = beside.into_iter().filter(|(_, n)| *n > 0);
    beside
        .fold(line, |line, (what, n)| {
            line.and("; ").and(what).and(" and excluded from all figures: ").and_text(count(n))
        })
        .and(".")
}
