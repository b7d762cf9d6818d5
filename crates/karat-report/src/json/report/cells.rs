//! The cells of the report, one at a time.

use std::collections::BTreeMap;

use karat_analysis::gate::Counted;
use karat_analysis::{CellScores, Consensus, Spend, merge_diagnostics};
use karat_types::{
    CascadeDraw, CellError, CellRow, CellStatus, JudgmentRow, Key, MetricSpec, Note, PlanHeader, RowError, Score, Usage,
};
use serde::ser::{Error, Serialize, SerializeSeq, Serializer};
use serde_json::{Map, Value};

use super::INLINE_OUTPUT;
use super::cost::Cost;
use crate::shared::report::{Cells, RenderError};

/// Keys of the metrics that are shown, with their index.
type Keys<'a> = BTreeMap<&'a str, usize>;

/// The keys of a plan's metrics in its cells, which are the same in all cells.
pub(super) struct CellKeys<'a> {
    /// By the metric's full name.
    names: Keys<'a>,
    /// By the short key, for fields that merge several scorers.
    together: Keys<'a>,
}

impl<'a> CellKeys<'a> {
    pub(super) fn of(cells: Cells<'a>) -> Self {
        Self {
            names: cells.metrics().map(|(at, metric)| (metric.name.as_str(), at)).collect(),
            together: cells.metrics().map(|(at, metric)| (key(cells.plan, metric), at)).collect(),
        }
    }
}

/// The values of a cell's metrics under their keys.
struct Members<'a, T> {
    keys: &'a Keys<'a>,
    /// By metric index.
    values: Vec<Option<T>>,
}

impl<T: Serialize> Serialize for Members<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.keys.iter().filter_map(|(key, at)| Some((key, self.values.get(*at)?.as_ref()?))))
    }
}

/// A cell in the report.
#[derive(serde::Serialize)]
pub(super) struct Cell<'a> {
    ordinal: u64,
    sample: &'a str,
    model: Option<&'a str>,
    variant: &'a str,
    trial: u32,
    status: CellStatus,
    /// True if it was under way when the run stopped early, so that it enters no figure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    after_stop: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cached: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_ref: Option<OutputRef>,
    scores: Members<'a, Score>,
    /// By metric: what a cascade lets expect of the judges that were not asked.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    estimated: BTreeMap<&'a str, f64>,
    judgments: Vec<Judgment<'a>>,
    consensus: Members<'a, Consensus>,
    /// United over several judges.
    #[serde(skip_serializing_if = "Map::is_empty")]
    diagnostics: Map<String, Value>,
    usage: Usage,
    cost: Cost,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ms: Option<f64>,
    #[serde(skip_serializing_if = "<[Note]>::is_empty")]
    notes: &'a [Note],
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a CellError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call_ids: Option<&'a [Key]>,
}

/// The hash of an output that is too long for the report.
#[derive(serde::Serialize)]
struct OutputRef {
    hash: Key,
    bytes: usize,
    /// Where the whole output is.
    see: &'static str,
}

/// Text of [`OutputRef::see`].
const SEE: &str = "longer than 2048 bytes: `karat export jsonl RUN` and `karat trace RUN CELL` have the whole output";

/// A judgment in the report.
#[derive(serde::Serialize)]
struct Judgment<'a> {
    scorer: &'a str,
    judge: &'a str,
    prompt_version: Option<&'a str>,
    scores: BTreeMap<&'a str, &'a Score>,
    reasoning: &'a str,
    diagnostics: &'a Map<String, Value>,
    caps: &'a [String],
    rung: Option<&'a str>,
    shuffle_seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    fresh: Option<bool>,
    usage: Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ms: Option<f64>,
    #[serde(skip_serializing_if = "<[Note]>::is_empty")]
    notes: &'a [Note],
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a CellError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call_ids: Option<&'a [Key]>,
    /// The draw of the cell, if the scorer has a cascade.
    #[serde(skip_serializing_if = "Option::is_none")]
    cascade: Option<CascadeDraw>,
}

