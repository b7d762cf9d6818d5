//! Who may ask: every request passes here before it reaches a page or the API (DB-51, SV-09).
//!
//! - `host`: the name under which the server is asked. Without the check, a foreign name that resolves to this machine
//!   (DNS rebinding) would make a foreign page part of this site.
//! - `origin`: the site that asks. A page of another site may link here, and may do nothing else.
//! - `access`: the token, once there is one; `session` keeps a browser signed in, `attempts` limits wrong tokens.
//!
//! Being on the loopback address keeps nobody out: every page in the user's browser can send requests to it.

mod access;
mod attempts;
mod host;
mod origin;
mod session;

use std::io;

use axum::extract::{Request, State as Extracted};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::request::Parts;

use crate::guard::attempts::Attempts;
use crate::guard::host::AllowedHosts;
use crate::guard::session::Sessions;
use crate::problem::Problem;
use crate::state::State;

/// The rules of a server.
pub(crate) struct Guard {
    hosts: AllowedHosts,
    sessions: Sessions,
    attempts: Attempts,
    /// The key with which `karat view` opens its own dashboard, if the store has tokens.
    own_key: Option<String>,
}

impl Guard {
    /// The rules of a server that is asked under these names, beside those of this machine.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn new(hosts: &[String], needs_own_key: bool) -> io::Result<Self> {
        let own_key = needs_own_key.then(random_key).transpose()?;
        let hosts = AllowedHosts::new(hosts);
        Ok(Self { hosts, sessions: Sessions::new()?, attempts: Attempts::default(), own_key })
    }

    /// Adds the key of `karat view` to an address, where one is needed.
    pub fn with_own_key(&self, path: String) -> String {
        match &self.own_key {
            Some(key) => format!("{path}{}token={key}", if path.contains('?') { '&' } else { '?' }),
            None => path,
        }
    }
}

fn random_key() -> io::Result<String> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(io::Error::other)?;
    Ok(URL_SAFE_NO_PAD.encode(key))
}

/// Passes a request on with what it may do, or refuses it.
pub(crate) async fn check(Extracted(state): Extracted<State>, request: Request, next: Next) -> Response {
    let (mut head, body) = request.into_parts();
    match admit(&state, &head).await {
        Ok(Ok(access)) => {
            head.extensions.insert(access);
            next.run(Request::from_parts(head, body)).await
        }
        Ok(Err(answer)) => answer,
        Err(problem) => problem.into_response(),
    }
}

async fn admit(state: &State, head: &Parts) -> Result<Result<karat_app::Access, Response>, Problem> {
    let host = state.guard().hosts.check(head)?;
    origin::check(head, &host)?;
    access::enter(state, head).await
}
