//! Results of other tools become suites that can be run, re-scored and compared.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use karat_analysis::Outcome;
use karat_suite::Files;

use crate::preset::{self, SuiteFiles};
use crate::report::findings;
use crate::{App, AppError};

/// The analysis of the preset `spans` that has a snapshot's summary figures.
const FIGURES: &str = "spans";

/// What an import has written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The suite: `karat run` re-computes the figures from it.
    pub suite: PathBuf,
    /// Samples.
    pub samples: usize,
    /// Samples without a verdict.
    pub without_verdict: usize,
}

impl App {
    /// Makes a suite of a span snapshot `{timestamp, promptCount, sourceFile, judgeModel, results[], summary}`: the
    /// preset `spans` over the snapshot's prompts, with its verdicts as recorded answers. Fields that an old snapshot
    /// lacks are empty; a category score of 0 means *not assessed*; confusions of a role with itself are kept; an id that
    /// comes again gets its number behind a `#`.
    ///
    /// # Errors
    /// A file that cannot be read or is no snapshot, two results with one text and different verdicts, a folder that has
    /// a suite already.
    pub fn import_span_snapshot(&self, file: &Path, folder: &Path) -> Result<Imported, AppError> {
        let snapshot = read(file)?;
        let wrong = |what: String| AppError::harness(format!("{} is no span snapshot: {what}", file.display()));
        let Some(results) = snapshot.get("results").and_then(Value::as_array) else {
            return Err(wrong("it has no list `results`".to_owned())
                .hint("a snapshot is `{timestamp, results: [{promptId, output, spans, judgeResult}], …}`"));
        };
        if results.is_empty() {
            return Err(wrong("its list `results` is empty".to_owned()));
        }
        let suite = folder.join("karat.yaml");
        if suite.exists() {
            return Err(AppError::harness(format!("{} is there already", suite.display()))
                .hint("name another folder with `-o`"));
        }
        let mut rows = Vec::new();
        let mut ids: BTreeMap<String, u32> = BTreeMap::new();
        let mut verdicts: Vec<(String, Value)> = Vec::new();
        for (at, result) in results.iter().enumerate() {
            let mut row = row(at, result).ok_or_else(|| wrong(format!("results[{at}] has no text `output`")))?;
            let id = row["promptId"].as_str().unwrap_or_default().to_owned();
            let times = ids.entry(id.clone()).or_insert(0_u32);
            *times += 1;
            if *times > 1 {
                row["promptId"] = format!("{id}#{times}").into();
            }
            let text = row["output"].as_str().unwrap_or_default().to_owned();
            if let Some(verdict) = verdict(result) {
                match verdicts.iter().find(|(known, _)| *known == text) {
                    Some((_, known)) if *known != verdict => {
                        return Err(wrong(format!(
                            "results[{at}] has the text of an earlier result and another verdict"
                        )));
                    }
                    Some(_) => {}
                    None => verdicts.push((text, verdict)),
                }
            }
            rows.push(row);
        }
        let samples = rows.len();
        let judged = |row: &&Value| verdicts.iter().any(|(text, _)| row["output"].as_str() == Some(text));
        let without_verdict = samples - rows.iter().filter(judged).count();
        // A text may stand within another: the longest match is the right one.
        verdicts.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        let replies = verdicts.iter().map(|(text, verdict)| json!({ "match": text, "reply": verdict }));
        write(folder, "data/prompts.jsonl", &lines(rows.iter().cloned()))?;
        write(folder, "scripts/verdicts.jsonl", &lines(replies))?;
        for name in ["karat.yaml", "models/offline.yaml", "rubrics/spans.yaml"] {
            let text = preset::text(&format!("spans/{name}"))
                .ok_or_else(|| AppError::harness(format!("the preset has no {name}; this is a bug in karat")))?;
            write(folder, name, &text.replace("    differ: [assignedRole, expectedRole]\n", ""))?;
        }
        Ok(Imported { suite, samples, without_verdict })
    }
}

/// A snapshot's own summary beside the figures that a run of its rows gave.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recomputed {
    /// Figures that both have and that agree to the digits which the snapshot gives.
    pub same: usize,
    /// Figures that differ, in words.
    pub differing: Vec<String>,
}

impl App {
    /// Compares what a snapshot says in its `summary` with what the run found. Figures that only one side has are left
    /// out.
    ///
    /// # Errors
    /// A file or a run that cannot be read.
    pub fn recomputed(&self, file: &Path, run: &str) -> Result<Recomputed, AppError> {
        let snapshot = read(file)?;
        let findings = findings(&self.stored(run)?)?;
        let mut found = Recomputed::default();
        for analysed in findings.analyses.iter().filter(|analysed| analysed.id == FIGURES) {
            if let (Outcome::Diagnostics(figures), Some(summary)) = (&analysed.outcome, snapshot.get("summary")) {
                let again = serde_json::to_value(figures).map_err(|error| AppError::harness(error.to_string()))?;
                found.figure("", summary, &again);
            }
        }
        Ok(found)
    }
}

