//! The parts of a compiled plan: steps, systems, scorers and judges, ready to be keyed and run.

use std::iter;
use std::sync::Arc;
use std::time::Duration;

use karat_scoring::judge::RubricJudge;
use karat_scoring::scorer::{Origin, Scorer};
use karat_store::{ReuseView, StoreError, StoredRecord};
use karat_text::template::Context;
use karat_types::{Action, JudgeRound, JudgmentRecord, Key, ModelSpec, PairDesign, Reads, Score};

use crate::control::deadline::CellDeadline;
use crate::control::target::{AgentTargets, Target};
use crate::plan::cascade::ReadyCascade;
use crate::plan::identity::{RowDigests, judgment_key, step_key};
use crate::steps::CompiledStep;

/// A step of a system, ready to be keyed and run.
pub(crate) struct ReadyStep {
    pub step: Arc<CompiledStep>,
    pub identity: Key,
    /// Index into [`crate::plan::systems::Systems::reads`].
    pub reads: usize,
    pub model: Option<Arc<ModelSpec>>,
    /// The model that plays the user of an agent.
    pub user: Option<Arc<ModelSpec>>,
    /// Name in messages: `step query`.
    pub who: Arc<str>,
    pub timeout: Duration,
    pub retries: u32,
    /// True if other runs may reuse its output: the recipient has a version.
    pub reusable: bool,
    /// True if another cell of the same row can need this step's output.
    pub shared: bool,
    /// True if a demonstration answers beside others that are billed.
    pub is_demo: bool,
}

impl ReadyStep {
    /// The recipients of an agent beside its model. Calls of tools are not retried: a tool may have acted.
    pub fn agent_targets(&self, time: Option<Arc<CellDeadline>>) -> Option<Arc<AgentTargets>> {
        let agent = self.step.spec.action.as_agent()?;
        let tools = Target {
            who: format!("tools of {}", self.who).into(),
            model: None,
            meter: None,
            timeout: self.timeout,
            retries: 0,
            time,
            agent: None,
            is_live: true,
            is_demo: false,
        };
        let user = self.user.clone().map(|model| Target {
            who: format!("user of {}", self.who).into(),
            timeout: model.timeout_ms.map_or(self.timeout, Duration::from_millis),
            retries: self.retries,
            model: Some(model),
            ..tools.clone()
        });
        Some(Arc::new(AgentTargets { tools, user, limits: agent.limits.clone() }))
    }
}

/// A model × variant, ready to be keyed and run.
pub(crate) struct ReadySystem {
    /// The recorded output that the chain starts from, if there is one: steps before it cannot matter.
    pub recorded: Option<ReadyStep>,
    /// The steps whose outputs are made.
    pub chain: Vec<ReadyStep>,
    pub model: Option<Arc<ModelSpec>>,
    pub variant: String,
    /// The names that its templates see for all rows alike: `params`, `variant`, `model`, `run`, `services`.
    pub context: Context,
}

/// A deterministic scorer and the positions of its scores.
pub(crate) struct ReadyScorer {
    pub scorer: Box<dyn Scorer>,
    pub metrics: Vec<u16>,
    /// Name in messages: `scorer tone`.
    pub who: Arc<str>,
    /// Limit of one attempt, if a service or program is called.
    pub timeout: Duration,
    /// Attempts after the first.
    pub retries: u32,
}

/// One rubric scorer with one of its judges.
pub(crate) struct ReadyJudge {
    pub scorer: u16,
    pub judge: u16,
    pub machine: RubricJudge,
    pub identity: Key,
    /// The identity of its ordinary grades, if this run measures the judge itself: ordinary grades may be reused too.
    pub everyday: Option<Key>,
    /// True if other runs may reuse its judgments: a program that judges has a version.
    pub reusable: bool,
    /// The names that the rubric reads.
    pub names: Vec<String>,
    /// Index into [`crate::plan::systems::Systems::reads`].
    pub reads: usize,
    pub model: Arc<ModelSpec>,
    /// Name in messages: `scorer quality`.
    pub who: Arc<str>,
    pub timeout: Duration,
    pub version: Option<String>,
    /// Metric index by dimension.
    pub metrics: Vec<(String, u16)>,
    /// The systems whose outputs a judged one is compared with.
    pub partners: Partners,
    /// The number of rounds per output and other output.
    pub rounds: u64,
    /// The number of allowed re-asks.
    pub reasks: u64,
    /// Estimated tokens of the rubric in a prompt.
    pub rubric_tokens: u64,
    /// The most estimated tokens of the labelled examples in a prompt.
    pub example_tokens: u64,
    /// The cascade by which it is asked about part of the cells only.
    pub cascade: Option<Arc<ReadyCascade>>,
}

/// The systems whose outputs a judge compares with that of a cell.
pub(crate) enum Partners {
    /// It judges single outputs.
    None,
    /// By system.
    One(Vec<Option<usize>>),
    /// Many, as a design says.
    Design(PairDesign),
}

