//! Work beside requests: `schedules` follows the schedules of suites, runs what is due, and sends alerts.

mod schedules;

pub use schedules::Background;
