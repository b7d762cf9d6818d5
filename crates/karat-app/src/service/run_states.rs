//! The states of runs with what the queue knows of them: the list of the HTTP API.

use karat_store::{ListPlace, Store, StoreError};

use crate::AppError;
use crate::error::StoredError;
use crate::service::Service;
use crate::views::follow::run_state::{RunState, trigger};

/// Selects runs.
#[derive(Debug, Clone, Default)]
pub struct RunFilter {
    /// Runs of this suite.
    pub suite: Option<String>,
    /// Runs with this trigger.
    pub trigger: Option<String>,
    /// Runs that started on this day or later: a date, or a beginning of an RFC 3339 time.
    pub since: Option<String>,
}

/// Runs with their places in the list, and the place behind which more follow.
pub type RunStatesPage = (Vec<(RunState, ListPlace)>, Option<ListPlace>);

impl Service<'_> {
    /// The state of a run.
    ///
    /// # Errors
    /// There is no such run, or its rows cannot be read.
    pub fn run_state(&self, run: &str) -> Result<RunState, AppError> {
        let store = self.app.existing_store()?;
        match self.stored_or_queued(&store, run)? {
            Ok(id) => {
                let state = self.app.views().stored_state(&store, &id)?;
                self.with_queue(&store, state)
            }
            Err(queued) => Ok(queued),
        }
    }
    /// The states of the runs among the `limit` behind a place that a filter selects, newest first; without a place, among
    /// the newest. Returns the place behind each, and that of the last run that was looked at, if there are earlier ones.
    ///
    /// # Errors
    /// The filter has no date, or the store cannot be read.
    pub fn run_states(
        &self,
        filter: &RunFilter,
        place: Option<ListPlace>,
        limit: usize,
    ) -> Result<RunStatesPage, AppError> {
        if let Some(since) = filter.since.as_deref().filter(|since| !is_time(since)) {
            return Err(StoredError::BadDate { flag: "since".to_owned(), date: since.to_owned() }.into());
        }
        if !self.app.store.exists() {
            self.app.store.check_orphans()?;
            return Ok((Vec::new(), None));
        }
        let store = self.app.store_to_read()?;
        let mut runs = store.runs_behind(place, limit.saturating_add(1))?;
        let has_more = runs.len() > limit;
        runs.truncate(limit);
        let last = runs.last().filter(|_| has_more).map(|(_, place)| *place);
        let mut states = Vec::new();
        for (run, place) in runs {
            if self.may_be_selected(&store, filter, &run)? {
                let state = self.run_state(&run)?;
                if filter.selects(&state) {
                    states.push((state, place));
                }
            }
        }
        Ok((states, last))
    }

    /// Returns `false` if the header of a run is enough to leave it out: a state costs a pass over its rows.
    fn may_be_selected(&self, store: &Store, filter: &RunFilter, run: &str) -> Result<bool, AppError> {
        match store.run(run) {
            Ok(header) => Ok(is(&filter.suite, &header.plan.suite) && is(&filter.trigger, &trigger(&header))),
            Err(StoreError::NoSuchRun { .. }) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}

impl RunFilter {
    fn selects(&self, state: &RunState) -> bool {
        let is_late = self.since.as_ref().is_none_or(|since| state.created_at >= *since);
        is_late && is(&self.suite, &state.suite) && is(&self.trigger, &state.trigger)
    }
}

/// Returns whether a value is the one that is wanted, if one is.
fn is(wanted: &Option<String>, value: &str) -> bool {
    wanted.as_ref().is_none_or(|wanted| wanted == value)
}

/// Returns whether a text begins with a date; RFC 3339 times compare as texts.
fn is_time(text: &str) -> bool {
    text.get(..10).is_some_and(|date| date.parse::<jiff::civil::Date>().is_ok())
}
