//! Outputs, scores and judgments of the trials of one sample and system, read from the rows.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use karat_analysis::CellScores;
use karat_report::page::{MarkedOutput, MarkedSources};
use karat_store::StoredRun;
use karat_types::{CellRow, CellStatus, JudgmentRow, PlanHeader, RunRows, SampleText, Score};
use serde_json::{Map, Value};

use crate::AppError;
use crate::stored::messages::JudgeWords;
use crate::views::index::{CellFlag, cost};
use crate::views::run_view::RunView;

/// The trials of one sample and system.
#[derive(Debug, Clone, Default)]
pub struct SystemOutputs {
    /// Model and variant.
    pub system: String,
    /// Registry id of the model, if the system has one.
    pub model: Option<String>,
    /// The variant.
    pub variant: String,
    /// The trials that have a row.
    pub trials: Vec<TrialView>,
    /// The different outputs, in the order of their first trial.
    pub outputs: Vec<OutputView>,
    /// Scores, by metric of the plan.
    pub scores: Vec<ScoreView>,
    /// Judgments of all trials, by trial, scorer and judge.
    pub judgments: Vec<JudgmentView>,
    /// Input, reference and columns of the sample.
    pub texts: Vec<SampleText>,
}

/// One trial.
#[derive(Debug, Clone)]
pub struct TrialView {
    /// Ordinal in the plan.
    pub ordinal: u64,
    /// Repetition, from 0.
    pub trial: u32,
    /// Its status.
    pub status: CellStatus,
    /// The reason for a missing output.
    pub error: Option<String>,
    /// Notes of its steps.
    pub notes: Vec<String>,
    /// Its flags.
    pub flags: Vec<CellFlag>,
    /// Milliseconds that its calls took.
    pub latency_ms: f64,
    /// Dollars, judges included; `None` if a price is unknown.
    pub cost_usd: Option<f64>,
}

/// One of the different outputs.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputView {
    /// The output; text is a JSON string.
    pub value: Value,
    /// Ordinals of the trials that gave it.
    pub ordinals: Vec<u64>,
    /// The output with what judges and scores say of its parts, once [`SystemOutputs::mark`] has run.
    pub marked: Option<MarkedOutput>,
}

impl OutputView {
    /// The output as text: a string as it is, anything else as indented JSON.
    pub fn text(&self) -> String {
        match &self.value {
            Value::String(text) => text.clone(),
            other => serde_json::to_string_pretty(other).unwrap_or_default(),
        }
    }
}

/// A metric's scores of the trials.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoreView {
    /// Position of the metric in the plan.
    pub metric: usize,
    /// Ordinal and score of each trial that has one.
    pub trials: Vec<(u64, Score)>,
}

/// A judgment with all that its reader may want to know.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgmentView {
    /// Ordinal of its cell.
    pub ordinal: u64,
    /// Scorer, judge, scores and reasoning.
    pub words: JudgeWords,
    /// Typed findings by name.
    pub diagnostics: Map<String, Value>,
    /// Caps that applied.
    pub caps: Vec<String>,
    /// The rung of the JSON ladder that the reply was read on.
    pub rung: Option<String>,
    /// Declared version of the rubric.
    pub prompt_version: Option<String>,
    /// Notes.
    pub notes: Vec<String>,
    /// True if an earlier run made it.
    pub is_cached: bool,
}

impl JudgmentView {
    pub(crate) fn of(plan: &PlanHeader, judgment: &JudgmentRow) -> Self {
        Self {
            ordinal: judgment.ordinal,
            words: JudgeWords::of(plan, judgment),
            diagnostics: judgment.diagnostics.clone(),
            caps: judgment.caps.clone(),
            rung: judgment.rung.clone(),
            prompt_version: judgment.prompt_version.clone(),
            notes: judgment.notes.iter().map(|note| note.text.clone()).collect(),
            is_cached: judgment.reused,
        }
    }
}

impl SystemOutputs {
    /// The status to show for all trials: the worst.
    pub fn status(&self) -> CellStatus {
        let has = |status| self.trials.iter().any(|trial| trial.status == status);
        [CellStatus::Error, CellStatus::Skipped].into_iter().find(|status| has(*status)).unwrap_or(CellStatus::Ok)
    }

    /// A text of the sample by its name.
    pub fn text(&self, name: &str) -> Option<&SampleText> {
        self.texts.iter().find(|text| text.name == name)
    }

