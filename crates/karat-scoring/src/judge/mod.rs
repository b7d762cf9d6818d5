//! Judges: a rubric becomes a prompt, a reply becomes a verdict.
//!
//! [`RubricJudge::new`] compiles a rubric once. [`RubricJudge::machine`] returns, for one sample and output, a machine without
//! I/O that asks for chat replies and ends with a [`Verdict`].
//!
//! Map, in reading order: `rubric/` compiles the rubric; `round/` runs one round (render, ask, re-ask, read); `prompt/` writes
//! the messages; `reply/` reads a reply into scores, findings and problems; `chunks/` cuts what is too long for one call and
//! combines the pieces; `votes` runs several rounds (votes, both orders of a pair) and combines them; `verdict` is the result.
//!
//! Rules:
//!
//! 1. The rubric's values are rendered, lists are shuffled by a recorded seed, everything is fenced and declared to be data,
//!    and calibration examples of *other* samples are added. Neither the judged model's name nor the judge's own can get in:
//!    templates see only the sample and the output.
//! 2. A value that may be cut is cut where the judge's window is too small; then each piece is a call of its own, and
//!    dimensions judged `once` get one more call. A value that does not fit and may not be cut is an error, never silently
//!    shortened.
//! 3. A reply is read through the [JSON ladder](karat_text::ladder) and checked against the rubric. The verdict is the object
//!    with the call's code; one without it counts only if there is no other and it is not quoted from what was shown. An invalid
//!    reply is asked for again with the error and its JSON pointer; one that stays invalid is *unscored*, never a low score.
//! 4. Grades of pieces are combined, caps enforced, and the overall is recomputed.
//! 5. Votes, and a pair in both orders, are rounds of one judgment; they become one verdict.
//!
//! ```
//! use karat_scoring::judge::{JudgeInput, RubricJudge};
//! use karat_scoring::{Completion, Prompt, drive};
//! use karat_types::{ModelSpec, RubricScorer, Sample};
//! use serde_json::json;
//!
//! let mut canned = |prompt: &Prompt| {
//!     assert!(prompt.user().contains("<<<OUTPUT"));
//!     Ok(Completion::text(r#"{"clarity": 4, "reasoning": "Short and plain."}"#))
//! };
//!
//! let scorer: RubricScorer = serde_json::from_value(json!({
//!     "rubric": {
//!         "id": "clarity", "ask": "Judge how clear a text is.",
//!         "show": [{"name": "output", "value": "{{ output }}"}],
//!         "dimensions": [{"name": "clarity", "scale": {"range": {"lo": 1, "hi": 5, "step": 1}}, "weight": 1}],
//!         "rationale": {}, "invalid": {},
//!     },
//!     "judges": [], "consensus": {}, "parameters": {},
//! }))?;
//! let judge = RubricJudge::new(&scorer, &ModelSpec::new("mine", "library"))?;
//! let sample = Sample::new("s1", None);
//! let verdict = drive(judge.machine(JudgeInput { sample: &sample, output: &json!("Tides."), seed: 1 }), &mut canned);
//! assert_eq!(verdict.scores[0].1.number(), Some(4.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chunks;
mod prompt;
pub mod reply;
mod round;
mod rubric;
#[cfg(test)]
#[allow(clippy::float_cmp, reason = "judges' grades and their means are compared as they were written")]
mod tests;
mod verdict;
mod votes;

use std::sync::Arc;

use karat_text::template::TemplateError;
use karat_types::{Key, KeyBuilder, ModelSpec, ReferenceUse, RubricScorer, Sample, Score};
use serde_json::Value;

pub use round::call_labels::{CallLabel, call_labels};
pub use verdict::{Mode, Verdict, VerdictRound};
pub use votes::JudgeMachine;

use round::prepare;
use rubric::compiled::CompiledRubric;

/// The version of the prompt's wording. Change it when the same rubric makes another prompt, so that stored judgments are not reused for it.
pub const PROMPT_VERSION: &str = "karat/judge/5";

/// A rubric made ready for one judge model. Cheap to clone.
#[derive(Debug, Clone)]
pub struct RubricJudge(Arc<CompiledRubric>);

