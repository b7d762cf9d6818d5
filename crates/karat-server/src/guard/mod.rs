//! Who may ask: every request passes here before it reaches a page or the API (DB-51, SV-09).
//!
//! - `host`: the name under which the server is asked. Without the check, a foreign name that resolves to this machine
//!   (DNS rebinding) would make a foreign page part of this site.
//! - `origin`: the site that asks. A page of another site may link here, and may do nothing else.
//!
//! Being on the loopback address protects from nobody: every page in the user's browser can send requests to it.

mod host;
mod origin;

use std::io;

use axum::extract::{Request, State as Extracted};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::guard::host::AllowedHosts;
use crate::state::State;

/// The rules of a server.
pub(crate) struct Guard {
    hosts: AllowedHosts,
}

impl Guard {
    /// The rules of a server that is asked under these names, beside those of this machine.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn new(hosts: &[String]) -> io::Result<Self> {
        Ok(Self { hosts: AllowedHosts::new(hosts) })
    }
}

/// Passes a request on, or refuses it.
pub(crate) async fn check(Extracted(state): Extracted<State>, request: Request, next: Next) -> Response {
    let guard = state.guard();
    let checked = guard.hosts.check(&request).and_then(|host| origin::check(&request, &host));
    match checked {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}
