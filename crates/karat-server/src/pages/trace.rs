//! A cell: what was sent, and what came back?

use std::collections::BTreeMap;

use axum::extract::{Path, RawQuery};
use axum::response::{IntoResponse, Response};
use http::header;
use karat_app::{CellCall, CellView, Contents, TracedCall, ViewState, reply_text, request_blobs, request_messages};
use karat_page::block::Message;
use karat_page::component::browse::filters;
use karat_page::component::browse::pager;
use karat_page::component::browse::steps::{self, Step, TextView};
use karat_page::component::shell::{NavLink, section};
use karat_page::component::state;
use karat_page::number::{Scale, count, count_noun, millis, usd};
use karat_page::text::visible::{Line, Words, line, lines};
use karat_page::{Document, Markup, html};
use serde_json::Value;

use crate::pages::PageResult;
use crate::pages::parts::query::{LIST, Query, cell_query};
use crate::pages::parts::{address, figure, outputs};
use crate::problem::Problem;
use crate::state::State;

/// Names in the address beside those of the list: the cell, and the form of its texts.
const NAMES: [&str; 2] = ["n", "view"];

/// Media types that a page may show; anything else is only saved.
const SHOWN: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// An image or file that was sent.
pub(super) async fn blob(state: State, Path(digest): Path<String>) -> Result<Response, Problem> {
    let blob = state.read(move |app| app.views().sent_blob(&digest).map_err(Problem::from)).await?;
    let shown = SHOWN.contains(&blob.media_type.as_str());
    let (kind, place) = match shown {
        true => (blob.media_type.as_str(), "inline"),
        false => ("application/octet-stream", "attachment"),
    };
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_DISPOSITION, place),
        (header::CACHE_CONTROL, "private, max-age=31536000, immutable"),
    ];
    Ok((headers, blob.content).into_response())
}

pub(super) async fn cell(state: State, Path(run): Path<String>, RawQuery(raw): RawQuery) -> PageResult {
    let document = state.read(move |app| {
        let mut query = Query::parse(raw.as_deref(), &[&LIST[..], &NAMES[..]].concat());
        let Some(ordinal) = query.value("n", "the number of a cell", |number| number.parse().ok()) else {
            let problem = Problem::not_found("the address names no cell of the run");
            return Err(
                problem.with_hint(format!("{} lists the cells of the run", address::cells(&run, &Query::default())))
            );
        };
        let cell = app.views().cell(&run, ordinal)?;
        // A cell can be read without the index; only its neighbours need it.
        let around = match app.views().run(&run)? {
            ViewState::Ready(view) => {
                let wanted = cell_query(&mut query, &view);
                app.views().cells_around(&view, &wanted, ordinal)
            }
            ViewState::Building { .. } => (None, None),
        };
        let view = query.value("view", "`raw`", |view| (view == "raw").then_some(TextView::Raw)).unwrap_or_default();
        let sent = app.views().sent_blobs(&cell)?;
        Ok::<_, Problem>(document(&cell, &sent, &query, (view, around)))
    });
    Ok(document.await?.into())
}

fn document(
    cell: &CellView,
    sent: &BTreeMap<String, String>,
    query: &Query,
    (view, (before, after)): (TextView, (Option<u64>, Option<u64>)),
) -> Document {
    let (run, list) = (&cell.run, query.only(&LIST));
    let to = |ordinal: u64| address::cell(run, ordinal, &list);
    let body = html! {
        (filters::notices(&query.notices))
        nav.pager aria-label="Cells" {
            p.soft { "Cell " (cell.ordinal) @if cell.trial.1 > 1 { ", trial " (cell.trial.0 + 1) " of " (cell.trial.1) } ", run " (Line(run)) }
            (pager::neighbours(before.map(to).as_deref(), after.map(to).as_deref(), "Previous", "Next"))
        }
        (summary(cell))
        (section("calls", "Calls", Some("In order: steps first, then judges."), &calls(cell, sent, query, view)))
        (section("output", "Output", None, &output(cell, view)))
        @if !cell.judgments.is_empty() {
            (section("judgments", "Judgments", None, &outputs::judgments(&cell.judgments, false)))
        }
    };
    Document {
        breadcrumbs: vec![
            NavLink::new("Runs", "/"),
            NavLink::new(run, address::run(run)),
            NavLink::new("Cells", address::cells(run, &list)),
            NavLink::new(&cell.sample, address::sample(run, &cell.sample, &list)),
            NavLink { is_current: true, ..NavLink::new("Trace", "") },
        ],
        keys: vec![("[ ]".to_owned(), "previous and next row of the list".to_owned())],
        ..Document::new("page-trace", format!("{} · {}", cell.sample, cell.system), body)
    }
}

