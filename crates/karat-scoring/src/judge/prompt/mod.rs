//! The judge's prompt.
//!
//! `prompt_values` computes the values a rubric shows, `round_prompt` is the input of one round (which output first),
//! `request` writes the messages: task, fenced sections, dimensions, reply format. The wording is part of
//! [`PROMPT_VERSION`](super::PROMPT_VERSION): change both together.

pub(crate) mod prompt_values;
pub(crate) mod request;
pub(crate) mod round_prompt;
