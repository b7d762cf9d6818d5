//! Wire protocols: requests to bytes and bytes to replies, without I/O.
//!
//! Read `protocol` first: the `Codec` trait and the helpers that all codecs share. One file each: `openai` (and every server
//! that speaks its protocol; a folder, with its embeddings), `anthropic`, `gemini`, `azure`; turns and tools of requests are
//! in `openai::chat_turns`, `anthropic_turns` and `gemini_turns`. `media` writes images and files,
//! `calls` knows calls of tools, `finish` the words for the end of a reply.
//!
//! A new codec is a file here and a line in `registry::hosts`.

pub(crate) mod anthropic;
pub(crate) mod anthropic_turns;
pub(crate) mod azure;
pub(crate) mod calls;
pub(crate) mod finish;
pub(crate) mod gemini;
pub(crate) mod gemini_turns;
pub(crate) mod media;
pub(crate) mod openai;
pub(crate) mod protocol;
