//! A rubric: what a judge is asked, what it sees, and what its reply must hold.

use serde::{Deserialize, Serialize};

use crate::plan::cap::Cap;

/// Instructions for a judge. Maps keep the author's order: the judge sees dimensions as they are written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rubric {
    /// Its name.
    pub id: String,
    /// Declared version, part of identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The task in words.
    pub ask: String,
    /// All that the judge sees.
    pub show: Vec<ShowItem>,
    /// The visibility of the reference.
    #[serde(default)]
    pub reference: ReferenceUse,
    /// The graded dimensions.
    pub dimensions: Vec<Dimension>,
    /// Scores per member of a list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breakdowns: Vec<BreakdownSpec>,
    /// The composite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overall: Option<Overall>,
    /// The explanation that the judge must give.
    pub rationale: Rationale,
    /// Typed lists of findings that the judge returns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<DiagnosticSpec>,
    /// Upper bounds under conditions: told to the judge, enforced after parsing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caps: Vec<Cap>,
    /// Shape of the reply.
    #[serde(default)]
    pub reply: ReplyShape,
    /// The number of labelled examples that the judge sees.
    #[serde(default)]
    pub examples: u32,
    /// Own wording of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<RubricPrompt>,
    /// The handling of an invalid reply.
    pub invalid: InvalidReplyRule,
}

impl Rubric {
    /// Returns true if anything is judged once, beside the pieces of a document.
    pub fn judges_once(&self) -> bool {
        self.dimensions.iter().any(|dimension| dimension.chunks == ChunkMerge::Once)
            || self.diagnostics.iter().any(|diagnostic| diagnostic.chunks == FindingMerge::Once)
    }

    /// The same rubric for a judge that says which of two outputs is better: every dimension takes 1 for the first, 0.5
    /// for neither, 0 for the second, and the composite is their mean. What speaks of one output alone goes: anchors,
    /// caps, findings, breakdowns, examples.
    #[must_use]
    pub fn for_pairs(self) -> Self {
        let choices = [("first", 1.0), ("tie", 0.5), ("second", 0.0)].map(|(word, value)| (word.to_owned(), value));
        // A question about one output asks whether it passes; of two, which one is better.
        let name =
            |dimension: &Dimension| match dimension.name == "pass" && matches!(&dimension.scale, Scale::Choices(_)) {
                true => "better".to_owned(),
                false => dimension.name.clone(),
            };
        let dimensions = self.dimensions.into_iter().map(|dimension| Dimension {
            name: name(&dimension),
            scale: Scale::Choices(choices.to_vec()),
            anchors: Default::default(),
            better: Better::Higher,
            counted: None,
            ..dimension
        });
        let overall = self.overall.map(|overall| Overall {
            method: match overall.method {
                OverallMethod::WeightedMean => OverallMethod::WeightedMean,
                _ => OverallMethod::Mean,
            },
            ..overall
        });
        Self {
            dimensions: dimensions.collect(),
            overall,
            breakdowns: Vec::new(),
            diagnostics: Vec::new(),
            caps: Vec::new(),
            examples: 0,
            ..self
        }
    }
}

/// One fenced value that the judge sees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShowItem {
    /// Its label.
    pub name: String,
    /// Template of the value.
    pub value: String,
    /// Its meaning, for the judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The form in which it is shown.
    #[serde(default, rename = "as")]
    pub form: ShowAs,
    /// Template of one line, for lists (`item` is the member).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// True if a list's order is shuffled (the seed is recorded).
    #[serde(default)]
    pub shuffle: bool,
    /// Name of the chunked item whose pieces each member is sent to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// The chunking, when the value may be cut into pieces that are judged by calls of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<ShowChunk>,
    /// Template of when each stretch of it was said: a list of `{start, duration, text}` in seconds. Routed members with
    /// a `startMs` are placed by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<String>,
    /// True if nothing can be judged without it: when it is empty, the judgment is not applicable and no call is made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
}

