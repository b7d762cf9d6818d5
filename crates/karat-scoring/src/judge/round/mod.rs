//! One round of a judgment: one vote, one order of a pair.
//!
//! `prepare` renders the shown values and makes a request for each piece, `machine` sends them, asks again after an invalid
//! reply and ends with a verdict. `call_labels` names the calls for people and records.

pub(crate) mod call_labels;
pub(crate) mod machine;
pub(crate) mod prepare;
