//! `POST /suites/{suite}/suspects`: a task for people of the items of a test set that may be wrong.

use axum::Json;
use axum::extract::Path;
use bytes::Bytes;
use karat_app::{CreatedTask, ItemsRequest, ItemsSuite};

use super::check_may_change;
use crate::api::body::{self, Nothing};
use crate::problem::Problem;
use crate::state::State;

pub(in crate::api) async fn create(
    state: State,
    Path(suite): Path<String>,
    body: Bytes,
) -> Result<Json<CreatedTask>, Problem> {
    body::read::<Nothing>(&body)?;
    check_may_change(&state)?;
    let asked = ItemsRequest { suite: ItemsSuite::Stored(suite), runs: Vec::new(), metric: None, seed: 1 };
    state.read(move |app| app.tasks().create_suspects(&asked)).await.map(Json)
}
