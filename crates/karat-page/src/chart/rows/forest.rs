//! Differences with their intervals around zero, better to the right, sorted by effect.

use karat_types::Better;
use maud::{Markup, html};

use crate::block::verdict::{self, Verdict};
use crate::block::{Cell, Column, Forest, ForestRow, Row, Rows};
use crate::chart::figure::{Figure, missing_note};
use crate::chart::rows::{Line, MOST_LINES, cut_lines, draw};
use crate::component::table::{missing, observations};
use crate::draw::axis::Axis;
use crate::draw::dots;
use crate::draw::mark::LINE_HEIGHT;
use crate::draw::mark::{Marker, percent};
use crate::number::{Estimate, Scale, count};
use crate::text::visible::short_name;

pub(crate) fn render(forest: &Forest) -> Markup {
    let scale = &forest.scale;
    let is_turned = scale.better == Better::Lower;
    let rows = sorted(forest);
    let margin = forest.margin.filter(|margin| margin.is_finite()).map(f64::abs);
    let ends = margin.map(|margin| [-margin, margin]);
    let axis = Axis::around_zero(rows.iter().flat_map(|row| dots::extent(&row.1)).chain(ends.into_iter().flatten()));
    let behind = html! {
        @if let Some(margin) = margin {
            @let from = axis.position(-margin);
            rect.band x=(percent(from)) width=(percent(axis.position(margin) - from)) y="0" height=(LINE_HEIGHT) {}
        }
        @let zero = percent(axis.position(0.0));
        line.zero-line x1=(zero) x2=(zero) y1="0" y2=(LINE_HEIGHT) {}
    };
    let lines: Vec<Line<'_>> = rows
        .iter()
        .take(MOST_LINES)
        .map(|(row, effect)| Line {
            name: &row.name,
            plot: dots::marks(effect, &axis, &marker(row)),
            value: value(row, effect, scale),
        })
        .collect();
    let without = rows.iter().filter(|row| row.1.finite_value().is_none()).count();
    let notes = [
        missing_note(without, rows.len(), "row"),
        cut_lines(rows.len()),
        margin.map(|margin| format!("Shaded: differences below the margin of ±{}.", scale.text(margin))),
        is_turned.then(|| "Less is better here, so the sign is turned: better is on the right.".to_owned()),
    ];
    Figure {
        is_beside: false,
        kind: "forest",
        sentence: sentence(&rows, scale),
        points: rows.len() - without,
        drawing: draw(&lines, &axis, scale, true, &behind, Some(("← worse", "better →"))),
        legend: None,
        notes: notes.into_iter().flatten().collect(),
    }
    .render(&table(&rows, scale))
}

/// Returns the rows with their differences where positive is better, the best first.
fn sorted(forest: &Forest) -> Vec<(&ForestRow, Estimate)> {
    let is_turned = forest.scale.better == Better::Lower;
    let mut rows: Vec<(&ForestRow, Estimate)> =
        forest.rows.iter().map(|row| (row, if is_turned { turn(&row.effect) } else { row.effect.clone() })).collect();
    let effect = |estimate: &Estimate| estimate.finite_value().unwrap_or(f64::NEG_INFINITY);
    rows.sort_by(|a, b| effect(&b.1).total_cmp(&effect(&a.1)));
    rows
}

/// Returns the numbers.
pub(crate) fn rows(forest: &Forest) -> Rows {
    table(&sorted(forest), &forest.scale)
}

fn turn(effect: &Estimate) -> Estimate {
    Estimate {
        value: effect.finite_value().map(|value| -value),
        interval: effect.finite_interval().map(|(lo, hi)| (-hi, -lo)),
        values: effect.values.iter().map(|value| -value).collect(),
        ..effect.clone()
    }
}

fn marker(row: &ForestRow) -> Marker<'static> {
    let class = match row.verdict {
        Some(Verdict::Better | Verdict::Pass) => "v-better",
        Some(Verdict::Worse | Verdict::Fail | Verdict::Error) => "v-worse",
        Some(Verdict::Undecided | Verdict::Review) => "v-undecided",
        Some(Verdict::Equivalent) | None => "v-equivalent",
    };
    Marker { class: Some(class), ..Marker::of(0).hollow(row.verdict == Some(Verdict::Undecided)) }
}

fn value(row: &ForestRow, effect: &Estimate, scale: &Scale) -> Markup {
    html! {
        @if let Some(value) = effect.finite_value() {
            (scale.signed_text(value))
            @if let Some(interval) = effect.finite_interval() { " " span.interval { (scale.signed_interval(value, interval)) } }
            @if effect.n > 0 { " " (observations(effect.n)) }
            @if let Some(verdict) = row.verdict { " " (verdict::mark(verdict)) }
            @if let Some(needed) = row.needed { " " span.count-n { "needs n ≈ " (count(needed)) } }
        } @else { (missing(effect.reason.as_deref())) }
    }
}

fn table(rows: &[(&ForestRow, Estimate)], scale: &Scale) -> Rows {
    let row = |(row, effect): &(&ForestRow, Estimate)| {
        let name = match &row.href {
            Some(href) => Cell::Link { text: row.name.clone(), href: href.clone() },
            None => Cell::Text(row.name.clone()),
        };
        let verdict = row.verdict.map_or(Cell::Text(String::new()), Cell::Verdict);
        let needed = row.needed.map_or(Cell::Text(String::new()), Cell::Count);
        Row::of(vec![name, Cell::Difference(effect.clone(), scale.clone()), Cell::Count(effect.n), verdict, needed])
    };
    let columns = vec![
        Column::text("Name"),
        Column::number("Difference, better is positive"),
        Column::number("n"),
        Column::text("Verdict"),
        Column::number("n needed"),
    ];
    Rows { columns, rows: rows.iter().map(row).collect(), ..Rows::default() }
}

fn sentence(rows: &[(&ForestRow, Estimate)], scale: &Scale) -> String {
    let told = |(row, effect): &(&ForestRow, Estimate)| {
        let value = effect.finite_value()?;
        let interval =
            effect.finite_interval().map_or_else(String::new, |it| format!(" {}", scale.signed_interval(value, it)));
        let verdict = row.verdict.map_or_else(String::new, |verdict| format!(", {}", verdict.word()));
        Some(format!("{} {}{interval}{verdict}", short_name(&row.name), scale.signed_text(value)))
    };
    let known: Vec<String> = rows.iter().filter_map(told).collect();
    match known.as_slice() {
        [] => "no differences".to_owned(),
        few if few.len() <= 4 => few.join("; "),
        [first, .., last] => {
            let number = |verdict: Verdict| rows.iter().filter(|(row, _)| row.verdict == Some(verdict)).count();
            format!(
                "{} differences: {} better, {} worse, {} undecided; highest {first}; lowest {last}",
                known.len(),
                number(Verdict::Better),
                number(Verdict::Worse),
                number(Verdict::Undecided)
            )
        }
        [only] => only.clone(),
    }
}
