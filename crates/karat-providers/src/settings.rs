//! How models are reached.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use karat_text::redact::Redactor;
use karat_types::Clock;
use secrecy::SecretString;

use crate::capture::SHORTEST_SECRET;
use crate::hosts;
use crate::retry::Backoff;

/// Looks a variable of the environment up.
type Lookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// How models are reached.
#[derive(Clone)]
pub struct Settings {
    /// Looks a variable of the environment up: keys, API roots, `HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`.
    pub secret: Lookup,
    /// Bytes that the body of an answer may have.
    pub max_response: usize,
    /// Bytes that large answers, above 64 KiB, may take together until they are on disk.
    pub max_in_memory: usize,
    /// Idle connections that are kept for each server: as many as calls may be in flight, or each wave of answers closes
    /// connections that the next calls have to make anew.
    pub max_connections: usize,
    /// How long a connection may take to be made, TLS and the way through a proxy included. Nothing was sent when it runs
    /// out, so nothing can have been billed; the attempt's own timeout, where it is shorter, cannot tell.
    pub connect_timeout: Duration,
    /// How waits between attempts grow.
    pub backoff: Backoff,
    /// What time it is, for providers that name a moment to come back at and not the present one.
    pub clock: Option<Arc<dyn Clock>>,
    /// This program, which a command named `karat` stands for.
    pub own_program: Option<PathBuf>,
    /// Variables that hold secrets beside those of the known providers: the keys of a suite's own models, whether they
    /// are called or not. A program finds them in its environment and may print them.
    pub key_variables: Vec<String>,
    /// What a suite wants blacked out in what messages quote; what is kept of calls is not changed by it.
    pub redactor: Option<Redactor>,
}

impl Settings {
    /// The defaults, with this environment: 8 MiB an answer, 64 MiB together, 256 connections, 15 s for a connection
    /// to be made, waits from half a second to a minute.
    pub fn new(secret: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self {
            secret: Arc::new(secret),
            max_response: 8 * 1024 * 1024,
            max_in_memory: 64 * 1024 * 1024,
            max_connections: 256,
            connect_timeout: Duration::from_secs(15),
            backoff: Backoff::default(),
            clock: None,
            own_program: None,
            key_variables: Vec::new(),
            redactor: None,
        }
    }

    /// The value of a variable; one that is empty or blank is not set, and the line break at the end of a value that
    /// was read from a file is no part of it.
    pub(crate) fn lookup(&self, name: &str) -> Option<String> {
        (self.secret)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    /// Why the value of a variable is kept where it is repeated, if it is: it is so short that it may be a mere word.
    pub fn weakness(&self, name: &str) -> Option<String> {
        let is_short = self.lookup(name)?.len() < SHORTEST_SECRET;
        is_short.then(|| {
            format!(
                "{name} has fewer than {SHORTEST_SECRET} characters: it counts as a placeholder, and is not taken out of what is kept"
            )
        })
    }

    /// The values of all variables that are known to hold secrets.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = SecretString> {
        let own = self.key_variables.iter().map(|name| self.lookup(name));
        hosts::key_variables().map(|name| self.lookup(name)).chain(own).flatten().map(SecretString::from)
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("max_response", &self.max_response)
            .field("max_in_memory", &self.max_in_memory)
            .field("max_connections", &self.max_connections)
            .field("backoff", &self.backoff)
            .finish_non_exhaustive()
    }
}
