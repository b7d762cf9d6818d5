//! The rubric for judges of summaries.

use karat_types::{
    AbsentDimension, Better, ChunkMerge, DiagnosticSpec, Dimension, FindingMerge, InvalidReplyAction, InvalidReplyRule,
    OutOfRangeScore, Overall, OverallMethod, Rationale, ReferenceUse, ReplyShape, Rubric, Scale, ShowAs, ShowItem,
};

/// Most suggestions that a judge is asked for.
const SUGGESTIONS: u32 = 5;

/// The definition of each dimension, in the order of [`DIMENSIONS`](super::DIMENSIONS).
const DEFINITIONS: [(&str, &str); 5] = [
    ("title", "The title names what the session was about."),
    ("summary", "The text tells what mattered."),
    ("key_actions", "The actions taken are all there and no others."),
    ("outcome", "success, partial or failed is right."),
    ("aha_moments", "Turning points are found."),
];

/// Options of a judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeOptions {
    /// The wanted class of model, such as `haiku`: passed on to the [`Completer`](crate::Completer), which may ignore
    /// it.
    pub model_hint: Option<String>,
    /// True if the judge is asked for up to five ways to improve the summary.
    pub include_suggestions: bool,
    /// Longest rationale in characters; what is longer is cut.
    pub max_rationale_chars: u32,
}

/// No hint, suggestions, 600 characters.
impl Default for JudgeOptions {
    fn default() -> Self {
        Self { model_hint: None, include_suggestions: true, max_rationale_chars: 600 }
    }
}

/// The rubric that [`CompleterJudge`](super::CompleterJudge) puts to its model: paired where there is a reference,
/// absolute where not; strict JSON; an absent dimension counts 0, a score outside 0..=1 invalidates the reply.
pub fn judge_rubric(options: &JudgeOptions) -> Rubric {
    let dimension = |(name, definition): (&str, &str)| Dimension {
        name: name.to_owned(),
        definition: Some(definition.to_owned()),
        scale: Scale::Range { lo: 0.0, hi: 1.0, step: None },
        weight: 1.0,
        anchors: Vec::new(),
        better: Better::Higher,
        chunks: ChunkMerge::Weighted,
    };
    let suggestions = DiagnosticSpec {
        name: "suggestions".to_owned(),
        fields: Vec::new(),
        explain: Some("One concrete way to improve the summary each.".to_owned()),
        max: Some(SUGGESTIONS),
        chunks: FindingMerge::Any,
        differ: None,
    };
    Rubric {
        id: "session-summary".to_owned(),
        version: Some("v1".to_owned()),
        ask:
            "Judge a summary of a working session. Meaning counts, not wording: a paraphrase that says the same is as \
              good as the reference. Without a reference, judge the summary on its own merits."
                .to_owned(),
        show: vec![ShowItem {
            name: "candidate".to_owned(),
            value: "{{ output }}".to_owned(),
            form: ShowAs::Json,
            line: None,
            shuffle: false,
            route: None,
            chunk: None,
            times: None,
            required: false,
        }],
        reference: ReferenceUse::Optional,
        dimensions: DEFINITIONS.into_iter().map(dimension).collect(),
        breakdowns: Vec::new(),
        overall: Some(Overall { id: "overall".to_owned(), method: OverallMethod::Given, round: None }),
        rationale: Rationale {
            field: "rationale".to_owned(),
            min_chars: 0,
            max_chars: Some(options.max_rationale_chars),
        },
        diagnostics: options.include_suggestions.then_some(suggestions).into_iter().collect(),
        caps: Vec::new(),
        reply: ReplyShape::List,
        examples: 0,
        prompt: None,
        invalid: InvalidReplyRule {
            reask: 0,
            out_of_range: OutOfRangeScore::Reject,
            tolerance: 1e-6,
            absent: AbsentDimension::Lowest,
            then: InvalidReplyAction::Unscored,
        },
    }
}
