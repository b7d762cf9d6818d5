//! A run that labels spans as one snapshot `{timestamp, promptCount, sourceFile, judgeModel, results[], summary}`: the form that
//! `karat import span-snapshot` reads. Each span and each error has its `section`.

use std::collections::HashMap;
use std::io::Write;

use karat_analysis::{CellScores, Diagnostics, Evaluation, Outcome};
use karat_types::{CellRow, CellStatus, PlanHeader, RunRows, Score};
use serde_json::{Map, Value, json};

use super::{for_each_cell, input_text};
use crate::AppError;
use crate::error::{Bug, FileError};
use crate::reports::Reports;
use crate::stored::findings::findings;
use crate::stored::messages::JudgeWords;
use crate::stored::run::rfc3339;

impl Reports<'_> {
    /// Writes the snapshot of a run. Returns the number of its results.
    ///
    /// # Errors
    /// The run cannot be read or analysed, or has no analysis `diagnostics`; the bytes cannot be written.
    pub fn export_span_snapshot(&self, run: &str, out: &mut dyn Write) -> Result<usize, AppError> {
        let stored = self.app.stored().run(run)?;
        let found = findings(&stored)?;
        let plan = &found.plan;
        let figures = found.analyses.iter().find_map(|analysed| match &analysed.outcome {
            Outcome::Diagnostics(figures) => Some((analysed.id.as_str(), figures)),
            _ => None,
        });
        let Some((id, figures)) = figures else {
            let problem = "it has no analysis `diagnostics`, whose figures a snapshot holds";
            return Err(FileError::of("writing a snapshot", "of the run", std::io::Error::other(problem)).into());
        };
        let spec = plan.analyses.iter().find(|spec| spec.id == id);
        let option = |name: &str| spec.and_then(|spec| spec.with.get(name)).and_then(Value::as_str).unwrap_or_default();
        let form =
            SnapshotForm { plan, scorer: option("scorer"), text: path(option("text")), items: path(option("items")) };
        let evaluations = by_cell(figures);
        let mut results = Vec::new();
        for_each_cell(&stored, |row| {
            if row.cell.status != CellStatus::Skipped {
                let output = if row.cell.status == CellStatus::Ok { stored.output(row.cell.ordinal)? } else { None };
                let system = (plan.systems.len() > 1).then(|| karat_analysis::system_id(plan, row.system));
                let evaluation = evaluations.get(&(row.sample.id.as_str(), system.as_deref(), row.trial)).copied();
                results.push(form.result(row, output.as_ref(), evaluation));
            }
            Ok(())
        })?;
        let header = stored.header();
        let judges: Vec<&str> = plan.judges.iter().map(|judge| judge.id.as_str()).collect();
        let (summary, confidence) = summary(figures)?;
        let count = results.len();
        let snapshot = json!({
            "timestamp": rfc3339(header.completed_at.unwrap_or(header.started_at)),
            "promptCount": found.samples(),
            "sourceFile": plan.dataset.sources.first().map(|source| source.path.as_str()),
            "judgeModel": judges.join(", "),
            "results": results,
            "summary": summary,
            "confidenceAnalysis": confidence,
        });
        let written = out.write_all(format!("{snapshot:#}\n").as_bytes());
        written.map_err(|error| FileError::of("writing a snapshot", "of the run", error))?;
        Ok(count)
    }
}

fn path(text: &str) -> Option<karat_text::path::Path> {
    karat_text::path::Path::parse(text).ok()
}

type CellName<'a> = (&'a str, Option<&'a str>, u32);

fn by_cell(figures: &Diagnostics) -> HashMap<CellName<'_>, &Evaluation> {
    figures.all.evaluations.iter().map(|it| ((it.sample.as_str(), it.system.as_deref(), it.trial), it)).collect()
}

/// The figures over all results, without the results, and those of confidence.
fn summary(figures: &Diagnostics) -> Result<(Value, Value), AppError> {
    let value = serde_json::to_value(&figures.all).map_err(|source| Bug::Json { what: "the figures", source })?;
    let Value::Object(mut summary) = value else { return Ok((Value::Null, Value::Null)) };
    summary.remove("evaluations");
    let confidence = summary.remove("confidence").unwrap_or_default();
    Ok((Value::Object(summary), confidence))
}

