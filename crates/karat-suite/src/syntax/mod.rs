//! The notation of a suite file: YAML, and the small languages inside its texts.
//!
//! - `yaml.rs` reads a file into the tree of `node.rs`, in which every key and value knows its place; `yaml_error.rs` words its syntax
//!   errors
//! - `params.rs` writes parameters into templates; `environment.rs` handles `${NAME}`
//! - `notation.rs` compiles templates, expressions and paths; `names.rs` checks the names that they read
//! - `json_schema.rs` knows which options hold JSON Schemas, and words their faults
//! - `duration.rs` reads durations such as `120s`

pub(crate) mod duration;
pub(crate) mod environment;
pub(crate) mod json_schema;
pub(crate) mod names;
pub(crate) mod node;
pub(crate) mod notation;
pub(crate) mod params;
pub(crate) mod yaml;
mod yaml_error;
