//! `GET /outbox` and `POST /outbox/{id}/retry`: messages of alerts, without their content.

use axum::extract::Path;
use axum::response::Response;
use axum::{Extension, Json};
use bytes::Bytes;
use karat_app::MessageLine;

use super::check_may_change;
use crate::api::body::{self, Nothing};
use crate::api::listing::PagedList;
use crate::problem::Problem;
use crate::route::query::Query;
use crate::state::State;

const STATES: [(&str, &str); 3] = [("pending", "pending"), ("sent", "sent"), ("dead", "dead")];

pub(in crate::api) async fn list(state: State, query: Extension<Query>) -> Result<Response, Problem> {
    let list = PagedList {
        path: "/outbox",
        states: &STATES,
        rows: |app, state, before, limit| app.service().outbox_page(state, before, limit),
        id: |it: &MessageLine| &it.id,
    };
    list.answer(state, query).await
}

/// Makes a message that was not sent due now, with all of its attempts.
pub(in crate::api) async fn retry(
    state: State,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Json<MessageLine>, Problem> {
    body::read::<Nothing>(&body)?;
    check_may_change(&state)?;
    state.read(move |app| app.service().retry_message(&id)).await.map(Json)
}
