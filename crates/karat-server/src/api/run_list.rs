//! `GET /eval/runs`: stored runs, newest first, in pages that stay while runs are added.

use axum::Extension;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use karat_app::{ListPlace, RunFilter};

use crate::api::listing::{CURSOR, Page};
use crate::api::run_object::RunObject;
use crate::problem::Problem;
use crate::route::query::Query;
use crate::state::State;

const STATUSES: [(&str, &str); 7] = [
    ("queued", "queued"),
    ("running", "running"),
    ("completed", "completed"),
    ("failed", "failed"),
    ("cancelled", "cancelled"),
    ("interrupted", "interrupted"),
    ("budget_stopped", "budget_stopped"),
];

/// Runs that are read for one page at a time. A rare status takes several times.
const AT_ONCE: usize = 50;

/// Runs that one request looks at. A page may have fewer runs than its limit and still a next page.
const MOST: usize = 1_000;

pub(super) async fn list(state: State, Extension(query): Extension<Query>) -> Result<Response, Problem> {
    let limit = query.page_limit()?;
    let status = query.choose("status", &STATUSES)?;
    let since = query.value_if_given("since", "a date such as `2026-01-31`")?;
    let text = |name: &str| query.get(name).map(str::to_owned);
    let filter = RunFilter { suite: text("suite"), trigger: text("trigger"), since: since.map(str::to_owned) };
    let mut before = query.value_if_given("cursor", CURSOR)?.map(place_of_cursor).transpose()?;
    let mut items: Vec<(RunObject, ListPlace)> = Vec::new();
    let mut looked_at = 0;
    let next = loop {
        let (filter, from) = (filter.clone(), before);
        let (runs, last) = state.read(move |app| app.service().run_states(&filter, from, AT_ONCE)).await?;
        let matching = runs.into_iter().map(|(run, place)| (RunObject::new(&state, run), place));
        items.extend(matching.filter(|(run, _)| status.is_none_or(|status| run.state.status == status)));
        if items.len() > limit {
            items.truncate(limit);
            break items.last().map(|(_, place)| *place);
        }
        looked_at += AT_ONCE;
        match last {
            None => break None,
            Some(last) if looked_at >= MOST => break Some(last),
            last => before = last,
        }
    };
    let next = next.map(|place| URL_SAFE_NO_PAD.encode(format!("{}.{}.{}", place.newest, place.row, place.queued)));
    let items = items.into_iter().map(|(run, _)| run).collect();
    Ok(Page { items, next }.answer("/eval/runs", &query))
}

/// The place behind which a page begins.
fn place_of_cursor(cursor: &str) -> Result<ListPlace, Problem> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let mut numbers = text.splitn(3, '.').map(|number| number.parse::<i64>().ok());
    let mut number = || numbers.next().flatten();
    let place = number().zip(number()).zip(number());
    let place = place.map(|((newest, row), queued)| ListPlace { newest, row, queued });
    place.ok_or_else(|| Problem::bad_request(format!("`cursor` must be {CURSOR}")))
}
