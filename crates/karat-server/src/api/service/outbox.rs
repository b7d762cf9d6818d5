//! `GET /outbox` and `POST /outbox/{id}/retry`: messages of alerts, without their content.

use axum::Json;
use axum::extract::Path;
use axum::response::Response;
use bytes::Bytes;
use http::Uri;
use karat_app::{App, MessageLine};

use super::check_may_change;
use super::listing::PagedList;
use crate::api::body::{self, Nothing};
use crate::api::query::Query;
use crate::problem::Problem;
use crate::state::State;

const STATES: [(&str, &str); 3] = [("pending", "pending"), ("sent", "sent"), ("dead", "dead")];

pub(super) async fn list(state: State, uri: Uri) -> Result<Response, Problem> {
    let list = PagedList { path: "/outbox", states: &STATES, rows: App::outbox_page, id: |it: &MessageLine| &it.id };
    list.answer(state, uri).await
}

/// Makes a message that was not sent due now, with all of its attempts.
pub(super) async fn retry(
    state: State,
    Path(id): Path<String>,
    uri: Uri,
    body: Bytes,
) -> Result<Json<MessageLine>, Problem> {
    Query::read(&uri, &[])?;
    body::read::<Nothing>(&body)?;
    check_may_change(&state)?;
    state.read(move |app| app.retry_message(&id)).await.map(Json)
}
