//! Testing criteria as scorers.

use serde_json::{Map, Value, json};

use super::judges;
use super::rows::Rows;
use super::template::{Piece, pieces, translate};
use super::{Lost, drop_unread, text_at};
use crate::draft::Draft;
use crate::error::ImportError;
use crate::report::{Approximate, Shape};
use crate::text::names::Names;

/// A testing criterion within the suite.
#[derive(Debug)]
pub(super) struct Grader<'a> {
    /// The source's name of it.
    pub name: &'a str,
    /// The name that results may have instead.
    pub id: Option<&'a str>,
    pub kind: &'a str,
    /// The scorer that computes it, if there is one.
    pub scorer: Option<String>,
}

impl Grader<'_> {
    /// True if its score says no more than that it passes.
    pub fn is_binary(&self) -> bool {
        matches!(self.kind, "string_check" | "label_model")
    }
}

/// Metrics of `text_similarity`: name there, metric and options here, factor of the threshold, difference.
struct Similarity {
    there: &'static str,
    metric: &'static str,
    with: Option<(&'static str, &'static str)>,
    factor: f64,
    difference: &'static str,
}

const OTHER_WORDS: &str = "there words are cut in another way";

const SIMILARITIES: [Similarity; 5] = [
    Similarity {
        there: "fuzzy_match",
        metric: "levenshtein",
        with: None,
        factor: 1.0,
        difference: "there the ratio of rapidfuzz, which counts the edits of a text in another way",
    },
    Similarity {
        there: "bleu",
        metric: "bleu",
        with: None,
        factor: 100.0,
        difference: "there from 0 to 1 and with words cut in another way; here from 0 to 100",
    },
    Similarity {
        there: "rouge_1",
        metric: "rouge",
        with: Some(("type", "rouge1")),
        factor: 1.0,
        difference: OTHER_WORDS,
    },
    Similarity {
        there: "rouge_2",
        metric: "rouge",
        with: Some(("type", "rouge2")),
        factor: 1.0,
        difference: OTHER_WORDS,
    },
    Similarity {
        there: "rouge_l",
        metric: "rouge",
        with: Some(("type", "rougeL")),
        factor: 1.0,
        difference: OTHER_WORDS,
    },
];

/// Adds the scorers of all criteria to the suite; what cannot be computed here is dropped by name. A criterion that asks a
/// model is only added to a live suite: where there are outputs its scores are recorded, and asking again costs money.
pub(super) fn add<'a>(
    criteria: &'a [Value],
    rows: &Rows,
    shape: Shape,
    draft: &mut Draft<'_>,
) -> Result<Vec<Grader<'a>>, ImportError> {
    let mut names = Names::default();
    let mut graders = Vec::new();
    for (index, criterion) in criteria.iter().enumerate() {
        let path = format!("eval.testing_criteria[{index}]");
        let kind = text_at(criterion, "type").unwrap_or("untyped");
        let name = text_at(criterion, "name").unwrap_or(kind);
        let id = names.take(name, kind);
        let is_judge = matches!(kind, "score_model" | "label_model");
        let result = match kind {
            "string_check" => string_check(criterion, rows).map(Some),
            "text_similarity" => text_similarity(criterion, &path, rows, draft).map(Some),
            _ if is_judge && shape == Shape::Recorded => Ok(None),
            "score_model" | "label_model" => judges::scorer(criterion, &id, &path, rows, draft)?.map(Some),
            "python" => Err(Lost::new(kind, "it is code").instead("a scorer with `metric: command` or `metric: http`")),
            "endpoint" | "multi" => Err(Lost::new(kind, "it is made for fine-tuning")),
            _ => Err(Lost::new(kind, "no such testing criterion is known")),
        };
        let scorer = match result {
            Ok(scorer) => scorer,
            Err(mut lost) => {
                if shape == Shape::Recorded {
                    lost.why.push_str("; its recorded scores are kept");
                }
                lost.report(&path, rows.len() as u64, draft);
                None
            }
        };
        if let Some(scorer) = &scorer {
            draft.suite.scorers.insert(id.clone(), scorer.clone());
            report_keys(criterion, kind, &path, draft);
            report_lacking(criterion, scorer, &path, rows, draft);
        }
        graders.push(Grader { name, id: text_at(criterion, "id"), kind, scorer: scorer.map(|_| id) });
    }
    Ok(graders)
}

