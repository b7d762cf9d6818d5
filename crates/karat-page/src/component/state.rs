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
pub fn failures(failures: &[String], cause: Option<&str>) -> Markup {
    let parts: Vec<(&str, Option<&str>)> = failures
        .iter()
        .map(|failure| failure.split_once("; ").map_or((failure.as_str(), None), |(what, advice)| (what, Some(advice))))
        .collect();
    let advice =
        parts.first().and_then(|(_, advice)| *advice).filter(|it| parts.iter().all(|part| part.1 == Some(*it)));
    // The message of the cause stands above: it is not repeated.
    let message = cause.and_then(|it| it.splitn(3, ": ").nth(2)).filter(|it| !it.is_empty());
    let advice = advice.map(|it| {
        let rest = message.and_then(|end| it.strip_suffix(end));
        rest.map_or(it, |rest| rest.trim_end_matches(": "))
    });
    let whole = failures.iter().map(String::as_str);
    let shown: Vec<&str> =
        if advice.is_some() { parts.iter().map(|(what, _)| *what).collect() } else { whole.collect() };
    html! {
        @if !failures.is_empty() {
            div.state.error data-testid="error-state" role="alert" {
                @if let Some(cause) = cause { p { span.soft { "Most frequent cause: " } (Words(cause)) } }
                @for failure in &shown { p { (verdict::mark(Verdict::Error)) " " (Words(failure)) } }
                @if let Some(advice) = advice { p { (Words(&sentence(advice))) } }
            }
        }
    }
}

/// A part of a sentence as a sentence.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).chain(['.']).collect())
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

#[cfg(test)]
mod tests {
    /// F68: advice that all failures share stands once; where they differ, each keeps its own.
    #[test]
    fn shared_advice_stands_once() {
        let text = |of: &[&str]| {
            let failures: Vec<String> = of.iter().map(|it| (*it).to_owned()).collect();
            super::failures(&failures, Some("`timeout`: no answer")).into_string()
        };
        let same = text(&["a: 3 of 3; run `karat retry r`", "b: 2 of 2; run `karat retry r`"]);
        assert_eq!((same.matches("karat retry r").count(), same.matches("role=\"alert\"").count()), (1, 1));
        assert!(same.contains("<p>Run <code>karat retry r</code>.</p>") && same.contains("a: 3 of 3</p>"), "{same}");
        let other = text(&["a: 3 of 3; wait", "b: no key"]);
        assert!(other.contains("a: 3 of 3; wait</p>") && other.contains("b: no key</p>"), "{other}");
        assert_eq!(super::failures(&[], Some("x")).into_string(), "");
    }
}
