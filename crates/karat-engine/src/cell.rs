//! One cell: its steps, its deterministic scores, its judgments.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt, join_all};
use karat_scoring::judge::JudgeInput;
use karat_scoring::scorer::{CellView, ScoresSoFar};
use karat_store::{Ledger, Store};
use karat_text::template::Context;
use karat_types::{
    CellCost, CellError, CellRecord, CellStatus, JudgmentRecord, Key, Moment, Money, Note, PlanHeader, Record, Round,
    Sample, Score, StepRecord, output_key,
};
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::EngineError;
use crate::calls::{Calls, Tally, Target};
use crate::flights::{Flights, Landing};
use crate::history::{Earlier, Place};
use crate::identity::{RowDigests, judgment_key, recorded_key, subject_key};
use crate::steps::{StepEnd, StepInput};
use crate::stop::Stop;
use crate::systems::{ReadyJudge, ReadyStep, ReadySystem, Systems};

/// What all cells of a run share.
pub(crate) struct Workshop {
    pub plan: Arc<PlanHeader>,
    pub systems: Systems,
    pub store: Arc<Store>,
    pub ledger: Arc<Ledger>,
    pub calls: Calls,
    pub steps: Flights<StepResult>,
    pub judgments: Flights<Arc<JudgmentRecord>>,
    pub stop: Stop,
    /// Results are taken over from runs that began at this moment or later.
    pub oldest: Moment,
    /// Whether what failed is made again.
    pub retry: bool,
    /// Where outputs are found, instead of being made.
    pub outputs: Option<Earlier>,
    /// The run itself, where what failed of it is made again.
    pub own: Option<Earlier>,
}

/// What all cells of a row share.
pub(crate) struct Row {
    pub sample: Arc<Sample>,
    /// The row as scorers and judges see it: what must not be kept is blacked out.
    pub shown: Arc<Sample>,
    pub digests: RowDigests,
    /// What templates see of the row: made when the first of them is rendered, for reused cells never.
    context: OnceLock<Context>,
}

impl Row {
    pub fn new(sample: Sample, systems: &Systems) -> Self {
        let sample = Arc::new(sample);
        let shown = systems.privacy.row(&sample).map_or_else(|| sample.clone(), Arc::new);
        let digests = RowDigests::new(sample.clone(), systems.reads.len());
        Self { sample, shown, digests, context: OnceLock::new() }
    }

    fn context(&self, reads: &[String]) -> &Context {
        self.context.get_or_init(|| {
            let columns = with_id(&self.sample);
            let role = |name, value: &Option<Value>| match value {
                Some(value) if is_read(name, reads) => value.clone(),
                _ => Value::Null,
            };
            Context::new()
                .with_read("sample", &columns, reads)
                .with("input", &role("input", &self.sample.input))
                .with("reference", &role("reference", &self.sample.reference))
        })
    }
}

/// A row's columns, its id among them.
fn with_id(sample: &Sample) -> Cow<'_, Map<String, Value>> {
    if sample.columns.contains_key("id") {
        return Cow::Borrowed(&sample.columns);
    }
    let mut columns = sample.columns.clone();
    columns.insert("id".to_owned(), Value::from(&*sample.id));
    Cow::Owned(columns)
}

/// Whether any of the names is this one or a part of it.
fn is_read(name: &str, reads: &[String]) -> bool {
    reads.iter().any(|read| read.split(['.', '[']).next() == Some(name))
}

/// What the steps of a system see of a row.
pub(crate) fn step_input(row: &Row, systems: &Systems, system: &ReadySystem, output: Option<&Value>) -> StepInput {
    let context = row.context(&systems.names).over(&system.context);
    let context = output.into_iter().fold(context, |context, output| context.with("output", output));
    StepInput { context, sample: row.sample.clone(), model: system.model.clone() }
}

/// A step's output, or why there is none; shared by the cells that need it.
pub(crate) type StepResult = Result<Arc<Made>, Arc<Unmade>>;

/// An output and where it came from.
pub(crate) struct Made {
    step: StepRecord,
    origin: Origin,
}

/// An output on its way into its cell.
struct Output<'a> {
    made: Arc<Made>,
    /// What was paid now, for this step and those before it.
    paid: Money,
    /// Kept until the step is on disk, so that nobody makes it again meanwhile.
    landing: Option<Landing<'a, StepResult>>,
}

/// A cell that is made but not on disk yet.
struct Attempt<'a> {
    record: CellRecord,
    /// Its last step, where that is to be recorded with it.
    step: Option<StepRecord>,
    landing: Option<Landing<'a, StepResult>>,
}

