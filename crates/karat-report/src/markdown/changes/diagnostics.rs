//! Section on changes in the diagnostics of two sides (SP-08).

use karat_analysis::compare::{Change, DiagnosticsChange, SectionChange, SectionCount, TestedChange};

use crate::markdown::page::{Column, Inline, Page};
use crate::shared::figures::{self, NONE, Unscaled, count};
use crate::wording::changes::{change_lists, grouped_entries, paired_difference, signed_or_none};
use crate::wording::comparison::p_value;

pub(in crate::markdown) fn write(page: &mut Page, changes: &[DiagnosticsChange]) {
    for found in changes {
        page.heading(2, Inline::plain("Diagnostics: ").and_code(&found.id));
        page.paragraph(Inline::plain("Mean score: ").then(before_after(found.avg_score)).and(
            "; the table above says whether the change is significant. Paired differences and p-values below are over the \
             samples that both sides assessed, corrected over all rows of both tables.",
        ));
        categories(page, found);
        sections(page, found);
        page.list(
            change_lists(found)
                .into_iter()
                .map(|(head, items)| Inline::text(head).and(": ").then(Inline::list(items.iter().map(Inline::text)))),
        );
    }
}

fn before_after(change: Change) -> Inline {
    let number = |value: Option<f64>| figures::value_or_none(&Unscaled, value);
    Inline::text(format!("{} before, {} after", number(change.before), number(change.after)))
}

fn categories(page: &mut Page, found: &DiagnosticsChange) {
    // Categories that neither side has get no row.
    let has_any = |it: &TestedChange| it.figure.before.is_some() || it.figure.after.is_some();
    let rows = grouped_entries(&found.categories).filter(|(.., it)| has_any(it)).map(|(category, name, it)| {
        let side = |value: Option<f64>| Inline::text(figures::value_or_none(&Unscaled, value));
        row(category, name, [side(it.figure.before), side(it.figure.after)], it)
    });
    table(page, "Category", rows.collect());
}

fn sections(page: &mut Page, found: &DiagnosticsChange) {
    let says = |it: &SectionCount| it.findings.unwrap_or(0) + it.items.unwrap_or(0) > 0;
    let has_any = |it: &SectionChange| says(&it.baseline) || says(&it.candidate);
    let rows = grouped_entries(&found.section_error_rates).filter(|(.., it)| has_any(it)).map(|(section, kind, it)| {
        let figure = it.rate.figure;
        let sides = [side(figure.before, it.baseline), side(figure.after, it.candidate)];
        row(section, kind, sides, &it.rate)
    });
    table(page, "Findings per item, by section", rows.collect());
}

/// Returns a rate with its counts, so that a section without items still shows what was found there.
fn side(rate: Option<f64>, counted: SectionCount) -> Inline {
    let number = |n: Option<u64>| n.map_or_else(|| NONE.to_owned(), count);
    let (findings, items) = (number(counted.findings), number(counted.items));
    Inline::text(format!("{} ({findings} of {items})", figures::value_or_none(&Unscaled, rate)))
}

fn row(group: &str, name: &str, [before, after]: [Inline; 2], it: &TestedChange) -> Vec<Inline> {
    vec![
        Inline::code(group).and(" ").and_text(name),
        before,
        after,
        Inline::text(signed_or_none(it.figure.change)),
        Inline::text(paired_difference(it)),
        Inline::text(count(it.paired.as_ref().map_or(0, |found| found.n()))),
        Inline::text(p_value(it.p_adjusted)),
    ]
}

fn table(page: &mut Page, head: &'static str, rows: Vec<Vec<Inline>>) {
    if rows.is_empty() {
        return;
    }
    let right = |name: &'static str| Column::right(Inline::plain(name));
    let numbers = ["Baseline", "Candidate", "Change", "Paired", "n", "p corrected"].map(right);
    let heads: Vec<Column> = std::iter::once(Column::left(Inline::plain(head))).chain(numbers).collect();
    page.table(&heads, rows);
}