/// The form of a shown value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ShowAs {
    /// As text.
    #[default]
    Text,
    /// As JSON.
    Json,
    /// One line a member.
    Lines,
}

/// The chunking of a shown value.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShowChunk {
    /// Tokens of a piece; without it, as large as the judge's window allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u32>,
    /// List members of a piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<u32>,
    /// Tokens (members) that the next piece repeats.
    #[serde(default)]
    pub overlap: u32,
    /// Share of the judge's window, 0 to 1, that prompt and reply may fill before a text is cut; 0.8 without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<f64>,
}

/// The visibility of the reference to the judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReferenceUse {
    /// Never.
    #[default]
    Hidden,
    /// Shown when the row has one.
    Optional,
    /// Always; a row without one is not applicable.
    Required,
}

/// Which direction is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is better.
    #[default]
    Higher,
    /// Less is better.
    Lower,
}

/// The numbers a dimension may take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// From `lo` to `hi`, in multiples of `step` from `lo` where one is given.
    Range {
        /// Lowest.
        lo: f64,
        /// Highest.
        hi: f64,
        /// Distance of neighbouring values.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<f64>,
    },
    /// Named answers and what each is worth.
    Choices(Vec<(String, f64)>),
}

impl Scale {
    /// Lowest and highest value.
    pub fn bounds(&self) -> (f64, f64) {
        match self {
            Self::Range { lo, hi, .. } => (*lo, *hi),
            Self::Choices(choices) => choices
                .iter()
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), (_, value)| (lo.min(*value), hi.max(*value))),
        }
    }

    /// Returns true if it has a value, up to a billionth.
    pub fn has(&self, value: f64) -> bool {
        match self {
            Self::Range { lo, hi, step } => {
                let steps = step.map_or(0.0, |step| (value - lo) / step);
                (*lo..=*hi).contains(&value) && (steps - steps.round()).abs() <= 1e-9
            }
            Self::Choices(choices) => choices.iter().any(|(_, worth)| (worth - value).abs() <= 1e-9),
        }
    }
}

/// As in `must be a number {}`: `from 1 to 5 in steps of 1`.
impl std::fmt::Display for Scale {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (lo, hi) = self.bounds();
        write!(f, "from {lo} to {hi}")?;
        match self {
            Self::Range { step: Some(step), .. } => write!(f, " in steps of {step}"),
            _ => Ok(()),
        }
    }
}

/// One graded aspect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dimension {
    /// Its name: the metric is `scorer.name`.
    pub name: String,
    /// Its definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// The numbers it may take.
    pub scale: Scale,
    /// Its weight in a weighted mean.
    pub weight: f64,
    /// Descriptions of certain values, lowest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub anchors: Vec<(f64, String)>,
    /// Direction.
    #[serde(default)]
    pub better: Better,
    /// The rule that joins the grades of chunks.
    #[serde(default)]
    pub chunks: ChunkMerge,
    /// The list whose share is the score, where the judge gives no number for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<CountedShare>,
}

/// A score that is computed: the share of the findings in a list for which a condition holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountedShare {
    /// Name of the list of findings.
    #[serde(rename = "in")]
    pub list: String,
    /// Expression over the fields of one finding.
    #[serde(rename = "where")]
    pub condition: String,
}

/// The rule that joins the grades of chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChunkMerge {
    /// Mean weighted by length.
    #[default]
    Weighted,
    /// Mean weighted by the routed members that a piece judges.
    Members,
    /// Not graded by pieces: one more call sees everything but the value that is cut.
    Once,
    /// The lowest.
    Min,
    /// The highest.
    Max,
}

/// Scores per member of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BreakdownSpec {
    /// Its name.
    pub name: String,
    /// The members.
    pub over: Vec<String>,
    /// The dimensions of each member.
    pub scores: Vec<Dimension>,
    /// Value where the judge leaves a member out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<f64>,
}

