//! What changed in the diagnostics of two sides (SP-08).

use karat_analysis::Named;
use karat_analysis::compare::{Change, DiagnosticsChange, TestedChange};

use super::page::{Column, Inline, Page};
use crate::changes::{lists, paired};
use crate::comparison::p_value;
use crate::figures::{self, Unscaled, count};

pub(super) fn write(page: &mut Page, changes: &[DiagnosticsChange]) {
    for found in changes {
        page.heading(2, Inline::plain("Diagnostics: ").and_code(&found.id));
        page.paragraph(Inline::plain("Mean score: ").then(before_after(found.avg_score)).and(
            "; whether that is more than chance is said above. Paired differences and p-values below are over the \
                      samples that both sides assessed, corrected over all rows of both tables.",
        ));
        table(page, "Category", &found.categories);
        table(page, "Findings an item, by section", &found.section_error_rates);
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

fn table(page: &mut Page, head: &'static str, groups: &Named<Named<TestedChange>>) {
    if groups.is_empty() {
        return;
    }
    let right = |name: &'static str| Column::right(Inline::plain(name));
    let heads = [
        Column::left(Inline::plain(head)),
        right("Baseline"),
        right("Candidate"),
        right("Change"),
        right("Paired"),
        right("n"),
        right("p corrected"),
    ];
    let number = |value: Option<f64>| Inline::text(figures::maybe(&Unscaled, value));
    let row = |group: &str, name: &str, it: &TestedChange| {
        vec![
            Inline::code(group).and(" ").and_text(name),
            number(it.figure.before),
            number(it.figure.after),
            Inline::text(crate::changes::signed(it.figure.change)),
            Inline::text(paired(it)),
            Inline::text(count(it.paired.as_ref().map_or(0, |found| found.n()))),
            Inline::text(p_value(it.p_adjusted)),
        ]
    };
    // What neither side has is no row.
    let has_any = |it: &TestedChange| it.figure.before.is_some() || it.figure.after.is_some();
    let named = groups.iter().flat_map(|(group, named)| named.iter().map(move |(name, it)| (group, name, it)));
    let rows = named.filter(|(.., it)| has_any(it)).map(|(group, name, it)| row(group, name, it));
    page.table(&heads, rows);
}
