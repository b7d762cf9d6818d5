//! A trace as Langfuse exports it: its observations and scores.

use std::collections::HashMap;

use karat_traces::{Context, Metadata, Row, Usage};
use serde_json::{Map, Value, json};

use super::{FileRows, TraceRows, TracedRow};

/// Returns true of a trace: it has observations, or input and output of its own.
pub(super) fn is_trace(fields: &Map<String, Value>) -> bool {
    let is_whole = fields.contains_key("timestamp") && !fields.contains_key("traceId");
    fields.contains_key("observations") || is_whole && ["input", "output"].iter().any(|key| fields.contains_key(*key))
}

/// Returns true of an observation that stands alone, as tables of them are exported.
pub(super) fn is_observation(fields: &Map<String, Value>) -> bool {
    ["traceId", "type", "startTime"].iter().all(|key| fields.contains_key(*key))
}

/// The trace of a download `{trace, observations, scores}`.
pub(super) fn unwrap_download(mut fields: Map<String, Value>) -> Value {
    let mut trace = fields.shift_remove("trace").unwrap_or_default();
    if let Some(trace) = trace.as_object_mut() {
        for (key, value) in fields {
            let is_blank = trace.get(&key).is_none_or(|own| own.is_null() || own.as_array().is_some_and(Vec::is_empty));
            if is_blank {
                trace.insert(key, value);
            }
        }
        trace.entry("observations").or_insert_with(|| json!([]));
    }
    trace
}

/// Traces in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Traces {
    pub all: Vec<Value>,
    /// The position of the first trace of an id.
    places: HashMap<String, usize>,
}

impl Traces {
    pub fn push(&mut self, trace: Value) {
        if let Some(id) = text(&trace, "id") {
            self.places.entry(id).or_insert(self.all.len());
        }
        self.all.push(trace);
    }

    /// Adds an observation to its trace among these, or to a new one.
    pub fn add_observation(&mut self, observation: Value) {
        let id = text(&observation, "traceId").unwrap_or_default();
        let of_trace = self.places.get(&id).and_then(|at| self.all.get_mut(*at));
        match of_trace.and_then(|trace| trace.get_mut("observations")?.as_array_mut()) {
            Some(observations) => observations.push(observation),
            None => self.push(json!({"id": id, "observations": [observation]})),
        }
    }
}

/// A value that was written as JSON in a text.
fn parse_text(value: &Value) -> Value {
    let text = value.as_str().map(str::trim).filter(|text| text.starts_with(['{', '[']));
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| value.clone())
}

/// Adds the rows of a trace: one a generation, or one of the whole; one of the whole, too, if it has no generation.
pub(super) fn add_rows(trace: &Value, per: TraceRows, out: &mut FileRows) {
    let id = text(trace, "id").unwrap_or_default();
    let observations = trace.get("observations").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let is_type = |observation: &&Value, wanted: &str| {
        text(observation, "type").is_some_and(|kind| kind.eq_ignore_ascii_case(wanted))
    };
    let mut generations: Vec<&Value> = observations.iter().filter(|it| is_type(it, "generation")).collect();
    generations.sort_by_key(|it| text(it, "startTime"));
    out.others += observations.len() - generations.len();
    let retrievals = observations.iter().filter(|it| is_type(it, "retriever"));
    let contexts: Vec<Context> = retrievals.flat_map(|it| contexts(it.get("output"))).collect();
    let first = out.rows.len();
    let has_own = present(trace, "input").is_some() && present(trace, "output").is_some();
    let per = if generations.is_empty() && has_own { TraceRows::Traces } else { per };
    match per {
        TraceRows::Traces => match trace_row(trace, &id, &generations) {
            Ok(row) => out.rows.push(add_contexts(row, &contexts)),
            Err(why) => out.rejected.push((id.clone(), why.to_owned())),
        },
        TraceRows::Calls if generations.is_empty() => {
            out.rejected
                .push((id.clone(), "the trace has no generation, and no input and output of its own".to_owned()));
        }
        TraceRows::Calls => {
            for generation in generations {
                match generation_row(trace, &id, generation) {
                    Ok(row) => out.rows.push(add_contexts(row, &contexts)),
                    Err(why) => {
                        let span = text(generation, "id").unwrap_or_default();
                        out.rejected.push((format!("{id}/{span}"), why.to_owned()));
                    }
                }
            }
        }
    }
    let scores = trace.get("scores").and_then(Value::as_array);
    let wrong =
        ["observations", "scores"].into_iter().filter(|key| present(trace, key).is_some_and(|it| !it.is_array()));
    out.lost.extend(wrong.map(|key| (key.to_owned(), format!("the trace {id} has no list there"))));
    let rows = out.rows.get_mut(first..).unwrap_or_default();
    for score in scores.into_iter().flatten() {
        if let Err(why) = add_score(score, rows) {
            let name = text(score, "name").unwrap_or_default();
            out.lost.push((format!("score {name}"), why.to_owned()));
        }
    }
}