/// The composite of the dimensions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Overall {
    /// Its name: the metric is `scorer.id`.
    pub id: String,
    /// The method.
    pub method: OverallMethod,
    /// Decimals it is rounded to, half to even on the exact binary value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
}

impl Overall {
    /// The composite of values and weights, rounded: mean = Σxᵢ/n, weighted mean = Σwᵢxᵢ/Σwᵢ. `None` without values, where
    /// all weights are 0, and where the judge says it.
    pub fn of(&self, values: &[(f64, f64)]) -> Option<f64> {
        let sum: f64 = values.iter().map(|(value, _)| value).sum();
        let weight: f64 = values.iter().map(|(_, weight)| weight).sum();
        let composite = match self.method {
            _ if values.is_empty() => None,
            OverallMethod::Mean => Some(sum / values.len() as f64),
            OverallMethod::WeightedMean => {
                let weighted: f64 = values.iter().map(|(value, weight)| value * weight).sum();
                (weight > 0.0).then_some(weighted / weight)
            }
            OverallMethod::Sum => Some(sum),
            OverallMethod::Min => values.iter().map(|(value, _)| *value).reduce(f64::min),
            OverallMethod::Given => None,
        };
        composite.map(|value| self.round_value(value))
    }

    /// A value with its decimals, half to even on the exact binary value, as decimal formatting does.
    pub fn round_value(&self, value: f64) -> f64 {
        match self.round {
            Some(decimals) => format!("{value:.*}", decimals as usize).parse().unwrap_or(value),
            None => value,
        }
    }
}

/// The method for a composite. All but `given` are computed, and the reply's own composite is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverallMethod {
    /// Unweighted mean.
    #[default]
    Mean,
    /// Mean by the dimensions' weights.
    WeightedMean,
    /// Sum.
    Sum,
    /// Lowest.
    Min,
    /// The judge says it.
    Given,
}

/// The explanation that the judge must give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rationale {
    /// Field of the reply.
    pub field: String,
    /// At least so many characters (code points).
    pub min_chars: u32,
    /// A longer text is cut, and the cut is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_chars: Option<u32>,
}

impl Default for Rationale {
    fn default() -> Self {
        Self { field: "reasoning".to_owned(), min_chars: 0, max_chars: None }
    }
}

/// Which findings of several pieces stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingMerge {
    /// Those that any piece's judge names.
    #[default]
    Any,
    /// Those that every piece's judge names that could see what they are about.
    All,
    /// Those of the one more call that sees everything but the value that is cut.
    Once,
}

impl FindingMerge {
    /// Returns true if it is the usual one, so that a plan need not hold it.
    pub fn is_any(&self) -> bool {
        *self == Self::Any
    }
}

/// A typed list of findings that the judge returns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiagnosticSpec {
    /// Field of the reply.
    pub name: String,
    /// Fields of one item, in order; empty = items are bare texts.
    pub fields: Vec<(String, FieldType)>,
    /// Text that explains the list to the judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<String>,
    /// At most so many items are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
    /// Which findings stand where a value was cut.
    #[serde(
        default,
        skip_serializing_if = "FindingMerge::is_any",
        alias = "all_chunks",
        deserialize_with = "read_finding_merge"
    )]
    pub chunks: FindingMerge,
    /// Two fields that must differ: an item in which they are equal is not a finding and is dropped, which is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differ: Option<(String, String)>,
}

/// Reads a fold; plans of the first version say `true` for `all` and `false` for `any`.
fn read_finding_merge<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<FindingMerge, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        First(bool),
        Now(FindingMerge),
    }
    Ok(match Written::deserialize(deserializer)? {
        Written::First(true) => FindingMerge::All,
        Written::First(false) => FindingMerge::Any,
        Written::Now(fold) => fold,
    })
}

