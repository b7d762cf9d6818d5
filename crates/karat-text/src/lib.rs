//! Templates, paths, tokens, chunks, fences, merges and the JSON ladder: text in, text out.
//!
//! Nothing here does I/O, reads a clock or draws a random number; the same input gives the same output everywhere.
//!
//! | module | purpose |
//! |---|---|
//! | [`template`] | templates and expressions of a suite |
//! | [`path`] | paths such as `$.claims[*].text` into JSON |
//! | [`chunking`] | counts tokens, cuts long texts and lists, merges the outputs of pieces |
//! | [`env_template`] | templates with environment variables: `${NAME}` |
//! | [`fence`] | fences around untrusted text in a prompt |
//! | [`half_characters`] | reads JSON with halves of characters |
//! | [`host`] | hosts that are this machine |
//! | [`ladder`] | finds the JSON value a model meant in its reply |
//! | [`kind`] | names of JSON types |
//! | [`label`] | the kind of numbers a row label announces |
//! | [`markdown`] | sections and items of a Markdown text |
//! | [`redact`] | removes personal data and keys |
//! | [`schema`] | checks values against JSON Schemas, within a bound |
//! | [`similar`] | similarity of two texts, and the rule by which they are one |
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
pub mod schema;
pub mod similar;
pub mod speaker;
pub mod template;

pub use ladder::half_characters;
