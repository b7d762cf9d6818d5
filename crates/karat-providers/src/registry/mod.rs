//! The models of a run: from registry entries to calls.
//!
//! Read in this order: `settings` (the environment, limits of size and time), `hosts` (providers known by name), `connect` (checks an entry before any call), `providers` (all connected models, and the entry point
//! of every call). `reply` parses answers, live or stored. `outside` checks the `${NAME}` texts of steps and scorers; `places` decides where a key may go; `error` lists what can be wrong before the first
//! call; `environment_report` serves `karat doctor`.

pub(crate) mod connect;
pub(crate) mod environment_report;
pub(crate) mod error;
pub(crate) mod hosts;
pub(crate) mod key_command;
pub(crate) mod outside;
pub(crate) mod places;
pub(crate) mod providers;
pub(crate) mod reply;
pub(crate) mod settings;
