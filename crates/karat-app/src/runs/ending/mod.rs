//! Messages about the end of a run.
//!
//! - `refusal` words the end of a run whose models or services refuse every call.
//! - `run_command` is the command that runs the suite of a stored run again, and refuses to continue it once the plan has
//!   changed.
//! - `early_stop` builds the rule that may stop a run, and words the notice of a stopped one.

pub(crate) mod early_stop;
pub(crate) mod refusal;
pub(crate) mod run_command;
