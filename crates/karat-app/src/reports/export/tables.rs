//! Rows of a run's tables: `cells`, `metrics`, `judgments` and `calls`. What is absent is null, and never 0.

use std::collections::HashSet;

use karat_analysis::CellScores;
use karat_columnar::{Column, ColumnKind, Field};
use karat_store::{Store, StoredCall, StoredRun};
use karat_types::{
    CallRecord, CellRow, CellStatus, FinishReason, JudgmentRow, Key, MetricSpec, ModelSpec, PASS, PlanHeader, RunRows,
    Score, ScorerKind, Usage,
};
use serde_json::Value;

use super::{choice, dimension, expected_text, input_text};
use crate::AppError;

/// A table of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunTable {
    /// A row for each cell, with its output and its scores.
    Cells,
    /// A row for each score of a cell, with its reason.
    Scores,
    /// A row for each dimension and each time that a judge was asked.
    Judgments,
    /// A row for each call.
    Calls,
}

impl RunTable {
    /// All tables, in the order of their files.
    pub const ALL: [Self; 4] = [Self::Cells, Self::Scores, Self::Judgments, Self::Calls];

    /// The columns of the table of a run.
    pub(super) fn columns(self, plan: &PlanHeader) -> Vec<Column> {
        match self {
            Self::Cells => cell_columns(plan),
            Self::Scores => metric_columns(),
            Self::Judgments => judgment_columns(),
            Self::Calls => call_columns(),
        }
    }
}

/// A cell whose rows are made.
pub(super) struct TabledCell<'c> {
    row: &'c CellRow<'c>,
    scores: CellScores,
}

/// Makes the rows of a run's tables, cell by cell.
pub(super) struct TableRows<'p> {
    run: &'p str,
    plan: &'p PlanHeader,
    /// Index of the metric that joins all bounds, where the suite has bounds.
    pass: Option<usize>,
    /// Calls whose rows are made: one may serve several cells.
    made: HashSet<Key>,
}

impl<'p> TableRows<'p> {
    /// No rows yet.
    pub fn new(run: &'p str, plan: &'p PlanHeader) -> Self {
        Self { run, plan, pass: plan.metrics.iter().position(|metric| metric.name == PASS), made: HashSet::new() }
    }

    /// A cell with its scores.
    pub fn with_scores<'c>(&self, row: &'c CellRow<'c>) -> TabledCell<'c> {
        TabledCell { row, scores: CellScores::of(self.plan, row) }
    }

    /// The rows of a cell in a table.
    pub fn of_cell(
        &mut self,
        table: RunTable,
        (store, stored): (&Store, &StoredRun),
        TabledCell { row, scores }: &TabledCell<'_>,
    ) -> Result<Vec<Vec<Field>>, AppError> {
        Ok(match table {
            RunTable::Cells => {
                let is_ok = row.cell.status == CellStatus::Ok;
                let output = if is_ok { stored.output(row.cell.ordinal)? } else { None };
                vec![self.cell(row, scores, output.as_ref())]
            }
            RunTable::Scores => {
                let given = self.plan.metrics.iter().zip(&scores.scores);
                let given = given.filter_map(|(metric, score)| Some((metric, score.as_ref()?)));
                let line = |(metric, score): (&MetricSpec, &Score)| {
                    let mut fields = self.identity(row);
                    fields.push(metric.name.as_str().into());
                    fields.extend(score_fields(score, metric));
                    fields
                };
                given.map(line).collect()
            }
            RunTable::Judgments => row.judgments.iter().flat_map(|judgment| self.judgment(row, judgment)).collect(),
            RunTable::Calls => self.calls(store, row)?,
        })
    }

    /// The first fields of all tables but the calls.
    fn identity(&self, row: &CellRow<'_>) -> Vec<Field> {
        vec![
            self.run.into(),
            row.sample.id.as_str().into(),
            self.plan.system_model(row.system).map(|model| model.id.as_str()).into(),
            self.plan.system_variant(row.system).into(),
            row.trial.into(),
        ]
    }

    fn cell(&self, row: &CellRow<'_>, scores: &CellScores, output: Option<&Value>) -> Vec<Field> {
        let cell = row.cell;
        let status = match cell.status {
            CellStatus::Ok => "ok",
            CellStatus::Error => "error",
            CellStatus::Skipped => "skipped",
        };
        let mut fields = self.identity(row);
        fields.extend([
            self.plan.suite.as_str().into(),
            row.sample.cluster.as_deref().into(),
            status.into(),
            input_text(row.sample).into(),
            expected_text(row.sample).into(),
            output.map(plain_text).into(),
            cell.error.as_ref().map(|error| error.code.as_str()).into(),
            cell.error.as_ref().map(|error| error.message.as_str()).into(),
            // Outputs that no call made have no time, unless they brought one.
            Some(cell.latency_ms).filter(|latency| *latency > 0.0 && !cell.facts.untimed).into(),
        ]);
        let is_metered = !cell.calls.is_empty() || cell.cost.usage != Usage::default();
        fields.extend(token_fields(is_metered.then_some(cell.cost.usage)));
        fields.push(cell.cost.cost.filter(|_| is_metered).map(karat_types::Money::usd).into());
        fields.push(self.pass.and_then(|pass| scores.number(pass)).map(|pass| pass >= 1.0).into());
        fields.extend((0..self.plan.metrics.len()).map(|metric| scores.number(metric).into()));
        let member = |(name, value): (&String, &Value)| (name.clone(), plain_text(value));
        fields.push(Field::TextMap(row.sample.metadata.iter().map(member).collect()));
        fields
    }

