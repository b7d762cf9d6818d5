//! The layers around the routes, through which every request and every answer passes.
//!
//! - `admission`: holds a request to the rules of `guard`.
//! - `limits`: requests at work at one time, and those of a token in a second.
//! - `repeats`: reads bodies, and answers requests that are repeated under an `Idempotency-Key`.
//! - `entity`: the entity tag of an answer, and 304 for a caller that has it.
//! - `sharing`: one answer for those who ask the same at the same time.
//! - `answer`: the last step: the id of the request, problems as JSON or as a page, the headers of safety.

pub(crate) mod admission;
pub(crate) mod answer;
pub(crate) mod entity;
pub(crate) mod limits;
pub(crate) mod repeats;
pub(crate) mod sharing;
