//! Rows of the ledger: the durable events of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    CallError, CallErrorCode, CostSource, FinishReason, Key, Moment, Money, PlanHeader, Score, ServedName, Shard,
    ShardRows, Usage,
};

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Under way, or cut off without a word.
    Running,
    /// Every cell of the plan has its row.
    Finished,
    /// Interrupted by the user.
    Interrupted,
    /// Stopped by a budget or a maximum of calls.
    BudgetStopped,
}

/// The first row of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// The run's id.
    pub id: String,
    /// The plan.
    pub plan: Arc<PlanHeader>,
    /// The time of its start.
    pub started_at: Moment,
    /// The time of its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Moment>,
    /// Its state.
    pub status: RunStatus,
    /// The part of the plan that it is of; `None` = all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<ShardRows>,
    /// Karat's version.
    pub version: String,
    /// Commit of the suite's repository, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_commit: Option<String>,
    /// The arguments that the run was started with, in the application's own form; `resume` uses them.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub invocation: Value,
}

impl RunHeader {
    /// The shard that the run is; `None` for a run of the whole plan.
    pub fn shard(&self) -> Option<Shard> {
        self.shard.map(|part| part.shard)
    }

    /// Returns true if it is a finished run of the whole plan: gates, baselines and comparisons over time take no other.
    pub fn is_whole(&self) -> bool {
        self.status == RunStatus::Finished && self.shard.is_none()
    }

    /// Cells of the run before conditions that only a row can decide.
    pub fn planned_cells(&self) -> u64 {
        self.shard.map_or_else(|| self.plan.cells(), |part| part.rows * self.plan.cells_per_row())
    }
}

/// One durable row. A `Record` is on disk before anything that follows from it is shown or used.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// Calls may be in flight from now on. What a run has reserved and not released is open; after a crash it counts as
    /// made and spent.
    Reserved {
        /// The number of concurrent calls that it covers.
        calls: u64,
        /// Upper bound of what they cost together.
        upper: Money,
    },
    /// Returns part of a reservation that is no longer needed.
    Released {
        /// The number of calls.
        calls: u64,
        /// Their upper bound.
        upper: Money,
    },
    /// A sample of the plan, once a run, before its first cell.
    Sample(SampleRecord),
    /// A call with its raw bytes.
    Call(CallRecord),
    /// A step's output that other cells and runs may reuse.
    Step(Arc<StepRecord>),
    /// A cell with its deterministic scores.
    Cell(Arc<CellRecord>),
    /// One judge's scores of one cell.
    Judgment(Arc<JudgmentRecord>),
}

/// The parts of a sample that reports need.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SampleRecord {
    /// Position of the row in the plan.
    pub row: u64,
    /// Its id.
    pub id: String,
    /// Group whose members are not independent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// Its date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The columns that the dataset's `metadata` names.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// Digests of what steps and judges read of the row, by name: `input`, `reference` or a column. They say later
    /// which of them changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<(String, Key)>,
    /// The texts that a reader needs beside an output: the roles `input` and `reference`, columns that steps and judges
    /// read, and what metrics compare with. Empty if the suite keeps no content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<SampleText>,
}

/// A part of a sample as text, for reports.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SampleText {
    /// `input`, `reference`, the name of a column, or `expected: ` and the name of a column that only metrics read.
    pub name: String,
    /// Its beginning, up to [`SampleText::STORED`] characters.
    pub text: String,
    /// Length of the whole, in characters.
    pub chars: u64,
}

impl SampleText {
    /// Number of characters that are stored of a text.
    pub const STORED: usize = 4_000;

    /// Name of the role `input`.
    pub const INPUT: &str = "input";

    /// Name of the role `reference`.
    pub const REFERENCE: &str = "reference";

    /// Beginning of the name of a column that only metrics read.
    pub const EXPECTED: &str = "expected: ";

    /// Returns true for what outputs are compared with. Who grades blindly must not see it.
    pub fn is_expected(&self) -> bool {
        Self::is_name_expected(&self.name)
    }

    /// Returns true if a text with this name is what outputs are compared with.
    pub fn is_name_expected(name: &str) -> bool {
        name == Self::REFERENCE || name.starts_with(Self::EXPECTED)
    }

    /// Returns what outputs are compared with, of all texts of a sample, as one text: the reference, then each column that
    /// only metrics read behind its name. `None` if the sample has none, or keeps no content.
    pub fn expected_text(texts: &[Self]) -> Option<String> {
        let named = texts.iter().filter(|it| it.is_expected()).map(|it| match it.name.strip_prefix(Self::EXPECTED) {
            Some(column) => format!("{column}: {}", it.text),
            None => it.text.clone(),
        });
        let all = named.collect::<Vec<_>>().join("\n");
        (!all.is_empty()).then_some(all)
    }