impl Recomputed {
    /// Goes into objects and lists, by what the snapshot has.
    fn figure(&mut self, place: &str, own: &Value, again: &Value) {
        let inner = |name: &str| if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
        match (own, again) {
            (Value::Object(own), Value::Object(again)) => {
                for (name, value) in own {
                    if let Some(other) = again.get(name) {
                        self.figure(&inner(name), value, other);
                    }
                }
            }
            (Value::Array(own), Value::Array(again)) => {
                for (at, (value, other)) in own.iter().zip(again).enumerate() {
                    self.figure(&format!("{place}[{at}]"), value, other);
                }
            }
            _ if agree(own, again) => self.same += 1,
            // What was never assessed is 0 in a snapshot, and no number here.
            _ if again.is_null() && own.as_f64().is_some_and(|own| own <= 0.0) => self.same += 1,
            _ => self.differing.push(format!("{place} is {own} in the snapshot and {again} here")),
        }
    }
}

/// Whether two values are the same to the digits of the first.
fn agree(own: &Value, again: &Value) -> bool {
    match (own.as_f64(), again.as_f64()) {
        (Some(own_number), Some(again)) => {
            let decimals = own.to_string().split_once('.').map_or(0, |(_, decimals)| decimals.len().min(12) as i32);
            (own_number - again).abs() <= 0.5 * 10_f64.powi(-decimals) + 1e-9
        }
        _ => own == again,
    }
}

fn read(file: &Path) -> Result<Value, AppError> {
    let path = file.display().to_string();
    let bytes = SuiteFiles.read(&path).map_err(|error| AppError::harness(format!("reading {path}: {error}")))?;
    serde_json::from_slice(&bytes).map_err(|error| AppError::harness(format!("{} is no JSON: {error}", file.display())))
}

/// A result as a row of the preset's dataset.
fn row(at: usize, result: &Value) -> Option<Value> {
    let output = result.get("output").or_else(|| result.get("text")).filter(|text| text.is_string())?;
    let id = result.get("promptId").or_else(|| result.get("id"));
    let id = id.map_or_else(|| format!("result-{at}"), |id| id.as_str().map_or_else(|| id.to_string(), str::to_owned));
    let mut row = json!({
        "promptId": id, "input": result.get("input").unwrap_or(output), "output": output,
        "spans": result.get("spans").filter(|spans| spans.is_array()).unwrap_or(&json!([])),
    });
    if let Some(latency) = result.get("latencyMs").or_else(|| result.get("latency")) {
        row["latencyMs"] = latency.clone();
    }
    Some(row)
}

/// The judge's verdict as a reply of the preset's rubric; `None` where there are no scores.
fn verdict(result: &Value) -> Option<Value> {
    let holders = ["judgeResult", "judge", "evaluation"];
    let judged = holders.iter().find_map(|name| result.get(name)).unwrap_or(result);
    let mut verdict: Map<String, Value> = judged.as_object()?.clone();
    verdict.get("scores").filter(|scores| scores.is_object())?;
    verdict.retain(|name, _| !["promptId", "input", "output", "spans", "latencyMs"].contains(&name.as_str()));
    for list in ["missedElements", "falsePositives", "taxonomyErrors", "granularityErrors"] {
        verdict.entry(list).or_insert_with(|| json!([]));
    }
    verdict.entry("notes").or_insert_with(|| json!(""));
    let categories = verdict.entry("categoryScores").or_insert_with(|| json!({}));
    for score in categories.as_object_mut()?.values_mut().filter_map(Value::as_object_mut).flat_map(Map::values_mut) {
        if score.as_f64().is_some_and(|score| score <= 0.0) {
            *score = Value::Null;
        }
    }
    Some(Value::Object(verdict))
}

fn lines(rows: impl Iterator<Item = Value>) -> String {
    rows.map(|row| format!("{row}\n")).collect()
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), AppError> {
    let path = folder.join(name);
    let unwritable = |error: std::io::Error| AppError::harness(format!("writing {}: {error}", path.display()));
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(unwritable)?;
    fs::write(&path, text).map_err(unwritable)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SP-09: figures agree to the digits that the snapshot gives; what only one side has says nothing.
    #[test]
    fn figures_are_compared_to_the_digits_given() {
        let own = json!({
            "avgScore": 20.23, "errorCount": 1, "old": 3, "avgCategoryScores": {"audio": {"coverage": 0}, "shot": {"coverage": 4.5}},
            "topTaxonomyErrors": [{"assignedRole": "a", "count": 2}, {"assignedRole": "b", "count": 1}],
        });
        let again = json!({
            "avgScore": 20.2272, "errorCount": 2, "new": 1, "avgCategoryScores": {"audio": {"coverage": null}, "shot": {"coverage": 4.4}},
            "topTaxonomyErrors": [{"assignedRole": "a", "count": 2}],
        });
        let mut found = Recomputed::default();
        found.figure("", &own, &again);
        assert_eq!(found.same, 4);
        assert_eq!(
            found.differing,
            [
                "errorCount is 1 in the snapshot and 2 here",
                "avgCategoryScores.shot.coverage is 4.5 in the snapshot and 4.4 here"
            ]
        );
    }
}
