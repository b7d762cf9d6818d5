//! Specifications by which a model grades, as rubrics.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::Lost;
use super::registry::{Eval, Registry};
use super::rows::EvalRow;
use crate::draft::{Draft, RubricFile};
use crate::error::ImportError;
use crate::report::Approximate;
use crate::text::names::valid_id;

/// The name of a specification's output in its prompt.
const COMPLETION: &str = "completion";
const INPUT: &str = "input";

/// A specification with the arguments of an eval.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ModelGraded {
    pub name: String,
    /// Its prompt: texts and names of values by turns, a name at each odd place.
    pieces: Vec<String>,
    /// Choices with their scores.
    choices: Map<String, Value>,
    scores: Scores,
}

/// The origin of the scores of choices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scores {
    Given,
    /// The source only counts its choices.
    None,
}

impl ModelGraded {
    /// # Errors
    /// A specification that compares several outputs, or grades choices that were graded before.
    pub fn of(eval: &Eval, registry: &Registry<'_>) -> Result<Self, Lost> {
        let name = eval.text("modelgraded_spec").ok_or_else(|| Lost::new("args", "names no `modelgraded_spec`"))?;
        let lost = |why: &str| Lost::new("modelgraded_spec", why);
        if eval.args.get("metaeval") == Some(&json!(true)) {
            return Err(Lost::new("metaeval", "grades a judge by choices of people").instead("`karat calibrate`"));
        }
        if eval.args.get("multicomp_n").is_some_and(|number| *number != json!(1)) {
            return Err(
                Lost::new("multicomp_n", "grades several outputs together").instead("a rubric with `versus: all`")
            );
        }
        let specification = registry.specification(name)?;
        let outputs = specification.get("input_outputs").and_then(Value::as_object);
        let is_usual = outputs
            .is_none_or(|outputs| outputs.len() == 1 && outputs.get(INPUT).is_none_or(|output| output == COMPLETION));
        if !is_usual {
            return Err(lost("compares the outputs for two inputs of a row").instead("a rubric with `versus: all`"));
        }
        let prompt = prompt(specification.get("prompt")).ok_or_else(|| lost("has a prompt that is not text"))?;
        let arguments = eval.args.get("modelgraded_spec_args").and_then(Value::as_object);
        let pieces = pieces(&prompt, arguments).ok_or_else(|| lost("has a prompt whose braces have no end"))?;
        if !pieces.iter().skip(1).step_by(2).any(|name| name == COMPLETION) {
            return Err(lost("has a prompt that does not show the output"));
        }
        let (choices, scores) = choices(&specification)?;
        Ok(Self { name: valid_id(name, "graded"), pieces, choices, scores })
    }

    /// The values that the prompt shows beside the output.
    fn values(&self) -> BTreeSet<&str> {
        self.pieces.iter().skip(1).step_by(2).map(String::as_str).filter(|name| *name != COMPLETION).collect()
    }

    fn column(&self, value: &str, is_uniform: bool) -> String {
        if is_uniform || value == INPUT {
            value.to_owned()
        } else {
            format!("{}_{value}", self.name.replace(['-', '.'], "_"))
        }
    }

    /// The columns of a row that the prompt shows.
    pub fn columns(&self, row: &EvalRow, is_uniform: bool) -> Map<String, Value> {
        let values = self.values().into_iter().filter(|name| *name != INPUT);
        values
            .filter_map(|name| {
                let value = row.members.get(name).filter(|value| !value.is_null())?;
                Some((self.column(name, is_uniform), value.clone()))
            })
            .collect()
    }

