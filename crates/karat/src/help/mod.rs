//! Help: what the tree of commands says of itself.
//!
//! - `groups`: the headings of `karat --help`, and which commands stand under them
//! - `examples`: the examples of each command's `--help`
//! - `hidden`: `karat help --all`
//! - `reference`: the same as Markdown, for the docs
//! - `documented`: a test that every command in the documentation parses
//! - `foreign_flags`: hints for flags that other tools have, and for values that come from a variable

mod documented;
mod examples;
mod foreign_flags;
mod groups;
mod hidden;
mod reference;

pub use foreign_flags::explain;
pub use hidden::with_hidden_flags;
pub use reference::{commands, environment};

/// Returns the whole tree of commands with its examples and groups.
pub fn command() -> clap::Command {
    groups::with_groups(examples::with_examples(crate::args::command()))
}
