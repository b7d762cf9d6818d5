//! The gates of a suite before its run: flags that change them, and what must hold before anything is paid.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use karat_analysis::gate::check;
use karat_analysis::{Pinned, primary_metric};
use karat_suite::Files;
use karat_types::{Gate, GateReference, GateRules, PlanHeader, Threshold};

use crate::error::{AnalyseError, FileError};
use crate::project::presets::SuiteFiles;
use crate::{AppError, GateFlags};

impl GateFlags {
    /// The rules with these flags applied.
    pub(crate) fn apply_to(&self, mut rules: GateRules, plan: &Arc<PlanHeader>) -> Result<GateRules, AppError> {
        if let Some(baseline) = &self.baseline {
            if !Path::new(baseline).exists() {
                return Err(AnalyseError::NoBaselineFile { path: baseline.clone() }.into());
            }
            rules.baseline = Some(baseline.clone());
        }
        let primary = || primary_metric(plan).and_then(|at| plan.metrics.get(at)).map(|metric| metric.name.as_str());
        for (metric, threshold) in &self.min {
            set_bound(&mut rules.gates, metric, |gate| &mut gate.min, *threshold);
        }
        if let (Some(threshold), Some(metric)) = (self.threshold, primary()) {
            set_bound(&mut rules.gates, metric, |gate| &mut gate.min, threshold);
        }
        for (metric, threshold) in &self.max_drop {
            let mut drops = rules.gates.iter_mut().filter(|gate| gate.max_drop.is_some()).peekable();
            match (metric, primary()) {
                (Some(metric), _) => set_bound(&mut rules.gates, metric, |gate| &mut gate.max_drop, *threshold),
                (None, Some(metric)) if drops.peek().is_none() => {
                    set_bound(&mut rules.gates, metric, |gate| &mut gate.max_drop, *threshold);
                }
                (None, _) => drops.for_each(|gate| gate.max_drop = Some(*threshold)),
            }
        }
        Ok(rules)
    }
}

/// Sets a bound of the gates on a metric, or adds a gate if none has such a bound.
fn set_bound(gates: &mut Vec<Gate>, metric: &str, side: fn(&mut Gate) -> &mut Option<Threshold>, threshold: Threshold) {
    let mut found = false;
    for gate in gates.iter_mut().filter(|gate| gate.is_for_metric(metric)) {
        if let Some(bound) = side(gate) {
            *bound = threshold;
            found = true;
        }
    }
    if !found {
        let mut gate = Gate::for_metric(metric);
        *side(&mut gate) = Some(threshold);
        gates.push(gate);
    }
}

/// Checks rules before anything is paid: every name in a gate exists, and the baseline can be read.
pub(crate) fn check_rules(rules: GateRules, plan: &Arc<PlanHeader>) -> Result<GateRules, AppError> {
    check(plan, &rules)?;
    if let Some(path) = rules.baseline.as_deref().filter(|_| wants_baseline(&rules)) {
        match SuiteFiles.read(path) {
            Ok(bytes) => drop(read_pinned(path, &bytes, plan)?),
            // Nothing is pinned yet.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            // The gates read golden files.
            Err(error) if error.kind() == ErrorKind::IsADirectory && holds_json(path) => {}
            Err(error) => return Err(FileError::of("reading the baseline", path, error).into()),
        }
    }
    Ok(rules)
}

/// Returns true for a folder with golden files.
fn holds_json(folder: &str) -> bool {
    let is_json = |entry: std::fs::DirEntry| entry.path().extension().is_some_and(|extension| extension == "json");
    std::fs::read_dir(folder).is_ok_and(|entries| entries.flatten().any(is_json))
}

/// The gates that bound a change.
pub(crate) fn change_gates(rules: &GateRules) -> impl Iterator<Item = &Gate> {
    rules.gates.iter().filter(|gate| gate.max_drop.is_some() || gate.max_rise.is_some())
}

fn wants_baseline(rules: &GateRules) -> bool {
    change_gates(rules).any(|gate| matches!(gate.against, None | Some(GateReference::Baseline)))
}

/// Reads a pinned run for a run of this plan.
pub(crate) fn read_pinned(path: &str, bytes: &[u8], plan: &PlanHeader) -> Result<Pinned, AppError> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned());
    let sound = |pinned: Pinned| pinned.check_plan(plan).map(|()| pinned);
    let problem = |problem| AnalyseError::BadBaseline { path: path.to_owned(), problem }.into();
    text.and_then(Pinned::read).and_then(sound).map_err(problem)
}
