//! Settled labels of a closed task as a golden set, which `golden check` and gates read as any other.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use karat_analysis::golden::Golden;
use karat_analysis::people_golden::{PeopleSample, people_figures, people_metric};
use karat_analysis::{is_called, system_id};
use karat_store::StoredRun;
use karat_types::{CellStatus, Key, Label, PlanHeader, RunRows, ScorerKind, output_key};
use serde_json::Value;

use super::export::{provenance, pseudonyms};
use crate::analysis::golden::{GoldenPin, PinRequest, pin_into};
use crate::error::{AnnotateError, GoldenError, Names};
use crate::stored::invocation::read_stored_invocation;
use crate::stored::labels::question::QuestionKind;
use crate::stored::labels::settle::label_rows;
use crate::stored::labels::task::LoadedTask;
use crate::tasks::Tasks;
use crate::{AppError, Invocation, rfc3339};

/// The request to pin the settled labels of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelPinRequest {
    /// The system whose outputs are pinned: its id, model or variant. Needed where the labels are of several systems.
    pub system: Option<String>,
    /// The folder of the golden set; the suite's `baseline` if absent.
    pub folder: Option<PathBuf>,
    /// True to call people `a1`, `a2` and so on.
    pub pseudonyms: bool,
}

/// The settled labels of a task, with the run whose outputs they are of.
struct SettledTask {
    task: Arc<LoadedTask>,
    run: StoredRun,
    /// Index of the scorer whose rubric was asked.
    scorer: usize,
    /// By sample and output.
    labels: BTreeMap<(String, Key), (Label, String)>,
    people: Value,
    closed_at: String,
}

impl Tasks<'_> {
    /// Pins the settled labels of a closed task as a golden set.
    ///
    /// # Errors
    /// An open task, labels that score no metric, labels of several systems, a folder that cannot be written.
    pub fn pin_labels(&self, task: &str, asked: &LabelPinRequest) -> Result<GoldenPin, AppError> {
        let settled = self.settled_task(self.app.stored().loaded_task(task)?, asked.pseudonyms)?;
        let header = settled.run.header();
        let folder = match &asked.folder {
            Some(folder) => folder.clone(),
            None => {
                let suite = &header.plan.suite;
                let path = read_stored_invocation(header)?.rules.baseline;
                let path = path.ok_or_else(|| AnnotateError::NoGoldenFolder { suite: suite.clone() })?;
                self.app.stored().golden_place(&path, suite).ok_or(GoldenError::IsFile { path })?
            }
        };
        let golden = settled.golden(asked.system.as_deref())?;
        pin_into(&folder, &golden, &header.plan, &PinRequest::default())
    }

    /// Pins the settled labels of the newest closed task of a suite, in the folder that the suite names.
    ///
    /// # Errors
    /// As [`Self::pin_labels`]; no closed task asks the rubric of the suite.
    pub fn pin_labels_of_suite(
        &self,
        invocation: &Invocation,
        scorer: Option<&str>,
        asked: &LabelPinRequest,
    ) -> Result<GoldenPin, AppError> {
        let plan = self.app.project().load(&invocation.on_any_day())?;
        let suite = &plan.header.suite;
        let mut known = Vec::new();
        let tasks = if self.app.store.exists() { self.app.store_to_read()?.annotation_tasks()? } else { Vec::new() };
        for stored in tasks {
            let task = self.app.stored().load_task(stored)?;
            let is_asked = task.body.scorer.as_deref().is_some_and(|own| scorer.is_none_or(|wanted| wanted == own));
            if task.body.suite.as_ref() != Some(suite) || !is_asked {
                continue;
            }
            let name = format!("{}@{}", task.stored.name, task.stored.version);
            if self.app.stored().read_state(&task, |state| state.closed.is_some())? {
                let folder = match &asked.folder {
                    Some(folder) => folder.clone(),
                    None => self.app.analysis().golden_folder(&plan)?,
                };
                return self.pin_labels(&name, &LabelPinRequest { folder: Some(folder), ..asked.clone() });
            }
            known.push(name);
        }
        Err(AnnotateError::NoClosedTask { suite: suite.clone(), known: Names::of(known) }.into())
    }

    fn settled_task(&self, task: Arc<LoadedTask>, renames: bool) -> Result<SettledTask, AppError> {
        let name = task.stored.name.clone();
        if task.body.questions.iter().any(|question| question.kind == QuestionKind::Pairwise) {
            return Err(AnnotateError::PairsPinNothing { task: name }.into());
        }
        let run = task.body.source.strip_prefix("run ");
        let (Some(scorer), Some(run)) = (&task.body.scorer, run) else {
            return Err(AnnotateError::NoMetric { task: name }.into());
        };
        let run = self.app.stored().run(run)?;
        let is_asked = |it: &karat_types::ScorerSpec| it.id == *scorer && matches!(it.kind, ScorerKind::Rubric(_));
        let scorer = run.header().plan.scorers.iter().position(is_asked);
        let scorer = scorer.ok_or_else(|| AnnotateError::NoMetric { task: name.clone() })?;
        let (rows, people, closed) = self.app.stored().read_state(&task, |state| {
            let people = pseudonyms(state, &[], renames);
            let rename = |name: &str| people.get(name).cloned().unwrap_or_else(|| name.to_owned());
            let provenance = provenance(&task, state, &rename);
            (label_rows(&task, state, true, &rename), provenance, state.closed.as_ref().map(|(_, at)| *at))
        })?;
        let closed = closed.ok_or_else(|| AnnotateError::NotClosed { task: name.clone() })?;
        let labels = rows.iter().filter_map(|row| {
            let label = Label::from_row(row)?;
            let place = (label.sample.clone(), output_key(label.output.as_ref()?));
            Some((place, (label, row["note"].as_str().unwrap_or_default().to_owned())))
        });
        let labels: BTreeMap<(String, Key), (Label, String)> = labels.collect();
        match labels.is_empty() {
            true => Err(AnnotateError::NoSettled { task: name }.into()),
            false => Ok(SettledTask { task, run, scorer, labels, people, closed_at: rfc3339(closed) }),
        }
    }
}

