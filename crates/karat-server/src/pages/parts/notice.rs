//! Remarks on the state of a run: unfinished, without cells, all in error, not indexed yet.

use karat_app::{CellFlag, RunView};
use karat_page::block::Empty;
use karat_page::component::state;
use karat_page::number::{count, count_noun};
use karat_page::text::visible::line;
use karat_page::{Document, Markup, html};
use karat_types::RunStatus;

use crate::pages::parts::address;
use crate::pages::parts::query::Query;

/// The remarks on a run: at most one of each kind. Empty for a finished run with outputs.
pub(in crate::pages) fn of_run(view: &RunView) -> Markup {
    let run = &view.header.id;
    let (there, planned) = (view.index.len() as u64, view.header.planned_cells());
    let errors = view.count_flag(CellFlag::Error);
    html! {
        @match view.header.status {
            RunStatus::Finished => {},
            RunStatus::Running => p.notices role="status" data-testid="unfinished" {
                "The run is under way: " (count(there)) " of " (count_noun(planned, "cell")) " are there. Load the page again to see more."
            },
            RunStatus::Interrupted => (unfinished_notice(run, "was interrupted", there, planned)),
            RunStatus::BudgetStopped => (unfinished_notice(run, "stopped at its budget or its maximum of calls", there, planned)),
        }
        @if there > 0 && errors == there {
            div data-testid="all-errored" {
                (state::error(
                    &format!("All {} ended in an error, so there is no output to read.", count_noun(there, "cell")),
                    Some(&format!("Each row says why. Fix the cause, then `karat retry {run}` makes them again.")),
                    None,
                ))
            }
        }
    }
}

fn unfinished_notice(run: &str, how: &str, there: u64, planned: u64) -> Markup {
    html! {
        p.notices role="status" data-testid="unfinished" {
            "The run " (how) ": " (count(there)) " of " (count_noun(planned, "cell")) " are there. "
            code { "karat resume " (line(run)) } " makes the rest."
        }
    }
}

/// The state of a run without any cell.
pub(in crate::pages) fn no_cells(view: &RunView) -> Markup {
    let run = &view.header.id;
    let command = match view.header.status {
        RunStatus::Finished => "karat plan".to_owned(),
        _ => format!("karat resume {run}"),
    };
    let reason = match view.header.status {
        RunStatus::Finished => "The run has no cell: its dataset has no row that its conditions let pass.",
        _ => "The run has no cell yet.",
    };
    state::empty(&Empty { reason: Some(reason.to_owned()), command: Some(command) })
}

/// The page of a run whose index is being built: it loads itself again.
pub(in crate::pages) fn building(name: &str, title: &str, run: &str, cells: u64) -> Document {
    let body = html! {
        div.state role="status" data-testid="building-state" {
            p { "The " (count_noun(cells, "cell")) " of this run are read for the first time. The page loads again by itself." }
            p { a href=(address::cells(run, &Query::default())) { "Show the cells" } }
            k-reload {}
        }
    };
    Document::new(name, title, body)
}
