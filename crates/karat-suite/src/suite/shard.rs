//! A part of a plan, which runs apart: its rows and its share of the suite's limits.

use std::sync::Arc;

use karat_types::{ModelSpec, PlanHeader, RunSpec, Shard, ShardRows};

use crate::Plan;
use crate::dataset::DatasetError;
use crate::overrides::Overrides;

impl Plan {
    /// The part of this plan that a shard is. Its header stays that of the whole. Reads all rows once, to count its own.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn of_shard(self, shard: Shard) -> Result<Self, DatasetError> {
        let part = Self { shard: Some(ShardRows { shard, rows: 0 }), ..self };
        let mut rows = 0;
        for row in part.rows() {
            match row {
                Err(error) if error.row.is_none() => return Err(error),
                Ok(_) | Err(_) => rows += 1,
            }
        }
        Ok(Self { shard: Some(ShardRows { shard, rows }), ..part })
    }

    /// The plan that this one is a part of; itself if it is whole.
    #[must_use]
    pub fn whole(&self) -> Self {
        Self { shard: None, ..self.clone() }
    }

    /// The part of the rows that is run; `None` = all.
    pub fn shard(&self) -> Option<ShardRows> {
        self.shard
    }

    /// Number of rows that are run.
    pub fn row_count(&self) -> u64 {
        self.shard.map_or(self.header.dataset.rows, |part| part.rows)
    }

    /// Number of cells that are run, before conditions that only a row can decide.
    pub fn cells(&self) -> u64 {
        self.row_count() * self.header.cells_per_row()
    }

    /// The plan with a shard's share of the limits that the suite sets for the whole. Limits of the command line are for
    /// each process, so they stay. A whole plan stays as it is.
    #[must_use]
    pub fn with_limits_shared(mut self, overrides: &Overrides) -> Self {
        if let Some(ShardRows { shard, .. }) = self.shard {
            share_limits(Arc::make_mut(&mut self.header), shard, overrides, self.states_concurrency);
        }
        self
    }
}

/// Divides the limits of a run that the command line does not set.
pub fn share_run_limits(run: &mut RunSpec, shard: Shard, overrides: &Overrides) {
    if overrides.budget_usd.is_none() {
        // Also the default ceiling: it is what the whole run may cost without being asked for more.
        run.budget_usd = run.budget_usd.map(|usd| usd / f64::from(shard.count()));
    }
    if overrides.max_calls.is_none() {
        run.max_calls = run.max_calls.map(|calls| shard.share(calls));
    }
}

fn share_limits(header: &mut PlanHeader, shard: Shard, overrides: &Overrides, states_concurrency: bool) {
    let share = |limit: u32| u32::try_from(shard.share(limit.into())).unwrap_or(limit);
    share_run_limits(&mut header.run, shard, overrides);
    // The default is not a limit of an account, so each process has it whole.
    if states_concurrency && overrides.max_concurrency.is_none() {
        header.run.max_concurrency = share(header.run.max_concurrency);
    }
    let models = header.models.iter_mut().chain(&mut header.judges).chain(&mut header.embedders);
    models.for_each(|ModelSpec { limits, .. }| {
        limits.rpm = limits.rpm.map(share);
        limits.tpm = limits.tpm.map(|tokens| shard.share(tokens));
        limits.concurrency = limits.concurrency.map(share);
    });
}