    /// A row for each dimension and each time that the judge was asked.
    fn judgment(&self, row: &CellRow<'_>, judgment: &JudgmentRow) -> Vec<Vec<Field>> {
        let Some(scorer) = self.plan.scorers.get(usize::from(judgment.scorer)) else { return Vec::new() };
        let judges = match &scorer.kind {
            ScorerKind::Rubric(rubric) => rubric.judges.as_slice(),
            ScorerKind::Metric { .. } => &[],
        };
        let judge = self.plan.judges.get(usize::from(judgment.judge)).map(|judge| judge.id.as_str());
        let judge = judge.or_else(|| judges.first().map(String::as_str));
        let calls: Vec<String> = judgment.calls.iter().map(ToString::to_string).collect();
        let line = |vote: u32, order: Option<&str>, metric: u16, score: Option<f64>| {
            let metric = self.plan.metrics.get(usize::from(metric)).map_or("", |metric| metric.name.as_str());
            // Overall figures and breakdowns are not dimensions.
            let within = || metric.strip_prefix(&format!("{}.", scorer.id)).unwrap_or(metric);
            let name = dimension(scorer, metric).map_or_else(within, |dimension| dimension.name.as_str());
            let mut fields = self.identity(row);
            fields.extend([
                scorer.id.as_str().into(),
                judge.into(),
                vote.into(),
                order.into(),
                name.into(),
                score.into(),
                score.and_then(|score| choice(scorer, metric, score)).into(),
                Some(judgment.reasoning.as_str()).filter(|text| !text.is_empty()).into(),
                judgment.rung.as_deref().into(),
                judgment.prompt_version.as_deref().into(),
                (!judgment.reused).into(),
                Field::TextList(calls.clone()),
            ]);
            fields
        };
        if judgment.rounds.is_empty() {
            let scores = judgment.scores.iter();
            return scores.map(|(metric, score)| line(1, None, *metric, score.number())).collect();
        }
        let rounds = judgment.rounds.iter().zip(1..);
        let is_pair = judgment.rounds.iter().any(|round| round.swapped);
        let order = |swapped| is_pair.then_some(if swapped { "second" } else { "first" });
        rounds
            .flat_map(|(round, vote)| {
                round.scores.iter().map(move |(metric, score)| (vote, round.swapped, *metric, *score))
            })
            .map(|(vote, swapped, metric, score)| line(vote, order(swapped), metric, Some(score)))
            .collect()
    }

    /// The calls of a cell that have no row yet.
    fn calls(&mut self, store: &Store, row: &CellRow<'_>) -> Result<Vec<Vec<Field>>, AppError> {
        let of_judges = row.judgments.iter().flat_map(|judgment| &judgment.calls).map(|key| (*key, true));
        let of_steps = row.cell.calls.iter().map(|key| (*key, false));
        let new: Vec<(Key, bool)> = of_steps.chain(of_judges).filter(|(key, _)| self.made.insert(*key)).collect();
        let keys: Vec<Key> = new.iter().map(|(key, _)| *key).collect();
        let mut rows = Vec::new();
        for ((_, by_judge), found) in new.into_iter().zip(store.calls(Some(self.run), &keys)?) {
            let StoredCall::Kept(found) = found else { continue };
            let models = if by_judge { &self.plan.judges } else { &self.plan.models };
            let model = models.iter().find(|model| model.id == found.record.model);
            let role = match (by_judge, model) {
                (true, _) => "judge",
                (false, Some(_)) => "model",
                (false, None) => "service",
            };
            rows.push(call(self.run, role, model, &found.record));
        }
        Ok(rows)
    }
}

fn call(run: &str, role: &str, model: Option<&ModelSpec>, call: &CallRecord) -> Vec<Field> {
    let status = call.error.as_ref().map_or("ok", |error| error.code.as_str());
    let mut fields: Vec<Field> = vec![
        run.into(),
        call.key.to_string().into(),
        role.into(),
        model.map(|model| model.provider.as_str()).into(),
        call.model.as_str().into(),
        // The ledger keeps how long a call took, not when it began.
        Field::Null,
        call.latency_ms.into(),
        call.attempts.into(),
        status.into(),
    ];
    // Services report no tokens, or their own ones in the cell.
    fields.extend(token_fields(call.usage.filter(|usage| *usage != Usage::default())));
    fields.push(call.cost.map(karat_types::Money::usd).into());
    fields.push(call.cost_source.as_str().into());
    fields.push(call.finish.map(finish_reason).into());
    fields.push(Some(&call.request).filter(|it| !it.is_empty()).map(|it| blake3::hash(it).to_hex().to_string()).into());
    fields
}

