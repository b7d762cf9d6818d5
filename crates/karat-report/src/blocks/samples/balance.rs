//! Balance of the dataset: samples by value of a column.

use karat_analysis::Balance;
use karat_page::block::{Bar, Bars, Block, Head};
use karat_page::number::{Estimate, Scale, Unit};

use super::label;

/// Number of values drawn of a column.
const VALUES: usize = 20;

pub(in crate::blocks) fn blocks(found: &Balance) -> Vec<Block> {
    let block = |(column, balance): (&String, &karat_analysis::ColumnBalance)| {
        let mut head = Head::new(format!("Balance of {column}"), "Is any part of the dataset too small?")
            .with_n(balance.samples)
            .when_empty("No sample has a value in this column.", "karat dataset describe");
        if balance.missing > 0 {
            head.notes.push(format!("{} samples have no value.", balance.missing));
        }
        if let Some(left) = balance.values.len().checked_sub(VALUES).filter(|left| *left > 0) {
            head.notes.push(format!("{left} smaller values are in report.json."));
        }
        let bar = |it: &karat_analysis::ValueShare| Bar {
            name: label(&it.value),
            estimate: Estimate::point(it.samples as f64, 0),
            ..Bar::default()
        };
        let bars = balance.values.iter().take(VALUES).map(bar).collect();
        Block::Bars(Bars { head, scale: Scale::of(Unit::Count), bars, threshold: None })
    };
    let blocks: Vec<Block> = found.by.iter().map(block).collect();
    if blocks.is_empty() { super::super::plain::blocks("Balance of the dataset", found) } else { blocks }
}
