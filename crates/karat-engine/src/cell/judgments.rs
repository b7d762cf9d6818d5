//! The judgments of a cell: each is found by its content key, or made, and recorded.

use std::pin::pin;
use std::sync::Arc;

use futures::future::join_all;
use karat_scoring::judge::{JudgeInput, Verdict};
use karat_store::Receipt;
use karat_types::{
    AskedJudge, CachePolicy, CascadeDraw, CellCost, CellError, CellRecord, CellStatus, JudgeRound, JudgmentRecord,
    Machine, Money, Record, Score,
};
use serde_json::{Map, Value};

use crate::call::drive::{Failure, Owner};
use crate::call::tally::Tally;
use crate::cell::context::RunContext;
use crate::cell::evaluate::PendingWrites;
use crate::control::single_flight::FlightGuard;
use crate::control::target::Target;
use crate::plan::cascade::{CascadePlace, FirstScores, NOT_ASKED, not_asked_key};
use crate::plan::identity::OtherOutputs;
use crate::plan::ready::{JudgmentKeys, ReadyJudge};
use crate::rows::row::Row;
use crate::steps::Reason;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct JudgingSummary {
    pub unscored: bool,
    pub left: bool,
}

/// A judgment and its pending write, if it has one.
#[derive(Default)]
struct JudgmentWrite {
    summary: JudgingSummary,
    record: Option<Arc<JudgmentRecord>>,
    receipt: Option<Receipt>,
    flight: Option<FlightGuard<Arc<JudgmentRecord>>>,
}

