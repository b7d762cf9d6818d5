//! Labels by people in files: blind tasks from a run's outputs, filled in by people, checked and joined to a labels
//! file.
//!
//! | step | what |
//! |---|---|
//! | create | JSON lines `{task, sample, output, scores: {dimension: null}, annotator, note}`, in an order that says nothing of who made what |
//! | people | fill in `scores` and `annotator`, by the guidelines |
//! | import | every row is checked against the rubric's scales, then joined to the labels; a second label of one person on one output replaces the first |
//! | status | how many outputs of each sample are labelled, and by whom |

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use karat_suite::LoadPurpose;
use karat_types::{CellStatus, Dimension, Key, KeyBuilder, PlanHeader, RubricScorer, RunRows, ScorerKind, output_key};
use serde_json::{Map, Value, json};

use crate::error::{FileError, LabelError, Lines, Names};
use crate::project::atomic_file;
use crate::tasks::Tasks;
use crate::{AppError, Invocation};

/// The selection of outputs that become tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnotationRequest {
    /// The scorer whose dimensions are labelled; the first with a rubric if absent.
    pub scorer: Option<String>,
    /// Maximum of different outputs per sample.
    pub per_sample: usize,
    /// Seed of their order and selection.
    pub seed: u64,
}

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JoinedLabels {
    /// New labels.
    pub added: usize,
    /// Labels that replaced an earlier one of the same person and output.
    pub replaced: usize,
    /// Tasks without a score so far.
    pub open: usize,
}

/// Labels of one sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelledSample {
    /// The sample.
    pub sample: String,
    /// Number of different labelled outputs.
    pub sets: usize,
    /// Names of the annotators.
    pub annotators: Vec<String>,
}

impl Tasks<'_> {
    /// Blind tasks of a run's outputs.
    ///
    /// # Errors
    /// A run without a rubric scorer, or without an output.
    pub fn rows_to_label(&self, run: &str, asked: &AnnotationRequest) -> Result<Vec<Value>, AppError> {
        let stored = self.app.stored().run(&self.app.stored().run_of_systems(run)?)?;
        let plan = stored.header().plan.clone();
        let (_, rubric) = rubric_of(&plan, asked.scorer.as_deref())?;
        let mut found: BTreeMap<String, BTreeMap<Key, (Key, u64)>> = BTreeMap::new();
        let read = stored.for_each(&mut |row| {
            if row.cell.status == CellStatus::Ok {
                let rank = KeyBuilder::new("karat/annotate/1").number(asked.seed).key(row.cell.output_hash).finish();
                let outputs = found.entry(row.sample.id.clone()).or_default();
                outputs.entry(rank).or_insert((row.cell.output_hash, row.cell.ordinal));
            }
            ControlFlow::Continue(())
        });
        read?;
        let blank: Map<String, Value> =
            rubric.rubric.dimensions.iter().map(|dimension| (dimension.name.clone(), Value::Null)).collect();
        let mut tasks: Vec<(Key, Value)> = Vec::new();
        for (sample, outputs) in found {
            for (rank, (hash, ordinal)) in outputs.into_iter().take(asked.per_sample) {
                let output = stored.output(ordinal)?;
                let Some(output) = output else { continue };
                let task = json!({
                    "task": hash.to_string(), "sample": sample, "output": output, "scores": blank, "annotator": "", "note": "",
                });
                tasks.push((rank, task));
            }
        }
        if tasks.is_empty() {
            return Err(LabelError::NoOutputs { run: stored.header().id.clone() }.into());
        }
        tasks.sort_by_key(|(rank, _)| *rank);
        Ok(tasks.into_iter().map(|(_, task)| task).collect())
    }

    /// Joins filled-in tasks to a labels file, which is made if it does not exist.
    ///
    /// # Errors
    /// Every invalid row, with its line; a file that cannot be written. Nothing is changed then.
    pub fn join_labels(
        &self,
        invocation: &Invocation,
        scorer: Option<&str>,
        tasks: &Path,
        labels: &Path,
    ) -> Result<JoinedLabels, AppError> {
        let plan = self.labelled_suite(invocation)?;
        let (_, rubric) = rubric_of(&plan, scorer)?;
        let dimensions = &rubric.rubric.dimensions;
        let (mut joined, mut wrong, mut filled) = (JoinedLabels::default(), Vec::new(), Vec::new());
        for (line, row) in rows(tasks)? {
            match label(&row, dimensions) {
                Ok(Some(label)) => filled.push(label),
                Ok(None) => joined.open += 1,
                Err(what) => wrong.push(format!("{}:{line}: {what}", tasks.display())),
            }
        }
        if !wrong.is_empty() {
            return Err(LabelError::WrongTasks { problems: Lines(wrong) }.into());
        }
        let mut all: Vec<Value> =
            if labels.exists() { rows(labels)?.into_iter().map(|(_, row)| row).collect() } else { Vec::new() };
        for label in filled {
            match all.iter_mut().find(|known| identity(known) == identity(&label)) {
                Some(known) => {
                    *known = label;
                    joined.replaced += 1;
                }
                None => {
                    all.push(label);
                    joined.added += 1;
                }
            }
        }
        let text: String = all.iter().map(|row| format!("{row}\n")).collect();
        atomic_file::write(labels, text.as_bytes()).map_err(|error| FileError::writing(labels, error))?;
        Ok(joined)
    }

    /// The labels of a suite's scorer, as in its file.
    pub fn labels(&self, invocation: &Invocation, scorer: Option<&str>) -> Result<Vec<Value>, AppError> {
        let plan = self.labelled_suite(invocation)?;
        Ok(rubric_of(&plan, scorer)?.1.labels.clone())
    }

    /// The plan of a suite whose labels may not exist yet.
    fn labelled_suite(&self, invocation: &Invocation) -> Result<Arc<PlanHeader>, AppError> {
        Ok(self
            .app
            .project()
            .load_with(invocation, &self.app.project().suite_files(), |it| it.context.purpose = LoadPurpose::Label)?
            .header)
    }

    /// The labelling status of each sample.
    pub fn label_status(&self, invocation: &Invocation, scorer: Option<&str>) -> Result<Vec<LabelledSample>, AppError> {
        let mut samples: BTreeMap<String, (BTreeSet<Key>, BTreeSet<String>)> = BTreeMap::new();
        for row in self.labels(invocation, scorer)? {
            let (sample, output, annotator) = identity(&row);
            let (sets, people) = samples.entry(sample).or_default();
            sets.insert(output);
            people.insert(annotator);
        }
        let status = samples.into_iter().map(|(sample, (sets, people))| LabelledSample {
            sample,
            sets: sets.len(),
            annotators: people.into_iter().filter(|name| !name.is_empty()).collect(),
        });
        Ok(status.collect())
    }
}

