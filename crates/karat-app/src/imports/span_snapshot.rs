//! Imports results of other tools as suites that can be run, re-scored and compared.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use karat_suite::Files;

use crate::AppError;
use crate::error::{Bug, FileError, ImportError};
use crate::imports::Imports;
use crate::project::atomic_file;
use crate::project::presets;
use crate::project::presets::SuiteFiles;

/// Name of the suite file in its folder.
const SUITE: &str = "karat.yaml";

/// Lists of findings that a verdict may have.
const LISTS: [&str; 4] = ["missedElements", "falsePositives", "taxonomyErrors", "granularityErrors"];

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedSnapshot {
    /// The suite file; `karat run` computes the figures again from it.
    pub suite: PathBuf,
    /// Samples.
    pub samples: usize,
    /// Samples without a verdict.
    pub without_verdict: usize,
}

/// Edits that turn the preset `spans` into a suite of recorded verdicts: file, old text, new text.
///
/// A verdict is found by its result's id, whatever the texts are; it is one reply, however many spans it is about; its
/// scores stand as they were given; it costs nothing and is not asked for again. What had none then has none now: lists
/// that a verdict lacks are not assessed, which its row says.
const EDITS: [(&str, &str, &str); 13] = [
    ("karat.yaml", "\njudges: ", "\npolicy: { max_errors: 100% }\njudges: "),
    ("karat.yaml", "\n      by_section: ", "\n      unassessed: $.unassessed\n      by_section: "),
    ("karat.yaml", "metadata: [text]", "metadata: [text, unassessed]"),
    ("karat.yaml", "judges: [sim-span-judge]", "judges: [recorded-verdicts]"),
    ("models/offline.yaml", "id: sim-span-judge", "id: recorded-verdicts"),
    ("models/offline.yaml", " context_window: 128000, max_output: 4096,", ""),
    ("models/offline.yaml", " price: { input: 2.50, output: 10.00 },", ""),
    ("models/offline.yaml", "verdicts.jsonl }", "verdicts.jsonl, by: result }"),
    ("rubrics/spans.yaml", "show:\n", "show:\n  result: \"{{ sample.promptId }}\"\n"),
    ("rubrics/spans.yaml", ", chunk: { items: 80 }", ""),
    ("rubrics/spans.yaml", "scale: [1, 5], step: 1,", "scale: [1, 5],"),
    ("rubrics/spans.yaml", "reask: 1,", "reask: 0,"),
    ("rubrics/spans.yaml", "    differ: [assignedRole, expectedRole]\n", ""),
];

impl Imports<'_> {
    /// Makes a suite of a span snapshot `{timestamp, promptCount, sourceFile, judgeModel, results[], summary}`: the
    /// preset `spans` over the snapshot's prompts, with its verdicts as recorded answers. Fields that an old snapshot
    /// lacks are not assessed; a category score of 0 means *not assessed*; confusions of a role with itself are kept; an id that
    /// comes again gets a number behind a `#`; a result that failed has no number of spans.
    ///
    /// # Errors
    /// A file that cannot be read or is not a snapshot, a folder that already has a suite.
    pub fn span_snapshot(&self, file: &Path, folder: &Path) -> Result<ImportedSnapshot, AppError> {
        let snapshot = read(file)?;
        let path = || file.display().to_string();
        let wrong = |problem: String| ImportError::BadSnapshot { path: path(), problem };
        let Some(results) = snapshot.get("results").and_then(Value::as_array) else {
            return Err(ImportError::NoResults { path: path() }.into());
        };
        if results.is_empty() {
            return Err(wrong("its list `results` is empty".to_owned()).into());
        }
        let suite = folder.join(SUITE);
        if suite.exists() {
            return Err(ImportError::Exists { path: suite.display().to_string() }.into());
        }
        let (mut rows, mut replies, mut verdicts) = (Vec::new(), Vec::new(), 0);
        for (at, (id, result)) in ids(results).into_iter().zip(results).enumerate() {
            rows.push(row(&id, result).map_err(|what| wrong(format!("results[{at}] {what}")))?);
            let given = verdict(result).map(|verdict| json!({ "match": id, "reply": verdict }));
            verdicts += usize::from(given.is_some());
            replies.extend(given.or_else(|| Some(json!({ "match": id, "error": failure(result)? }))));
        }
        let (samples, without_verdict) = (rows.len(), rows.len() - verdicts);
        write(folder, "data/prompts.jsonl", &lines(&rows))?;
        write(folder, "scripts/verdicts.jsonl", &lines(&replies))?;
        for name in ["models/offline.yaml", "rubrics/spans.yaml", "schemas/prompt.json", SUITE] {
            write(folder, name, &describe_source(&snapshot, &edit_preset(name)?))?;
        }
        Ok(ImportedSnapshot { suite, samples, without_verdict })
    }
}

pub(crate) fn read(file: &Path) -> Result<Value, AppError> {
    let path = file.display().to_string();
    let bytes = SuiteFiles.read(&path).map_err(|error| FileError::reading(&path, error))?;
    serde_json::from_slice(&bytes).map_err(|source| ImportError::NotJson { path, source }.into())
}

/// A file of the preset with its edits applied.
fn edit_preset(name: &str) -> Result<String, AppError> {
    let bug = |part: &str| AppError::from(Bug::PresetText { file: name.to_owned(), part: part.to_owned() });
    let text = presets::text(&format!("spans/{name}")).ok_or_else(|| bug("text"))?.to_owned();
    EDITS.iter().filter(|(file, ..)| *file == name).try_fold(text, |text, (_, from, to)| {
        if text.contains(from) { Ok(text.replace(from, to)) } else { Err(bug(from)) }
    })
}