impl Partners {
    /// The systems that are compared with one in a row of the plan.
    pub fn of(&self, row: u64, system: usize) -> Vec<usize> {
        match self {
            Self::None => Vec::new(),
            Self::One(partners) => partners.get(system).copied().flatten().into_iter().collect(),
            Self::Design(design) => design.opponents(row, system),
        }
    }

    /// Every system that some other one is compared with.
    pub fn all(&self, systems: usize) -> Vec<usize> {
        match self {
            Self::None => Vec::new(),
            Self::One(partners) => partners.iter().flatten().copied().collect(),
            Self::Design(_) => (0..systems).collect(),
        }
    }
}

/// The keys under which a judgment is stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JudgmentKeys {
    /// The key under which this run records it.
    pub own: Key,
    /// Another key under which it may be stored.
    everyday: Option<Key>,
}

impl ReadyJudge {
    /// Keys of its judgment of a subject, given what it reads of the row.
    pub fn keys(&self, subject: Key, row: Key) -> JudgmentKeys {
        let key = |identity| judgment_key(identity, subject, row);
        JudgmentKeys { own: key(self.identity), everyday: self.everyday.map(key) }
    }
}

impl JudgmentKeys {
    fn all(self) -> impl Iterator<Item = Key> {
        iter::once(self.own).chain(self.everyday)
    }

    /// The latest judgment that `find` returns.
    pub fn find_latest(
        self,
        find: impl Fn(Key) -> Result<Option<StoredRecord<JudgmentRecord>>, StoreError>,
    ) -> Result<Option<StoredRecord<JudgmentRecord>>, StoreError> {
        let stored = self.all().map(find).collect::<Result<Vec<_>, _>>()?;
        Ok(stored.into_iter().flatten().max_by_key(|it| it.run_started_at))
    }

    /// Returns whether a reusable judgment is stored.
    pub fn is_stored(self, stock: &ReuseView) -> Result<bool, StoreError> {
        for key in self.all() {
            if stock.has_judgment(key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl ReadySystem {
    /// The origin of its outputs: that of the last step.
    pub fn origin(&self) -> Origin {
        let Some(last) = self.chain.last().or(self.recorded.as_ref()) else { return Origin::Model };
        let spec = &last.step.spec;
        match &spec.action {
            Action::Http(_) | Action::Command(_) => Origin::Service,
            // What `parse` reads is the text of a model.
            Action::Recorded(_) if spec.parse.is_some() => Origin::Model,
            Action::Recorded(_) if spec.take.is_empty() => Origin::Record,
            Action::Recorded(_) => Origin::Service,
            Action::Prompt(_) | Action::Agent(_) => Origin::Model,
        }
    }

    /// The keys of the steps, given the key of the output before them.
    /// `with_media` adds what images and files of the row are to the key of what a step reads of it.
    pub fn keys(
        &self,
        reads: &[Reads],
        row: &RowDigests,
        (before, trial): (Key, u32),
        with_media: impl Fn(&ReadyStep, Key) -> Key,
    ) -> Vec<Key> {
        let mut before = before;
        let mut next = |step: &ReadyStep| {
            let read = with_media(step, row.get(reads, step.reads));
            before = step_key(before, step.identity, read, trial);
            before
        };
        self.chain.iter().map(&mut next).collect()
    }
}

impl ReadyJudge {
    /// Scores of a stored judgment at this run's metric positions. A rubric's metrics stand together and in the
    /// rubric's order in every plan, and a judgment holds all of them, so only the first position differs.
    pub fn rebase(&self, scores: &[(u16, Score)]) -> Vec<(u16, Score)> {
        let then = scores.iter().map(|(at, _)| *at).min().unwrap_or_default();
        let now = self.metrics.iter().map(|(_, at)| *at).min().unwrap_or_default();
        scores.iter().map(|(at, score)| (at - then + now, score.clone())).collect()
    }

    /// The rounds of a stored judgment at this run's metric positions.
    pub fn rebase_rounds(&self, stored: &JudgmentRecord) -> Vec<JudgeRound> {
        let then = stored.scores.iter().map(|(at, _)| *at).min().unwrap_or_default();
        let now = self.metrics.iter().map(|(_, at)| *at).min().unwrap_or_default();
        let moved = |round: &JudgeRound| JudgeRound {
            scores: round.scores.iter().map(|(at, value)| (at - then + now, *value)).collect(),
            ..round.clone()
        };
        stored.rounds.iter().map(moved).collect()
    }

    /// Returns whether the judge compares outputs.
    pub fn is_of_pairs(&self) -> bool {
        !matches!(self.partners, Partners::None)
    }

    /// Returns whether outputs of a system are graded or compared in a row, by this judgment or by one of another system.
    pub fn is_about(&self, row: u64, system: usize) -> bool {
        match &self.partners {
            Partners::None => true,
            Partners::One(partners) => partners.get(system).is_some_and(Option::is_some),
            Partners::Design(design) => design.pairs(row).any(|(one, other)| one == system || other == system),
        }
    }

    /// Returns whether the judge grades outputs of a system in a row: it does not grade the other side of its pairs.
    pub fn is_asked(&self, row: u64, system: usize) -> bool {
        !self.is_of_pairs() || !self.partners.of(row, system).is_empty()
    }
}
