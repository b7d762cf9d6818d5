//! Lists, and pages of lists whose ids grow with time: such a page begins behind an id, so it stays while rows are added or
//! changed.

use axum::response::{IntoResponse, Response};
use std::borrow::Cow;

use axum::{Extension, Json};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderMap, HeaderValue, header};
use karat_app::{App, AppError};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use crate::problem::Problem;
use crate::route::query::Query;
use crate::state::State;
use crate::target::encode;

/// The form of a cursor.
pub(super) const CURSOR: &str = "the `next` of an earlier page";

/// All objects of a kind.
#[derive(Debug, Serialize)]
pub(super) struct List<T> {
    pub items: Vec<T>,
}

/// By hand, because the names of lists are known to clients: a list of `SuiteLine` is a `SuiteList`.
impl<T: JsonSchema> JsonSchema for List<T> {
    fn schema_name() -> Cow<'static, str> {
        let name = T::schema_name();
        format!("{}List", name.trim_end_matches("Line").trim_end_matches("Dataset")).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let items = generator.subschema_for::<Vec<T>>();
        json_schema!({ "type": "object", "properties": { "items": items }, "required": ["items"] })
    }
}

/// A page of objects.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}Page")]
pub(super) struct Page<T> {
    pub items: Vec<T>,
    /// The `cursor` of the next page.
    pub next: Option<String>,
}

impl<T: Serialize> Page<T> {
    /// The answer to a query, with a link to the next page.
    pub fn answer(self, path: &str, query: &Query) -> Response {
        let mut headers = HeaderMap::new();
        if let Some(cursor) = &self.next {
            let link = format!("<{path}?{}cursor={}>; rel=\"next\"", query.without("cursor"), encode(cursor));
            headers.extend(HeaderValue::try_from(link).ok().map(|link| (header::LINK, link)));
        }
        (headers, Json(self)).into_response()
    }
}

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
    pub async fn answer(self, state: State, Extension(query): Extension<Query>) -> Result<Response, Problem> {
        let limit = query.page_limit()?;
        let wanted = query.choose("state", self.states)?;
        let before = query.value_if_given("cursor", CURSOR)?.map(id_of_cursor).transpose()?;
        let rows = self.rows;
        let mut items = state.read(move |app| rows(app, wanted, before.as_deref(), limit + 1)).await?;
        let has_more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| has_more).map(|last| URL_SAFE_NO_PAD.encode((self.id)(last)));
        Ok(Page { items, next }.answer(self.path, &query))
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
