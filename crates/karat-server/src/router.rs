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
        .merge(api::traces::router().layer(from_fn_with_state(state.clone(), sharing::share)))
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

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http::Request;
    use tower::ServiceExt as _;

    use super::*;

    /// SV-28: each request that may change something ends what a crowd is given, also one of traces; one that reads does not.
    #[tokio::test]
    async fn requests_that_write_are_changes() {
        let state = crate::state::tests::idle();
        for (method, path, changes) in [
            ("POST", "/eval/run", 1),
            ("GET", "/livez", 1),
            ("POST", "/traces?dataset=d", 2),
            ("POST", "/v1/traces", 3),
        ] {
            let request = Request::builder().method(method).uri(path).header("host", "localhost");
            router(state.clone()).oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
            assert_eq!(state.change(), changes, "{method} {path}");
        }
    }
}
