//! A run as logs of Inspect: one `.eval` file a system, trials as epochs.
//!
//! An `.eval` file is a ZIP archive: a JSON file for each sample, then summaries, reductions and a header. Members are
//! deflated, which every version of Inspect reads.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use karat_analysis::{CellScores, Findings};
use karat_store::{Store, StoredCall, StoredRun};
use karat_types::{
    CallRecord, CellCost, CellRow, CellStatus, FinishReason, Money, PlanHeader, RunRows, RunStatus, Score, Usage,
};
use serde_json::{Map, Value, json};
use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, ZipWriter};

use super::{ExportedFiles, expected_text, for_each_cell, input_text};
use crate::error::FileError;
use crate::reports::Reports;
use crate::stored::findings::findings;
use crate::stored::messages::JudgeWords;
use crate::stored::messages::request_messages;
use crate::stored::run::rfc3339;
use crate::{AppError, AtomicFile};

/// The provider of a system that calls no model; its variant stands for the model.
const NO_MODEL: &str = "none";

/// Length of Inspect's ids.
const ID_CHARS: usize = 22;

impl Reports<'_> {
    /// Writes a log for each system of a run into a folder. Judges' words are explanations of scores; what is unscored
    /// is left out and counted.
    ///
    /// # Errors
    /// The run cannot be read, a file cannot be written.
    pub fn export_inspect(&self, run: &str, folder: &Path) -> Result<ExportedFiles, AppError> {
        let store = self.app.existing_store()?;
        let run = store.resolve(run)?;
        let stored = store.rows(&run)?;
        let findings = findings(&stored)?;
        let plan = &findings.plan;
        let systems = 0..plan.systems.len();
        let mut logs =
            systems.map(|system| SystemLog::create(&stored, plan, system, folder)).collect::<Result<Vec<_>, _>>()?;
        let mut cells = 0;
        for_each_cell(&stored, |row| {
            if row.cell.status == CellStatus::Skipped {
                return Ok(());
            }
            cells += 1;
            let Some(log) = logs.get_mut(row.system) else { return Ok(()) };
            let sample = SampleLog::of(&store, &stored, plan, row)?;
            log.push(&sample)
        })?;
        let with_cells = logs.into_iter().filter(|log| log.samples > 0);
        let files = with_cells.map(|log| log.finish(&stored, &findings)).collect::<Result<_, _>>()?;
        Ok(ExportedFiles { files, cells })
    }
}

/// The log of a system that is being written.
struct SystemLog<'p> {
    plan: &'p PlanHeader,
    system: usize,
    path: PathBuf,
    archive: ZipWriter<StreamWriter<AtomicFile>>,
    /// Lines of the summaries, which the archive has as one list behind the samples.
    summaries: BufWriter<File>,
    samples: u64,
    epochs: u32,
    completed: u64,
    /// Ids, each once, in order.
    ids: Vec<String>,
    unscored: BTreeMap<usize, u64>,
    usage: Usage,
    /// The cost of all samples; none once one of them is unknown.
    cost: Option<Money>,
}

impl<'p> SystemLog<'p> {
    fn create(stored: &StoredRun, plan: &'p PlanHeader, system: usize, folder: &Path) -> Result<Self, AppError> {
        let header = stored.header();
        let time: String = rfc3339(header.started_at).replace(':', "-");
        let suite: String = plan.suite.chars().map(|it| if it.is_alphanumeric() { it } else { '-' }).collect();
        let path = folder.join(format!("{time}_{suite}_{}.eval", id_of(&[&header.id, &system.to_string()])));
        let file = AtomicFile::create(&path).map_err(|error| FileError::writing(&path, error))?;
        let summaries = tempfile::tempfile().map_err(|error| FileError::writing(&path, error))?;
        Ok(Self {
            plan,
            system,
            path,
            archive: ZipWriter::new_stream(file),
            summaries: BufWriter::new(summaries),
            samples: 0,
            epochs: 1,
            completed: 0,
            ids: Vec::new(),
            unscored: BTreeMap::new(),
            usage: Usage::default(),
            cost: Some(Money::ZERO),
        })
    }

