//! `errors`: failures by stage, code and cause, with a few examples.
//!
//! Two messages have the same cause if they differ only in numbers and in names of samples: the same failure on two
//! days, files or attempts.

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_types::{AnalysisSpec, CellError, CellStatus, PlanHeader, Score, ScorerKind};
use serde::Serialize;

use crate::AnalysisError;
use crate::analyses::{Analysis, FinishContext, NoOptions, Outcome, ScoredCell, excerpt, options};
use crate::figures::groups::system_id;

/// Number of examples kept of each kind.
const EXAMPLES: usize = 3;

/// Number of kinds distinguished in a run, all stages together; further ones count with the last kind of their stage and
/// code.
const KINDS: usize = 100;

/// Length kept of a message: enough for the 2,400 characters of a program's output, which quoting lengthens.
const MESSAGE_CHARS: usize = 6_000;

/// Number of characters of a message that distinguish causes.
const CAUSE_CHARS: usize = 300;

/// The stage of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// A system gave no output.
    Cell,
    /// A judge gave no grade.
    Judgment,
    /// A scorer that is not a judge gave no score.
    Score,
}

/// One failure: of a cell, a judgment or a score.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ErrorExample {
    /// The sample.
    pub sample: String,
    /// The cell, by its ordinal in the plan.
    pub cell: u64,
    /// The system; the judge for judgments, the scorer for scores.
    pub who: String,
    /// The error message.
    pub message: String,
}

/// Failures of one kind: of one stage, code and cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ErrorKind {
    /// The stage.
    pub stage: Stage,
    /// The error's code.
    pub code: String,
    /// Number of failures.
    pub count: u64,
    /// The first few in plan order.
    pub examples: Vec<ErrorExample>,
}

/// All failures of one code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ErrorCode {
    /// The stage.
    pub stage: Stage,
    /// The error's code.
    pub code: String,
    /// Number of failures, of any cause.
    pub count: u64,
}

/// Cells of one system skipped by a condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedCells {
    /// The system.
    pub system: String,
    /// Number of cells.
    pub count: u64,
    /// Sample of the first in plan order.
    pub sample: String,
    /// The reason for that one.
    pub reason: String,
}

/// Every kind of failure, most frequent first, and the skipped cells.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Errors {
    /// By stage and code.
    pub codes: Vec<ErrorCode>,
    /// By stage, code and cause.
    pub kinds: Vec<ErrorKind>,
    /// By system, in plan order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedCells>,
}

/// The properties that failures of one kind share.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct KindKey {
    stage: Stage,
    code: String,
    /// The message without what differs between samples.
    cause: String,
}

struct ErrorsFold {
    plan: Arc<PlanHeader>,
    kinds: BTreeMap<KindKey, ErrorKind>,
    /// By system.
    skipped: BTreeMap<usize, SkippedCells>,
}

pub(in crate::analyses) fn build(
    spec: &AnalysisSpec,
    plan: &Arc<PlanHeader>,
) -> Result<Option<Box<dyn Analysis>>, AnalysisError> {
    options::<NoOptions>(spec)?;
    Ok(Some(Box::new(ErrorsFold { plan: plan.clone(), kinds: BTreeMap::new(), skipped: BTreeMap::new() })))
}

/// The code of a failed scorer, which gives a reason and no code.
const UNSCORED: &str = "unscored";

impl ErrorsFold {
    /// Counts each scorer without judges that failed on a cell, once.
    fn count_unscored(&mut self, cell: &ScoredCell<'_>) {
        let plan = self.plan.clone();
        let mut counted = None;
        for (metric, score) in &cell.row.cell.scores {
            let scorer = plan.metrics.get(usize::from(*metric)).map(|metric| metric.scorer);
            let spec = scorer.filter(|_| scorer != counted).and_then(|at| plan.scorers.get(at));
            let spec = spec.filter(|spec| matches!(spec.kind, ScorerKind::Metric { .. }));
            if let (Some(spec), Score::Unscored { unscored }) = (spec, score) {
                counted = scorer;
                let error = CellError::new(UNSCORED, unscored.clone());
                self.count(Stage::Score, &error, cell, || spec.id.clone());
            }
        }
    }

