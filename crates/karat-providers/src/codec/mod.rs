//! Wire protocols: requests to bytes and bytes to replies, without I/O.
//!
//! Read `protocol` first: the `Codec` trait and the helpers that all codecs share. One file each: `openai` (and every server
//! that speaks its protocol), `anthropic`, `gemini`, `azure`. `usage` reads token counts without trusting them. `reply`
//! parses stored bytes, for resume and replay.
//!
//! A new codec is a file here and a line in `registry::hosts`.

pub(crate) mod anthropic;
pub(crate) mod azure;
pub(crate) mod gemini;
pub(crate) mod openai;
pub(crate) mod protocol;
pub(crate) mod refused_settings;
pub(crate) mod reply;
pub(crate) mod usage;
