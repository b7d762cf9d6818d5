//! Continuous evaluation: suites run at due times, and people hear of them when something is wrong.
//!
//! - `schedules` lists due times, and pauses schedules; `due_run` runs a suite at one of them, once.
//! - `observations` reads from a run what is good and bad; `alerting` turns that into incidents and messages, in one commit.
//! - `examples` are the cells that a message shows.
//! - `delivery` sends the messages of the outbox; `incidents` lists and closes incidents.
//! - `followed_suites` are the suites of a server; `scheduler` follows their schedules: the server calls it every second.
//!
//! Read `due_run` first, then `alerting`.

pub(crate) mod alerting;
pub(crate) mod delivery;
pub(crate) mod due_run;
pub(crate) mod examples;
pub(crate) mod followed_suites;
pub(crate) mod incidents;
pub(crate) mod observations;
pub(crate) mod scheduler;
pub(crate) mod schedules;
