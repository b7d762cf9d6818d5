//! The texts of one cell, cut to what a reader can take in.

use karat_analysis::{CellScores, system_id};
use karat_page::number::Scale;
use karat_text::template::conversation_text;
use karat_types::{CellRow, CellStatus, MetricSpec, SampleRecord, Score};

use super::select::Thresholds;
use crate::shared::figures;
use crate::shared::report::{RenderError, Report};
use crate::shared::scales;
use crate::shared::visible::{excerpt, visible};

/// Number of characters shown of an input, output or reference.
const TEXT: usize = 2_000;

/// Number of characters shown of a reason.
const REASON: usize = 800;

/// The beginning of a text, harmless, with the length of the whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Excerpt {
    pub(crate) text: String,
    /// Length of the whole in characters, if the text was cut.
    pub(crate) cut_from: Option<u64>,
}

impl Excerpt {
    /// Cuts a text of which `chars` characters exist to `limit`.
    pub(crate) fn of(text: &str, chars: u64, limit: usize) -> Self {
        let end = text.char_indices().nth(limit).map(|(end, _)| end);
        let shown = end.and_then(|end| text.get(..end)).unwrap_or(text);
        let is_cut = end.is_some() || chars > shown.chars().count() as u64;
        Self { text: visible(shown).into_owned(), cut_from: is_cut.then_some(chars) }
    }

    fn whole(text: &str, limit: usize) -> Self {
        Self::of(text, text.chars().count() as u64, limit)
    }

    /// Says that the text was cut, and the command that shows the whole.
    pub(crate) fn cut_note(&self, command: &str) -> Option<String> {
        let chars = self.cut_from?;
        let shown = figures::count(self.text.chars().count() as u64);
        Some(format!("the first {shown} of {} characters; `{command}` shows more", figures::count(chars)))
    }
}

/// A sample with its texts and its chosen cells.
pub(crate) struct SampleTexts {
    pub(crate) id: String,
    /// Input first, then columns, what is expected last.
    pub(crate) texts: Vec<(String, Excerpt)>,
    pub(crate) cells: Vec<CellText>,
    /// True if the suite stores no texts of samples.
    pub(crate) is_private: bool,
}

impl SampleTexts {
    pub(crate) fn of(report: Report<'_>, sample: &SampleRecord) -> Self {
        let plan = &report.findings.plan;
        let is_private = !plan.privacy.keep_content || !plan.run.capture.is_full();
        Self { id: sample.id.clone(), texts: texts_of(sample, TEXT), cells: Vec::new(), is_private }
    }
}

/// Returns the texts of a sample in the order in which they are read.
pub(crate) fn texts_of(sample: &SampleRecord, limit: usize) -> Vec<(String, Excerpt)> {
    let others = sample.texts.iter().filter(|it| !it.is_expected());
    let ordered = others.chain(sample.texts.iter().filter(|it| it.is_expected()));
    ordered.map(|it| (it.name.clone(), Excerpt::of(&it.text, it.chars, limit))).collect()
}

/// A cell as people read it.
pub(crate) struct CellText {
    pub(crate) ordinal: u64,
    /// Model and variant, and the trial if there are several.
    pub(crate) system: String,
    pub(crate) is_failed: bool,
    pub(crate) output: Option<Excerpt>,
    /// The reason for a missing output.
    pub(crate) missing: Option<Excerpt>,
    pub(crate) scores: Vec<ScoreText>,
    /// The words of each judge.
    pub(crate) judges: Vec<JudgeText>,
    /// The command that shows all of the cell.
    pub(crate) command: String,
}

/// A score with its reason.
pub(crate) struct ScoreText {
    pub(crate) metric: String,
    pub(crate) value: String,
    pub(crate) is_low: bool,
    pub(crate) reason: Option<Excerpt>,
}

/// The words of a judge.
pub(crate) struct JudgeText {
    pub(crate) judge: String,
    pub(crate) scorer: String,
    pub(crate) text: Excerpt,
}

impl CellText {
    pub(crate) fn of(report: Report<'_>, thresholds: &Thresholds<'_>, row: &CellRow<'_>) -> Result<Self, RenderError> {
        Self::with_limit(report, thresholds, row, TEXT)
    }