    fn push(&mut self, sample: &SampleLog) -> Result<(), AppError> {
        self.samples += 1;
        self.epochs = self.epochs.max(sample.epoch);
        self.completed += u64::from(sample.is_completed);
        self.usage += sample.cost.usage;
        self.cost = self.cost.zip(sample.cost.cost).map(|(sum, cost)| sum + cost);
        for metric in &sample.unscored {
            *self.unscored.entry(*metric).or_default() += 1;
        }
        if self.ids.last() != Some(&sample.id) {
            self.ids.push(sample.id.clone());
        }
        let name = format!("samples/{}_epoch_{}.json", sample.id, sample.epoch);
        self.member(&name, &sample.log)?;
        writeln!(self.summaries, "{}", sample.summary).map_err(|error| FileError::writing(&self.path, error).into())
    }

    fn member(&mut self, name: &str, content: &Value) -> Result<(), AppError> {
        self.start(name)?;
        // In one piece: the encoder is slow with the many small ones that a serializer writes.
        let bytes = content.to_string();
        self.archive.write_all(bytes.as_bytes()).map_err(|error| self.unwritable(error))
    }

    fn start(&mut self, name: &str) -> Result<(), AppError> {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        self.archive.start_file(name, options).map_err(|error| self.unwritable(error.into()))
    }

    fn unwritable(&self, error: io::Error) -> AppError {
        FileError::writing(&self.path, error).into()
    }

    fn finish(mut self, stored: &StoredRun, findings: &Findings) -> Result<PathBuf, AppError> {
        self.write_summaries()?;
        self.member("reductions.json", &json!([]))?;
        let header = self.header(stored, findings);
        self.member("header.json", &header)?;
        let Self { archive, path, .. } = self;
        let unwritable = |error: io::Error| FileError::writing(&path, error);
        let file = archive.finish().map_err(|error| unwritable(error.into()))?.into_inner();
        file.finish().map_err(unwritable)?;
        Ok(path)
    }

    /// The list of summaries, from the lines that were kept aside.
    fn write_summaries(&mut self) -> Result<(), AppError> {
        self.start("summaries.json")?;
        let copied = copy_as_list(&mut self.summaries, &mut self.archive);
        copied.map_err(|error| self.unwritable(error))
    }

    fn header(&self, stored: &StoredRun, findings: &Findings) -> Value {
        let run = stored.header();
        let plan = self.plan;
        let (model, variant) = (model_name(plan, self.system), plan.system_variant(self.system));
        let started = rfc3339(run.started_at);
        let completed = run.completed_at.map_or_else(|| started.clone(), rfc3339);
        let status = match run.status {
            RunStatus::Finished => "success",
            RunStatus::Running => "started",
            RunStatus::Interrupted | RunStatus::BudgetStopped => "cancelled",
        };
        let metrics: Vec<&str> = plan.metrics.iter().map(|metric| metric.name.as_str()).collect();
        let group = findings.systems.iter().find(|group| group.systems == [self.system]);
        let figures = metrics.iter().enumerate().map(|(at, name)| {
            let spread = group.and_then(|group| group.metrics.get(at));
            let mean = spread.and_then(karat_analysis::Spread::value);
            let stderr = spread.and_then(|spread| Some(spread.stddev()? / (spread.n().max(1) as f64).sqrt()));
            let figure =
                |name: &str, value: Option<f64>| Some((name.to_owned(), json!({ "name": name, "value": value? })));
            let unscored = self.unscored.get(&at).copied().unwrap_or_default();
            let figures: Map<_, _> = [figure("mean", mean), figure("stderr", stderr)].into_iter().flatten().collect();
            json!({
                "name": name,
                "scorer": name,
                "scored_samples": self.samples - unscored,
                "unscored_samples": unscored,
                "metrics": figures,
            })
        });
        json!({
            "version": 2,
            "status": status,
            "eval": {
                "eval_id": id_of(&[&run.id, &self.system.to_string()]),
                "run_id": id_of(&[&run.id]),
                "created": started,
                "task": plan.suite,
                "task_id": id_of(&[&plan.suite, variant, &model]),
                "dataset": { "name": plan.suite, "samples": self.ids.len(), "sample_ids": self.ids, "shuffled": false },
                "model": model,
                "solver": variant,
                "config": { "epochs": self.epochs },
                "scorers": metrics.iter().map(|name| json!({ "name": name })).collect::<Vec<_>>(),
                "metadata": { "karat_run": run.id, "karat_variant": variant },
            },
            "plan": { "name": "plan", "steps": [{ "solver": variant, "params": {} }] },
            "results": {
                "total_samples": self.samples,
                "completed_samples": self.completed,
                "scores": figures.collect::<Vec<_>>(),
            },
            "stats": { "started_at": started, "completed_at": completed, "model_usage": { model: usage(self.usage, self.cost) } },
        })
    }
}