    /// The text of a value: strings as they are, everything else as JSON.
    pub fn of(name: &str, value: &Value) -> Self {
        let json;
        let whole = match value {
            Value::String(text) => text,
            other => {
                json = other.to_string();
                &json
            }
        };
        let end = whole.char_indices().nth(Self::STORED).map_or(whole.len(), |(end, _)| end);
        let rest = whole.get(end..).unwrap_or_default().chars().count();
        let text = whole.get(..end).unwrap_or_default().to_owned();
        let chars = (text.chars().count() + rest) as u64;
        Self { name: name.to_owned(), text, chars }
    }
}

/// One request to a provider, all attempts included.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRecord {
    /// Content identity of the call: its step or judgment, and its id there.
    pub key: Key,
    /// Registry id of the model; `http` or `command` for steps that call none.
    pub model: String,
    /// The body as sent, secrets removed.
    pub request: bytes::Bytes,
    /// The body as received, secrets removed; empty when none came.
    pub response: bytes::Bytes,
    /// HTTP status of the last attempt.
    pub status: Option<u16>,
    /// The usage that the provider reported.
    pub usage: Option<Usage>,
    /// The cost; `None` when the price is unknown.
    pub cost: Option<Money>,
    /// Where the cost comes from.
    pub cost_source: CostSource,
    /// The reservation made before the call: its upper bound, or zero when it was not sent. It counts as the cost
    /// when the cost is unknown and the reservation is larger than the known part.
    pub reserved: Money,
    /// Time of the last attempt in milliseconds.
    pub latency_ms: f64,
    /// Attempts made.
    pub attempts: u32,
    /// True if an attempt without a reply reported more tokens than any call can have.
    pub impossible: bool,
    /// The finish reason of the reply.
    pub finish: Option<FinishReason>,
    /// The error, when there is no reply.
    pub error: Option<CallError>,
}

/// Facts that a response reports about itself; they are not part of the output.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ResponseFacts {
    /// Milliseconds by stage.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub latency_ms: BTreeMap<String, f64>,
    /// Version of the service that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Names of the models that the service uses, by part: `llm`, `text`, ….
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, String>,
    /// The usage of each step, in order, when several steps made an output; from the last recorded step on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepCost>,
    /// The usage and cost of the model that plays the user: no part of the system's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<StepCost>,
    /// True if a call went by a batch API, so that the time of the calls is not known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untimed: bool,
    /// The tokens and list price of the texts whose vectors scorers compared: no part of the system's own cost. The tokens
    /// are counted here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vectors: Option<StepCost>,
    /// The models that answered. The store keeps them by themselves: most cells have one.
    #[serde(skip)]
    pub answered: Vec<ServedName>,
}

/// The usage and cost of one step of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StepCost {
    /// Tokens.
    pub usage: Usage,
    /// The cost of its calls, including those that an earlier run paid; `None` when a price is unknown.
    pub cost: Option<Money>,
}

impl StepCost {
    /// Adds another usage and cost; the sum with an unknown cost is unknown.
    pub fn add(&mut self, other: Self) {
        self.usage += other.usage;
        self.cost = self.cost.zip(other.cost).map(|(own, other)| own + other);
    }
}

impl ResponseFacts {
    /// Returns true if nothing but the served models is known.
    pub fn is_bare(&self) -> bool {
        let Self { latency_ms, version, models, steps, user, untimed, vectors, answered: _ } = self;
        latency_ms.is_empty()
            && version.is_none()
            && models.is_empty()
            && steps.is_empty()
            && user.is_none()
            && vectors.is_none()
            && !untimed
    }

    /// These facts and those of a step before: times of one stage add up, the later version and models stand. What each
    /// step used is left as it is.
    pub fn absorb(&mut self, before: &Self) {
        for (stage, time) in &before.latency_ms {
            *self.latency_ms.entry(stage.clone()).or_default() += time;
        }
        self.untimed |= before.untimed;
        self.version = self.version.take().or_else(|| before.version.clone());
        for (part, model) in &before.models {
            self.models.entry(part.clone()).or_insert_with(|| model.clone());
        }
        if let Some(earlier) = before.user {
            self.user.get_or_insert(StepCost { cost: Some(Money::ZERO), ..StepCost::default() }).add(earlier);
        }
        before.answered.iter().for_each(|it| it.clone().add_to(&mut self.answered));
    }
}