/// Keys that are read of each kind. An `id` is given by the service.
fn report_keys(criterion: &Value, kind: &str, path: &str, draft: &mut Draft<'_>) {
    let known: &[&str] = match kind {
        "string_check" => &["id", "type", "name", "input", "reference", "operation"],
        "text_similarity" => &["id", "type", "name", "input", "reference", "evaluation_metric", "pass_threshold"],
        "score_model" => &["id", "type", "name", "model", "input", "range", "pass_threshold", "sampling_params"],
        _ => &["id", "type", "name", "model", "input", "labels", "passing_labels", "sampling_params"],
    };
    drop_unread(draft, path, criterion, known, 0);
}

/// Says if rows lack the column that a scorer compares with.
fn report_lacking(criterion: &Value, scorer: &Value, path: &str, rows: &Rows, draft: &mut Draft<'_>) {
    let reference = text_at(criterion, "reference").unwrap_or_default();
    for piece in pieces(reference) {
        let Piece::Item(column) = piece else { continue };
        let lacking = rows.lacking(&column);
        if lacking > 0 {
            draft.report.approximate(Approximate {
                path: format!("{path}.reference"),
                construct: text_at(criterion, "type").unwrap_or_default().to_owned(),
                metric: text_at(scorer, "metric").unwrap_or_default().to_owned(),
                difference: format!("{lacking} rows lack `{column}`: there they compare with an empty text"),
            });
        }
    }
}

fn string_check(criterion: &Value, rows: &Rows) -> Result<Value, Lost> {
    let operation = text_at(criterion, "operation").unwrap_or_default();
    let mut scorer = match operation {
        "eq" | "ne" => Map::from_iter([("metric".to_owned(), json!("exact"))]),
        "like" => Map::from_iter([("metric".to_owned(), json!("contains"))]),
        "ilike" => Map::from_iter([
            ("metric".to_owned(), json!("contains")),
            ("with".to_owned(), json!({"ignore_case": true})),
        ]),
        other => return Err(Lost::new(format!("string_check {other}"), "no such operation is known")),
    };
    compare(criterion, rows, &mut scorer)?;
    if operation == "ne" {
        scorer.insert("not".to_owned(), json!(true));
    }
    Ok(Value::Object(scorer))
}

fn text_similarity(criterion: &Value, path: &str, rows: &Rows, draft: &mut Draft<'_>) -> Result<Value, Lost> {
    let name = text_at(criterion, "evaluation_metric").unwrap_or_default();
    let Some(similarity) = SIMILARITIES.iter().find(|similarity| similarity.there == name) else {
        let lost = Lost::new(format!("text_similarity {name}"), "no metric here computes it");
        return Err(if name == "cosine" { lost.instead("a scorer with `metric: similarity`") } else { lost });
    };
    let mut scorer = Map::from_iter([("metric".to_owned(), json!(similarity.metric))]);
    if let Some((option, value)) = similarity.with {
        scorer.insert("with".to_owned(), Value::Object(Map::from_iter([(option.to_owned(), json!(value))])));
    }
    compare(criterion, rows, &mut scorer)?;
    if let Some(threshold) = criterion.get("pass_threshold").and_then(Value::as_f64) {
        scorer.insert("min".to_owned(), json!(threshold * similarity.factor));
    }
    draft.report.approximate(Approximate {
        path: path.to_owned(),
        construct: format!("text_similarity {name}"),
        metric: similarity.metric.to_owned(),
        difference: similarity.difference.to_owned(),
    });
    Ok(Value::Object(scorer))
}

/// Sets what is scored, and against what.
fn compare(criterion: &Value, rows: &Rows, scorer: &mut Map<String, Value>) -> Result<(), Lost> {
    let kind = text_at(criterion, "type").unwrap_or_default();
    let input = text_at(criterion, "input").unwrap_or_default();
    match pieces(input).as_slice() {
        [Piece::OutputText] => {}
        [Piece::OutputJson(path)] => {
            let path = if path.is_empty() || path.starts_with('[') { format!("${path}") } else { format!("$.{path}") };
            scorer.insert("output".to_owned(), json!(path));
        }
        _ => {
            let why = format!("its `input` is `{input}`: only an output, or a part of one, is scored here");
            return Err(Lost::new(kind, why));
        }
    }
    let reference = criterion.get("reference").and_then(Value::as_str).unwrap_or_default();
    match pieces(reference).as_slice() {
        [Piece::Item(path)] => scorer.insert("reference".to_owned(), json!(rows.columns.path(path))),
        _ => {
            let text = translate(reference, &rows.columns).map_err(|name| {
                Lost::new(kind, format!("its `reference` reads `{name}`, which a suite does not have"))
            })?;
            scorer.insert("value".to_owned(), json!(text))
        }
    };
    Ok(())
}
