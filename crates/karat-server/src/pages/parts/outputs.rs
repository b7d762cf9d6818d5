//! Outputs, scores and judgments of one system on one sample.

use karat_app::{CellFlag, JudgmentView, OutputView, RunView, ScoreView, SystemOutputs};
use karat_page::block::verdict::{Verdict, mark};
use karat_page::block::{Answer, Message};
use karat_page::component::browse::json_tree;
use karat_page::component::browse::steps::{self, raw};
use karat_page::component::state;
use karat_page::number::{Scale, millis, usd};
use karat_page::text::visible::{Line, Name, Words, line, lines};
use karat_page::{Markup, html};
use karat_types::CellStatus;

use crate::pages::parts::query::Query;
use crate::pages::parts::{address, figure};

/// Characters of a text in a row that is opened in place.
const SHORT: usize = 600;

/// Outputs and judgments of a row that is opened in place.
const FEW: usize = 3;

/// The status of all trials: a verdict where something failed.
pub(in crate::pages) fn status(outputs: &SystemOutputs) -> Markup {
    let failed = outputs.trials.iter().filter(|trial| trial.status == CellStatus::Error).count();
    match outputs.status() {
        CellStatus::Error => html! {
            (mark(Verdict::Error))
            @if outputs.trials.len() > 1 { " " span.soft { (failed) " of " (outputs.trials.len()) } }
        },
        CellStatus::Skipped => html! { span.soft { "skipped" } },
        CellStatus::Ok => html! { span.soft { "ok" } },
    }
}

/// Flags as words; an error has its own column, and says that the cell failed.
pub(in crate::pages) fn flags(flags: &[CellFlag]) -> Markup {
    let is_told = |flag: &CellFlag| match flag {
        CellFlag::Error => true,
        CellFlag::Flagged => flags.contains(&CellFlag::Error) || flags.contains(&CellFlag::Unscored),
        _ => false,
    };
    html! {
        @for flag in flags.iter().filter(|flag| !is_told(flag)) { span.flag data-flag=(flag.name()) { (words(*flag)) } }
    }
}

/// The words of a flag.
pub(in crate::pages) fn words(flag: CellFlag) -> &'static str {
    match flag {
        CellFlag::Flagged => "flagged",
        CellFlag::Error => "error",
        CellFlag::Unscored => "unscored",
        CellFlag::JudgesDisagree => "judges disagree",
        CellFlag::Capped => "capped",
        CellFlag::Cached => "cached",
        CellFlag::Moved => "moved",
    }
}

/// Characters of an output, and of an error, in a row: a screen that is wide shows them.
const SNIPPET: (usize, usize) = (240, 400);

/// The beginning of the first output, or of the first error.
pub(in crate::pages) fn snippet(outputs: &SystemOutputs) -> Markup {
    let output = outputs.outputs.first().map(|output| {
        let text = output.text();
        text.chars().take(SNIPPET.0).map(|c| if c.is_whitespace() { ' ' } else { c }).collect::<String>()
    });
    let error = || outputs.trials.iter().find_map(|trial| trial.error.as_ref().map(|it| beginning(it, SNIPPET.1)));
    let text = output.clone().or_else(error).unwrap_or_default();
    html! {
        @if !text.is_empty() {
            span.snippet.is-error[output.is_none()] { bdi { @if output.is_some() { (line(&text)) } @else { (Words(&text)) } } }
        }
    }
}

/// The content of a row that is opened in place.
pub(in crate::pages) fn opened_row(view: &RunView, outputs: &SystemOutputs, sample: &str, list: &Query) -> Markup {
    let run = &view.header.id;
    html! {
        div.stack {
            p.row-of {
                a href=(address::sample(run, sample, list)) { "All systems on this sample" }
                (traces(run, outputs, list))
            }
            div.columns {
                @if let Some(input) = outputs.text("input") { (excerpt("Input", &input.text)) }
                @if let Some(reference) = outputs.text("reference") { (excerpt("Reference", &reference.text)) }
                @for output in outputs.outputs.iter().take(FEW) {
                    (excerpt(&repeat_label("Output", output), &output.text()))
                }
            }
            (errors(outputs))
            (scores(view, &outputs.scores))
            @for judgment in outputs.judgments.iter().filter(|it| !it.words.reasoning.is_empty()).take(FEW) {
                p.small { span.soft { (Line(&judgment.words.judge)) } " " (lines(&beginning(&judgment.words.reasoning, SHORT / 2))) }
            }
        }
    }
}

