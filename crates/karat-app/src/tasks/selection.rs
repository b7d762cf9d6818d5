//! The choice of items from the outputs of a run, or from rows of a file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use karat_analysis::{CellScores, LabelDesign, LabelDesignKind, LabelStratum, is_pass};
use karat_store::StoredRun;
use karat_suite::{DiskFiles, Files};
use karat_types::{
    CellRow, CellStatus, Key, KeyBuilder, MetricSpec, PlanHeader, ReferenceUse, RunRows, SampleText, Score,
};
use serde_json::{Map, Value};

use crate::AppError;
use crate::error::{AnnotateError, FileError, Names};
use crate::stored::labels::task::{ContextText, ItemBody, ItemOutput};

/// Unknown ids that a message names.
const NAMED_IDS: usize = 5;

/// The rule by which items are chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Selection {
    Random,
    /// The same number from each value of a column.
    Stratified(String),
    /// Half from the outputs that a judge passed, half from those that it failed, by its metric if one is named.
    Verdict(Option<String>),
    Uncertain,
    Failed,
    /// Those whose samples are listed.
    Ids {
        file: String,
        ids: BTreeSet<String>,
    },
}

impl Selection {
    /// Reads `random`, `stratified:COLUMN`, `verdict`, `verdict:METRIC`, `uncertain`, `failed` or `ids:FILE`.
    pub fn parse(text: &str) -> Result<Self, AppError> {
        let (how, what) = text.split_once(':').unwrap_or((text, ""));
        match (how, what) {
            ("random", "") => Ok(Self::Random),
            ("verdict", "") if text == how => Ok(Self::Verdict(None)),
            ("verdict", metric) if !metric.is_empty() => Ok(Self::Verdict(Some(metric.to_owned()))),
            ("uncertain", "") => Ok(Self::Uncertain),
            ("failed", "") => Ok(Self::Failed),
            ("stratified", column) if !column.is_empty() => Ok(Self::Stratified(column.to_owned())),
            ("ids", file) if !file.is_empty() => {
                let ids = fs::read_to_string(file).map_err(|error| FileError::reading(Path::new(file), error))?;
                let ids = ids.lines().map(str::trim).filter(|id| !id.is_empty()).map(str::to_owned);
                Ok(Self::Ids { file: file.to_owned(), ids: ids.collect() })
            }
            _ => {
                let problem = "there is no such selection".to_owned();
                Err(AnnotateError::Select { text: text.to_owned(), problem }.into())
            }
        }
    }

    /// Returns whether items are chosen because they are hard.
    pub fn is_targeted(&self) -> bool {
        matches!(self, Self::Uncertain | Self::Failed | Self::Ids { .. })
    }

    /// The metric of a run by whose verdict outputs are chosen; `None` for other selections.
    ///
    /// # Errors
    /// The scorer has no such metric, or several; the run has several trials.
    pub fn verdict_metric(&self, plan: &PlanHeader, scorer: &str) -> Result<Option<usize>, AppError> {
        let Self::Verdict(named) = self else { return Ok(None) };
        let own = plan.scorers.iter().position(|it| it.id == scorer);
        let has_verdict = |metric: &MetricSpec| Some(metric.scorer) == own && (metric.binary || metric.bound.is_some());
        let all: Vec<usize> = (0..plan.metrics.len()).filter(|at| has_verdict(&plan.metrics[*at])).collect();
        let names = || all.iter().map(|at| format!("`{}`", plan.metrics[*at].name)).collect::<Vec<_>>().join(", ");
        let problem = match (named, &all[..]) {
            _ if plan.trials > 1 => {
                "the run has several trials, whose verdicts can differ: use random or stratified:COLUMN".to_owned()
            }
            (_, []) => format!(
                "`{scorer}` gives grades, neither pass nor fail: give it a bound, such as `min: 7`, or use random"
            ),
            (None, [only]) => return Ok(Some(*only)),
            (None, _) => format!("`{scorer}` has several verdicts: name one of {}, as in `verdict:METRIC`", names()),
            (Some(named), _) => match all.iter().find(|at| plan.metrics[**at].name == *named) {
                Some(at) => return Ok(Some(*at)),
                None => format!("`{named}` is not a verdict of `{scorer}`; it has {}", names()),
            },
        };
        let text = named.as_ref().map_or_else(|| "verdict".to_owned(), |named| format!("verdict:{named}"));
        Err(AnnotateError::Select { text, problem }.into())
    }

