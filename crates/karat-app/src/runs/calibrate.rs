//! Calibrates judges: they grade labelled outputs again, and their grades are compared with the labels of people.
//!
//! A round is a run of its own, of a suite named `SUITE-calibration`: its variants are the labelled outputs, the first
//! one of every sample, the second, and so on. So a round is stored, traced, gone on with, reported and exported like any run.
//! Examples that the judge is shown never come from the sample that it grades.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use karat_analysis::{Calibration, Findings};
use karat_report::CalibrationRound;
use karat_suite::{Files, LABELLED, LoadPurpose, Plan};
use karat_types::{Exit, Label, PlanHeader, RubricScorer, RunRows, ScorerKind, is_example, output_key};
use serde_json::{Map, Value, json};

use crate::error::{LabelError, Names};
use crate::project::load::with_shadow_note;
use crate::runs::Runs;
use crate::stored::findings::findings;
use crate::stored::invocation::read_stored_invocation;
use crate::stored::labels::agreement::HumanCeiling;
use crate::{AppError, CalibrationRequest, Invocation};

/// Maximum of listed rounds.
const ROUNDS: usize = 200;

/// The file of a task's settled labels.
const TASK_LABELS: &str = "task.jsonl";

/// Rounds of a suite, the newest last.
#[derive(Debug, Clone)]
pub struct Rounds {
    rounds: Vec<CalibrationRound>,
    /// Agreement of people with each other, where the last round is against the labels of a task.
    people: Vec<HumanCeiling>,
}

impl Rounds {
    /// For a terminal: the last round in full, those before it in a line each.
    pub fn terminal(&self) -> String {
        let lines = self.people.iter().map(|ceiling| format!("  {}\n", ceiling.line())).collect::<String>();
        let head = if lines.is_empty() { "" } else { "\npeople:\n" };
        format!("{}{head}{lines}", karat_report::terminal::calibration(&self.rounds))
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let lines = self.people.iter().map(|ceiling| format!("- {}\n", ceiling.line())).collect::<String>();
        let head = if lines.is_empty() { "" } else { "\n## People\n\n" };
        format!("{}{head}{lines}", karat_report::markdown::calibration(&self.rounds))
    }

    /// As JSON.
    pub fn json(&self) -> Result<String, AppError> {
        let text = karat_report::json::calibration(&self.rounds)?;
        if self.people.is_empty() {
            return Ok(text);
        }
        let mut document: Value = serde_json::from_str(&text).unwrap_or_default();
        document["people"] = json!(self.people);
        Ok(crate::pretty(&document))
    }

    /// The exit code of the last round: whether every judge agrees enough with people.
    pub fn exit(&self) -> Exit {
        self.rounds.last().map_or(Exit::GateFailed, |round| round.calibration.exit())
    }
}

