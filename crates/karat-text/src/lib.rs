//! Templates, paths, tokens, chunks, fences, merges and the JSON ladder: text in, text out.
//!
//! Nothing here does I/O, reads a clock or draws a random number; the same input gives the same output everywhere.
//!
//! | module | what it answers |
//! |---|---|
//! | [`template`] | what a `{{ }}` text or expression of a suite is worth for one sample |
//! | [`path`] | what lies at `$.claims[*].text` of a document |
//! | [`tokens`] | how many tokens a text has |
//! | [`chunk`] | how a long text or list is cut into pieces |
//! | [`fence`] | how untrusted text is shown to a model so that it cannot pass for instructions |
//! | [`host`] | which hosts are this machine |
//! | [`ladder`] | which JSON value a model meant |
//! | [`kind`] | what a JSON value is, in words |
//! | [`label`] | what the label of a row says of its numbers |
//! | [`markdown`] | which sections and items a Markdown text has |
//! | [`merge`] | how the outputs of pieces become one |
//! | [`redact`] | a text without personal data and keys |
//! | [`similar`] | how alike two texts are |
//! | [`speaker`] | name and role of a speaker in one text |

pub mod chunking;
pub mod env_template;
pub mod fence;
pub mod host;
pub mod kind;
pub mod label;
pub mod ladder;
pub mod markdown;
pub mod path;
pub mod redact;
pub mod similar;
pub mod speaker;
pub mod template;