/// Type of a diagnostic's field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldType {
    /// Non-empty text.
    Text,
    /// Text; where it is absent or empty, this stands in, and that is recorded.
    TextOr(String),
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// True or false.
    Boolean,
    /// One of these words; `default` fills a reply that has another.
    OneOf {
        /// The words.
        words: Vec<String>,
        /// Stands in for an unknown word.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default: Option<String>,
    },
    /// Position in a shown list, from 0.
    IndexOf(String),
}

impl FieldType {
    /// Returns true if it is any text, so that it says what a finding is about.
    pub fn is_text(&self) -> bool {
        matches!(self, Self::Text | Self::TextOr(_))
    }
}

/// Shape of the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplyShape {
    /// Dimensions as fields of one object, beside rationale and diagnostics.
    #[default]
    Flat,
    /// Dimensions within `scores`.
    Nested,
    /// A list of `{dimension, score, reason}`.
    List,
}

/// Own wording of the judge's prompt: templates that see `ask`, `sections`, `dimensions`, `format`, `examples`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RubricPrompt {
    /// System message.
    pub system: String,
    /// User message.
    pub user: String,
}

/// The handling of an invalid reply. Each lenience that is used is recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct InvalidReplyRule {
    /// The number of re-asks with the validation error.
    pub reask: u32,
    /// A score outside its scale.
    pub out_of_range: OutOfRangeScore,
    /// The distance beyond a bound within which a score counts as the bound.
    #[serde(skip_serializing_if = "is_nothing")]
    pub tolerance: f64,
    /// A dimension that is not there.
    pub absent: AbsentDimension,
    /// The action when the last reply is still invalid.
    pub then: InvalidReplyAction,
}

impl Default for InvalidReplyRule {
    fn default() -> Self {
        Self {
            reask: 1,
            out_of_range: OutOfRangeScore::Reject,
            tolerance: 0.0,
            absent: AbsentDimension::Reject,
            then: InvalidReplyAction::Unscored,
        }
    }
}

fn is_nothing(number: &f64) -> bool {
    *number == 0.0
}

/// A score outside its scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutOfRangeScore {
    /// Makes the reply invalid.
    Reject,
    /// Is moved to the nearest bound.
    Clamp,
}

/// A dimension that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AbsentDimension {
    /// Makes the reply invalid.
    Reject,
    /// Counts as the scale's lowest.
    Lowest,
}

/// The action when the last reply is still invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InvalidReplyAction {
    /// The cell is unscored.
    Unscored,
    /// The judge failed: the cell is unscored, and counts against `max_errors` as one that the judge never answered.
    Error,
    /// Readable parts count; diagnostics are filled with their defaults.
    Degrade,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overall(method: OverallMethod, round: Option<u32>) -> Overall {
        Overall { id: "overall".to_owned(), method, round }
    }

    /// BR-03: the weighted mean is rounded to two decimals on the exact binary value.
    #[test]
    #[allow(clippy::float_cmp, reason = "the decimals are exact")]
    fn rounding_is_that_of_decimal_formatting() {
        let rounded = |value, decimals| overall(OverallMethod::Mean, decimals).round_value(value);
        assert_eq!((rounded(2.675, Some(2)), rounded(0.125, Some(2))), (2.67, 0.12));
        assert_eq!((rounded(0.375, Some(2)), rounded(3.7215, None)), (0.38, 3.7215));
    }

    #[test]
    fn every_method_of_a_composite() {
        let of = |method, values: &[(f64, f64)]| overall(method, None).of(values);
        let values = [(1.0, 3.0), (5.0, 1.0)];
        assert_eq!(of(OverallMethod::Mean, &values), Some(3.0));
        assert_eq!(of(OverallMethod::WeightedMean, &values), Some(2.0));
        assert_eq!(of(OverallMethod::Sum, &values), Some(6.0));
        assert_eq!(of(OverallMethod::Min, &values), Some(1.0));
        assert_eq!(of(OverallMethod::Mean, &[]), None);
        assert_eq!(of(OverallMethod::WeightedMean, &[(1.0, 0.0)]), None);
    }
}
