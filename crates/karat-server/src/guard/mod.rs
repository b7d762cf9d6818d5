//! The rules of who may ask (DB-51, SV-09). `admission` holds every request to them.
//!
//! - `host`: the name under which the server is asked. Without the check, a foreign name that resolves to this machine
//!   (DNS rebinding) would make a foreign page part of this site.
//! - `origin`: the site that asks. A page of another site may link here, and may do nothing else.
//! - `session`: keeps a browser signed in; `attempts`: limits wrong tokens.
//! - `limits`: counts requests; `keys`: those under way that may be repeated; `answers`, `reading`: what callers share;
//!   `streams`: the thread that streams share.
//!
//! Being on the loopback address keeps nobody out: every page in the user's browser can send requests to it.

pub(crate) mod answers;
mod attempts;
mod host;
pub(crate) mod keys;
pub(crate) mod limits;
pub(crate) mod origin;
pub(crate) mod reading;
mod session;
pub(crate) mod streams;

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::guard::attempts::Attempts;
use crate::guard::host::AllowedHosts;
use crate::guard::session::Sessions;

/// The rules of a server.
pub(crate) struct Guard {
    pub hosts: AllowedHosts,
    pub sessions: Sessions,
    pub attempts: Attempts,
    /// The key with which `karat view` opens its own dashboard, if the store has tokens.
    pub own_key: Option<String>,
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