/// A step's output under its content key. Only `ok` outputs are recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRecord {
    /// Content key of the step prefix.
    pub key: Key,
    /// The output.
    pub output: Arc<Value>,
    /// Notes that a report must repeat when the output is reused.
    pub notes: Vec<Note>,
    /// Tokens of the calls that made it.
    pub usage: Usage,
    /// Cost of the calls that made it; `None` when a price is unknown.
    pub cost: Option<Money>,
    /// Time it took in milliseconds.
    pub latency_ms: f64,
    /// The calls that made it.
    pub calls: Vec<Key>,
    /// Facts that the responses reported about themselves.
    pub facts: ResponseFacts,
}

/// The outcome of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CellStatus {
    /// It has an output.
    Ok,
    /// It has none.
    Error,
    /// A condition (`requires`, `missing: skip`) left it out.
    Skipped,
}

/// The error of a cell without an output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellError {
    /// States the attempt, the failure and the next step.
    pub message: String,
    /// A short stable word: a [`CallErrorCode`] or `parse`, `template`, `recorded`, `cell_timeout`.
    pub code: String,
}

impl From<CallError> for CellError {
    fn from(error: CallError) -> Self {
        Self { code: error.code.as_str().to_owned(), message: error.message }
    }
}

impl CellError {
    /// An error by its code.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { message: message.into(), code: code.into() }
    }

    /// A tool's program or service failed, timed out or broke its protocol.
    pub const TOOL: &str = "tool";

    /// The model that plays the user failed.
    pub const USER: &str = "user";

    /// Returns true if a tool or the simulated user failed, and not the system.
    pub fn is_beside_system(&self) -> bool {
        [Self::TOOL, Self::USER].contains(&self.code.as_str())
    }

    /// The judge's reply was invalid, also after the last re-ask.
    pub const UNREADABLE: &str = "parse";

    /// The prompt does not fit the judge's context window, so asking again is pointless.
    pub const CONTEXT: &str = "context";

    /// Returns true if the run was stopped and the cell did not fail itself; `resume` makes such cells.
    pub fn is_stop(&self) -> bool {
        CallErrorCode::from_code(&self.code).is_some_and(CallErrorCode::is_stop)
    }

    /// Returns true if replies to other calls may be good, so that `retry` uses them again: one call gave no reply, or one
    /// that could not be read, or what failed is not part of the system.
    pub fn leaves_good_replies(&self) -> bool {
        self.is_beside_system() || self.is_call_failure() || self.code == Self::UNREADABLE
    }

    /// Returns true if a call gave no reply, as opposed to an unusable reply.
    pub fn is_call_failure(&self) -> bool {
        CallErrorCode::from_code(&self.code).is_some()
    }
}

/// The kind of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// A reply ran into `max_tokens`.
    Truncated,
    /// A reply was ended by the provider's content filter, or is a refusal.
    Filtered,
    /// Chunks beyond `max` were dropped.
    DroppedChunks,
    /// A reply was read through a lenient rung of the JSON ladder.
    Lenient,
    /// A reply was asked for again.
    Reasked,
    /// The provider reported no usage, so it was estimated.
    UsageEstimated,
    /// The provider counted more than a call can have used.
    Breach,
    /// A score was clamped, filled or cut by a declared lenience.
    Lenience,
    /// A fact that `meter` names could not be read.
    Unmetered,
    /// A reply calls tools that it was not offered.
    UnaskedCall,
    /// A tool has no written reply for a call.
    Unscripted,
    /// A simulated user did not end the conversation within its messages.
    UserLimit,
    /// A setting was not sent: the model refuses it, or its protocol lacks it.
    NotApplied,
    /// The provider stated the cost itself.
    CostReported,
    /// The cost is unknown, or what the provider stated as the cost cannot be one.
    CostUnknown,
    /// A reply ended for a reason that Karat does not know.
    UnknownEnd,
    /// A reply has no content.
    NoContent,
    /// A merge dropped items that another one says.
    Merged,
}

/// A note that every report must show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The kind.
    pub kind: NoteKind,
    /// The text.
    pub text: String,
    /// The number of occurrences.
    pub count: u32,
}

/// Money and tokens of a cell, judges apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CellCost {
    /// Tokens.
    pub usage: Usage,
    /// The cost of its calls, including those that an earlier run paid; `None` when a price is unknown.
    pub cost: Option<Money>,
    /// The amount that this run paid: zero when the result was reused.
    pub paid: Money,
}

impl CellCost {
    /// Takes an equal part of `parts` away, rounded down, and returns it.
    #[must_use]
    pub fn take_part(&mut self, parts: u64, of: Self) -> Self {
        let part = |amount: Money| Money(amount.0 / i128::from(parts.max(1)));
        let taken = Self { usage: of.usage.divide(parts), cost: of.cost.map(part), paid: part(of.paid) };
        self.usage = self.usage.subtract(taken.usage);
        self.cost = self.cost.zip(taken.cost).map(|(own, taken)| own - taken);
        self.paid = self.paid - taken.paid;
        taken
    }
}