impl JudgmentWrite {
    /// Nothing was recorded, because the run is being stopped.
    fn left() -> Self {
        Self { summary: JudgingSummary { unscored: true, left: true }, ..Self::default() }
    }
}

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
        let (later, now): (Vec<&ReadyJudge>, Vec<&ReadyJudge>) = wanted.partition(|judge| judge.cascade.is_some());
        let each = now.into_iter().map(|judge| self.record_judgment(row, record, output, judge, None));
        let mut results = join_all(each).await;
        if !later.is_empty() {
            // Boxed: few scorers have a cascade.
            let made = results.iter().filter_map(|it| it.record.clone()).collect();
            results.extend(Box::pin(self.record_cascades(row, record, output, later, made)).await);
        }
        let mut all = JudgingSummary::default();
        for JudgmentWrite { summary, receipt, flight, .. } in results {
            all.unscored |= summary.unscored;
            all.left |= summary.left;
            pending.receipts.extend(receipt);
            pending.judgments.extend(flight);
        }
        all
    }

    /// Makes the judgments of cascades, given those of their first judges that were `made` now; the others were recorded by
    /// an earlier part of the run. A judge that is not asked gets a record that says so.
    async fn record_cascades(
        &self,
        row: &Row,
        record: &CellRecord,
        output: &Value,
        judges: Vec<&ReadyJudge>,
        mut made: Vec<Arc<JudgmentRecord>>,
    ) -> Vec<JudgmentWrite> {
        let stored = match self.check_stored(self.resolver.earlier_judgments(record.ordinal)) {
            Ok(stored) => stored,
            Err(error) => {
                let each = judges.into_iter().map(|judge| self.record_unmade(row, record, judge, error.clone()));
                return join_all(each).await;
            }
        };
        let is_new = |it: &JudgmentRecord| !made.iter().any(|new| (new.scorer, new.judge) == (it.scorer, it.judge));
        let stored: Vec<_> = stored.into_iter().filter(is_new).map(Arc::new).collect();
        made.extend(stored);
        let (_, system, trial) = self.plan.place(record.ordinal);
        let each = judges.into_iter().map(|judge| {
            let made = &made;
            async move {
                let Some(cascade) = &judge.cascade else { return JudgmentWrite::left() };
                let Some(first) = self.first_scores(record, cascade.first, made) else { return JudgmentWrite::left() };
                let place = CascadePlace { sample: &row.shown, system, trial };
                match cascade.draw(place, &first, &record.scores) {
                    Ok(draw) if draw.asked == AskedJudge::No => self.record_not_asked(row, record, judge, draw).await,
                    Ok(draw) => self.record_judgment(row, record, output, judge, Some(draw)).await,
                    Err(error) => self.record_unmade(row, record, judge, error).await,
                }
            }
        });
        join_all(each).await
    }

    /// The scores of a cascade's first scorer; `None` while judgments of it are missing, because the run is being stopped.
    fn first_scores(&self, record: &CellRecord, scorer: u16, made: &[Arc<JudgmentRecord>]) -> Option<FirstScores> {
        let (at, system, _) = self.plan.place(record.ordinal);
        let judges: Vec<&ReadyJudge> = self.systems.judges.iter().filter(|judge| judge.scorer == scorer).collect();
        let judgments: Vec<_> = made.iter().filter(|it| it.scorer == scorer).collect();
        if judgments.len() < judges.iter().filter(|judge| judge.is_asked(at, system)).count() {
            return None;
        }
        let scores = match judges.is_empty() {
            true => record.scores.clone(),
            false => judgments.iter().flat_map(|it| it.scores.iter().cloned()).collect(),
        };
        Some(FirstScores { scores, rounds: judgments.iter().flat_map(|it| it.rounds.iter().cloned()).collect() })
    }

    /// Records that a judge was not asked.
    async fn record_not_asked(
        &self,
        row: &Row,
        record: &CellRecord,
        judge: &ReadyJudge,
        draw: CascadeDraw,
    ) -> JudgmentWrite {
        let score = Score::not_applicable(NOT_ASKED);
        let judgment = JudgmentRecord { cascade: Some(draw), ..self.unmade_judgment(row, record, judge, &score) };
        self.append_judgment(judgment, None).await
    }

    /// Records why a judge could not be asked, unless the run is being stopped.
    async fn record_unmade(
        &self,
        row: &Row,
        record: &CellRecord,
        judge: &ReadyJudge,
        error: CellError,
    ) -> JudgmentWrite {
        if error.is_stop() {
            return JudgmentWrite::left();
        }
        let score = Score::unscored(error.message.clone());
        let judgment = JudgmentRecord { error: Some(error), ..self.unmade_judgment(row, record, judge, &score) };
        self.append_judgment(judgment, None).await
    }

    /// A judgment without a call, with the same score for every metric.
    fn unmade_judgment(&self, row: &Row, record: &CellRecord, judge: &ReadyJudge, score: &Score) -> JudgmentRecord {
        let keys = self.resolver.judgment_keys(row, judge, record.output_hash, &[]);
        JudgmentRecord {
            ordinal: record.ordinal,
            key: not_asked_key(keys.own),
            scorer: judge.scorer,
            judge: judge.judge,
            scores: judge.metrics.iter().map(|(_, at)| (*at, score.clone())).collect(),
            reasoning: String::new(),
            diagnostics: Map::new(),
            caps: Vec::new(),
            rounds: Vec::new(),
            rung: None,
            shuffle_seed: 0,
            prompt_version: judge.version.clone(),
            reused: false,
            made_at: None,
            error: None,
            cost: CellCost { cost: Some(Money::ZERO), ..CellCost::default() },
            latency_ms: 0.0,
            calls: Vec::new(),
            notes: Vec::new(),
            answered: Vec::new(),
            cascade: None,
        }
    }

    async fn record_judgment(
        &self,
        row: &Row,
        record: &CellRecord,
        output: &Value,
        judge: &ReadyJudge,
        cascade: Option<CascadeDraw>,
    ) -> JudgmentWrite {
        let partners = self.partner_outputs(row, record.ordinal, judge).await;
        let (others, paid) = match partners {
            Ok(partners) => partners,
            Err(error) => return self.record_unmade(row, record, judge, error).await,
        };
        let keys = self.resolver.judgment_keys(row, judge, record.output_hash, &others);
        let made = pin!(self.reuse_or_judge(keys, row, output, &others, judge));
        let (judgment, flight) = self.judgments.join(keys.own, made).await;
        let mut judgment = JudgmentRecord {
            ordinal: record.ordinal,
            scorer: judge.scorer,
            judge: judge.judge,
            cascade,
            ..(*judgment).clone()
        };
        if flight.is_none() {
            judgment.cost.paid = Money::ZERO;
        }
        judgment.cost.paid += paid;
        if judgment.error.as_ref().is_some_and(CellError::is_stop) {
            return JudgmentWrite::left();
        }
        self.append_judgment(judgment, flight).await
    }

    async fn append_judgment(
        &self,
        mut judgment: JudgmentRecord,
        flight: Option<FlightGuard<Arc<JudgmentRecord>>>,
    ) -> JudgmentWrite {
        let Ok(replaced) = self.cost_of_replaced(&judgment) else { return JudgmentWrite::left() };
        judgment.cost.paid += replaced;
        let unscored = judgment.error.is_some() || judgment.scores.iter().any(|(_, score)| score.is_unscored());
        let stored = Arc::new(self.systems.privacy.judgment(judgment));
        let lease = flight.as_ref().and_then(FlightGuard::lease);
        match self.ledger.append_deferred_guarded(vec![Record::Judgment(stored.clone())], lease).await {
            Ok(receipt) => {
                self.flush_for_peers().await;
                let summary = JudgingSummary { unscored, left: false };
                JudgmentWrite { summary, record: Some(stored), receipt: Some(receipt), flight }
            }
            Err(error) => {
                self.stop.fail(&error);
                JudgmentWrite::left()
            }
        }
    }

    /// The outputs that a judge compares with that of a cell, and what was paid for them now.
    ///
    /// # Errors
    /// The run is being stopped, or a stored output is damaged.
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
    /// The run is being stopped, or the stored output is damaged.
    async fn partner_output(
        &self,
        row: &Row,
        partner: usize,
        trial: u32,
    ) -> Result<(Option<Arc<Value>>, Money), CellError> {
        let (partner, trial) = (&self.systems.systems[partner], self.plan.paired_trial(partner, trial));
        if self.resolver.given.is_some() {
            let cell = self.check_stored(self.resolver.given_cell(row, partner, trial))?;
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
    ///
    /// # Errors
    /// The store cannot be asked, and the run stops.
    fn cost_of_replaced(&self, new: &JudgmentRecord) -> Result<Money, CellError> {
        let Some(own) = &self.resolver.own else { return Ok(Money::ZERO) };
        let is_same = |row: &JudgmentRecord| (row.scorer, row.judge) == (new.scorer, new.judge);
        let rows = own.judgments(new.ordinal);
        self.replaced_cost(rows.map(|rows| rows.iter().filter(|row| is_same(row)).map(|row| row.cost.paid).sum()))
    }

    async fn reuse_or_judge(
        &self,
        keys: JudgmentKeys,
        row: &Row,
        output: &Value,
        others: &[Option<Arc<Value>>],
        judge: &ReadyJudge,
    ) -> Arc<JudgmentRecord> {
        let find = || self.resolver.judgment(keys);
        let found = self.find_or_lease(&self.judgments, keys.own, find).await;
        if let Ok(Some(stored)) = found {
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
            is_demo: false,
        };
        let may_reuse = self.plan.run.cache != CachePolicy::Outputs;
        let owner = Owner { key: keys.own, target: &target, may_reuse };
        let (end, tally) = match found {
            Err(stop) => (Err(stop), Tally::default()),
            Ok(_) => self.calls.drive(machine, owner, failure_of).await,
        };
        let verdict = end.unwrap_or_else(|stop| Verdict { error: Some(stop), ..Verdict::default() });
        let unreadable = verdict.error.as_ref().filter(|error| error.code == CellError::UNREADABLE);
        if verdict.error.is_none() || unreadable.is_some() {
            self.calls.refusals.note_judgment(&target, unreadable.map(|error| error.message.as_str()));
        }
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
            cascade: None,
        })
    }
}

fn failure_of(verdict: &Verdict) -> Option<Failure<'_>> {
    verdict.error.as_ref().map(|error| Failure { error, unread: &verdict.unread })
}
