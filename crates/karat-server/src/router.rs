//! The routes, and the layers around them.

use std::time::Duration;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::timeout::TimeoutLayer;

use crate::layers::{admission, answer, entity, limits, repeats, sharing};
use crate::pages::assets;
use crate::problem::Problem;
use crate::state::State;
use crate::{api, pages};

/// Time until the head of a response. Reports of large runs take longest.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Returns the routes with everything around them.
pub(crate) fn router(state: State) -> Router {
    // The last layer is the outermost.
    Router::new()
        .merge(pages::router(&state))
        .merge(api::router())
        .merge(assets::router())
        .fallback(async || Problem::of_status(StatusCode::NOT_FOUND, ""))
        .layer(TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, TIMEOUT))
        .layer(CompressionLayer::new())
        .layer(from_fn(entity::tag))
        // Compressed and tagged answers are shared, and only with callers that were admitted.
        .layer(from_fn_with_state(state.clone(), sharing::share))
        .layer(from_fn_with_state(state.clone(), repeats::answer))
        // Bodies of traces are larger than those of other requests, and are not kept.
        .merge(api::traces::router())
        .layer(from_fn_with_state(state.clone(), limits::of_token))
        .layer(from_fn_with_state(state.clone(), admission::check))
        .layer(from_fn_with_state(state.clone(), limits::at_work))
        .layer(CatchPanicLayer::custom(|_| panic_answer()))
        .layer(from_fn(entity::compare_tag))
        .layer(from_fn_with_state(state.clone(), answer::finish))
        .with_state(state)
}

fn panic_answer() -> Response {
    Problem::internal().into_response()
}
