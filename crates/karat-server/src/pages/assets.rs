//! Style, script and font under names that contain their hash, so that browsers keep them for good.

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use http::header;
use karat_page::assets::{Asset, live};

use crate::problem::Problem;

/// The folder of the assets, as pages write it.
pub(crate) const BASE: &str = "/assets/";

pub(super) async fn asset(Path(name): Path<String>) -> Result<Response, Problem> {
    let assets = live();
    let (style, script) = &assets.annotate;
    let all: [&'static Asset; 5] = [&assets.style, &assets.script, &assets.font, style, script];
    let found = all.into_iter().find(|asset| asset.name == name);
    let asset =
        found.ok_or_else(|| Problem::not_found("the file is of another version of karat: load the page again"))?;
    let headers =
        [(header::CONTENT_TYPE, asset.media_type), (header::CACHE_CONTROL, "public, max-age=31536000, immutable")];
    Ok((headers, asset.bytes.as_slice()).into_response())
}
