//! The judge canary: frozen judgments are made again, and a shift is the judge's. What was found stands in the suite's
//! journal, and gates read it there.

use std::collections::{BTreeMap, BTreeSet};

use karat_analysis::canary::{Canary, InstrumentStatus};
use karat_analysis::golden::{Golden, check_judge};
use karat_analysis::{GradedCell, for_each_graded};
use karat_store::{JournalEntry, Store, StoredRun};
use karat_suite::{CanarySpec, Plan};
use karat_types::{Moment, RunHeader, RunRows, RunStatus};
use serde::{Deserialize, Serialize};

use crate::analysis::Analysis;
use crate::analysis::golden::{limit_to_pinned_systems, sample_ids, with_samples};
use crate::error::{Bug, GoldenError};
use crate::stored::references::read_folder;
use crate::{AppError, Execution, Invocation, RunEnd};

/// The kind of journal entries about canaries.
const KIND: &str = "canary";

/// Days after which a canary says nothing of today's judge.
const MAX_AGE_DAYS: i64 = 7;

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// The finding of a canary, as the journal keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CanaryFinding {
    /// The scorer.
    pub scorer: String,
    /// The run that judged; empty for a set that was pinned anew.
    #[serde(default)]
    pub run: String,
    /// True if the judge shifted, false if it did not, `None` if that cannot be told.
    pub moved: Option<bool>,
    /// The finding in words.
    pub summary: String,
}

impl CanaryFinding {
    /// The finding of a scorer whose frozen judgments were made again.
    fn of(scorer: &str, run: &str, canary: Option<&Canary>) -> Self {
        let moved = canary.and_then(|canary| match canary.instrument {
            InstrumentStatus::Moved => Some(true),
            InstrumentStatus::Unchanged => Some(false),
            InstrumentStatus::Unknown | InstrumentStatus::OtherJudge => None,
        });
        let summary = canary.map_or_else(|| "nothing could be compared".to_owned(), in_words);
        Self { scorer: scorer.to_owned(), run: run.to_owned(), moved, summary }
    }

    /// The finding as a line for a terminal.
    pub fn line(&self) -> String {
        format!("canary of `{}` in run {}: {}", self.scorer, self.run, self.summary)
    }
}

/// The largest shift in words, such as `quality.overall +0.52 (99.5 % CI +0.31 to +0.73, 40 items)`.
fn in_words(canary: &Canary) -> String {
    let farthest = canary.shifts.iter().max_by(|a, b| a.change.value().abs().total_cmp(&b.change.value().abs()));
    let moved = canary.shifts.iter().find(|shift| shift.moved).or(farthest);
    let Some(shift) = moved else { return "no grade could be compared".to_owned() };
    let change = &shift.change;
    let interval = change.interval().map(|(lo, hi)| format!("CI {lo:+.2} to {hi:+.2}, ")).unwrap_or_default();
    let told = match canary.instrument {
        InstrumentStatus::Moved => "moved",
        InstrumentStatus::Unchanged => "did not move",
        InstrumentStatus::Unknown => "has too few frozen judgments to tell",
        InstrumentStatus::OtherJudge => "is another one than the frozen judgments are of",
    };
    format!("the judge {told}: {} {:+.2} ({interval}{} items)", shift.metric, change.value(), change.n())
}

