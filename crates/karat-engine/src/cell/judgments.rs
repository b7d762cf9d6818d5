//! The judgments of a cell: each is found by its content key, or made, and recorded.

use std::pin::pin;
use std::sync::Arc;

use futures::future::join_all;
use karat_scoring::judge::{JudgeInput, Verdict};
use karat_store::Receipt;
use karat_types::{
    CellCost, CellError, CellRecord, CellStatus, JudgeRound, JudgmentRecord, Machine, Money, Record, Score,
};
use serde_json::Value;

use crate::call::target::Target;
use crate::cell::context::RunContext;
use crate::cell::evaluate::PendingWrites;
use crate::cell::row::Row;
use crate::cell::single_flight::FlightGuard;
use crate::cell::step_outcome::Reason;
use crate::plan::ready::{JudgmentKeys, ReadyJudge};
use crate::reuse::identity::OtherOutputs;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct JudgingSummary {
    pub unscored: bool,
    pub left: bool,
}

/// A judgment and its pending write, if it has one.
type JudgmentWrite = (JudgingSummary, Option<Receipt>, Option<FlightGuard<Arc<JudgmentRecord>>>);

impl RunContext {
    /// Makes the judgments that are not `present`; adds their writes to `pending`.
    pub async fn judge_cell(
        &self,
        row: &Row,
        record: &CellRecord,
        present: &[(u16, u16)],
        pending: &mut PendingWrites,
    ) -> JudgingSummary {
        let (CellStatus::Ok, Some(output)) = (record.status, &record.output) else { return JudgingSummary::default() };
        if !self.is_needed(record.ordinal) {
            return JudgingSummary::default();
        }
        let (at, system, _) = self.plan.place(record.ordinal);
        let judges = self.systems.judges.iter().filter(|judge| judge.is_asked(at, system));
        let wanted = judges.filter(|judge| !present.contains(&(judge.scorer, judge.judge)));
        let results = join_all(wanted.map(|judge| self.record_judgment(row, record, output, judge))).await;
        let mut all = JudgingSummary::default();
        for (judged, receipt, flight) in results {
            all.unscored |= judged.unscored;
            all.left |= judged.left;
            pending.receipts.extend(receipt);
            pending.judgments.extend(flight);
        }
        all
    }

    async fn record_judgment(
        &self,
        row: &Row,
        record: &CellRecord,
        output: &Value,
        judge: &ReadyJudge,
    ) -> JudgmentWrite {
        let left = (JudgingSummary { unscored: true, left: true }, None, None);
        let Ok((others, paid)) = self.partner_outputs(row, record.ordinal, judge).await else { return left };
        let keys = self.resolver.judgment_keys(row, judge, record.output_hash, &others);
        let made = pin!(self.reuse_or_judge(keys, row, output, &others, judge));
        let (judgment, flight) = self.judgments.join(keys.own, made).await;
        let mut judgment =
            JudgmentRecord { ordinal: record.ordinal, scorer: judge.scorer, judge: judge.judge, ..(*judgment).clone() };
        if flight.is_none() {
            judgment.cost.paid = Money::ZERO;
        }
        judgment.cost.paid += paid + self.cost_of_replaced(record.ordinal, judge);
        if judgment.error.as_ref().is_some_and(CellError::is_stop) {
            return left;
        }
        let unscored = judgment.error.is_some() || judgment.scores.iter().any(|(_, score)| score.is_unscored());
        let stored = Arc::new(self.systems.privacy.judgment(judgment));
        let lease = flight.as_ref().and_then(FlightGuard::lease);
        match self.ledger.append_deferred_guarded(vec![Record::Judgment(stored)], lease).await {
            Ok(receipt) => {
                self.flush_for_peers().await;
                (JudgingSummary { unscored, left: false }, Some(receipt), flight)
            }
            Err(error) => {
                self.stop.fail(&error);
                left
            }
        }
    }

    /// The outputs that a judge compares with that of a cell, and what was paid for them now.
    ///
    /// # Errors
    /// The run is being stopped.
    async fn partner_outputs(
        &self,
        row: &Row,
        ordinal: u64,
        judge: &ReadyJudge,
    ) -> Result<(OtherOutputs, Money), CellError> {
        let (at, system, trial) = self.plan.place(ordinal);
        let partners = judge.partners.of(at, system);
        let outputs = join_all(partners.into_iter().map(|partner| self.partner_output(row, partner, trial))).await;
        let mut paid = Money::ZERO;
        let others = outputs.into_iter().map(|output| {
            let (output, cost) = output?;
            paid += cost;
            Ok(output)
        });
        let others = others.collect::<Result<_, CellError>>()?;
        Ok((others, paid))
    }

