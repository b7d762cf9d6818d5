//! Questions: what people are asked of an item. They come from a rubric, or from a file.

use std::collections::BTreeMap;

use karat_types::{Dimension, Key, KeyBuilder, RubricScorer, Scale};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::AppError;
use crate::error::AnnotateError;

/// The largest number of questions of a task.
const MOST: usize = 20;

/// A scale with more steps than this counts as continuous.
const MOST_STEPS: f64 = 100.0;

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum QuestionKind {
    /// A number on a scale.
    Scale,
    /// One of the choices.
    Choice,
    /// Any of the choices.
    Multi,
    /// Which of two outputs is better: `a`, `b`, `tie` or `both_bad`.
    Pairwise,
    /// Marked parts of the text, each with a category; they may overlap.
    Spans,
    /// Free text.
    Text,
}

/// The level of measurement, by which disagreement is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum MeasurementLevel {
    /// Equal or not.
    Nominal,
    /// By rank.
    Ordinal,
    /// By difference.
    Interval,
}

/// The rule by which labels become one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum SettleRule {
    /// The value of most people; a tie stays open.
    Majority,
    /// The middle value.
    Median,
    /// The mean value.
    Mean,
}

/// The meaning of a value of a scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Anchor {
    /// The value.
    pub value: f64,
    /// Its meaning.
    pub text: String,
}

/// A choice or a category.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Choice {
    /// Its id: the stored answer.
    pub id: String,
    /// The text that people read; the id without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its worth as a score, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AnnotationQuestion")]
pub struct Question {
    /// Its id; in labels, the name of the score.
    #[schemars(regex(pattern = "^[A-Za-z0-9_.-]{1,64}$"))]
    pub id: String,
    /// The question in words.
    pub ask: String,
    /// The form of its answer.
    pub kind: QuestionKind,
    /// False if it may stay unanswered.
    #[serde(default = "yes")]
    pub required: bool,
    /// An earlier question and the answer at which this one is asked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 1))]
    pub show_if: BTreeMap<String, Value>,
    /// Lowest and highest value of a scale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<(f64, f64)>,
    /// Distance of neighbouring values of a scale; any value between its ends without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub step: Option<f64>,
    /// Meanings of values of a scale.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub anchors: Vec<Anchor>,
    /// The choices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// The categories of spans.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<Choice>,
    /// The largest difference of two people that needs no adjudication: one step of a scale, a tenth of one without steps,
    /// 0 of everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub tolerance: Option<f64>,
    /// The rule by which labels become one value: the median of a scale, the majority of everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle: Option<SettleRule>,
    /// The level of measurement: ordinal for a scale with more than two steps, interval without steps, else nominal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measurement: Option<MeasurementLevel>,
}

fn yes() -> bool {
    true
}

impl Question {
    /// Returns true if every labelled item has an answer.
    pub(crate) fn is_always_asked(&self) -> bool {
        self.required && self.show_if.is_empty()
    }

    /// The ends of its scale, or the least and the largest worth of a choice.
    pub(crate) fn ends(&self) -> Option<Vec<f64>> {
        let worths: Vec<f64> = self.choices.iter().filter_map(|choice| choice.value).collect();
        let of_scale = self.scale.map(|(lo, hi)| vec![lo, hi]);
        let lo = worths.iter().copied().reduce(f64::min);
        of_scale.or_else(|| Some(vec![lo?, worths.iter().copied().reduce(f64::max)?]))
    }

    fn new(id: &str, ask: String, kind: QuestionKind) -> Self {
        Self {
            id: id.to_owned(),
            ask,
            kind,
            required: true,
            show_if: BTreeMap::new(),
            scale: None,
            step: None,
            anchors: Vec::new(),
            choices: Vec::new(),
            categories: Vec::new(),
            tolerance: None,
            settle: None,
            measurement: None,
        }
    }