/// Where an output came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// From an earlier run, that began at this moment.
    Reused(Moment),
    /// Made now, and on disk under its key.
    Saved,
    /// Made now, needed by this cell only, so that its step is recorded together with the cell.
    Unsaved,
    /// Found, not made.
    Recorded,
}

/// Why a step has no output.
#[derive(Debug, Clone)]
pub(crate) enum Unmade {
    Failed(CellError, Box<Tally>),
    Skipped(String),
}

/// A finished cell, for the progress line.
pub(crate) struct CellDone {
    pub record: CellRecord,
    pub unscored: bool,
    /// The run is being stopped: nothing was recorded, the cell is left for `resume`.
    pub left: bool,
}

/// What an earlier part of the run has recorded of a cell.
#[derive(Debug, Clone, Default)]
pub(crate) struct Before {
    /// How far the cell itself is.
    pub stage: Stage,
    /// Judgments by scorer and judge.
    pub judgments: Vec<(u16, u16)>,
}

/// How far a cell is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Stage {
    /// Nothing is there, or nothing that counts.
    #[default]
    New,
    /// It has its output, and its scores are made again.
    Made,
    /// It is recorded. Its output is found again by its content.
    Recorded,
}

impl Workshop {
    /// Makes, scores and judges one cell, and records it.
    pub async fn cell(&self, row: &Row, ordinal: u64, before: Before) -> CellDone {
        let (_, system, trial) = self.plan.place(ordinal);
        let system = &self.systems.systems[system];
        let Attempt { record, step, landing } = match (&self.outputs, &self.own) {
            (Some(earlier), _) => self.take(row, system, ordinal, trial, earlier).await,
            (None, Some(own)) if before.stage == Stage::Made => self.score_again(row, system, ordinal, own).await,
            (None, _) => self.make(row, system, ordinal, trial).await,
        };
        let stopped = record.error.as_ref().is_some_and(CellError::is_stop);
        if stopped || before.stage != Stage::Recorded && self.record(&record, step).await.is_err() {
            return CellDone { record, unscored: false, left: true };
        }
        drop(landing);
        let judged = self.judge(row, &record, &before.judgments).await;
        let record = self.systems.privacy.told(record);
        CellDone { unscored: judged.unscored, left: judged.left, record }
    }

    async fn record(&self, record: &CellRecord, step: Option<StepRecord>) -> Result<(), ()> {
        let privacy = &self.systems.privacy;
        let step = step.filter(|_| privacy.keeps_content()).map(Record::Step);
        let (_, system, _) = self.plan.place(record.ordinal);
        let is_found = self.systems.systems.get(system).is_some_and(|system| system.chain.is_empty());
        let records = step.into_iter().chain([Record::Cell(privacy.cell(record.clone(), is_found))]).collect();
        let appended = self.ledger.append(records).await;
        appended.map_err(|error| self.stop.fail(error.to_string()))
    }