fn add_contexts(mut row: Row, contexts: &[Context]) -> TracedRow {
    row.contexts = contexts.to_vec();
    TracedRow { row, scores: Vec::new(), reasons: Vec::new() }
}

/// Gives a score to the observation that it names; one of the whole trace to its last call that has an output. The error
/// says why it is lost.
fn add_score(score: &Value, rows: &mut [TracedRow]) -> Result<(), &'static str> {
    let name = text(score, "name").ok_or("a score has no name")?;
    let value = score.get("value").filter(|value| value.is_number() || value.is_boolean());
    let value = value.ok_or("is a category or a text, and metrics are numbers")?;
    let named = text(score, "observationId");
    let named = named.and_then(|named| rows.iter().position(|traced| traced.row.span_id == named));
    let last = || rows.iter().rposition(|traced| !traced.row.output.is_null()).or(rows.len().checked_sub(1));
    let place = named.or_else(last).and_then(|at| rows.get_mut(at)).ok_or("belongs to a trace without a row")?;
    if place.scores.iter().any(|(known, _)| *known == name) {
        return Err("another score of this name was given to the same row");
    }
    place.scores.push((name.clone(), value.clone()));
    place.reasons.extend(text(score, "comment").map(|said| (name, said)));
    Ok(())
}

fn generation_row(trace: &Value, id: &str, generation: &Value) -> Result<Row, &'static str> {
    let span = text(generation, "id").ok_or("an observation has no `id`")?;
    let input = &parse_text(present(generation, "input").ok_or("the observation has no `input`")?);
    let error = error_of(generation);
    let output = match (present(generation, "output"), &error) {
        (Some(output), _) => parse_text(output),
        (None, Some(_)) => Value::Null,
        (None, None) => return Err("the observation has no `output`"),
    };
    let usage = usage(generation);
    let row = row(trace, id, &span, generation, usage, error)?;
    let listed = input.get("messages").unwrap_or(input);
    let messages =
        listed.as_array().filter(|list| !list.is_empty()).filter(|list| list.iter().all(|it| it.get("role").is_some()));
    let (input, messages) = match messages {
        Some(list) => (last_user_text(list).unwrap_or_else(|| input.clone()), list.clone()),
        None => (input.clone(), Vec::new()),
    };
    Ok(Row { input, output: reply_text(output), messages, ..row })
}

fn trace_row(trace: &Value, id: &str, generations: &[&Value]) -> Result<Row, &'static str> {
    let first = generations.first().and_then(|it| present(it, "input"));
    let last = generations.last().and_then(|it| present(it, "output"));
    let input = present(trace, "input").or(first).map(parse_text).ok_or("the trace has no `input`")?;
    let output = present(trace, "output").or(last).map(parse_text).ok_or("the trace has no `output`")?;
    let sum = |usage: Usage, more: Usage| Usage {
        input_tokens: usage.input_tokens.map_or(more.input_tokens, |own| Some(own + more.input_tokens.unwrap_or(0))),
        output_tokens: usage
            .output_tokens
            .map_or(more.output_tokens, |own| Some(own + more.output_tokens.unwrap_or(0))),
        cached_tokens: usage
            .cached_tokens
            .map_or(more.cached_tokens, |own| Some(own + more.cached_tokens.unwrap_or(0))),
        cost_usd: usage.cost_usd.map_or(more.cost_usd, |own| Some(own + more.cost_usd.unwrap_or(0.0))),
    };
    let usage = generations.iter().map(|it| usage(it)).fold(Usage::default(), sum);
    let row = row(trace, id, id, trace, usage, None)?;
    Ok(Row { id: id.to_owned(), input, output: reply_text(output), ..row })
}

