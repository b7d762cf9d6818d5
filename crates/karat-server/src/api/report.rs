//! `GET /eval/runs/{id}/report`: what `karat report` writes.

use axum::Extension;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, header};
use karat_app::Outputs;
use karat_types::ReportFormat;

use crate::problem::Problem;
use crate::route::query::Query;
use crate::state::State;

pub(super) async fn report(
    state: State,
    Path(run): Path<String>,
    Extension(query): Extension<Query>,
) -> Result<Response, Problem> {
    let formats = ReportFormat::ALL.map(|format| (format.name(), format));
    let format = query.choose("format", &formats)?.unwrap_or(ReportFormat::Json);
    let is_canonical = query.choose("canonical", &[("1", true), ("0", false)])?.unwrap_or_default();
    let bytes = state.read(move |app| {
        let mut bytes = Vec::new();
        app.reports().export(&run, format, Outputs::default(), is_canonical, &mut bytes).map(|_| bytes)
    });
    let kind = HeaderValue::from_static(format.media_type());
    let mut response = ([(header::CONTENT_TYPE, kind)], bytes.await?).into_response();
    if format == ReportFormat::Html {
        // The page is one file: its own style and script, and nothing else.
        let policy = format!("{}; frame-ancestors 'none'", karat_page::assets::inline_policy());
        let name = HeaderName::from_static("content-security-policy");
        response.headers_mut().extend(HeaderValue::try_from(policy).ok().map(|policy| (name, policy)));
    }
    Ok(response)
}