/// Facts about the cell, its error, its scores, and why it was made or reused.
fn summary(cell: &CellView) -> Markup {
    html! {
        div.stack {
            dl.facts-list {
                dt { "Time of calls" } dd { (millis(cell.latency_ms)) }
                dt { "Cost" } dd { (usd(cell.cost_usd)) @if cell.is_simulated { " simulated" } }
                dt { "Tokens" } dd { (count(cell.usage.input_tokens)) " in, " (count(cell.usage.output_tokens)) " out" }
                dt { "Made" } dd { (origin(cell)) }
                @for (metric, score) in &cell.scores {
                    dt { (Line(metric)) }
                    dd {
                        (line(&figure::score(&Scale::default(), score)))
                        @if let Some(reason) = figure::reason(score) { ": " (lines(reason)) }
                    }
                }
            }
            @for note in &cell.notes { p.soft { (Words(note)) } }
            @if let Some(error) = &cell.error { (state::error(error, None, None)) }
        }
    }
}

/// The origin of the output, and the command that says what a run now would reuse.
fn origin(cell: &CellView) -> Markup {
    html! {
        @match cell.reused_from {
            None => "by this run",
            Some(None) => "by an earlier run, and reused: nothing that makes the output has changed",
            Some(Some(at)) => {
                "by a run that started at " (karat_app::rfc3339(at)) ", and reused: nothing that makes the output has changed"
            },
        }
        "; " code { "karat why " (line(&cell.path)) } " says whether a run of the suite as it is now would reuse it"
    }
}

fn calls(cell: &CellView, sent: &BTreeMap<String, String>, query: &Query, view: TextView) -> Markup {
    if cell.calls.is_empty() {
        let reason = if cell.reused_from.is_some() {
            "The output was reused and names no call."
        } else {
            "The cell made no call."
        };
        return state::empty(&karat_page::block::Empty { reason: Some(reason.to_owned()), command: None });
    }
    let path = format!("{}/cell", address::run(&cell.run));
    let rendered = query.without(&["view"]).href(&path);
    let raw = query.with("view", "raw").href(&path);
    html! {
        (steps::forms(view, &rendered, &raw))
        @if !cell.keeps_content { p.notices { "Prompts and replies were not kept: the suite says " code { "privacy.keep_content: false" } "." } }
        (steps::render(&call_steps(cell, sent), view))
    }
}

/// The calls as steps; those of one cell are made one after the other, so their times add up.
fn call_steps(cell: &CellView, sent: &BTreeMap<String, String>) -> Vec<Step> {
    let time = |call: &CellCall| match &call.contents {
        Contents::Kept(call) => call.latency_ms.max(0.0),
        Contents::Pruned | Contents::Missing => 0.0,
    };
    let total: f64 = cell.calls.iter().map(time).sum();
    let mut start = 0.0;
    let mut steps = Vec::new();
    for call in &cell.calls {
        let length = time(call);
        let bar = (total > 0.0 && length > 0.0).then(|| (start / total, length / total));
        start += length;
        steps.push(step(call, bar, sent));
    }
    steps
}

