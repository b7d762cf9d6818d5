//! Scales, by which numbers of the page are written.

use karat_analysis::Finding;
use karat_analysis::series::{AxisSpec, SeriesView};
use karat_page::number::{Estimate, Scale, Unit};

/// The scale of the composite.
pub(super) fn composite(view: &SeriesView) -> Scale {
    let unit = view.unit.as_ref().map_or(Unit::Score, |unit| Unit::Named(unit.clone()));
    Scale { unit, range: view.range, better: view.better }
}

/// The scale of an axis.
pub(super) fn axis(axis: &AxisSpec) -> Scale {
    Scale { unit: Unit::Score, range: axis.range, better: axis.better }
}

/// The scales of axes in rows: whole grades have no decimals.
pub(super) fn axes_in_rows(view: &SeriesView) -> Vec<Scale> {
    (0..view.axes.len()).map(|at| axis_in_rows(view, at)).collect()
}

fn axis_in_rows(view: &SeriesView, at: usize) -> Scale {
    let grades = view.cards.iter().filter_map(|card| card.axes.get(at)).flat_map(|axis| [axis.value, axis.baseline]);
    let is_whole = grades.flatten().all(|grade| grade.fract() == 0.0);
    match view.axes.get(at) {
        Some(spec) if !is_whole => axis(spec),
        _ => Scale::of(Unit::Count),
    }
}

/// A finding as an estimate; `reason` stands where there is none.
pub(super) fn estimate(finding: Option<&Finding>, reason: &str) -> Estimate {
    let Some(found) = finding else { return Estimate::missing(reason) };
    match found.interval().filter(|_| !found.is_degenerate()) {
        Some(interval) => Estimate::new(found.value(), interval, found.n()),
        None => Estimate::point(found.value(), found.n()),
    }
}

/// The composite's name without its scorer.
pub(super) fn metric_name(view: &SeriesView) -> &str {
    view.metric.rsplit_once('.').map_or(view.metric.as_str(), |(_, name)| name)
}
