//! The settings of a server.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// The settings of a server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The address to listen on; port 0 takes any free one.
    pub listen: SocketAddr,
    /// Names under which the server may be asked, beside those of this machine.
    pub hosts: Vec<String>,
    /// The command that the server belongs to.
    pub purpose: Purpose,
    /// The limits of runs that the server executes.
    pub queue: QueueLimits,
    /// Gets a JSON object for each request and each change of a run, if they are wanted.
    pub log: Option<Log>,
    /// Gets a line for the operator when a scheduled run starts or ends, is skipped, or a message cannot be sent. With `log`,
    /// the lines are part of it.
    pub notes: Option<Log>,
    /// Suites whose schedules are followed; without any, `karat.yaml` of the root and of the folders in it.
    pub schedules: Vec<String>,
    /// The address under which people open the server, for links in messages.
    pub public_url: Option<String>,
    /// True if `/metrics` needs no token.
    pub metrics_open: bool,
    /// The users who may ask from this machine while there are no tokens.
    pub loopback: Loopback,
}

/// The users who may ask from this machine while there are no tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Loopback {
    /// The user who started the server, and root. Where the system does not tell who made a connection, as [`Self::OwnKey`].
    #[default]
    SameUser,
    /// A visitor who has the key of [`crate::Server::url`].
    OwnKey,
    /// Every user.
    Open,
}

/// Writes a line of the log.
#[derive(Clone)]
pub struct Log(pub Arc<dyn Fn(&str) + Send + Sync>);

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log")
    }
}

/// The limits of runs that a server executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLimits {
    /// Runs at one time; at least one.
    pub max_runs: usize,
    /// Runs that may wait.
    pub max_waiting: u32,
}

impl Default for QueueLimits {
    fn default() -> Self {
        Self { max_runs: 2, max_waiting: 1_000 }
    }
}

/// The command that a server belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// `karat view`: shows stored runs, and starts, resumes and schedules nothing.
    View {
        /// True if the page with every component is served at `/_style`.
        style: bool,
    },
    /// `karat serve`: also starts, resumes and cancels runs.
    Serve {
        /// True if suites may run programs.
        allow_commands: bool,
    },
}
