//! Asserts that ask a model: rubrics and closeness of meaning. Each becomes a scorer of the suite; rows hold the text that
//! it asks about in a column of its own, and a row without that text is not applicable.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::Given;
use crate::promptfoo::models::{Model, OwnModels};
use crate::promptfoo::values::{number, text_of};
use crate::text::names::{Names, valid_id};

/// Default thresholds of promptfoo.
const SIMILAR: f64 = 0.75;
const G_EVAL: f64 = 0.7;

/// Factuality's task, with the meanings of its letters.
const FACTUALITY: &str = "Compare the factual content of the answer with that of the expert's answer. Ignore differences \
     of style, grammar and punctuation. Choose A if the answer is a subset of the expert's and consistent with it, B if it \
     is a superset and consistent with it, C if it has the same details, D if the two disagree, E if they differ in nothing \
     that matters for factuality.";

const CLOSED_QA: &str = "Decide whether the output meets the criterion: Y if it does, N if it does not.";

const SCORE: &str = "Score how well the output meets the requirement, from 0 (not at all) to 1 (in full).";

const G_EVAL_ASK: &str = "Grade the output by each criterion, from 0 (worst) to 10 (best).";

/// A form of question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Form {
    Rubric,
    ClosedQa,
    Factuality,
    /// The criteria.
    GEval(Vec<String>),
    Similar,
}

/// A question about an output.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::promptfoo) struct Question {
    form: Form,
    /// The name that its scorer shall have.
    name: String,
    threshold: Option<f64>,
    /// The model that is asked, where it is not the suite's judges.
    model: Option<Model>,
    is_negated: bool,
    /// The requirement, criterion or expected text.
    text: Value,
}

/// The question of an assert; `None` of a type that no judge decides.
pub(super) fn question(given: &Given<'_>) -> Option<Question> {
    let form = match given.kind {
        "llm-rubric" => Form::Rubric,
        "model-graded-closedqa" => Form::ClosedQa,
        "factuality" | "model-graded-factuality" => Form::Factuality,
        "g-eval" => Form::GEval(match &given.value {
            Value::Array(criteria) => criteria.iter().map(text_of).collect(),
            criterion => vec![text_of(criterion)],
        }),
        "similar" | "similar:cosine" => Form::Similar,
        _ => return None,
    };
    let text = match (&form, &given.value) {
        (Form::Similar, value @ Value::Array(_)) => value.clone(),
        (Form::GEval(criteria), _) => json!(criteria.join("\n")),
        (_, value) => json!(text_of(value)),
    };
    let threshold = match form {
        Form::Similar => Some(given.threshold.unwrap_or(SIMILAR)),
        Form::GEval(_) => Some(given.threshold.unwrap_or(G_EVAL)),
        Form::Rubric => given.threshold,
        Form::ClosedQa | Form::Factuality => None,
    };
    let name = given.metric().unwrap_or(given.kind).to_owned();
    Some(Question { form, name, threshold, model: None, is_negated: given.negation.is_some(), text })
}

impl Question {
    /// The question for a model; for the suite's judges without one.
    pub fn asked_of(self, model: Option<Model>) -> Self {
        Self { model, ..self }
    }

    /// The requirement in words, where a row's own checks can hold the question: it is pass or fail and for any judge.
    pub fn requirement(&self) -> Option<&str> {
        let is_plain =
            self.form == Form::Rubric && self.threshold.is_none() && self.model.is_none() && !self.is_negated;
        self.text.as_str().filter(|text| is_plain && !text.trim().is_empty())
    }

    /// Returns true if a judge decides it.
    pub fn is_judged(&self) -> bool {
        self.form != Form::Similar
    }

    /// Returns true if one scorer can ask both.
    fn has_scorer_of(&self, other: &Self) -> bool {
        Self { text: Value::Null, ..self.clone() } == Self { text: Value::Null, ..other.clone() }
    }
}

/// Scorers of the suite that ask a model.
#[derive(Debug, Default)]
pub(in crate::promptfoo) struct Questions {
    names: Names,
    scorers: Vec<QuestionScorer>,
}

#[derive(Debug)]
struct QuestionScorer {
    id: String,
    question: Question,
    /// The column with each row's text; none where the text is the same for all rows.
    column: Option<String>,
}

/// The look of outputs and rows, which scorers read.
#[derive(Debug, Clone, Copy)]
pub(in crate::promptfoo) struct Shown<'a> {
    /// Path of the text within an output that is an object.
    pub output: Option<&'a str>,
    pub has_input: HasInput,
}

/// Returns whether rows have an input that a judge can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::promptfoo) enum HasInput {
    Yes,
    No,
}

impl Questions {
    /// Takes an id that another scorer of the suite has.
    pub fn reserve(&mut self, wish: &str, fallback: &str) -> String {
        self.names.take(wish, fallback)
    }

    /// Adds a question of all rows.
    pub fn ask_all(&mut self, question: Question) {
        let id = self.names.take(&question.name, "rubric");
        self.scorers.push(QuestionScorer { id, question, column: None });
    }

