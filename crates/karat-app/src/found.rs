//! The run that is begun or gone on with.

use karat_engine::Part;
use karat_store::{Account, Store, StoreError, StoredRun};
use karat_types::RunHeader;

use crate::AppError;
use crate::error::RunError;

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

    /// The command that goes on with it.
    pub fn command(&self) -> &'static str {
        if self.retry { "retry" } else { "resume" }
    }

    /// A failure of the store while it is made: what may pass leaves a run that can be gone on with.
    pub fn unwritten(&self, error: StoreError) -> AppError {
        let passes = matches!(error, StoreError::Full { .. } | StoreError::Busy { .. } | StoreError::ReadOnly { .. });
        match passes {
            true => RunError::StoreFailed { source: error, command: self.command(), run: self.id.clone() }.into(),
            false => error.into(),
        }
    }

    /// What its earlier parts have spent and paid for.
    pub fn account(&self, store: &Store) -> Result<Account, AppError> {
        Ok(if self.retry { store.account_for_retry(&self.id)? } else { store.account(&self.id)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CL-04: a store that was full names the command that goes on with what was begun.
    #[test]
    fn a_store_that_was_full_says_how_to_go_on() {
        for (retry, next) in [(false, "`karat resume a`"), (true, "`karat retry a`")] {
            let found = Found { id: "a".to_owned(), retry, ..Found::default() };
            let full = StoreError::Full { path: "karat.db".into(), why: "full".to_owned() };
            let hint = found.unwritten(full).hint().unwrap();
            assert!(hint.starts_with(next), "{hint}");
        }
    }
}
