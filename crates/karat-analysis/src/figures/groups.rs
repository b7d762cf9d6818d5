//! The groups that have figures: every system, model and variant, and the whole run.

use std::ops::AddAssign;

use karat_types::{
    CellError, CellRow, CellStatus, InvalidReplyAction, JudgmentRow, MetricSpec, Moment, PlanHeader, Score, ScorerKind,
};
use serde::Serialize;

use crate::figures::cost::Spend;
use crate::figures::spread::Spread;
use crate::score::consensus::CellScores;
use crate::score::instrument::served_models::ServedModel;

/// Numbers of cells by their outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct CellCounts {
    /// Cells with a row.
    pub cells: u64,
    /// Cells that have an output.
    pub ok: u64,
    /// Cells without an output.
    pub errors: u64,
    /// Cells skipped by a condition.
    pub skipped: u64,
    /// Cells that were stopped, or whose output waits for a judge; `resume` completes them.
    pub stopped: u64,
    /// Cells with at least one failed score.
    pub unscored: u64,
    /// Cells for which all judges of some rubric failed or did not run.
    pub unjudged: u64,
    /// Cells whose text exceeds the context window of all these judges; a retry does not help.
    pub unfit: u64,
    /// Cells whose output was reused from an earlier run.
    pub reused: u64,
    /// Judgments.
    pub judgments: u64,
    /// Judgments reused from an earlier run.
    pub judgments_reused: u64,
    /// Start of the run that made the oldest reused output or judgment.
    pub oldest_reused: Option<Moment>,
    /// Cells with an output whose time is known, and the sum of their times in microseconds.
    #[serde(skip)]
    pub(crate) timed: (u64, u64),
}

impl CellCounts {
    /// The counts of one cell.
    pub(crate) fn of(plan: &PlanHeader, row: &CellRow<'_>, scores: &CellScores) -> Self {
        let stopped = row.cell.error.as_ref().is_some_and(CellError::is_stop);
        let is = |holds: bool| u64::from(holds);
        Self {
            cells: 1,
            ok: is(row.cell.status == CellStatus::Ok),
            errors: is(row.cell.status == CellStatus::Error && !stopped),
            skipped: is(row.cell.status == CellStatus::Skipped),
            stopped: is(stopped),
            unscored: is(row.cell.status == CellStatus::Ok && scores.any_unscored()),
            unjudged: is(row.cell.status == CellStatus::Ok && is_unjudged(plan, row.judgments)),
            unfit: is(row.cell.status == CellStatus::Ok && is_unfit(row.judgments)),
            reused: is(row.cell.reused),
            judgments: row.judgments.iter().filter(|judgment| judgment.is_asked()).count() as u64,
            judgments_reused: row.judgments.iter().filter(|judgment| judgment.reused).count() as u64,
            oldest_reused: row.judgments.iter().filter_map(|it| it.made_at).chain(row.cell.made_at).min(),
            timed: match row.cell.status {
                CellStatus::Ok if row.cell.latency_ms > 0.0 => (1, (1_000.0 * row.cell.latency_ms) as u64),
                _ => (0, 0),
            },
        }
    }

    /// The mean time of a cell with an output in milliseconds.
    pub fn mean_latency_ms(&self) -> Option<f64> {
        let (cells, micros) = self.timed;
        (cells > 0).then(|| micros as f64 / 1_000.0 / cells as f64)
    }

    /// Also counts the cell as stopped if its output waits for a judge, as it may in an unfinished run.
    pub(crate) fn with_waiting(self, plan: &PlanHeader, row: &CellRow<'_>, scores: &CellScores) -> Self {
        Self { stopped: self.stopped.max(u64::from(is_waiting(plan, row, scores))), ..self }
    }
}

/// Returns true if an output waits for a judge because the run stopped before the call.
fn is_waiting(plan: &PlanHeader, row: &CellRow<'_>, scores: &CellScores) -> bool {
    let waits = |metric: &MetricSpec, score: &Option<Score>| {
        let scorer = plan.scorers.get(metric.scorer);
        let is_judged =
            scorer.is_some_and(|it| matches!(&it.kind, ScorerKind::Rubric(rubric) if !rubric.judges.is_empty()));
        is_judged && score.is_none()
    };
    row.cell.status == CellStatus::Ok
        && plan.metrics.iter().zip(&scores.scores).any(|(metric, score)| waits(metric, score))
}

/// Returns true if all judges of some rubric failed. A judge with an unreadable reply did answer, unless the rubric
/// says `invalid: { then: error }`.
fn is_unjudged(plan: &PlanHeader, judgments: &[JudgmentRow]) -> bool {
    let failed = |judgment: &JudgmentRow| {
        let error = judgment.error.as_ref().filter(|error| !error.is_stop());
        error.is_some_and(|error| error.code != CellError::UNREADABLE || unreadable_is_error(plan, judgment.scorer))
    };
    let of_scorer = |scorer: u16| judgments.iter().filter(move |judgment| judgment.scorer == scorer);
    judgments.iter().any(|judgment| of_scorer(judgment.scorer).all(failed))
}

/// Returns true if the text of some rubric exceeds the context window of all its judges.
fn is_unfit(judgments: &[JudgmentRow]) -> bool {
    let is_too_long = |it: &JudgmentRow| it.error.as_ref().is_some_and(|error| error.code == CellError::CONTEXT);
    let of_scorer = |scorer: u16| judgments.iter().filter(move |judgment| judgment.scorer == scorer);
    judgments.iter().any(|judgment| of_scorer(judgment.scorer).all(is_too_long))
}

