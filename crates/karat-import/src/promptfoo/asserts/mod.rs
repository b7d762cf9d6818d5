//! Asserts of promptfoo as checks of rows and scorers of the suite.
//!
//! - `metrics` has the types that a metric decides (`regex` translates patterns), `judged` those that ask a model, `unsupported` all others with the
//!   reason why they are dropped.
//! - This file reads an assert, fills in the row's variables and applies the rule by which a test passes: all asserts, or
//!   their weighted mean where there is a threshold.

mod javascript;
mod judged;
mod metrics;
mod regex;
#[cfg(test)]
mod tests;
mod unsupported;

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

pub(super) use self::javascript::Root;
pub(super) use self::judged::{HasInput, Questions, Shown};
pub(super) use self::unsupported::is_type;
use super::models::{Grading, Model};
use super::refusal::{Refusal, drop_unknown_keys};
use super::settings::Settings;
use super::values::{number, number_of, text_of};
use super::{files, nunjucks};
use crate::error::ImportError;
use crate::report::{Approximate, Dropped, ImportReport, Shape};
use crate::source::Source;

/// One check as a suite writes it.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::promptfoo) struct Item(pub Map<String, Value>);

impl Item {
    pub fn new(metric: &str) -> Self {
        Self(Map::from_iter([("metric".to_owned(), json!(metric))]))
    }

    pub fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    /// Adds an option of the metric.
    pub fn with(mut self, option: &str, value: impl Into<Value>) -> Self {
        let with = self.0.entry("with").or_insert_with(|| json!({}));
        if let Some(with) = with.as_object_mut() {
            with.insert(option.to_owned(), value.into());
        }
        self
    }

    pub fn min(self, min: f64) -> Self {
        self.set("min", number(min))
    }

    pub fn max(self, max: f64) -> Self {
        self.set("max", number(max))
    }
}

/// Keys of an assert that are read.
const KEYS: [&str; 10] = [
    "type",
    "value",
    "threshold",
    "weight",
    "metric",
    "provider",
    "assert",
    "transform",
    "contextTransform",
    RUBRIC_PROMPT,
];

/// The text that stands for a value that promptfoo hides.
const MASK: &str = "[REDACTED]";

/// The key of an assert or an option with which judges are asked another question.
pub(super) const RUBRIC_PROMPT: &str = "rubricPrompt";

/// The type of an assert that is several asserts.
const SET: &str = "assert-set";

/// The key of an assert that stands elsewhere in the config.
const REFERENCE: &str = "$ref";

/// An assert and its address in the source.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Assert {
    pub path: String,
    /// Line in the file of a table.
    pub line: Option<usize>,
    pub spec: Map<String, Value>,
}

/// An assert of one row, ready to become a check.
struct Given<'a> {
    spec: &'a Map<String, Value>,
    /// The type without `not-`.
    kind: &'a str,
    negation: Option<Negation>,
    /// The value with the row's variables filled in and its file read.
    value: Value,
    threshold: Option<f64>,
    /// The variables of the row.
    vars: &'a Map<String, Value>,
    root: Root,
}

struct Negation;

/// The row that asserts are about.
#[derive(Clone, Copy)]
pub(super) struct RowVars<'a> {
    pub vars: &'a Map<String, Value>,
    /// The models that grade this row, where they are not the suite's.
    pub grading: &'a Grading,
    /// True if its judges are asked another question, which is not carried over.
    pub has_rubric_prompt: bool,
}

/// The checks of a row.
#[derive(Debug, Default, PartialEq)]
pub(super) struct RowChecks {
    /// The items of the row's `assert`.
    pub items: Vec<Value>,
    /// Columns with the texts of questions.
    pub columns: Map<String, Value>,
    /// Dropped asserts that decided whether the test passes.
    pub unchecked: Vec<String>,
}

/// Turns asserts into checks.
pub(super) struct Checks<'a> {
    pub source: &'a Source,
    /// The file that names other files.
    pub from: PathBuf,
    pub env: Map<String, Value>,
    /// Path of the text within outputs that are objects.
    pub output: Option<String>,
    /// The output that code sees.
    pub root: Root,
    /// Of recorded outputs no judge is asked, and results travel without the files of their config.
    pub shape: Shape,
    pub tools: Tools,
    pub questions: Questions,
    pub settings: Settings,
    /// The models that grade where nothing else is named.
    pub usual: Grading,
}

