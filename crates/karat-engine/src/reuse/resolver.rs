//! The one place that decides what exists of a cell. `plan` (`estimate`), `why` (`reuse_report`) and the run itself
//! (`cell/steps`, `cell/judgments`) all ask here, so that they cannot disagree.
//!
//! A cell starts from an output that needs no call (`start`): none, a recorded one, or that of a stored run. From there its
//! content keys follow (`keys`), and the last step whose output is stored (`latest_step`) is where work begins.

use std::sync::Arc;

use karat_store::{ReuseView, Store, StoreError, StoredRecord};
use karat_types::{
    Ask, CachePolicy, CellError, CellRecord, CellStatus, JudgmentRecord, Key, Moment, Note, PlanHeader, StepRecord,
    Turn, output_key,
};
use serde_json::Value;

use crate::EngineError;
use crate::plan::identity::{OtherOutputs, recorded_key, subject_key};
use crate::plan::ready::{JudgmentKeys, Partners, ReadyJudge, ReadyStep, ReadySystem};
use crate::plan::systems::Systems;
use crate::reuse::history::{CellName, EarlierRun};
use crate::reuse::remaining::{RecordedParts, Remaining};
use crate::rows::files::RecordedFiles;
use crate::rows::row::{Row, step_input};
use crate::steps::{Metered, Reason, StepEnd, StepInput};

/// Everything that can already hold a result of a cell.
pub(crate) struct Resolver {
    pub plan: Arc<PlanHeader>,
    pub systems: Arc<Systems>,
    pub recorded_files: Arc<RecordedFiles>,
    /// Stored results that this run may reuse.
    pub reuse: ReuseView,
    /// The stored run whose outputs are scored; `None` where outputs are made.
    pub given: Option<EarlierRun>,
    /// The run itself, where its failed cells are re-run.
    pub own: Option<EarlierRun>,
    /// The run itself as its earlier parts left it, where cascades need the judgments of their first judges.
    pub earlier: Option<EarlierRun>,
    /// The work that earlier parts of the run have left; `None` before the first part.
    pub remaining: Option<Remaining>,
}

/// The stored results that a run of this plan may reuse: its own, and those of other runs that started at `oldest` or
/// later.
///
/// # Errors
/// The store cannot be read.
pub(crate) fn reuse_view(
    store: &Store,
    run: &str,
    oldest: Option<Moment>,
    plan: &PlanHeader,
) -> Result<ReuseView, StoreError> {
    Ok(store.reuse_view(run, oldest)?.judging_again(plan.run.cache == CachePolicy::Outputs))
}

/// An output read from a file or column.
pub(crate) struct RecordedOutput {
    pub key: Key,
    pub output: Value,
    pub notes: Vec<Note>,
    pub metered: Box<Metered>,
}

/// A recorded output that is missing, with the figures that its row reports all the same.
pub(crate) struct MissingRecording {
    pub why: Reason,
    pub metered: Box<Metered>,
}

/// The last step of a cell whose output is stored.
pub(crate) struct LatestStep {
    /// Index into the cell's keys.
    pub at: usize,
    /// The stored step; `None` where nothing reads its output.
    pub stored: Option<StoredRecord<StepRecord>>,
}

impl Resolver {
    /// The parts of a cell that are recorded already; `None` when nothing is left to do.
    pub fn recorded_parts(&self, ordinal: u64) -> Option<RecordedParts> {
        match &self.remaining {
            Some(remaining) => remaining.recorded_parts(&self.plan, &self.systems, ordinal),
            None => Some(RecordedParts::default()),
        }
    }

    /// Returns whether a cell has a row, including a failed one.
    pub fn has_row(&self, ordinal: u64) -> bool {
        self.remaining.as_ref().is_some_and(|remaining| remaining.has_row(ordinal))
    }

    /// Returns whether the sample of a row is stored.
    pub fn has_sample(&self, row: u64) -> bool {
        self.remaining.as_ref().is_some_and(|remaining| remaining.has_sample(row))
    }

