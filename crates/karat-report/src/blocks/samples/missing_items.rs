//! Items that some variants have and others lack.

use karat_analysis::{MissingItem, MissingItems};
use karat_page::block::{Block, Cell, Column, Head};

use crate::blocks::build::{prose, table, table_if_any, texts};

pub(in crate::blocks) fn blocks(found: &MissingItems) -> Vec<Block> {
    let mut columns = vec![Column::text("Kind")];
    columns.extend(found.from.iter().map(Column::number));
    let rest = ["Distinct", "In other systems", "Systematic", "Lost in whole variants", "Missing from some models"];
    columns.extend(rest.map(Column::number));
    let rows = found.groups.iter().map(|(name, group)| {
        let own = found.from.iter().map(|variant| group.from.get(variant).copied().unwrap_or(0));
        let counts = own.chain([group.items, group.found, group.systematic, group.by_variant, group.by_model]);
        std::iter::once(Cell::text(name)).chain(counts.map(Cell::Count)).collect()
    });
    let mut head = Head::new("Missing items", "What do other systems never find?")
        .with_n(found.samples)
        .with_note(format!(
            "Items of {} are looked for in the outputs of all other systems, {}. An item that no system has is \
             systematically missing.",
            found.from.join(", "),
            found.note
        ))
        .when_empty("No sample has items of these variants and cells of others: nothing to compare.", "karat validate");
    head.notes.extend(found.patterns.iter().cloned());
    if found.patterns.is_empty() && found.samples > 0 {
        head = head.with_note("No kind of item lost half of its items.");
    }
    let groups = table(head, columns, rows);
    let head = Head::new("Found only by systems that read the whole text", "What does reading in pieces lose?");
    let cross = table_if_any(head, item_columns(), found.cross_segment.iter().map(item));
    let head = Head::new("Missing somewhere", "Which items do I look for?");
    let missing = table_if_any(head, item_columns(), found.missing.iter().map(item));
    [Some(groups), cross, missing].into_iter().flatten().collect()
}

fn item_columns() -> Vec<Column> {
    texts(["Sample", "Kind", "Item", "Reach", "Lacking"])
}

fn item(item: &MissingItem) -> Vec<Cell> {
    vec![
        Cell::text(&item.sample),
        Cell::text(&item.group),
        prose(&item.text),
        Cell::text(item.reach),
        prose(item.lacking.join(", ")),
    ]
}
