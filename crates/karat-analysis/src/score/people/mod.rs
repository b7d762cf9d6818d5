//! Labels and verdicts of people in closed annotation tasks, as analyses take them: they anchor figures and play in
//! tournaments.

pub(crate) mod labels;

use std::collections::BTreeMap;

use karat_types::{Key, Label};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The rule by which the outputs of a task were chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabelDesignKind {
    /// Each output with the same probability.
    #[default]
    Random,
    /// At random within each value of a column.
    Stratified,
    /// At random within the outputs that a judge passed, and within those that it failed.
    Verdict,
    /// Because they are hard: they say nothing of the others.
    Targeted,
}

/// The choice of a task's outputs from all outputs of its run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LabelDesign {
    /// The rule.
    pub kind: LabelDesignKind,
    /// The column, or the metric whose verdict counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The outputs there were, and those that were chosen, by value of the column or verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strata: Vec<LabelStratum>,
}

/// A stratum of the outputs of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelStratum {
    /// The value of the column; `pass` or `fail` of a verdict.
    pub value: String,
    /// Its outputs.
    pub rows: u64,
    /// Those that were chosen.
    pub drawn: u64,
}

/// The labels of people on one output.
#[derive(Debug, Clone, PartialEq)]
pub struct PeopleLabel {
    /// The settled scores; of open questions the mean of their labels.
    pub label: Label,
    /// The lowest and the highest that the scores can become, where a question is open.
    pub open: Option<(BTreeMap<String, Value>, BTreeMap<String, Value>)>,
    /// The verdict by which the output was chosen.
    pub passed: Option<bool>,
}

impl From<Label> for PeopleLabel {
    fn from(label: Label) -> Self {
        Self { label, open: None, passed: None }
    }
}

/// Returns whether a judge's score counts as a pass when outputs are chosen by verdict.
pub fn is_pass(score: f64) -> bool {
    score >= 0.5
}

/// One closed task about outputs of a suite.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PeopleTask {
    /// Name and version: `NAME@VERSION`.
    pub task: String,
    /// The scorer whose rubric was asked.
    pub scorer: String,
    /// The reason why it counts for nothing, if it does not count.
    pub unused: Option<UnusedTask>,
    /// Labels of single outputs; each names its output.
    pub labels: Vec<PeopleLabel>,
    /// The rule by which its outputs were chosen.
    pub design: LabelDesign,
    /// Verdicts on pairs of outputs, one for each person and question.
    pub games: Vec<PeopleGame>,
    /// Number of people for each item.
    pub places: usize,
    /// Median time of a label, in milliseconds.
    pub median_ms: Option<u64>,
}

/// The reason why a task counts for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnusedTask {
    /// Its items were chosen because they are hard, so they say nothing of the others.
    Targeted,
    /// Its questions or guidelines are others than those that count now.
    OtherVersion,
}

/// The outputs of two systems for one sample, compared by one person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeopleGame {
    /// Id of the sample.
    pub sample: String,
    /// The question: a dimension of the rubric.
    pub question: String,
    /// Content keys of the two outputs.
    pub outputs: (Key, Key),
    /// 1 if the first output is better, 0 for a tie, −1 if the second is better.
    pub verdict: i32,
}

/// The tasks that asked the rubric of a scorer.
pub(crate) fn tasks_of<'t>(tasks: &'t [PeopleTask], scorer: &str) -> impl Iterator<Item = &'t PeopleTask> {
    tasks.iter().filter(move |task| task.scorer == scorer)
}
