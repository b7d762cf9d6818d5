//! Samples with their input, reference and the outputs of systems side by side.

use maud::{Markup, html};

use crate::block::verdict;
use crate::block::{Excerpt, ExcerptOutput, ExcerptScore, Excerpts, Highlight};
use crate::component::{highlight, state, table, transcript};
use crate::number::count_noun;
use crate::text::diff;
use crate::text::visible::{Line, Name, Words, line, lines};

/// Samples that are open when a page is opened; a reader opens the others.
const OPEN: usize = 2;

/// Bytes and lines from which on a text scrolls within its frame.
const LONG: usize = 1_200;
const LINES: usize = 18;

/// Messages from which on a conversation scrolls within its frame.
const MESSAGES: usize = 8;

/// Outputs of a sample that are shown at once; the others are folded together.
const OUTPUTS: usize = 9;

/// Samples that are listed at once; the others are folded together.
const LISTED: usize = 10;

/// Renders samples in their order.
pub fn render(excerpts: &Excerpts) -> Markup {
    let (listed, folded) = excerpts.items.split_at(excerpts.items.len().min(LISTED));
    html! {
        (list(listed, OPEN))
        @if !folded.is_empty() {
            details.fold { summary { (count_noun(folded.len() as u64, "more sample")) } (list(folded, 0)) }
        }
        (state::left_out(excerpts.left_out, "sample", excerpts.all_by.as_deref()))
    }
}

/// Samples of which the first are open.
fn list(items: &[Excerpt], open: usize) -> Markup {
    html! {
        ol.excerpts {
            @for (at, item) in items.iter().enumerate() {
                li.excerpt data-testid="excerpt" data-sample=(line(&item.sample)) {
                    @if at < open { (heading(item, item.href.as_deref())) (excerpt(item)) }
                    @else {
                        details.fold {
                            // A link within the head of a disclosure could not be reached.
                            summary { (heading(item, None)) }
                            @if let Some(href) = &item.href { p { (table::link("Open the sample", href)) } }
                            (excerpt(item))
                        }
                    }
                }
            }
        }
    }
}

fn heading(item: &Excerpt, href: Option<&str>) -> Markup {
    html! {
        div {
            h4 { @match href { Some(href) => (table::link(&item.sample, href)), None => (Line(&item.sample)) } }
            @if let Some(why) = &item.why { p.soft { (Words(why)) } }
        }
    }
}

fn excerpt(item: &Excerpt) -> Markup {
    let pair = match item.outputs.as_slice() {
        [before, after] if item.with_diff => before.text.as_deref().zip(after.text.as_deref()),
        _ => None,
    };
    let (shown, folded) = item.outputs.split_at(item.outputs.len().min(OUTPUTS));
    html! {
        div.excerpt-body {
            @if item.input.is_some() || item.reference.is_some() || !item.texts.is_empty() {
                div.columns {
                    @if let Some(input) = &item.input {
                        div.column.long[is_long(input)] {
                            span.role { "Input" }
                            (block(input, &item.input_highlights, "Input"))
                        }
                    }
                    @for text in &item.texts {
                        div.column.long[is_long(&text.text)] {
                            span.role { (Line(&text.name)) }
                            (block(&text.text, &text.highlights, &text.name))
                            @if let Some(note) = &text.note { p.soft.small { (Words(note)) } }
                        }
                    }
                    @if let Some(reference) = &item.reference {
                        div.column.long[is_long(reference)] {
                            span.role { "Reference" }
                            (block(reference, &[], "Reference"))
                        }
                    }
                }
            }
            div.columns { @for it in shown { (output(it)) } }
            @if !folded.is_empty() {
                details.fold {
                    summary { (count_noun(folded.len() as u64, "more output")) }
                    div.columns { @for it in folded { (output(it)) } }
                }
            }
            @if let Some((before, after)) = pair {
                details { summary { "Differences" } (diff::render(before, after)) }
            }
        }
    }
}

/// A text; a long one scrolls within its frame, also by keyboard.
fn block(text: &str, highlights: &[Highlight], name: &str) -> Markup {
    let is_long = is_long(text);
    html! {
        div.text-block.surface.cut[is_long] dir="auto" tabindex=[is_long.then_some("0")]
            role=[is_long.then_some("region")] aria-label=[is_long.then(|| line(name))] {
            (highlight::render(text, highlights))
        }
    }
}

/// Returns true for texts that would push everything else off the page.
fn is_long(text: &str) -> bool {
    text.len() > LONG || text.lines().count() > LINES
}

fn output(output: &ExcerptOutput) -> Markup {
    html! {
        div.column data-testid="sample-output" data-system=(line(&output.system)) {
            span.role {
                (Name(&output.system))
                @if output.repeats > 1 { " " span.repeats title="Trials that gave this text" { (output.repeats) "×" } }
            }
            @if !output.messages.is_empty() {
                div.cut[output.messages.len() > MESSAGES] tabindex=[(output.messages.len() > MESSAGES).then_some("0")]
                    role=[(output.messages.len() > MESSAGES).then_some("region")]
                    aria-label=[(output.messages.len() > MESSAGES).then(|| line(&output.system))] {
                    (transcript::render(&output.messages))
                }
            }
            @if let Some(text) = &output.text {
                (block(text, &output.highlights, &output.system))
            }
            @if let Some(note) = &output.note { p.soft.small { (Words(note)) } }
            @if !output.scores.is_empty() { ul.scores { @for it in &output.scores { (score(it)) } } }
        }
    }
}

fn score(score: &ExcerptScore) -> Markup {
    html! {
        li data-testid="judgment" data-metric=(line(&score.metric)) {
            span.soft { (Line(&score.metric)) }
            strong { (line(&score.value)) }
            @if let Some(verdict) = score.verdict { (verdict::mark(verdict)) }
            @if let Some(judge) = &score.judge { span.soft.small { "by " (Name(judge)) } }
            @if let Some(reason) = &score.reason { span.reason { (lines(reason)) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F68: outputs beyond the first nine of a sample are there, folded together.
    #[test]
    fn many_outputs_are_folded() {
        for (outputs, folded) in [(9, None), (16, Some("7 more outputs"))] {
            let one = |at: usize| ExcerptOutput { system: format!("s{at}"), ..ExcerptOutput::default() };
            let item = Excerpt { outputs: (0..outputs).map(one).collect(), ..Excerpt::default() };
            let html = excerpt(&item).into_string();
            assert_eq!(html.matches("data-testid=\"sample-output\"").count(), outputs);
            assert_eq!(html.contains("more outputs"), folded.is_some_and(|text| html.contains(text)));
        }
    }
}
