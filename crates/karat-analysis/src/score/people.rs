//! Labels and verdicts of people in closed annotation tasks, as analyses take them: they anchor figures (HU-40) and play in
//! tournaments (PW-01).

use karat_types::{Key, Label};

/// One closed task about outputs of a suite.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PeopleTask {
    /// Name and version: `NAME@VERSION`.
    pub task: String,
    /// The scorer whose rubric was asked.
    pub scorer: String,
    /// The reason why it counts for nothing, if it does not count.
    pub unused: Option<UnusedTask>,
    /// Settled labels of single outputs; each names its output.
    pub labels: Vec<Label>,
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
