//! The dashboard: a file a page.
//!
//! | file | page |
//! |---|---|
//! | `runs` | `/`: what ran, what is red |
//! | `run` | `/runs/R`: better, worse or unknown; `live` while it runs: how far, how much, stop? |
//! | `compare` | `/compare?a=A&b=B`: did it change, and where? |
//! | `cells` | `/runs/R/cells`: which cells do I read? |
//! | `sample` | `/runs/R/sample?id=S`: what did each system say to this? |
//! | `trace` | `/runs/R/cell?n=N`: what was sent and returned? |
//! | `suite/series` | `/series/SUITE`: is a dated suite slipping? |
//! | `suite/items` | `/suites/SUITE/items`: which test items say nothing, or may be wrong? |
//! | `service` | `/service`: what runs by itself, what is wrong, was everybody told? |
//! | `annotate` | `/annotate`: tasks for people; `/annotate/TASK` to label, `…/owner` to watch, `…/adjudicate` to decide |
//! | `style` | `/_style`: every component and chart in every state, under `karat view --style` |
//!
//! `assets` serves style, script and font. `parts/` is what several pages share, `query` among it, which reads and writes the state of a page in its address.
//!
//! A page's file has one `router`. Its handler reads data through [`State::read`](crate::state::State::read) and returns
//! a document; problems become the error page in `answer`.

mod annotate;
pub(crate) mod assets;
mod cells;
mod compare;
mod live;
mod parts;
mod run;
mod runs;
mod sample;
mod service;
mod style;
mod suite;
mod trace;

use axum::Router;
use axum::response::{Html, IntoResponse, Response};
use karat_page::Document;

use crate::problem::Problem;
use crate::settings::Purpose;
use crate::state::State;

/// The routes of the pages.
pub(crate) fn router(state: &State) -> Router<State> {
    let pages = Router::new()
        .merge(runs::router())
        .merge(run::router())
        .merge(compare::router())
        .merge(cells::router())
        .merge(sample::router())
        .merge(trace::router())
        .merge(suite::router())
        .merge(service::router())
        .merge(annotate::router());
    match state.settings().purpose {
        Purpose::View { style: true } => pages.merge(style::router()),
        Purpose::View { style: false } | Purpose::Serve { .. } => pages,
    }
}

/// A page as an answer.
pub(crate) struct Page(Document);

/// The result of the handler of a page.
pub(crate) type PageResult = Result<Page, Problem>;

impl From<Document> for Page {
    fn from(document: Document) -> Self {
        Self(document)
    }
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        Html(self.0.to_live(assets::BASE)).into_response()
    }
}
