//! The terminal formats: the summary at the end of a run, and the results of `agree`, `calibrate`, `compare`,
//! `dataset items`, `gate` and `golden`.
//!
//! This file has the summary ([`render`]): at most [`LINES`] lines, readable without colour. `metrics` (the table of the
//! headline metrics), `kpis` and `analyses` are parts of it; the other files are documents of their own.

mod agreement;
mod analyses;
mod calibration;
mod comparison;
mod gates;
mod golden;
mod items;
mod kpis;
mod metrics;
mod movers;
mod outputs;

use std::fmt::Write as _;
use std::path::Path;

use karat_analysis::{Answer, NoteCount, Stage};
use karat_types::NoteKind;

pub use self::agreement::agreement;
pub use self::calibration::calibration;
pub use self::comparison::comparison;
pub use self::gates::gates;
pub use self::golden::golden;
pub use self::items::items;
pub use self::outputs::{outputs, sample_outputs};

use crate::shared::figures::{self, count};
use crate::shared::report::{Failure, Report};
use crate::shared::visible::{MESSAGE, both_ends, excerpt};
use crate::wording::{answer, provenance};

/// Largest number of lines that [`render`] returns.
pub const LINES: usize = 40;

/// Number of lines after the lists: cost, how the numbers were made, files.
const TAIL: usize = 3;

/// Number of gates shown that did not pass.
const GATES: usize = 4;

/// Number of notes on gates shown.
const NOTES: usize = 2;

/// Number of reasons for a failed run shown.
const FAILURES: usize = 3;

/// Number of warnings shown.
const WARNINGS: usize = 4;

/// Number of kinds of errors shown.
const ERRORS: usize = 3;

/// Length of an id or a message on one line, in characters.
const WIDTH: usize = 100;

/// Returns the summary, without control sequences.
pub fn render(report: Report<'_>) -> String {
    let findings = report.findings;
    let mut text = String::new();
    let mut line = |line: String| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{line}");
    };
    let tally = findings.run.tally;
    let judgments = match tally.judgments {
        0 => String::new(),
        all => format!("; judgments {}, {} reused", count(all), count(tally.judgments_reused)),
    };
    line(format!(
        "{}: cells {} of {}, {} failed, {} unscored, {} skipped, {} reused{judgments}",
        excerpt(&findings.plan.suite, WIDTH),
        count(tally.cells.saturating_sub(tally.stopped)),
        count(findings.planned),
        count(tally.errors),
        count(tally.unscored),
        count(tally.skipped),
        count(tally.reused)
    ));
    report.context.stop.iter().for_each(|stop| line(excerpt(&stop.sentence(), 3 * WIDTH)));
    gates::lines(&report.context.verdicts, GATES, NOTES).into_iter().for_each(&mut line);
    if let Some(note) = &report.context.verdict_note {
        line(format!("no verdict: {}", excerpt(note, 2 * WIDTH)));
    }
    let failures = &report.context.failures;
    // A cause that several share is told once.
    let causes = |at: usize| failures.iter().take(at).filter_map(|it| it.cause.as_ref());
    for (at, failure) in failures.iter().take(FAILURES).enumerate() {
        let cause = failure.cause.clone().filter(|cause| !causes(at).any(|told| told == cause));
        let told = Failure { cause, ..failure.clone() };
        line(format!("failed: {}", both_ends(&told.to_string(), 5 * WIDTH)));
    }
    if failures.len() > FAILURES {
        let more = count((failures.len() - FAILURES) as u64);
        line(format!(
            "failed: and {more} more reasons; `karat gate {}` lists them all",
            excerpt(&report.rows.header().id, WIDTH)
        ));
    }
    answers(report).into_iter().for_each(&mut line);
    line(String::new());
    metrics::lines(report).into_iter().for_each(&mut line);
    line(String::new());
    kpis::lines(report).into_iter().for_each(&mut line);
    let warnings = report.warnings().map(|it| excerpt(it, 2 * WIDTH));
    let warnings = truncation_warnings(report).into_iter().chain(warnings).take(WARNINGS);
    let warnings: Vec<String> = warnings.map(|it| format!("warning: {it}")).collect();
    let mut rest = [leaders(report), analyses::lines(report), errors(report), warnings];
    let room = (LINES - TAIL).saturating_sub(text.lines().count());
    shorten(&mut rest, room);
    for it in rest.into_iter().flatten().chain([cost(report), how_made(report)]) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{it}");
    }
    text
}

