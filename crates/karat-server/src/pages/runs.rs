//! The list of runs (DB-10).

use axum::Router;
use axum::routing::get;
use karat_app::RunLine;
use karat_page::block::Empty;
use karat_page::component::state;
use karat_page::component::table::link;
use karat_page::{Document, Markup, html};

use crate::pages::PageResult;
use crate::state::State;

/// Runs on one page.
const ROWS: usize = 50;

pub(super) fn router() -> Router<State> {
    Router::new().route("/", get(runs))
}

async fn runs(state: State) -> PageResult {
    let runs = state.read(|app| app.runs(ROWS)).await?;
    Ok(Document::new("page-runs", "Runs", list(&runs)).into())
}

fn list(runs: &[RunLine]) -> Markup {
    if runs.is_empty() {
        let reason = Some("There is no run yet.".to_owned());
        return state::empty(&Empty { reason, command: Some("karat init faq && karat run faq".to_owned()) });
    }
    html! {
        ul {
            @for run in runs { li data-testid="run-row" { (link(&run.id, &format!("/runs/{}", run.id))) " " (run.status) } }
        }
    }
}