/// The input of one judgment.
#[derive(Debug, Clone, Copy)]
pub struct JudgeInput<'a> {
    /// The sample.
    pub sample: &'a Sample,
    /// The system's output.
    pub output: &'a Value,
    /// The run's seed: of shuffled lists and of the drawn examples.
    pub seed: u64,
}

/// A rubric that no judge can be asked with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RubricError {
    /// A template or expression does not compile.
    #[error("the rubric `{rubric}` cannot be used: {place}: {error}")]
    Template {
        /// Its id.
        rubric: String,
        /// Where the template stands.
        place: String,
        /// The problem.
        error: Box<TemplateError>,
    },
    /// Parts of the rubric contradict each other.
    #[error("the rubric `{rubric}` cannot be used: {problem}")]
    Inconsistent {
        /// Its id.
        rubric: String,
        /// The problem, and what to do.
        problem: String,
    },
}

impl RubricJudge {
    /// Compiles a scorer's rubric for one judge model.
    ///
    /// # Errors
    /// A template that does not compile, no dimension, more than one value that may be cut, a `route` that leads
    /// nowhere, or an own prompt that leaves out what the judge must see.
    pub fn new(scorer: &RubricScorer, judge: &ModelSpec) -> Result<Self, RubricError> {
        CompiledRubric::new(scorer, judge).map(|setup| Self(Arc::new(setup)))
    }

    /// The machine that judges one output. Of a scorer with `versus` it says that there is nothing to compare with.
    pub fn machine(&self, input: JudgeInput<'_>) -> JudgeMachine {
        self.against(input, &[])
    }

    /// The machine that judges one output against others of the same sample, for scorers with `versus`; other scorers
    /// do not look at them. `None` stands for an output that there is not: it is not a game. Scorers without `versus: all`
    /// look at the first alone.
    pub fn against(&self, input: JudgeInput<'_>, others: &[Option<&Value>]) -> JudgeMachine {
        JudgeMachine::new(Arc::clone(&self.0), input, others)
    }

    /// Returns false if the judge asks nothing about a sample, whatever its output is: its judgment is *not applicable*.
    pub fn may_ask(&self, sample: &Sample, seed: u64) -> bool {
        self.score_without_asking(sample, seed).is_none()
    }

    /// The score of every output of a sample about which the judge asks nothing; `None` where it may ask.
    pub fn score_without_asking(&self, sample: &Sample, seed: u64) -> Option<Score> {
        prepare::score_without_asking(&self.0, sample, seed)
    }

    /// About how many calls one round makes for a sample whose output is not known yet: one, more where its text will be
    /// cut. An output with a very long list may take more.
    pub fn expected_calls(&self, sample: &Sample, seed: u64) -> u64 {
        prepare::expected_calls(&self.0, sample, seed)
    }

    /// Tokens that a reply may have: the limit that each request sends.
    pub fn reply_tokens(&self) -> u64 {
        self.0.reply_tokens()
    }

    /// The names that the rubric's templates and expressions read, and `reference` where it is shown; sorted.
    pub fn reads(&self) -> &[String] {
        &self.0.reads
    }

    /// The key of everything in the rubric that can change a judgment: its content, the call settings and the examples. The judge model is
    /// apart from it, as are the output and the columns.
    pub fn identity(&self) -> Key {
        self.0.identity
    }

    /// The names of a verdict's scores, in their order: dimensions, then the overall.
    pub fn dimensions(&self) -> Vec<&str> {
        self.0.names()
    }
}

fn identity(scorer: &RubricScorer) -> Key {
    let labels = if scorer.rubric.examples > 0 { scorer.labels.as_slice() } else { &[] };
    let rounds = (scorer.votes, &scorer.orders, scorer.versus.is_some());
    KeyBuilder::new(PROMPT_VERSION).json(&scorer.rubric).json(&scorer.parameters).json(labels).json(&rounds).finish()
}

fn reads(setup_reads: impl IntoIterator<Item = String>, reference: ReferenceUse) -> Vec<String> {
    const LOCAL: [&str; 2] = ["item", "index"];
    let mut reads: Vec<String> = setup_reads
        .into_iter()
        .filter(|name| !LOCAL.contains(&name.split('.').next().unwrap_or_default()))
        .chain((reference != ReferenceUse::Hidden).then(|| "reference".to_owned()))
        .collect();
    reads.sort_unstable();
    reads.dedup();
    reads
}
