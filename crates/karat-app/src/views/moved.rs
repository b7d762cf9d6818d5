//! The cells of a run whose scores differ from those of an earlier run.

use std::collections::HashMap;

use fixedbitset::FixedBitSet;
use karat_analysis::system_id;
use karat_types::PlanHeader;

use crate::views::index::RunIndex;

/// The cells whose scores differ from those of an earlier run.
#[derive(Debug, Clone)]
pub struct MovedCells {
    /// The earlier run.
    pub since: String,
    pub(super) cells: FixedBitSet,
}

/// The cells with a score that differs from that of the same sample, system and trial in another run. Metrics that
/// depend on time or price are left out: they always differ.
pub(super) fn moved_cells(own: (&PlanHeader, &RunIndex), before: (&PlanHeader, &RunIndex)) -> FixedBitSet {
    let (plan, index) = own;
    let (other_plan, other) = before;
    let pairs: Vec<(usize, usize)> = (plan.metrics.iter().enumerate())
        .filter(|(_, metric)| !metric.volatile)
        .filter_map(|(at, metric)| Some((at, other_plan.metric(&metric.name)?)))
        .collect();
    let systems: Vec<Option<usize>> = (0..plan.systems.len())
        .map(|system| {
            let name = system_id(plan, system);
            (0..other_plan.systems.len()).find(|other| system_id(other_plan, *other) == name)
        })
        .collect();
    let samples: HashMap<&str, usize> = other.sample_ids().enumerate().map(|(at, id)| (id, at)).collect();
    let cells: HashMap<(usize, usize, u32), usize> = (0..other.len())
        .map(|cell| {
            let place = other.place(cell);
            ((other.sample(cell), place.system, place.trial), cell)
        })
        .collect();
    let partner = |cell: usize| {
        let place = index.place(cell);
        let sample = samples.get(index.sample_id(cell))?;
        cells.get(&(*sample, (*systems.get(place.system)?)?, place.trial)).copied()
    };
    let differs = |cell: usize, other_cell: usize| {
        pairs.iter().any(|(own, theirs)| {
            let value = index.metric(*own).and_then(|column| column.value(cell));
            let earlier = other.metric(*theirs).and_then(|column| column.value(other_cell));
            value.zip(earlier).is_some_and(|(value, earlier)| (value - earlier).abs() > 1e-12)
        })
    };
    let mut moved = FixedBitSet::with_capacity(index.len());
    moved.extend((0..index.len()).filter(|cell| partner(*cell).is_some_and(|earlier| differs(*cell, earlier))));
    moved
}