    /// The output of another system, and what was paid for it now.
    ///
    /// # Errors
    /// The run is being stopped.
    async fn partner_output(
        &self,
        row: &Row,
        partner: usize,
        trial: u32,
    ) -> Result<(Option<Arc<Value>>, Money), CellError> {
        let (partner, trial) = (&self.systems.systems[partner], self.plan.paired_trial(partner, trial));
        if self.resolver.given.is_some() {
            let cell = self.resolver.given_cell(row, partner, trial).ok().flatten();
            return Ok((cell.and_then(|cell| cell.output), Money::ZERO));
        }
        // Boxed: most judges grade single outputs.
        let output = Box::pin(self.system_output(row, partner, trial, None)).await;
        match output.result.as_deref().map_err(|missing| &missing.why) {
            Ok(made) => Ok((Some(made.step.output.clone()), output.paid)),
            Err(Reason::Failed(error)) if error.is_stop() => Err(error.clone()),
            Err(_) => Ok((None, output.paid)),
        }
    }

    /// The cost of the judgment that this one replaces.
    fn cost_of_replaced(&self, ordinal: u64, judge: &ReadyJudge) -> Money {
        let rows = self.resolver.own.as_ref().and_then(|own| own.judgments(ordinal).ok()).unwrap_or_default();
        let same = rows.into_iter().filter(|row| (row.scorer, row.judge) == (judge.scorer, judge.judge));
        same.map(|row| row.cost.paid).sum()
    }

    async fn reuse_or_judge(
        &self,
        keys: JudgmentKeys,
        row: &Row,
        output: &Value,
        others: &[Option<Arc<Value>>],
        judge: &ReadyJudge,
    ) -> Arc<JudgmentRecord> {
        let find = || self.resolver.judgment(keys).ok().flatten();
        if let Some(stored) = self.find_or_lease(&self.judgments, keys.own, find).await {
            let reused = stored.run != self.ledger.run();
            let (made_at, judgment) = (reused.then_some(stored.run_started_at), stored.record);
            let cost = CellCost { paid: Money::ZERO, ..judgment.cost };
            let scores = judge.rebase(&judgment.scores);
            let rounds = judge.rebase_rounds(&judgment);
            return Arc::new(JudgmentRecord { reused, made_at, cost, scores, rounds, ..judgment });
        }
        let seed = self.plan.run.seed;
        let others: Vec<Option<&Value>> = others.iter().map(Option::as_deref).collect();
        let machine = || -> Box<dyn Machine<Done = Verdict>> {
            Box::new(judge.machine.against(JudgeInput { sample: &row.shown, output, seed }, &others))
        };
        let target = Target {
            who: judge.who.clone(),
            model: Some(judge.model.clone()),
            meter: None,
            timeout: judge.timeout,
            retries: self.plan.run.retries,
            time: None,
            agent: None,
            is_live: false,
        };
        let (verdict, tally) = self
            .calls
            .drive_with_fresh_replies(machine, keys.own, &target, |verdict: &Verdict| verdict.error.as_ref())
            .await;
        let why = verdict.error.as_ref().map_or("the judge said nothing of it", |error| error.message.as_str());
        let score =
            |name: &str| verdict.scores.iter().find(|(scored, _)| scored == name).map(|(_, score)| score.clone());
        let scores = judge.metrics.iter();
        let scores = scores.map(|(name, at)| (*at, score(name).unwrap_or_else(|| Score::unscored(why)))).collect();
        let cost = CellCost { usage: tally.usage, cost: tally.known_cost(), paid: tally.paid };
        let metric_index = |name: &str| judge.metrics.iter().find(|(metric, _)| metric == name).map(|(_, at)| *at);
        let rounds = verdict.rounds.iter().map(|round| JudgeRound {
            opponent: round.opponent,
            swapped: round.swapped,
            scores: round.scores.iter().filter_map(|(name, value)| Some((metric_index(name)?, *value))).collect(),
        });
        let rounds = rounds.collect();
        Arc::new(JudgmentRecord {
            ordinal: 0,
            key: keys.own,
            scorer: judge.scorer,
            judge: judge.judge,
            scores,
            reasoning: verdict.reasoning,
            diagnostics: verdict.diagnostics,
            caps: verdict.caps,
            rounds,
            rung: verdict.rung.map(|rung| rung.as_str().to_owned()),
            shuffle_seed: verdict.shuffle_seed,
            prompt_version: judge.version.clone(),
            reused: false,
            made_at: None,
            error: verdict.error,
            cost,
            latency_ms: tally.latency_ms,
            calls: tally.calls,
            notes: verdict.notes.into_iter().chain(tally.notes).collect(),
            answered: tally.facts.answered,
        })
    }
}
