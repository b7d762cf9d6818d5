//! States without content: nothing there, an error, something left out.

use maud::{Markup, html};

use crate::block::Empty;
use crate::block::verdict::{self, Verdict};
use crate::number::count;
use crate::text::visible::{Words, line};

/// Nothing to show: the reason, and the command that would fill the place.
pub fn empty(state: &Empty) -> Markup {
    let reason = state.reason.as_deref().unwrap_or("There is nothing to show here: no value was recorded.");
    html! {
        div.state data-testid="empty-state" {
            p { (Words(reason)) }
            @if let Some(command) = &state.command { pre { code { (line(command)) } } }
        }
    }
}

/// An error: what went wrong, and what to do. A live page names the request.
pub fn error(problem: &str, advice: Option<&str>, request: Option<&str>) -> Markup {
    html! {
        div.state.error data-testid="error-state" role="alert" {
            p { span.verdict data-verdict="error" { span.glyph aria-hidden="true" { "!" } "error" } " " (Words(problem)) }
            @if let Some(advice) = advice { p { (Words(advice)) } }
            @if let Some(request) = request { p.soft.small { "Request " code { (line(request)) } } }
        }
    }
}

/// Several failures in one box: their most frequent cause first, each failure once, and the advice that all of them give.
pub fn failures(failures: &[String], cause: Option<&str>, advice: Option<&str>) -> Markup {
    html! {
        @if !failures.is_empty() {
            div.state.error data-testid="error-state" role="alert" {
                @if let Some(cause) = cause { p { span.soft { "Most frequent cause: " } (Words(cause)) } }
                @for failure in failures { p { (verdict::mark(Verdict::Error)) " " (Words(failure)) } }
                @if let Some(advice) = advice { p { (Words(advice)) } }
            }
        }
    }
}

/// A note on what is not shown, and the command that shows it. Empty if nothing is left out.
pub fn left_out(number: u64, noun: &str, command: Option<&str>) -> Markup {
    html! {
        @if number > 0 {
            p.left-out data-testid="left-out" {
                (count(number)) " more " (noun) @if number != 1 { "s" } @if number == 1 { " is" } @else { " are" } " not shown"
                @if let Some(command) = command { "; " code { (line(command)) } " shows all" }
                "."
            }
        }
    }
}
