//! Finds systems whose results in two runs are the same cached results.
//!
//! The decision looks at content keys and at what was called, never at whether scores happen to agree: leaving systems
//! out because they scored the same would bias the tests of the others.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use karat_types::{CellRow, CellStatus, Key, KeyBuilder, PlanHeader, RunRows};

use crate::AnalysisError;
use crate::findings::Findings;

/// A summary of all results of one system, 40 bytes whatever the number of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SystemResults {
    /// Number of cells.
    cells: u64,
    /// Cells with a call that this run made, and cells that failed.
    fresh: u64,
    /// Sum of the digests of the cells, in which their order has no part.
    digest: [u64; 2],
}

impl SystemResults {
    /// Returns true if both are the same results, and one side made no call for any of them: it reused the other's, or
    /// needed no calls.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        self.cells > 0
            && self.cells == other.cells
            && self.digest == other.digest
            && (self.fresh == 0 || other.fresh == 0)
    }

    fn add(&mut self, cell: Key, is_fresh: bool) {
        self.cells += 1;
        self.fresh += u64::from(is_fresh);
        let halves = cell.0.chunks_exact(8).filter_map(|half| half.try_into().ok()).map(u64::from_le_bytes);
        for (sum, half) in self.digest.iter_mut().zip(halves) {
            *sum = sum.wrapping_add(half);
        }
    }
}

/// The results of the systems of two runs, in plan order, on the samples and metrics that both runs have. Samples in
/// `changed` are left out.
///
/// # Errors
/// Rows that cannot be read.
pub fn results_of_both(
    before: (&dyn RunRows, &Findings),
    after: (&dyn RunRows, &Findings),
    changed: &BTreeSet<String>,
) -> Result<[Vec<SystemResults>; 2], AnalysisError> {
    let ids = |findings: &Findings| -> BTreeSet<String> {
        (0..findings.samples()).map(|at| findings.sample_id(at).to_owned()).collect()
    };
    let (own, others) = (ids(before.1), ids(after.1));
    let is_paired = |id: &str| own.contains(id) && others.contains(id) && !changed.contains(id);
    let is_shared = |name: &str| before.1.plan.metric(name).is_some() && after.1.plan.metric(name).is_some();
    let results_of =
        |(rows, findings): (&dyn RunRows, &Findings)| results(rows, &findings.plan, &is_paired, &is_shared);
    Ok([results_of(before)?, results_of(after)?])
}

fn results(
    rows: &dyn RunRows,
    plan: &PlanHeader,
    is_paired: &dyn Fn(&str) -> bool,
    is_shared: &dyn Fn(&str) -> bool,
) -> Result<Vec<SystemResults>, AnalysisError> {
    let shared: Vec<bool> = plan.metrics.iter().map(|it| is_shared(&it.name)).collect();
    let mut systems = vec![SystemResults::default(); plan.systems.len()];
    let read = rows.for_each(&mut |row| {
        if is_paired(&row.sample.id)
            && let Some(system) = systems.get_mut(row.system)
        {
            system.add(digest(plan, &shared, &row), is_fresh(&row));
        }
        ControlFlow::Continue(())
    });
    read.map_err(|source| AnalysisError::Rows { run: rows.header().id.clone(), source })?;
    Ok(systems)
}

/// Returns true if this run called something for the cell or its judgments, or if either failed: failures are never
/// reused.
fn is_fresh(row: &CellRow<'_>) -> bool {
    let cell = row.cell;
    let judged = row.judgments.iter().any(|it| it.error.is_some() || !it.reused && !it.calls.is_empty());
    cell.status == CellStatus::Error || !cell.reused && !cell.calls.is_empty() || judged
}

