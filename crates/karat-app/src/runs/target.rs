//! The run that is started or resumed.

use karat_engine::PlanPart;
use karat_store::{Account, Store, StoreError, StoredRun};
use karat_types::RunHeader;

use crate::AppError;
use crate::error::RunError;

/// The run that results go to.
#[derive(Default)]
pub(crate) struct RunTarget {
    pub id: String,
    /// The header of its start, if an earlier process started it.
    pub header: Option<RunHeader>,
    pub notice: Option<String>,
    /// True if failed cells are re-run.
    pub retry: bool,
    /// The stored run whose outputs are scored; `None` if outputs are made.
    pub outputs: Option<StoredRun>,
}

impl RunTarget {
    /// The part of the plan that is made now.
    pub fn plan_part(&self) -> PlanPart {
        if self.header.is_some() { self.remaining_part() } else { PlanPart::Whole }
    }

    /// The part of the plan that is left once the run has started.
    pub fn remaining_part(&self) -> PlanPart {
        if self.retry { PlanPart::Retry } else { PlanPart::Rest }
    }

    /// The command that resumes it.
    pub fn command(&self) -> &'static str {
        if self.retry { "retry" } else { "resume" }
    }

    /// The error for a failure of the store during the run: after a temporary one, the run can be resumed.
    pub fn store_error(&self, error: StoreError) -> AppError {
        let passes = matches!(
            error,
            StoreError::Full { .. }
                | StoreError::Refused { .. }
                | StoreError::Busy { .. }
                | StoreError::Away { .. }
                | StoreError::ReadOnly { .. }
        );
        match passes {
            true => RunError::StoreFailed { source: error, command: self.command(), run: self.id.clone() }.into(),
            false => error.into(),
        }
    }

    /// The account of its earlier parts.
    pub fn account(&self, store: &Store) -> Result<Account, AppError> {
        Ok(if self.retry { store.account_for_retry(&self.id)? } else { store.account(&self.id)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CL-04: the error of a full store names the command that resumes the run.
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
