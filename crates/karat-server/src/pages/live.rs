//! A run while it runs: how far, how much, stop?

use karat_page::Document;
use karat_page::component::live::{LiveLinks, ROWS, panel};
use karat_page::component::shell::NavLink;

use crate::live_text;
use crate::pages::PageResult;
use crate::state::State;
use crate::target::{Target, encode};

/// The page of a run that is not over.
pub(super) async fn page(state: &State, run: String) -> PageResult {
    let (run, figures, last) = state
        .read(move |app| {
            let mut follower = app.views().follow(&run)?;
            let look = follower.look()?;
            let mut last = Vec::new();
            for cell in look.finished.iter().rev().take(ROWS) {
                last.extend(follower.cell(cell.ordinal)?.map(|line| (cell.ordinal, live_text::cell(&line))));
            }
            Ok::<_, karat_app::AppError>((
                follower.run().to_owned(),
                live_text::run(follower.run(), &look.progress),
                last,
            ))
        })
        .await?;
    let id = encode(&run);
    let links = LiveLinks {
        events: format!("/eval/runs/{id}/events?cells=latest"),
        // Only the process that runs it can stop it.
        cancel: state.runs().is_running(&run).then(|| format!("/eval/runs/{id}/cancel")),
        cell: format!("/runs/{id}/cell?n="),
        page: Target::Run(run.clone()).path(),
    };
    let mut document = Document::new("page-live", &run, panel(&figures, &links, &last));
    document.breadcrumbs = vec![NavLink::new("Runs", "/"), NavLink { is_current: true, ..NavLink::new(&run, "") }];
    Ok(document.into())
}
