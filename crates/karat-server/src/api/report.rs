//! `GET /eval/runs/{id}/report`: what `karat report` writes.

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, Uri, header};
use karat_app::{Format, Outputs};

use crate::api::query::Query;
use crate::problem::Problem;
use crate::state::State;

const FORMATS: [(&str, Format); 7] = [
    ("json", Format::Json),
    ("md", Format::Markdown),
    ("html", Format::Html),
    ("junit", Format::Junit),
    ("cells", Format::Cells),
    ("csv", Format::Csv),
    ("comment", Format::Comment),
];

pub(super) async fn report(state: State, Path(run): Path<String>, uri: Uri) -> Result<Response, Problem> {
    let query = Query::read(&uri, &["format", "canonical"])?;
    let format = query.choose("format", &FORMATS)?.unwrap_or(Format::Json);
    let is_canonical = query.choose("canonical", &[("1", true), ("0", false)])?.unwrap_or_default();
    let bytes = state.read(move |app| {
        let mut bytes = Vec::new();
        app.export(&run, format, Outputs::default(), is_canonical, &mut bytes).map(|_| bytes)
    });
    let kind = HeaderValue::from_static(media_type(format));
    let mut response = ([(header::CONTENT_TYPE, kind)], bytes.await?).into_response();
    if format == Format::Html {
        // The page is one file: its own style and script, and nothing else.
        let policy = format!("{}; frame-ancestors 'none'", karat_page::assets::inline_policy());
        let name = HeaderName::from_static("content-security-policy");
        response.headers_mut().extend(HeaderValue::try_from(policy).ok().map(|policy| (name, policy)));
    }
    Ok(response)
}

fn media_type(format: Format) -> &'static str {
    match format {
        Format::Json => "application/json",
        Format::Markdown | Format::Comment => "text/markdown; charset=utf-8",
        Format::Html => "text/html; charset=utf-8",
        Format::Junit => "application/xml",
        Format::Cells => "application/x-ndjson",
        Format::Csv => "text/csv; charset=utf-8",
    }
}