    fn of_dimension(dimension: &Dimension) -> Self {
        let ask = dimension.definition.clone().unwrap_or_else(|| dimension.name.clone());
        let anchors = dimension.anchors.iter().map(|(value, text)| Anchor { value: *value, text: text.clone() });
        match &dimension.scale {
            Scale::Range { lo, hi, step } => Self {
                scale: Some((*lo, *hi)),
                step: *step,
                anchors: anchors.collect(),
                ..Self::new(&dimension.name, ask, QuestionKind::Scale)
            },
            Scale::Choices(choices) => {
                let text = |worth: f64| {
                    let anchor = dimension.anchors.iter().find(|(value, _)| (value - worth).abs() <= 1e-9);
                    anchor.map(|(_, text)| text.clone())
                };
                let choice =
                    |(id, worth): &(String, f64)| Choice { id: id.clone(), text: text(*worth), value: Some(*worth) };
                Self {
                    choices: choices.iter().map(choice).collect(),
                    // A judge's score of this dimension is a number, and so are these.
                    measurement: (choices.len() > 2).then_some(MeasurementLevel::Ordinal),
                    ..Self::new(&dimension.name, ask, QuestionKind::Choice)
                }
            }
        }
    }

    /// The questions of a rubric: its dimensions with their scales, anchors and choices.
    pub fn of_rubric(scorer: &RubricScorer) -> Vec<Self> {
        let dimensions = scorer.rubric.dimensions.iter();
        if scorer.versus.is_some() {
            let pairwise = dimensions.map(|dimension| {
                let ask = dimension.definition.clone().unwrap_or_else(|| dimension.name.clone());
                Self::new(&dimension.name, ask, QuestionKind::Pairwise)
            });
            return pairwise.collect();
        }
        dimensions.map(Self::of_dimension).collect()
    }

    /// The questions of a file: a YAML or JSON list.
    ///
    /// # Errors
    /// Every problem of the first question that has one.
    pub fn parse_file(text: &str, file: &str) -> Result<Vec<Self>, AppError> {
        let wrong = |problem: String| AnnotateError::Questions { file: file.to_owned(), problem };
        let questions: Vec<Self> = serde_saphyr::from_str(text).map_err(|error| wrong(error.to_string()))?;
        if questions.is_empty() || questions.len() > MOST {
            return Err(wrong(format!("there must be 1 to {MOST} questions, and there are {}", questions.len())).into());
        }
        for (at, question) in questions.iter().enumerate() {
            let before = questions.get(..at).unwrap_or_default();
            question.check(before).map_err(|problem| wrong(format!("question `{}`: {problem}", question.id)))?;
        }
        let is_pair = |it: &Self| it.kind == QuestionKind::Pairwise;
        if questions.iter().any(is_pair) && questions.iter().any(|it| it.kind == QuestionKind::Spans) {
            return Err(wrong("a task of pairs has no spans, since there are two texts".to_owned()).into());
        }
        Ok(questions)
    }

