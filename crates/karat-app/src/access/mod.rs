//! The tokens that let callers ask the server.
//!
//! - `token` is the text of a token: its parts, its checksum, its hash.
//! - `tokens` creates, lists, revokes and checks tokens; `role` is what they allow.

pub(crate) mod role;
pub(crate) mod token;
pub(crate) mod tokens;
