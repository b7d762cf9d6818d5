//! Pages of a suite, over all of its runs.
//!
//! - `series`: the days of a dated suite. `items`: its test set.

mod items;
mod series;

use axum::Router;

use crate::state::State;

pub(super) fn router() -> Router<State> {
    series::router().merge(items::router())
}
