//! `GET /incidents`, `POST /incidents/{id}/ack` and `…/close`.

use axum::extract::Path;
use axum::response::Response;
use axum::{Extension, Json};
use bytes::Bytes;
use karat_app::{App, IncidentLine};

use super::check_may_change;
use crate::api::body::{self, Nothing};
use crate::api::listing::PagedList;
use crate::problem::Problem;
use crate::route::query::Query;
use crate::state::State;

const STATES: [(&str, &str); 3] = [("open", "open"), ("acknowledged", "acknowledged"), ("closed", "closed")];

pub(in crate::api) async fn list(state: State, query: Extension<Query>) -> Result<Response, Problem> {
    let list = PagedList {
        path: "/incidents",
        states: &STATES,
        rows: |app, state, before, limit| app.service().incident_page(state, before, limit),
        id: |it: &IncidentLine| &it.id,
    };
    list.answer(state, query).await
}

pub(in crate::api) async fn ack(
    state: State,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Json<IncidentLine>, Problem> {
    change(state, &body, move |app| app.service().ack_incident(&id)).await
}

pub(in crate::api) async fn close(
    state: State,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Json<IncidentLine>, Problem> {
    change(state, &body, move |app| app.service().close_alert_incident(&id)).await
}

async fn change(
    state: State,
    body: &Bytes,
    change: impl FnOnce(&App) -> Result<IncidentLine, karat_app::AppError> + Send + 'static,
) -> Result<Json<IncidentLine>, Problem> {
    body::read::<Nothing>(body)?;
    check_may_change(&state)?;
    state.read(change).await.map(Json)
}
