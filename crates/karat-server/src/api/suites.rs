//! `GET /suites`: the suites that can be run here.

use axum::Json;
use http::Uri;
use karat_app::{App, AppError};
use serde_json::{Value, json};

use crate::api::query::Query;
use crate::problem::Problem;
use crate::state::State;

pub(super) async fn suites(state: State, uri: Uri) -> Result<Json<Value>, Problem> {
    Query::read(&uri, &[])?;
    let suites = state.look_up(|app: &App| Ok::<_, AppError>(app.suites())).await?;
    Ok(Json(json!({ "items": suites })))
}
