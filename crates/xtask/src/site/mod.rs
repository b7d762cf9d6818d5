//! `cargo xtask site`: builds the documentation with real reports in it, and checks every link (PE-36).
//!
//! - `build`: runs the commands of `docs/examples.md`, then mdBook, and puts reports and font beside its pages.
//! - `page`: reads one HTML page: its addresses with their lines, its ids, its style and its policy.
//! - `links`: checks all pages of a folder; calls `page`.
//!
//! `cargo xtask site --check` checks a book that is built. Addresses of other sites are never asked.

mod build;
mod links;
mod page;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::Path;

/// Builds the site below `root`, unless it is only checked, and checks it. Returns false if a link leads nowhere.
///
/// # Errors
/// A command of the page of examples fails, mdBook is missing or fails, or a file cannot be read.
pub(crate) fn run(root: &Path, builds: bool, out: &mut dyn Write) -> Result<bool, String> {
    let book = root.join("target/book");
    if builds {
        build::build(root, &book, out)?;
    }
    let site = links::Site { folder: &book, source: &root.join("docs"), base: build::SITE_URL };
    let checked = site.check()?;
    let mut report = String::new();
    for problem in &checked.problems {
        report.push_str(&format!("{problem}\n"));
    }
    let links::Checked { pages, links, problems } = checked;
    report.push_str(&format!("{pages} pages, {links} links, {} broken\n", problems.len()));
    out.write_all(report.as_bytes()).map_err(|error| format!("writing the result: {error}"))?;
    Ok(problems.is_empty())
}