/// Takes the last line of the longest list, the last list first, until all have room.
fn shorten(lists: &mut [Vec<String>], room: usize) {
    let taken = |lists: &[Vec<String>]| lists.iter().map(Vec::len).sum::<usize>();
    while taken(lists) > room {
        let longest = lists.iter_mut().max_by_key(|list| list.len()).filter(|list| list.len() > 1);
        match longest {
            Some(list) => list.pop(),
            None => return,
        };
    }
}

/// Returns the line that follows the summary: the written files, the page first.
pub fn files(files: &[String]) -> String {
    let is_page = |file: &&String| file.ends_with(".html");
    let Some(first) = files.iter().find(is_page).or(files.first()) else { return String::new() };
    let how = if is_page(&first) { " (open it in a browser)" } else { "" };
    let folder = Path::new(first).parent();
    let name = |file: &String| match Path::new(file).file_name() {
        Some(name) if Path::new(file).parent() == folder => name.to_string_lossy().into_owned(),
        _ => file.clone(),
    };
    let others: Vec<String> = files.iter().filter(|file| *file != first).map(name).collect();
    let beside = match others.as_slice() {
        [] => String::new(),
        _ => format!("; also {}", excerpt(&others.join(", "), 2 * WIDTH)),
    };
    format!("report: {}{how}{beside}\n", excerpt(first, 3 * WIDTH))
}

/// Returns what to choose, a line for each axis of the run.
fn answers(report: Report<'_>) -> Vec<String> {
    let caveat = |it: &Answer| it.caveat.as_ref().map(|caveat| excerpt(&format!("  caveat: {caveat}"), 3 * WIDTH));
    let line = |it: &Answer| excerpt(&format!("{} {}", it.question, it.answer), 5 * WIDTH);
    answer::answers(report).iter().flat_map(|it| std::iter::once(line(it)).chain(caveat(it))).collect()
}

/// Returns what the table of systems does not show: figures that join several systems, and the hardest sample.
fn leaders(report: Report<'_>) -> Vec<String> {
    let Some(board) = report.findings.primary_board() else { return Vec::new() };
    let scripts = report.findings.plan.script_warning().map(|_| "graded by scripts: the order says nothing".to_owned());
    let leaders = answer::leaders(report)
        .into_iter()
        .filter(|it| it.key != "system" && (it.joined.is_some() || it.key == "hardest"));
    let leaders = leaders.map(|it| format!("{}: {} {}", answer::label(&it), excerpt(it.id, WIDTH / 2), it.text));
    scripts
        .into_iter()
        .chain(answer::level(report, board))
        .chain(leaders)
        .chain(answer::shared_part(report, board))
        .collect()
}

/// Returns the most frequent error codes, each with the first message of its most frequent kind.
fn errors(report: Report<'_>) -> Vec<String> {
    let Some(errors) = report.findings.errors() else { return Vec::new() };
    let shown = errors.codes.iter().take(ERRORS).filter_map(|code| {
        let mut kinds = errors.kinds.iter().filter(|kind| kind.stage == code.stage && kind.code == code.code);
        let example = kinds.next()?.examples.first()?;
        let what = match code.stage {
            Stage::Cell => "cell",
            Stage::Judgment => "judgment",
            Stage::Score => "score",
        };
        let times = if code.count == 1 { what.to_owned() } else { format!("{what}s") };
        let causes = match kinds.count() {
            0 => String::new(),
            more => format!(" ({} causes)", count(more as u64 + 1)),
        };
        // A long message is told once, but where it was cut.
        let is_cause = |it: &Failure| it.cause.as_ref() == Some(&example.message) && it.to_string().len() <= 5 * WIDTH;
        let is_told = example.message.len() > WIDTH && report.context.failures.iter().take(FAILURES).any(is_cause);
        let message = if is_told { "the cause stands above".to_owned() } else { both_ends(&example.message, MESSAGE) };
        let who = excerpt(&example.who, WIDTH / 2);
        let see = report.reply_command(&code.code, example.cell).map(|command| format!(" (see `{command}`)"));
        Some(format!(
            "error: {} {times}, {}{causes}: {who}: {message}{}",
            count(code.count),
            excerpt(&code.code, WIDTH / 2),
            see.unwrap_or_default()
        ))
    });
    let more = errors.codes.get(ERRORS..).filter(|more| !more.is_empty()).map(|more| {
        let codes: Vec<String> =
            more.iter().map(|code| format!("{} {}", count(code.count), excerpt(&code.code, WIDTH / 2))).collect();
        excerpt(&format!("error: and {}", codes.join(", ")), 2 * WIDTH)
    });
    shown.chain(more).collect()
}

