//! Labels of scorers: what people say must be about something that is scored, and on its scale.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use karat_types::{Dimension, Label, RubricScorer, Scale, ScorerKind, ScorerSpec, output_key};
use serde_json::{Value, json};

use crate::dataset::Dataset;
use crate::decode::Decoder;
use crate::diagnostics::nearest::suggestion;
use crate::diagnostics::{Diagnostic, Severity};
use crate::files::jsonl;
use crate::syntax::node::Node;

/// The form of a label.
const FORM: &str = "a label is a line such as {\"sample\": \"s1\", \"output\": …, \"scores\": {\"NAME\": 7}}";

/// Keys of a label. Other keys are ignored unless they look like a misspelling of one of these.
const KEYS: [&str; 10] =
    ["sample", "model", "variant", "annotator", "rater", "output", "scores", "note", "notes", "provenance"];

/// Most problems of one file that are shown.
const SHOWN: usize = 20;

impl Decoder<'_> {
    /// Checks the labels file of every scorer against the dimensions of all, since scorers may share one.
    ///
    /// With `need_output` a row must hold the output that it grades: nothing else can be graded again.
    pub fn labels(&mut self, node: Option<&Node>, scorers: &[ScorerSpec], need_output: bool) {
        let known = names(scorers);
        for Labelled { scorer, rubric, path, text } in self.check_labels(node, scorers) {
            let dimensions = &rubric.rubric.dimensions;
            let checked = Labels { scorer, dimensions, known: &known, need_output };
            let rows = jsonl::places(&text);
            for (span, message) in repeated_scores(&text, &rows, &rubric.labels).into_iter().take(SHOWN) {
                let mut problem = jsonl::problem_in_row(&path, &text, span, message);
                problem.hint("remove one of the two, or correct `annotator`");
                self.problems.push(problem);
            }
            let problems =
                rows.into_iter().zip(&rubric.labels).flat_map(|(span, row)| checked.problems(&text, &span, row));
            for problem in problems.take(SHOWN) {
                let mut diagnostic = jsonl::problem_in_row(&path, &text, problem.span, problem.message);
                diagnostic.maybe_hint(problem.hint);
                self.problems.push(diagnostic);
            }
        }
    }

    /// Reports labels of samples that a complete dataset does not have.
    pub fn labels_of_no_sample(
        &mut self,
        node: Option<&Node>,
        scorers: &[ScorerSpec],
        dataset: &Arc<Dataset>,
        severity: Severity,
    ) {
        let labelled = self.check_labels(node, scorers);
        let mut unknown: BTreeSet<String> =
            labelled.iter().flat_map(|it| it.rubric.labels.iter().filter_map(Label::sample_of)).collect();
        if unknown.is_empty() {
            return;
        }
        dataset.rows().filter_map(Result::ok).for_each(|sample| {
            unknown.remove(&*sample.id);
        });
        for Labelled { path, text, rubric, .. } in labelled {
            let rows = jsonl::places(&text).into_iter().zip(&rubric.labels);
            let strays = rows.filter_map(|(span, row)| Some((span, Label::sample_of(row)?)));
            let strays: Vec<(Range<usize>, String)> = strays.filter(|(_, sample)| unknown.contains(sample)).collect();
            // A warning may be about all labels of another dataset, so it is one.
            let is_one = severity != Severity::Error;
            let others = match strays.len().saturating_sub(1) {
                more if is_one && more > 0 => format!("; {more} more rows have the same problem"),
                _ => String::new(),
            };
            for (span, sample) in strays.iter().take(if is_one { 1 } else { SHOWN }) {
                let message =
                    format!("this label belongs to the sample {sample:?}, which is not in the dataset{others}");
                let mut problem = jsonl::problem_in_row(&path, &text, span.clone(), message);
                problem.severity = severity;
                problem.hint("correct the id, or remove the label");
                self.problems.push(problem);
            }
        }
    }

    /// The file of labels of a scorer, unless it has yet to be made.
    pub fn labels_file<'n>(&mut self, scorer: &'n Node) -> Option<&'n Node> {
        let file = scorer.field("labels")?;
        let path = self.path(file)?;
        if self.files.is_file(&path) {
            return Some(file);
        }
        if !self.labelling {
            let near = self.nearest_file(&path).map(|near| format!("{near} ")).unwrap_or_default();
            self.problems
                .error(&file.place, format!("there is no file {path}"))
                .hint(format!("{near}create it with `karat annotate import`, or remove `labels` until then"));
        }
        None
    }

    /// The scorers with labels, and the text of their files.
    fn check_labels<'a>(&mut self, node: Option<&Node>, scorers: &'a [ScorerSpec]) -> Vec<Labelled<'a>> {
        let found = scorers.iter().filter_map(|scorer| {
            let ScorerKind::Rubric(rubric) = &scorer.kind else { return None };
            let labels = self.labels_file(node?.field(&scorer.id)?)?;
            if rubric.versus.is_some() {
                return None;
            }
            let (path, text) = self.text(labels)?;
            if rubric.labels.is_empty() && self.labelling {
                return None;
            }
            if rubric.labels.is_empty() {
                let mut problem = Diagnostic::of_file(Severity::Error, &path, "the file has no labels");
                problem.hint(format!("{FORM}; or remove `labels`"));
                self.problems.push(problem);
                return None;
            }
            Some(Labelled { scorer: &scorer.id, rubric, path, text })
        });
        found.collect()
    }
}

