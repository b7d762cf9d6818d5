//! The generated pages of `docs/reference`.
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
