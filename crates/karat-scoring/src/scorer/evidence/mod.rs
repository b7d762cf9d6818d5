//! Metrics of what an answer rests on.
//!
//! `retrieval` ranks retrieved documents and finds quotes, `citation` compares citations, `attribution` compares who is
//! named as the speaker, with `speaker` to read names and roles from text.

pub(crate) mod attribution;
pub(crate) mod citation;
pub(crate) mod retrieval;
pub(crate) mod speaker;
