//! Outcomes of analyses as blocks: the one mapping that the report and the live dashboard share.
//!
//! [`of_analysis`] chooses the mapping by the kind of the outcome, never by the name of a suite.
//!
//! - `build`: short forms of blocks. Read it first.
//! - `changes/`, `judging/`, `samples/`: a file for each kind of outcome, in the folders of `markdown/`.
//! - `cost`: tokens and money of a run.
//! - `plain`: the table of an outcome without a mapping of its own.

pub(crate) mod build;
pub(crate) mod changes;
pub(crate) mod cost;
pub(crate) mod judging;
mod plain;
pub(crate) mod samples;

use karat_analysis::{AnalysisResult, Outcome};
use karat_page::Block;

use crate::shared::report::Report;

/// Returns true for outcomes that belong to the analyses of a report: not for those that another section shows, nor for
/// those that found nothing to say.
pub(crate) fn is_of_analyses(analysed: &AnalysisResult) -> bool {
    match &analysed.outcome {
        Outcome::Leaderboards(_) | Outcome::Errors(_) | Outcome::Failures(_) | Outcome::Notes(_) => false,
        Outcome::EvidencePosition(found) => !found.effects.is_empty(),
        Outcome::Grading(found) => {
            found.shared_cells + found.single_judge_cells > 0 || !found.failing_judges.is_empty()
        }
        Outcome::Services(found) => !found.versions.is_empty() || !found.models.is_empty(),
        _ => true,
    }
}

/// Returns the panels of the outcomes that are chosen.
pub(crate) fn of_outcomes(report: Report<'_>, is_chosen: fn(&Outcome) -> bool) -> Vec<Block> {
    let chosen = report.findings.analyses.iter().filter(|it| is_chosen(&it.outcome));
    chosen.flat_map(|it| of_analysis(report, it)).collect()
}

/// Returns the remarks of judges that changed, for each delta: the most frequent, and the others for a reader who opens them.
pub(crate) fn changed_remarks(report: Report<'_>) -> Vec<(Block, Vec<Block>)> {
    let found = report.findings.analyses.iter().filter_map(|it| match &it.outcome {
        Outcome::Delta(delta) => Some((it, changes::delta::moved_texts(delta))),
        _ => None,
    });
    found
        .filter_map(|(analysed, blocks)| {
            let mut blocks = blocks.into_iter().map(|block| block.of_analysis(&analysed.id));
            Some((blocks.next()?, blocks.collect()))
        })
        .collect()
}

/// Returns the panels of an outcome: at least one.
pub fn of_analysis(report: Report<'_>, analysed: &AnalysisResult) -> Vec<Block> {
    let blocks = match &analysed.outcome {
        Outcome::Delta(found) => changes::delta::blocks(report, found),
        Outcome::Drift(found) => changes::drift::blocks(found),
        Outcome::Power(found) => changes::power::blocks(report, found),
        Outcome::Ranking(found) => changes::ranking::blocks(found),
        Outcome::Leaderboards(_) => changes::leaderboards::blocks(report),
        Outcome::Agreement(found) => judging::agreement::blocks(report, found),
        Outcome::Calibration(found) => judging::calibration::blocks(found),
        Outcome::Cascades(found) => judging::cascade::blocks(report, found),
        Outcome::EvidencePosition(found) => judging::evidence_position::blocks(report, found),
        Outcome::Grading(found) => judging::grading::blocks(found),
        Outcome::HumanAnchor(found) => judging::human_anchor::blocks(report, found),
        Outcome::JudgeBias(found) => judging::judge_bias::blocks(report, found),
        Outcome::Failures(found) => samples::failures::blocks(report, found),
        Outcome::Errors(found) => samples::errors::blocks(report, found),
        Outcome::Notes(found) => samples::notes::blocks(found),
        Outcome::MissingItems(found) => samples::missing_items::blocks(found),
        Outcome::Slices(found) => samples::slices::blocks(report, found),
        Outcome::Balance(found) => samples::balance::blocks(found),
        Outcome::SummaryCorpus(found) => samples::corpus::blocks(report, found),
        Outcome::Diagnostics(found) => samples::diagnostics::blocks(&analysed.id, found),
        // A new analysis is a table until it has a mapping of its own.
        other => plain::blocks(&plain::title(&analysed.analysis), other),
    };
    blocks.into_iter().map(|block| block.of_analysis(&analysed.id)).collect()
}