    fn count(&mut self, stage: Stage, error: &CellError, cell: &ScoredCell<'_>, who: impl FnOnce() -> String) {
        let sample = &*cell.row.sample.id;
        let who = who();
        let mut key = KindKey { stage, code: error.code.clone(), cause: cause(&error.message, sample) };
        if stage == Stage::Score {
            // All scorers share a code, so the cause includes the scorer's name.
            key.cause = format!("{who}: {}", key.cause);
        }
        if !self.kinds.contains_key(&key) && self.kinds.len() >= KINDS {
            let last = self.kinds.keys().rfind(|other| other.stage == stage && other.code == key.code);
            key = last.cloned().unwrap_or(key);
        }
        let kind = self.kinds.entry(key).or_insert_with(|| ErrorKind {
            stage,
            code: error.code.clone(),
            count: 0,
            examples: Vec::new(),
        });
        kind.count += 1;
        if kind.examples.len() < EXAMPLES {
            let message = excerpt(&error.message, MESSAGE_CHARS);
            let cell = cell.row.cell.ordinal;
            kind.examples.push(ErrorExample { sample: sample.to_owned(), cell, who, message });
        }
    }
}

/// A message without the parts that differ between samples.
fn cause(message: &str, sample: &str) -> String {
    let message = if sample.is_empty() { message.to_owned() } else { message.replace(sample, "…") };
    let mut cause = String::with_capacity(message.len());
    for c in excerpt(&message, CAUSE_CHARS).chars() {
        let digit = c.is_ascii_digit();
        if !(digit && cause.ends_with('0')) {
            cause.push(if digit { '0' } else { c });
        }
    }
    cause
}

impl Errors {
    /// Code and message of the most frequent failure of a system's cells.
    pub fn of_system(&self, system: &str) -> Option<(&str, &str)> {
        let cells = self.kinds.iter().filter(|kind| kind.stage == Stage::Cell);
        let mut of_system =
            cells.filter_map(|kind| Some((kind.code.as_str(), kind.examples.iter().find(|it| it.who == system)?)));
        of_system.next().map(|(code, example)| (code, example.message.as_str()))
    }

    /// Code and message of the most frequent failure of judgments.
    pub fn of_judges(&self) -> Option<(&str, &str)> {
        let kind = self.kinds.iter().find(|kind| kind.stage == Stage::Judgment)?;
        Some((kind.code.as_str(), kind.examples.first()?.message.as_str()))
    }

    /// The most frequent reason why a scorer without judges failed.
    pub fn of_scorer(&self, scorer: &str) -> Option<&str> {
        let is_score = |kind: &&ErrorKind| kind.stage == Stage::Score;
        let mut examples = self.kinds.iter().filter(is_score).filter_map(|kind| kind.examples.first());
        examples.find(|example| example.who == scorer).map(|example| example.message.as_str())
    }
}

impl Analysis for ErrorsFold {
    fn add_cell(&mut self, cell: &ScoredCell<'_>) {
        let sample = &cell.row.sample.id;
        let plan = self.plan.clone();
        if let (CellStatus::Error, Some(error)) = (cell.row.cell.status, &cell.row.cell.error) {
            self.count(Stage::Cell, error, cell, || system_id(&plan, cell.row.system));
        }
        if let (CellStatus::Skipped, Some(why)) = (cell.row.cell.status, &cell.row.cell.error) {
            let skipped = self.skipped.entry(cell.row.system).or_insert_with(|| SkippedCells {
                system: system_id(&plan, cell.row.system),
                count: 0,
                sample: sample.clone(),
                reason: excerpt(&why.message, MESSAGE_CHARS),
            });
            skipped.count += 1;
        }
        self.count_unscored(cell);
        for judgment in cell.row.judgments {
            if let Some(error) = &judgment.error {
                let judge =
                    || plan.judges.get(usize::from(judgment.judge)).map_or_else(String::new, |it| it.id.clone());
                self.count(Stage::Judgment, error, cell, judge);
            }
        }
    }