/// Returns warnings about truncated or filtered replies and dropped chunks, each with an example and advice.
fn truncation_warnings(report: Report<'_>) -> Vec<String> {
    let kinds = report.findings.notes().map_or(&[][..], |notes| &notes.kinds);
    let warnings_by_kind = kinds.iter().filter_map(|note| {
        let (one, many, hint) = match note.kind {
            NoteKind::NotApplied => {
                let example = excerpt(&note.example, MESSAGE);
                return Some(format!("{example} ({}): the model refuses it, or its API lacks it", places(note)));
            }
            NoteKind::Truncated if note.cells == 0 => ("reply", "replies", "raise `--judge-max-tokens`".to_owned()),
            NoteKind::Truncated => ("reply", "replies", "raise `max_tokens` (`--max-output-tokens`)".to_owned()),
            NoteKind::Filtered => ("reply", "replies", format!("read it with `{}`", report.trace_command(note.cell))),
            NoteKind::CostUnknown => {
                return Some(format!("{} ({})", excerpt(&note.example, MESSAGE), places(note)));
            }
            NoteKind::UnknownEnd | NoteKind::NoContent => {
                ("reply", "replies", format!("read it with `{}`", report.trace_command(note.cell)))
            }
            NoteKind::DroppedChunks => ("chunk", "chunks", "raise `chunk.max` (`--max-chunks`)".to_owned()),
            NoteKind::Unscripted => ("call", "calls", "add a row for it to the tool's `replies`".to_owned()),
            _ => return None,
        };
        let done = match note.kind {
            NoteKind::DroppedChunks => "dropped",
            NoteKind::Filtered => "filtered or refused",
            NoteKind::Unscripted => "without a scripted reply",
            NoteKind::UnknownEnd => "with an unknown end",
            NoteKind::NoContent => "without content",
            _ => "cut off",
        };
        let (what, places) = (count_of(note.times, one, many), places(note));
        let (who, example) = (excerpt(&note.sample, WIDTH / 2), excerpt(&note.example, MESSAGE));
        Some(format!("{what} {done} in {places}: {who}: {example}; {hint}"))
    });
    warnings_by_kind.collect()
}

/// Returns the number of cells and judgments concerned.
fn places(note: &NoteCount) -> String {
    let cells = (note.cells > 0).then(|| count_of(note.cells, "cell", "cells"));
    let judgments = (note.judgments > 0).then(|| count_of(note.judgments, "judgment", "judgments"));
    cells.into_iter().chain(judgments).collect::<Vec<_>>().join(" and ")
}

fn count_of(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

fn cost(report: Report<'_>) -> String {
    let spend = report.findings.run.spend;
    let failed = report.findings.run.tally.errors > 0;
    let divided = if failed { "; $/cell is the total cost divided by all cells, including failed ones" } else { "" };
    let users = match spend.has_users() {
        true => format!(", {} of simulated users", count(spend.users.usage.total())),
        false => String::new(),
    };
    let vectors = match spend.has_vectors() {
        true => format!(", {} of compared texts", count(spend.vectors.usage.total())),
        false => String::new(),
    };
    let paid = figures::money(Some(report.amount_paid()));
    let paid = if report.is_simulated() {
        format!("nothing was billed ({paid} at the scripted prices)")
    } else if report.context.unpriced_calls > 0 {
        format!("{paid} paid and {} of unknown cost", count_of(report.context.unpriced_calls, "call", "calls"))
    } else if spend.cost().is_some_and(|list| report.amount_paid() < list) {
        format!("{paid} paid (the rest was reused, within this run or from earlier ones)")
    } else {
        format!("{paid} paid")
    };
    format!(
        "cost: estimate {}; {} at list price, {paid}; {} tokens of systems, {} of judges{users}{vectors}{divided}",
        figures::estimate(report.context.estimate.as_ref()),
        figures::money(spend.cost()),
        count(spend.extraction.usage.total()),
        count(spend.judging.usage.total())
    )
}

/// Returns what the figures rest on. What only identifies them (hashes, seed, version) is in the reports, and the addresses
/// that were asked are said when the run starts.
fn how_made(report: Report<'_>) -> String {
    let identity = ["suite", "plan", "dataset", "seed", "reused", "addresses", "karat"];
    let parts = provenance::parts(report).into_iter().filter(|(label, _)| !identity.contains(label));
    let parts = parts.map(|(label, text)| format!("{label} {}", excerpt(&text, WIDTH)));
    format!("how these numbers were made: {}", parts.collect::<Vec<_>>().join(" · "))
}