    /// The output that a recorded step finds for a trial.
    ///
    /// # Errors
    /// The step fails or is skipped.
    pub fn recorded_output(
        &self,
        row: &Row,
        system: &ReadySystem,
        step: &ReadyStep,
        trial: u32,
    ) -> Result<RecordedOutput, MissingRecording> {
        let mut machine = step.step.machine(StepInput { trial, ..step_input(row, system, None) });
        let missing = |why| MissingRecording { why, metered: Box::new(Metered::none()) };
        let mut answers = Vec::new();
        loop {
            match machine.poll(std::mem::take(&mut answers)) {
                Turn::Ask(asks) => answers = asks.into_iter().map(|ask| self.recorded_files.answer(ask)).collect(),
                Turn::Done(StepEnd::Skipped(reason)) => return Err(missing(Reason::Skipped(reason))),
                Turn::Done(StepEnd::Failed(error)) => return Err(missing(Reason::Failed(error))),
                Turn::Done(StepEnd::RecordedFailure { error, metered }) => {
                    return Err(MissingRecording { why: Reason::Failed(error), metered });
                }
                Turn::Done(StepEnd::Output { output, notes, metered }) => {
                    let output = self.systems.privacy.output(output);
                    return Ok(RecordedOutput { key: recorded_key(&output), output, notes, metered });
                }
            }
        }
    }

    /// The reason for making no cell of a system in a row that is for other systems only.
    pub fn exclusion(row: &Row, system: &ReadySystem) -> Option<Reason> {
        let only = row.sample.only.as_ref()?;
        (!only.admits(&system.variant, system.model.as_deref())).then_some(Reason::LeftOut)
    }

    /// The output that a cell starts from: a given or a recorded one, or none where its first step makes it.
    ///
    /// # Errors
    /// The store cannot be read. The inner error: the cell has no output, and needs no call to know it.
    pub fn start(
        &self,
        row: &Row,
        system: &ReadySystem,
        trial: u32,
    ) -> Result<Result<Option<Arc<Value>>, Reason>, EngineError> {
        if let Some(exclusion) = Self::exclusion(row, system) {
            return Ok(Err(exclusion));
        }
        if self.given.is_some() {
            let output = self.given_cell(row, system, trial)?.and_then(|cell| cell.output);
            return Ok(output.map(Some).ok_or_else(|| Reason::Skipped("the stored run has no output".to_owned())));
        }
        let recorded = system.recorded.as_ref().map(|step| self.recorded_output(row, system, step, trial)).transpose();
        Ok(recorded.map(|recorded| recorded.map(|recorded| Arc::new(recorded.output))).map_err(|missing| missing.why))
    }

    /// The content keys of a cell's steps after its start; none where outputs are given.
    pub fn keys(&self, row: &Row, system: &ReadySystem, trial: u32, start: Option<&Value>) -> Vec<Key> {
        if self.given.is_some() {
            return Vec::new();
        }
        let before = start.map_or(self.systems.root, recorded_key);
        let with_media = |step: &ReadyStep, read| {
            let media =
                step.step.spec.may_have_media().then(|| step.step.media(&step_input(row, system, None).context));
            match media.flatten() {
                Some(media) => self.recorded_files.media_key(read, &media),
                None => read,
            }
        };
        system.keys(&self.systems.reads, &row.digests, (before, trial), with_media)
    }

    /// The stored output of one step.
    ///
    /// # Errors
    /// It is stored and cannot be read.
    pub fn step(&self, key: Key) -> Result<Option<StoredRecord<StepRecord>>, StoreError> {
        self.reuse.step(key)
    }