/// A scorer with labels.
struct Labelled<'a> {
    scorer: &'a str,
    rubric: &'a RubricScorer,
    path: String,
    text: String,
}

/// All that a label may be about: metrics by their whole name and by its last part.
fn names(scorers: &[ScorerSpec]) -> Vec<String> {
    let of = |scorer: &ScorerSpec| match &scorer.kind {
        ScorerKind::Metric { .. } => vec![scorer.id.clone()],
        ScorerKind::Rubric(rubric) => {
            let own = rubric.rubric.dimensions.iter().map(|dimension| dimension.name.clone());
            let own: Vec<String> = own.chain(rubric.rubric.overall.iter().map(|overall| overall.id.clone())).collect();
            let whole = own.iter().map(|name| format!("{}.{name}", scorer.id)).chain([scorer.id.clone()]);
            own.iter().cloned().chain(whole).collect()
        }
    };
    scorers.iter().flat_map(of).collect()
}

/// The names and values that labels of one scorer may have.
struct Labels<'a> {
    scorer: &'a str,
    dimensions: &'a [Dimension],
    known: &'a [String],
    need_output: bool,
}

struct LabelProblem {
    span: Range<usize>,
    message: String,
    hint: Option<String>,
}

impl Labels<'_> {
    /// The problems of the row at `span` of the file's text.
    fn problems(&self, text: &str, span: &Range<usize>, row: &Value) -> Vec<LabelProblem> {
        let problem = |message: &str| {
            vec![LabelProblem { span: span.clone(), message: message.to_owned(), hint: Some(FORM.to_owned()) }]
        };
        let keys = row.as_object().into_iter().flat_map(|row| row.keys());
        let misspelt = keys.filter(|key| !KEYS.contains(&key.as_str())).find_map(|key| {
            let hint = suggestion(key, KEYS)?;
            let message = format!("a label has no `{key}`");
            Some(LabelProblem { span: within_row(text, span, 0, key), message, hint: Some(hint) })
        });
        if let Some(misspelt) = misspelt {
            return vec![misspelt];
        }
        if !row.get("sample").is_some_and(|sample| sample.is_string() || sample.is_number()) {
            return problem("this label has no `sample` (an id, as text or number)");
        }
        if self.need_output && row.get("output").is_none_or(Value::is_null) {
            return problem("this label has no `output`, so no judge can be compared with it");
        }
        let scores = match row.get("scores") {
            Some(Value::Object(scores)) if scores.values().any(|score| !score.is_null()) => scores,
            None | Some(Value::Null | Value::Object(_)) => {
                return problem("this label has no `scores`");
            }
            Some(_) => return problem("`scores` of this label must be an object: name to score"),
        };
        let problems = scores.iter().filter_map(|(name, score)| {
            let (message, hint) = self.misfit(name, score)?;
            Some(LabelProblem { span: key(text, span, name), message, hint })
        });
        problems.collect()
    }

    fn misfit(&self, name: &str, score: &Value) -> Option<(String, Option<String>)> {
        if !self.known.iter().any(|known| known == name) {
            let own = self.dimensions.iter().map(|dimension| dimension.name.as_str());
            return Some((format!("this scorer has no dimension `{name}`"), suggestion(name, own)));
        }
        let own = name.strip_prefix(self.scorer).and_then(|rest| rest.strip_prefix('.')).unwrap_or(name);
        let dimension = self.dimensions.iter().find(|dimension| dimension.name == own)?;
        let (lo, hi) = dimension.scale.bounds();
        match (score, &dimension.scale) {
            (Value::Null, _) => None,
            (Value::Bool(_), _) if (lo, hi) == (0.0, 1.0) => None,
            (Value::Number(number), _) if number.as_f64().is_some_and(|it| (lo..=hi).contains(&it)) => None,
            (Value::String(word), Scale::Choices(choices)) => {
                let is_it = |(known, _): &(String, f64)| known.eq_ignore_ascii_case(word.trim());
                let words = || choices.iter().map(|(word, _)| word.as_str());
                (!choices.iter().any(is_it)).then(|| {
                    (format!("`{name}` is {word:?}, which is not one of its choices"), suggestion(word, words()))
                })
            }
            _ => {
                let hint = format!("write a number from {lo} to {hi}, or remove it");
                Some((format!("`{name}` is {score}, but its scale is {lo} to {hi}"), Some(hint)))
            }
        }
    }
}

