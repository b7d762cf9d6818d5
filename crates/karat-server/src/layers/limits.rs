//! Limits of requests: those at work at one time, and those of one token in a second.

use axum::extract::{Request, State as Extracted};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use karat_app::Access;
use tokio::time::Instant;

use crate::problem::Problem;
use crate::state::State;

/// Refuses a request while too many are at work. Health is answered all the same.
pub(crate) async fn at_work(Extracted(state): Extracted<State>, request: Request, next: Next) -> Response {
    if matches!(request.uri().path(), "/livez" | "/healthz") {
        return next.run(request).await;
    }
    let Some(_place) = state.limits().start() else {
        return Problem { retry_after_s: Some(1), ..Problem::too_many("too many requests are at work") }
            .into_response();
    };
    next.run(request).await
}

/// Refuses a request of a token that has made too many. A server without tokens belongs to one user.
pub(crate) async fn of_token(Extracted(state): Extracted<State>, request: Request, next: Next) -> Response {
    let token = request.extensions().get::<Access>().map(|access| access.token.clone()).unwrap_or_default();
    if !token.is_empty() && !state.limits().allows(&token, Instant::now()) {
        let detail = "a token may make 100 requests a second, and 200 at once";
        return Problem { retry_after_s: Some(1), ..Problem::too_many(detail) }.into_response();
    }
    next.run(request).await
}
