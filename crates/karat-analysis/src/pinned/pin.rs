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
        let samples_of = |group: &Group, metric: usize| -> (Vec<Option<f64>>, Vec<usize>) {
            let Some(&system) = group.systems.first() else { return Default::default() };
            let (table, all) = (&findings.table, 0..findings.samples());
            let failed = |sample: &usize| table.state(metric, *sample, system).is_failure();
            (all.clone().map(|sample| table.value(metric, sample, system)).collect(), all.filter(failed).collect())
        };
        let metrics = |group: &Group, samples: &dyn Fn(usize) -> (Vec<Option<f64>>, Vec<usize>)| {
            let each = findings.plan.metrics.iter().zip(&group.metrics).enumerate();
            each.map(|(at, (metric, spread))| (metric.name.clone(), PinnedMetric::of(spread, samples(at)))).collect()
        };
        let system = |group: &Group| {
            let metrics = metrics(group, &|metric| samples_of(group, metric));
            PinnedSystem { id: group.id.clone(), metrics }
        };
        Self {
            schema: BASELINE_SCHEMA.to_owned(),
            run: PinnedRun::of(header, &findings.judges),
            overall: metrics(&findings.run, &|_| Default::default()),
            systems: findings.systems.iter().map(system).collect(),
            graded: BTreeMap::new(),
            index: HashMap::new(),
            samples,
        }
        .indexed()
    }
}

impl PinnedMetric {
    fn of(spread: &Spread, (values, lost): (Vec<Option<f64>>, Vec<usize>)) -> Self {
        let se = spread.figure().and_then(crate::Finding::se);
        Self { value: spread.value(), n: spread.n(), se, values, lost }
    }
}