impl SettledTask {
    /// One golden sample for each labelled sample of one system.
    fn golden(&self, system: Option<&str>) -> Result<Vec<Golden>, AppError> {
        let plan = &self.run.header().plan;
        let mut systems = self.samples(plan)?;
        if let Some(wanted) = system {
            systems.retain(|id, _| is_called(id, wanted));
        }
        let task = || self.task.stored.name.clone();
        let mut systems = systems.into_iter();
        let samples = match (systems.next(), systems.next(), system) {
            (Some((_, samples)), None, _) => samples,
            (None, _, Some(system)) => {
                return Err(AnnotateError::OtherOutputs { task: task(), system: system.to_owned() }.into());
            }
            (None, ..) => return Err(AnnotateError::NoSettled { task: task() }.into()),
            (Some((one, _)), Some((other, _)), _) => {
                let systems: BTreeSet<String> =
                    [one, other].into_iter().chain(systems.map(|(system, _)| system)).collect();
                return Err(GoldenError::SeveralSystems { count: systems.len(), systems: Names::of(systems) }.into());
            }
        };
        let figures: Vec<BTreeMap<usize, f64>> = samples.values().flat_map(|sample| sample.figures.clone()).collect();
        let metric = people_metric(plan, self.scorer, &figures);
        let metric = metric.ok_or_else(|| AnnotateError::NoSettled { task: task() })?;
        let pinned = samples.values().filter_map(|it| it.pin(plan, metric, &self.people, self.closed_at.clone()));
        Ok(pinned.collect())
    }

    /// The labelled samples of every system, by its id. An output that several systems made is one of each.
    fn samples(&self, plan: &PlanHeader) -> Result<BTreeMap<String, BTreeMap<String, PeopleSample>>, AppError> {
        let mut systems: BTreeMap<String, BTreeMap<String, PeopleSample>> = BTreeMap::new();
        self.run.for_each(&mut |row| {
            let place = (row.sample.id.clone(), row.cell.output_hash);
            let label = self.labels.get(&place).filter(|_| row.cell.status == CellStatus::Ok);
            if let Some((label, note)) = label {
                let system = system_id(plan, row.system);
                let samples = systems.entry(system.clone()).or_default();
                let sample = samples.entry(place.0).or_insert_with(|| PeopleSample::of(&row, system));
                sample.figures.push(people_figures(plan, self.scorer, label));
                if !sample.notes.contains(note.as_str()) {
                    sample.notes = note.clone();
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok(systems)
    }
}