    fn check(&self, before: &[Self]) -> Result<(), String> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if self.id.is_empty() || self.id.len() > 64 || !self.id.bytes().all(is_plain) {
            return Err("its `id` must have 1 to 64 letters, digits, `_`, `-` and `.`".to_owned());
        }
        if before.iter().any(|other| other.id == self.id) {
            return Err("there is another with this `id`".to_owned());
        }
        match self.kind {
            QuestionKind::Scale => self.check_scale()?,
            QuestionKind::Choice | QuestionKind::Multi => check_choices("choices", &self.choices, 2)?,
            QuestionKind::Spans => check_choices("categories", &self.categories, 1)?,
            QuestionKind::Pairwise | QuestionKind::Text => {}
        }
        let numeric = self.kind == QuestionKind::Scale;
        if matches!(self.settle, Some(SettleRule::Median | SettleRule::Mean)) && !numeric {
            return Err("only a scale settles by `median` or `mean`; use `majority`".to_owned());
        }
        if self.tolerance.is_some_and(|tolerance| !tolerance.is_finite() || tolerance < 0.0) {
            return Err("`tolerance` must be 0 or more".to_owned());
        }
        let is_on_scale = |value: f64| self.scale.is_none_or(|(lo, hi)| (lo..=hi).contains(&value));
        if let Some(anchor) = self.anchors.iter().find(|anchor| !anchor.value.is_finite() || !is_on_scale(anchor.value))
        {
            return Err(format!("the anchor {} is not on the scale", anchor.value));
        }
        if self.choices.iter().filter_map(|choice| choice.value).any(|value| !value.is_finite()) {
            return Err("the `value` of a choice must be a number".to_owned());
        }
        if self.ask.trim().is_empty() {
            return Err("its `ask` is empty".to_owned());
        }
        if self.show_if.len() > 1 {
            return Err("`show_if` names one question".to_owned());
        }
        for (id, value) in &self.show_if {
            let other = before.iter().find(|other| other.id == *id);
            let other = other.ok_or_else(|| format!("`show_if` names `{id}`, which is no earlier question"))?;
            if !other.show_if.is_empty() {
                return Err(format!("`show_if` names `{id}`, which is itself shown under a condition"));
            }
            let is_simple = matches!(other.kind, QuestionKind::Scale | QuestionKind::Choice | QuestionKind::Pairwise);
            if !is_simple {
                return Err(format!("`show_if` names `{id}`, which has no single value"));
            }
            other.check_answer(value, "").map_err(|problem| format!("`show_if`: `{id}` {problem}"))?;
        }
        Ok(())
    }

    fn check_scale(&self) -> Result<(), String> {
        match (self.scale, self.step) {
            (Some((lo, hi)), step) if lo.is_finite() && hi.is_finite() && lo < hi => match step {
                Some(step) if !(step > 0.0 && is_whole((hi - lo) / step)) => {
                    Err(format!("steps of {step} do not lead from {lo} to {hi}"))
                }
                _ => Ok(()),
            },
            _ => Err("a scale needs `scale: [LOWEST, HIGHEST]`".to_owned()),
        }
    }

    /// The values of a scale or of choices that have one, ascending, if they are steps.
    pub fn steps(&self) -> Option<Vec<f64>> {
        let mut steps: Vec<f64> = match (self.kind, self.scale, self.step) {
            (QuestionKind::Scale, Some((lo, hi)), Some(step)) => {
                let count = ((hi - lo) / step).round();
                (count <= MOST_STEPS).then(|| (0..=count as u32).map(|at| lo + f64::from(at) * step).collect())?
            }
            (QuestionKind::Choice, ..) => self.choices.iter().map(|choice| choice.value).collect::<Option<_>>()?,
            _ => return None,
        };
        steps.sort_by(f64::total_cmp);
        steps.dedup();
        Some(steps)
    }

    /// The level of measurement.
    pub fn level(&self) -> MeasurementLevel {
        self.measurement.unwrap_or_else(|| match (self.kind, self.steps()) {
            (QuestionKind::Scale, Some(steps)) if steps.len() > 2 => MeasurementLevel::Ordinal,
            (QuestionKind::Scale, None) => MeasurementLevel::Interval,
            _ => MeasurementLevel::Nominal,
        })
    }

    /// The rule by which labels become one value.
    pub fn rule(&self) -> SettleRule {
        self.settle.unwrap_or(match self.kind {
            QuestionKind::Scale => SettleRule::Median,
            _ => SettleRule::Majority,
        })
    }

    /// The largest difference of two people that needs no adjudication.
    pub fn largest_tolerance(&self) -> f64 {
        self.tolerance.unwrap_or(match self.kind {
            QuestionKind::Scale => self.step.or(self.scale.map(|(lo, hi)| (hi - lo) / 10.0)).unwrap_or_default(),
            _ => 0.0,
        })
    }
}

/// Returns whether a number of steps is whole, and not 0.
fn is_whole(steps: f64) -> bool {
    steps.is_finite() && steps.round() >= 1.0 && (steps - steps.round()).abs() < 1e-6
}

fn check_choices(name: &str, choices: &[Choice], least: usize) -> Result<(), String> {
    if choices.len() < least {
        return Err(format!("`{name}` must list at least {least}"));
    }
    for (at, choice) in choices.iter().enumerate() {
        if choice.id.is_empty() || choices.get(..at).unwrap_or_default().iter().any(|other| other.id == choice.id) {
            return Err(format!("each of `{name}` needs an `id` of its own"));
        }
    }
    Ok(())
}

/// The version of the questions: what is asked, in which words, by which guidelines.
pub(crate) fn questions_key(questions: &[Question], guidelines: &str) -> Key {
    KeyBuilder::new("karat/annotation/questions/1").json(questions).text(guidelines).finish()
}