/// Writes the lines of a file as the members of a JSON list.
fn copy_as_list(lines: &mut BufWriter<File>, out: &mut impl Write) -> io::Result<()> {
    lines.flush()?;
    let file = lines.get_mut();
    file.rewind()?;
    let mut text = BufReader::new(file);
    out.write_all(b"[")?;
    let mut line = Vec::new();
    let mut is_first = true;
    loop {
        line.clear();
        if io::BufRead::read_until(&mut text.by_ref(), b'\n', &mut line)? == 0 {
            return out.write_all(b"]");
        }
        if !std::mem::take(&mut is_first) {
            out.write_all(b",")?;
        }
        out.write_all(line.trim_ascii_end())?;
    }
}

/// A cell as Inspect's sample.
struct SampleLog {
    id: String,
    epoch: u32,
    log: Value,
    summary: Value,
    cost: CellCost,
    /// Indices of metrics that failed.
    unscored: Vec<usize>,
    is_completed: bool,
}

impl SampleLog {
    fn of(store: &Store, stored: &StoredRun, plan: &PlanHeader, row: &CellRow<'_>) -> Result<Self, AppError> {
        let cell = row.cell;
        let output = if cell.status == CellStatus::Ok { stored.output(cell.ordinal)? } else { None };
        let output = output.map(|output| output.as_str().map_or_else(|| output.to_string(), str::to_owned));
        let last = match cell.calls.last() {
            Some(key) => store.calls(Some(&stored.header().id), &[*key])?.pop(),
            None => None,
        };
        let last = match last {
            Some(StoredCall::Kept(call)) => Some(call.record),
            _ => None,
        };
        let scores = CellScores::of(plan, row);
        let model = model_name(plan, row.system);
        let input = input_text(row.sample).unwrap_or_default();
        let target = target(&expected_text(row.sample).unwrap_or_default());
        let judges: Vec<JudgeWords> = row.judgments.iter().map(|judgment| JudgeWords::of(plan, judgment)).collect();
        let given = scores_of(plan, &scores, &judges);
        let epoch = row.trial + 1;
        let used = json!({ &model: usage(cell.cost.usage, cell.cost.cost) });
        let mut log = json!({
            "id": row.sample.id,
            "epoch": epoch,
            "input": input,
            "target": target,
            "messages": messages(last.as_ref(), &input, output.as_deref(), &model),
            "output": reply(last.as_ref(), output.as_deref(), &model, &cell.cost),
            "scores": given,
            "metadata": row.sample.metadata,
            "model_usage": used,
            "total_time": cell.latency_ms / 1000.0,
        });
        let mut summary = json!({
            "id": row.sample.id,
            "epoch": epoch,
            "input": input,
            "target": target,
            "metadata": row.sample.metadata,
            "scores": given,
            "model_usage": used,
            "total_time": cell.latency_ms / 1000.0,
            "completed": true,
        });
        if let Some(error) = &cell.error {
            let message = format!("{}: {}", error.code, error.message);
            summary["error"] = json!(message);
            log["error"] = json!({ "message": message, "traceback": "", "traceback_ansi": "" });
        }
        let is_unscored = |score: &Option<Score>| score.as_ref().is_some_and(Score::is_unscored);
        let unscored = scores.scores.iter().enumerate().filter(|(_, score)| is_unscored(score)).map(|(at, _)| at);
        Ok(Self {
            id: row.sample.id.clone(),
            epoch,
            log,
            summary,
            cost: cell.cost,
            unscored: unscored.collect(),
            is_completed: cell.status == CellStatus::Ok,
        })
    }
}