    /// Marks the parts of outputs that judges and reasons of scores refer to, and collects those of the sample's texts.
    pub(crate) fn mark(&mut self, view: &RunView, sources: &mut MarkedSources) {
        for output in &mut self.outputs {
            let own = |ordinal: &u64| output.ordinals.contains(ordinal);
            let judgments: Vec<_> =
                self.judgments.iter().filter(|it| own(&it.ordinal)).map(|it| &it.diagnostics).collect();
            let mut marked = MarkedOutput::of(&output.value, &judgments);
            sources.add(&self.system, &marked);
            if let Some(answer) = MarkedOutput::of_answer(&output.value).filter(|_| marked.highlights.is_empty()) {
                marked = answer;
            }
            for score in &self.scores {
                let reason = score.trials.iter().find(|(ordinal, _)| own(ordinal)).and_then(|(_, it)| match it {
                    Score::Value { reason, .. } => reason.as_deref(),
                    _ => None,
                });
                let metric = view.metrics.get(score.metric).map(|metric| metric.name.as_str());
                if let (Some(metric), Some(reason)) = (metric, reason) {
                    marked.add_reason(metric, reason);
                }
            }
            // Whoever shows it decides whether objects without marks are lines, too.
            let is_shown = !marked.highlights.is_empty() || !output.value.is_string();
            output.marked = Some(marked).filter(|_| is_shown);
        }
    }

    /// Reads the trials of a group of the index.
    pub(crate) fn read(view: &RunView, rows: &StoredRun, group: usize) -> Result<Self, AppError> {
        let cells = view.index.group(group);
        let place = view.index.place(cells.start);
        let last = view.index.place(cells.end.saturating_sub(1)).ordinal;
        let mut found = Self {
            system: view.system_name(place.system),
            model: view.plan.system_model(place.system).map(|model| model.id.clone()),
            variant: view.plan.system_variant(place.system).to_owned(),
            ..Self::default()
        };
        let mut scores: BTreeMap<usize, Vec<(u64, Score)>> = BTreeMap::new();
        let mut outputs: Vec<(u64, OutputView)> = Vec::new();
        let mut failed = None;
        rows.for_each_in(place.ordinal..last + 1, &mut |row| {
            found.add(view, &row, &mut scores);
            if let Err(error) = add_output(view, rows, row.cell.ordinal, &mut outputs) {
                failed = Some(error);
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        failed.map_or(Ok(()), Err)?;
        found.outputs = outputs.into_iter().map(|(_, output)| output).collect();
        found.scores = scores.into_iter().map(|(metric, trials)| ScoreView { metric, trials }).collect();
        Ok(found)
    }

    fn add(&mut self, view: &RunView, row: &CellRow<'_>, scores: &mut BTreeMap<usize, Vec<(u64, Score)>>) {
        let ordinal = row.cell.ordinal;
        let own = CellScores::of(&view.plan, row).scores.into_iter().enumerate();
        for (metric, score) in own.filter_map(|(metric, score)| Some((metric, score?))) {
            scores.entry(metric).or_default().push((ordinal, score));
        }
        let flags = |cell: usize| CellFlag::ALL.into_iter().filter(move |flag| view.has_flag(cell, *flag));
        self.trials.push(TrialView {
            ordinal,
            trial: row.trial,
            status: row.cell.status,
            error: row.cell.error.as_ref().map(|error| format!("{}: {}", error.code, error.message)),
            notes: row.cell.notes.iter().map(|note| note.text.clone()).collect(),
            flags: view.index.find(ordinal).map(|cell| flags(cell).collect()).unwrap_or_default(),
            latency_ms: row.cell.latency_ms,
            cost_usd: cost(row).map(karat_types::Money::usd),
        });
        self.judgments.extend(row.judgments.iter().map(|judgment| JudgmentView::of(&view.plan, judgment)));
        if self.texts.is_empty() {
            self.texts.clone_from(&row.sample.texts);
        }
    }
}

/// Adds the output of a cell, or its ordinal to an equal one. Outputs with the same hash are compared as well.
fn add_output(
    view: &RunView,
    rows: &StoredRun,
    ordinal: u64,
    outputs: &mut Vec<(u64, OutputView)>,
) -> Result<(), AppError> {
    let Some(value) = rows.output(ordinal)? else { return Ok(()) };
    let hash = view.index.find(ordinal).map_or(0, |cell| view.index.output(cell));
    match outputs.iter_mut().find(|(other, output)| *other == hash && output.value == value) {
        Some((_, same)) => same.ordinals.push(ordinal),
        None => outputs.push((hash, OutputView { value, ordinals: vec![ordinal], marked: None })),
    }
    Ok(())
}
