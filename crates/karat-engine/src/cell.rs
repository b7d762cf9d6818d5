//! One cell: its steps, its deterministic scores, its judgments.

use std::sync::Arc;
use std::time::Duration;

use karat_scoring::scorer::{CellView, ScoresSoFar};
use karat_store::{LedgerError, Receipt};
use karat_types::{
    CellCost, CellError, CellRecord, CellStatus, JudgmentRecord, Money, Record, Score, StepRecord, output_key,
};
use serde_json::Value;

use crate::EngineError;
use crate::cell_time::CellTime;
use crate::flights::Landing;
use crate::made::{Origin, Output, StepResult, Unmade, Why};
use crate::remaining::{Before, Stage};
use crate::row::Row;
use crate::systems::ReadySystem;
use crate::workshop::Workshop;

/// A cell that is made but not on disk yet.
struct Attempt {
    record: CellRecord,
    /// Its last step, where that is to be recorded with it.
    step: Option<Arc<StepRecord>>,
    landing: Option<Landing<StepResult>>,
}

/// A finished cell, for the progress line.
pub(crate) struct CellDone {
    pub record: Arc<CellRecord>,
    pub unscored: bool,
    /// The run is being stopped: nothing was recorded, the cell is left for `resume`.
    pub left: bool,
    pub trail: Trail,
}

/// What of a cell is on its way to disk. Every paid call is there already, so nobody who makes cells waits for it.
#[derive(Default)]
pub(crate) struct Trail {
    pub receipts: Vec<Receipt>,
    /// Kept until then, so that nobody makes the same again meanwhile.
    pub steps: Vec<Landing<StepResult>>,
    pub judgments: Vec<Landing<Arc<JudgmentRecord>>>,
}

impl Workshop {
    /// Makes, scores and judges one cell, and records it.
    pub async fn cell(&self, row: &Row, ordinal: u64, before: Before) -> CellDone {
        let (_, system, trial) = self.plan.place(ordinal);
        let system = &self.systems.systems[system];
        let Attempt { record, step, landing } = match (&self.resolver.given, &self.resolver.own) {
            (Some(given), _) => self.take(row, system, ordinal, trial, given.run()).await,
            (None, Some(_)) if before.stage == Stage::Made => self.score_again(row, system, ordinal).await,
            (None, Some(own)) if before.stage == Stage::New => {
                let mut attempt = self.make(row, system, ordinal, trial).await;
                // The row that it takes the place of has told what was paid then.
                attempt.record.cost.paid += own.paid(ordinal).unwrap_or_default();
                attempt
            }
            (None, _) => self.make(row, system, ordinal, trial).await,
        };
        let record = Arc::new(record);
        let mut trail = Trail::default();
        trail.steps.extend(landing);
        if record.error.as_ref().is_some_and(CellError::is_stop) {
            return CellDone { record, unscored: false, left: true, trail };
        }
        if before.stage != Stage::Recorded {
            match self.record(&record, step, trail.steps.first()).await {
                Ok(receipt) => trail.receipts.push(receipt),
                Err(error) => {
                    self.stop.fail(error.to_string());
                    return CellDone { record, unscored: false, left: true, trail };
                }
            }
        }
        let judged = self.judge(row, &record, &before.judgments, &mut trail).await;
        let record = self.systems.privacy.told(record);
        CellDone { unscored: judged.unscored, left: judged.left, record, trail }
    }

    async fn record(
        &self,
        record: &Arc<CellRecord>,
        step: Option<Arc<StepRecord>>,
        landing: Option<&Landing<StepResult>>,
    ) -> Result<Receipt, LedgerError> {
        let privacy = &self.systems.privacy;
        let step = step.filter(|_| privacy.keeps_content()).map(Record::Step);
        let (_, system, _) = self.plan.place(record.ordinal);
        let is_found = self.systems.systems.get(system).is_some_and(|system| system.chain.is_empty());
        let records = step.into_iter().chain([Record::Cell(privacy.cell(record.clone(), is_found))]).collect();
        let receipt = self.ledger.append_deferred_guarded(records, landing.and_then(Landing::lease)).await?;
        self.written_soon().await;
        Ok(receipt)
    }

