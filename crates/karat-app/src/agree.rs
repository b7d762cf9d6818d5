//! How far judges, and people, agree on stored runs. Makes no call.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use karat_analysis::agree::{AgreeOptions, RunAgreement, agree, label_problem, labels_of_run};
use karat_store::{Store, StoredRun};
use karat_types::{Label, ModelSpec, PlanHeader, RunRows, RunStatus};
use serde_json::json;

use crate::error::{FileError, LabelError, Names};
use crate::{App, AppError};

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Agreeing {
    /// The scorer; every one with judges without it.
    pub scorer: Option<String>,
    /// Names of the raters that are compared; all without any.
    pub between: Vec<String>,
    /// A file of labels: JSON lines `{sample, model?, variant?, annotator?, scores{}}`.
    pub labels: Option<String>,
}

/// What was found.
#[derive(Debug, Clone)]
pub struct Agreement(RunAgreement);

impl Agreement {
    /// For a terminal.
    pub fn terminal(&self) -> String {
        karat_report::terminal::agreement(&self.0)
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        karat_report::markdown::agreement(&self.0)
    }

    /// As JSON.
    pub fn json(&self) -> Result<String, AppError> {
        karat_report::json::agreement(&self.0).map_err(AppError::from)
    }
}

impl App {
    /// Says how far the raters of runs agree, on the outputs that the first run shares with the others. A suite stands for
    /// the runs of its judges.
    ///
    /// # Errors
    /// A run that is unknown, labels that cannot be read, raters that share nothing.
    pub fn agree(&self, runs: &[String], asked: &Agreeing) -> Result<Agreement, AppError> {
        let runs = self.rated(runs)?;
        let Some((first, others)) = runs.split_first() else {
            return Err(LabelError::NoRuns {}.into());
        };
        let plan = &first.header().plan;
        let mut labels =
            asked.labels.as_deref().map_or_else(|| Ok(Vec::new()), |file| labels(Path::new(file), plan))?;
        let mut shared = 0;
        let by_model = of_several_models(&runs);
        for other in others {
            let beside = labels_of_run(first, other, &by_model)?;
            labels.extend(beside.labels);
            shared += beside.shared;
        }
        let (scorer, between) = (asked.scorer.clone(), asked.between.clone());
        let options = AgreeOptions { scorer, between, by_model, ..AgreeOptions::default() };
        let mut found = agree(first, &labels, &options)?;
        found.shared_judgments = shared;
        found.run = runs.iter().map(|run| run.header().id.as_str()).collect::<Vec<_>>().join(", ");
        if found.metrics.is_empty() {
            let shared = match shared {
                0 => String::new(),
                _ => format!(" ({shared} judgments are one run's, which the other took over)"),
            };
            return Err(LabelError::NothingShared { shared, raters: Names(found.raters) }.into());
        }
        Ok(Agreement(found))
    }

    /// The runs that are meant by words.
    fn rated(&self, words: &[String]) -> Result<Vec<StoredRun>, AppError> {
        let store = self.existing_store()?;
        let mut ids = Vec::new();
        for word in words {
            match self.is_suite(word) {
                true => ids.extend(of_judges(&store, &self.suite_name(&store, word)?)?),
                false => ids.push(store.resolve(word)?),
            }
        }
        let mut seen = BTreeSet::new();
        ids.retain(|id| seen.insert(id.clone()));
        ids.iter().map(|id| Ok(store.rows(id)?)).collect()
    }
}

/// Of each judge of a suite the finished run over the most rows, the newest of those; the largest run first.
fn of_judges(store: &Store, suite: &str) -> Result<Vec<String>, AppError> {
    let mut runs = Vec::new();
    for id in store.runs_of_suite(suite, usize::MAX)? {
        let header = store.run(&id)?;
        if header.status == RunStatus::Finished {
            runs.push((header.plan.dataset.rows, id, header));
        }
    }
    // The store gives the newest first, and the sort keeps that order among equals. What measured a ruler comes last.
    runs.sort_by_key(|(rows, _, header)| (header.plan.run.of_ruler, std::cmp::Reverse(*rows)));
    let mut known = BTreeSet::new();
    let mut has_new =
        |judges: Vec<(String, String)>| judges.into_iter().filter(|judge| known.insert(judge.clone())).count() > 0;
    let judge = |judge: &ModelSpec| (judge.id.clone(), judge.model.clone());
    runs.retain(|(.., header)| has_new(header.plan.judges.iter().map(judge).collect()));
    Ok(runs.into_iter().map(|(_, id, _)| id).collect())
}

/// Ids of judges behind which different runs have different models.
fn of_several_models(runs: &[StoredRun]) -> BTreeSet<String> {
    let mut models: BTreeMap<&str, &str> = BTreeMap::new();
    let judges = runs.iter().flat_map(|run| &run.header().plan.judges);
    let another = judges.filter(|judge| *models.entry(&judge.id).or_insert(&judge.model) != judge.model);
    another.map(|judge| judge.id.clone()).collect()
}

/// The labels of a file, each of which can be of a run of this plan.
fn labels(file: &Path, plan: &PlanHeader) -> Result<Vec<Label>, AppError> {
    let text = fs::read_to_string(file).map_err(|error| FileError::of("reading the labels", file, error))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let mut seen = Seen::default();
    let label = |(at, line): (usize, &str)| {
        let place = format!("{}:{}", file.display(), at + 1);
        let label: Label =
            serde_json::from_str(line).map_err(|source| LabelError::NoLabel { place: place.clone(), source })?;
        let what = label_problem(plan, &label).or_else(|| namesake(plan, &label)).or_else(|| seen.again(&label));
        match what {
            Some(problem) => Err(LabelError::Misfit { place, problem }.into()),
            None => Ok(label),
        }
    };
    let labels: Vec<Label> = lines.map(label).collect::<Result<_, AppError>>()?;
    if labels.is_empty() {
        return Err(LabelError::Empty { path: file.display().to_string() }.into());
    }
    Ok(labels)
}

/// What is wrong with an annotator who bears a judge's name: the grades would pass for the judge's own.
fn namesake(plan: &PlanHeader, label: &Label) -> Option<String> {
    let name = label.annotator.as_deref().filter(|name| plan.judges.iter().any(|judge| judge.id == **name))?;
    Some(format!("the annotator {name:?} has the name of a judge of this run"))
}

/// What people have graded on the lines before, as JSON: sample, system, annotator, output and metric.
#[derive(Default)]
struct Seen(BTreeSet<String>);

impl Seen {
    /// What is wrong with a label that grades once more what its annotator has graded. Labels without a name are of
    /// several people.
    fn again(&mut self, label: &Label) -> Option<String> {
        let Label { sample, model, variant, annotator, output, scores } = label;
        let who = annotator.as_deref()?;
        let place = |metric: &String| json!([sample, model, variant, who, output, metric]).to_string();
        let twice = scores.keys().find(|metric| !self.0.insert(place(metric)))?;
        Some(format!("{who} has graded `{twice}` of sample `{sample}` on an earlier line"))
    }
}
