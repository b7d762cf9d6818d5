//! The settings of a server.

use std::net::SocketAddr;

/// The settings of a server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The address to listen on; port 0 takes any free one.
    pub listen: SocketAddr,
    /// Names under which the server may be asked, beside those of this machine.
    pub hosts: Vec<String>,
    /// The command that the server belongs to.
    pub purpose: Purpose,
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
