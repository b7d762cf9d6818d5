//! Settings of all calls: environment, limits of size and time, connections.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use karat_text::redact::Redactor;
use karat_types::Clock;
use secrecy::SecretString;

use crate::answer::secrets::SHORTEST_SECRET;
use crate::attempt::retry::Backoff;
use crate::limiter::LimiterPool;
use crate::process::host_functions::Host;
use crate::registry::hosts;

/// Looks up an environment variable.
type Lookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Settings of all calls.
#[derive(Clone)]
pub struct Settings {
    /// Looks up an environment variable: keys, API roots, `HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`.
    pub secret: Lookup,
    /// The file in which a variable stands, such as `.env`; `None` if the environment itself has it.
    pub file_of: Lookup,
    /// Maximum size of an answer's body, in bytes.
    pub max_response: usize,
    /// Memory for all answers above 64 KiB that are not yet on disk, in bytes.
    pub max_in_memory: usize,
    /// Idle connections kept for each server. With fewer than the calls in flight, each wave of answers would close
    /// connections that the next calls have to open again.
    pub max_connections: usize,
    /// Timeout of a connection, including TLS and the proxy tunnel. Nothing was sent when it expires, so nothing can
    /// have been billed; an attempt timeout that expires earlier cannot tell.
    pub connect_timeout: Duration,
    /// Backoff between attempts.
    pub backoff: Backoff,
    /// Clock for `retry-after` dates in answers without a date of their own.
    pub clock: Option<Arc<dyn Clock>>,
    /// Path of the running program; a command named `karat` runs it.
    pub own_program: Option<PathBuf>,
    /// Additional variables that hold secrets: the keys of a suite's own models, called or not. A program inherits them
    /// and may print them.
    pub key_variables: Vec<String>,
    /// The limiters of the process: runs with the same settings share the rate limits of an account.
    pub limiters: LimiterPool,
    /// The functions of the process that has Karat as a library.
    pub host: Host,
    /// Rules that redact text quoted in messages. Stored calls are not affected.
    pub redactor: Option<Redactor>,
}

impl Settings {
    /// The defaults with this environment: 8 MiB for an answer, 64 MiB for all, 256 idle connections, 15 s to connect,
    /// backoff from half a second to a minute.
    pub fn new(secret: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self {
            secret: Arc::new(secret),
            file_of: Arc::new(|_| None),
            max_response: 8 * 1024 * 1024,
            max_in_memory: 64 * 1024 * 1024,
            max_connections: 256,
            connect_timeout: Duration::from_secs(15),
            backoff: Backoff::default(),
            clock: None,
            own_program: None,
            key_variables: Vec::new(),
            limiters: LimiterPool::default(),
            host: Host::default(),
            redactor: None,
        }
    }

    /// The value of a variable. Blank values count as unset; surrounding whitespace, such as the line break of a value
    /// read from a file, is removed.
    pub(crate) fn lookup(&self, name: &str) -> Option<String> {
        (self.secret)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    /// The file in which a variable stands; `None` if the environment itself has it.
    pub(crate) fn file_of(&self, name: &str) -> Option<String> {
        (self.file_of)(name)
    }

    /// Returns a warning if the value of a variable is too short to be redacted: it could be an ordinary word.
    pub fn short_secret_warning(&self, name: &str) -> Option<String> {
        let is_short = self.lookup(name)?.len() < SHORTEST_SECRET;
        is_short.then(|| {
            format!(
                "{name} has fewer than {SHORTEST_SECRET} characters, so it counts as a placeholder: it is sent, but not removed from \
                 stored calls. If it is a real key, check that it is whole; if the server needs none, leave {name} unset"
            )
        })
    }

    /// The values of all variables that hold secrets.
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