impl<'a> Cell<'a> {
    pub(super) fn of(
        cells: Cells<'a>,
        keys: &'a CellKeys<'a>,
        (row, counted): (&CellRow<'a>, Counted),
    ) -> Result<Self, RowError> {
        let plan = cells.plan;
        let cell = row.cell;
        let volatile = !cells.canonical;
        let scores = CellScores::of(plan, row);
        let judged: &[JudgmentRow] = row.judgments;
        let (output, output_ref) = output(cells, row)?;
        Ok(Self {
            ordinal: cell.ordinal,
            sample: &row.sample.id,
            model: plan.system_model(row.system).map(|model| model.id.as_str()),
            variant: plan.system_variant(row.system),
            trial: row.trial,
            status: cell.status,
            after_stop: counted == Counted::AfterStop,
            cached: volatile.then_some(cell.reused),
            output,
            output_ref,
            scores: Members { keys: &keys.names, values: scores.scores },
            estimated: estimates(cells, row),
            judgments: judged.iter().map(|judgment| Judgment::of(cells, judgment)).collect(),
            consensus: Members { keys: &keys.together, values: scores.consensus },
            diagnostics: if judged.len() > 1 { merge_diagnostics(judged) } else { Map::new() },
            usage: cell.cost.usage,
            cost: Cost::of(&Spend::of(row), cells.cell_estimate(row.system), cells.canonical),
            latency_ms: (volatile && !cell.facts.untimed).then_some(cell.latency_ms),
            notes: &cell.notes,
            error: cell.error.as_ref(),
            call_ids: volatile.then_some(&cell.calls),
        })
    }
}

impl<'a> Judgment<'a> {
    fn of(cells: Cells<'a>, judgment: &'a JudgmentRow) -> Self {
        let plan = cells.plan;
        let volatile = !cells.canonical;
        let own = |(at, score): &'a (u16, Score)| {
            let metric = plan.metrics.get(usize::from(*at))?;
            Some((dimension(plan, metric), score))
        };
        Self {
            scorer: plan.scorers.get(usize::from(judgment.scorer)).map_or("", |scorer| &scorer.id),
            judge: plan.judges.get(usize::from(judgment.judge)).map_or("", |judge| &judge.id),
            prompt_version: judgment.prompt_version.as_deref(),
            scores: judgment.scores.iter().filter_map(own).collect(),
            reasoning: &judgment.reasoning,
            diagnostics: &judgment.diagnostics,
            caps: &judgment.caps,
            rung: judgment.rung.as_deref(),
            shuffle_seed: judgment.shuffle_seed,
            fresh: volatile.then_some(!judgment.reused),
            usage: judgment.cost.usage,
            latency_ms: volatile.then_some(judgment.latency_ms),
            notes: &judgment.notes,
            error: judgment.error.as_ref(),
            call_ids: volatile.then_some(&judgment.calls),
            cascade: judgment.cascade,
        }
    }
}

/// Returns the expected scores of a cell that a cascade's judges were not asked about.
fn estimates<'a>(cells: Cells<'a>, row: &CellRow<'_>) -> BTreeMap<&'a str, f64> {
    let Some(findings) = cells.findings.filter(|_| row.judgments.iter().any(|it| !it.is_asked())) else {
        return BTreeMap::new();
    };
    let expected =
        |(at, metric): (usize, &'a MetricSpec)| Some((metric.name.as_str(), findings.expected_score(row, at)?));
    cells.metrics().filter_map(expected).collect()
}

/// Returns a metric's dimension: its name without the scorer's.
fn dimension<'a>(plan: &'a PlanHeader, metric: &'a MetricSpec) -> &'a str {
    let own = plan.scorers.get(metric.scorer).and_then(|scorer| metric.name.strip_prefix(scorer.id.as_str()));
    own.and_then(|rest| rest.strip_prefix('.')).unwrap_or(&metric.name)
}

/// Returns a metric's key in fields that merge several scorers: the dimension, unless another scorer has the same
/// one.
fn key<'a>(plan: &'a PlanHeader, metric: &'a MetricSpec) -> &'a str {
    let own = dimension(plan, metric);
    let taken = plan.metrics.iter().any(|other| other.scorer != metric.scorer && dimension(plan, other) == own);
    if taken { &metric.name } else { own }
}

/// Returns the output if it is short or all are wanted, otherwise its hash and size.
fn output(cells: Cells<'_>, row: &CellRow<'_>) -> Result<(Option<Value>, Option<OutputRef>), RowError> {
    if row.cell.status != CellStatus::Ok {
        return Ok((None, None));
    }
    let Some(value) = cells.rows.output(row.cell.ordinal)? else { return Ok((None, None)) };
    // Escaping turns one byte into at most six, so a short text need not be serialized to measure it.
    let is_short = value.as_str().is_some_and(|text| 2 + 6 * text.len() <= INLINE_OUTPUT);
    let bytes = if is_short { 0 } else { value.to_string().len() };
    Ok(if bytes <= INLINE_OUTPUT || cells.whole_outputs {
        (Some(value), None)
    } else {
        (None, Some(OutputRef { hash: row.cell.output_hash, bytes, see: SEE }))
    })
}

/// The cells of a run in plan order, read while they are serialized so that memory holds one of them.
pub(super) struct CellList<'a>(pub Cells<'a>);

impl Serialize for CellList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let keys = CellKeys::of(self.0);
        let mut list = serializer.serialize_seq(None)?;
        // The serializer's own error, which the caller tells apart from that of the rows.
        let mut failed = None;
        let read = self.0.each_marked_row(0..u64::MAX, |row, counted| {
            let cell = Cell::of(self.0, &keys, (&row, counted)).map_err(S::Error::custom);
            cell.and_then(|cell| list.serialize_element(&cell)).map_err(|error| {
                let stopped = RowError(error.to_string());
                failed = Some(error);
                stopped.into()
            })
        });
        match (failed, read) {
            (Some(error), _) => Err(error),
            // The caller adds what was attempted.
            (None, Err(RenderError::Rows(error))) => Err(S::Error::custom(error)),
            (None, Err(error)) => Err(S::Error::custom(error)),
            (None, Ok(())) => list.end(),
        }
    }
}