/// The facts of a row; input and output are the caller's.
fn row(
    trace: &Value,
    id: &str,
    span: &str,
    from: &Value,
    usage: Usage,
    error: Option<String>,
) -> Result<Row, &'static str> {
    if id.is_empty() {
        return Err("the trace has no `id`");
    }
    let time = ["startTime", "timestamp", "createdAt"]
        .iter()
        .find_map(|key| text(from, key))
        .or_else(|| text(trace, "timestamp"))
        .or_else(|| first_time(trace));
    let time = time.ok_or("there is no time: neither `startTime` nor `timestamp`")?;
    let moment = |key: &str| text(from, key)?.parse::<jiff::Timestamp>().ok();
    let elapsed =
        moment("endTime").zip(moment("startTime")).map(|(end, start)| end.as_microsecond() - start.as_microsecond());
    let tags = trace.get("tags").and_then(Value::as_array).into_iter().flatten();
    Ok(Row {
        id: format!("{id}/{span}"),
        trace_id: id.to_owned(),
        span_id: span.to_owned(),
        time,
        input: Value::Null,
        output: Value::Null,
        messages: Vec::new(),
        contexts: Vec::new(),
        metadata: Metadata {
            model: text(from, "model"),
            provider: None,
            service: None,
            conversation: text(trace, "sessionId"),
            operation: None,
            error,
            user: text(trace, "userId"),
            tags: tags.filter_map(|tag| tag.as_str().map(str::to_owned)).collect(),
            more: trace
                .get("metadata")
                .map(parse_text)
                .filter(|more| more.as_object().is_some_and(|it| !it.is_empty())),
        },
        usage,
        latency_ms: elapsed.filter(|micros| *micros >= 0).map(|micros| micros as f64 / 1000.0),
        p: 1.0,
    })
}

/// The time of the first observation.
fn first_time(trace: &Value) -> Option<String> {
    let observations = trace.get("observations").and_then(Value::as_array);
    observations.into_iter().flatten().filter_map(|it| text(it, "startTime")).min()
}

fn usage(generation: &Value) -> Usage {
    let details = ["usageDetails", "usage"].iter().find_map(|key| present(generation, key)).map(parse_text);
    let of_details = |name: &str| details.as_ref()?.get(name)?.as_u64();
    let tokens = |names: &[&str]| names.iter().find_map(|name| of_details(name));
    let alone = |name: &str| generation.get(name).and_then(Value::as_u64).filter(|count| *count > 0);
    let costs = present(generation, "costDetails").map(parse_text);
    let of_costs = costs.as_ref().and_then(|costs| costs.get("total")).and_then(Value::as_f64);
    let cost = || ["calculatedTotalCost", "totalCost"].iter().find_map(|key| generation.get(*key)?.as_f64());
    Usage {
        input_tokens: tokens(&["input", "promptTokens", "prompt_tokens", "input_tokens"])
            .or_else(|| ["inputUsage", "promptTokens"].iter().find_map(|name| alone(name))),
        output_tokens: tokens(&["output", "completionTokens", "completion_tokens", "output_tokens"])
            .or_else(|| ["outputUsage", "completionTokens"].iter().find_map(|name| alone(name))),
        cached_tokens: tokens(&["input_cached_tokens", "cache_read_input_tokens"]),
        cost_usd: of_costs.or_else(cost),
    }
}

/// The reason of an observation that failed.
fn error_of(observation: &Value) -> Option<String> {
    let failed = text(observation, "level").is_some_and(|level| level.eq_ignore_ascii_case("error"));
    failed.then(|| text(observation, "statusMessage").unwrap_or_else(|| "error".to_owned()))
}

/// The text of a reply that is a lone message; anything else as it is.
fn reply_text(output: Value) -> Value {
    let message = output.get("role").and(output.get("content"));
    match message {
        Some(Value::String(text)) if output.get("tool_calls").is_none_or(Value::is_null) => json!(text),
        _ => output,
    }
}

fn last_user_text(messages: &[Value]) -> Option<Value> {
    let users = messages.iter().rev().filter(|message| message["role"] == "user");
    users.filter_map(|message| message.get("content")).find(|content| content.is_string()).cloned()
}

fn contexts(output: Option<&Value>) -> Vec<Context> {
    let output = output.map(parse_text);
    let list = output.as_ref().and_then(|output| output.get("documents").unwrap_or(output).as_array());
    let read = |document: &Value| Context {
        id: text(document, "id"),
        content: document
            .as_str()
            .map(str::to_owned)
            .or_else(|| ["content", "text", "page_content", "pageContent"].iter().find_map(|key| text(document, key))),
        score: document.get("score").and_then(Value::as_f64),
    };
    list.into_iter().flatten().map(read).collect()
}

fn present<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    value.get(key).filter(|value| !value.is_null())
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}