impl Analysis<'_> {
    /// Judges the frozen judgments of a suite's scorers again as a run, and notes in the journal what that shows. Outputs
    /// are reused, so that nothing but the judge can differ.
    ///
    /// # Errors
    /// A folder without frozen judgments, or of samples that the dataset does not have; else as [`Runs::run`](crate::Runs::run).
    pub(crate) fn run_canary(
        &self,
        invocation: &Invocation,
        execution: Execution,
    ) -> Result<(Vec<CanaryFinding>, RunEnd), AppError> {
        let mut invocation = invocation.clone();
        invocation.overrides.judge_again = true;
        invocation.overrides.golden_check = true;
        let whole = self.app.project().load(&with_samples(&invocation, Vec::new()))?;
        let frozen = frozen_judgments(&whole)?;
        let all: Vec<Golden> = frozen.iter().flat_map(|(_, golden)| golden.clone()).collect();
        let there = sample_ids(&whole);
        let samples: BTreeSet<String> =
            all.iter().map(|golden| golden.sample.clone()).filter(|id| there.contains(id)).collect();
        if samples.is_empty() {
            let folder = frozen.iter().map(|(spec, _)| spec.folder.clone()).collect::<Vec<_>>().join(", ");
            return Err(GoldenError::NoneInDataset { count: all.len(), folder }.into());
        }
        let invocation = with_samples(&invocation, samples.into_iter().collect());
        let invocation = limit_to_pinned_systems(invocation, &all, &whole.header);
        let plan = self.app.project().load(&invocation)?;
        let end = self.app.runs().run(plan, &invocation, execution)?;
        if end.status != RunStatus::Finished {
            return Ok((Vec::new(), end));
        }
        let stored = self.app.stored().run(&end.run)?;
        let findings: Vec<CanaryFinding> =
            frozen.iter().map(|(spec, golden)| finding_of(spec, golden, &stored)).collect::<Result<_, _>>()?;
        let store = self.app.open_store()?;
        for finding in &findings {
            self.note_canary(&store, &whole.header.suite, finding)?;
        }
        Ok((findings, end))
    }

    /// Notes that the frozen judgments of a suite were pinned anew: its judges are as they should be.
    pub(crate) fn accept_judges(&self, store: &Store, plan: &Plan) -> Result<(), AppError> {
        for canary in &plan.canaries {
            let summary = "the judgments were pinned anew".to_owned();
            let scorer = canary.scorer.clone();
            let accepted = CanaryFinding { scorer, run: String::new(), moved: Some(false), summary };
            self.note_canary(store, &plan.header.suite, &accepted)?;
        }
        Ok(())
    }

    fn note_canary(&self, store: &Store, suite: &str, finding: &CanaryFinding) -> Result<(), AppError> {
        let body = serde_json::to_value(finding).map_err(|source| Bug::Json { what: "the journal", source })?;
        Ok(store.add_journal_entry(suite, KIND, &JournalEntry { at: self.app.clock.now(), body })?)
    }

    /// The scorers whose judge had moved when a run ended, each with how that was found, and notes on canaries that say
    /// nothing of it.
    pub(crate) fn moved_judges(&self, header: &RunHeader) -> Result<(BTreeMap<String, String>, Vec<String>), AppError> {
        let store = self.app.existing_store()?;
        let end = header.completed_at.unwrap_or_else(|| self.app.clock.now());
        let mut latest: BTreeMap<String, (Moment, CanaryFinding)> = BTreeMap::new();
        for entry in store.journal_entries(&header.plan.suite, KIND)? {
            let finding: Result<CanaryFinding, _> = serde_json::from_value::<CanaryFinding>(entry.body);
            if let (true, Ok(finding)) = (entry.at <= end, finding) {
                latest.insert(finding.scorer.clone(), (entry.at, finding));
            }
        }
        let (mut moved, mut notes) = (BTreeMap::new(), Vec::new());
        for (scorer, (at, finding)) in latest {
            let CanaryFinding { run, summary, .. } = &finding;
            match finding.moved {
                Some(true) => {
                    notes.push(format!(
                        "the canary of `{scorer}` in run {run}: {summary}; `karat golden pin` accepts the judge as it is now"
                    ));
                    moved.insert(
                        scorer.clone(),
                        format!("the canary of `{scorer}` found in run {run} that the judge moved"),
                    );
                }
                None => notes.push(format!("the canary of `{scorer}` could not tell in run {run}: {summary}")),
                Some(false) if end.0 - at.0 > MAX_AGE_DAYS * DAY_MS => notes.push(format!(
                    "the last canary of `{scorer}` is {} days old: it says nothing of the judge today",
                    (end.0 - at.0) / DAY_MS
                )),
                Some(false) => {}
            }
        }
        Ok((moved, notes))
    }
}

/// The frozen judgments of each scorer.
fn frozen_judgments(plan: &Plan) -> Result<Vec<(CanarySpec, Vec<Golden>)>, AppError> {
    let read = |spec: &CanarySpec| {
        let files = read_folder(std::path::Path::new(&spec.folder), &plan.header)?;
        let golden: Vec<Golden> = files.into_iter().map(|(_, golden)| golden).collect();
        match golden.iter().find(|golden| golden.baseline_metric.split('.').next() != Some(spec.scorer.as_str())) {
            _ if golden.is_empty() => Err(GoldenError::Empty { folder: spec.folder.clone() }.into()),
            Some(other) => Err(GoldenError::OtherScorer {
                folder: spec.folder.clone(),
                metric: other.baseline_metric.clone(),
                scorer: spec.scorer.clone(),
            }
            .into()),
            None => Ok((spec.clone(), golden)),
        }
    };
    plan.canaries.iter().map(read).collect()
}

fn finding_of(spec: &CanarySpec, golden: &[Golden], stored: &StoredRun) -> Result<CanaryFinding, AppError> {
    let metric = golden.first().map(|golden| golden.baseline_metric.clone()).unwrap_or_default();
    let mut cells: Vec<GradedCell> = Vec::new();
    for_each_graded(stored, Some(&metric), &mut |cell| cells.push(cell))?;
    let header = stored.header();
    let canary = check_judge(golden, &cells, header.started_at, spec.alpha);
    Ok(CanaryFinding::of(&spec.scorer, &header.id, canary.as_ref()))
}