fn unreadable_is_error(plan: &PlanHeader, scorer: u16) -> bool {
    let kind = plan.scorers.get(usize::from(scorer)).map(|scorer| &scorer.kind);
    matches!(kind, Some(ScorerKind::Rubric(spec)) if spec.rubric.invalid.then == InvalidReplyAction::Error)
}

impl AddAssign for CellCounts {
    fn add_assign(&mut self, other: Self) {
        self.cells += other.cells;
        self.ok += other.ok;
        self.errors += other.errors;
        self.skipped += other.skipped;
        self.stopped += other.stopped;
        self.unscored += other.unscored;
        self.unjudged += other.unjudged;
        self.unfit += other.unfit;
        self.reused += other.reused;
        self.judgments_reused += other.judgments_reused;
        self.judgments += other.judgments;
        self.timed = (self.timed.0 + other.timed.0, self.timed.1 + other.timed.1);
        self.oldest_reused = self.oldest_reused.into_iter().chain(other.oldest_reused).min();
    }
}

/// A group of systems with its figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// `model/variant`, the model's or the variant's id; `all` for the run.
    pub id: String,
    /// The model's id, if all its systems share one.
    pub model: Option<String>,
    /// The variant's id, if all its systems share one.
    pub variant: Option<String>,
    /// Its systems, as indices into the plan.
    pub systems: Vec<usize>,
    /// Its cells by outcome.
    pub tally: CellCounts,
    /// Its figures by metric index.
    pub metrics: Vec<Spread>,
    /// Its tokens and money.
    pub spend: Spend,
    /// Model names that its providers reported; empty if none did.
    pub answered_as: Vec<ServedModel>,
}

/// Identity and systems of a group, before its figures are computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Members {
    pub(crate) id: String,
    pub(crate) model: Option<String>,
    pub(crate) variant: Option<String>,
    pub(crate) systems: Vec<usize>,
}

/// The whole run as one group.
pub(crate) fn whole_run(plan: &PlanHeader) -> Members {
    Members { id: "all".to_owned(), model: None, variant: None, systems: (0..plan.systems.len()).collect() }
}

/// Every system, in plan order.
pub(crate) fn systems(plan: &PlanHeader) -> Vec<Members> {
    (0..plan.systems.len())
        .map(|system| {
            let (model, variant) = system_names(plan, system);
            Members { id: system_id(plan, system), model, variant: Some(variant), systems: vec![system] }
        })
        .collect()
}

/// Every model that a system uses, in plan order.
pub(crate) fn models(plan: &PlanHeader) -> Vec<Members> {
    group_systems(plan, |model, _| model.clone(), |id| (Some(id), None))
}

/// Every variant, in plan order.
pub(crate) fn variants(plan: &PlanHeader) -> Vec<Members> {
    group_systems(plan, |_, variant| Some(variant.to_owned()), |id| (None, Some(id)))
}

/// Returns true if leaderboards rank variants: fewer than two models are compared.
pub(crate) fn ranks_variants(plan: &PlanHeader) -> bool {
    match models(plan).len() {
        0 => true,
        1 => plan.variants.len() > 1,
        _ => false,
    }
}

/// Returns true if a name is that of a system: its id, its model or its variant.
pub fn is_called(system: &str, name: &str) -> bool {
    let (model, variant) = system.rsplit_once('/').unwrap_or(("", system));
    [system, model, variant].contains(&name)
}

/// `model/variant`, or the variant if it calls no model.
pub fn system_id(plan: &PlanHeader, system: usize) -> String {
    match system_names(plan, system) {
        (Some(model), variant) => format!("{model}/{variant}"),
        (None, variant) => variant,
    }
}

fn system_names(plan: &PlanHeader, system: usize) -> (Option<String>, String) {
    (plan.system_model(system).map(|model| model.id.clone()), plan.system_variant(system).to_owned())
}

fn group_systems(
    plan: &PlanHeader,
    key: impl Fn(&Option<String>, &str) -> Option<String>,
    names_of: impl Fn(String) -> (Option<String>, Option<String>),
) -> Vec<Members> {
    let mut groups: Vec<Members> = Vec::new();
    for system in 0..plan.systems.len() {
        let (model, variant) = system_names(plan, system);
        let Some(id) = key(&model, &variant) else { continue };
        match groups.iter_mut().find(|group| group.id == id) {
            Some(group) => group.systems.push(system),
            None => {
                let (model, variant) = names_of(id.clone());
                groups.push(Members { id, model, variant, systems: vec![system] });
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use karat_types::{CallErrorCode, CellError};

    use crate::testing::judged_run;
    use crate::{Options, analyse};

    /// BR-10: a cell is unjudged if none of its judges ran or answered. One judge of two is enough, an unreadable reply
    /// is an answer, and a stop is not a failure.
    #[test]
    fn a_cell_is_unjudged_when_every_judge_failed() {
        let unjudged = |codes: [Option<&str>; 2]| {
            let mut run = judged_run(1, 1, &["one", "other"], serde_json::json!([]));
            for (judgment, code) in run.cells[0].judgments.iter_mut().zip(codes) {
                judgment.error = code.map(|code| CellError::new(code, "it failed"));
            }
            analyse(&run, &Options::default()).unwrap().run.tally.unjudged
        };
        let (process, timeout) = (CallErrorCode::Process.as_str(), CallErrorCode::Timeout.as_str());
        assert_eq!(unjudged([Some(process), Some(timeout)]), 1);
        assert_eq!(unjudged([Some(CellError::CONTEXT), Some(CellError::CONTEXT)]), 1);
        assert_eq!(unjudged([Some(process), None]), 0);
        assert_eq!(unjudged([Some(process), Some(CellError::UNREADABLE)]), 0);
        assert_eq!(unjudged([Some(process), Some(CallErrorCode::Cancelled.as_str())]), 0);
    }
}
