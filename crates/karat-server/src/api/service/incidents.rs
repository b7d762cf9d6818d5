//! `GET /incidents`, `POST /incidents/{id}/ack` and `…/close`.

use axum::Json;
use axum::extract::Path;
use axum::response::Response;
use bytes::Bytes;
use http::Uri;
use karat_app::{App, IncidentLine};

use super::check_may_change;
use super::listing::PagedList;
use crate::api::body::{self, Nothing};
use crate::api::query::Query;
use crate::problem::Problem;
use crate::state::State;

const STATES: [(&str, &str); 3] = [("open", "open"), ("acknowledged", "acknowledged"), ("closed", "closed")];

pub(super) async fn list(state: State, uri: Uri) -> Result<Response, Problem> {
    let list =
        PagedList { path: "/incidents", states: &STATES, rows: App::incident_page, id: |it: &IncidentLine| &it.id };
    list.answer(state, uri).await
}

pub(super) async fn ack(
    state: State,
    Path(id): Path<String>,
    uri: Uri,
    body: Bytes,
) -> Result<Json<IncidentLine>, Problem> {
    change(state, &uri, &body, move |app| app.ack_incident(&id)).await
}

pub(super) async fn close(
    state: State,
    Path(id): Path<String>,
    uri: Uri,
    body: Bytes,
) -> Result<Json<IncidentLine>, Problem> {
    change(state, &uri, &body, move |app| app.close_alert_incident(&id)).await
}

async fn change(
    state: State,
    uri: &Uri,
    body: &Bytes,
    change: impl FnOnce(&App) -> Result<IncidentLine, karat_app::AppError> + Send + 'static,
) -> Result<Json<IncidentLine>, Problem> {
    Query::read(uri, &[])?;
    body::read::<Nothing>(body)?;
    check_may_change(&state)?;
    state.read(change).await.map(Json)
}