    /// The last step whose output is stored: only steps after it are made. An earlier step's output is always read; that
    /// of the last step only where `reads_last`.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn latest_step(&self, keys: &[Key], reads_last: bool) -> Result<Option<LatestStep>, StoreError> {
        for (at, key) in keys.iter().enumerate().rev() {
            if at + 1 == keys.len() && !reads_last {
                if skip_damaged(self.reuse.has_step(*key), false)? {
                    return Ok(Some(LatestStep { at, stored: None }));
                }
                continue;
            }
            if let Some(stored) = skip_damaged(self.reuse.step(*key), None)? {
                return Ok(Some(LatestStep { at, stored: Some(stored) }));
            }
        }
        Ok(None)
    }

    /// The output of a cell of this row, where it needs no call: the other output of a pair.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn existing_output(&self, row: &Row, at: usize, trial: u32) -> Result<Option<Arc<Value>>, EngineError> {
        let Some(system) = self.systems.systems.get(at) else { return Ok(None) };
        let trial = self.plan.paired_trial(at, trial);
        let Ok(start) = self.start(row, system, trial)? else { return Ok(None) };
        let keys = self.keys(row, system, trial, start.as_deref());
        let Some(last) = keys.last() else { return Ok(start) };
        Ok(skip_damaged(self.step(*last), None)?.map(|stored| stored.record.output))
    }

    /// Those of the other outputs of a judge's pairs that need no call.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn existing_others(
        &self,
        row: &Row,
        judge: &ReadyJudge,
        (at, trial): (usize, u32),
    ) -> Result<OtherOutputs, EngineError> {
        let partners = judge.partners.of(row.sample.row, at);
        partners.into_iter().map(|partner| self.existing_output(row, partner, trial)).collect()
    }

    /// Keys of a judge's judgment of an output, or of an output and those that it is compared with.
    pub fn judgment_keys(
        &self,
        row: &Row,
        judge: &ReadyJudge,
        output: Key,
        others: &[Option<Arc<Value>>],
    ) -> JudgmentKeys {
        let subject = subject_key(output, others, matches!(judge.partners, Partners::Design(_)));
        judge.keys(subject, row.digests.get(&self.systems.reads, judge.reads))
    }

    /// The stored judgment under these keys.
    ///
    /// # Errors
    /// It is stored and cannot be read.
    pub fn judgment(&self, keys: JudgmentKeys) -> Result<Option<StoredRecord<JudgmentRecord>>, StoreError> {
        keys.find_latest(|key| self.reuse.judgment(key))
    }

    /// Returns whether a judgment is stored under these keys.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn has_judgment(&self, keys: JudgmentKeys) -> Result<bool, StoreError> {
        skip_damaged(keys.is_stored(&self.reuse), false)
    }

    /// The cell of the stored run whose outputs are scored.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn given_cell(&self, row: &Row, system: &ReadySystem, trial: u32) -> Result<Option<CellRecord>, EngineError> {
        let Some(given) = &self.given else { return Ok(None) };
        let model = system.model.as_ref().map(|model| model.id.as_str());
        let name = CellName { row: row.sample.row, sample: &row.sample.id, model, variant: &system.variant, trial };
        Ok(given.cell_by_name(name)?.map(|cell| self.with_recorded_output(row, system, trial, cell)))
    }

    /// The judgments of a cell that earlier parts of this run recorded.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn earlier_judgments(&self, ordinal: u64) -> Result<Vec<JudgmentRecord>, EngineError> {
        self.earlier.as_ref().map_or_else(|| Ok(Vec::new()), |earlier| earlier.judgments(ordinal))
    }

    /// The cell as this run recorded it before its failed cells are re-run.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn own_cell(&self, row: &Row, system: &ReadySystem, ordinal: u64) -> Result<Option<CellRecord>, EngineError> {
        let Some(own) = &self.own else { return Ok(None) };
        let (_, _, trial) = self.plan.place(ordinal);
        Ok(own.cell_by_ordinal(ordinal)?.map(|cell| self.with_recorded_output(row, system, trial, cell)))
    }

    /// A stored cell with its output. One that was not stored because it stands in the dataset is read from there, if it is
    /// still the same.
    fn with_recorded_output(&self, row: &Row, system: &ReadySystem, trial: u32, cell: CellRecord) -> CellRecord {
        let step = system.recorded.as_ref().filter(|_| system.chain.is_empty());
        let (CellStatus::Ok, None, Some(step)) = (cell.status, &cell.output, step) else { return cell };
        let recorded = self.recorded_output(row, system, step, trial).ok();
        match recorded.filter(|recorded| output_key(&recorded.output) == cell.output_hash) {
            Some(recorded) => CellRecord { output: Some(Arc::new(recorded.output)), ..cell },
            None => {
                let why =
                    "the run did not keep this document, and the dataset has another one now. Run the suite again";
                CellRecord { status: CellStatus::Error, error: Some(CellError::new("not_stored", why)), ..cell }
            }
        }
    }
}

/// The result of a look-up for a forecast: what is damaged counts as missing, because the run makes it again and says so.
pub(crate) fn skip_damaged<T>(found: Result<T, StoreError>, missing: T) -> Result<T, StoreError> {
    match found {
        Err(StoreError::Damaged { .. }) => Ok(missing),
        found => found,
    }
}

/// The first calls of a step, given the output before it.
///
/// # Errors
/// The step makes no API calls: it is skipped or fails.
pub(crate) fn first_asks(
    row: &Row,
    system: &ReadySystem,
    step: &ReadyStep,
    output: Option<&Value>,
) -> Result<Vec<Ask>, Reason> {
    let mut input = step_input(row, system, output);
    input.model = step.model.clone().or(input.model);
    match step.step.machine(input).poll(Vec::new()) {
        Turn::Ask(asks) => Ok(asks),
        Turn::Done(StepEnd::Failed(error) | StepEnd::RecordedFailure { error, .. }) => Err(Reason::Failed(error)),
        Turn::Done(StepEnd::Skipped(reason)) => Err(Reason::Skipped(reason)),
        // No step that is made has an output before it has asked for anything.
        Turn::Done(StepEnd::Output { .. }) => Err(Reason::Skipped("the step needs no call".to_owned())),
    }
}