impl Runs<'_> {
    /// Reads a suite, checks it and its dataset, and plans it, or a round of its calibration. Makes no API calls.
    pub fn load(&self, invocation: &Invocation) -> Result<Plan, AppError> {
        match &invocation.calibrating {
            Some(asked) => Ok(with_shadow_note(self.load_round(invocation, asked)?, invocation)),
            None => self.app.project().load(invocation),
        }
    }

    /// The plan of a round, which grades labelled outputs. Makes no API calls.
    ///
    /// # Errors
    /// A suite without a judged scorer with labels; a threshold without a reason; several trials.
    fn load_round(&self, invocation: &Invocation, asked: &CalibrationRequest) -> Result<Plan, AppError> {
        if invocation.overrides.trials.is_some_and(|trials| trials > 1) {
            return Err(LabelError::TrialsOfRound {}.into());
        }
        let settled = asked.task.as_deref().map(|task| self.app.stored().settled_labels(task)).transpose()?;
        let (task_scorer, task_labels) = settled.map_or((None, None), |(scorer, rows)| {
            (Some(scorer), Some(rows.iter().map(|row| format!("{row}\n")).collect::<String>()))
        });
        let wanted = asked.scorer.as_deref().or(task_scorer.as_deref());
        let task_file = wanted
            .filter(|_| task_labels.is_some())
            .map(|scorer| (format!("scorers.{scorer}.labels"), json!(format!("{LABELLED}{TASK_LABELS}")).to_string()));
        let base = self.app.project().suite_files();
        let own_files: Arc<dyn Files> =
            Arc::new(LabelledOutputs { base: base.clone(), sets: BTreeMap::new(), task: task_labels.clone() });
        let suite = self
            .app
            .project()
            .load_with(invocation, &own_files, |it| {
                it.set.extend(task_file.clone());
                it.context.purpose = LoadPurpose::Calibrate;
            })?
            .header;
        let (id, rubric) = scorer(&suite, wanted)?;
        let labelled = LabelledOutputs { task: task_labels, ..LabelledOutputs::new(base, &rubric.labels) };
        if labelled.sets.is_empty() {
            return Err(LabelError::NoLabelledRows { scorer: id.to_owned() }.into());
        }
        let analyses = analyses(&suite, id, asked)?;
        let variants: Map<String, Value> = (0..labelled.largest_set())
            .map(|at| {
                let from = labelled.path(at);
                let by = "{{ sample.id }}";
                let step = json!([{ "recorded": { "from": from, "by": by, "column": "output", "missing": "skip" } }]);
                (format!("set-{}", at + 1), step)
            })
            .collect();
        let set = |address: &str, value: Value| (address.to_owned(), value.to_string());
        let changes = [
            set("name", json!(round_name(&suite.suite))),
            set("variants", Value::Object(variants)),
            set("models", json!([])),
            set("sweep", json!({})),
            set("analyses", Value::Array(analyses)),
            set("gates", json!([])),
            set("dataset.checks", json!([])),
        ];
        let samples: Vec<String> = labelled.sets.keys().cloned().collect();
        let labelled: Arc<dyn Files> = Arc::new(labelled);
        self.app.project().load_with(invocation, &labelled, |overrides| {
            overrides.set.extend(task_file);
            overrides.set.extend(changes);
            overrides.context.scorers = Some(vec![id.to_owned()]);
            overrides.variants.clear();
            overrides.models.clear();
            overrides.sweep.clear();
            overrides.trials = Some(1);
            overrides.no_cache = true;
            if overrides.samples.is_empty() {
                overrides.samples = samples;
            }
        })
    }

    /// Returns whether a stored run is a round of calibration.
    pub fn is_round(&self, run: &str) -> Result<bool, AppError> {
        let header = self.app.existing_store()?.run(run)?;
        Ok(read_stored_invocation(&header)?.invocation.calibrating.is_some())
    }

    /// The round of one run.
    pub fn round(&self, run: &str) -> Result<Rounds, AppError> {
        let stored = self.app.stored().run(run)?;
        let found = findings(&stored)?;
        let runs = self.app.existing_store()?.runs_of_suite(&stored.header().plan.suite, ROUNDS)?;
        let before = runs.iter().rev().take_while(|it| **it != stored.header().id).count();
        let rounds = round(before + 1, stored.header(), &found).into_iter().collect();
        let calibrating = read_stored_invocation(stored.header())?.invocation.calibrating;
        let task = calibrating.and_then(|asked| asked.task);
        let people = task.map_or_else(|| Ok(Vec::new()), |task| self.app.stored().human_ceilings(&task))?;
        Ok(Rounds { rounds, people })
    }

    /// All rounds of a suite, the oldest first.
    pub fn rounds(&self, invocation: &Invocation) -> Result<Rounds, AppError> {
        let suite = self.load(&invocation.on_any_day())?.header.suite.clone();
        let store = self.app.existing_store()?;
        let mut rounds = Vec::new();
        for (before, run) in store.runs_of_suite(&round_name(&suite), ROUNDS)?.iter().rev().enumerate() {
            let stored = store.rows(run)?;
            // A round that was stopped before its first cell has no findings.
            rounds.extend(findings(&stored).ok().and_then(|found| round(before + 1, stored.header(), &found)));
        }
        if rounds.is_empty() {
            return Err(LabelError::NoRounds { suite, path: invocation.suite.clone() }.into());
        }
        Ok(Rounds { rounds, people: Vec::new() })
    }
}

fn round_name(suite: &str) -> String {
    format!("{suite}-calibration")
}

fn round(number: usize, header: &karat_types::RunHeader, findings: &Findings) -> Option<CalibrationRound> {
    let calibration: Calibration = findings.calibration()?.clone();
    let judges = findings.agreement().cloned();
    Some(CalibrationRound {
        number,
        run: header.id.clone(),
        started_at: header.started_at,
        status: header.status,
        calibration,
        judges,
    })
}

/// The scorer to calibrate.
fn scorer<'a>(plan: &'a PlanHeader, wanted: Option<&str>) -> Result<(&'a str, &'a RubricScorer), AppError> {
    let judged = plan.scorers.iter().filter_map(|scorer| match &scorer.kind {
        ScorerKind::Rubric(rubric) => Some((scorer.id.as_str(), &**rubric)),
        ScorerKind::Metric { .. } => None,
    });
    let fits = |(id, rubric): &(&str, &RubricScorer)| wanted.map_or(!rubric.labels.is_empty(), |wanted| wanted == *id);
    if let Some(found) = judged.clone().find(fits) {
        return Ok(found);
    }
    let scorers = Names::of(judged.map(|(id, _)| id));
    Err(match wanted {
        Some(wanted) => LabelError::NotJudged { scorer: wanted.to_owned(), scorers },
        None => LabelError::NothingToCalibrate {},
    }
    .into())
}

