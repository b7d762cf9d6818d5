//! How far a run is, as the live page shows it: when it is loaded, and in the events that follow.

use karat_app::{CellLine, Progress};
use karat_page::component::live::{LiveRun, cell_texts};
use karat_types::CellStatus;

/// The figures of a run.
pub(crate) fn run(id: &str, progress: &Progress) -> LiveRun {
    let cells = progress.cells;
    LiveRun {
        run: id.to_owned(),
        done: cells.done,
        planned: cells.planned,
        errors: cells.errors,
        unscored: cells.unscored,
        cached: cells.cached,
        per_second: progress.cells_per_s,
        remaining: progress.eta_range_s,
        spent: progress.spend_usd,
        budget: progress.budget_usd,
        codes: progress.codes.iter().map(|(code, count)| (code.clone(), *count)).collect(),
    }
}

/// The texts of a finished cell: its sample, its system, its result.
pub(crate) fn cell(line: &CellLine) -> [String; 3] {
    let system = match &line.model {
        Some(model) => format!("{model}/{}", line.variant),
        None => line.variant.clone(),
    };
    let system = if line.trial > 0 { format!("{system}, trial {}", line.trial + 1) } else { system };
    let is_unscored = line.scores.values().any(karat_types::Score::is_unscored);
    let result = match (line.status, &line.error) {
        (CellStatus::Error, Some(error)) => format!("error: {}", error.code),
        (CellStatus::Error, None) => "error".to_owned(),
        (CellStatus::Skipped, _) => "skipped".to_owned(),
        (CellStatus::Ok, _) if is_unscored => "unscored".to_owned(),
        (CellStatus::Ok, _) => "ok".to_owned(),
    };
    cell_texts(&line.sample, &system, &result)
}
