//! Inputs and outputs of the cells worth reading, sample by sample.
//!
//! - `choose`: the cells, each with the reason why it is worth reading.
//! - `marks`: marked parts of outputs and sources: items, and what judges say of them.
//! - here: the section.

mod choose;
mod marks;

use std::collections::BTreeSet;
use std::iter;

use karat_page::block::verdict::Verdict;
use karat_page::block::{Block, Excerpt, ExcerptOutput, ExcerptScore, ExcerptText, Excerpts, Head, Message};
use karat_page::{Markup, html, render};
use karat_types::{CellRow, SampleRecord, SampleText};
use serde_json::Value;

use super::links::{Links, view_command};
use crate::outputs::cell_text::{CellText, ScoreText, texts_of};
use crate::outputs::{by_sample, each_row_of_sample};
use crate::shared::readable;
use crate::shared::report::{RenderError, Report, ShownOutputs};
use crate::wording::outputs::{introduction, worth_reading};
use choose::Chosen;
pub use marks::{MarkedOutput, MarkedSources};

/// Length of a text, in bytes.
pub(super) const TEXT: usize = 4_096;

/// Number of messages of a conversation.
const MESSAGES: usize = 40;

/// Number of cells, whatever is asked for: a page stays a page.
const CELLS: usize = 200;

/// Scores of a cell shown besides those that are low or have a reason.
const SCORES: usize = 8;

/// Returns the sentence on what is shown, and the samples with their cells; both are empty if nothing is to be shown.
pub(super) fn section(
    report: Report<'_>,
    links: &Links,
    bytes: usize,
) -> Result<(Option<String>, Markup), RenderError> {
    let chosen = choose::cells(report, CELLS)?;
    let lead = match report.context.outputs.shown {
        None => worth_reading(&chosen.selection),
        Some(shown) => introduction(shown, &chosen.selection),
    };
    let Some(lead) = lead.filter(|_| report.context.outputs.shown != Some(ShownOutputs::None)) else {
        return Ok((None, html! {}));
    };
    let (mut items, mut shown, mut left) = (Vec::new(), 0, bytes);
    for ordinals in by_sample(report, &chosen.selection) {
        let Some(item) = excerpt(report, links, &chosen, &ordinals)? else { continue };
        let size = excerpts(vec![item.clone()]).0.len();
        if size > left {
            break;
        }
        left -= size;
        shown += ordinals.len() as u64;
        items.push(item);
    }
    let left_out = chosen.selection.of.saturating_sub(shown);
    let content = html! {
        (excerpts(items))
        (karat_page::component::state::left_out(left_out, "cell", Some(&view_command(report))))
    };
    Ok((Some(lead), content))
}

fn excerpts(items: Vec<Excerpt>) -> Markup {
    let head = Head::new("Cells worth reading", "What did each system say?")
        .when_empty_because("No cell is shown: --outputs all shows every cell.");
    // The number left out counts cells, not samples.
    render(&Block::Excerpts(Excerpts { head, items, left_out: 0, all_by: None }))
}

fn excerpt(
    report: Report<'_>,
    links: &Links,
    chosen: &Chosen<'_>,
    ordinals: &[u64],
) -> Result<Option<Excerpt>, RenderError> {
    let mut sample: Option<SampleRecord> = None;
    let mut outputs: Vec<ExcerptOutput> = Vec::new();
    let mut sources = MarkedSources::default();
    each_row_of_sample(report, ordinals, |row| {
        if sample.is_none() {
            sample = Some(row.sample.clone());
        }
        let output = output(report, chosen.selection_thresholds(), &row, &mut sources)?;
        match outputs.last_mut() {
            // Trials of one system that gave the same text stand once.
            Some(last) if is_same(last, &output) => last.repeats += 1,
            _ => outputs.push(output),
        }
        Ok(())
    })?;
    let Some(sample) = sample else { return Ok(None) };
    let why: BTreeSet<&str> = ordinals.iter().filter_map(|ordinal| chosen.why(*ordinal)).collect();
    let is_stored = !sample.texts.is_empty();
    let missing = || {
        let texts = crate::outputs::cell_text::SampleTexts::of(report, &sample);
        crate::wording::outputs::missing_texts(&texts).to_owned()
    };
    let notes = why.into_iter().map(str::to_owned).chain((!is_stored).then(missing));
    let why = Some(notes.collect::<Vec<_>>().join(" ")).filter(|why| !why.is_empty());
    let href = links.sample(&sample.id);
    let texts = texts(&sample, &sources, &outputs);
    Ok(Some(Excerpt { sample: sample.id, why, href, texts, outputs, ..Excerpt::default() }))
}

/// The texts of the sample, input first, reference last, with the parts that outputs and judges refer to. A text that an
/// output repeats is left out.
fn texts(sample: &SampleRecord, sources: &MarkedSources, outputs: &[ExcerptOutput]) -> Vec<ExcerptText> {
    let all = texts_of(sample, usize::MAX).into_iter().filter_map(|(name, excerpt)| {
        let whole = readable::of_text(&excerpt.text);
        let (text, is_cut) = cut(&whole);
        let is_repeated = outputs.iter().any(|output| output.text.as_deref() == Some(text.as_str()));
        let highlights = if SampleText::is_name_expected(&name) { Vec::new() } else { sources.highlights(&text) };
        let chars = excerpt.cut_from.unwrap_or(whole.chars().count() as u64);
        let note = (is_cut || excerpt.cut_from.is_some()).then(|| cut_note(&text, chars));
        (!is_repeated).then_some(ExcerptText { name, text, note, highlights })
    });
    all.collect()
}

