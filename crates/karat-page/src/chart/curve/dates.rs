//! Positions and labels of dates, and lines over them.

use maud::{Markup, html};

use crate::block::SeriesLine;
use crate::draw::mark::{date_position, path, percent};
use crate::number::Scale;
use crate::text::visible::short_name;

/// Most labels below a chart; of longer ones, fewer fit.
const MOST_LABELS: usize = 6;

/// Most labels of more than six characters, such as whole dates.
const MOST_LONG_LABELS: usize = 4;

/// Most points of one line; of more, the lowest and highest of each part are kept.
pub(crate) const MOST_POINTS: usize = 2_000;

/// The labels of dates below a chart.
pub(crate) fn labels(dates: &[String], position: impl Fn(usize) -> f64, y: f64) -> Markup {
    let last = dates.len().saturating_sub(1);
    let is_long = dates.iter().any(|date| date.chars().count() > 6);
    let number = dates.len().min(if is_long { MOST_LONG_LABELS } else { MOST_LABELS });
    let at = |label: usize| if number > 1 { label * last / (number - 1) } else { 0 };
    html! {
        @for label in 0..number {
            @let at = at(label);
            @let anchor = if number > 1 && label == 0 { "start" } else if number > 1 && label == number - 1 { "end" } else { "middle" };
            text.soft.tick-minor[label > 0 && label + 1 < number] x=(percent(position(at))) y=(y) text-anchor=(anchor) {
                @if let Some(date) = dates.get(at) { (short_name(date)) }
            }
        }
    }
}

/// Returns the indices of the points to draw: all, or the lowest and highest of each part, so that extremes stay.
pub(crate) fn thin(values: &[Option<f64>]) -> Vec<usize> {
    if values.len() <= MOST_POINTS {
        return (0..values.len()).collect();
    }
    let parts = MOST_POINTS / 2;
    let mut kept: Vec<usize> = Vec::with_capacity(MOST_POINTS + 2);
    for part in 0..parts {
        let (from, to) = (part * values.len() / parts, (part + 1) * values.len() / parts);
        let known = || (from..to).filter_map(|at| values.get(at).copied().flatten().map(|value| (value, at)));
        let lowest = known().min_by(|a, b| a.0.total_cmp(&b.0));
        let highest = known().max_by(|a, b| a.0.total_cmp(&b.0));
        match (lowest, highest) {
            (Some((_, a)), Some((_, b))) => kept.extend(if a == b { vec![a] } else { vec![a.min(b), a.max(b)] }),
            // A part without any value is a gap.
            _ => kept.push(from),
        }
    }
    kept
}

/// Values of a line without those that are no number.
pub(crate) fn values(line: &SeriesLine) -> Vec<Option<f64>> {
    line.points.iter().map(|point| point.value.filter(|value| value.is_finite())).collect()
}

/// Returns the path of a line over this many dates.
pub(crate) fn line_path(line: &SeriesLine, n: usize, y: impl Fn(f64) -> f64) -> String {
    let values = values(line);
    let kept = thin(&values);
    path(kept.into_iter().map(|at| Some((date_position(at, n), y(values.get(at).copied().flatten()?)))))
}

/// Returns the last value of a line as text.
pub(crate) fn last_value(line: &SeriesLine, scale: &Scale) -> String {
    scale.text_or_none(values(line).into_iter().flatten().last())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DB-36: thinning keeps extremes and gaps.
    #[test]
    fn extremes_stay() {
        let mut values: Vec<Option<f64>> = (0..10_000).map(|at| Some(f64::from(at % 7))).collect();
        values[5_432] = Some(99.0);
        values[1_000..1_100].fill(None);
        let kept = thin(&values);
        assert!(kept.len() <= MOST_POINTS && kept.contains(&5_432) && kept.is_sorted());
        assert!(kept.iter().any(|at| values[*at].is_none()));
    }
}