    fn finish(self: Box<Self>, _: &FinishContext<'_>) -> Outcome {
        let mut kinds: Vec<ErrorKind> = self.kinds.into_values().collect();
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.count));
        Outcome::Errors(Errors { codes: by_code(&kinds), kinds, skipped: self.skipped.into_values().collect() })
    }
}

/// The kinds of each code summed up, the most frequent first.
fn by_code(kinds: &[ErrorKind]) -> Vec<ErrorCode> {
    let mut codes: Vec<ErrorCode> = Vec::new();
    for kind in kinds {
        match codes.iter_mut().find(|code| code.stage == kind.stage && code.code == kind.code) {
            Some(code) => code.count += kind.count,
            None => codes.push(ErrorCode { stage: kind.stage, code: kind.code.clone(), count: kind.count }),
        }
    }
    codes.sort_by_key(|code| std::cmp::Reverse(code.count));
    codes
}

#[cfg(test)]
mod tests {
    use crate::testing::Sketch;
    use crate::{Options, analyse};

    /// CL-04: failed cells carry message and code, and are counted by code.
    #[test]
    fn failures_are_counted_by_code_with_examples() {
        let run = Sketch::new(1, 1, 6)
            .fill(5.0)
            .error(0, 0, "timeout")
            .error(1, 0, "auth")
            .error(2, 0, "timeout")
            .error(3, 0, "timeout")
            .error(4, 0, "timeout")
            .run();
        let findings = analyse(&run, &Options::default()).unwrap();
        let Some(errors) = findings.errors() else { panic!("errors always run") };
        let counts: Vec<(&str, u64, usize)> =
            errors.kinds.iter().map(|kind| (kind.code.as_str(), kind.count, kind.examples.len())).collect();
        assert_eq!(counts, [("timeout", 4, 3), ("auth", 1, 1)]);
        let codes: Vec<(&str, u64)> = errors.codes.iter().map(|code| (code.code.as_str(), code.count)).collect();
        assert_eq!(codes, [("timeout", 4), ("auth", 1)]);
        let example = &errors.kinds[1].examples[0];
        assert_eq!((example.sample.as_str(), example.cell), ("sample-1", 1));
    }

    /// CL-04, BR-10: failures of one code are distinguished by cause, ignoring numbers and sample names.
    #[test]
    fn causes_are_distinguished() {
        let mut run = Sketch::new(1, 1, 5);
        for sample in 0..5 {
            run = run.error(sample, 0, "process");
        }
        let mut run = run.run();
        let messages =
            ["log in first (3 s)", "sample-1: no credit", "log in first (14 s)", "sample-3: no credit", "no disk"];
        for (cell, message) in run.cells.iter_mut().zip(messages) {
            cell.cell.error = Some(karat_types::CellError::new("process", message));
        }
        let findings = analyse(&run, &Options::default()).unwrap();
        let kinds = &findings.errors().unwrap().kinds;
        let counts: Vec<(u64, &str)> =
            kinds.iter().map(|kind| (kind.count, kind.examples[0].message.as_str())).collect();
        assert_eq!(counts, [(2, "log in first (3 s)"), (2, "sample-1: no credit"), (1, "no disk")]);
    }

    /// CL-05: skipped cells are counted by system, with the reason of the first.
    #[test]
    fn skipped_cells_are_counted_with_a_reason() {
        let mut run = Sketch::new(1, 2, 3).fill(5.0).with_skipped(0, 1).with_skipped(2, 1).run();
        for cell in &mut run.cells {
            let skipped = cell.cell.status == karat_types::CellStatus::Skipped;
            cell.cell.error = skipped.then(|| karat_types::CellError::new("skipped", "it does not fit"));
        }
        let findings = analyse(&run, &Options::default()).unwrap();
        let [skipped] = &findings.errors().unwrap().skipped[..] else { panic!("one system left cells out") };
        assert_eq!((skipped.system.as_str(), skipped.count), ("model-a/variant-1", 2));
        assert_eq!((skipped.sample.as_str(), skipped.reason.as_str()), ("sample-0", "it does not fit"));
    }
}