fn step(call: &CellCall, bar: Option<(f64, f64)>, sent: &BTreeMap<String, String>) -> Step {
    let kind = call.judge_of.as_ref().map_or_else(String::new, |scorer| format!(", judge of {scorer}"));
    let place = if call.place.is_empty() { String::new() } else { format!(", {}", call.place) };
    let empty = Step { is_judge: call.judge_of.is_some(), bar, ..Step::default() };
    let absent = |reason: &str| Step {
        title: format!("Call {}{kind}{place}", call.id.get(..8).unwrap_or_default()),
        absent: Some(reason.to_owned()),
        ..empty.clone()
    };
    match &call.contents {
        Contents::Pruned => absent("The request and the response were removed by `karat cache prune --traces`."),
        Contents::Missing => absent("The store has no record of this call: another store made it, or it was removed."),
        Contents::Kept(kept) => {
            let (messages, settings) = request_messages(&kept.request);
            let content = |message: karat_app::Message| Message {
                role: message.role,
                content: message.text,
                ..Message::default()
            };
            Step {
                title: format!("{}{kind}{place}", kept.model),
                facts: facts(kept),
                messages: messages.into_iter().map(content).collect(),
                images: blob_addresses(&kept.request, sent, &|media_type| SHOWN.contains(&media_type)),
                files: blob_addresses(&kept.request, sent, &|media_type| !SHOWN.contains(&media_type)),
                settings,
                reply: if kept.response.is_empty() { String::new() } else { reply_text(&kept.response) },
                request: pretty(&kept.request, &kept.request_hex),
                response: pretty(&kept.response, &kept.response_hex),
                error: kept.error.clone(),
                ..empty
            }
        }
    }
}

/// Addresses of the images or files of a request that are stored.
fn blob_addresses(request: &str, sent: &BTreeMap<String, String>, is_wanted: &dyn Fn(&str) -> bool) -> Vec<String> {
    let wanted = |digest: &String| sent.get(digest).is_some_and(|media_type| is_wanted(media_type));
    request_blobs(request).iter().filter(|digest| wanted(digest)).map(|digest| format!("/blobs/{digest}")).collect()
}

fn facts(call: &TracedCall) -> Vec<(String, String)> {
    let mut facts = vec![("time".to_owned(), millis(call.latency_ms))];
    facts.extend(call.status.map(|status| ("HTTP".to_owned(), status.to_string())));
    if call.attempts != 1 {
        facts.push(("attempts".to_owned(), count(u64::from(call.attempts))));
    }
    if let Some(usage) = call.usage {
        facts.push((
            "tokens".to_owned(),
            format!("{} in, {} out", count(usage.input_tokens), count(usage.output_tokens)),
        ));
        if usage.cache_write_tokens > 0 {
            facts.push(("stored in the provider's cache".to_owned(), count_noun(usage.cache_write_tokens, "token")));
        }
        if usage.cached_input_tokens > 0 {
            facts.push(("cached by the provider".to_owned(), count_noun(usage.cached_input_tokens, "token")));
        }
        if usage.reasoning_tokens > 0 {
            facts.push(("reasoning".to_owned(), count_noun(usage.reasoning_tokens, "token")));
        }
    }
    facts.push(("cost".to_owned(), usd(call.cost_usd)));
    facts.extend(call.of_run.iter().map(|run| ("reused from run".to_owned(), run.clone())));
    facts
}

/// A body with JSON indented; hexadecimal if it is not text.
fn pretty(text: &str, hexadecimal: &str) -> String {
    if text.is_empty() {
        return hexadecimal.to_owned();
    }
    match serde_json::from_str::<Value>(text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => {
            serde_json::to_string_pretty(&value).unwrap_or_else(|_| text.to_owned())
        }
        _ => text.to_owned(),
    }
}

fn output(cell: &CellView, view: TextView) -> Markup {
    let Some(value) = &cell.output else {
        let reason = match (&cell.error, cell.keeps_content) {
            (Some(_), _) => "The cell ended in an error and has no output.",
            (None, false) => "The output was not kept: the suite says `privacy.keep_content: false`.",
            (None, true) => "The cell has no output.",
        };
        return html! { p.soft { (Words(reason)) } };
    };
    let text = match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    match view {
        TextView::Raw => steps::raw("Output", &text),
        TextView::Rendered => steps::output(value),
    }
}
