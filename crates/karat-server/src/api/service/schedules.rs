//! `GET /schedules`, and `POST /schedules/{suite}/{id}/run`, `…/pause` and `…/resume`. Suites have the names that the list
//! gives them.

use axum::Json;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use karat_app::{App, AppError, DueState, FiringLine, ScheduleLine, parse_time, rfc3339};
use schemars::JsonSchema;
use serde::Deserialize;

use super::check_may_change;
use crate::api::body::{self, Nothing};
use crate::api::listing::List;
use crate::problem::Problem;
use crate::state::State;
use crate::target::encode;

/// The due time that is run; without one, the last up to now.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Due")]
pub(in crate::api) struct WantedDue {
    #[schemars(extend("format" = "date-time"))]
    due: Option<String>,
}

pub(in crate::api) async fn list(state: State) -> Result<Json<List<ScheduleLine>>, Problem> {
    let suites = state.suites().clone();
    let schedules = state.read(move |_: &App| suites.schedules()).await?;
    Ok(Json(List { items: schedules }))
}

/// Runs a due time once, as `karat schedule run` does; it waits for a place beside the runs of the queue.
pub(in crate::api) async fn run(
    state: State,
    Path((suite, id)): Path<(String, String)>,
    body: Bytes,
) -> Result<Response, Problem> {
    let WantedDue { due } = body::read(&body)?;
    check_may_change(&state)?;
    let due = due.map(|text| parse_time("due", &text)).transpose()?;
    let suites = state.suites().clone();
    let claimed = state.read(move |app: &App| {
        let run = suites.due_run(&suite, &id, due)?;
        let known = app.service().claim_due_run(&run)?;
        Ok::<_, AppError>((run, known))
    });
    let (due, known) = claimed.await?;
    let run = due.run.clone();
    match known {
        DueState::New | DueState::Unfinished => {}
        DueState::Ended => {
            let problem = Problem::new(StatusCode::CONFLICT, "run-finished", "This due time has run");
            let hint = format!("its run is `{run}`; name another time with `due`");
            return Err(problem.with_hint(hint));
        }
        DueState::Skipped(note) => {
            let problem = Problem::new(StatusCode::CONFLICT, "run-finished", "This due time was skipped");
            return Err(problem.with_detail(note).with_hint("name another time with `due`"));
        }
    }
    let answer = FiringLine {
        schedule: due.schedule.clone(),
        due: rfc3339(due.due),
        run: run.clone(),
        state: "fired".to_owned(),
        note: String::new(),
    };
    if state.runs().is_running(&run) || !state.due().push(due) {
        return Err(Problem::new(StatusCode::CONFLICT, "run-in-use", "The run waits or is running"));
    }
    state.wake_dispatcher();
    let mut headers = HeaderMap::new();
    let location = format!("/eval/runs/{}", encode(&run));
    headers.extend(HeaderValue::try_from(location).ok().map(|to| (header::LOCATION, to)));
    Ok((StatusCode::ACCEPTED, headers, Json(answer)).into_response())
}

pub(in crate::api) async fn pause(
    state: State,
    path: Path<(String, String)>,
    body: Bytes,
) -> Result<Json<ScheduleLine>, Problem> {
    set_paused(state, path, &body, true).await
}

pub(in crate::api) async fn resume(
    state: State,
    path: Path<(String, String)>,
    body: Bytes,
) -> Result<Json<ScheduleLine>, Problem> {
    set_paused(state, path, &body, false).await
}

async fn set_paused(
    state: State,
    Path((suite, id)): Path<(String, String)>,
    body: &Bytes,
    paused: bool,
) -> Result<Json<ScheduleLine>, Problem> {
    body::read::<Nothing>(body)?;
    check_may_change(&state)?;
    let suites = state.suites().clone();
    state.read(move |_: &App| suites.pause_schedule(&suite, &id, paused)).await.map(Json)
}