    /// The stored output of a cell, with today's scores.
    async fn take(&self, row: &Row, system: &ReadySystem, ordinal: u64, trial: u32, earlier: &Earlier) -> Attempt<'_> {
        let model = system.model.as_ref().map(|model| model.id.as_str());
        let place = Place { row: row.sample.row, sample: &row.sample.id, model, variant: &system.variant, trial };
        let mut record = match earlier.stored(place) {
            Ok(Some(stored)) => CellRecord { ordinal, scores: Vec::new(), ..stored },
            Ok(None) => {
                let why = format!("run {} has no output of this cell", earlier.run());
                CellRecord {
                    status: CellStatus::Skipped,
                    error: Some(CellError::new("not_stored", why)),
                    ..CellRecord::empty(ordinal)
                }
            }
            Err(error) => unreadable(ordinal, &error),
        };
        record.cost.paid = Money::ZERO;
        if record.status == CellStatus::Ok && record.output.is_none() {
            self.find_again(row, system, &mut record).await;
        }
        if let Some(output) = record.output.clone() {
            record.scores = self.score(row, &record, &output).await;
        }
        Attempt { record, step: None, landing: None }
    }

    /// A cell of this run whose scores are made again; nothing else of it changes.
    async fn score_again(&self, row: &Row, system: &ReadySystem, ordinal: u64, own: &Earlier) -> Attempt<'_> {
        let mut record = match own.as_it_stands(ordinal) {
            Ok(found) => found.unwrap_or_else(|| CellRecord::empty(ordinal)),
            Err(error) => unreadable(ordinal, &error),
        };
        if record.status == CellStatus::Ok && record.output.is_none() {
            self.find_again(row, system, &mut record).await;
        }
        if let Some(output) = record.output.clone() {
            record.scores = self.score(row, &record, &output).await;
        }
        Attempt { record, step: None, landing: None }
    }

    /// An output that was not stored because it stands in the dataset, if it still stands there.
    async fn find_again(&self, row: &Row, system: &ReadySystem, record: &mut CellRecord) {
        let Some(step) = system.recorded.as_ref().filter(|_| system.chain.is_empty()) else { return };
        let found = self.found(row, system, step).await.ok();
        match found.filter(|made| output_key(&made.step.output) == record.output_hash) {
            Some(made) => record.output = Some(made.step.output.clone()),
            None => {
                record.status = CellStatus::Error;
                let why = "the run did not keep this document, and the dataset has another one now. Run the suite anew";
                record.error = Some(CellError::new("not_stored", why));
            }
        }
    }

    async fn make(&self, row: &Row, system: &ReadySystem, ordinal: u64, trial: u32) -> Attempt<'_> {
        let (mut unsaved, mut held) = (None, None);
        let deadline = self.plan.run.cell_timeout_ms.map(|limit| Instant::now() + Duration::from_millis(limit));
        let result = self.output(row, system, trial, deadline).await;
        let mut record = CellRecord::empty(ordinal);
        match result {
            Ok(Output { made, paid, landing }) => {
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
            Err(unmade) => match &*unmade {
                Unmade::Skipped(reason) => {
                    record.status = CellStatus::Skipped;
                    record.error = Some(CellError::new("skipped", reason.clone()));
                }
                Unmade::Failed(error, tally) => {
                    record.status = CellStatus::Error;
                    record.cost = CellCost { usage: tally.usage, cost: tally.known_cost(), paid: tally.paid };
                    record.latency_ms = tally.latency_ms;
                    record.calls = tally.calls.clone();
                    record.notes = tally.notes.clone();
                    record.error = Some(error.clone());
                }
            },
        }
        Attempt { record, step: unsaved, landing: held }
    }

    /// The output of the system's last step.
    async fn output(
        &self,
        row: &Row,
        system: &ReadySystem,
        trial: u32,
        deadline: Option<Instant>,
    ) -> Result<Output<'_>, Arc<Unmade>> {
        let mut before = self.systems.root;
        let mut found = None;
        if let Some(step) = &system.recorded {
            let made = self.found(row, system, step).await?;
            before = made.step.key;
            found = Some(made);
        }
        let keys = system.keys(&self.systems, &row.digests, before, trial);
        let chain = Chain { workshop: self, row, system, keys: &keys, found: found.clone(), deadline };
        match chain.keys.len().checked_sub(1) {
            Some(last) => chain.step(last).await,
            None => found
                .map(|made| Output { made, paid: Money::ZERO, landing: None })
                .ok_or_else(|| Arc::new(Unmade::Skipped(format!("variant `{}` has no step", system.variant)))),
        }
    }

    /// A recorded output. It is read anew for every cell and never stored for reuse: reading it costs nothing.
    async fn found(&self, row: &Row, system: &ReadySystem, step: &ReadyStep) -> StepResult {
        let machine = step.step.machine(step_input(row, &self.systems, system, None));
        let mut tally = Tally::default();
        match self.calls.drive(machine, Key::default(), None, &mut tally).await {
            StepEnd::Failed(error) => Err(Arc::new(Unmade::Failed(error, Box::new(tally)))),
            StepEnd::Skipped(reason) => Err(Arc::new(Unmade::Skipped(reason))),
            StepEnd::Output { output, notes, metered } => {
                let output = self.systems.privacy.output(output);
                let key = recorded_key(&output);
                tally.meter(&metered);
                let step = step_record(key, output, notes, tally);
                Ok(Arc::new(Made { step, origin: Origin::Recorded }))
            }
        }
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
                Some(Ok(request)) => vec![self.calls.scored(ready, &request).await],
            };
            scores.extend(ready.metrics.iter().copied().zip(found));
        }
        scores
    }

    async fn judge(&self, row: &Row, record: &CellRecord, present: &[(u16, u16)]) -> Judged {
        let (CellStatus::Ok, Some(output)) = (record.status, &record.output) else { return Judged::default() };
        let (_, system, _) = self.plan.place(record.ordinal);
        let judges = self.systems.judges.iter().filter(|judge| judge.is_asked(system));
        let wanted = judges.filter(|judge| !present.contains(&(judge.scorer, judge.judge)));
        let results = join_all(wanted.map(|judge| self.judgment(row, record, output, judge))).await;
        results.into_iter().fold(Judged::default(), |all, one| Judged {
            unscored: all.unscored || one.unscored,
            left: all.left || one.left,
        })
    }

    async fn judgment(&self, row: &Row, record: &CellRecord, output: &Value, judge: &ReadyJudge) -> Judged {
        let Ok((other, paid)) = self.other(row, record.ordinal, judge).await else {
            return Judged { unscored: true, left: true };
        };
        let subject = subject_key(record.output_hash, other.as_deref());
        let key = judgment_key(judge.identity, subject, row.digests.get(&self.systems.reads, judge.reads));
        let made = self.judge_once(key, row, output, other.as_deref(), judge);
        let (judgment, landing) = self.judgments.join(key, made).await;
        let mut judgment =
            JudgmentRecord { ordinal: record.ordinal, scorer: judge.scorer, judge: judge.judge, ..(*judgment).clone() };
        if landing.is_none() {
            judgment.cost.paid = Money::ZERO;
        }
        judgment.cost.paid += paid;
        if judgment.error.as_ref().is_some_and(CellError::is_stop) {
            return Judged { unscored: true, left: true };
        }
        let unscored = judgment.error.is_some() || judgment.scores.iter().any(|(_, score)| score.is_unscored());
        let appended = self.ledger.append(vec![Record::Judgment(self.systems.privacy.judgment(judgment))]).await;
        drop(landing);
        match appended {
            Ok(()) => Judged { unscored, left: false },
            Err(error) => {
                self.stop.fail(error.to_string());
                Judged { unscored, left: true }
            }
        }
    }

    /// The output that a pair's judge compares with, where there is one, and what was paid for it now.
    ///
    /// # Errors
    /// The run is being stopped.
    async fn other(
        &self,
        row: &Row,
        ordinal: u64,
        judge: &ReadyJudge,
    ) -> Result<(Option<Arc<Value>>, Money), CellError> {
        let (_, system, trial) = self.plan.place(ordinal);
        let Some(partner) = judge.partner(system) else { return Ok((None, Money::ZERO)) };
        let (partner, trial) = (&self.systems.systems[partner], self.plan.trial_beside(partner, trial));
        if let Some(earlier) = &self.outputs {
            let model = partner.model.as_ref().map(|model| model.id.as_str());
            let place = Place { row: row.sample.row, sample: &row.sample.id, model, variant: &partner.variant, trial };
            return Ok((earlier.stored(place).ok().flatten().and_then(|cell| cell.output), Money::ZERO));
        }
        match self.output(row, partner, trial, None).await {
            Ok(found) => Ok((Some(found.made.step.output.clone()), found.paid)),
            Err(unmade) => match &*unmade {
                Unmade::Failed(error, _) if error.is_stop() => Err(error.clone()),
                Unmade::Failed(_, tally) => Ok((None, tally.paid)),
                Unmade::Skipped(_) => Ok((None, Money::ZERO)),
            },
        }
    }

    async fn judge_once(
        &self,
        key: Key,
        row: &Row,
        output: &Value,
        other: Option<&Value>,
        judge: &ReadyJudge,
    ) -> Arc<JudgmentRecord> {
        if let Some(stored) = self.store.judgment(key).ok().flatten().filter(|it| it.run_started_at >= self.oldest) {
            let (made_at, known) = (Some(stored.run_started_at), stored.record);
            let cost = CellCost { paid: Money::ZERO, ..known.cost };
            let scores = judge.rebase(&known.scores);
            let rounds = judge.rounds_of(&known);
            return Arc::new(JudgmentRecord { reused: true, made_at, cost, scores, rounds, ..known });
        }
        let seed = self.plan.run.seed;
        let machine = judge.machine.against(JudgeInput { sample: &row.shown, output, seed }, other);
        let target = Target {
            who: judge.who.clone(),
            model: Some(judge.model.clone()),
            timeout: judge.timeout,
            retries: self.plan.run.retries,
            deadline: None,
        };
        let mut tally = Tally::default();
        let verdict = self.calls.drive(Box::new(machine), key, Some(&target), &mut tally).await;
        let why = verdict.error.as_ref().map_or("the judge said nothing of it", |error| error.message.as_str());
        let score =
            |name: &str| verdict.scores.iter().find(|(scored, _)| scored == name).map(|(_, score)| score.clone());
        let scores = judge.metrics.iter();
        let scores = scores.map(|(name, at)| (*at, score(name).unwrap_or_else(|| Score::unscored(why)))).collect();
        let cost = CellCost { usage: tally.usage, cost: tally.known_cost(), paid: tally.paid };
        let place = |name: &str| judge.metrics.iter().find(|(known, _)| known == name).map(|(_, at)| *at);
        let rounds = verdict.rounds.iter().map(|round| Round {
            swapped: round.swapped,
            scores: round.scores.iter().filter_map(|(name, value)| Some((place(name)?, *value))).collect(),
        });
        let rounds = rounds.collect();
        Arc::new(JudgmentRecord {
            ordinal: 0,
            key,
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
        })
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

#[derive(Debug, Clone, Copy, Default)]
struct Judged {
    unscored: bool,
    left: bool,
}

/// The steps of one cell. A step first looks for its own output, then for that of the step before it.
struct Chain<'w, 'a> {
    workshop: &'w Workshop,
    row: &'a Row,
    system: &'a ReadySystem,
    keys: &'a [Key],
    found: Option<Arc<Made>>,
    deadline: Option<Instant>,
}

impl<'w> Chain<'w, '_> {
    /// The output of step `at`.
    fn step(&self, at: usize) -> BoxFuture<'_, Result<Output<'w>, Arc<Unmade>>> {
        async move {
            let mut paid = Money::ZERO;
            let work = async {
                let (made, spent) = self.make(at).await?;
                paid = spent;
                Ok(made)
            };
            let (result, landing) = self.workshop.steps.join(self.keys[at], work).await;
            result.map(|made| Output { made, paid, landing })
        }
        .boxed()
    }

    async fn make(&self, at: usize) -> Result<(Arc<Made>, Money), Arc<Unmade>> {
        let workshop = self.workshop;
        let key = self.keys[at];
        if let Some(stored) = workshop.store.step(key).ok().flatten().filter(|it| it.run_started_at >= workshop.oldest)
        {
            let (step, origin) = (stored.record, Origin::Reused(stored.run_started_at));
            return Ok((Arc::new(Made { step, origin }), Money::ZERO));
        }
        let (before, paid_before) = match at.checked_sub(1) {
            Some(before) => {
                let output = self.step(before).await?;
                (Some(output.made), output.paid)
            }
            None => (self.found.clone(), Money::ZERO),
        };
        let ready = &self.system.chain[at];
        let output = before.as_ref().map(|made| &*made.step.output);
        let mut input = step_input(self.row, &workshop.systems, self.system, output);
        input.model = ready.model.clone().or(input.model);
        let target = Target {
            who: ready.who.clone(),
            model: ready.model.clone(),
            timeout: ready.timeout,
            retries: ready.retries,
            deadline: self.deadline,
        };
        let mut tally = Tally::default();
        let end = workshop.calls.drive(ready.step.machine(input), key, Some(&target), &mut tally).await;
        let paid = paid_before + tally.paid;
        match end {
            StepEnd::Skipped(reason) => Err(Arc::new(Unmade::Skipped(reason))),
            StepEnd::Failed(error) => {
                absorb(&mut tally, before.as_deref());
                tally.paid = paid;
                Err(Arc::new(Unmade::Failed(error, Box::new(tally))))
            }
            StepEnd::Output { output, mut notes, metered } => {
                tally.meter(&metered);
                absorb(&mut tally, before.as_deref());
                notes.extend(std::mem::take(&mut tally.notes));
                let privacy = &workshop.systems.privacy;
                let step = step_record(key, privacy.output(output), notes, tally);
                if !ready.shared || !privacy.keeps_content() {
                    return Ok((Arc::new(Made { step, origin: Origin::Unsaved }), paid));
                }
                if let Err(error) = workshop.ledger.append(vec![Record::Step(step.clone())]).await {
                    workshop.stop.fail(error.to_string());
                }
                Ok((Arc::new(Made { step, origin: Origin::Saved }), paid))
            }
        }
    }
}

/// A step's account includes that of the steps before it, so that the last one speaks for the cell.
fn absorb(tally: &mut Tally, before: Option<&Made>) {
    let Some(made) = before else { return };
    tally.usage += made.step.usage;
    tally.cost += made.step.cost.unwrap_or_default();
    tally.unpriced |= made.step.cost.is_none();
    tally.latency_ms += made.step.latency_ms;
    tally.facts.absorb(&made.step.facts);
    tally.calls = made.step.calls.iter().copied().chain(std::mem::take(&mut tally.calls)).collect();
    tally.notes = made.step.notes.iter().cloned().chain(std::mem::take(&mut tally.notes)).collect();
}

fn step_record(key: Key, output: Value, notes: Vec<Note>, tally: Tally) -> StepRecord {
    StepRecord {
        key,
        output: Arc::new(output),
        notes,
        usage: tally.usage,
        cost: tally.known_cost(),
        latency_ms: tally.latency_ms,
        calls: tally.calls,
        facts: tally.facts,
    }
}
