//! Agreement of judges and people on stored runs. Makes no API calls.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use karat_analysis::agree::{AgreeOptions, RunAgreement, agree, label_problem, labels_of_run};
use karat_store::{Store, StoredRun};
use karat_types::{Label, ModelSpec, PlanHeader, RunRows};
use serde_json::json;

use crate::AppError;
use crate::analysis::Analysis;
use crate::error::{FileError, LabelError, Names};

/// The request for an agreement.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgreementRequest {
    /// The scorer; every scorer with judges if absent.
    pub scorer: Option<String>,
    /// Names of the raters to compare; all if empty.
    pub between: Vec<String>,
    /// A file of labels: JSON lines `{sample, model?, variant?, annotator?, scores{}}`.
    pub labels: Option<String>,
}

/// The agreement of raters.
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

impl Analysis<'_> {
    /// Computes how far the raters of runs agree, on the outputs that the first run shares with the others. A suite
    /// stands for the runs of its judges.
    ///
    /// # Errors
    /// An unknown run, labels that cannot be read, raters that share no output.
    pub fn agree(&self, runs: &[String], asked: &AgreementRequest) -> Result<Agreement, AppError> {
        let runs = self.rated_runs(runs)?;
        let Some((first, others)) = runs.split_first() else {
            return Err(LabelError::NoRuns {}.into());
        };
        let plan = &first.header().plan;
        let mut labels =
            asked.labels.as_deref().map_or_else(|| Ok(Vec::new()), |file| labels(Path::new(file), plan))?;
        let mut shared = 0;
        let by_model = judges_with_several_models(&runs);
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

    /// The runs that the words name.
    fn rated_runs(&self, words: &[String]) -> Result<Vec<StoredRun>, AppError> {
        let store = self.app.existing_store()?;
        let mut ids = Vec::new();
        for word in words {
            match self.app.stored().is_suite(word) {
                true => ids.extend(one_run_per_judge(&store, &self.app.stored().suite_name(&store, word)?)?),
                false => ids.push(store.resolve(word)?),
            }
        }
        let mut seen = BTreeSet::new();
        ids.retain(|id| seen.insert(id.clone()));
        ids.iter().map(|id| Ok(store.rows(id)?)).collect()
    }
}

/// For each judge of a suite, the newest of its finished runs over the most rows; the largest run first.
fn one_run_per_judge(store: &Store, suite: &str) -> Result<Vec<String>, AppError> {
    let mut runs = Vec::new();
    for id in store.runs_of_suite(suite, usize::MAX)? {
        let header = store.run(&id)?;
        if header.is_whole() {
            runs.push((header.plan.dataset.rows, id, header));
        }
    }
    // The store returns the newest first, and the sort keeps that order among equals. Runs that measure a judge come
    // last.
    runs.sort_by_key(|(rows, _, header)| (header.plan.run.measures_judges, std::cmp::Reverse(*rows)));
    let mut known = BTreeSet::new();
    let mut has_new =
        |judges: Vec<(String, String)>| judges.into_iter().filter(|judge| known.insert(judge.clone())).count() > 0;
    let judge = |judge: &ModelSpec| (judge.id.clone(), judge.model.clone());
    runs.retain(|(.., header)| has_new(header.plan.judges.iter().map(judge).collect()));
    Ok(runs.into_iter().map(|(_, id, _)| id).collect())
}

/// Ids of judges that have different models in different runs.
fn judges_with_several_models(runs: &[StoredRun]) -> BTreeSet<String> {
    let mut models: BTreeMap<&str, &str> = BTreeMap::new();
    let judges = runs.iter().flat_map(|run| &run.header().plan.judges);
    let another = judges.filter(|judge| *models.entry(&judge.id).or_insert(&judge.model) != judge.model);
    another.map(|judge| judge.id.clone()).collect()
}

/// The labels of a file, checked against a plan.
fn labels(file: &Path, plan: &PlanHeader) -> Result<Vec<Label>, AppError> {
    let text = fs::read_to_string(file).map_err(|error| FileError::of("reading the labels", file, error))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let mut seen = SeenLabels::default();
    let label = |(at, line): (usize, &str)| {
        let place = format!("{}:{}", file.display(), at + 1);
        let label: Label =
            serde_json::from_str(line).map_err(|source| LabelError::NoLabel { place: place.clone(), source })?;
        let what = label_problem(plan, &label).or_else(|| namesake(plan, &label)).or_else(|| seen.find_repeat(&label));
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

/// The problem of an annotator with a judge's name: the labels would pass for the judge's grades.
fn namesake(plan: &PlanHeader, label: &Label) -> Option<String> {
    let name = label.annotator.as_deref().filter(|name| plan.judges.iter().any(|judge| judge.id == **name))?;
    Some(format!("the annotator {name:?} has the name of a judge of this run"))
}

/// The grades of earlier lines as JSON: sample, system, annotator, output and metric.
#[derive(Default)]
struct SeenLabels(BTreeSet<String>);

impl SeenLabels {
    /// The problem of a label that repeats a grade of its annotator. Labels without a name are of several people.
    fn find_repeat(&mut self, label: &Label) -> Option<String> {
        let Label { sample, model, variant, annotator, output, scores } = label;
        let who = annotator.as_deref()?;
        let place = |metric: &String| json!([sample, model, variant, who, output, metric]).to_string();
        let twice = scores.keys().find(|metric| !self.0.insert(place(metric)))?;
        Some(format!("{who} has graded `{twice}` of sample `{sample}` on an earlier line"))
    }
}
