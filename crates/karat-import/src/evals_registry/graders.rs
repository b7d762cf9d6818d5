//! Classes of the registry as scorers.

use serde_json::{Map, Value, json};

use super::Lost;
use super::model_graded::ModelGraded;
use super::registry::{Eval, Registry};
use super::rows::EvalRow;
use crate::draft::Draft;
use crate::error::ImportError;

/// The member of a row that holds the right answers, and the column with them.
pub(super) const REFERENCE: &str = "ideal";

/// Arguments that say how a model is asked; they change no score by themselves.
const SAMPLING: [&str; 6] = ["max_tokens", "temperature", "samples_renamings", "seed", "n_samples", "sample_kwargs"];

/// Arguments that are read.
const READ: [&str; 9] = [
    "samples_jsonl",
    "num_few_shot",
    "few_shot_jsonl",
    "ignore_case",
    "modelgraded_spec",
    "modelgraded_spec_args",
    "eval_type",
    "metaeval",
    "multicomp_n",
];

/// The rule by which an output is scored.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Grader {
    /// The output begins with an answer.
    Match,
    /// The output contains an answer.
    Includes {
        ignore_case: bool,
    },
    /// Output or answer contains the other, by the words in it.
    FuzzyMatch,
    /// The output is the same JSON as an answer.
    JsonMatch,
    /// BLEU with the answers.
    Translate,
    Model(Box<ModelGraded>),
}

impl Grader {
    /// The grader of an eval.
    ///
    /// # Errors
    /// A class that is code of its own.
    pub fn of(eval: &Eval, registry: &Registry<'_>) -> Result<Self, Lost> {
        Ok(match eval.class.as_str() {
            "Match" => Self::Match,
            "Includes" => Self::Includes { ignore_case: eval.args.get("ignore_case") == Some(&json!(true)) },
            "FuzzyMatch" => Self::FuzzyMatch,
            "JsonMatch" => Self::JsonMatch,
            "Translate" => Self::Translate,
            "ModelBasedClassify" => Self::Model(Box::new(ModelGraded::of(eval, registry)?)),
            class => {
                return Err(Lost::new(
                    class,
                    "is a class of its own, which is code that an import neither runs nor copies",
                )
                .instead("a scorer with `metric: command` that runs the code"));
            }
        })
    }

    /// The name of its scorer.
    pub fn name(&self) -> &str {
        match self {
            Self::Match => "match",
            Self::Includes { .. } => "includes",
            Self::FuzzyMatch => "fuzzy_match",
            Self::JsonMatch => "json_match",
            Self::Translate => "bleu",
            Self::Model(graded) => &graded.name,
        }
    }

    pub fn is_judged(&self) -> bool {
        matches!(self, Self::Model(_))
    }

    /// Returns true if its scorer reads the right answers.
    pub fn reads_reference(&self) -> bool {
        !self.is_judged()
    }

    /// Lists the arguments that are not read.
    pub fn note_settings(&self, eval: &Eval, draft: &mut Draft<'_>) {
        for arg in eval.args.keys().map(String::as_str).filter(|arg| !READ.contains(arg)) {
            let path = format!("{}.args", eval.key);
            if SAMPLING.contains(&arg) {
                draft.report.note(path, format!("`{arg}` belongs to a call: write it under `parameters` of the model"));
            } else {
                draft.report.drop(Lost::new(arg, "is not an argument of this class").at(format!("{path}.{arg}"), 0));
            }
        }
        if *self == Self::Translate {
            draft.report.note(
                eval.key.clone(),
                "its accuracy is the share of rows with a BLEU above 30; here BLEU itself is shown",
            );
        }
    }

    /// The columns of a row that the scorer reads.
    pub fn columns(&self, row: &EvalRow, column: &str, is_uniform: bool) -> Map<String, Value> {
        if let Self::Model(graded) = self {
            return graded.columns(row, is_uniform);
        }
        let reference = match row.members.get(REFERENCE) {
            Some(Value::Array(answers)) if *self == Self::JsonMatch => {
                Some(answers.iter().map(parse_choices).collect())
            }
            Some(answer) if *self == Self::JsonMatch => Some(parse_choices(answer)),
            Some(Value::Array(answers)) => Some(answers.iter().map(|answer| json!(text(answer))).collect()),
            Some(Value::Null) | None => None,
            Some(answer) => Some(json!(text(answer))),
        };
        reference.into_iter().map(|reference| (column.to_owned(), reference)).collect()
    }

    /// Its scorer, as a suite writes it.
    pub fn scorer(
        &self,
        id: &str,
        column: &str,
        is_uniform: bool,
        draft: &mut Draft<'_>,
    ) -> Result<Value, ImportError> {
        let mut scorer = match self {
            Self::Match => json!({"metric": "exact", "with": {"prefix": true}}),
            Self::Includes { ignore_case: false } => json!({"metric": "contains", "with": {"need": "any"}}),
            Self::Includes { ignore_case: true } => {
                json!({"metric": "contains", "with": {"need": "any", "ignore_case": true}})
            }
            Self::FuzzyMatch => json!({"metric": "contains", "with": {"need": "any", "either": true, "squad": true}}),
            Self::JsonMatch => json!({"metric": "json_field"}),
            Self::Translate => json!({"metric": "bleu"}),
            Self::Model(graded) => return graded.scorer(id, is_uniform, draft),
        };
        if !is_uniform {
            scorer["reference"] = json!(column);
        }
        Ok(scorer)
    }
}

/// An answer as text: some files hold numbers.
fn text(answer: &Value) -> String {
    answer.as_str().map_or_else(|| answer.to_string(), str::to_owned)
}

/// An answer that is JSON in a text.
fn parse_choices(answer: &Value) -> Value {
    answer.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| answer.clone())
}