    /// Writes the rubric, and returns the scorer.
    pub fn scorer(&self, id: &str, is_uniform: bool, draft: &mut Draft<'_>) -> Result<Value, ImportError> {
        let mut show = Map::new();
        for name in self.values() {
            let column = self.column(name, is_uniform);
            let value = if name == INPUT {
                json!("{{ input }}")
            } else {
                json!({"value": format!("{{{{ sample.{column} | default('') }}}}"), "required": true})
            };
            show.insert(section(name), value);
        }
        show.insert("output".to_owned(), json!("{{ output }}"));
        let user = self
            .pieces
            .iter()
            .enumerate()
            .map(|(at, piece)| match at % 2 {
                0 => piece.clone(),
                _ => format!("(see section {})", karat_text::fence::label(&section(piece))),
            })
            .collect::<String>();
        let rubric = RubricFile {
            id,
            ask: "Grade as the message of the user says.",
            user: &user,
            show: Value::Object(show),
            dimensions: json!({"choice": {"choices": self.choices}}),
        };
        let path = draft.write_rubric(&rubric)?;
        draft.report.approximate(Approximate {
            path: format!("modelgraded.{}", self.name),
            construct: "ModelBasedClassify".to_owned(),
            metric: "rubric".to_owned(),
            difference: match self.scores {
                Scores::Given => "the wording is kept, but values stand in sections of their own and the reply is JSON",
                Scores::None => {
                    "choices are only counted there; here a choice's score is its number, so read the shares of choices \
                     and not the mean"
                }
            }
            .to_owned(),
        });
        Ok(json!({"rubric": path}))
    }
}

fn section(value: &str) -> String {
    if value == COMPLETION { "output".to_owned() } else { value.to_owned() }
}

/// The prompt as one text; of messages, one after the other.
fn prompt(prompt: Option<&Value>) -> Option<String> {
    match prompt? {
        Value::String(text) => Some(text.clone()),
        Value::Array(messages) => {
            let texts: Option<Vec<&str>> = messages.iter().map(|message| message.get("content")?.as_str()).collect();
            texts.map(|texts| texts.join("\n\n"))
        }
        _ => None,
    }
}

/// The pieces of a format of Python: `{name}` is a value, `{{` a brace.
fn pieces(text: &str, arguments: Option<&Map<String, Value>>) -> Option<Vec<String>> {
    let mut pieces = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let is_double = (char == '{' || char == '}') && chars.next_if_eq(&char).is_some();
        if char != '{' || is_double {
            pieces.last_mut()?.push(char);
            continue;
        }
        let mut name = String::new();
        loop {
            match chars.next()? {
                '}' => break,
                char => name.push(char),
            }
        }
        match arguments.and_then(|arguments| arguments.get(&name)).and_then(Value::as_str) {
            Some(value) => pieces.last_mut()?.push_str(value),
            None => pieces.extend([name, String::new()]),
        }
    }
    Some(pieces)
}

/// Choices with scores, or with the number of each where they have none.
fn choices(specification: &Map<String, Value>) -> Result<(Map<String, Value>, Scores), Lost> {
    let lost = |why: &str| Lost::new("choice_strings", why);
    let strings: Vec<String> = match specification.get("choice_strings") {
        Some(Value::String(text)) if text == "from_n" => {
            return Err(lost("chooses one of several outputs").instead("a rubric with `versus: all`"));
        }
        Some(Value::String(text)) => text.chars().map(String::from).collect(),
        Some(Value::Array(list)) => list.iter().filter_map(|choice| choice.as_str().map(str::to_owned)).collect(),
        _ => return Err(lost("is not a list of choices")),
    };
    if strings.len() < 2 {
        return Err(lost("has less than two choices"));
    }
    let scores = specification.get("choice_scores");
    let score = |choice: &String| match scores? {
        Value::String(from) if from == "from_strings" => choice.parse::<f64>().ok().map(|score| json!(score)),
        Value::Object(scores) => scores.get(choice).filter(|score| score.is_number()).cloned(),
        _ => None,
    };
    if strings.iter().all(|choice| score(choice).is_none()) {
        let numbered = strings.into_iter().zip(1_u64..).map(|(choice, number)| (choice, json!(number)));
        return Ok((numbered.collect(), Scores::None));
    }
    match strings.iter().find(|choice| score(choice).is_none()) {
        Some(choice) => Err(lost(&format!("has the choice `{choice}` without a score among others with one"))),
        None => Ok((strings.iter().map(|choice| (choice.clone(), json!(score(choice)))).collect(), Scores::Given)),
    }
}
