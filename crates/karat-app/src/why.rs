//! What a run would take over, what it would make, and why.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use karat_engine::{CellOutlook, Standing, outlook};
use karat_suite::Plan;
use karat_types::Moment;

use crate::error::StoredError;
use crate::{App, AppError, address};

/// Cells whose reasons are looked up for a plan.
const EXPLAINED: u64 = 10_000;

/// Why the results of a plan are made or taken over, counted.
#[derive(Debug, Clone, Default)]
pub struct Reasons {
    /// Cells that were looked at: the first of the plan.
    pub cells: u64,
    /// Cells whose output has to be made, by reason.
    pub outputs: BTreeMap<String, u64>,
    /// Judgments that have to be made, by reason.
    pub judgments: BTreeMap<String, u64>,
    /// When the oldest result that is taken over was made.
    pub oldest_reused: Option<Moment>,
}

impl Reasons {
    fn add(&mut self, cell: &CellOutlook) {
        self.cells += 1;
        count(&mut self.outputs, &cell.standing);
        let made = |standing: &Standing| match standing {
            Standing::Reused { made_at, .. } => Some(*made_at),
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

fn count(counts: &mut BTreeMap<String, u64>, standing: &Standing) {
    if !matches!(standing, Standing::Reused { .. } | Standing::Recorded | Standing::Skipped | Standing::Fails { .. }) {
        *counts.entry(standing.reason()).or_default() += 1;
    }
}

impl App {
    /// Why the results of a plan would be made or taken over. Makes no call.
    pub fn reasons(&self, plan: &Plan) -> Result<Reasons, AppError> {
        let mut reasons = Reasons::default();
        self.outlook(plan, |_, _| true, &mut |cell| {
            reasons.add(&cell);
            if reasons.cells < EXPLAINED { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(reasons)
    }

    /// How one cell of a plan stands: by its number, or by `sample/model/variant[/trial]`.
    pub fn why(&self, plan: &Plan, cell: &str) -> Result<CellOutlook, AppError> {
        let number: Option<u64> = cell.parse().ok();
        let row = number.map(|number| plan.header.place(number).0);
        let wanted = |id: &str, at: u64| {
            let of_path = cell.strip_prefix(id).is_some_and(|rest| rest.starts_with('/'));
            of_path || row == Some(at)
        };
        let mut found = None;
        self.outlook(plan, wanted, &mut |outlook| {
            let path = outlook.path();
            let path = path.rsplit_once('/').map_or(path.as_str(), |(path, _)| path);
            let is_it = address::is_named(cell, outlook.cell, path, outlook.trial);
            found = is_it.then_some(outlook);
            if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        found.ok_or_else(|| {
            StoredError::NoPlannedCell { suite: plan.header.suite.clone(), cell: cell.to_owned() }.into()
        })
    }

    fn outlook(
        &self,
        plan: &Plan,
        wanted: impl Fn(&str, u64) -> bool,
        each: &mut dyn FnMut(CellOutlook) -> ControlFlow<()>,
    ) -> Result<(), AppError> {
        let store = self.store_to_read()?;
        let oldest = plan.header.run.cache.oldest(self.clock.now());
        Ok(outlook(plan, &store, oldest, wanted, each)?)
    }
}