    /// The stratum of a candidate; `None` for selections without strata.
    ///
    /// # Errors
    /// A column that the candidate does not have.
    fn stratum(&self, candidate: &Candidate) -> Result<Option<String>, AppError> {
        match self {
            Self::Stratified(column) => match candidate.columns.get(column) {
                Some(Value::String(text)) => Ok(Some(text.clone())),
                None | Some(Value::Null) => {
                    let problem = format!(
                        "the sample `{}` has no column `{column}`; a run keeps those that `metadata` of the dataset lists",
                        candidate.sample
                    );
                    Err(AnnotateError::Select { text: format!("stratified:{column}"), problem }.into())
                }
                Some(value) => Ok(Some(value.to_string())),
            },
            Self::Verdict(_) => Ok(candidate.passed.map(|passed| if passed { "pass" } else { "fail" }.to_owned())),
            _ => Ok(None),
        }
    }

    /// The rule of a task whose items were chosen from candidates, with their samples and ranks; `by` is the metric of
    /// verdicts.
    ///
    /// # Errors
    /// A column that a candidate does not have.
    pub fn design(
        &self,
        candidates: &[Candidate],
        chosen: &BTreeSet<(String, Key)>,
        by: Option<String>,
    ) -> Result<LabelDesign, AppError> {
        let (kind, by) = match self {
            Self::Random => (LabelDesignKind::Random, None),
            Self::Stratified(column) => (LabelDesignKind::Stratified, Some(column.clone())),
            Self::Verdict(_) => (LabelDesignKind::Verdict, by),
            Self::Uncertain | Self::Failed | Self::Ids { .. } => (LabelDesignKind::Targeted, None),
        };
        let mut strata: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for candidate in candidates {
            let Some(value) = self.stratum(candidate)? else { continue };
            let (rows, drawn) = strata.entry(value).or_default();
            let is_chosen = chosen.contains(&(candidate.sample.clone(), candidate.rank));
            (*rows, *drawn) = (*rows + 1, *drawn + u64::from(is_chosen));
        }
        let strata = strata.into_iter().map(|(value, (rows, drawn))| LabelStratum { value, rows, drawn }).collect();
        Ok(LabelDesign { kind, by, strata })
    }

    /// Checks that every listed sample exists.
    ///
    /// # Errors
    /// The ids that no candidate has.
    pub fn check_ids(&self, candidates: &[Candidate]) -> Result<(), AppError> {
        let Self::Ids { file, ids } = self else { return Ok(()) };
        let there: BTreeSet<&str> = candidates.iter().map(|candidate| candidate.sample.as_str()).collect();
        let unknown: Vec<&String> = ids.iter().filter(|id| !there.contains(id.as_str())).collect();
        match (ids.len(), unknown.len()) {
            (0, _) => Err(AnnotateError::NoIds { file: file.clone() }.into()),
            (_, 0) => Ok(()),
            (all, count) => {
                let named = Names::of(unknown.into_iter().take(NAMED_IDS));
                Err(AnnotateError::UnknownIds { file: file.clone(), count, all, named }.into())
            }
        }
    }
}

/// An output, or a row, that may become an item.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    /// The place in a seeded random order.
    pub rank: Key,
    pub sample: String,
    pub context: Vec<ContextText>,
    /// The cell of a run.
    pub ordinal: u64,
    pub output: Option<Value>,
    pub model: Option<String>,
    pub variant: Option<String>,
    /// Values of columns, for strata.
    columns: Map<String, Value>,
    /// The doubt of the judges, from 0 to 1.
    doubt: f64,
    failed: bool,
    /// The verdict of the judge, where items are chosen by it.
    pub passed: Option<bool>,
}

/// The different outputs of a run, at most `per_sample` of each sample; the outputs themselves are not read.
pub(crate) fn of_run(
    run: &StoredRun,
    seed: u64,
    per_sample: usize,
    reference: ReferenceUse,
    verdict: Option<usize>,
) -> Result<Vec<Candidate>, AppError> {
    let plan = &run.header().plan;
    let mut samples: BTreeMap<String, BTreeMap<Key, Candidate>> = BTreeMap::new();
    run.for_each(&mut |row| {
        if row.cell.status == CellStatus::Ok {
            let rank = KeyBuilder::new("karat/annotate/1").number(seed).key(row.cell.output_hash).finish();
            let candidates = samples.entry(row.sample.id.clone()).or_default();
            candidates.entry(rank).or_insert_with(|| of_cell(plan, &row, rank, reference, verdict));
        }
        ControlFlow::Continue(())
    })?;
    let chosen = samples.into_values().flat_map(|outputs| outputs.into_values().take(per_sample));
    Ok(chosen.collect())
}

