//! Judges of summaries.

use std::fmt;
use std::sync::Arc;

use karat_scoring::judge::{JudgeInput, Mode, RubricError, RubricJudge, Verdict};
use karat_scoring::metrics::summary::{DIMENSIONS, DimensionScore, SessionScore, Summary};
use karat_scoring::{Completer, Completion, Prompt, drive_hinted};
use karat_types::{CallError, Clock, Consensus, ModelSpec, Moment, PairOrders, Parameters, RubricScorer, Sample};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::rubric::{JudgeOptions, judge_rubric};

/// Judges summaries for what lexical scores cannot see. [`CompleterJudge`] asks a model; any other way to the same result
/// is as welcome.
///
/// ```
/// use karat_summary::{Judge, JudgeError, JudgeResult, Summary};
///
/// /// Nothing but whether the summary is there.
/// struct Presence;
///
/// impl Judge for Presence {
///     fn score(&mut self, name: &str, _: Option<&Summary>, candidate: &Summary) -> Result<JudgeResult, JudgeError> {
///         Ok(JudgeResult::new(name, if candidate.summary.is_empty() { 0.0 } else { 1.0 }))
///     }
/// }
///
/// assert_eq!(Presence.score("s-01", None, &Summary::default())?.overall, 0.0);
/// # Ok::<(), JudgeError>(())
/// ```
pub trait Judge {
    /// Judges one candidate: for equivalence with the reference where there is one (paired), on its own merits where not
    /// (absolute).
    ///
    /// # Errors
    /// No verdict: the call failed, or the reply is none that can be used.
    fn score(
        &mut self,
        name: &str,
        reference: Option<&Summary>,
        candidate: &Summary,
    ) -> Result<JudgeResult, JudgeError>;
}

/// The reason why there is no verdict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("judging `{name}`: {message}")]
#[non_exhaustive]
pub struct JudgeError {
    /// The session's name.
    pub name: String,
    /// A short stable word: `parse`, `context`, `rubric`, or the code of a call that failed.
    pub code: String,
    /// The problem.
    pub message: String,
}

impl JudgeError {
    /// No verdict on a session, with a short stable word and what went wrong.
    pub fn new(name: impl Into<String>, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { name: name.into(), code: code.into(), message: message.into() }
    }
}

/// A judge's verdict on one session.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JudgeResult {
    /// The session's name.
    pub name: String,
    /// `paired` where a reference was shown, else `absolute`.
    pub mode: String,
    /// Scores in 0..=1, in the order of [`DIMENSIONS`]; what the judge left out is 0 and says so.
    pub dimensions: Vec<DimensionScore>,
    /// The judge's verdict over all, in 0..=1.
    pub overall: f64,
    /// The reasoning, in short.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rationale: String,
    /// Suggested improvements of the summary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<String>,
    /// The model that judged; empty when unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model_used: String,
    /// Time from asking to the verdict in milliseconds; 0 without a clock.
    #[serde(default)]
    pub duration_ms: u64,
    /// Tokens of all prompts; 0 = unknown.
    #[serde(default)]
    pub prompt_tokens: u64,
    /// Tokens of all replies; 0 = unknown.
    #[serde(default)]
    pub completion_tokens: u64,
}

impl JudgeResult {
    /// A verdict with only an overall; callers set the other fields they know.
    pub fn new(name: impl Into<String>, overall: f64) -> Self {
        Self { name: name.into(), overall, ..Self::default() }
    }

    /// The dimensions on one line: `title=0.900 summary=1.000`.
    fn dimension_text(&self) -> String {
        let each = self.dimensions.iter().map(|it| format!("{}={:.3}", it.dimension, it.score));
        each.collect::<Vec<_>>().join(" ")
    }

    /// Converts it to a session's score, so that judged sessions make a [`CorpusReport`](crate::CorpusReport), too. The
    /// overall is the judge's own; a dimension that is not there is 0.
    pub fn to_session_score(&self) -> SessionScore {
        let score = |name: &str| {
            let absent = || DimensionScore { dimension: name.to_owned(), score: 0.0, reason: "not judged".to_owned() };
            self.dimensions.iter().find(|score| score.dimension == name).cloned().unwrap_or_else(absent)
        };
        SessionScore { name: self.name.clone(), dimensions: DIMENSIONS.map(score).into(), overall: self.overall }
    }
}

