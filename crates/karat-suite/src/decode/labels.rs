//! Labels of scorers: what people say must be about something that is scored, and on its scale (CL-08).

use std::ops::Range;

use karat_types::{Dimension, Scale, ScorerKind, ScorerSpec};
use serde_json::Value;

use super::Decoder;
use crate::jsonl;
use crate::nearest::suggestion;
use crate::node::Node;

/// Most problems of one file that are shown.
const SHOWN: usize = 20;

impl Decoder<'_> {
    /// Checks the labels file of every scorer against the dimensions of all, since scorers may share one.
    pub fn labels(&mut self, node: Option<&Node>, scorers: &[ScorerSpec]) {
        let known = names(scorers);
        for scorer in scorers {
            let ScorerKind::Rubric(rubric) = &scorer.kind else { continue };
            let labels = node.and_then(|node| node.given(&scorer.id)?.given("labels"));
            let Some(labels) = labels.filter(|_| rubric.versus.is_none() && !rubric.labels.is_empty()) else {
                continue;
            };
            let Some((path, text)) = self.text(labels) else { continue };
            let checked = Labels { scorer: &scorer.id, dimensions: &rubric.rubric.dimensions, known: &known };
            let rows = jsonl::places(&text);
            let wrong = rows.into_iter().zip(&rubric.labels).flat_map(|(span, row)| checked.wrong(&text, &span, row));
            for problem in wrong.take(SHOWN) {
                let mut diagnostic = jsonl::within(&path, &text, problem.span, problem.message);
                diagnostic.maybe_hint(problem.hint);
                self.problems.push(diagnostic);
            }
        }
    }
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

/// What the labels of one scorer may say.
struct Labels<'a> {
    scorer: &'a str,
    dimensions: &'a [Dimension],
    known: &'a [String],
}

struct Wrong {
    span: Range<usize>,
    message: String,
    hint: Option<String>,
}

impl Labels<'_> {
    /// What is wrong with the row that stands at `span` of the file's text.
    fn wrong(&self, text: &str, span: &Range<usize>, row: &Value) -> Vec<Wrong> {
        let wrong = |message: &str| {
            let hint = "a label is a line such as {\"sample\": \"s1\", \"output\": …, \"scores\": {\"NAME\": 7}}";
            vec![Wrong { span: span.clone(), message: message.to_owned(), hint: Some(hint.to_owned()) }]
        };
        if !row.get("sample").is_some_and(|sample| sample.is_string() || sample.is_number()) {
            return wrong("this label names no `sample`: an id, as a text or a number");
        }
        let scores = match row.get("scores") {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Object(scores)) => scores,
            Some(_) => return wrong("the `scores` of this label are no object of names and scores"),
        };
        let found = scores.iter().filter_map(|(name, score)| {
            let (message, hint) = self.misfit(name, score)?;
            Some(Wrong { span: key(text, span, name), message, hint })
        });
        found.collect()
    }

    fn misfit(&self, name: &str, score: &Value) -> Option<(String, Option<String>)> {
        if !self.known.iter().any(|known| known == name) {
            let own = self.dimensions.iter().map(|dimension| dimension.name.as_str());
            return Some((format!("`{name}` is nothing that is scored here"), suggestion(name, own)));
        }
        let own = name.strip_prefix(self.scorer).and_then(|rest| rest.strip_prefix('.')).unwrap_or(name);
        let dimension = self.dimensions.iter().find(|dimension| dimension.name == own)?;
        let (lo, hi) = dimension.scale.bounds();
        match (score, &dimension.scale) {
            (Value::Null | Value::Bool(_), _) => None,
            (Value::Number(number), _) if number.as_f64().is_some_and(|it| (lo..=hi).contains(&it)) => None,
            (Value::String(word), Scale::Choices(choices)) => {
                let is_it = |(known, _): &(String, f64)| known.eq_ignore_ascii_case(word.trim());
                let words = || choices.iter().map(|(word, _)| word.as_str());
                (!choices.iter().any(is_it))
                    .then(|| (format!("`{name}` is {word:?}, which is none of its choices"), suggestion(word, words())))
            }
            _ => {
                let hint = format!("write a number from {lo} to {hi}, or leave it out");
                Some((format!("`{name}` is {score}, and its scale goes from {lo} to {hi}"), Some(hint)))
            }
        }
    }
}

/// Where a key of the scores stands within a row; the row where it is written in another way.
fn key(text: &str, row: &Range<usize>, name: &str) -> Range<usize> {
    let own = text.get(row.clone()).unwrap_or_default();
    let scores = own.find("\"scores\"").unwrap_or(0);
    let quoted = Value::from(name).to_string();
    let at = own.get(scores..).and_then(|rest| rest.find(&quoted)).map(|found| row.start + scores + found);
    at.map_or(row.clone(), |at| at..at + quoted.len())
}
