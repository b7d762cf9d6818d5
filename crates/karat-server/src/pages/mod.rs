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
//! | `traces` | `/service/traces`: what have applications sent? `…/DATASET` a day of calls, `…/DATASET/trace?id=T` one trace |
//! | `service` | `/service`: what runs by itself, what is wrong, was everybody told? |
//! | `annotate` | `/annotate`: tasks for people; `/annotate/TASK` to label, `…/owner` to watch, `…/adjudicate` to decide |
//! | here | `/_style`: every component and chart in every state, under `karat view --style` |
//!
//! `assets` serves style, script and font. `parts/` is what several pages share, `query` among it, which reads and writes the state of a page in its address.
//!
//! `routes` lists the pages. A page's handler reads data through [`State::read`](crate::state::State::read) and returns
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
mod suite;
mod trace;
mod traces;

use axum::response::{Html, IntoResponse, Response};
use karat_app::Role;
use karat_page::Document;

use crate::problem::Problem;
use crate::route::Route;
use crate::settings::Purpose;

/// The routes of the pages and of the files that they load.
pub(crate) fn routes(purpose: Purpose) -> Vec<Route> {
    let mut routes = vec![
        Route::page("/", Role::Read, runs::runs),
        Route::page("/compare/runs", Role::Read, runs::compare),
        Route::page("/compare", Role::Read, compare::compare),
        Route::page("/runs/{run}", Role::Read, run::run),
        Route::page("/runs/{run}/cells", Role::Read, cells::cells),
        Route::page("/runs/{run}/sample", Role::Read, sample::sample),
        Route::page("/runs/{run}/cell", Role::Read, trace::cell),
        Route::page("/blobs/{digest}", Role::Read, trace::blob),
        Route::page("/series/{suite}", Role::Read, suite::series::series),
        Route::page("/suites/{suite}/items", Role::Read, suite::items::items),
        Route::page("/service", Role::Read, service::service),
        Route::page("/service/traces", Role::Read, traces::datasets),
        Route::page("/service/traces/{dataset}", Role::Read, traces::dataset),
        Route::page("/service/traces/{dataset}/trace", Role::Read, traces::trace),
        // An annotator sees the queue only: every other page shows where items come from.
        Route::page("/annotate", Role::Run, annotate::tasks),
        Route::page("/annotate/{task}", Role::Annotate, annotate::label),
        Route::page("/annotate/{task}/owner", Role::Run, annotate::owner),
        Route::page("/annotate/{task}/adjudicate", Role::Run, annotate::adjudicate),
        Route::page("/assets/{name}", None, assets::asset),
    ];
    if matches!(purpose, Purpose::View { style: true }) {
        routes.push(Route::page("/_style", Role::Read, async || Page::from(karat_page::style_page())));
    }
    routes
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
