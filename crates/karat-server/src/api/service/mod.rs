//! The service over HTTP (SV-02): schedules and their due runs, incidents, messages to send, and tasks for people.
//!
//! - `schedules`: lists, runs, pauses and resumes schedules of the suites that the server follows.
//! - `incidents`: lists incidents and ends their reminders. `outbox`: lists messages and sends them again.
//! - `annotations`: tasks for people; what a person sees says nothing of where items come from.
//! - `suspects`: a task for people of the items of a test set that may be wrong.
//! - `listing`: pages of both, which stay while rows are added.

mod annotations;
mod incidents;
mod listing;
mod outbox;
mod schedules;
mod suspects;

use axum::routing::{get, post};

use crate::api::Routes;
use crate::problem::Problem;
use crate::settings::Purpose;
use crate::state::State;

/// The routes of the service.
pub(super) fn routes() -> Routes {
    let mut routes = annotations::routes();
    routes.extend([
        ("/schedules", get(schedules::list)),
        ("/schedules/{suite}/{id}/run", post(schedules::run)),
        ("/schedules/{suite}/{id}/pause", post(schedules::pause)),
        ("/schedules/{suite}/{id}/resume", post(schedules::resume)),
        ("/incidents", get(incidents::list)),
        ("/incidents/{id}/ack", post(incidents::ack)),
        ("/incidents/{id}/close", post(incidents::close)),
        ("/outbox", get(outbox::list)),
        ("/outbox/{id}/retry", post(outbox::retry)),
        ("/suites/{suite}/suspects", post(suspects::create)),
    ]);
    routes
}

/// Refuses changes on a server that only shows.
fn check_may_change(state: &State) -> Result<(), Problem> {
    match state.settings().purpose {
        Purpose::Serve { .. } => Ok(()),
        Purpose::View { .. } => Err(Problem::forbidden("`karat view` changes nothing").with_hint("`karat serve` does")),
    }
}
