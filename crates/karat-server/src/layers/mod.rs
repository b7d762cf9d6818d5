//! The layers around the routes, through which every request and every answer passes.
//!
//! - `admission`: holds a request to the rules of `guard`.
//! - `entity`: the entity tag of an answer, and 304 for a caller that has it.
//! - `answer`: the last step: the id of the request, problems as JSON or as a page, the headers of safety.

pub(crate) mod admission;
pub(crate) mod answer;
pub(crate) mod entity;
