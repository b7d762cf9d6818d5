//! Reads a golden set as pinned results.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::contents::PinnedContents;
use super::{ANY_SYSTEM, BASELINE_SCHEMA, Pinned, PinnedMetric, PinnedRun, PinnedSystem};
use crate::reference::golden::Golden;
use crate::score::instrument::SampleInstrument;
use crate::score::instrument::served_models::NamesByAsked;

impl Pinned {
    /// Results by sample, each for the system that its file names, with its instrument. A file without a system applies
    /// to every system.
    pub fn golden(run: PinnedRun, golden: &[Golden]) -> Self {
        let named: BTreeSet<&str> = golden.iter().filter_map(|it| it.system.as_deref()).collect();
        let systems = named.into_iter().chain([ANY_SYSTEM]).map(|id| {
            let own: Vec<Option<&Golden>> =
                golden.iter().map(|it| Some(it).filter(|it| it.system.as_deref().is_none_or(|of| of == id))).collect();
            PinnedSystem { id: id.to_owned(), metrics: metrics(&own), answered_as: NamesByAsked::new() }
        });
        let graded = |it: &Golden| {
            let (judge, version) = (it.baseline_judge.clone(), it.baseline_prompt_version.clone());
            let graded = SampleInstrument { judge, version, answered_as: it.baseline_answered_as.clone() };
            (it.sample.clone(), graded)
        };
        Self {
            schema: BASELINE_SCHEMA.to_owned(),
            run,
            samples: golden.iter().map(|it| it.sample.clone()).collect(),
            // A golden set is for single systems and has no overall figure.
            overall: BTreeMap::new(),
            systems: systems.filter(|system| !system.metrics.is_empty()).collect(),
            contents: PinnedContents::default(),
            changed: BTreeSet::new(),
            graded: golden.iter().map(graded).collect(),
            scorers: BTreeMap::new(),
            index: HashMap::new(),
        }
        .build_index()
    }
}

/// The figures of a system; samples without a file are `None`.
fn metrics(golden: &[Option<&Golden>]) -> BTreeMap<String, PinnedMetric> {
    let mut metrics = BTreeMap::<String, Vec<Option<f64>>>::new();
    for (at, pinned) in golden.iter().enumerate().filter_map(|(at, it)| Some((at, (*it)?))) {
        for (metric, value) in pinned.values() {
            let values = metrics.entry(metric).or_insert_with(|| vec![None; golden.len()]);
            if let Some(slot) = values.get_mut(at) {
                *slot = Some(value);
            }
        }
    }
    metrics.into_iter().map(|(metric, values)| (metric, figure(values))).collect()
}

fn figure(values: Vec<Option<f64>>) -> PinnedMetric {
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    let (value, se) = (karat_stats::describe::mean(&known), karat_stats::describe::standard_error(&known));
    PinnedMetric::figure(value, known.len() as u64, se, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pinned(sample: &str, system: Option<&str>, composite: f64) -> Golden {
        let text = serde_json::json!({"sample": sample, "system": system, "baseline_metric": "q", "baseline_composite": composite});
        Golden::read(&text.to_string()).unwrap()
    }

    /// BR-11, BR-12: a file that names a system applies to that system only; an older file applies to every system.
    #[test]
    fn a_golden_set_applies_to_the_system_that_it_names() {
        let golden = [pinned("a", Some("raw"), 3.5), pinned("b", None, 2.0)];
        let set = Pinned::golden(PinnedRun::default(), &golden);
        let value = |system: &str, sample: &str| set.value(set.system(system).unwrap(), "q", sample);
        assert_eq!((value("raw", "a"), value("raw", "b")), (Some(3.5), Some(2.0)));
        assert_eq!((value("alt", "a"), value("alt", "b")), (None, Some(2.0)));
        let set = Pinned::golden(PinnedRun::default(), &golden[..1]);
        assert_eq!((set.system("raw"), set.system("alt")), (Some(0), None));
        assert_eq!(set.systems().collect::<Vec<_>>(), ["raw"]);
    }
}
