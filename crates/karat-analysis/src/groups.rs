//! The groups that figures are made for: every system, model and variant, and the whole run.

use std::ops::AddAssign;

use karat_types::{CellRow, CellStatus, Moment, PlanHeader};
use serde::Serialize;

use crate::aggregate::Spread;
use crate::consensus::CellScores;
use crate::cost::Spend;

/// How many cells ended how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    /// Cells with a row.
    pub cells: u64,
    /// Cells that have an output.
    pub ok: u64,
    /// Cells that have none.
    pub errors: u64,
    /// Cells that a condition left out.
    pub skipped: u64,
    /// Cells that were stopped and wait for `resume`.
    pub stopped: u64,
    /// Cells with at least one score that failed.
    pub unscored: u64,
    /// Cells whose whole output came from an earlier run.
    pub reused: u64,
    /// Judgments.
    pub judgments: u64,
    /// When the oldest reused output or judgment was made: when the run that made it began.
    pub oldest_reused: Option<Moment>,
}

impl Tally {
    /// The tally of one cell.
    pub(crate) fn of(row: &CellRow<'_>, scores: &CellScores) -> Self {
        let stopped = row.cell.error.as_ref().is_some_and(karat_types::CellError::is_stop);
        let is = |holds: bool| u64::from(holds);
        Self {
            cells: 1,
            ok: is(row.cell.status == CellStatus::Ok),
            errors: is(row.cell.status == CellStatus::Error && !stopped),
            skipped: is(row.cell.status == CellStatus::Skipped),
            stopped: is(stopped),
            unscored: is(row.cell.status == CellStatus::Ok && scores.any_unscored()),
            reused: is(row.cell.reused),
            judgments: row.judgments.len() as u64,
            oldest_reused: row.judgments.iter().filter_map(|it| it.made_at).chain(row.cell.made_at).min(),
        }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.cells += other.cells;
        self.ok += other.ok;
        self.errors += other.errors;
        self.skipped += other.skipped;
        self.stopped += other.stopped;
        self.unscored += other.unscored;
        self.reused += other.reused;
        self.judgments += other.judgments;
        self.oldest_reused = self.oldest_reused.into_iter().chain(other.oldest_reused).min();
    }
}

/// A group of systems with its figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// `model/variant`, the model's or the variant's id; `all` for the run.
    pub id: String,
    /// The model's id, where all its systems share one.
    pub model: Option<String>,
    /// The variant's id, where all its systems share one.
    pub variant: Option<String>,
    /// Its systems, as indices into the plan.
    pub systems: Vec<usize>,
    /// How its cells ended.
    pub tally: Tally,
    /// Its figures by metric index.
    pub metrics: Vec<Spread>,
    /// Its tokens and money.
    pub spend: Spend,
}

/// Identity and systems of a group, before there are figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Members {
    pub(crate) id: String,
    pub(crate) model: Option<String>,
    pub(crate) variant: Option<String>,
    pub(crate) systems: Vec<usize>,
}

/// The whole run as one group.
pub(crate) fn whole(plan: &PlanHeader) -> Members {
    Members { id: "all".to_owned(), model: None, variant: None, systems: (0..plan.systems.len()).collect() }
}

/// Every system, in plan order.
pub(crate) fn systems(plan: &PlanHeader) -> Vec<Members> {
    (0..plan.systems.len())
        .map(|system| {
            let (model, variant) = names(plan, system);
            Members { id: system_id(plan, system), model, variant: Some(variant), systems: vec![system] }
        })
        .collect()
}

/// Every model that a system uses, in plan order.
pub(crate) fn models(plan: &PlanHeader) -> Vec<Members> {
    grouped(plan, |model, _| model.clone(), |id| (Some(id), None))
}

/// Every variant, in plan order.
pub(crate) fn variants(plan: &PlanHeader) -> Vec<Members> {
    grouped(plan, |_, variant| Some(variant.to_owned()), |id| (None, Some(id)))
}

/// `model/variant`, or the variant where no model is called.
pub fn system_id(plan: &PlanHeader, system: usize) -> String {
    match names(plan, system) {
        (Some(model), variant) => format!("{model}/{variant}"),
        (None, variant) => variant,
    }
}

fn names(plan: &PlanHeader, system: usize) -> (Option<String>, String) {
    (plan.system_model(system).map(|model| model.id.clone()), plan.system_variant(system).to_owned())
}

fn grouped(
    plan: &PlanHeader,
    key: impl Fn(&Option<String>, &str) -> Option<String>,
    names_of: impl Fn(String) -> (Option<String>, Option<String>),
) -> Vec<Members> {
    let mut groups: Vec<Members> = Vec::new();
    for system in 0..plan.systems.len() {
        let (model, variant) = names(plan, system);
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
