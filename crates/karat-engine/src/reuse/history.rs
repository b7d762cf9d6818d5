//! The last runs of a suite, to find how a cell was made when it was last made.
//!
//! A plan is stored with its run, and digests of the columns that were read with its samples, so the parts of a cell
//! can be compared with those of today. Only the newest [`RUNS`] runs are read, however many the store holds.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use karat_scoring::judge::PROMPT_VERSION;
use karat_store::{Store, StoreError, StoredRun};
use karat_types::{
    Action, CellRecord, CellStatus, JudgmentRecord, Key, Money, PlanHeader, Reads, RunRows, SampleRecord, ScorerKind,
    StepSpec, read_label,
};

use crate::EngineError;
use crate::plan::identity::seed_from_key;
use crate::plan::identity_parts;
use crate::plan::identity_parts::{Change, IdentityParts};

/// Number of runs that are searched for a cell.
const RUNS: usize = 8;

/// The last runs of a suite, newest first.
pub(crate) struct History(Vec<EarlierRun>);

/// One earlier run.
pub(crate) struct EarlierRun {
    rows: StoredRun,
    /// Row by a hash of the sample's id; filled when a sample is not at the expected row.
    places: OnceLock<HashMap<u64, u64>>,
}

/// A cell of an earlier run.
pub(crate) struct EarlierCell<'h> {
    pub earlier: &'h EarlierRun,
    pub system: usize,
    pub sample: SampleRecord,
    pub cell: CellRecord,
}

impl History {
    pub fn of(store: &Store, suite: &str) -> Result<Self, EngineError> {
        let runs = store.runs_of_suite(suite, RUNS)?;
        let rows = runs.iter().map(|run| Ok(EarlierRun::new(store.rows(run)?)));
        let mut earlier: Vec<EarlierRun> = rows.collect::<Result<_, StoreError>>()?;
        // Runs that measure a judge make no grade that could be stale.
        earlier.retain(|it| !it.plan().run.measures_judges);
        Ok(Self(earlier))
    }

    /// The cell of this name in the newest run that has an output of it, else in the newest run that has it at all.
    pub fn latest(&self, place: CellName<'_>) -> Result<Option<EarlierCell<'_>>, EngineError> {
        let mut failed = None;
        for earlier in &self.0 {
            match earlier.find_cell(place)? {
                Some(made) if made.cell.status == CellStatus::Ok => return Ok(Some(made)),
                made => failed = failed.or(made),
            }
        }
        Ok(failed)
    }
}

/// The name of a cell: sample, model, variant and trial.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CellName<'a> {
    pub row: u64,
    pub sample: &'a str,
    pub model: Option<&'a str>,
    pub variant: &'a str,
    pub trial: u32,
}

impl EarlierRun {
    pub fn new(rows: StoredRun) -> Self {
        Self { rows, places: OnceLock::new() }
    }

    /// The cell of this name, with its output.
    pub fn cell_by_name(&self, place: CellName<'_>) -> Result<Option<CellRecord>, EngineError> {
        let Some(made) = self.find_cell(place)? else { return Ok(None) };
        let output = self.rows.stored_output(made.cell.ordinal)?;
        let made_at = made.cell.made_at.or(Some(self.rows.header().started_at));
        Ok(Some(CellRecord { output: output.map(Arc::new), made_at, reused: true, ..made.cell }))
    }

    /// A cell of the run, with its output.
    pub fn cell_by_ordinal(&self, ordinal: u64) -> Result<Option<CellRecord>, EngineError> {
        let Some(cell) = self.rows.cell(ordinal)? else { return Ok(None) };
        let output = self.rows.stored_output(ordinal)?;
        Ok(Some(CellRecord { output: output.map(Arc::new), ..cell }))
    }

    /// The amount paid for a cell of the run so far.
    pub fn paid_for_cell(&self, ordinal: u64) -> Result<Money, EngineError> {
        Ok(self.rows.cell(ordinal)?.map_or(Money::ZERO, |cell| cell.cost.paid))
    }

    /// The judgments of a cell of the run.
    pub fn judgments(&self, ordinal: u64) -> Result<Vec<JudgmentRecord>, EngineError> {
        Ok(self.rows.judgments(ordinal)?)
    }

    /// Id of the run.
    pub fn run_id(&self) -> &str {
        &self.rows.header().id
    }

    pub fn plan(&self) -> &PlanHeader {
        &self.rows.header().plan
    }