fn of_cell(
    plan: &PlanHeader,
    row: &CellRow<'_>,
    rank: Key,
    reference: ReferenceUse,
    verdict: Option<usize>,
) -> Candidate {
    let is_shown = |text: &&SampleText| reference != ReferenceUse::Hidden || !text.is_expected();
    let context = row.sample.texts.iter().filter(is_shown).map(|text| ContextText {
        name: text.name.clone(),
        text: text.text.clone(),
        chars: (text.chars > text.text.chars().count() as u64).then_some(text.chars),
    });
    let mut columns = row.sample.metadata.clone();
    let model = plan.system_model(row.system).map(|model| model.id.clone());
    let variant = plan.system_variant(row.system).to_owned();
    columns.insert("model".to_owned(), model.clone().into());
    columns.insert("variant".to_owned(), variant.clone().into());
    if let Some(cluster) = &row.sample.cluster {
        columns.insert("cluster".to_owned(), cluster.clone().into());
    }
    Candidate {
        rank,
        sample: row.sample.id.clone(),
        context: context.collect(),
        ordinal: row.cell.ordinal,
        output: None,
        model,
        variant: Some(variant),
        columns,
        doubt: doubt(plan, row),
        failed: has_failed(plan, row),
        passed: verdict.and_then(|metric| CellScores::of(plan, row).number(metric)).map(is_pass),
    }
}

fn has_failed(plan: &PlanHeader, row: &CellRow<'_>) -> bool {
    let judged = row.judgments.iter().flat_map(|judgment| &judgment.scores);
    row.cell.scores.iter().chain(judged).any(|(metric, score)| match score {
        Score::Value { value, verdict, .. } => {
            let is_binary = plan.metrics.get(usize::from(*metric)).is_some_and(|metric| metric.binary);
            (*verdict || is_binary) && *value <= 0.0
        }
        Score::Unscored { .. } => true,
        Score::NotApplicable { .. } => false,
    })
}

/// The spread of the judges' scores as a share of the scale, the largest of all metrics; of a single judge, half the
/// nearness to the middle of the scale. An unscored output counts as 1.
fn doubt(plan: &PlanHeader, row: &CellRow<'_>) -> f64 {
    let mut scores: BTreeMap<u16, Vec<f64>> = BTreeMap::new();
    for (metric, score) in row.judgments.iter().flat_map(|judgment| &judgment.scores) {
        match score {
            Score::Value { value, .. } => scores.entry(*metric).or_default().push(*value),
            Score::Unscored { .. } => return 1.0,
            Score::NotApplicable { .. } => {}
        }
    }
    let of_metric = |(metric, values): (u16, Vec<f64>)| {
        let range = plan.metrics.get(usize::from(metric)).and_then(|metric: &MetricSpec| metric.range);
        let (lo, hi) = range.filter(|(lo, hi)| lo < hi)?;
        let (least, most) = values.iter().fold((hi, lo), |(least, most), value| (value.min(least), value.max(most)));
        match values.len() {
            1 => Some(0.5 - ((most - lo) / (hi - lo) - 0.5).abs()),
            _ => Some((most - least) / (hi - lo)),
        }
    };
    scores.into_iter().filter_map(of_metric).fold(0.0, f64::max)
}

/// The rows of a file, in any form that a suite's `dataset` reads.
pub(crate) fn read_rows(file: &Path) -> Result<Vec<Map<String, Value>>, AppError> {
    let files: Arc<dyn Files> = Arc::new(DiskFiles);
    let name = file.display().to_string();
    karat_suite::read_rows(&files, &name)
        .map_err(|error| AnnotateError::Rows { file: name, problem: error.to_string() }.into())
}

/// Names of columns that say which row it is.
const ROW_NAMES: [&str; 2] = ["id", "sample"];

/// The column of a row that is labelled.
fn labelled_column(row: &Map<String, Value>) -> &'static str {
    if row.contains_key("output") { "output" } else { SampleText::INPUT }
}

/// Returns whether people see a column beside what they label.
fn is_shown_column(name: &str, show: &[String]) -> bool {
    [SampleText::INPUT, SampleText::REFERENCE].contains(&name) || show.iter().any(|shown| shown == name)
}

