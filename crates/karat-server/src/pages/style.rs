//! The style page, for those who work on pages (DB-46).

use axum::Router;
use axum::routing::get;

use crate::pages::Page;
use crate::state::State;

pub(super) fn router() -> Router<State> {
    Router::new().route("/_style", get(async || Page::from(karat_page::style_page())))
}
