//! `GET /suites`: the suites that can be run here.

use axum::Json;
use karat_app::{App, AppError, SuiteLine};

use crate::api::listing::List;
use crate::problem::Problem;
use crate::state::State;

pub(super) async fn suites(state: State) -> Result<Json<List<SuiteLine>>, Problem> {
    let suites = state.look_up(|app: &App| Ok::<_, AppError>(app.service().suites())).await?;
    Ok(Json(List { items: suites }))
}
