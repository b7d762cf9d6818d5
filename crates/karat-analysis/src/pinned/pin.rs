//! Pinning what a run found.

use std::collections::{BTreeMap, HashMap};

use karat_types::RunHeader;

use super::{BASELINE_SCHEMA, Pinned, PinnedMetric, PinnedRun, PinnedSystem};
use crate::aggregate::Spread;
use crate::findings::Findings;
use crate::groups::Group;

impl Pinned {
    /// The results of a run.
    pub fn of(header: &RunHeader, findings: &Findings) -> Self {
        let samples: Vec<String> = (0..findings.samples()).map(|at| findings.sample_id(at).to_owned()).collect();
        let metrics = |group: &Group, values: &dyn Fn(usize) -> Vec<Option<f64>>| {
            let each = findings.plan.metrics.iter().zip(&group.metrics).enumerate();
            each.map(|(at, (metric, spread))| (metric.name.clone(), PinnedMetric::of(spread, values(at)))).collect()
        };
        let system = |group: &Group| {
            let values = |metric: usize| {
                let of = |sample| group.systems.first().and_then(|it| findings.table.value(metric, sample, *it));
                (0..findings.samples()).map(of).collect()
            };
            PinnedSystem { id: group.id.clone(), metrics: metrics(group, &values) }
        };
        Self {
            schema: BASELINE_SCHEMA.to_owned(),
            run: PinnedRun::of(header, &findings.judges),
            overall: metrics(&findings.run, &|_| Vec::new()),
            systems: findings.systems.iter().map(system).collect(),
            graded: BTreeMap::new(),
            index: HashMap::new(),
            samples,
        }
        .indexed()
    }
}

impl PinnedMetric {
    fn of(spread: &Spread, values: Vec<Option<f64>>) -> Self {
        let se = spread.figure().and_then(crate::Finding::se);
        Self { value: spread.value(), n: spread.n(), se, values }
    }
}
