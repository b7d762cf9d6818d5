//! The page of a run: while it runs the live page, then its verdict and all that explains it.

use axum::extract::Path;
use karat_app::{AppError, ComparedParts, RunPage};
use karat_page::component::shell::NavLink;
use karat_page::component::table::link;
use karat_page::number::{count, count_noun};
use karat_page::text::visible::{Words, line};
use karat_page::{Document, Markup, html};

use crate::api::RunObject;
use crate::pages::parts::query::Query;
use crate::pages::{PageResult, live};
use crate::state::State;
use crate::target::{Target, encode};

pub(super) async fn run(state: State, Path(run): Path<String>) -> PageResult {
    let run = RunObject::read(&state, run).await?;
    let id = run.state.run_id.clone();
    if run.state.status == "running" {
        return live::page(&state, id).await;
    }
    if run.state.started_at.is_none() || run.state.cells.done == 0 {
        return Ok(waiting_page(&run).into());
    }
    let (page, parts) = state
        .read(move |app| Ok::<_, AppError>((app.reports().run_page(&id)?, app.analysis().compared_parts(&id)?)))
        .await?;
    Ok(document(&run, &page, &parts).into())
}

/// The page of a run that waits, or that has ended before its first cell.
fn waiting_page(run: &RunObject) -> Document {
    let id = &run.state.run_id;
    let mut document = Document::new("page-waiting", id, unfinished_notice(run));
    document.breadcrumbs = vec![NavLink::new("Runs", "/"), NavLink { is_current: true, ..NavLink::new(id, "") }];
    document
}

/// The page of the report, with what only the dashboard knows: the state of an unfinished run, and links to other pages.
fn document(run: &RunObject, page: &RunPage, parts: &ComparedParts) -> Document {
    let id = &run.state.run_id;
    let body = html! {
        (links(id, &run.state.suite, page, parts))
        (unfinished_notice(run))
        (page.document.body)
    };
    Document {
        breadcrumbs: vec![NavLink::new("Runs", "/"), NavLink { is_current: true, ..NavLink::new(id, "") }],
        keys: vec![("c".to_owned(), "compare with the run before".to_owned())],
        body,
        ..page.document.clone()
    }
}

fn links(id: &str, suite: &str, page: &RunPage, parts: &ComparedParts) -> Markup {
    let path = Target::Run(id.to_owned()).path();
    // Two are compared at once; the page offers the others.
    let within = |of: &str, names: &[String]| match names {
        [first, second, ..] => {
            let query = Query::default().with("a", first).with("b", second).with("of", of).with("run", id);
            html! { li { a data-testid={ "compare-" (of) } href=(query.href("/compare")) { "Compare " (of) "s" } } }
        }
        _ => html! {},
    };
    let report = |format: &str| format!("/eval{path}/report?format={format}");
    html! {
        nav.page-links aria-label="This run" {
            ul {
                li { (link("All cells", &format!("{path}/cells"))) }
                (within("variant", &parts.variants))
                (within("model", &parts.models))
                @if let Some(previous) = &page.previous {
                    li {
                        a data-testid="compare-link" href=(Target::Comparison(previous.clone(), id.to_owned()).path()) {
                            "Compare with the run before"
                        }
                    }
                }
                @if let Some(suite) = &page.dated_suite {
                    li { a data-go="go-series" href={ "/series/" (encode(suite)) } { "All days of the suite" } }
                }
                li { a href=(Query::default().with("suite", suite).href("/")) { "All runs of the suite" } }
                li { a href={ "/suites/" (encode(suite)) "/items" } { "Test set" } }
                li { (link("report.md", &report("md"))) }
                li { (link("report.json", &report("json"))) }
            }
        }
    }
}

/// The part that is missing of a run that has not completed, and why.
fn unfinished_notice(run: &RunObject) -> Markup {
    let state = &run.state;
    let cells = state.cells;
    html! {
        @if state.status != "completed" || run.problem().is_some() {
            div.state role="status" data-testid="unfinished" {
                p {
                    @if state.status == "failed" { "This run failed; the reasons stand below. " }
                    @else { "This run is " (line(&state.status.replace('_', " "))) ". " }
                    @if cells.done == cells.planned { "All " (count_noun(cells.planned, "cell")) " were run." }
                    @else { (count(cells.done)) " of " (count_noun(cells.planned, "cell")) " were run." }
                    @if cells.done < cells.planned && state.status != "queued" { " " code { "karat resume " (line(&state.run_id)) } " makes the others." }
                }
                @if let Some(problem) = run.problem() { p { (Words(problem)) } }
            }
        }
    }
}
