//! Section and document on the verdicts of gates.

use karat_analysis::{Decision, Verdict, Verdicts};

use crate::markdown::page::{Column, Inline, Page};
use crate::shared::figures::count;
use crate::shared::report::Report;
use crate::wording::gates::{SHOWN, VerdictWords, verdict_words, visible_checks};

/// Returns the verdict for the executive summary, or `None` without gates.
pub(in crate::markdown) fn verdict(verdicts: &Verdicts) -> Option<Inline> {
    let VerdictWords { verdict, counts, named, more } = verdict_words(verdicts)?;
    let line = Inline::plain("**Verdict:** ").then(Inline::plain(verdict.as_str()).bold()).and(": ").and_text(counts);
    if named.is_empty() {
        return Some(line);
    }
    let more = if more > 0 { format!(" and {} more", count(more as u64)) } else { String::new() };
    Some(line.and(": ").then(Inline::list(named.iter().map(Inline::code))).and_text(more))
}

pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
    section(page, &report.context.verdicts);
}

/// Returns the verdicts on a run, and the reasons for its failure besides gates, as a document of its own.
pub fn gates(run: &str, verdicts: &Verdicts, failures: &[String]) -> String {
    let mut page = Page::default();
    page.heading(1, Inline::plain("Gates of run ").and_code(run));
    match verdict(verdicts) {
        Some(line) => page.paragraph(line),
        None => page.paragraph(Inline::plain("No gate was evaluated.")),
    }
    page.list(failures.iter().map(|failure| Inline::plain("Failed: ").bold().and_text(failure)));
    section(&mut page, verdicts);
    page.finish()
}

fn section(page: &mut Page, verdicts: &Verdicts) {
    if verdicts.decisions.is_empty() {
        return;
    }
    page.heading(2, Inline::plain("Gates"));
    let shown = visible_checks(verdicts);
    let more = shown.len().saturating_sub(SHOWN);
    let rows = shown.into_iter().take(SHOWN).map(|shown| {
        let decision = shown.decision;
        let word = Inline::plain(decision.verdict.as_str());
        let word = if decision.verdict == Verdict::Pass { word } else { word.bold() };
        vec![word, Inline::text(shown.check_name()), Inline::text(&decision.reason), Inline::text(n(decision))]
    });
    let columns = vec![
        Column::left(Inline::plain("verdict")),
        Column::left(Inline::plain("gate")),
        Column::left(Inline::plain("why")),
        Column::right(Inline::plain("n")),
    ];
    page.table(&columns, rows);
    if more > 0 {
        page.paragraph(
            Inline::plain("… and ").and_text(count(more as u64)).and(" more, none worse than the last one shown."),
        );
    }
    page.list(verdicts.notes.iter().map(Inline::text));
}

fn n(decision: &Decision) -> String {
    decision.finding.as_ref().map_or_else(|| "0".to_owned(), |finding| count(finding.n()))
}