fn finish_reason(finish: FinishReason) -> &'static str {
    match finish {
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
        FinishReason::Refusal => "refusal",
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::MalformedCall => "malformed_call",
        FinishReason::Other => "other",
    }
}

/// Value, verdict, state and reason.
fn score_fields(score: &Score, metric: &MetricSpec) -> [Field; 4] {
    match score {
        Score::Value { value, reason, verdict } => [
            (*value).into(),
            (metric.binary || *verdict).then_some(if *value >= 1.0 { "pass" } else { "fail" }).into(),
            "scored".into(),
            reason.as_deref().into(),
        ],
        Score::NotApplicable { na } => [Field::Null, Field::Null, "na".into(), na.as_ref().into()],
        Score::Unscored { unscored } => [Field::Null, Field::Null, "unscored".into(), unscored.as_str().into()],
    }
}

fn token_fields(usage: Option<Usage>) -> [Field; 3] {
    let tokens = |of: fn(&Usage) -> u64| usage.as_ref().map(of).and_then(|count| i64::try_from(count).ok()).into();
    [tokens(|it| it.input_tokens), tokens(|it| it.output_tokens), tokens(|it| it.cached_input_tokens)]
}

/// Texts as they are, everything else as JSON.
fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

const IDENTITY: [(&str, ColumnKind); 5] = [
    ("run", ColumnKind::Text),
    ("sample", ColumnKind::Text),
    ("model", ColumnKind::Text),
    ("variant", ColumnKind::Text),
    ("trial", ColumnKind::SmallInteger),
];

const TOKENS: [(&str, ColumnKind); 3] = [
    ("input_tokens", ColumnKind::Integer),
    ("output_tokens", ColumnKind::Integer),
    ("cached_tokens", ColumnKind::Integer),
];

fn columns(parts: &[&[(&str, ColumnKind)]]) -> Vec<Column> {
    parts.concat().into_iter().map(|(name, kind)| Column::new(name, kind)).collect()
}

fn cell_columns(plan: &PlanHeader) -> Vec<Column> {
    let texts = ["suite", "cluster", "status", "input", "reference", "output", "error_code", "error_message"];
    let texts = texts.map(|name| (name, ColumnKind::Text));
    let latency = [("latency_ms", ColumnKind::Double)];
    let rest = [("cost_usd", ColumnKind::Double), ("pass", ColumnKind::Bool)];
    let mut columns = columns(&[&IDENTITY, &texts, &latency, &TOKENS, &rest]);
    let metrics = plan.metrics.iter();
    columns.extend(metrics.map(|metric| Column::new(format!("score.{}", metric.name), ColumnKind::Double)));
    columns.push(Column::new("meta", ColumnKind::TextMap));
    columns
}

fn metric_columns() -> Vec<Column> {
    let own = [
        ("metric", ColumnKind::Text),
        ("value", ColumnKind::Double),
        ("verdict", ColumnKind::Text),
        ("state", ColumnKind::Text),
        ("reason", ColumnKind::Text),
    ];
    columns(&[&IDENTITY, &own])
}

fn judgment_columns() -> Vec<Column> {
    let own = [
        ("scorer", ColumnKind::Text),
        ("judge", ColumnKind::Text),
        ("vote", ColumnKind::SmallInteger),
        ("order", ColumnKind::Text),
        ("dimension", ColumnKind::Text),
        ("score", ColumnKind::Double),
        ("choice", ColumnKind::Text),
        ("reasoning", ColumnKind::Text),
        ("rung", ColumnKind::Text),
        ("prompt_version", ColumnKind::Text),
        ("fresh", ColumnKind::Bool),
        ("call_ids", ColumnKind::TextList),
    ];
    columns(&[&IDENTITY, &own])
}

fn call_columns() -> Vec<Column> {
    let own = [
        ("run", ColumnKind::Text),
        ("call_id", ColumnKind::Text),
        ("role", ColumnKind::Text),
        ("provider", ColumnKind::Text),
        ("model", ColumnKind::Text),
        ("started_at", ColumnKind::Time),
        ("latency_ms", ColumnKind::Double),
        ("attempts", ColumnKind::SmallInteger),
        ("status", ColumnKind::Text),
    ];
    let rest = [
        ("cost_usd", ColumnKind::Double),
        ("cost_source", ColumnKind::Text),
        ("finish_reason", ColumnKind::Text),
        ("request_hash", ColumnKind::Text),
    ];
    columns(&[&own, &TOKENS, &rest])
}