/// Tools that the models of the suite are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tools {
    None,
    Offered,
}

enum Outcome {
    Item(Item),
    /// A check that says of a score whether it passes.
    Graded(Item),
    Question(judged::Question),
    /// A check that every output passes.
    Holds,
    Dropped,
}

impl Assert {
    /// The asserts of a list; what is not an assert is listed as dropped.
    pub fn list(path: &str, value: Option<&Value>, report: &mut ImportReport) -> Vec<Self> {
        let mut asserts = Vec::new();
        for (at, value) in value.and_then(Value::as_array).into_iter().flatten().enumerate() {
            // Results repeat the asserts of all tests: there, one place stands for all of a kind.
            let path = if path.contains("[*]") { format!("{path}[*]") } else { format!("{path}[{at}]") };
            match value.as_object().filter(|spec| spec.get("type").is_some_and(Value::is_string)) {
                Some(spec) => asserts.push(Self { path, line: None, spec: spec.clone() }),
                None if value.get(REFERENCE).is_some_and(Value::is_string) => {
                    let spec = Map::from_iter([("type".to_owned(), json!(REFERENCE))]);
                    asserts.push(Self { path, line: None, spec });
                }
                None => report.drop(Refusal::new("is not an assert: it has no `type`").of_sample(&path, "assert")),
            }
        }
        asserts
    }

    fn kind(&self) -> &str {
        self.spec.get("type").and_then(Value::as_str).unwrap_or_default()
    }

    fn weight(&self) -> f64 {
        self.spec.get("weight").and_then(number_of).unwrap_or(1.0)
    }

    fn threshold(&self) -> Option<f64> {
        self.spec.get("threshold").and_then(number_of)
    }

    pub fn metric(&self) -> Option<&str> {
        self.spec.get("metric").and_then(Value::as_str).filter(|metric| !metric.is_empty())
    }

    fn members(&self, report: &mut ImportReport) -> Vec<Self> {
        Self::list(&format!("{}.assert", self.path), self.spec.get("assert"), report)
    }

    /// Returns true if its value depends on the row.
    fn reads_row(&self) -> bool {
        let is_template = |value: &Value| value.as_str().is_some_and(nunjucks::is_template);
        match self.spec.get("value") {
            Some(Value::Array(values)) => values.iter().any(is_template),
            Some(value) => is_template(value) || value.as_str().is_some_and(javascript::reads_row),
            None => false,
        }
    }
}

impl Given<'_> {
    fn text(&self) -> String {
        text_of(&self.value)
    }

    fn metric(&self) -> Option<&str> {
        self.spec.get("metric").and_then(Value::as_str).filter(|metric| !metric.is_empty())
    }
}

