//! The service over HTTP: schedules and their due runs, incidents, messages to send, and tasks for people.
//!
//! - `schedules`: lists, runs, pauses and resumes schedules of the suites that the server follows.
//! - `incidents`: lists incidents and ends their reminders. `outbox`: lists messages and sends them again.
//! - `annotations`: tasks for people; what a person sees says nothing of where items come from.
//! - `suspects`: a task for people of the items of a test set that may be wrong.

pub(super) mod annotations;
pub(super) mod incidents;
pub(super) mod outbox;
pub(super) mod schedules;
pub(super) mod suspects;

use crate::problem::Problem;
use crate::settings::Purpose;
use crate::state::State;

/// Refuses changes on a server that only shows.
fn check_may_change(state: &State) -> Result<(), Problem> {
    match state.settings().purpose {
        Purpose::Serve { .. } => Ok(()),
        Purpose::View { .. } => Err(Problem::forbidden("`karat view` changes nothing").with_hint("`karat serve` does")),
    }
}
