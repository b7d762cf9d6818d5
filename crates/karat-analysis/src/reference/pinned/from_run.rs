//! Pins the findings of a run.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use karat_types::RunHeader;

use super::contents::PinnedContents;
use super::{BASELINE_SCHEMA, Pinned, PinnedMetric, PinnedRun, PinnedSystem};
use crate::figures::groups::Group;
use crate::figures::spread::Spread;
use crate::findings::Findings;
use crate::score::instrument::served_models::by_asked;
use crate::score::matched_cells::SampleCells;
use crate::score::table::State;

impl Pinned {
    /// The results of a run.
    pub fn of(header: &RunHeader, findings: &Findings) -> Self {
        let samples: Vec<String> = (0..findings.samples()).map(|at| findings.sample_id(at).to_owned()).collect();
        let cells_of = |group: &Group, metric: usize| -> [CellStates; 2] {
            let Some(&system) = group.systems.first() else { return Default::default() };
            let entries = (0..findings.samples())
                .map(|sample| SampleCells::for_showing(&findings.table, &findings.plan, (metric, sample, system)))
                .collect::<Vec<_>>();
            let trials = entries.iter().filter_map(SampleCells::trials).flatten().copied();
            [entries.iter().map(SampleCells::combine_trials).collect(), trials.collect()]
        };
        let metrics = |group: &Group, cells: &dyn Fn(usize) -> [CellStates; 2]| {
            let each = findings.plan.metrics.iter().zip(&group.metrics).enumerate();
            each.map(|(at, (metric, spread))| (metric.name.clone(), PinnedMetric::of(spread, &cells(at)))).collect()
        };
        let system = |group: &Group| PinnedSystem {
            id: group.id.clone(),
            metrics: metrics(group, &|metric| cells_of(group, metric)),
            answered_as: by_asked(&group.answered_as),
        };
        Self {
            schema: BASELINE_SCHEMA.to_owned(),
            run: PinnedRun { stopped_after: findings.stopped_after(), ..PinnedRun::of(header, &findings.instruments) },
            overall: metrics(&findings.run, &|_| Default::default()),
            systems: findings.systems.iter().map(system).collect(),
            contents: PinnedContents::default(),
            changed: BTreeSet::new(),
            graded: BTreeMap::new(),
            scorers: BTreeMap::new(),
            index: HashMap::new(),
            samples,
        }
        .build_index()
    }
}

/// Cells, each with its state and value.
type CellStates = Vec<(State, f64)>;

impl PinnedMetric {
    fn of(spread: &Spread, [samples, trials]: &[CellStates; 2]) -> Self {
        let se = spread.figure().and_then(crate::Finding::se);
        Self::figure(spread.value(), spread.n(), se, Vec::new()).with_cells(samples, trials)
    }
}