/// Scores by metric, with the reason or the judges' words.
fn scores_of(plan: &PlanHeader, scores: &CellScores, judges: &[JudgeWords]) -> Map<String, Value> {
    let mut given = Map::new();
    for (metric, score) in plan.metrics.iter().zip(&scores.scores) {
        let Some(Score::Value { value, reason, .. }) = score else { continue };
        let scorer = plan.scorers.get(metric.scorer).map_or("", |scorer| scorer.id.as_str());
        let of_scorer: Vec<&JudgeWords> = judges.iter().filter(|words| words.scorer == scorer).collect();
        let said = of_scorer.iter().filter(|words| !words.reasoning.is_empty());
        let said: Vec<String> = match of_scorer.len() {
            1 => said.map(|words| words.reasoning.clone()).collect(),
            _ => said.map(|words| format!("{}: {}", words.judge, words.reasoning)).collect(),
        };
        let mut score = json!({ "value": value });
        if let Some(explanation) = reason.clone().or_else(|| (!said.is_empty()).then(|| said.join("\n\n"))) {
            score["explanation"] = json!(explanation);
        }
        if !of_scorer.is_empty() {
            score["metadata"] = json!({ "judgments": of_scorer });
        }
        given.insert(metric.name.clone(), score);
    }
    given
}

/// The conversation: the messages of the last request, and the output as the last message.
fn messages(call: Option<&CallRecord>, input: &str, output: Option<&str>, model: &str) -> Vec<Value> {
    let request = call.and_then(|call| std::str::from_utf8(&call.request).ok()).filter(|body| !body.is_empty());
    let asked = request.map(|body| request_messages(body).0).unwrap_or_default();
    let mut messages: Vec<Value> = asked
        .iter()
        .map(|message| {
            let role = match message.role.as_str() {
                "system" | "developer" => "system",
                "assistant" | "model" => "assistant",
                "tool" | "function" => "tool",
                _ => "user",
            };
            json!({ "role": role, "content": message.text })
        })
        .collect();
    if messages.is_empty() {
        messages.push(json!({ "role": "user", "content": input }));
    }
    messages.extend(output.map(|output| json!({ "role": "assistant", "content": output, "model": model })));
    messages
}

fn reply(call: Option<&CallRecord>, output: Option<&str>, model: &str, used: &CellCost) -> Value {
    let stop_reason = match call.and_then(|call| call.finish) {
        Some(FinishReason::Stop) => "stop",
        Some(FinishReason::Length) => "max_tokens",
        Some(FinishReason::Refusal) => "content_filter",
        Some(FinishReason::ToolCalls) => "tool_calls",
        Some(FinishReason::MalformedCall | FinishReason::Other) | None => "unknown",
    };
    let choices: Vec<Value> = output
        .map(|output| json!({ "message": { "role": "assistant", "content": output }, "stop_reason": stop_reason }))
        .into_iter()
        .collect();
    json!({ "model": model, "choices": choices, "usage": usage(used.usage, used.cost) })
}

/// Tokens as Inspect has them, with their cost in US dollars where it is known.
fn usage(used: Usage, cost: Option<Money>) -> Value {
    let mut usage = json!({
        "input_tokens": used.input_tokens,
        "output_tokens": used.output_tokens,
        "total_tokens": used.input_tokens + used.output_tokens,
        "input_tokens_cache_read": used.cached_input_tokens,
        "reasoning_tokens": used.reasoning_tokens,
    });
    if let Some(cost) = cost {
        usage["total_cost"] = json!(cost.usd());
    }
    usage
}

/// The expected value as Inspect's target: a text or a list of texts.
fn target(text: &str) -> Value {
    match serde_json::from_str::<Vec<String>>(text) {
        Ok(list) => json!(list),
        Err(_) => json!(text),
    }
}

fn model_name(plan: &PlanHeader, system: usize) -> String {
    let of_variant = || format!("{NO_MODEL}/{}", plan.system_variant(system));
    plan.system_model(system).map_or_else(of_variant, |model| model.id.clone())
}

/// An id in the form of Inspect's: 22 letters and digits.
fn id_of(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex().chars().take(ID_CHARS).collect()
}