/// One line: `judgment name="s-01" mode=paired overall=0.900 title=0.900 … model="haiku-4-5" duration_ms=812
/// prompt_tokens=640 completion_tokens=120`.
impl fmt::Display for JudgeResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "judgment name={:?} mode={} overall={:.3}", self.name, self.mode, self.overall)?;
        for dimension in &self.dimensions {
            write!(f, " {}={:.3}", dimension.dimension, dimension.score)?;
        }
        write!(
            f,
            " model={:?} duration_ms={} prompt_tokens={} completion_tokens={}",
            self.model_used, self.duration_ms, self.prompt_tokens, self.completion_tokens
        )
    }
}

/// The judge of a rubric with these options.
fn judge(options: &JudgeOptions) -> Result<RubricJudge, RubricError> {
    let scorer = RubricScorer {
        rubric: judge_rubric(options)?,
        judges: Vec::new(),
        votes: 1,
        versus: None,
        pairs_per_sample: None,
        only_where: None,
        orders: PairOrders::default(),
        consensus: Consensus::default(),
        parameters: Parameters::default(),
        timeout_ms: None,
        labels: Vec::new(),
        reads: Vec::new(),
    };
    RubricJudge::new(&scorer, &ModelSpec::new("completer", "library"))
}

/// The text of the prompt that a [`CompleterJudge`] sends first: for equivalence with the reference where there is one
/// (paired), on the candidate's own merits where not (absolute).
///
/// ```
/// use karat_summary::{JudgeOptions, Summary, build_judge_prompt};
///
/// let candidate = Summary { title: "Fix the login".to_owned(), ..Summary::default() };
/// let prompt = build_judge_prompt(None, &candidate, &JudgeOptions::default())?;
/// assert!(prompt.contains("Fix the login"));
/// # Ok::<(), karat_summary::JudgeError>(())
/// ```
///
/// # Errors
/// Options that no rubric can be made of.
pub fn build_judge_prompt(
    reference: Option<&Summary>,
    candidate: &Summary,
    options: &JudgeOptions,
) -> Result<String, JudgeError> {
    const NAME: &str = "prompt";
    let judge = judge(options).map_err(|error| JudgeError::new(NAME, "rubric", error.to_string()))?;
    let (sample, output) = (Sample::new(NAME, reference.map(|summary| json!(summary))), json!(candidate));
    let machine = judge.machine(JudgeInput { sample: &sample, output: &output, seed: 1 });
    let mut text = None;
    let mut keep = |prompt: &Prompt<'_>| {
        text.get_or_insert_with(|| prompt.text());
        Ok::<_, CallError>(Completion::text(String::new()))
    };
    let verdict = drive_hinted(machine, &mut keep, options.model_hint.as_deref());
    let error = verdict.error.map(|error| JudgeError::new(NAME, &error.code, &error.message));
    text.ok_or_else(|| error.unwrap_or_else(|| JudgeError::new(NAME, "rubric", "the judge asks nothing")))
}

/// A judge that asks a model through a [`Completer`]. Each judgment is one `tracing` event of the target
/// `karat_summary::judge` with the fields of [`JudgeResult`]'s line.
pub struct CompleterJudge<C> {
    completer: C,
    options: JudgeOptions,
    clock: Option<Arc<dyn Clock>>,
}

impl<C: Completer> CompleterJudge<C> {
    /// A judge with the default [`JudgeOptions`].
    pub fn new(completer: C) -> Self {
        Self { completer, options: JudgeOptions::default(), clock: None }
    }

    /// Sets the options.
    #[must_use]
    pub fn with_options(self, options: JudgeOptions) -> Self {
        Self { options, ..self }
    }