impl Checks<'_> {
    /// Turns asserts of all rows into scorers of the suite, and returns those that depend on the row.
    pub fn of_suite(
        &mut self,
        asserts: &[Assert],
        has_rubric_prompt: bool,
        scorers: &mut Map<String, Value>,
        unchecked: &mut Vec<String>,
        report: &mut ImportReport,
    ) -> Result<Vec<Assert>, ImportError> {
        let (vars, grading) = (Map::new(), Grading::default());
        let row = RowVars { vars: &vars, grading: &grading, has_rubric_prompt };
        let mut of_rows = Vec::new();
        let mut named: Vec<(String, Vec<Item>)> = Vec::new();
        for assert in asserts {
            if assert.reads_row() || assert.kind() == SET {
                of_rows.push(assert.clone());
                continue;
            }
            if self.is_without_weight(assert, report) {
                continue;
            }
            match self.outcome(assert, row, report)? {
                Outcome::Item(item) | Outcome::Graded(item) => {
                    let id = assert.metric().unwrap_or_else(|| assert.kind()).to_owned();
                    match named.iter_mut().find(|(known, _)| *known == id && assert.metric().is_some()) {
                        Some((_, items)) => items.push(item),
                        None => named.push((id, vec![item])),
                    }
                }
                Outcome::Question(question) => self.questions.ask_all(question),
                Outcome::Holds => {}
                Outcome::Dropped => unchecked.push(assert.kind().to_owned()),
            }
        }
        for (wish, items) in named {
            let id = self.questions.reserve(&wish, "check");
            let single = (items.len() == 1).then(|| items.first().cloned()).flatten();
            // Asserts with one metric's name are one figure: their mean. It is 1 where all of them hold.
            let item = single.unwrap_or_else(|| mean(items.into_iter().map(|item| (item, 1.0))).min(1.0));
            scorers.insert(id, Value::Object(item.0));
        }
        Ok(of_rows)
    }

    /// The checks of one row. With a threshold, their weighted mean decides; without one, all of them.
    pub fn of_row(
        &mut self,
        asserts: &[Assert],
        threshold: Option<f64>,
        row: RowVars<'_>,
        report: &mut ImportReport,
    ) -> Result<RowChecks, ImportError> {
        let mut checks = RowChecks::default();
        match threshold {
            None => self.all(asserts, row, &mut checks, report)?,
            Some(threshold) => {
                let mean = self.mean_of(asserts, row, &mut checks, report)?;
                checks.items.extend(mean.map(|item| Value::Object(item.min(threshold).0)));
            }
        }
        Ok(checks)
    }

    fn all(
        &mut self,
        asserts: &[Assert],
        row: RowVars<'_>,
        checks: &mut RowChecks,
        report: &mut ImportReport,
    ) -> Result<(), ImportError> {
        for assert in asserts {
            // A set without a weight still fails with its members.
            if assert.kind() != SET && self.is_without_weight(assert, report) {
                continue;
            }
            if assert.kind() == SET {
                let members = assert.members(report);
                match assert.threshold() {
                    None => self.all(&members, row, checks, report)?,
                    Some(threshold) => {
                        let mean = self.mean_of(&members, row, checks, report)?;
                        checks.items.extend(mean.map(|item| labelled_value(assert, item.min(threshold))));
                    }
                }
                continue;
            }
            match self.outcome(assert, row, report)? {
                Outcome::Item(item) | Outcome::Graded(item) => checks.items.push(labelled_value(assert, item)),
                Outcome::Question(_) if self.shape == Shape::Recorded => {
                    let text = "its verdicts are kept as scores that were given; no judge is asked again";
                    report.note(format!("asserts of the type `{}`", assert.kind()), text);
                    checks.unchecked.push(assert.kind().to_owned());
                }
                Outcome::Question(question) => match question.requirement() {
                    Some(requirement) => {
                        let item = Item(Map::from_iter([("rubric".to_owned(), json!({"ask": requirement}))]));
                        checks.items.push(labelled_value(assert, item));
                    }
                    None => {
                        let asked: BTreeSet<String> = checks.columns.keys().cloned().collect();
                        checks.columns.extend([self.questions.ask_row(question, &asked)]);
                    }
                },
                Outcome::Holds => {}
                Outcome::Dropped => checks.unchecked.push(assert.kind().to_owned()),
            }
        }
        Ok(())
    }

    /// The weighted mean of asserts; nothing where none of them is carried over.
    fn mean_of(
        &mut self,
        asserts: &[Assert],
        row: RowVars<'_>,
        checks: &mut RowChecks,
        report: &mut ImportReport,
    ) -> Result<Option<Item>, ImportError> {
        let mut items = Vec::new();
        for assert in asserts {
            if self.is_without_weight(assert, report) {
                continue;
            }
            if assert.kind() == SET {
                let members = assert.members(report);
                let item = self.mean_of(&members, row, checks, report)?;
                items.extend(item.map(|item| (with_id(assert, item), assert.weight())));
                continue;
            }
            match self.outcome(assert, row, report)? {
                Outcome::Item(item) => items.push((with_id(assert, item), assert.weight())),
                Outcome::Holds => items.push((Item::new("length").min(0.0), assert.weight())),
                Outcome::Dropped => checks.unchecked.push(assert.kind().to_owned()),
                Outcome::Graded(_) => {
                    let refusal = Refusal::new("counts in a weighted mean by a score that code computes")
                        .instead("a scorer with `metric: command` that runs it");
                    report.drop(refusal.of_sample(&assert.path, assert.kind()));
                    checks.unchecked.push(assert.kind().to_owned());
                }
                Outcome::Question(_) => {
                    let refusal =
                        Refusal::new("counts in a weighted mean, which judges cannot be part of: they grade later")
                            .instead("a rubric scorer of its own");
                    report.drop(refusal.of_sample(&assert.path, assert.kind()));
                    checks.unchecked.push(assert.kind().to_owned());
                }
            }
        }
        Ok((!items.is_empty()).then(|| mean(items.into_iter())))
    }

    /// Returns true if a check of the row decides an assert, as the source did. `scratch` takes what is remarked on it.
    pub fn decides(&self, assert: &Assert, row: RowVars<'_>, scratch: &mut ImportReport) -> Result<bool, ImportError> {
        Ok(matches!(self.outcome(assert, row, scratch)?, Outcome::Item(_) | Outcome::Holds))
    }

    /// Returns true if an assert counts nothing: it is left out.
    fn is_without_weight(&self, assert: &Assert, report: &mut ImportReport) -> bool {
        let is_without = assert.weight() <= 0.0;
        if is_without {
            report.note(
                assert.path.clone(),
                format!("`{}` has the weight 0, so it always passes, and is left out", assert.kind()),
            );
        }
        is_without
    }

    fn outcome(&self, assert: &Assert, row: RowVars<'_>, report: &mut ImportReport) -> Result<Outcome, ImportError> {
        drop_unknown_keys(&assert.path, &assert.spec, &KEYS, report);
        let refuse = |refusal: Refusal, report: &mut ImportReport| {
            report.drop(Dropped { line: assert.line, ..refusal.of_sample(&assert.path, assert.kind()) });
            Ok(Outcome::Dropped)
        };
        let whole = assert.kind();
        let (kind, negation) = whole.strip_prefix("not-").map_or((whole, None), |kind| (kind, Some(Negation)));
        if let Some(key) = ["transform", "contextTransform"].iter().find(|key| assert.spec.contains_key(**key)) {
            let refusal = Refusal::new(format!("`{key}` is code that changes the output before it is compared"));
            return refuse(refusal.instead("`parse` and `take` in the step, and the check's `output`"), report);
        }
        let value = match self.value(assert, row)? {
            Ok(value) => value,
            Err(refusal) => return refuse(refusal, report),
        };
        if self.shape == Shape::Recorded && text_of(&value).contains(MASK) {
            let refusal = Refusal::new("its value is masked in the file, so nothing can be compared with it");
            return refuse(refusal.instead("the value, written into the row's `assert`"), report);
        }
        let threshold = assert.threshold();
        let given = Given { spec: &assert.spec, kind, negation, value, threshold, vars: row.vars, root: self.root };
        if let Some(item) = metrics::item(&given).or_else(|| metrics::tool_item(&given, self.tools)) {
            return match item {
                Ok(Some(item)) => {
                    self.list_difference(assert, kind, &item, report);
                    if kind == "javascript" && item.0.get("metric") == Some(&json!("length")) {
                        let text = "the length counts characters; JavaScript counts those beyond U+FFFF twice";
                        report.note(assert.path.clone(), text);
                    }
                    if kind == "word-count" {
                        let text = "promptfoo counts runs of non-space; here a word holds a letter or digit, and text \
                                    without spaces is cut into words";
                        report.note(assert.path.clone(), text);
                    }
                    let is_graded = metrics::is_graded(&given);
                    let item = self.complete(item, &given);
                    if !is_graded {
                        return Ok(Outcome::Item(item));
                    }
                    report.approximate(Approximate {
                        path: assert.path.clone(),
                        construct: kind.to_owned(),
                        metric: item.0.get("metric").and_then(Value::as_str).unwrap_or_default().to_owned(),
                        difference: "the code gives a score, and the check says whether that passes".to_owned(),
                    });
                    Ok(Outcome::Graded(item))
                }
                Ok(None) => Ok(Outcome::Holds),
                Err(refusal) => refuse(refusal, report),
            };
        }
        let Some(question) = judged::question(&given) else {
            return refuse(unsupported::refusal(kind), report);
        };
        let asks_otherwise = row.has_rubric_prompt || assert.spec.contains_key(RUBRIC_PROMPT);
        if asks_otherwise && question.is_judged() && self.shape == Shape::Live {
            let refusal =
                Refusal::new("its judge is asked by a `rubricPrompt`, which is written for promptfoo's replies");
            return refuse(refusal.instead("a rubric with `prompt: { system, user }`"), report);
        }
        let Ok(model) = self.grading_model(assert, &question, row, report) else {
            let refusal = Refusal::new("its model is not carried over, and another would be asked in its place");
            return refuse(refusal.instead("a scorer with `judges`, or with the model of `similarity`"), report);
        };
        let question = question.asked_of(model);
        if !question.is_judged() {
            self.list_difference(assert, kind, &Item::new("similarity"), report);
        }
        Ok(Outcome::Question(question))
    }

    /// The model that decides a question; `None` for the suite's judges.
    ///
    /// # Errors
    /// One is named that is not carried over.
    fn grading_model(
        &self,
        assert: &Assert,
        question: &judged::Question,
        row: RowVars<'_>,
        report: &mut ImportReport,
    ) -> Result<Option<Model>, ()> {
        // Of recorded outputs no judge is asked.
        if self.shape == Shape::Recorded {
            return Ok(None);
        }
        let path = format!("{}.provider", assert.path);
        let own = assert.spec.get("provider").map(|value| Grading::read(value, &path, &self.settings, report));
        let chosen = own.unwrap_or_default().or(row.grading);
        let (chosen, usual) = match question.is_judged() {
            true => (chosen.text, self.usual.text.as_ref().filter(|usual| usual.is_err()).cloned()),
            false => (chosen.embedding, self.usual.embedding.clone()),
        };
        chosen.or(usual).transpose()
    }

    fn complete(&self, item: Item, given: &Given<'_>) -> Item {
        // These read more of a cell than the text of its output.
        let of_output = !matches!(given.kind, "latency" | "cost") && !metrics::reads_tools(given.kind);
        let item =
            self.output.as_deref().filter(|_| of_output).into_iter().fold(item, |item, path| item.set("output", path));
        let is_negated = item.0.get("not") == Some(&json!(true));
        given.negation.iter().fold(item, |item, _| item.set("not", !is_negated))
    }

    fn list_difference(&self, assert: &Assert, kind: &str, item: &Item, report: &mut ImportReport) {
        if let Some(difference) = metrics::difference(kind) {
            report.approximate(Approximate {
                path: assert.path.clone(),
                construct: assert.kind().to_owned(),
                metric: item.0.get("metric").and_then(Value::as_str).unwrap_or_default().to_owned(),
                difference: difference.to_owned(),
            });
        }
    }

    /// The value of an assert for a row: its file is read, the row's variables are filled in.
    fn value(&self, assert: &Assert, row: RowVars<'_>) -> Result<Result<Value, Refusal>, ImportError> {
        let filled = |text: &str| {
            nunjucks::render(text, row.vars, &self.env)
                .map_err(|why| Refusal::new(format!("its value is a template that cannot be filled in: {why}")))
        };
        Ok(match assert.spec.get("value") {
            None => Ok(Value::Null),
            Some(Value::String(text)) => match files::file_name(text) {
                Some(name) if files::is_code(name) => {
                    return Ok(Err(Refusal::new(format!("its value is the program `{name}`"))
                        .instead("a scorer with `metric: command` that runs it")));
                }
                Some(name) => match self.file(name) {
                    Ok(Value::String(text)) => filled(&text).map(Value::String),
                    Ok(value) => Ok(value),
                    Err(error) if self.shape == Shape::Live => Err(Refusal::of_error(&error)),
                    Err(error) => Err(Refusal::new(format!("its value is in a file that is not there ({error})"))),
                },
                None => filled(text).map(Value::String),
            },
            Some(Value::Array(values)) => values
                .iter()
                .map(|value| match value {
                    Value::String(text) => filled(text).map(Value::String),
                    other => Ok(other.clone()),
                })
                .collect(),
            Some(value) => Ok(value.clone()),
        })
    }

    fn file(&self, name: &str) -> Result<Value, ImportError> {
        let path = self.source.beneath(&self.from, name)?;
        match files::ending(name).as_str() {
            "json" => self.source.json(&path),
            "yaml" | "yml" => self.source.yaml(&path),
            _ => self.source.text(&path).map(Value::String),
        }
    }
}

/// The weighted mean of checks, as one check.
fn mean(items: impl Iterator<Item = (Item, f64)>) -> Item {
    let weighted = items.map(|(item, weight)| {
        let is_usual = (weight - 1.0).abs() < f64::EPSILON;
        let item = if is_usual { item } else { item.set("weight", number(weight)) };
        Value::Object(item.0)
    });
    Item::new("checks").with("of", weighted.collect::<Vec<_>>())
}

/// A check with the name of its metric in front.
fn with_id(assert: &Assert, item: Item) -> Item {
    let id = assert.metric().map(|metric| ("id".to_owned(), json!(metric)));
    Item(id.into_iter().chain(item.0).collect())
}

fn labelled_value(assert: &Assert, item: Item) -> Value {
    Value::Object(with_id(assert, item).0)
}
