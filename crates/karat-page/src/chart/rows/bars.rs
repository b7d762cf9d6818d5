//! A value for each name. Scores are dots with intervals; counts and money are bars from zero.

use maud::{Markup, html};

use crate::block::{Bar, Bars, Cell, Column, Row, Rows};
use crate::chart::figure::{Figure, cut_note, missing_note};
use crate::chart::rows::{Line, MOST_LINES, cut_lines, draw};
use crate::component::gates::observed_value;
use crate::draw::axis::Axis;
use crate::draw::dots;
use crate::draw::mark::LINE_HEIGHT;
use crate::draw::mark::{Marker, percent};
use crate::number::Unit;
use crate::text::visible::{line, short_name};
use karat_types::Better;

pub(crate) fn render(bars: &Bars) -> Markup {
    let scale = &bars.scale;
    let is_bar = matches!(scale.unit, Unit::Count | Unit::Dollars);
    let threshold = bars.threshold.as_ref().map(|(value, _)| *value);
    let extent = bars.bars.iter().flat_map(|bar| dots::extent(&bar.estimate)).chain(threshold);
    let axis = if is_bar { Axis::from_zero(extent) } else { Axis::of(scale, extent).cut_from(scale) };
    let behind = html! {
        @if let Some(value) = threshold {
            @let x = percent(axis.position(value));
            line.threshold x1=(x) x2=(x) y1="0" y2=(LINE_HEIGHT) {}
        }
    };
    let lines: Vec<Line<'_>> = bars
        .bars
        .iter()
        .take(MOST_LINES)
        .map(|bar| Line {
            name: &bar.name,
            plot: if is_bar {
                solid(bar, &axis)
            } else {
                dots::marks(&bar.estimate, &axis, &Marker::of(0).with_key(bar.key.as_deref()))
            },
            value: observed_value(&bar.estimate, scale),
        })
        .collect();
    let missing = bars.bars.iter().filter(|bar| bar.estimate.finite_value().is_none()).count();
    let notes = [
        missing_note(missing, bars.bars.len(), "row"),
        cut_note(&axis, scale),
        cut_lines(bars.bars.len()),
        bars.threshold.as_ref().map(|(value, name)| format!("Dashed line: {} at {}.", line(name), scale.text(*value))),
    ];
    Figure {
        is_beside: false,
        kind: if is_bar { "bars" } else { "dots" },
        sentence: sentence(bars),
        points: bars.bars.len() - missing,
        drawing: draw(&lines, &axis, scale, false, &behind, None),
        legend: None,
        notes: notes.into_iter().flatten().collect(),
    }
    .render(&rows(bars))
}

fn solid(bar: &Bar, axis: &Axis) -> Markup {
    let Some(value) = bar.estimate.finite_value() else { return html! {} };
    let (zero, end) = (axis.position(0.0), axis.position(value));
    let key = bar.key.as_deref().map(line);
    html! {
        rect.bar-mark.s1 x=(percent(zero.min(end))) width=(percent((end - zero).abs())) y="7" height=(LINE_HEIGHT - 14.0) data-key=[key] {}
        @if let Some((lo, hi)) = bar.estimate.finite_interval() {
            line.zero-line x1=(percent(axis.position(lo))) x2=(percent(axis.position(hi))) y1=(LINE_HEIGHT / 2.0) y2=(LINE_HEIGHT / 2.0) {}
        }
    }
}

/// Returns the numbers.
pub(crate) fn rows(bars: &Bars) -> Rows {
    // Counts and money have no observations behind them.
    let has_n = bars.bars.iter().any(|bar| bar.estimate.n > 0);
    let row = |bar: &Bar| {
        let name = match &bar.href {
            Some(href) => Cell::Link { text: bar.name.clone(), href: href.clone() },
            None => Cell::Text(bar.name.clone()),
        };
        let n = has_n.then_some(Cell::Count(bar.estimate.n));
        let value = Cell::Value(bar.estimate.clone(), bars.scale.clone());
        Row::of([name, value].into_iter().chain(n).collect())
    };
    let mut columns = vec![Column::text("Name"), Column::number("Value")];
    columns.extend(has_n.then(|| Column::number("n")));
    Rows { columns, rows: bars.bars.iter().map(row).collect(), ..Rows::default() }
}

/// Returns for example `gpt-5 0.810 [0.780, 0.840] leads gpt-4.1 by 0.050`.
fn sentence(bars: &Bars) -> String {
    let scale = &bars.scale;
    let mut known: Vec<(&Bar, f64)> =
        bars.bars.iter().filter_map(|bar| Some((bar, bar.estimate.finite_value()?))).collect();
    let is_lower = scale.better == Better::Lower;
    known.sort_by(|a, b| if is_lower { a.1.total_cmp(&b.1) } else { b.1.total_cmp(&a.1) });
    let named = |bar: &Bar| format!("{} {}", short_name(&bar.name), scale.sentence(&bar.estimate));
    match known.as_slice() {
        [] => "no values".to_owned(),
        [(only, _)] => named(only),
        [(_, a), .., (_, b)] if (a - b).abs() <= 0.0 => format!("all {} have {}", known.len(), scale.text(*a)),
        [(first, a), (second, b), ..] if (a - b).abs() <= 0.0 => {
            format!("{} and {} lead with {}", short_name(&first.name), short_name(&second.name), scale.text(*a))
        }
        [(first, a), (second, b), ..] => {
            format!("{} leads {} by {}", named(first), short_name(&second.name), scale.text((a - b).abs()))
        }
    }
}
