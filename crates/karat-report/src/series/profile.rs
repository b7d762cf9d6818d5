//! The charts over all cards: medians of axes, the distribution of composites, contributions by day.

use karat_analysis::series::{AxisSpec, Contributions, SeriesView};
use karat_page::block::{Histogram, Radar, RadarAxis, Stack, StackPart};
use karat_page::number::{Estimate, Scale, Unit};
use karat_page::{Block, Head};

use super::scales;

/// Most days of the chart of contributions: a column needs about two pixels.
const MOST_DAYS: usize = 400;

/// The medians of axes; `None` if there are no axes.
pub(super) fn radar(view: &SeriesView) -> Option<Block> {
    if view.axes.is_empty() {
        return None;
    }
    let is_one_scale = view.axes.windows(2).all(|pair| pair[0].range == pair[1].range);
    let share = |axis: &AxisSpec, value: f64| match axis.range.filter(|_| !is_one_scale) {
        Some((lo, hi)) if hi > lo => (value - lo) / (hi - lo),
        _ => value,
    };
    let has_baseline = view.figures.axis_baselines.iter().any(Option::is_some);
    let axes = view.axes.iter().enumerate().map(|(at, axis)| {
        let found = view.figures.axes.get(at).and_then(Option::as_ref);
        let estimate = match found {
            Some(found) => Estimate::point(share(axis, found.value()), found.n()),
            None => Estimate::missing("no grade"),
        };
        let baseline = view.figures.axis_baselines.get(at).copied().flatten().map(|value| share(axis, value));
        RadarAxis { name: axis.name.clone(), estimate, baseline }
    });
    let mut head =
        Head::new("Axes", "Where is it strong, and where weak? Medians of all cards.").with_n(view.cards.len() as u64);
    if has_baseline {
        head = head.with_note("Pinned: the mean over the pinned cards only.");
    }
    if !is_one_scale {
        head = head.with_note("The axes have different scales: each is shown as a share of its own.");
    }
    let one = view.axes.first().map(scales::axis).unwrap_or_default();
    let shares = Scale { range: Some((0.0, 1.0)), ..Scale::of(Unit::Share) };
    Some(Block::Radar(Radar {
        head,
        scale: if is_one_scale { one } else { shares },
        axes: axes.collect(),
        baseline: has_baseline.then(|| "pinned".to_owned()),
    }))
}

/// The distribution of composites in eighths of the scale.
pub(super) fn histogram(view: &SeriesView) -> Block {
    let name = scales::metric_name(view);
    Block::Histogram(Histogram {
        head: Head::new("Distribution", format!("How is the {name} spread?")).with_n(view.cards.len() as u64),
        scale: scales::composite(view),
        values: view.cards.iter().map(|card| (card.composite, None)).collect(),
        missing: 0,
        mark: view.gate.as_ref().map(|gate| (gate.bound, gate.id.clone())),
    })
}

/// The contributions of axes by day, or the reason why there are none.
pub(super) fn stack(view: &SeriesView) -> Block {
    let name = scales::metric_name(view);
    let head =
        Head::new("Contributions", format!("What makes up the {name} of each day? Weight times grade of each axis."));
    if let Some(why) = &view.no_parts {
        let empty = Head { empty: karat_page::block::Empty { reason: Some(why.clone()), command: None }, ..head };
        return Block::Stack(Stack { head: empty, ..Stack::default() });
    }
    let from = view.days.len().saturating_sub(MOST_DAYS);
    let days = view.days.get(from..).unwrap_or_default();
    let of = |part: &dyn Fn(&Contributions) -> Option<f64>| days.iter().map(|day| part(day.parts.as_ref()?)).collect();
    let part = |(at, axis): (usize, &AxisSpec)| StackPart {
        name: axis.name.clone(),
        values: of(&|parts| parts.axes.get(at).copied()),
    };
    let head = if from > 0 { head.with_note(format!("The last {MOST_DAYS} days.")) } else { head };
    Block::Stack(Stack {
        head: head.with_n(days.iter().filter(|day| day.parts.is_some()).count() as u64),
        scale: scales::composite(view),
        dates: days.iter().map(|day| day.date.clone()).collect(),
        parts: view.axes.iter().enumerate().map(part).collect(),
        capped: of(&|parts| Some(parts.taken)),
        capped_sum: of(&|parts| Some(parts.taken_of_composite)),
    })
}