/// The scorer whose outputs are labelled.
pub(crate) fn rubric_of<'a>(
    plan: &'a PlanHeader,
    wanted: Option<&str>,
) -> Result<(&'a str, &'a RubricScorer), AppError> {
    let judged = plan.scorers.iter().filter_map(|scorer| match &scorer.kind {
        ScorerKind::Rubric(rubric) => Some((scorer.id.as_str(), &**rubric)),
        ScorerKind::Metric { .. } => None,
    });
    let mut fitting = judged.clone().filter(|(id, _)| wanted.is_none_or(|wanted| wanted == *id));
    fitting.next().ok_or_else(|| LabelError::NoRubric { scorers: Names::of(judged.map(|(id, _)| id)) }.into())
}

/// The rows of a file of JSON lines, with their line numbers.
fn rows(file: &Path) -> Result<Vec<(usize, Value)>, AppError> {
    let text = fs::read_to_string(file).map_err(|error| FileError::reading(file, error))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let row = |(at, line): (usize, &str)| match serde_json::from_str(line) {
        Ok(row) => Ok((at + 1, row)),
        Err(source) => Err(LabelError::NotJson { place: format!("{}:{}", file.display(), at + 1), source }.into()),
    };
    lines.map(row).collect()
}

/// Turns a filled-in task into a label; `None` if it has no score yet.
fn label(row: &Value, dimensions: &[Dimension]) -> Result<Option<Value>, String> {
    let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default().trim().to_owned();
    let sample =
        row.get("sample").filter(|sample| sample.is_string() || sample.is_number()).ok_or("it names no `sample`")?;
    let output = row.get("output").filter(|output| !output.is_null()).ok_or("it has no `output`")?;
    let given = row.get("scores").and_then(Value::as_object).ok_or("it has no `scores`")?;
    if given.values().all(Value::is_null) {
        return Ok(None);
    }
    if let Some(unknown) = given.keys().find(|name| !dimensions.iter().any(|known| known.name == **name)) {
        let known: Vec<&str> = dimensions.iter().map(|dimension| dimension.name.as_str()).collect();
        return Err(format!("`{unknown}` is not a dimension; there are {}", known.join(", ")));
    }
    let mut scores = Map::new();
    for dimension in dimensions {
        let (lo, hi) = dimension.scale.bounds();
        match given.get(&dimension.name).and_then(Value::as_f64) {
            Some(score) if (lo..=hi).contains(&score) => {
                scores.insert(dimension.name.clone(), json!(score));
            }
            _ => return Err(format!("`{}` must be a number from {lo} to {hi}", dimension.name)),
        }
    }
    let annotator = text("annotator");
    if annotator.is_empty() {
        return Err("`annotator` does not say who scored".to_owned());
    }
    Ok(Some(json!({
        "sample": sample, "output": output, "scores": scores, "annotator": annotator, "note": text("note"),
    })))
}

/// The identity of a label: sample, output and person.
fn identity(label: &Value) -> (String, Key, String) {
    let text = |name: &str| match label.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(other) if !other.is_null() => other.to_string(),
        _ => String::new(),
    };
    (text("sample"), label.get("output").map(output_key).unwrap_or_default(), text("annotator"))
}