    /// Reads a cell; texts are cut to `limit` characters.
    pub(crate) fn with_limit(
        report: Report<'_>,
        thresholds: &Thresholds<'_>,
        row: &CellRow<'_>,
        limit: usize,
    ) -> Result<Self, RenderError> {
        let plan = &report.findings.plan;
        let scores = CellScores::of(plan, row);
        let expected = |metric: usize| report.findings.expected_score(row, metric);
        let output = match row.cell.status {
            CellStatus::Ok => {
                report.rows.output(row.cell.ordinal)?.map(|value| Excerpt::whole(&text_of(&value), limit))
            }
            _ => None,
        };
        let error = row.cell.error.as_ref().map(|error| format!("{}: {}", error.code, error.message));
        let missing = match (&output, error) {
            (Some(_), _) => None,
            (None, Some(error)) => Some(Excerpt::whole(&error, REASON)),
            (None, None) if row.cell.status == CellStatus::Skipped => Some(Excerpt::whole("skipped", REASON)),
            (None, None) => Some(Excerpt::whole("the output is not stored", REASON)),
        };
        let of_trial = if plan.systems.get(row.system).is_some_and(|system| system.trials > 1) {
            format!(" (trial {})", row.trial)
        } else {
            String::new()
        };
        Ok(Self {
            ordinal: row.cell.ordinal,
            system: format!("{}{of_trial}", system_id(plan, row.system)),
            is_failed: thresholds.failure(row, &scores).is_some(),
            output,
            missing,
            scores: report
                .metrics()
                .filter_map(|it| {
                    let scale = scales::scale_of(plan, it.1);
                    Some((it.1.volatile, score_text(it, &scale, &scores, thresholds, &expected)?))
                })
                // A latency is worth reading where it is too long.
                .filter(|(volatile, score)| !volatile || score.is_low)
                .map(|(_, score)| score)
                .collect(),
            judges: judge_texts(report, row),
            command: report.trace_command(row.cell.ordinal),
        })
    }

    /// Returns the word for a cell that needs a look: one without an output failed, any other one only scores badly.
    pub(crate) fn flag(&self) -> Option<&'static str> {
        self.is_failed.then(|| match (&self.output, self.scores.iter().any(|it| it.is_low && it.value != "unscored")) {
            (None, _) => "failed",
            (Some(_), true) => "below a threshold",
            (Some(_), false) => "unscored",
        })
    }

    /// Returns every reason once, each after what it belongs to.
    pub(crate) fn reasons(&self) -> Vec<(String, &Excerpt)> {
        let mut reasons: Vec<(String, &Excerpt)> = Vec::new();
        let of_scores = self.scores.iter().filter_map(|score| Some((score.metric.clone(), score.reason.as_ref()?)));
        let of_judges = self.judges.iter().map(|it| (format!("{} by {}", it.scorer, it.judge), &it.text));
        for (whose, text) in of_scores.chain(of_judges) {
            if !reasons.iter().any(|(_, known)| *known == text) {
                reasons.push((whose, text));
            }
        }
        reasons
    }
}

fn score_text(
    (at, metric): (usize, &MetricSpec),
    scale: &Scale,
    scores: &CellScores,
    thresholds: &Thresholds<'_>,
    expected: &impl Fn(usize) -> Option<f64>,
) -> Option<ScoreText> {
    let score = scores.scores.get(at)?.as_ref()?;
    let (value, reason) = match score {
        Score::Value { value, reason, verdict } => {
            let text = match (*verdict || metric.binary, *value) {
                (true, value) if value >= 1.0 => "pass".to_owned(),
                (true, value) if value <= 0.0 => "fail".to_owned(),
                (_, value) => figures::value(scale, value),
            };
            (text, reason.as_deref())
        }
        Score::NotApplicable { na } => match expected(at) {
            // A cascade did not ask the judges about the cell.
            Some(value) => (format!("≈ {}", figures::value(scale, value)), Some(&**na)),
            None => ("n/a".to_owned(), Some(&**na)),
        },
        Score::Unscored { unscored } => ("unscored".to_owned(), Some(unscored.as_str())),
    };
    let is_unscored = matches!(score, Score::Unscored { .. });
    let is_low = is_unscored || score.number().is_some_and(|value| thresholds.shortfall(at, value).is_some());
    let reason = reason.filter(|it| !it.is_empty()).map(|it| Excerpt::whole(it, REASON));
    Some(ScoreText { metric: excerpt(&metric.name, 80), value, is_low, reason })
}

fn judge_texts(report: Report<'_>, row: &CellRow<'_>) -> Vec<JudgeText> {
    let plan = &report.findings.plan;
    let text = |judgment: &karat_types::JudgmentRow| {
        let failed = judgment.error.as_ref().map(|error| format!("failed, {}: {}", error.code, error.message));
        let text = failed.unwrap_or_else(|| judgment.reasoning.clone());
        (!text.is_empty()).then(|| JudgeText {
            judge: plan.judges.get(usize::from(judgment.judge)).map_or_else(String::new, |it| excerpt(&it.id, 80)),
            scorer: plan.scorers.get(usize::from(judgment.scorer)).map_or_else(String::new, |it| excerpt(&it.id, 80)),
            text: Excerpt::whole(&text, REASON),
        })
    };
    row.judgments.iter().filter_map(text).collect()
}

/// Returns an output as text: a string as it is, a conversation as its transcript, everything else as indented JSON.
pub(crate) fn text_of(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        other => conversation_text(other).unwrap_or_else(|| serde_json::to_string_pretty(other).unwrap_or_default()),
    }
}