    fn find_cell(&self, place: CellName<'_>) -> Result<Option<EarlierCell<'_>>, EngineError> {
        let plan = self.plan();
        let is_it = |at: &usize| {
            let model = plan.system_model(*at).map(|model| model.id.as_str());
            model == place.model && plan.system_variant(*at) == place.variant && plan.systems[*at].trials > place.trial
        };
        let Some(system) = (0..plan.systems.len()).find(is_it) else { return Ok(None) };
        let Some(sample) = self.sample(place)? else { return Ok(None) };
        let before: u64 = plan.systems[..system].iter().map(|system| u64::from(system.trials)).sum();
        let ordinal = sample.row * plan.cells_per_row() + before + u64::from(place.trial);
        let cell = self.rows.cell(ordinal)?;
        Ok(cell.map(|cell| EarlierCell { earlier: self, system, sample, cell }))
    }

    /// The sample of this id, which is usually at the same row.
    fn sample(&self, place: CellName<'_>) -> Result<Option<SampleRecord>, EngineError> {
        let here = self.rows.sample(place.row)?.filter(|sample| sample.id == place.sample);
        if here.is_some() {
            return Ok(here);
        }
        let Some(row) = self.rows_by_id()?.get(&hash_sample_id(place.sample)) else { return Ok(None) };
        Ok(self.rows.sample(*row)?.filter(|sample| sample.id == place.sample))
    }

    fn rows_by_id(&self) -> Result<&HashMap<u64, u64>, EngineError> {
        if self.places.get().is_none() {
            let mut places = HashMap::new();
            self.rows.samples(|sample| {
                places.insert(hash_sample_id(&sample.id), sample.row);
            })?;
            let _ = self.places.set(places);
        }
        Ok(self.places.get_or_init(HashMap::new))
    }
}

fn hash_sample_id(id: &str) -> u64 {
    seed_from_key(Key::of("karat/sample-id/1", id.as_bytes()))
}

impl EarlierCell<'_> {
    /// The changes of the cell's steps: first those of the plan, then those of the row. `reads` are the digests of the
    /// current row.
    pub fn step_changes(&self, plan: &PlanHeader, system: usize, reads: &[(String, Key)]) -> Vec<Change> {
        let then = effective_steps(self.earlier.plan(), self.system);
        let now = effective_steps(plan, system);
        let now_steps = now.len();
        let mut changes = Vec::new();
        if then.len() != now.len() {
            let ids = |steps: &[(&StepSpec, IdentityParts)]| {
                steps.iter().map(|(step, _)| serde_json::Value::from(step.id.as_str())).collect()
            };
            changes.push(Change { then: ids(&then), now: ids(&now), ..Change::of("steps") });
        }
        for ((_, then), (step, now)) in then.iter().zip(&now) {
            let named = (now_steps > 1).then(|| step.id.clone());
            changes.extend(now.changes_since(then).into_iter().map(|change| Change { step: named.clone(), ..change }));
        }
        let read = now.iter().flat_map(|(step, _)| &step.reads).map(String::as_str);
        changes.extend(self.column_changes(read, reads));
        changes
    }

    /// The judgment that a judge gave for a scorer, by their ids.
    pub fn judgment(&self, scorer: &str, judge: &str) -> Result<Option<JudgmentRecord>, EngineError> {
        let plan = self.earlier.plan();
        let judgments = self.earlier.rows.judgments(self.cell.ordinal)?;
        let is_it = |judgment: &JudgmentRecord| {
            plan.scorers.get(usize::from(judgment.scorer)).is_some_and(|known| known.id == scorer)
                && plan.judges.get(usize::from(judgment.judge)).is_some_and(|known| known.id == judge)
        };
        Ok(judgments.into_iter().find(is_it))
    }

    /// The columns and roles among `names` whose content has changed.
    pub fn column_changes<'a>(&self, names: impl Iterator<Item = &'a str>, now: &[(String, Key)]) -> Vec<Change> {
        let wanted = Reads::new(names);
        let then = |name: &str| self.sample.reads.iter().find(|(it, _)| it == name).map(|(_, digest)| *digest);
        let changed =
            now.iter().filter(|(name, digest)| wanted.has(name) && then(name).is_some_and(|it| it != *digest));
        changed.map(|(name, _)| Change::of(read_label(name))).collect()
    }

    /// The changes of a rubric and judge.
    pub fn judge_changes(&self, plan: &PlanHeader, scorer: &str, judge: &str) -> Vec<Change> {
        let then = stored_judge_parts(self.earlier.plan(), scorer, judge).unwrap_or_default();
        stored_judge_parts(plan, scorer, judge).unwrap_or_default().changes_since(&then)
    }
}

/// The steps that make a system's output, with their parts: steps before a recording do not matter.
fn effective_steps(plan: &PlanHeader, system: usize) -> Vec<(&StepSpec, IdentityParts)> {
    let variant = &plan.variants[plan.systems[system].variant];
    let matrix = plan.system_model(system);
    let from = variant.steps.iter().rposition(|step| matches!(step.action, Action::Recorded(_)));
    let model = |step: &StepSpec| match &step.model {
        Some(id) => plan.models.iter().find(|model| model.id == *id),
        None => matrix,
    };
    let steps = variant.steps.iter().skip(from.unwrap_or(0));
    steps.map(|step| (step, identity_parts::step_parts(step, model(step), &variant.id, plan))).collect()
}

fn stored_judge_parts(plan: &PlanHeader, scorer: &str, judge: &str) -> Option<IdentityParts> {
    let scorer = plan.scorers.iter().find(|known| known.id == scorer)?;
    let ScorerKind::Rubric(rubric) = &scorer.kind else { return None };
    let judge = rubric.judges.iter().find(|known| *known == judge)?;
    let judge = plan.judges.iter().find(|known| known.id == *judge)?;
    Some(identity_parts::judge_parts(rubric, PROMPT_VERSION, judge, plan))
}
