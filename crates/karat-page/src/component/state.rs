//! States without content: nothing there, an error, something left out.

use maud::{Markup, html};

use crate::block::Empty;
use crate::number::count;
use crate::text::visible::{line, lines};

/// Nothing to show: the reason, and the command that would fill the place.
pub fn empty(state: &Empty) -> Markup {
    let reason = state.reason.as_deref().unwrap_or("There is nothing to show here: no value was recorded.");
    html! {
        div.state data-testid="empty-state" {
            p { (line(reason)) }
            @if let Some(command) = &state.command { pre { code { (line(command)) } } }
        }
    }
}

/// An error: what went wrong, and what to do. A live page names the request.
pub fn error(problem: &str, advice: Option<&str>, request: Option<&str>) -> Markup {
    html! {
        div.state.error data-testid="error-state" role="alert" {
            p { span.verdict data-verdict="error" { span.glyph aria-hidden="true" { "!" } "error" } " " (lines(problem)) }
            @if let Some(advice) = advice { p { (lines(advice)) } }
            @if let Some(request) = request { p.soft.small { "Request " code { (line(request)) } } }
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