    /// Adds the question of a row: its column and text. `asked` holds the columns of the row's earlier questions.
    pub fn ask_row(&mut self, question: Question, asked: &BTreeSet<String>) -> (String, Value) {
        let text = question.text.clone();
        let free = |scorer: &&QuestionScorer| {
            scorer.question.has_scorer_of(&question)
                && scorer.column.as_ref().is_some_and(|column| !asked.contains(column))
        };
        if let Some(column) = self.scorers.iter().find(free).and_then(|scorer| scorer.column.clone()) {
            return (column, text);
        }
        let id = self.names.take(&question.name, "rubric");
        let column: String =
            id.chars().map(|char| if char.is_ascii_alphanumeric() { char.to_ascii_lowercase() } else { '_' }).collect();
        let column = format!("_{column}");
        self.scorers.push(QuestionScorer { id, question, column: Some(column.clone()) });
        (column, text)
    }

    /// Returns true if the suite's judges are asked by any.
    pub fn ask_usual_judge(&self) -> bool {
        self.scorers.iter().any(|scorer| scorer.question.is_judged() && scorer.question.model.is_none())
    }

    /// The scorers by id, as a suite writes them; `own` gets the models that they ask.
    pub fn to_scorers(&self, shown: Shown<'_>, own: &mut OwnModels) -> Vec<(String, Value)> {
        self.scorers.iter().map(|scorer| (scorer.id.clone(), scorer.to_value(shown, own))).collect()
    }
}

impl QuestionScorer {
    fn to_value(&self, shown: Shown<'_>, own: &mut OwnModels) -> Value {
        let Question { form, threshold, model, is_negated, .. } = &self.question;
        let model = model.as_ref().map(|model| own.id(model));
        let mut scorer = match form {
            Form::Similar => self.similarity(shown, model.as_deref()),
            form => Map::from_iter([("rubric".to_owned(), self.rubric(form, shown))]),
        };
        if let Some(judge) = model.filter(|_| *form != Form::Similar) {
            scorer.insert("judges".to_owned(), json!([judge]));
        }
        if let Some(threshold) = threshold {
            let scale = if matches!(form, Form::GEval(_)) { 10.0 } else { 1.0 };
            scorer.insert("min".to_owned(), number(threshold * scale));
        }
        if *is_negated {
            scorer.insert("not".to_owned(), json!(true));
        }
        Value::Object(scorer)
    }

    fn similarity(&self, shown: Shown<'_>, model: Option<&str>) -> Map<String, Value> {
        let mut scorer = Map::from_iter([("metric".to_owned(), json!("similarity"))]);
        if let Some(path) = shown.output {
            scorer.insert("output".to_owned(), json!(path));
        }
        match &self.column {
            Some(column) => scorer.insert("reference".to_owned(), json!(column)),
            None => scorer.insert("value".to_owned(), self.question.text.clone()),
        };
        scorer.insert("with".to_owned(), json!({"model": model}));
        scorer
    }

    fn rubric(&self, form: &Form, shown: Shown<'_>) -> Value {
        let text = self.question.text.as_str().unwrap_or_default();
        let (ask, label, dimensions) = match form {
            Form::Rubric if self.question.threshold.is_none() => {
                ("Decide whether the output meets the requirement.", "requirement", None)
            }
            Form::Rubric | Form::Similar => (SCORE, "requirement", Some(json!({"score": {"scale": [0, 1]}}))),
            Form::ClosedQa => (CLOSED_QA, "criterion", Some(json!({"meets": {"choices": {"Y": 1, "N": 0}}}))),
            Form::Factuality => {
                let choices = json!({"A": 1, "B": 1, "C": 1, "D": 0, "E": 1});
                (FACTUALITY, "expert", Some(json!({"factuality": {"choices": choices}})))
            }
            Form::GEval(criteria) => (G_EVAL_ASK, "criteria", Some(criteria_dimensions(criteria))),
        };
        let output = shown.output.map_or("{{ output }}".to_owned(), |path| format!("{{{{ output.{path} }}}}"));
        let mut rubric = Map::new();
        // Without a column, the requirement is the task itself: the shortest rubric there is.
        let is_task = self.column.is_none() && *form == Form::Rubric;
        rubric.insert("ask".to_owned(), json!(if is_task { text } else { ask }));
        let mut show = Map::new();
        if shown.has_input == HasInput::Yes {
            show.insert("input".to_owned(), json!("{{ input }}"));
        }
        match &self.column {
            Some(column) => {
                let value = format!("{{{{ sample.{column} | default('') }}}}");
                show.insert(label.to_owned(), json!({"value": value, "required": true}));
            }
            None if is_task => {}
            None => {
                show.insert(label.to_owned(), json!(crate::text::escape::literal(text)));
            }
        }
        show.insert("output".to_owned(), json!(output));
        // Without `show`, a judge sees input and output.
        if !is_task || shown.output.is_some() || shown.has_input == HasInput::No {
            rubric.insert("show".to_owned(), Value::Object(show));
        }
        if let Some(dimensions) = dimensions {
            let several = dimensions.as_object().is_some_and(|dimensions| dimensions.len() > 1);
            rubric.insert("dimensions".to_owned(), dimensions);
            if several {
                rubric.insert("overall".to_owned(), json!({"method": "mean"}));
            }
        }
        Value::Object(rubric)
    }
}

/// A dimension a criterion, on a scale from 0 to 10.
fn criteria_dimensions(criteria: &[String]) -> Value {
    let mut names = Names::default();
    let dimensions = criteria.iter().map(|criterion| {
        let words: Vec<&str> = criterion.split_whitespace().take(3).collect();
        let name = valid_id(&words.join(" "), "criterion").to_lowercase().replace(['-', '.'], "_");
        let name = names.take(&name, "criterion").replace('#', "_");
        (name, json!({"definition": criterion, "scale": [0, 10]}))
    });
    Value::Object(dimensions.collect())
}
