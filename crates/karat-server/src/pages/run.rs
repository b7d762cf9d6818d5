//! The page of a run (DB-11): while it runs the live page, then its verdict.

use axum::Router;
use axum::extract::Path;
use axum::routing::get;
use karat_page::component::shell::NavLink;
use karat_page::component::verdict::{Verdict, mark};
use karat_page::number::{count, count_noun, usd};
use karat_page::text::visible::line;
use karat_page::{Document, Markup, html};

use crate::api::RunObject;
use crate::pages::{PageResult, live};
use crate::state::State;
use crate::target::encode;

pub(super) fn router() -> Router<State> {
    Router::new().route("/runs/{run}", get(run))
}

async fn run(state: State, Path(run): Path<String>) -> PageResult {
    let run = RunObject::read(&state, run).await?;
    if run.state.status == "running" {
        return live::page(&state, run.state.run_id).await;
    }
    let id = &run.state.run_id;
    let mut document = Document::new("page-run", id, summary(&run));
    document.crumbs = vec![NavLink::new("Runs", "/"), NavLink { is_current: true, ..NavLink::new(id, "") }];
    Ok(document.into())
}

fn summary(run: &RunObject) -> Markup {
    let state = &run.state;
    let verdict = match (state.verdict, state.status) {
        (Some("pass"), _) => Some(Verdict::Pass),
        (Some("fail"), _) => Some(Verdict::Fail),
        (Some(_), _) => Some(Verdict::Undecided),
        (None, "failed") => Some(Verdict::Error),
        (None, _) => None,
    };
    let id = encode(&state.run_id);
    let cells = state.cells;
    html! {
        div.verdict-line data-testid="verdict" data-verdict=[verdict.map(Verdict::word)] {
            @if let Some(verdict) = verdict { (mark(verdict)) }
            p {
                (line(&state.suite)) ": " (line(state.status)) ", "
                (count(cells.done)) " of " (count_noun(cells.planned, "cell")) ", "
                (count_noun(cells.errors, "error")) ", " (count(cells.unscored)) " unscored, " (usd(Some(state.spend_usd)))
            }
        }
        @if let Some(problem) = run.problem() { p { (line(problem)) } }
        p.chips {
            a.button href={ "/runs/" (id) "/cells" } { "Cells" }
            a.button href={ "/eval/runs/" (id) "/report?format=html" } { "Report" }
        }
    }
}
