//! The routes, and the layers around them.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::timeout::TimeoutLayer;

use crate::layers::{admission, answer, entity, limits, repeats, sharing};
use crate::problem::Problem;
use crate::route::Routes;
use crate::settings::Purpose;
use crate::state::State;
use crate::{api, pages};

/// Time until the head of a response. Reports of large runs take longest.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The table of all routes.
fn routes(purpose: Purpose) -> Routes {
    Routes::new(pages::routes(purpose).into_iter().chain(api::routes()))
}

/// Returns the routes with everything around them.
pub(crate) fn router(state: State) -> Router {
    let routes = Arc::new(routes(state.settings().purpose));
    // The last layer is the outermost.
    Router::new()
        .merge(routes.router(false))
        .fallback(async || Problem::of_status(StatusCode::NOT_FOUND, ""))
        .layer(TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, TIMEOUT))
        .layer(CompressionLayer::new())
        .layer(from_fn(entity::tag))
        // Compressed and tagged answers are shared, and only with callers that were admitted.
        .layer(from_fn_with_state(state.clone(), sharing::share))
        .layer(from_fn_with_state(state.clone(), repeats::answer))
        // Bodies of traces are larger than those of other requests, and are not kept.
        .merge(
            api::traces::with_large_bodies(routes.router(true))
                .layer(from_fn_with_state(state.clone(), sharing::share)),
        )
        .layer(from_fn_with_state(state.clone(), limits::of_token))
        .layer(from_fn_with_state((state.clone(), routes.clone()), admission::check))
        .layer(from_fn_with_state(state.clone(), limits::at_work))
        .layer(CatchPanicLayer::custom(|_| panic_answer()))
        .layer(from_fn(entity::compare_tag))
        .layer(from_fn_with_state((state.clone(), routes), answer::finish))
        .with_state(state)
}

fn panic_answer() -> Response {
    Problem::internal().into_response()
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http::{Method, Request};
    use karat_app::Role;
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

    /// HU-14: who labels may do six things, and sees no other page of a task than the queue.
    #[test]
    fn labelling_is_a_role_of_its_own() {
        let routes = routes(Purpose::Serve { allow_commands: false });
        let role = |method: Method, path: &str| routes.needed_role(&method, path);
        for what in ["next", "draft", "labels", "skip", "flag", "undo"] {
            assert_eq!(role(Method::POST, &format!("/annotations/t/{what}")), Some(Role::Annotate), "{what}");
            assert_eq!(role(Method::GET, &format!("/annotations/t/{what}")), Some(Role::Run), "{what}");
        }
        for path in ["/annotations", "/annotations/t", "/annotations/t/agreement", "/annotations/t/export"] {
            assert_eq!(role(Method::GET, path), Some(Role::Run), "{path}");
        }
        for path in ["/annotations", "/annotations/t/close", "/annotations/t/adjudicate", "/annotations/t/x/next"] {
            assert_eq!(role(Method::POST, path), Some(Role::Run), "{path}");
        }
        assert_eq!(role(Method::GET, "/annotate/t"), Some(Role::Annotate));
        assert_eq!(role(Method::GET, "/annotate/t/owner"), Some(Role::Run));
        assert_eq!(role(Method::GET, "/annotate"), Some(Role::Run));
        assert_eq!(role(Method::GET, "/runs/t"), Some(Role::Read));
    }

    /// LI-04, SV-01: an endpoint takes the names of the query that its description has, and no others.
    #[tokio::test]
    async fn an_unknown_name_of_the_query_is_refused() {
        let routes = routes(Purpose::Serve { allow_commands: false });
        let router = routes.router(false).merge(routes.router(true)).with_state(crate::state::tests::idle());
        for (route, operation) in routes.operations().filter(|(route, _)| route.path != "/v1/traces") {
            let wrong = [format!("{}?nothing=1", route.path), format!("{}?as=a&as=b", route.path)];
            for uri in wrong.map(|uri| uri.replace(['{', '}'], "")) {
                let request = Request::builder().method(&route.method).uri(&uri).body(Body::empty()).unwrap();
                let answer = router.clone().oneshot(request).await.unwrap();
                assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{} {uri}", operation.id);
            }
        }
    }

    /// LI-04: what is not a route needs the role that reads the address above it; only pages answer browsers with a page.
    #[test]
    fn the_table_says_who_may_ask_and_what_is_a_page() {
        let routes = routes(Purpose::Serve { allow_commands: false });
        let role = |method: Method, path: &str| routes.needed_role(&method, path);
        for (path, wanted) in [("/openapi.json", None), ("/assets/a.css", None), ("/openapi.json/x", Some(Role::Read))]
        {
            assert_eq!(role(Method::GET, path), wanted, "{path}");
        }
        for (path, wanted) in [("/traces", Role::Ingest), ("/v1/traces", Role::Ingest), ("/eval/run", Role::Run)] {
            assert_eq!(role(Method::POST, path), Some(wanted), "{path}");
            assert_eq!(role(Method::HEAD, path), Some(Role::Read), "{path}");
        }
        assert_eq!(role(Method::POST, "/nowhere"), Some(Role::Run));
        assert_eq!(role(Method::DELETE, "/eval/runs/a"), Some(Role::Run));
        assert!(routes.is_open("/livez") && routes.is_open("/healthz") && !routes.is_open("/metrics"));
        for path in ["/eval/runs/a/b/c", "/annotations", "/suites", "/suites/a/suspects", "/v1", "/openapi.json"] {
            assert!(routes.is_api(path), "{path}");
        }
        for path in ["/", "/runs/a", "/suites/a/items", "/annotate/t", "/nowhere"] {
            assert!(!routes.is_api(path), "{path}");
        }
    }
}
