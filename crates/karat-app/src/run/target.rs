//! The run that is begun or gone on with.

use karat_engine::PlanPart;
use karat_store::{Account, Store, StoreError, StoredRun};
use karat_types::RunHeader;

use crate::AppError;
use crate::error::RunError;

/// The run that results go to.
#[derive(Default)]
pub(crate) struct RunTarget {
    pub id: String,
    /// How it was begun, where an earlier process did.
    pub header: Option<RunHeader>,
    pub notice: Option<String>,
    /// Whether what failed is made again.
    pub retry: bool,
    /// The stored run whose outputs are scored, instead of making any.
    pub outputs: Option<StoredRun>,
}

impl RunTarget {
    /// Which part of the plan is made now.
    pub fn plan_part(&self) -> PlanPart {
        if self.header.is_some() { self.remaining_part() } else { PlanPart::Whole }
    }

    /// Which part of the plan is left once the run has begun.
    pub fn remaining_part(&self) -> PlanPart {
        if self.retry { PlanPart::Retry } else { PlanPart::Rest }
    }

    /// The command that goes on with it.
    pub fn command(&self) -> &'static str {
        if self.retry { "retry" } else { "resume" }
    }

    /// A failure of the store while it is made: what may pass leaves a run that can be gone on with.
    pub fn store_error(&self, error: StoreError) -> AppError {
        let passes = matches!(error, StoreError::Full { .. } | StoreError::Busy { .. } | StoreError::ReadOnly { .. });
        match passes {
            true => RunError::StoreFailed { source: error, command: self.command(), run: self.id.clone() }.into(),
            false => error.into(),
        }
    }

    /// What its earlier parts have spent and paid for.
    pub fn account(&self, store: &Store) -> Result<Account, AppError> {
        Ok(if self.retry { store.account_of_retry(&self.id)? } else { store.account(&self.id)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CL-04: a store that was full names the command that goes on with what was begun.
    #[test]
    fn a_full_store_names_the_command_to_go_on() {
        for (retry, next) in [(false, "`karat resume a`"), (true, "`karat retry a`")] {
            let found = RunTarget { id: "a".to_owned(), retry, ..RunTarget::default() };
            let full = StoreError::Full { path: "karat.db".into(), why: "full".to_owned() };
            let hint = found.store_error(full).hint().unwrap();
            assert!(hint.starts_with(next), "{hint}");
        }
    }
}