/// The span of a key of the scores within a row; the whole row if the key is written in another way.
fn key(text: &str, row: &Range<usize>, name: &str) -> Range<usize> {
    let own = text.get(row.clone()).unwrap_or_default();
    within_row(text, row, own.find("\"scores\"").unwrap_or(0), name)
}

/// The span of a key within a row, searched from a byte on; the whole row if the key is written in another way.
fn within_row(text: &str, row: &Range<usize>, from: usize, name: &str) -> Range<usize> {
    let own = text.get(row.clone()).unwrap_or_default();
    let quoted = Value::from(name).to_string();
    let at = own.get(from..).and_then(|rest| rest.find(&quoted)).map(|found| row.start + from + found);
    at.map_or(row.clone(), |at| at..at + quoted.len())
}

/// The rows in which a person scores the same dimension of the same output again, each with a message.
fn repeated_scores(text: &str, rows: &[Range<usize>], labels: &[Value]) -> Vec<(Range<usize>, String)> {
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for (span, row) in rows.iter().zip(labels) {
        // Labels without a name may be of several people.
        let Some(label) = Label::from_row(row) else { continue };
        let Some(by) = label.annotator.as_deref() else { continue };
        let line = text[..span.start].matches('\n').count() + 1;
        let output = label.output.as_ref().map(|output| output_key(output).to_string());
        let given = label.scores.iter().filter(|(_, score)| !score.is_null());
        let again = given.filter_map(|(name, _)| {
            let what = json!([&label.sample, &label.model, &label.variant, &output, by, name]).to_string();
            let earlier = *first.entry(what).or_insert(line);
            (earlier != line).then_some((name, earlier))
        });
        // Records all repeats but reports each label once.
        let again: Vec<(&String, usize)> = again.collect();
        if let Some((name, earlier)) = again.first() {
            found.push((span.clone(), format!("{by:?} has already scored `{name}` of this output in line {earlier}")));
        }
    }
    found
}
