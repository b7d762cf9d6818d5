//! The rules of the page: weights of axes, caps, bounds, pinned grades.

use karat_analysis::series::{SeriesCard, SeriesView};
use karat_page::block::{Cell, Column, Row, Rows, Table};
use karat_page::number::{Estimate, Scale, Unit};
use karat_page::{Block, Head};

use super::scales;

pub(super) fn blocks(view: &SeriesView) -> Vec<Block> {
    [axes(view), caps(view), bounds(view), baseline_table(view)].into_iter().flatten().map(Block::Table).collect()
}

fn table(head: Head, columns: Vec<Column>, rows: Vec<Row>) -> Option<Table> {
    let caption = head.title.clone();
    (!rows.is_empty()).then(|| Table {
        head,
        rows: Rows { caption, columns, rows, ..Rows::default() },
        ..Table::default()
    })
}

fn axes(view: &SeriesView) -> Option<Table> {
    let weighted = view.axes.iter().any(|axis| axis.weight.is_some());
    let mut columns = vec![Column::text("Axis")];
    columns.extend(weighted.then(|| Column::number("Weight")));
    columns.extend(["Scale", "Meaning"].map(Column::text));
    let row = |axis: &karat_analysis::series::AxisSpec| {
        let weight = weighted.then(|| match axis.weight {
            Some(weight) => {
                Cell::Value(Estimate::point(weight, 1), Scale { range: Some((0.0, 1.0)), ..Scale::of(Unit::Share) })
            }
            None => Cell::Missing("no weight".to_owned()),
        });
        let scale = axis.range.map_or_else(|| "unbounded".to_owned(), |(lo, hi)| format!("{lo} to {hi}"));
        let meaning = Cell::Prose(axis.definition.clone().unwrap_or_default());
        Row::of([Cell::text(&axis.name)].into_iter().chain(weight).chain([Cell::Text(scale), meaning]).collect())
    };
    table(
        Head::new("Axes and weights", "What does the composite consist of?"),
        columns,
        view.axes.iter().map(row).collect(),
    )
}

fn caps(view: &SeriesView) -> Option<Table> {
    let row = |(at, cap): (usize, &karat_analysis::series::CapRule)| {
        let cards = view.figures.caps.get(at).copied().unwrap_or_default();
        Row::of(vec![
            Cell::text(&cap.id),
            Cell::Words(cap.rule.clone()),
            Cell::Code(cap.when.clone()),
            Cell::Count(cards),
        ])
    };
    let columns = vec![Column::text("Cap"), Column::text("Rule"), Column::text("When"), Column::number("Cards")];
    table(Head::new("Caps", "Which rules lower a grade?"), columns, view.caps.iter().enumerate().map(row).collect())
}

fn bounds(view: &SeriesView) -> Option<Table> {
    let scale = scales::composite(view);
    let row = |name: &str, text: String| Row::of(vec![Cell::text(name), Cell::Words(text)]);
    let gates = view.rules.iter().map(|rule| row("Gate", rule.clone()));
    let drop = view
        .max_drop
        .filter(|_| view.has_baseline)
        .map(|drop| row("Regressed", format!("worse than the pinned value by more than {}", scale.text(drop))));
    let high = view.high.map(|high| row("Best quarter", format!("{} or better", scale.text(high))));
    let columns = vec![Column::text("Bound"), Column::text("Rule")];
    table(
        Head::new("Bounds", "When does a card fail, and when is it good?"),
        columns,
        gates.chain(drop).chain(high).collect(),
    )
}

/// The pinned grades beside those of now, for readers without a script.
fn baseline_table(view: &SeriesView) -> Option<Table> {
    let cards: Vec<&SeriesCard> = view.cards.iter().filter(|card| card.baseline.is_some()).collect();
    let scale = scales::composite(view);
    let value = |value: Option<f64>, scale: &Scale| {
        Cell::Value(value.map_or_else(|| Estimate::missing("not pinned"), |it| Estimate::point(it, 1)), scale.clone())
    };
    let scales = scales::axes_in_rows(view);
    let row = |card: &&SeriesCard| {
        let axes = card.axes.iter().zip(&scales).map(|(axis, scale)| value(axis.baseline, scale));
        let delta = Cell::Difference(Estimate { value: card.delta(), ..Estimate::default() }, scale.clone());
        let own = [Cell::text(&card.key), value(Some(card.composite), &scale), value(card.baseline, &scale), delta];
        Row::of(own.into_iter().chain(axes).collect())
    };
    let axes = view.axes.iter().map(|axis| Column::number(format!("{}, pinned", axis.name)));
    let columns = [Column::text("Card"), Column::number("Now"), Column::number("Pinned"), Column::number("Difference")];
    let mut head = Head::new("Pinned cards", "What is each compared with?");
    head.notes.extend(view.baseline.clone());
    table(head, columns.into_iter().chain(axes).collect(), cards.iter().map(row).collect())
}
