//! The calls of a cell in order, each with what was sent and what came back.

use maud::{Markup, html};
use serde_json::{Map, Value};

use crate::block::{Answer, Highlight, Message};
use crate::component::browse::json_tree;
use crate::component::{highlight, state, transcript};
use crate::text::markdown;
use crate::text::visible::{Line, line, lines};

/// A text longer than this many bytes is cut.
const LONGEST: usize = 120_000;

/// Bytes of a message from which on it scrolls within its frame.
const LONG: usize = 1_500;

/// The form in which texts of models are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TextView {
    /// Markdown as text with structure, JSON as a tree.
    #[default]
    Rendered,
    /// The bytes as they were sent and received.
    Raw,
}

/// A call.
#[derive(Debug, Clone, Default)]
pub struct Step {
    /// Its title: the model, and the scorer if a judge made it.
    pub title: String,
    /// True for a call of a judge.
    pub is_judge: bool,
    /// Facts: status, attempts, tokens, cost, as name and value.
    pub facts: Vec<(String, String)>,
    /// Begin and length as shares of the time of all calls.
    pub bar: Option<(f64, f64)>,
    /// The messages of the request.
    pub messages: Vec<Message>,
    /// Addresses of the images of the request.
    pub images: Vec<String>,
    /// Addresses of its other files.
    pub files: Vec<String>,
    /// Settings of the request beside its messages.
    pub settings: String,
    /// The text of the reply.
    pub reply: String,
    /// The request as sent.
    pub request: String,
    /// The response as received.
    pub response: String,
    /// The reason for a missing reply.
    pub error: Option<String>,
    /// The reason why nothing of the call can be shown.
    pub absent: Option<String>,
}

/// The choice of the form of texts, as links to the same page.
pub fn forms(view: TextView, rendered: &str, raw: &str) -> Markup {
    let is_raw = view == TextView::Raw;
    html! {
        nav aria-label="Form of texts" {
            ul.chips.plain-list {
                li { a.button.chip href=(rendered) aria-current=[(!is_raw).then_some("true")] data-testid="view-rendered" { "Rendered" } }
                li { a.button.chip href=(raw) aria-current=[is_raw.then_some("true")] data-testid="view-raw" { "Raw" } }
            }
        }
    }
}

/// Renders calls in their order.
pub fn render(steps: &[Step], view: TextView) -> Markup {
    html! { ol.steps.plain-list { @for it in steps { (step(it, view)) } } }
}

fn step(step: &Step, view: TextView) -> Markup {
    html! {
        li.step data-testid="trace-step" data-kind=(if step.is_judge { "judge" } else { "step" }) {
            h3 { (Line(&step.title)) }
            @if let Some((start, length)) = step.bar { (timing_bar(start, length)) }
            @if !step.facts.is_empty() {
                p.facts { @for (name, value) in &step.facts { span { span.soft { (line(name)) } " " (line(value)) } } }
            }
            @if let Some(reason) = &step.absent { (state::empty(&crate::block::Empty { reason: Some(reason.clone()), command: None })) }
            @else { (contents(step, view)) }
            @if let Some(error) = &step.error { (state::error(error, None, None)) }
        }
    }
}

fn contents(step: &Step, view: TextView) -> Markup {
    match view {
        TextView::Raw => html! {
            div.columns {
                (raw("Request", &step.request))
                (raw("Response", &step.response))
            }
        },
        TextView::Rendered => html! {
            div.columns {
                div.column {
                    span.role { "Request" }
                    ol.messages data-testid="transcript" {
                        @for message in &step.messages {
                            li.message data-role=(line(&message.role)) { (message_text(message)) }
                        }
                    }
                    @for (at, image) in step.images.iter().enumerate() {
                        a href=(image) { img.sent src=(image) alt=(format!("Image {} of the request", at + 1)) width="320" height="240"; }
                    }
                    @for (at, file) in step.files.iter().enumerate() { p { a href=(file) { "File " (at + 1) " of the request" } } }
                    @if !step.settings.is_empty() { p.soft.small { (lines(&step.settings)) } }
                }
                div.column {
                    @if step.reply.is_empty() { span.role { "Response" } p.soft { "No reply." } } @else { (readable("Response", &step.reply)) }
                }
            }
        },
    }
}

