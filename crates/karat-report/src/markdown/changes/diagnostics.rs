//! Section on changes in the diagnostics of two sides.

use karat_analysis::compare::{Change, DiagnosticsChange, TestedChange};

use crate::markdown::page::{Column, Inline, Page};
use crate::shared::figures::{self, Unscaled, count};
use crate::wording::changes::{change_lists, grouped_entries, paired_difference};
use crate::wording::comparison::p_value;

pub(in crate::markdown) fn write(page: &mut Page, changes: &[DiagnosticsChange]) {
    for found in changes {
        page.heading(2, Inline::plain("Diagnostics: ").and_code(&found.id));
        page.paragraph(Inline::plain("Mean score: ").then(before_after(found.avg_score)).and(
            "; the table above says whether the change is significant. Figures, changes and p-values below are over the \
             samples that both sides assessed, corrected over all rows of these tables.",
        ));
        table(page, "Category", grouped_entries(&found.categories));
        let found_rates = found.found_rates.iter().map(|(section, it)| (section, "", it));
        table(page, "Findings per sample, by section", grouped_entries(&found.section_error_rates));
        table(page, "Found ÷ (found + missing), by section", found_rates);
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

/// Writes the rows of groups. What neither side has, or both never have, is not a row.
fn table<'a>(page: &mut Page, head: &'static str, changes: impl Iterator<Item = (&'a str, &'a str, &'a TestedChange)>) {
    let says = |value: Option<f64>| value.is_some_and(|value| value.abs() > 0.0);
    let changes = changes.filter(|(.., it)| says(it.figure.before) || says(it.figure.after));
    let side = |value: Option<f64>| Inline::text(figures::value_or_none(&Unscaled, value));
    let row = |(group, name, it): (&str, &str, &TestedChange)| {
        vec![
            Inline::code(group).and(if name.is_empty() { "" } else { " " }).and_text(name),
            side(it.figure.before),
            side(it.figure.after),
            Inline::text(paired_difference(it)),
            Inline::text(count(it.paired.as_ref().map_or(0, |found| found.n()))),
            Inline::text(p_value(it.p_adjusted)),
        ]
    };
    let rows: Vec<Vec<Inline>> = changes.map(row).collect();
    if rows.is_empty() {
        return;
    }
    let right = |name: &'static str| Column::right(Inline::plain(name));
    let numbers = ["Baseline", "Candidate", "Change", "n", "p corrected"].map(right);
    let heads: Vec<Column> = std::iter::once(Column::left(Inline::plain(head))).chain(numbers).collect();
    page.table(&heads, rows);
}