/// The parts of a suite that a snapshot is made of.
struct SnapshotForm<'a> {
    plan: &'a PlanHeader,
    /// The scorer of the verdicts.
    scorer: &'a str,
    /// Paths of the text and of the spans within an output.
    text: Option<karat_text::path::Path>,
    items: Option<karat_text::path::Path>,
}

impl SnapshotForm<'_> {
    fn result(&self, row: &CellRow<'_>, output: Option<&Value>, evaluation: Option<&Evaluation>) -> Value {
        let of_output = |path: &Option<karat_text::path::Path>| Some(path.as_ref()?.first(output?)?.clone());
        let metadata = Value::Object(row.sample.metadata.clone());
        let text = of_output(&self.text).or_else(|| self.text.as_ref()?.first(&metadata).cloned());
        let mut result = json!({
            "promptId": row.sample.id,
            "input": input_text(row.sample),
            "output": text,
            "spans": spans(of_output(&self.items), evaluation),
            "spanCount": evaluation.and_then(|it| it.span_count),
            "latencyMs": row.cell.latency_ms,
            "judgeResult": evaluation.and_then(|it| self.verdict(row, it)),
            "metadata": evaluation.map(|it| json!({
                "promptLength": it.prompt_length,
                "sections": it.sections,
                "spansBySection": it.spans_by_section,
            })),
            "error": row.cell.error.as_ref().map(|error| error.message.as_str()),
        });
        let judge_error = row.judgments.iter().find_map(|judgment| judgment.error.as_ref());
        if let Some(error) = judge_error.filter(|_| result["judgeResult"].is_null()) {
            result["judgeError"] = json!(error.message);
        }
        result
    }

    /// The verdict on a result; `None` if it has none.
    fn verdict(&self, row: &CellRow<'_>, evaluation: &Evaluation) -> Option<Value> {
        let prefix = format!("{}.", self.scorer);
        let cell = CellScores::of(self.plan, row);
        let graded = self.plan.metrics.iter().zip(&cell.scores).filter_map(|(metric, score)| {
            let Some(Score::Value { value, .. }) = score else { return None };
            Some((metric.name.strip_prefix(&prefix)?.to_owned(), json!(value)))
        });
        let mut scores: Map<String, Value> = graded.collect();
        let total = scores.remove("totalScore");
        if scores.is_empty() {
            return None;
        }
        let words = row.judgments.iter().map(|judgment| JudgeWords::of(self.plan, judgment));
        let notes: Vec<String> =
            words.filter(|it| it.scorer == self.scorer && !it.reasoning.is_empty()).map(|it| it.reasoning).collect();
        // A score of 0 is not assessed.
        let categories = evaluation.category_scores.iter().map(|(category, scores)| {
            let scores = scores.iter().map(|(name, score)| (name.to_owned(), json!(score.unwrap_or(0.0))));
            (category.to_owned(), Value::Object(scores.collect()))
        });
        let mut verdict = Map::from_iter([
            ("scores".to_owned(), Value::Object(scores)),
            ("totalScore".to_owned(), total.unwrap_or_default()),
            ("categoryScores".to_owned(), Value::Object(categories.collect())),
            ("notes".to_owned(), json!(notes.join("\n\n"))),
        ]);
        verdict.extend(evaluation.errors.iter().map(|(list, findings)| (list.to_owned(), json!(findings))));
        Some(Value::Object(verdict))
    }
}

/// The spans of an output, each with its section.
fn spans(items: Option<Value>, evaluation: Option<&Evaluation>) -> Value {
    let Some(Value::Array(items)) = items else { return Value::Null };
    let sections = evaluation.map(|it| it.span_sections.as_slice()).unwrap_or_default();
    let spans = items.into_iter().enumerate().map(|(at, item)| match (item, sections.get(at)) {
        (Value::Object(mut span), Some(section)) => {
            span.insert("section".to_owned(), json!(section));
            Value::Object(span)
        }
        (item, _) => item,
    });
    spans.collect()
}
