//! Explains which results a run would reuse, which it would make, and why.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use karat_engine::{CellReuse, ReuseStatus, explain_reuse};
use karat_suite::Plan;
use karat_types::Moment;

use crate::AppError;
use crate::error::StoredError;
use crate::runs::Runs;
use crate::stored::names;

/// Maximum of cells that are explained for a plan.
const MAX_EXPLAINED: u64 = 10_000;

/// Counts of the reasons for making or reusing results.
#[derive(Debug, Clone, Default)]
pub struct ReuseReasons {
    /// Number of explained cells: the first of the plan.
    pub cells: u64,
    /// Cells whose output must be made, by reason.
    pub outputs: BTreeMap<String, u64>,
    /// Judgments that must be made, by reason.
    pub judgments: BTreeMap<String, u64>,
    /// Time of the oldest reused result.
    pub oldest_reused: Option<Moment>,
}

impl ReuseReasons {
    fn add(&mut self, cell: &CellReuse) {
        self.cells += 1;
        count(&mut self.outputs, &cell.standing);
        let made = |standing: &ReuseStatus| match standing {
            ReuseStatus::Reused { made_at, .. } => Some(*made_at),
            _ => None,
        };
        let mut oldest = made(&cell.standing);
        for judgment in &cell.judgments {
            count(&mut self.judgments, &judgment.standing);
            oldest = oldest.into_iter().chain(made(&judgment.standing)).min();
        }
        self.oldest_reused = self.oldest_reused.into_iter().chain(oldest).min();
    }
}

fn count(counts: &mut BTreeMap<String, u64>, standing: &ReuseStatus) {
    if !matches!(
        standing,
        ReuseStatus::Reused { .. } | ReuseStatus::Recorded | ReuseStatus::Skipped | ReuseStatus::Fails { .. }
    ) {
        *counts.entry(standing.reason()).or_default() += 1;
    }
}

impl Runs<'_> {
    /// Counts why the results of a plan would be made or reused. Makes no API calls.
    pub fn reasons(&self, plan: &Plan) -> Result<ReuseReasons, AppError> {
        let mut reasons = ReuseReasons::default();
        self.explain_reuse(plan, |_, _| true, &mut |cell| {
            reasons.add(&cell);
            if reasons.cells < MAX_EXPLAINED { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(reasons)
    }

    /// The reuse status of one cell: by its number, or by `sample/model/variant[/trial]`.
    pub fn why(&self, plan: &Plan, cell: &str) -> Result<CellReuse, AppError> {
        let number: Option<u64> = cell.parse().ok();
        let row = number.map(|number| plan.header.place(number).0);
        let wanted = |id: &str, at: u64| {
            let of_path = cell.strip_prefix(id).is_some_and(|rest| rest.starts_with('/'));
            of_path || row == Some(at)
        };
        let mut found = None;
        self.explain_reuse(plan, wanted, &mut |outlook| {
            let path = outlook.path();
            let path = path.rsplit_once('/').map_or(path.as_str(), |(path, _)| path);
            let is_it = names::is_named(cell, outlook.cell, path, outlook.trial);
            found = is_it.then_some(outlook);
            if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        found.ok_or_else(|| {
            StoredError::NoPlannedCell { suite: plan.header.suite.clone(), cell: cell.to_owned() }.into()
        })
    }

    fn explain_reuse(
        &self,
        plan: &Plan,
        wanted: impl Fn(&str, u64) -> bool,
        each: &mut dyn FnMut(CellReuse) -> ControlFlow<()>,
    ) -> Result<(), AppError> {
        let store = self.app.store_to_read()?;
        let oldest = plan.header.run.cache.oldest(self.app.clock.now());
        Ok(explain_reuse(plan, &store, oldest, wanted, each)?)
    }
}
