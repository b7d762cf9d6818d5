//! The run that is begun or gone on with.

use karat_engine::Part;
use karat_store::{Account, Store, StoredRun};
use karat_types::RunHeader;

use crate::AppError;

/// The run that results go to.
#[derive(Default)]
pub(crate) struct Found {
    pub id: String,
    /// How it was begun, where an earlier process did.
    pub header: Option<RunHeader>,
    pub notice: Option<String>,
    /// Whether what failed is made again.
    pub retry: bool,
    /// The stored run whose outputs are scored, instead of making any.
    pub outputs: Option<StoredRun>,
}

impl Found {
    /// Which part of the plan is made now.
    pub fn part(&self) -> Part {
        if self.header.is_some() { self.part_left() } else { Part::Whole }
    }

    /// Which part of the plan is left once the run has begun.
    pub fn part_left(&self) -> Part {
        if self.retry { Part::Retry } else { Part::Rest }
    }

    /// What its earlier parts have spent and paid for.
    pub fn account(&self, store: &Store) -> Result<Account, AppError> {
        Ok(if self.retry { store.account_of_retry(&self.id)? } else { store.account(&self.id)? })
    }
}