fn excerpt(label: &str, text: &str) -> Markup {
    html! {
        div.column {
            span.role { (line(label)) }
            div.text-block.surface dir="auto" { (lines(&beginning(text, SHORT))) }
        }
    }
}

fn beginning(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn repeat_label(label: &str, output: &OutputView) -> String {
    if output.ordinals.len() > 1 { format!("{label}, {}×", output.ordinals.len()) } else { label.to_owned() }
}

/// Links to the calls of each trial.
pub(in crate::pages) fn traces(run: &str, outputs: &SystemOutputs, list: &Query) -> Markup {
    html! {
        @for (at, trial) in outputs.trials.iter().enumerate() {
            a href=(address::cell(run, trial.ordinal, list)) data-go=[(at == 0).then_some("trace-link")] {
                "Trace" @if outputs.trials.len() > 1 { " of trial " (trial.trial + 1) }
            }
        }
    }
}

/// Characters from which on an output scrolls within its frame, where it stands beside many others.
const LONG: usize = 1_000;

/// A system's outputs in full, with its scores and judgments. Beside many others, a long output scrolls within its frame,
/// so that the scores of all are within reach.
pub(in crate::pages) fn whole(view: &RunView, outputs: &SystemOutputs, list: &Query, is_one_of_many: bool) -> Markup {
    let first = outputs.trials.first();
    html! {
        div.column data-testid="sample-output" data-system=(line(&outputs.system)) {
            h3 { (Name(&outputs.system)) }
            p.row-of.small {
                (status(outputs))
                @if let Some(trial) = first {
                    (flags(&trial.flags))
                    @if trial.latency_ms > 0.0 { span.soft { (millis(trial.latency_ms)) } }
                    span.soft { (usd(trial.cost_usd)) @if view.plan.is_simulated() { " simulated" } }
                }
                (traces(&view.header.id, outputs, list))
            }
            @for output in &outputs.outputs {
                @if output.ordinals.len() > 1 || outputs.outputs.len() > 1 {
                    p.repeats title="Trials that gave this output" { (output.ordinals.len()) "×" }
                }
                @if is_one_of_many && output.text().len() > LONG {
                    div.scrolled tabindex="0" role="region" aria-label={ "Output of " (line(&outputs.system)) } { (text_of(output)) }
                } @else { (text_of(output)) }
            }
            @if outputs.outputs.is_empty() && outputs.status() == CellStatus::Ok { p.soft { (Words(absent(view))) } }
            (errors(outputs))
            @for note in outputs.trials.iter().flat_map(|trial| &trial.notes) { p.soft.small { (Words(note)) } }
            (scores(view, &outputs.scores))
            (judgments(&outputs.judgments, outputs.trials.len() > 1))
        }
    }
}

/// The reason why a cell with a row has no output to show.
pub(in crate::pages) fn absent(view: &RunView) -> &'static str {
    if view.plan.privacy.keep_content {
        "The output is empty."
    } else {
        "The output was not kept: the suite says `privacy.keep_content: false`."
    }
}

fn text_of(output: &OutputView) -> Markup {
    let is_conversation = Message::of_output(&output.value).is_some();
    if let Some(answer) = Answer::of_output(&output.value).filter(|_| !is_conversation) {
        let marked = output.marked.as_ref();
        if marked.is_none_or(|marked| marked.text == answer.text) {
            return html! { div.output { (steps::answer(&answer, marked.map_or(&[], |marked| &marked.highlights))) } };
        }
    }
    match (&output.value, output.marked.as_ref().filter(|_| !is_conversation)) {
        (_, Some(marked)) => html! { div.output { (steps::marked_text("Output", &marked.text, &marked.highlights)) } },
        (serde_json::Value::String(text), None) => html! { div.output { (plain(text)) } },
        (value, None) => steps::output(value),
    }
}

