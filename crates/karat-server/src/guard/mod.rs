//! The rules of who may ask. `admission` holds every request to them.
//!
//! - `host`: the name under which the server is asked. Without the check, a foreign name that resolves to this machine
//!   (DNS rebinding) would make a foreign page part of this site.
//! - `origin`: the site that asks. A page of another site may link here, and may do nothing else.
//! - `peer`: the user of this machine who asks a server without tokens.
//! - `session`: keeps a browser signed in; `attempts`: limits wrong tokens.
//! - `limits`: counts requests; `keys`: those under way that may be repeated; `answers`, `reading`: what callers share;
//!   `streams`: the thread that streams share.
//!
//! Being on the loopback address keeps nobody out: every page in the user's browser can send requests to it, and so can every
//! user of the machine.

pub(crate) mod answers;
mod attempts;
mod host;
pub(crate) mod keys;
pub(crate) mod limits;
pub(crate) mod origin;
pub(crate) mod peer;
pub(crate) mod reading;
mod session;
pub(crate) mod streams;

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use karat_app::Role;

use crate::guard::attempts::Attempts;
use crate::guard::host::AllowedHosts;
use crate::guard::session::Sessions;
use crate::settings::{Loopback, Purpose, Settings};

/// The address to which a browser posts to end its session.
pub(crate) const SIGN_OUT: &str = "/session/end";

/// The rules of a server.
pub(crate) struct Guard {
    pub hosts: AllowedHosts,
    pub sessions: Sessions,
    pub attempts: Attempts,
    /// The users who may ask while there are no tokens.
    pub without_tokens: WithoutTokens,
    /// The key in the address that is printed, where one is needed.
    pub own_key: Option<String>,
}

/// The users who may ask while there are no tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WithoutTokens {
    /// The user who started the server, and root.
    SameUser,
    /// A visitor who has the key of the printed address: the system does not tell who made a connection.
    OwnKey,
    /// Every user of this machine.
    Everyone,
}

impl WithoutTokens {
    fn of(loopback: Loopback) -> Self {
        match loopback {
            Loopback::Open => Self::Everyone,
            Loopback::SameUser if peer::is_told() => Self::SameUser,
            Loopback::SameUser | Loopback::OwnKey => Self::OwnKey,
        }
    }
}

impl Guard {
    /// The rules of a server.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn new(settings: &Settings, has_tokens: bool) -> io::Result<Self> {
        let without_tokens = WithoutTokens::of(settings.loopback);
        // `karat view` opens its dashboard although the store has tokens.
        let is_view = matches!(settings.purpose, Purpose::View { .. });
        let needs_key = if has_tokens { is_view } else { without_tokens == WithoutTokens::OwnKey };
        let own_key = needs_key.then(random_key).transpose()?;
        let hosts = AllowedHosts::new(&settings.hosts);
        let (sessions, attempts) = (Sessions::new()?, Attempts::default());
        Ok(Self { hosts, sessions, attempts, without_tokens, own_key })
    }

    /// The role of the key in the printed address: all while there are no tokens, and then to read what `karat view` shows.
    pub fn own_role(&self, has_tokens: bool, purpose: Purpose) -> Option<Role> {
        match purpose {
            _ if !has_tokens => Some(Role::Admin),
            Purpose::View { .. } => Some(Role::Read),
            Purpose::Serve { .. } => None,
        }
    }

    /// Adds the key to an address, where one is needed.
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