/// A message of a request. A long one scrolls within its frame, so that the reply and the next call are within reach.
fn message_text(message: &Message) -> Markup {
    let text = readable(&message.role, &message.content);
    html! {
        @if message.content.len() > LONG {
            div.scrolled tabindex="0" role="region" aria-label={ "Message of " (line(&message.role)) } { (text) }
        } @else { (text) }
    }
}

/// A text of a model, with its label on the line of the button that copies it: a tree if it is JSON, otherwise Markdown.
pub fn readable(label: &str, text: &str) -> Markup {
    let (shown, rest) = cut(text);
    let tree = (rest == 0).then(|| json_tree::parse(shown)).flatten();
    html! {
        k-copy {
            span.role { (line(label)) }
            @match tree {
                Some(value) => div.surface { (json_tree::render(&value)) },
                None => div.prose-block.surface dir="auto" { (markdown::render(shown)) },
            }
            (copy_source(text))
        }
        (remainder(rest))
    }
}

/// An output: a conversation as a transcript with what is beside it, any other as [`readable`] text.
pub fn output(value: &Value) -> Markup {
    let text = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
    match (Message::of_output(value), value) {
        (Some(messages), Value::Object(members)) => {
            let beside: Map<String, Value> =
                members.iter().filter(|(name, _)| *name != "messages").map(|it| (it.0.clone(), it.1.clone())).collect();
            html! {
                (transcript::render(&messages))
                (readable("", &text(&Value::Object(beside))))
            }
        }
        (_, Value::String(text)) => readable("", text),
        _ => readable("", &text(value)),
    }
}

/// A text as it is, with its label.
pub fn raw(label: &str, text: &str) -> Markup {
    let (shown, rest) = cut(text);
    html! {
        div.column {
            @if text.is_empty() { span.role { (label) } p.soft { "Nothing." } } @else {
                k-copy { span.role { (label) } div.text-block.surface dir="auto" data-copy { (lines(shown)) } }
            }
            (remainder(rest))
        }
    }
}

/// A text with marked parts, with its label.
pub fn marked_text(label: &str, text: &str, highlights: &[Highlight]) -> Markup {
    let (shown, rest) = cut(text);
    html! {
        div.column {
            span.role { (label) }
            div.text-block.surface dir="auto" { (highlight::render(shown, highlights)) }
            (remainder(rest))
        }
    }
}

/// An answer with its marked parts, and the lists of objects beside it.
pub fn answer(answer: &Answer<'_>, highlights: &[Highlight]) -> Markup {
    html! {
        div.columns data-testid="answer" {
            (marked_text(&line(answer.name), answer.text, highlights))
            div.column {
                @for (name, items) in &answer.lists {
                    details open data-beside=(line(name)) {
                        summary { (line(name)) " " span.count { (crate::number::count(items.len() as u64)) } }
                        ol.plain-list.stack { @for item in *items { li.surface { (json_tree::render(item)) } } }
                    }
                }
            }
        }
        @if !answer.others.is_empty() {
            details {
                summary { "Other members" }
                div.surface { (json_tree::render(&Value::Object(answer.others.clone()))) }
            }
        }
    }
}

/// The text for the button that copies, where the shown one has lost its form. A short text only: it stands twice.
fn copy_source(text: &str) -> Markup {
    html! { @if text.len() <= 1_500 { span hidden data-copy { (lines(text)) } } }
}

fn cut(text: &str) -> (&str, usize) {
    let end = (0..=LONGEST.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    (text.get(..end).unwrap_or_default(), text.len() - end)
}

fn remainder(bytes: usize) -> Markup {
    html! {
        @if bytes > 0 {
            p.left-out data-testid="left-out" { (crate::number::count(bytes as u64)) " more bytes are not shown; " code { "karat trace" } " prints all." }
        }
    }
}

/// The time of a call among that of all calls.
fn timing_bar(start: f64, length: f64) -> Markup {
    let percent = |share: f64| format!("{:.2}%", 100.0 * share.clamp(0.0, 1.0));
    html! {
        svg.timing width="100%" height="8" aria-hidden="true" {
            rect.track x="0" y="0" width="100%" height="8" {}
            rect.bar-mark x=(percent(start)) y="0" width=(percent(length.max(0.002))) height="8" {}
        }
    }
}
