//! `POST /suites/{suite}/suspects`: a task for people of the items of a test set that may be wrong (BC-08).

use axum::Json;
use axum::extract::Path;
use bytes::Bytes;
use http::Uri;
use karat_app::{CreatedTask, ItemsRequest, ItemsSuite};

use super::check_may_change;
use crate::api::body::{self, Nothing};
use crate::api::query::Query;
use crate::problem::Problem;
use crate::state::State;

pub(super) async fn create(
    state: State,
    Path(suite): Path<String>,
    uri: Uri,
    body: Bytes,
) -> Result<Json<CreatedTask>, Problem> {
    Query::read(&uri, &[])?;
    body::read::<Nothing>(&body)?;
    check_may_change(&state)?;
    let asked = ItemsRequest { suite: ItemsSuite::Stored(suite), runs: Vec::new(), metric: None, seed: 1 };
    state.read(move |app| app.create_suspects_task(&asked)).await.map(Json)
}