/// Describes the source of the snapshot in the file's header.
fn describe_source(snapshot: &Value, text: &str) -> String {
    let said = |name: &str| snapshot.get(name).and_then(Value::as_str).unwrap_or("unknown");
    let source = format!("Spans of {}, judged by {} at {}", said("sourceFile"), said("judgeModel"), said("timestamp"));
    let line = |line: &str| {
        if line.starts_with("about: ") { format!("about: {}\n", json!(source)) } else { format!("{line}\n") }
    };
    text.lines().map(line).collect()
}

/// The id of a result.
fn id(at: usize, result: &Value) -> String {
    let id = result.get("promptId").or_else(|| result.get("id")).filter(|id| !id.is_null());
    let id = id.map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned));
    id.filter(|id| !id.trim().is_empty()).unwrap_or_else(|| format!("result-{at}"))
}

/// Unique ids of the results: a repeated id gets the first number that makes it unique.
fn ids(results: &[Value]) -> Vec<String> {
    let given: Vec<String> = results.iter().enumerate().map(|(at, result)| id(at, result)).collect();
    let mut taken: BTreeSet<String> = given.iter().cloned().collect();
    let mut seen = BTreeSet::new();
    let mut free = |id: &String| {
        if seen.insert(id.clone()) {
            return id.clone();
        }
        let mut numbered = (2_u64..).map(|times| format!("{id}#{times}"));
        numbered.find(|candidate| taken.insert(candidate.clone())).unwrap_or_default()
    };
    given.iter().map(&mut free).collect()
}

/// A result as a row of the preset's dataset. The error ends a sentence that starts with the result.
fn row(id: &str, result: &Value) -> Result<Value, &'static str> {
    let fields = result.as_object().ok_or("is not an object")?;
    let error = fields.get("error").filter(|error| !error.is_null());
    let text = ["output", "text"].iter().find_map(|name| fields.get(*name).filter(|text| text.is_string()));
    let output = text.or_else(|| error.map(|_| &Value::Null)).ok_or("has no text `output`")?;
    let mut row = json!({ "promptId": id, "input": fields.get("input").unwrap_or(output), "output": output });
    row["spans"] = match fields.get("spans").and_then(Value::as_array) {
        Some(spans) if spans.is_empty() && error.is_some() => Value::Null,
        Some(spans) => spans.iter().map(span).collect(),
        None => Value::Null,
    };
    if let Some(latency) = fields.get("latencyMs").or_else(|| fields.get("latency")) {
        row["latencyMs"] = latency.clone();
    }
    row["unassessed"] = json!(is_unassessed(result));
    if let Some(error) = error {
        row["error"] = error.clone();
    }
    Ok(row)
}

/// A span; old ones may be just a text.
fn span(span: &Value) -> Value {
    if span.is_string() { json!({ "text": span }) } else { span.clone() }
}

/// Names under which a result may hold the judge's verdict.
const HOLDERS: [&str; 3] = ["judgeResult", "judge", "evaluation"];

/// The reason for a missing verdict, from the judge or from the result.
fn failure(result: &Value) -> Option<String> {
    let of_judge = HOLDERS.iter().filter_map(|name| result.get(name)?.get("error"));
    let own = ["judgeError", "error"].iter().filter_map(|name| result.get(name));
    let error = of_judge.chain(own).find(|error| !error.is_null())?;
    let text = |error: &Value| error.as_str().map_or_else(|| error.to_string(), str::to_owned);
    Some(error.get("message").map_or_else(|| text(error), text))
}

/// The judge's verdict in the snapshot; `None` if it has no scores.
fn judge_result(result: &Value) -> Option<&Map<String, Value>> {
    let judged = HOLDERS.iter().find_map(|name| result.get(name)).unwrap_or(result).as_object()?;
    judged.get("scores").is_some_and(Value::is_object).then_some(judged)
}

/// The lists that a verdict lacks.
fn is_unassessed(result: &Value) -> Vec<&'static str> {
    let Some(judged) = judge_result(result) else { return Vec::new() };
    LISTS.into_iter().filter(|list| judged.get(*list).is_none_or(Value::is_null)).collect()
}

/// The judge's verdict as a reply to the preset's rubric; `None` if it has no scores.
fn verdict(result: &Value) -> Option<Value> {
    let mut verdict = judge_result(result)?.clone();
    verdict.retain(|name, value| {
        !value.is_null() && !["promptId", "input", "output", "spans", "latencyMs"].contains(&name.as_str())
    });
    for list in LISTS {
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

fn lines(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), AppError> {
    let path = folder.join(name);
    Ok(atomic_file::write(&path, text.as_bytes()).map_err(|error| FileError::writing(&path, error))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SP-09: every edit still applies to the preset.
    #[test]
    fn every_edit_applies_to_the_preset() {
        for (name, from, to) in EDITS {
            let text = edit_preset(name).unwrap();
            assert!(!text.contains(from) || to.contains(from), "{name}: {from}");
            assert!(text.contains(to), "{name}: {to}");
        }
    }

    /// SP-09: ids are unique, even if a snapshot uses the number of another id.
    #[test]
    fn equal_ids_are_numbered() {
        let results: Vec<Value> = ["a", "a", "a#2", "a", ""].iter().map(|id| json!({ "promptId": id })).collect();
        assert_eq!(ids(&results), ["a", "a#3", "a#2", "a#4", "result-4"]);
        assert_eq!(id(0, &json!({"id": 12})), "12");
    }
}
