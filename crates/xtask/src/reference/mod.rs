//! The generated pages of `docs/reference`, and what type checkers of Python read.
//!
//! - `language.rs` makes the suite language from its JSON Schema.
//! - `catalog.rs` makes the pages of metrics, analyses, providers, readers and resolvers from their catalogues.
//! - `models.rs` makes the page of the models that ship with Karat.
//! - `examples.rs` holds an example for each registered name; a test fails when one is missing.
//! - `options.rs` renders the options of a JSON Schema as a list; the others use it.

mod catalog;
mod examples;
mod language;
mod models;
mod options;

use karat_types::ReportFormat;

/// Every generated page: its path below the repository's root, and its text.
pub fn pages() -> Result<Vec<(&'static str, String)>, String> {
    Ok(vec![
        ("docs/reference/suite.md", language::page()?),
        ("docs/reference/metrics.md", catalog::metrics()),
        ("docs/reference/analyses.md", catalog::analyses()),
        ("docs/reference/providers.md", catalog::providers()),
        ("docs/reference/models.md", models::page()?),
        ("docs/reference/readers.md", catalog::readers()),
    ])
}

/// The module of the Python package that names the formats of reports.
pub fn python_formats() -> String {
    let names = ReportFormat::NAMES.map(|name| format!("\"{name}\"")).join(", ");
    format!(
        "\"\"\"The formats of reports. Written by `cargo xtask generate`.\"\"\"\n\nfrom typing import Literal\n\nFormat = Literal[{names}]\n"
    )
}