/// The columns of rows that nobody will see, in order; columns that stand in `show` and in no row are an error.
///
/// # Errors
/// The name that no row has.
pub(crate) fn hidden_columns(rows: &[Map<String, Value>], show: &[String]) -> Result<Vec<String>, AppError> {
    let all: BTreeSet<&String> = rows.iter().flat_map(Map::keys).collect();
    if let Some(unknown) = show.iter().find(|name| !all.contains(name)) {
        return Err(AnnotateError::NoShownColumn { column: unknown.clone(), columns: Names::of(all) }.into());
    }
    // A row without an output and an input is shown whole.
    let partly = rows.iter().filter(|row| row.contains_key(labelled_column(row)));
    let hidden = partly.flat_map(|row| {
        let labelled = labelled_column(row);
        row.keys().filter(move |name| *name != labelled && !ROW_NAMES.contains(&name.as_str()))
    });
    let hidden: BTreeSet<&String> = hidden.filter(|name| !is_shown_column(name, show)).collect();
    Ok(hidden.into_iter().cloned().collect())
}

/// Rows of a file as candidates: `output` is labelled, or `input` where there is none; `input`, `reference` and the columns in
/// `show` are shown beside it.
pub(crate) fn of_rows(rows: Vec<Map<String, Value>>, seed: u64, show: &[String]) -> Vec<Candidate> {
    let candidate = |(at, row): (usize, Map<String, Value>)| {
        let sample = match row.get("id").or_else(|| row.get("sample")) {
            Some(Value::String(id)) => id.clone(),
            Some(Value::Number(id)) => id.to_string(),
            _ => (at + 1).to_string(),
        };
        let labelled = labelled_column(&row);
        // A label belongs to the content of a row, not to its id.
        let content = || row.iter().filter(|(name, _)| !ROW_NAMES.contains(&name.as_str()));
        let whole = || content().map(|(name, value)| (name.clone(), value.clone())).collect();
        let output = row.get(labelled).cloned().unwrap_or_else(|| Value::Object(whole()));
        // The input first, what is expected last, and between them the columns in the order of `show`.
        let own = show.iter().map(String::as_str).filter(|name| !is_shown_column(name, &[]));
        let names = [SampleText::INPUT].into_iter().chain(own).chain([SampleText::REFERENCE]);
        let names = names.filter(|name| *name != labelled);
        let context = names.filter_map(|name| {
            let SampleText { name, text, chars } = SampleText::of(name, row.get(name)?);
            Some(ContextText { name, chars: (chars > text.chars().count() as u64).then_some(chars), text })
        });
        Candidate {
            rank: KeyBuilder::new("karat/annotate/row/1").number(seed).text(&sample).value(&output).finish(),
            sample,
            context: context.collect(),
            ordinal: 0,
            output: Some(output),
            model: None,
            variant: None,
            columns: row,
            doubt: 0.0,
            failed: false,
            passed: None,
        }
    };
    rows.into_iter().enumerate().map(candidate).collect()
}

/// Chooses at most `count` candidates, in the seeded order.
///
/// # Errors
/// A column that no candidate has.
pub(crate) fn choose(
    mut candidates: Vec<Candidate>,
    selection: &Selection,
    count: Option<usize>,
) -> Result<Vec<Candidate>, AppError> {
    candidates.sort_by_key(|candidate| candidate.rank);
    match selection {
        Selection::Random => {}
        Selection::Ids { ids, .. } => candidates.retain(|candidate| ids.contains(&candidate.sample)),
        Selection::Failed => candidates.retain(|candidate| candidate.failed),
        Selection::Uncertain => candidates.sort_by(|a, b| b.doubt.total_cmp(&a.doubt)),
        Selection::Stratified(_) | Selection::Verdict(_) => {
            // The same number from each stratum, as long as it has some left.
            let mut strata: BTreeMap<String, usize> = BTreeMap::new();
            let mut places = Vec::new();
            for candidate in candidates {
                let Some(value) = selection.stratum(&candidate)? else { continue };
                let round = strata.entry(value).or_default();
                places.push((*round, candidate));
                *round += 1;
            }
            places.sort_by_key(|(round, candidate)| (*round, candidate.rank));
            candidates = places.into_iter().map(|(_, candidate)| candidate).collect();
        }
    }
    candidates.truncate(count.unwrap_or(usize::MAX));
    // Hard items first would say how hard they are.
    candidates.sort_by_key(|candidate| candidate.rank);
    Ok(candidates)
}

/// A text as people read it: strings as they are, everything else as indented JSON.
pub(crate) fn shown_text(output: &Value) -> String {
    match output {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

/// An item of a candidate with its output.
pub(crate) fn item(candidate: Candidate, outputs: Vec<ItemOutput>) -> ItemBody {
    ItemBody { sample: candidate.sample, context: candidate.context, outputs, gold: None, passed: candidate.passed }
}
