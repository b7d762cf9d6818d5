//! `GET /livez` and `GET /healthz`: for load balancers and supervisors. They answer under every name and without a
//! token; a token shows the reasons.

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http::StatusCode;
use karat_app::{Access, App, FollowedSuites, StoreHealth};
use serde_json::json;

use crate::problem::{IsAnswer, Problem};
use crate::runs::dispatcher::HUNG;
use crate::state::State;

/// Free bytes of the disk below which a server is down.
const LEAST_FREE: u64 = 256 << 20;

/// The time for which the store is waited for: balancers ask every few seconds.
const PATIENCE: Duration = Duration::from_secs(2);

const NO_ANSWER: &str = "the store does not answer";

/// The state of schedules and alerts. A store that cannot be read says so by itself.
#[derive(Default)]
struct Service {
    late: usize,
    dead: u64,
    broken: Vec<String>,
}

impl Service {
    fn look(app: &App, suites: &FollowedSuites) -> Self {
        let schedules = suites.schedules().unwrap_or_default();
        Self {
            late: schedules.iter().filter(|line| line.late_since.is_some()).count(),
            dead: app.service().alert_counts().unwrap_or_default().dead,
            broken: suites.broken_suites().into_iter().map(|(path, _)| path).collect(),
        }
    }

    fn is_degraded(&self) -> bool {
        self.late > 0 || self.dead > 0 || !self.broken.is_empty()
    }
}

/// The process answers.
pub(super) async fn livez() -> &'static str {
    "ok\n"
}

/// The server can do its work.
pub(super) async fn healthz(state: State, access: Option<Extension<Access>>) -> Result<Response, Problem> {
    let looking = state.look_up(|app| Ok::<_, Problem>(app.service().store_health()));
    let store = match tokio::time::timeout(PATIENCE, looking).await {
        Ok(store) => store?,
        Err(_) => StoreHealth { problem: Some(NO_ANSWER.to_owned()), ..StoreHealth::default() },
    };
    let suites = state.suites().clone();
    let service = match store.is_writable {
        true => state.look_up(move |app| Ok::<_, Problem>(Service::look(app, &suites))).await?,
        false => Service::default(),
    };
    let tick_s = state.pulse().map(|pulse| pulse.age().as_secs());
    let is_stopping = state.stop().is_set();
    let is_hung = tick_s.is_some_and(|age| age > HUNG.as_secs());
    let is_full = store.disk_free_bytes.is_some_and(|free| free < LEAST_FREE);
    let is_down = !store.is_writable || is_full || is_hung || is_stopping;
    let status = match () {
        () if is_down => "down",
        () if service.is_degraded() => "degraded",
        () => "ok",
    };
    let mut health = json!({ "status": status });
    if access.is_some() {
        health["checks"] = json!({
            "store_writable": store.is_writable,
            "store_problem": store.problem,
            "disk_free_bytes": store.disk_free_bytes,
            "tick_s": tick_s,
            "stopping": is_stopping,
            "runs_active": state.runs().count(),
            "schedules_late": service.late,
            "outbox_dead": service.dead,
            "suites_broken": service.broken,
        });
        health["last_run"] = store.last_run.map_or_else(
            || json!({}),
            |(run, status, ended)| json!({ "run_id": run, "status": status, "completed_at": ended }),
        );
    }
    let code = if is_down { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    let mut response = (code, Json(health)).into_response();
    response.extensions_mut().insert(IsAnswer);
    Ok(response)
}