fn output(
    report: Report<'_>,
    thresholds: &crate::outputs::select::Thresholds<'_>,
    row: &CellRow<'_>,
    sources: &mut MarkedSources,
) -> Result<ExcerptOutput, RenderError> {
    let cell = CellText::with_limit(report, thresholds, row, 1)?;
    let mut value = if cell.output.is_some() { report.rows.output(row.cell.ordinal)? } else { None };
    let messages = value.as_mut().map(take_messages).unwrap_or_default();
    let diagnostics: Vec<_> = row.judgments.iter().map(|judgment| &judgment.diagnostics).collect();
    let marked = value.map(|value| MarkedOutput::of(&value, &diagnostics));
    if let Some(marked) = &marked {
        sources.add(&cell.system, marked);
    }
    let (text, highlights, note) = match marked {
        Some(marked) => {
            let chars = marked.text.chars().count() as u64;
            let (text, is_cut) = cut(&marked.text);
            let note = is_cut.then(|| format!("{}; {}", cut_note(&text, chars), cell.command));
            (Some(text), marked.highlights, note)
        }
        None => (None, Vec::new(), cell.missing.as_ref().map(|missing| format!("No output: {}", missing.text))),
    };
    let scores = scores(&cell);
    Ok(ExcerptOutput { system: cell.system.clone(), text, messages, note, repeats: 1, highlights, scores })
}

/// Takes the messages of a conversation out of an output. What they repeat, the calls, goes too.
fn take_messages(value: &mut Value) -> Vec<Message> {
    let Some(mut messages) = Message::of_output(value) else { return Vec::new() };
    if let Some(members) = value.as_object_mut() {
        members.retain(|name, _| !["messages", "tool_calls", "text"].contains(&name.as_str()));
    }
    let left_out = messages.len().saturating_sub(MESSAGES);
    messages.truncate(MESSAGES);
    for text in
        messages.iter_mut().flat_map(|it| iter::once(&mut it.content).chain(it.calls.iter_mut().map(|it| &mut it.1)))
    {
        let (shown, is_cut) = cut(text);
        *text = if is_cut { format!("{shown} …") } else { shown };
    }
    if left_out > 0 {
        let content = format!("{left_out} more messages are not shown");
        messages.push(Message { role: "…".to_owned(), content, ..Message::default() });
    }
    messages
}

fn is_same(last: &ExcerptOutput, next: &ExcerptOutput) -> bool {
    let base = |name: &str| name.split(" (trial ").next().unwrap_or_default().to_owned();
    last.text.is_some()
        && last.text == next.text
        && last.messages == next.messages
        && base(&last.system) == base(&next.system)
}

/// The scores that are low or have a reason, some of the others, and the words of judges.
fn scores(cell: &CellText) -> Vec<ExcerptScore> {
    let mut others = 0;
    let mut scores: Vec<ExcerptScore> = Vec::new();
    let mut known: Vec<&str> = Vec::new();
    for score in &cell.scores {
        let reason = score.reason.as_ref().map(|it| it.text.as_str()).filter(|text| !known.contains(text));
        known.extend(reason);
        let is_shown = score.is_low || reason.is_some() || others < SCORES;
        others += usize::from(!score.is_low && reason.is_none());
        if is_shown {
            scores.push(of_score(score, reason));
        }
    }
    let judges = cell.judges.iter().filter(|it| !known.contains(&it.text.text.as_str()));
    scores.extend(judges.map(|it| ExcerptScore {
        metric: it.scorer.clone(),
        judge: Some(it.judge.clone()),
        reason: Some(it.text.text.clone()),
        ..ExcerptScore::default()
    }));
    scores
}

fn of_score(score: &ScoreText, reason: Option<&str>) -> ExcerptScore {
    let verdict = match score.value.as_str() {
        "pass" => Some(Verdict::Pass),
        "fail" => Some(Verdict::Fail),
        _ if score.is_low => Some(Verdict::Fail),
        _ => None,
    };
    let is_word = matches!(score.value.as_str(), "pass" | "fail");
    ExcerptScore {
        metric: score.metric.clone(),
        // The verdict has the word.
        value: if is_word { String::new() } else { score.value.clone() },
        verdict,
        judge: None,
        reason: reason.map(str::to_owned),
    }
}

/// Returns the beginning of a text, and true if something was cut.
pub(super) fn cut(text: &str) -> (String, bool) {
    if text.len() <= TEXT {
        return (text.to_owned(), false);
    }
    let end = (0..=TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    (text.get(..end).unwrap_or_default().to_owned(), true)
}

fn cut_note(shown: &str, chars: u64) -> String {
    use karat_page::number::count;
    format!("the first {} of {} characters", count(shown.chars().count() as u64), count(chars))
}