/// A cell of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct CellRecord {
    /// Its place in the plan.
    pub ordinal: u64,
    /// Content key of its last step.
    pub key: Key,
    /// Its outcome.
    pub status: CellStatus,
    /// True if the whole output came from an earlier run.
    pub reused: bool,
    /// The start of the earlier run that made the output, when it was reused; a lower bound of its age.
    pub made_at: Option<Moment>,
    /// The output, where it has one.
    pub output: Option<Arc<Value>>,
    /// Content hash of the output.
    pub output_hash: Key,
    /// Deterministic scores by metric index.
    pub scores: Vec<(u16, Score)>,
    /// Tokens and money.
    pub cost: CellCost,
    /// Time its calls took in milliseconds: of the original calls when reused.
    pub latency_ms: f64,
    /// Its calls.
    pub calls: Vec<Key>,
    /// Facts that the responses reported about themselves.
    pub facts: ResponseFacts,
    /// Notes that reports must show.
    pub notes: Vec<Note>,
    /// The reason why there is no output.
    pub error: Option<CellError>,
}

impl CellRecord {
    /// A cell that has come to nothing yet: `ok`, without an output, at no cost.
    pub fn empty(ordinal: u64) -> Self {
        Self {
            ordinal,
            key: Key::default(),
            status: CellStatus::Ok,
            reused: false,
            made_at: None,
            output: None,
            output_hash: Key::default(),
            scores: Vec::new(),
            cost: CellCost { cost: Some(Money::ZERO), ..CellCost::default() },
            latency_ms: 0.0,
            calls: Vec::new(),
            facts: ResponseFacts::default(),
            notes: Vec::new(),
            error: None,
        }
    }
}

/// One of several times that a judge was asked about a cell: a vote, or one order of a pair.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct JudgeRound {
    /// Position, from 0, of the other output among those that the cell's output is compared with.
    #[serde(default, skip_serializing_if = "is_first")]
    pub opponent: u16,
    /// True if the cell's output was shown second.
    pub swapped: bool,
    /// Numbers by metric index; of a pair, 1 where the cell's output is preferred, wherever it was shown.
    pub scores: Vec<(u16, f64)>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_first(opponent: &u16) -> bool {
    *opponent == 0
}

/// The part of a cell in a cascade of judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AskedJudge {
    /// The first scorer was unsure, so the judge was asked.
    Unsure,
    /// The cell was drawn among the sure ones, so the judge was asked.
    Drawn,
    /// The judge was not asked.
    No,
}

/// The draw of a cell in a cascade of judges.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CascadeDraw {
    /// The cell's part.
    pub asked: AskedJudge,
    /// π: the probability with which a sure cell of the system was drawn.
    pub pi: f64,
}

/// One judge's scores of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgmentRecord {
    /// The cell's place in the plan.
    pub ordinal: u64,
    /// Content key: output, columns, rubric, judge, parameters, examples.
    pub key: Key,
    /// Index of the scorer.
    pub scorer: u16,
    /// Index of the judge in the plan.
    pub judge: u16,
    /// Scores by metric index.
    pub scores: Vec<(u16, Score)>,
    /// The judge's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// Typed findings by name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub diagnostics: Map<String, Value>,
    /// Caps that applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caps: Vec<String>,
    /// The scores of each round, when the judge was asked more than once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<JudgeRound>,
    /// Rung of the JSON ladder that the reply was read on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rung: Option<String>,
    /// Seed of the order in which lists were shown.
    pub shuffle_seed: u64,
    /// Declared version of the rubric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_version: Option<String>,
    /// True if it came from an earlier run.
    pub reused: bool,
    /// The start of the earlier run that made it, when it was reused; a lower bound of its age.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_at: Option<Moment>,
    /// The reason why it is unscored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<CellError>,
    /// Tokens and money.
    pub cost: CellCost,
    /// Time its calls took in milliseconds.
    pub latency_ms: f64,
    /// Its calls.
    pub calls: Vec<Key>,
    /// Notes that reports must show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// The models that answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<ServedName>,
    /// The cell's draw, if the scorer has a cascade; its scores do not apply where the judge was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cascade: Option<CascadeDraw>,
}

impl JudgmentRecord {
    /// Returns true unless a cascade left the cell to its first scorer.
    pub fn is_asked(&self) -> bool {
        self.cascade.is_none_or(|draw| draw.asked != AskedJudge::No)
    }
}
