//! Pages of a list whose ids grow with time. A page begins behind an id, so it stays while rows are added or changed.

use axum::Json;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderMap, HeaderValue, Uri, header};
use karat_app::{App, AppError};
use serde::Serialize;
use serde_json::json;

use crate::api::query::Query;
use crate::problem::Problem;
use crate::state::State;
use crate::target::encode;

const CURSOR: &str = "the `next` of an earlier page";

/// Reads rows of a store: those in a state, before an id, at most so many.
type ReadRows<T> = fn(&App, Option<&str>, Option<&str>, usize) -> Result<Vec<T>, AppError>;

/// The list of an endpoint.
pub(super) struct PagedList<T> {
    /// Its address.
    pub path: &'static str,
    /// Values of `state`.
    pub states: &'static [(&'static str, &'static str)],
    /// The rows in a state before an id, the newest first.
    pub rows: ReadRows<T>,
    /// The id of a row.
    pub id: fn(&T) -> &str,
}

impl<T: Serialize + Send + 'static> PagedList<T> {
    /// The page that an address asks for.
    pub async fn answer(self, state: State, uri: Uri) -> Result<Response, Problem> {
        let query = Query::read(&uri, &["state", "limit", "cursor"])?;
        let limit = query.page_limit()?;
        let wanted = query.choose("state", self.states)?;
        let before = query.value_if_given("cursor", CURSOR)?.map(id_of_cursor).transpose()?;
        let rows = self.rows;
        let mut items = state.read(move |app| rows(app, wanted, before.as_deref(), limit + 1)).await?;
        let has_more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| has_more).map(|last| URL_SAFE_NO_PAD.encode((self.id)(last)));
        let mut headers = HeaderMap::new();
        if let Some(cursor) = &next {
            let kept =
                ["state", "limit"].iter().filter_map(|name| Some(format!("{name}={}&", encode(query.get(name)?))));
            let link = format!("<{}?{}cursor={cursor}>; rel=\"next\"", self.path, kept.collect::<String>());
            headers.extend(HeaderValue::try_from(link).ok().map(|link| (header::LINK, link)));
        }
        Ok((headers, Json(json!({ "items": items, "next": next }))).into_response())
    }
}

/// The id behind which a page begins.
fn id_of_cursor(cursor: &str) -> Result<String, Problem> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok();
    let id = bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .filter(|id| id.starts_with("inc_") || id.starts_with("msg_"));
    id.ok_or_else(|| Problem::bad_request(format!("`cursor` must be {CURSOR}")))
}