    /// Sets the clock that measures how long a judgment takes.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock: Some(clock), ..self }
    }

    fn now(&self) -> Moment {
        self.clock.as_ref().map_or(Moment(0), |clock| clock.now())
    }

    fn verdict(
        &mut self,
        name: &str,
        reference: Option<Value>,
        candidate: &Value,
    ) -> Result<JudgedSummary, JudgeError> {
        let judge = judge(&self.options).map_err(|error| JudgeError::new(name, "rubric", error.to_string()))?;
        let sample = Sample::new(name, reference);
        let machine = judge.machine(JudgeInput { sample: &sample, output: candidate, seed: 1 });
        let mut metered = MeteredCompleter::new(&mut self.completer);
        let verdict = drive_hinted(machine, &mut metered, self.options.model_hint.as_deref());
        match &verdict.error {
            Some(error) => Err(JudgeError::new(name, &error.code, &error.message)),
            None => Ok(JudgedSummary { verdict, usage: metered.usage }),
        }
    }
}

impl<C: Completer> Judge for CompleterJudge<C> {
    fn score(
        &mut self,
        name: &str,
        reference: Option<&Summary>,
        candidate: &Summary,
    ) -> Result<JudgeResult, JudgeError> {
        let before = self.now();
        let judged = self.verdict(name, reference.map(|summary| json!(summary)), &json!(candidate));
        let duration_ms = u64::try_from(self.now().0 - before.0).unwrap_or(0);
        let result = judged.and_then(|judged| judged.result(name, duration_ms));
        match &result {
            Ok(result) => tracing::info!(
                name = result.name,
                mode = result.mode,
                overall = result.overall,
                dimensions = result.dimension_text(),
                model = result.model_used,
                duration_ms,
                prompt_tokens = result.prompt_tokens,
                completion_tokens = result.completion_tokens,
                "judgment"
            ),
            Err(error) => tracing::warn!(name, code = error.code, message = error.message, duration_ms, "no judgment"),
        }
        result
    }
}

/// The model and tokens of several calls together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct CallUsage {
    /// The model of the last call; empty when unknown.
    pub model_used: String,
    /// Tokens of all prompts.
    pub prompt_tokens: u64,
    /// Tokens of all replies.
    pub completion_tokens: u64,
}

/// A completer that passes calls on and adds up their usage.
struct MeteredCompleter<'a, C> {
    completer: &'a mut C,
    pub usage: CallUsage,
}

impl<'a, C: Completer> MeteredCompleter<'a, C> {
    fn new(completer: &'a mut C) -> Self {
        Self { completer, usage: CallUsage::default() }
    }
}

impl<C: Completer> Completer for MeteredCompleter<'_, C> {
    fn complete(&mut self, prompt: &Prompt<'_>) -> Result<Completion, CallError> {
        let completion = self.completer.complete(prompt)?;
        self.usage.model_used.clone_from(&completion.model_used);
        self.usage.prompt_tokens += completion.prompt_tokens;
        self.usage.completion_tokens += completion.completion_tokens;
        Ok(completion)
    }
}

/// A verdict and its cost in tokens.
struct JudgedSummary {
    verdict: Verdict,
    usage: CallUsage,
}

impl JudgedSummary {
    fn result(self, name: &str, duration_ms: u64) -> Result<JudgeResult, JudgeError> {
        let Self { verdict, usage } = self;
        let mut scores = Vec::with_capacity(verdict.scores.len());
        for (dimension, score) in verdict.scores {
            match score {
                karat_types::Score::Value { value, reason, .. } => {
                    scores.push(DimensionScore { dimension, score: value, reason: reason.unwrap_or_default() });
                }
                karat_types::Score::NotApplicable { na } => return Err(JudgeError::new(name, "parse", na)),
                karat_types::Score::Unscored { unscored } => return Err(JudgeError::new(name, "parse", unscored)),
            }
        }
        let is_overall = |score: &DimensionScore| !DIMENSIONS.contains(&score.dimension.as_str());
        let overall = scores.iter().find(|score| is_overall(score)).map_or(0.0, |score| score.score);
        scores.retain(|score| !is_overall(score));
        let suggestions = verdict.diagnostics.get("suggestions").and_then(Value::as_array);
        let texts = suggestions.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        Ok(JudgeResult {
            name: name.to_owned(),
            mode: mode(verdict.mode),
            dimensions: scores,
            overall,
            rationale: verdict.reasoning,
            suggestions: texts.collect(),
            model_used: usage.model_used,
            duration_ms,
            prompt_tokens: usage.prompt_tokens,
            completion_tokens: usage.completion_tokens,
        })
    }
}

fn mode(mode: Mode) -> String {
    mode.as_str().to_owned()
}
