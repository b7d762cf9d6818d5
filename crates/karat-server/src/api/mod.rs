//! The HTTP API: JSON for programs, in the words of `karat run --json` and `report.json`.

use axum::Router;

use crate::state::State;

/// The first parts of the API's addresses: what is not a page.
const ROOTS: [&str; 2] = ["eval", "openapi.json"];

/// The routes of the API.
pub(crate) fn router() -> Router<State> {
    Router::new()
}

/// Returns whether an address belongs to the API.
pub(crate) fn is_path(path: &str) -> bool {
    let root = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    ROOTS.contains(&root)
}
