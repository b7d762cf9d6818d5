//! `cargo xtask dist`: the files of a release.
//!
//! - `description` is the one list of names, targets and addresses; everything else takes them from there
//! - `options` reads the arguments, `release` makes the files of one target and joins those of all, `check` proves them
//! - `program` builds; `contents` makes what is in an archive beside the program; `packaging` makes archives, the Debian
//!   package and checksums
//! - `channels` has the texts of other places that install the files: formula, container, action, pipelines
//!
//! Read `release` first.

mod channels;
mod check;
mod contents;
mod description;
mod options;
mod packaging;
mod program;
mod release;

#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::Path;

use options::{DistAction, DistOptions};

pub use channels::generated_files;

/// Does what the arguments say. Returns `Ok(false)` if a check failed.
///
/// # Errors
/// Wrong arguments, a failed build, or a file that cannot be written.
pub fn run(root: &Path, arguments: &[&str], out: &mut dyn Write) -> Result<bool, String> {
    let options = DistOptions::read(arguments)?;
    let root = root.canonicalize().map_err(|error| format!("finding {}: {error}", root.display()))?;
    match &options.action {
        DistAction::Build => release::build(&root, &options, out).map(|_| true),
        DistAction::Check => check::check(&root, &options, out),
        DistAction::Collect(from) => release::collect(&root, from, &options.out, out).map(|()| true),
    }
}