/// The digest of what made a cell and its judgments, and of the scores of shared metrics.
fn digest(plan: &PlanHeader, shared: &[bool], row: &CellRow<'_>) -> Key {
    let cell = row.cell;
    let mut key = KeyBuilder::new("karat/compared-cell/1")
        .text(&row.sample.id)
        .number(u64::from(row.trial))
        .key(cell.key)
        .json(&cell.status)
        .key(cell.output_hash);
    let is_shared = |metric: u16| shared.get(usize::from(metric)).copied().unwrap_or(false);
    let name = |metric: u16| plan.metrics.get(usize::from(metric)).map_or("", |it| it.name.as_str());
    for (metric, score) in cell.scores.iter().filter(|(metric, _)| is_shared(*metric)) {
        key = key.text(name(*metric)).json(score);
    }
    for judgment in row.judgments {
        let mut scores = judgment.scores.iter().filter(|(metric, _)| is_shared(*metric)).peekable();
        if scores.peek().is_none() {
            continue;
        }
        key = key.key(judgment.key);
        for (metric, score) in scores {
            key = key.text(name(*metric)).json(score);
        }
    }
    key.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{CompareOptions, ComparisonVerdict, RunComparison, Side, compare};
    use crate::testing::{MemoryRun, Sketch};
    use crate::{Options, analyse};

    /// Two models and two variants on 30 samples. The first run calls for every cell.
    fn first_run() -> MemoryRun {
        let mut run = Sketch::new(2, 2, 30).fill(5.0).run();
        run.cells.iter_mut().for_each(|it| it.cell.calls = vec![it.cell.key]);
        run
    }

    /// A later run in which one system has other content and scores, and the rest is reused.
    fn second_run(reused: bool) -> MemoryRun {
        let mut run = first_run();
        for it in &mut run.cells {
            it.cell.reused = reused;
            if it.system == 3 {
                it.cell.reused = false;
                it.cell.key = Key::of("changed", &it.cell.ordinal.to_le_bytes());
                let better = if it.sample % 6 == 0 { 4.0 } else { 6.0 + (it.sample % 3) as f64 };
                it.cell.scores = vec![(0, karat_types::Score::value(better))];
            }
        }
        run
    }

    fn compared(before: &MemoryRun, after: &MemoryRun) -> RunComparison {
        let (old, new) = (analyse(before, &Options::default()).unwrap(), analyse(after, &Options::default()).unwrap());
        let results = results_of_both((before, &old), (after, &new), &BTreeSet::new()).unwrap();
        let options = CompareOptions { results: Some(results), ..CompareOptions::default() };
        let side = |label, findings| Side::of(label, findings, None, None).unwrap();
        compare(&side("before", &old), &side("after", &new), &options).unwrap()
    }

    /// C5: systems whose cached results both runs share do not dilute the change of the others, and are named.
    #[test]
    fn reused_systems_are_left_out() {
        let found = compared(&first_run(), &second_run(true));
        assert_eq!(found.unchanged, ["model-a/variant-0", "model-a/variant-1", "model-b/variant-0"]);
        assert_eq!(found.candidate.systems, ["model-b/variant-1"]);
        let metric = &found.metrics[0];
        // 25 samples gain 1, 2 or 3 and five lose 1; over four systems it would be a quarter of that.
        assert!(metric.difference.value() > 1.2, "{}", metric.difference.value());
        assert_eq!((metric.difference.n(), metric.verdict), (30, ComparisonVerdict::Better));
        assert!(found.systems.is_empty(), "one system is the average itself");
    }

    /// C5: equal scores that were measured again are evidence, so those systems stay in.
    #[test]
    fn systems_that_were_measured_again_are_compared() {
        let found = compared(&first_run(), &second_run(false));
        assert!(found.unchanged.is_empty(), "{:?}", found.unchanged);
        assert_eq!(found.systems.len(), 4);
    }

    /// C5: if everything was reused, everything is compared.
    #[test]
    fn a_comparison_of_reused_results_only_is_still_made() {
        let mut again = first_run();
        again.cells.iter_mut().for_each(|it| it.cell.reused = true);
        let found = compared(&first_run(), &again);
        assert_eq!((found.unchanged.len(), found.metrics[0].difference.n()), (4, 30));
        assert!(found.all_unchanged());
    }

    /// C5: a failed cell, a changed score and a missing cell make a system a changed one.
    #[test]
    fn any_other_result_is_a_change() {
        let mut again = first_run();
        again.cells.iter_mut().for_each(|it| it.cell.reused = true);
        let mut failed = again.clone();
        failed.cells[0].cell.status = CellStatus::Error;
        let mut scored = again.clone();
        scored.cells[1].cell.scores = vec![(0, karat_types::Score::value(4.0))];
        let mut short = again.clone();
        short.cells.remove(2);
        for (run, system) in [(failed, 0), (scored, 1), (short, 2)] {
            let found = compared(&first_run(), &run);
            assert_eq!(found.unchanged.len(), 3, "{system}");
            assert_eq!(found.candidate.systems.len(), 1, "{system}");
        }
    }
}
