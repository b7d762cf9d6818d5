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

pub use examples::with_examples;
pub use foreign_flags::explain;
pub use groups::with_groups;
pub use hidden::with_hidden_flags;
pub use reference::{commands, environment};