    /// The stored output of a cell, with today's scores.
    async fn take(&self, row: &Row, system: &ReadySystem, ordinal: u64, trial: u32, run: &str) -> Attempt {
        let mut record = match self.resolver.given_cell(row, system, trial) {
            Ok(Some(stored)) => CellRecord { ordinal, scores: Vec::new(), ..stored },
            Ok(None) => {
                let why = format!("run {run} has no output of this cell");
                CellRecord {
                    status: CellStatus::Skipped,
                    error: Some(CellError::new("not_stored", why)),
                    ..CellRecord::empty(ordinal)
                }
            }
            Err(error) => unreadable(ordinal, &error),
        };
        record.cost.paid = Money::ZERO;
        if let Some(output) = record.output.clone() {
            record.scores = self.score(row, &record, &output).await;
        }
        Attempt { record, step: None, landing: None }
    }

    /// A cell of this run whose scores are made again; nothing else of it changes.
    async fn score_again(&self, row: &Row, system: &ReadySystem, ordinal: u64) -> Attempt {
        let mut record = match self.resolver.own_cell(row, system, ordinal) {
            Ok(found) => found.unwrap_or_else(|| CellRecord::empty(ordinal)),
            Err(error) => unreadable(ordinal, &error),
        };
        if let Some(output) = record.output.clone() {
            record.scores = self.score(row, &record, &output).await;
        }
        Attempt { record, step: None, landing: None }
    }

    async fn make(&self, row: &Row, system: &ReadySystem, ordinal: u64, trial: u32) -> Attempt {
        let (mut unsaved, mut held) = (None, None);
        let limit = self.plan.run.cell_timeout_ms.map(Duration::from_millis);
        let time = limit.map(|limit| Arc::new(CellTime::new(limit)));
        let Output { result, paid, landing } = self.output(row, system, trial, time).await;
        let mut record = CellRecord::empty(ordinal);
        match result {
            Ok(made) => {
                held = landing;
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
                record.scores = self.score(row, &record, &made.step.output).await;
            }
            Err(unmade) => {
                let Unmade { why, tally } = &*unmade;
                (record.status, record.error) = match why {
                    Why::Skipped(reason) => (CellStatus::Skipped, Some(CellError::new("skipped", reason.clone()))),
                    Why::Failed(error) => (CellStatus::Error, Some(self.systems.privacy.error(error))),
                };
                record.cost = CellCost { usage: tally.usage, cost: tally.known_cost(), paid };
                record.latency_ms = tally.latency_ms;
                record.facts = tally.facts.clone();
                record.calls = tally.calls.clone();
                record.notes = tally.notes.clone();
            }
        }
        Attempt { record, step: unsaved, landing: held }
    }

    async fn score(&self, row: &Row, record: &CellRecord, output: &Value) -> Vec<(u16, Score)> {
        let mut scores = Vec::with_capacity(self.plan.metrics.len());
        for ready in &self.systems.scorers {
            let view = CellView {
                sample: &row.shown,
                output,
                latency_ms: record.latency_ms,
                facts: &record.facts,
                cost: record.cost.cost,
                usage: record.cost.usage,
                so_far: ScoresSoFar { metrics: &self.plan.metrics, scores: &scores },
            };
            let found = match ready.scorer.ask(&view) {
                None => ready.scorer.score(&view),
                Some(Err(score)) => vec![score],
                // Boxed: most cells ask nobody for a score.
                Some(Ok(request)) => vec![Box::pin(self.calls.scored(ready, &request)).await],
            };
            scores.extend(ready.metrics.iter().copied().zip(found));
        }
        scores
    }
}

/// A cell whose stored form cannot be read.
fn unreadable(ordinal: u64, error: &EngineError) -> CellRecord {
    CellRecord {
        status: CellStatus::Error,
        error: Some(CellError::new("store", error.to_string())),
        ..CellRecord::empty(ordinal)
    }
}
