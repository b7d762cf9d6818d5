//! The tools, as agents see them. Each answers with a text: what the command line would print, or JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use karat_app::{
    App, AppError, CompareRequest, Correction, Outputs, Party, RequestError, RunRequest, ShownOutputs,
    estimate_document, read_request, request_schema,
};
use karat_types::ReportFormat;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::runs::{DATA, Runs, message};

/// Characters of an answer, at most: agents pay for each.
const MAX_TEXT: usize = 60_000;

/// Seconds that a call waits for a run, unless the agent says otherwise, and at most.
const WAIT_S: u64 = 30;
const MOST_WAIT_S: u64 = 300;

type Answer = Result<String, String>;

#[derive(Deserialize, JsonSchema)]
struct ListArguments {
    /// Runs of this suite only.
    suite: Option<String>,
    /// Number of runs; 20 if absent.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
struct ReportArguments {
    /// Id of the run, the beginning of one, or `latest`.
    run: String,
}

#[derive(Deserialize, JsonSchema)]
struct CompareArguments {
    /// Id of a run, the beginning of one, or `latest`.
    baseline: String,
    /// Id of a run, the beginning of one, or `latest`.
    candidate: String,
    /// Metrics to compare, instead of all; `*` at the end stands for any characters.
    #[serde(default)]
    metrics: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
struct FailingArguments {
    /// Id of the run, the beginning of one, or `latest`.
    run: String,
    /// Number of cells; 10 if absent.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
struct SampleArguments {
    /// Id of the run, the beginning of one, or `latest`.
    run: String,
    /// Id of the sample.
    sample: String,
}

#[derive(Deserialize, JsonSchema)]
struct RunArguments {
    #[serde(flatten)]
    request: RunRequest,
    /// Seconds to wait for its end; 30 if absent.
    #[schemars(range(min = 1, max = MOST_WAIT_S))]
    wait_s: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
struct StatusArguments {
    /// Id of the run, the beginning of one, or `latest`.
    run: String,
    /// Seconds to wait for the end of a run of this session; 1 if absent.
    #[schemars(range(min = 1, max = MOST_WAIT_S))]
    wait_s: Option<u64>,
}

type Call = dyn Fn(&App, &Runs, Map<String, Value>) -> Answer;

/// A tool of one kind of arguments.
struct Tool {
    name: &'static str,
    about: &'static str,
    schema: fn() -> Value,
    call: Box<Call>,
}

/// All tools, in the order in which agents see them.
fn tools() -> [Tool; 8] {
    [
        tool(
            "list_runs",
            "Lists stored runs, newest first: suite, status, verdict of the gates, headline metric, cost.",
            list_runs,
        ),
        tool(
            "report",
            "The report of a run as Markdown: verdict, gates, figures with intervals, failed cells.",
            report,
        ),
        tool(
            "compare",
            "Compares two runs: for each metric better, worse, equivalent or undecided, with the interval of the paired difference, and the samples that moved.",
            compare,
        ),
        tool(
            "failing_samples",
            "Cells of a run that failed, with input, reference, output, scores and reasons of judges.",
            failing_samples,
        ),
        tool("sample", "One sample of a run: what each system answered, with scores and reasons.", sample),
        tool("plan", "What a run of a suite would do and cost. Makes no calls.", plan),
        tool(
            RUN,
            "Runs a suite: calls models, which costs money, and scores what they answer. Ask `plan` for the price first. Returns the summary, or the run's id if it takes longer. It spends what is left of the session's budget at most.",
            run,
        ),
        tool("run_status", "The progress of a run, or its verdict once it has ended.", run_status),
    ]
}

/// The only tool that changes anything.
const RUN: &str = "run";

fn tool<T: DeserializeOwned + JsonSchema + 'static>(
    name: &'static str,
    about: &'static str,
    call: fn(&App, &Runs, T) -> Answer,
) -> Tool {
    let call = move |app: &App, runs: &Runs, mut given: Map<String, Value>| {
        // Agents send `null` for what they leave out.
        given.retain(|_, value| !value.is_null());
        let arguments = read_request(given).map_err(|error| match error {
            RequestError::Unknown { name, names } => {
                format!("there is no argument `{name}`; there are: {}", names.join(", "))
            }
            error => error.to_string(),
        });
        call(app, runs, arguments?)
    };
    Tool { name, about, schema: request_schema::<T>, call: Box::new(call) }
}

/// The tools with their arguments.
pub(crate) fn list(with_runs: bool) -> Vec<Value> {
    let described = |Tool { name, about, schema, .. }: Tool| {
        let is_read_only = name != RUN;
        json!({
            "name": name,
            "description": about,
            "inputSchema": schema(),
            "annotations": { "readOnlyHint": is_read_only, "destructiveHint": false, "openWorldHint": !is_read_only },
        })
    };
    tools().into_iter().filter(|tool| with_runs || tool.name != RUN).map(described).collect()
}

/// Calls a tool. `None` if there is none of the name; an error is for the agent to read.
pub(crate) fn call(app: &App, runs: &Runs, name: &str, arguments: &Map<String, Value>) -> Option<Answer> {
    let tool = tools().into_iter().find(|tool| tool.name == name)?;
    Some((tool.call)(app, runs, arguments.clone()).map(cut))
}

fn list_runs(app: &App, _: &Runs, ListArguments { suite, limit }: ListArguments) -> Answer {
    let limit = limit.unwrap_or(20);
    let mut runs = app.views().runs(if suite.is_some() { usize::MAX } else { limit }).map_err(in_words)?;
    runs.retain(|run| suite.as_ref().is_none_or(|suite| *suite == run.suite));
    runs.truncate(limit);
    Ok(pretty(&runs))
}

fn report(app: &App, _: &Runs, ReportArguments { run }: ReportArguments) -> Answer {
    let mut bytes = Vec::new();
    app.reports().export(&run, ReportFormat::Markdown, Outputs::default(), false, &mut bytes).map_err(in_words)?;
    Ok(format!("{DATA}{}", String::from_utf8_lossy(&bytes)))
}

fn compare(app: &App, _: &Runs, arguments: CompareArguments) -> Answer {
    let CompareArguments { baseline, candidate, metrics } = arguments;
    let comparing = CompareRequest {
        metrics,
        correction: Correction::Holm,
        confidence: 0.95,
        margins: BTreeMap::new(),
        mde: BTreeMap::new(),
        allow_changed: false,
        movers: 10,
        outputs: false,
    };
    let [baseline, candidate] = [baseline, candidate].map(|run| Party { run, ..Party::default() });
    let comparison = app.analysis().compare(&baseline, &candidate, &comparing).map_err(in_words)?;
    Ok(format!("{DATA}{}", comparison.markdown()))
}

fn failing_samples(app: &App, _: &Runs, FailingArguments { run, limit }: FailingArguments) -> Answer {
    let mut shown = DATA.to_owned();
    let outputs = Outputs { shown: Some(ShownOutputs::Failed), cells: limit.unwrap_or(10) };
    let each = &mut |text: &str| {
        shown.push_str(text);
        Ok(())
    };
    app.views().show_outputs(&run, outputs, each).map_err(in_words)?;
    Ok(if shown == DATA { "no cell of the run failed".to_owned() } else { shown })
}

fn sample(app: &App, _: &Runs, SampleArguments { run, sample }: SampleArguments) -> Answer {
    Ok(format!("{DATA}{}", app.views().show_sample(&run, &sample).map_err(in_words)?))
}

fn plan(app: &App, runs: &Runs, request: RunRequest) -> Answer {
    let plan = app.runs().load(&request.remote_invocation("mcp", runs.allow_commands())).map_err(in_words)?;
    let (estimate, reasons) =
        (app.runs().estimate(&plan).map_err(in_words)?, app.runs().reasons(&plan).map_err(in_words)?);
    let options = app.runs().options(&plan).map_err(in_words)?;
    Ok(format!("{DATA}{}", pretty(&estimate_document(&plan, &estimate, &reasons, &options))))
}

fn run(app: &App, runs: &Runs, RunArguments { request, wait_s }: RunArguments) -> Answer {
    let run = runs.start(request, Duration::from_secs(wait_s.unwrap_or(WAIT_S)))?;
    status(app, &run)
}

fn run_status(app: &App, runs: &Runs, StatusArguments { run, wait_s }: StatusArguments) -> Answer {
    let run = app.stored().run_id(&run).map_err(in_words)?;
    runs.wait_for(&run, Duration::from_secs(wait_s.unwrap_or(1)))?;
    status(app, &run)
}

/// The state of a run, and its summary once it has ended.
fn status(app: &App, run: &str) -> Answer {
    let Ok(state) = app.service().run_state(run) else {
        return Ok(format!("run {run} is starting: ask for its status"));
    };
    let mut text = pretty(&json!({
        "run": state.run_id,
        "suite": state.suite,
        "status": state.status,
        "verdict": state.verdict,
        "exit_code": state.exit_code,
        "cells": state.cells,
        "spend_usd": state.spend_usd,
        "budget_usd": state.budget_usd,
    }));
    if state.status != "running"
        && let Ok((summary, _)) = app.reports().summary(run)
    {
        text.push_str(&format!("\n\n{DATA}{summary}"));
    }
    Ok(text)
}

fn in_words(error: AppError) -> String {
    message(&error)
}

fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// The beginning of a text that is too long for an agent, and how much is missing.
fn cut(text: String) -> String {
    let Some((end, _)) = text.char_indices().nth(MAX_TEXT) else { return text };
    let left = text[end..].chars().count();
    format!("{}\n… {left} more characters: ask for less at a time", &text[..end])
}