/// The suite's own calibration analysis with the requested thresholds, and agreement between judges.
fn analyses(plan: &PlanHeader, scorer: &str, asked: &CalibrationRequest) -> Result<Vec<Value>, AppError> {
    let own = plan.analyses.iter().find(|it| {
        it.analysis == "calibration" && it.with.get("scorer").is_none_or(|named| named.as_str() == Some(scorer))
    });
    let mut with = own.map(|it| it.with.clone()).unwrap_or_default();
    with.insert("scorer".to_owned(), json!(scorer));
    if !asked.thresholds.is_empty() {
        let reason = asked.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
        let Some(reason) = reason else {
            return Err(LabelError::NoReason {}.into());
        };
        let dimensions: Vec<&str> = plan
            .scorers
            .iter()
            .filter_map(|it| match &it.kind {
                ScorerKind::Rubric(rubric) if it.id == scorer => Some(&rubric.rubric.dimensions),
                _ => None,
            })
            .flatten()
            .map(|dimension| dimension.name.as_str())
            .collect();
        let mut decisions = with.get("decisions").and_then(Value::as_object).cloned().unwrap_or_default();
        for (dimension, threshold) in &asked.thresholds {
            let decided = dimension.as_deref().map_or_else(|| dimensions.clone(), |name| vec![name]);
            for name in decided {
                decisions.insert(name.to_owned(), json!({ "threshold": threshold, "reason": reason }));
            }
        }
        with.insert("decisions".to_owned(), Value::Object(decisions));
    }
    Ok(vec![
        json!({ "analysis": "calibration", "with": with }),
        json!({ "analysis": "agreement", "with": { "scorer": scorer } }),
    ])
}

/// Labelled outputs as files of rows: the first output of every sample, the second, and so on.
struct LabelledOutputs {
    /// All other files.
    base: Arc<dyn Files>,
    sets: BTreeMap<String, Vec<Value>>,
    /// The settled labels of a task, as a file of their own.
    task: Option<String>,
}

impl LabelledOutputs {
    fn new(base: Arc<dyn Files>, labels: &[Value]) -> Self {
        let mut sets: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        let graded = labels.iter().filter(|row| is_example(row));
        for (sample, output) in graded.filter_map(|row| Some((Label::sample_of(row)?, row.get("output")?))) {
            let outputs = sets.entry(sample).or_default();
            if !outputs.iter().any(|known| output_key(known) == output_key(output)) {
                outputs.push(output.clone());
            }
        }
        Self { base, sets, task: None }
    }

    /// The largest number of outputs of a sample.
    fn largest_set(&self) -> usize {
        self.sets.values().map(Vec::len).max().unwrap_or(0)
    }

    fn path(&self, at: usize) -> String {
        format!("{LABELLED}{at}.json")
    }

    /// The text of a file of this type.
    fn text(&self, path: &str) -> Option<String> {
        if path.strip_prefix(LABELLED) == Some(TASK_LABELS) {
            return self.task.clone();
        }
        self.rows(path).map(|rows| rows.to_string())
    }

    /// The rows of a path: for each sample, the output at this position.
    fn rows(&self, path: &str) -> Option<Value> {
        let at: usize = path.strip_prefix(LABELLED)?.strip_suffix(".json")?.parse().ok()?;
        let rows = self.sets.iter();
        let rows = rows.filter_map(|(sample, outputs)| Some(json!({ "sample": sample, "output": outputs.get(at)? })));
        (at < self.largest_set()).then(|| rows.collect())
    }
}

impl Files for LabelledOutputs {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.text(path).map_or_else(|| self.base.read(path), |text| Ok(text.into_bytes()))
    }

    fn refused_path(&self) -> Option<String> {
        self.base.refused_path()
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        self.base.list(dir)
    }

    fn is_file(&self, path: &str) -> bool {
        self.text(path).is_some() || self.base.is_file(path)
    }

    fn open_beneath(&self, folder: &str, path: &str) -> io::Result<Box<dyn io::BufRead + Send>> {
        self.base.open_beneath(folder, path)
    }

    fn open(&self, path: &str) -> io::Result<Box<dyn io::BufRead + Send>> {
        match self.text(path) {
            Some(text) => Ok(Box::new(io::Cursor::new(text.into_bytes()))),
            None => self.base.open(path),
        }
    }
}
