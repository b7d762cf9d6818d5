//! Work beside requests: `schedules` follows the schedules of suites, hands over what is due, and sends alerts.

mod schedules;

pub(crate) use schedules::Background;
