//! What changed in the diagnostics of two sides (SP-08).

use karat_analysis::compare::{Change, DiagnosticsChange, SectionChange, SectionCount, TestedChange};

use super::page::{Column, Inline, Page};
use crate::changes::{each, lists, paired, signed};
use crate::comparison::p_value;
use crate::figures::{self, NONE, Unscaled, count};

pub(super) fn write(page: &mut Page, changes: &[DiagnosticsChange]) {
    for found in changes {
        page.heading(2, Inline::plain("Diagnostics: ").and_code(&found.id));
        page.paragraph(Inline::plain("Mean score: ").then(before_after(found.avg_score)).and(
            "; whether that is more than chance is said above. Paired differences and p-values below are over the \
                      samples that both sides assessed, corrected over all rows of both tables.",
        ));
        categories(page, found);
        sections(page, found);
        page.list(
            lists(found)
                .into_iter()
                .map(|(head, items)| Inline::text(head).and(": ").then(Inline::list(items.iter().map(Inline::text)))),
        );
    }
}

fn before_after(change: Change) -> Inline {
    let number = |value: Option<f64>| figures::maybe(&Unscaled, value);
    Inline::text(format!("{} before, {} after", number(change.before), number(change.after)))
}

fn categories(page: &mut Page, found: &DiagnosticsChange) {
    // What neither side has is no row.
    let has_any = |it: &TestedChange| it.figure.before.is_some() || it.figure.after.is_some();
    let rows = each(&found.categories).filter(|(.., it)| has_any(it)).map(|(category, name, it)| {
        let side = |value: Option<f64>| Inline::text(figures::maybe(&Unscaled, value));
        row(category, name, [side(it.figure.before), side(it.figure.after)], it)
    });
    table(page, "Category", rows.collect());
}

fn sections(page: &mut Page, found: &DiagnosticsChange) {
    let says = |it: &SectionCount| it.findings.unwrap_or(0) + it.items.unwrap_or(0) > 0;
    let has_any = |it: &SectionChange| says(&it.baseline) || says(&it.candidate);
    let rows = each(&found.section_error_rates).filter(|(.., it)| has_any(it)).map(|(section, kind, it)| {
        let figure = it.rate.figure;
        let sides = [side(figure.before, it.baseline), side(figure.after, it.candidate)];
        row(section, kind, sides, &it.rate)
    });
    table(page, "Findings an item, by section", rows.collect());
}

/// A rate with what it counts, so that a section without items still says what was found there.
fn side(rate: Option<f64>, counted: SectionCount) -> Inline {
    let number = |n: Option<u64>| n.map_or_else(|| NONE.to_owned(), count);
    let (findings, items) = (number(counted.findings), number(counted.items));
    Inline::text(format!("{} ({findings} of {items})", figures::maybe(&Unscaled, rate)))
}

fn row(group: &str, name: &str, [before, after]: [Inline; 2], it: &TestedChange) -> Vec<Inline> {
    vec![
        Inline::code(group).and(" ").and_text(name),
        before,
        after,
        Inline::text(signed(it.figure.change)),
        Inline::text(paired(it)),
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
