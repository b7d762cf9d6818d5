//! Evaluates one cell: its steps, its deterministic scores, its judgments.

use std::borrow::Cow;
use std::iter;
use std::sync::Arc;
use std::time::Duration;

use karat_scoring::scorer::{CellView, EmbeddingTexts, ScoresSoFar};
use karat_store::{LedgerError, Receipt};
use karat_types::{
    CellCost, CellError, CellRecord, CellStatus, JudgmentRecord, Money, Record, Score, StepCost, StepRecord, output_key,
};
use serde_json::Value;

use crate::call::vectors::CellVectors;
use crate::cell::context::RunContext;
use crate::cell::step_outcome::{ChainOutput, Origin, StepMissing, StepResult};
use crate::control::deadline::CellDeadline;
use crate::control::refusals::judge_name;
use crate::control::single_flight::FlightGuard;
use crate::plan::ready::{ReadyScorer, ReadySystem};
use crate::reuse::remaining::{CellStage, RecordedParts};
use crate::rows::joined_rows::CellRows;
use crate::rows::row::Row;
use crate::steps::Reason;

/// The reason for a cell that is not made because of its row.
const LEFT_OUT: &str = "the row's `only` leaves this system out";

/// A cell whose output and scores are known but not on disk yet.
struct EvaluatedCell {
    record: CellRecord,
    /// Its last step, if that is recorded together with the cell.
    step: Option<Arc<StepRecord>>,
    /// Held until the step is on disk.
    flight: Option<FlightGuard<StepResult>>,
}

/// A finished cell, for progress reports.
pub(crate) struct CellResult {
    pub record: Arc<CellRecord>,
    pub unscored: bool,
    /// True if the run is being stopped: nothing was recorded, and `resume` makes the cell.
    pub left: bool,
    pub pending: PendingWrites,
}

/// Records of a cell that are not on disk yet. Every paid call is on disk already, so workers do not wait for these.
#[derive(Default)]
pub(crate) struct PendingWrites {
    pub receipts: Vec<Receipt>,
    /// Held until the records are on disk, so that no other cell makes the same in the meantime.
    pub steps: Vec<FlightGuard<StepResult>>,
    pub judgments: Vec<FlightGuard<Arc<JudgmentRecord>>>,
}

impl RunContext {
    /// Makes, scores, judges and records one cell.
    pub async fn evaluate_cell(&self, row: &Row, ordinal: u64, recorded: RecordedParts) -> CellResult {
        let (_, system, trial) = self.plan.place(ordinal);
        let system = &self.systems.systems[system];
        let EvaluatedCell { record, step, flight } = match (&self.resolver.given, &self.resolver.own) {
            (Some(given), _) => self.take_given_output(row, system, ordinal, trial, given.run_id()).await,
            (None, Some(_)) if recorded.stage == CellStage::Made => self.rescore(row, system, ordinal).await,
            (None, Some(own)) if recorded.stage == CellStage::New => {
                let mut attempt = self.make_output(row, system, ordinal, trial).await;
                // The replaced row has reported what was paid then.
                match self.replaced_cost(own.paid_for_cell(ordinal)) {
                    Ok(paid) => attempt.record.cost.paid += paid,
                    Err(stop) => attempt.record.error = Some(stop),
                }
                attempt
            }
            (None, _) => self.make_output(row, system, ordinal, trial).await,
        };
        let record = Arc::new(record);
        let mut pending = PendingWrites::default();
        pending.steps.extend(flight);
        if record.error.as_ref().is_some_and(CellError::is_stop) {
            return CellResult { record, unscored: false, left: true, pending };
        }
        if recorded.stage != CellStage::Recorded {
            match self.record(&record, step, pending.steps.first()).await {
                Ok(receipt) => pending.receipts.push(receipt),
                Err(error) => {
                    self.stop.fail(&error);
                    return CellResult { record, unscored: false, left: true, pending };
                }
            }
        }
        let judged = self.judge_cell(row, &record, &recorded.judgments, &mut pending).await;
        let record = self.systems.privacy.as_reported(record);
        CellResult { unscored: judged.unscored, left: judged.left, record, pending }
    }

