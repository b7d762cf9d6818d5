//! Section on items that some variants have and others lack (CL-09).

use karat_analysis::{MissingItem, MissingItems, Outcome};

use crate::markdown::page::{Column, Inline, Page};
use crate::shared::figures::count;
use crate::shared::report::Report;

/// Number of missing items shown.
const ITEMS: usize = 15;

pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
    for analysed in &report.findings.analyses {
        if let Outcome::MissingItems(found) = &analysed.outcome {
            section(page, &analysed.id, found);
        }
    }
}

fn section(page: &mut Page, id: &str, found: &MissingItems) {
    page.heading(2, Inline::plain("Missing items: ").and_code(id));
    if found.samples == 0 {
        page.paragraph(Inline::plain("No sample has items of these variants and cells of others: nothing to compare."));
        return;
    }
    page.paragraph(
        Inline::plain("Items of ")
            .then(Inline::list(found.from.iter().map(Inline::code)))
            .and(" are looked for in the outputs of all other systems, ")
            .and(found.note)
            .and(". Samples: ")
            .and_text(count(found.samples))
            .and(". An item that no system has is systematically missing."),
    );
    groups(page, found);
    page.heading(3, Inline::plain("Patterns"));
    if found.patterns.is_empty() {
        page.paragraph(Inline::plain("None: no kind of item lost half of its items."));
    }
    page.list(found.patterns.iter().map(Inline::text));
    if !found.cross_segment.is_empty() {
        page.heading(3, Inline::plain("Found only by systems that read the whole text"));
        page.list(found.cross_segment.iter().take(ITEMS).map(item));
    }
    if !found.missing.is_empty() {
        page.heading(3, Inline::plain("Missing somewhere"));
        page.list(found.missing.iter().take(ITEMS).map(item));
    }
}

fn groups(page: &mut Page, found: &MissingItems) {
    let mut heads = vec![Column::left(Inline::plain("Kind"))];
    heads.extend(found.from.iter().map(|variant| Column::right(Inline::code(variant))));
    let rest = ["Distinct", "In other systems", "Systematic", "Lost in whole variants", "Missing from some models"];
    heads.extend(rest.map(|name| Column::right(Inline::plain(name))));
    let rows = found.groups.iter().map(|(name, group)| {
        let own = found.from.iter().map(|variant| group.from.get(variant).copied().unwrap_or(0));
        let counts = own.chain([group.items, group.found, group.systematic, group.by_variant, group.by_model]);
        std::iter::once(Inline::text(name)).chain(counts.map(|n| Inline::text(count(n)))).collect()
    });
    page.table(&heads, rows);
}

fn item(item: &MissingItem) -> Inline {
    let line = Inline::text(item.reach).and(" in ").and_code(&item.sample).and(" (").and_text(&item.group).and("): ");
    let line = line.and_text(&item.text);
    if item.lacking.is_empty() {
        return line;
    }
    line.and(" (lacking: ").then(Inline::list(item.lacking.iter().map(Inline::code))).and(")")
}