/// A text as it is.
fn plain(text: &str) -> Markup {
    raw("Output", text)
}

fn errors(outputs: &SystemOutputs) -> Markup {
    let mut seen: Vec<&str> = Vec::new();
    for error in outputs.trials.iter().filter_map(|trial| trial.error.as_deref()) {
        if !seen.contains(&error) {
            seen.push(error);
        }
    }
    html! { @for error in seen { (state::error(error, None, None)) } }
}

/// Scores by metric, each with its reason.
pub(in crate::pages) fn scores(view: &RunView, scores: &[ScoreView]) -> Markup {
    html! {
        @if !scores.is_empty() {
            ul.scores {
                @for score in scores {
                    @if let Some(metric) = view.metrics.get(score.metric) {
                        @let scale = figure::scale(metric);
                        @let texts: Vec<String> = score.trials.iter().map(|(_, it)| figure::score(&scale, it)).collect();
                        li data-metric=(line(&metric.name)) {
                            span.soft { (Line(&metric.name)) } " "
                            strong { (line(&join_texts(texts))) }
                            @if let [(_, only)] = score.trials.as_slice() {
                                @if let Some(reason) = figure::reason(only) { " " span.reason { (lines(reason)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Equal texts stand once.
fn join_texts(texts: Vec<String>) -> String {
    let mut all: Vec<(String, usize)> = Vec::new();
    for text in texts {
        match all.iter_mut().find(|(other, _)| *other == text) {
            Some((_, times)) => *times += 1,
            None => all.push((text, 1)),
        }
    }
    let is_one = all.len() == 1;
    let write =
        |(text, times): (String, usize)| if times > 1 && !is_one { format!("{text} ({times}×)") } else { text };
    all.into_iter().map(write).collect::<Vec<_>>().join(", ")
}

/// Judgments with their reasons, caps and findings.
pub(in crate::pages) fn judgments(judgments: &[JudgmentView], has_trials: bool) -> Markup {
    html! { @for it in judgments { (judgment(it, has_trials)) } }
}

fn judgment(judgment: &JudgmentView, has_trials: bool) -> Markup {
    let words = &judgment.words;
    let plain = Scale::default();
    html! {
        div.judgment data-testid="judgment" data-scorer=(line(&words.scorer)) data-judge=(line(&words.judge)) {
            p.row-of {
                strong { (Line(&words.scorer)) } span.soft { "by " (Name(&words.judge)) }
                @if let Some(version) = &judgment.prompt_version { span.soft.small { "prompt " (line(version)) } }
                @if let Some(rung) = judgment.rung.as_ref().filter(|it| *it != "direct") { span.soft.small { "read as " (line(rung)) } }
                @if judgment.is_cached { span.flag { "cached" } }
                @if has_trials { span.soft.small { "cell " (judgment.ordinal) } }
            }
            @if !words.scores.is_empty() {
                p.row-of.small {
                    @for (metric, score) in &words.scores {
                        span { span.soft { (Line(metric)) } " " (line(&figure::score(&plain, score))) }
                    }
                }
            }
            @if !words.reasoning.is_empty() { div.prose-block dir="auto" { p.reason { (lines(&words.reasoning)) } } }
            @for cap in &judgment.caps { p.small { span.flag { "cap" } (Words(cap)) } }
            @if !judgment.diagnostics.is_empty() {
                details {
                    summary { "Findings" }
                    (json_tree::render(&serde_json::Value::Object(judgment.diagnostics.clone())))
                }
            }
            @for note in &judgment.notes { p.soft.small { (Words(note)) } }
            @if let Some(error) = &words.error { (state::error(&format!("{}: {}", error.code, error.message), None, None)) }
        }
    }
}