    /// The models and services that a cell calls, by name.
    pub fn recipients(&self, ordinal: u64) -> impl Iterator<Item = Cow<'_, str>> {
        let (row, at, _) = self.plan.place(ordinal);
        let steps = self.systems.systems[at].chain.iter();
        let steps = steps.flat_map(|step| {
            let own = step.model.as_ref().map_or(&*step.who, |model| &model.id);
            iter::once(own).chain(step.user.as_ref().map(|user| user.id.as_str()))
        });
        let judges = self.systems.judges.iter().filter(move |judge| judge.is_asked(row, at));
        let embedders = self.plan.embedders.iter().map(|model| model.id.as_str());
        let judges = judges.flat_map(|judge| {
            let model = judge.model.id.as_str();
            [Cow::Borrowed(model), Cow::Owned(judge_name(&judge.who, model))]
        });
        steps.map(Cow::Borrowed).chain(judges).chain(embedders.map(Cow::Borrowed))
    }

    async fn record(
        &self,
        record: &Arc<CellRecord>,
        step: Option<Arc<StepRecord>>,
        flight: Option<&FlightGuard<StepResult>>,
    ) -> Result<Receipt, LedgerError> {
        let privacy = &self.systems.privacy;
        let step = step.filter(|_| privacy.keeps_content()).map(Record::Step);
        let (_, system, _) = self.plan.place(record.ordinal);
        let is_recorded_output = self.systems.systems.get(system).is_some_and(|system| system.chain.is_empty());
        let records =
            step.into_iter().chain([Record::Cell(privacy.cell(record.clone(), is_recorded_output))]).collect();
        let receipt = self.ledger.append_deferred_guarded(records, flight.and_then(FlightGuard::lease)).await?;
        self.flush_for_peers().await;
        Ok(receipt)
    }

    /// Takes the stored output of a cell and scores it with the current scorers.
    async fn take_given_output(
        &self,
        row: &Row,
        system: &ReadySystem,
        ordinal: u64,
        trial: u32,
        run: &str,
    ) -> EvaluatedCell {
        let mut record = match self.check_stored(self.resolver.given_cell(row, system, trial)) {
            Ok(Some(stored)) => CellRecord { ordinal, scores: Vec::new(), ..stored },
            Ok(None) => {
                let why = format!("run {run} has no output of this cell");
                CellRecord {
                    status: CellStatus::Skipped,
                    error: Some(CellError::new("not_stored", why)),
                    ..CellRecord::empty(ordinal)
                }
            }
            Err(error) => failed_cell(ordinal, error),
        };
        record.cost.paid = Money::ZERO;
        match record.output.clone() {
            Some(output) => self.score(row, system, &mut record, &output).await,
            None => self.score_failed_cell(row, system, &mut record),
        }
        EvaluatedCell { record, step: None, flight: None }
    }

    /// Scores a cell of this run again; nothing else of it changes.
    async fn rescore(&self, row: &Row, system: &ReadySystem, ordinal: u64) -> EvaluatedCell {
        let mut record = match self.check_stored(self.resolver.own_cell(row, system, ordinal)) {
            Ok(stored) => stored.unwrap_or_else(|| CellRecord::empty(ordinal)),
            Err(error) => failed_cell(ordinal, error),
        };
        match record.output.clone() {
            Some(output) => self.score(row, system, &mut record, &output).await,
            None => self.score_failed_cell(row, system, &mut record),
        }
        EvaluatedCell { record, step: None, flight: None }
    }

    async fn make_output(&self, row: &Row, system: &ReadySystem, ordinal: u64, trial: u32) -> EvaluatedCell {
        let (mut unsaved, mut held) = (None, None);
        let limit = self.plan.run.cell_timeout_ms.map(Duration::from_millis);
        let time = limit.map(|limit| Arc::new(CellDeadline::new(limit)));
        let ChainOutput { result, paid, flight } = self.system_output(row, system, trial, time).await;
        let mut record = CellRecord::empty(ordinal);
        match result {
            Ok(made) => {
                held = flight;
                record.key = made.step.key;
                if let Origin::Reused(made_at) = made.origin {
                    (record.reused, record.made_at) = (true, Some(made_at));
                }
                unsaved = (made.origin == Origin::Unsaved).then(|| made.step.clone());
                record.output_hash = output_key(&made.step.output);
                record.cost = CellCost { usage: made.step.usage, cost: made.step.cost, paid };
                record.latency_ms = made.step.latency_ms;
                record.calls = made.step.calls.clone();
                record.facts = made.step.facts.clone();
                record.notes = made.step.notes.clone();
                record.output = Some(made.step.output.clone());
                self.score(row, system, &mut record, &made.step.output).await;
            }
            Err(missing) => {
                let StepMissing { why, tally } = &*missing;
                (record.status, record.error) = match why {
                    Reason::Skipped(reason) => (CellStatus::Skipped, Some(CellError::new("skipped", reason.clone()))),
                    Reason::LeftOut => (CellStatus::Skipped, Some(CellError::new("left_out", LEFT_OUT))),
                    Reason::Failed(error) => (CellStatus::Error, Some(self.systems.privacy.error(error))),
                };
                record.cost = CellCost { usage: tally.usage, cost: tally.known_cost(), paid };
                record.latency_ms = tally.latency_ms;
                record.facts = tally.facts.clone();
                record.calls = tally.calls.clone();
                record.notes = tally.notes.clone();
                self.score_failed_cell(row, system, &mut record);
            }
        }
        EvaluatedCell { record, step: unsaved, flight: held }
    }

    /// Notes which metrics do not apply to the row of a cell that failed: they lose nothing by it.
    fn score_failed_cell(&self, row: &Row, system: &ReadySystem, record: &mut CellRecord) {
        if record.status != CellStatus::Error {
            return;
        }
        let (at, place, trial) = self.plan.place(record.ordinal);
        let joined = CellRows { joins: &self.systems.joins, files: &self.resolver.recorded_files, row, system, trial };
        let mut scores: Vec<(u16, Score)> = Vec::new();
        for ready in &self.systems.scorers {
            let view = CellView {
                sample: &row.shown,
                output: &Value::Null,
                latency_ms: 0.0,
                facts: &record.facts,
                cost: None,
                usage: record.cost.usage,
                so_far: ScoresSoFar { metrics: &self.plan.metrics, scores: &scores },
                joined: Some(&joined),
                origin: system.origin(),
            };
            if let Err(score) = ready.scorer.applies(&view) {
                scores.extend(ready.metrics.iter().map(|metric| (*metric, score.clone())));
            }
        }
        for judge in &self.systems.judges {
            let score = match judge.is_about(at, place) {
                true => judge.machine.score_without_asking(&row.shown, self.plan.run.seed),
                false => Some(Score::not_applicable("there is nothing to compare it with")),
            };
            let metrics = judge.metrics.iter().map(|(_, metric)| *metric);
            let open: Vec<u16> = metrics.filter(|metric| !scores.iter().any(|(known, _)| known == metric)).collect();
            scores.extend(open.into_iter().filter_map(|metric| Some((metric, score.clone()?))));
        }
        scores.sort_by_key(|(metric, _)| *metric);
        record.scores = scores;
    }

    /// Adds the scores of the cell's output to its record. If the run is stopped meanwhile, the record has the error of a
    /// cell that is left.
    async fn score(&self, row: &Row, system: &ReadySystem, record: &mut CellRecord, output: &Value) {
        let mut scores = Vec::with_capacity(self.plan.metrics.len());
        let (_, _, trial) = self.plan.place(record.ordinal);
        let joined = CellRows { joins: &self.systems.joins, files: &self.resolver.recorded_files, row, system, trial };
        record.facts.vectors = None;
        for ready in &self.systems.scorers {
            let view = CellView {
                sample: &row.shown,
                output,
                latency_ms: record.latency_ms,
                facts: &record.facts,
                cost: record.cost.cost,
                usage: record.cost.usage,
                so_far: ScoresSoFar { metrics: &self.plan.metrics, scores: &scores },
                joined: Some(&joined),
                origin: system.origin(),
            };
            let scored = match (ready.scorer.ask(&view), ready.scorer.embed(&view)) {
                (None, None) => ready.scorer.score(&view),
                (Some(Err(score)), _) | (_, Some(Err(score))) => vec![score],
                // Boxed: few scorers ask a service or a model.
                (Some(Ok(request)), _) => {
                    match Box::pin(self.calls.external_score(ready, &request, record.ordinal)).await {
                        Ok(score) => vec![score],
                        Err(stopped) => {
                            record.error = Some(stopped);
                            return;
                        }
                    }
                }
                (_, Some(Ok(texts))) => match Box::pin(self.similarity_score(ready, &texts)).await {
                    Ok((score, cost)) => {
                        let free = StepCost { cost: Some(Money::ZERO), ..StepCost::default() };
                        cost.iter().for_each(|cost| record.facts.vectors.get_or_insert(free).add(*cost));
                        vec![score]
                    }
                    Err(stopped) => {
                        record.error = Some(stopped);
                        return;
                    }
                },
            };
            scores.extend(ready.metrics.iter().copied().zip(scored));
        }
        record.scores = scores;
    }

    /// The score of an output's vector beside those of its references, and the cost of the texts.
    ///
    /// # Errors
    /// The run is being stopped.
    async fn similarity_score(
        &self,
        ready: &ReadyScorer,
        texts: &EmbeddingTexts,
    ) -> Result<(Score, Option<StepCost>), CellError> {
        let Some(batcher) = &self.vectors else {
            return Ok((Score::unscored("no model of the plan makes vectors; this is a bug in karat"), None));
        };
        match self.calls.cell_vectors(batcher, texts).await {
            Ok(CellVectors { output, references, cost }) => {
                let references: Vec<&[f32]> = references.iter().map(|vector| &**vector).collect();
                Ok((ready.scorer.compare(&output, &references), Some(cost)))
            }
            Err(error) if error.is_stop() => Err(error),
            Err(error) => Ok((Score::unscored(error.message), None)),
        }
    }
}

/// The record of a cell whose stored rows cannot be used.
fn failed_cell(ordinal: u64, error: CellError) -> CellRecord {
    CellRecord { status: CellStatus::Error, error: Some(error), ..CellRecord::empty(ordinal) }
}
