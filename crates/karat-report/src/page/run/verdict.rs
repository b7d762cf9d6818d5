//! The verdict with its reasons: one sentence, the answer in figures, the gates.

use karat_analysis::{Decision, DeltaAxis, Verdict as Decided};
use karat_page::block::Stat;
use karat_page::block::verdict::{Verdict, verdict_line};
use karat_page::component::gates::{self, GateRow};
use karat_page::component::{cards, state};
use karat_page::number::{Estimate, Scale, Unit, count, count_noun};
use karat_page::text::visible::Words;
use karat_page::{Markup, html};
use karat_text::kind::capitalize;
use karat_types::RunStatus;

use crate::blocks::samples::errors;
use crate::page::sections::{disclosure, remarks};
use crate::shared::figures;
use crate::shared::report::{Failure, Report};
use crate::shared::scales;
use crate::shared::visible::{MESSAGE, both_ends};
use crate::wording::answer;
use crate::wording::gates::{SHOWN, VerdictWords, condition_bound, verdict_words, visible_checks};

/// Number of checks shown at once, the worst first; a reader opens the others.
const GATES: usize = 10;

pub(super) fn section(report: Report<'_>) -> Markup {
    let context = report.context;
    html! {
        (sentence(report))
        (answers(report))
        @if let Some(stop) = &context.stop { p data-testid="early-stop" { (Words(&format!("{}.", capitalize(&stop.sentence())))) } }
        (failures(report))
        (cards::render(&answer(report)))
        (warnings(report))
        (gate_table(report))
    }
}

/// The failures in one box: the most frequent error with its number, each failure once, and advice that all of them share
/// at the end. A cause that stands above is not repeated.
fn failures(report: Report<'_>) -> Markup {
    let all = &report.context.failures;
    let kind = report.findings.errors().and_then(|errors| errors.kinds.iter().max_by_key(|kind| kind.count));
    let message = kind.and_then(|kind| kind.examples.first()).map(|it| it.message.as_str()).unwrap_or_default();
    let cause = kind.map(|kind| {
        let cells = count_noun(kind.count, errors::stage_name(kind.stage));
        format!("{cells}: `{}`: {}", kind.code, both_ends(message, MESSAGE))
    });
    let shared = all
        .first()
        .and_then(|it| it.advice.clone())
        .filter(|it| all.iter().all(|other| other.advice.as_ref() == Some(it)));
    let shown = all.iter().map(|it| Failure {
        what: it.what.clone(),
        advice: it.advice.clone().filter(|_| shared.is_none()),
        cause: it.cause.clone().filter(|cause| cause != message),
    });
    let shown: Vec<String> = shown.map(|it| it.to_string()).collect();
    let advice = shared.map(|advice| format!("{}.", capitalize(&advice)));
    state::failures(&shown, cause.as_deref(), advice.as_deref())
}

/// The verdict in the words of report.md; without gates, the reason why there is none.
fn sentence(report: Report<'_>) -> Markup {
    match verdict_words(&report.context.verdicts) {
        Some(VerdictWords { verdict, counts, named, more }) => {
            let mut sentence = counts;
            if !named.is_empty() {
                sentence = format!("{sentence}: {}", named.join(", "));
            }
            if more > 0 {
                sentence = format!("{sentence} and {} more", count(more as u64));
            }
            verdict_line(page_verdict(verdict), &format!("{sentence}."))
        }
        None => {
            let words = match (&report.context.verdict_note, report.rows.header().status) {
                (Some(note), _) => format!("No verdict: {note}"),
                (None, RunStatus::Finished) => "No verdict: the suite sets no gate.".to_owned(),
                (None, _) => "No verdict: the run is not finished.".to_owned(),
            };
            html! { div.verdict-line data-testid="verdict" data-verdict="none" { p { (Words(&words)) } } }
        }
    }
}

/// The choice along each axis of the run.
fn answers(report: Report<'_>) -> Markup {
    html! {
        @for it in answer::answers(report) {
            p data-testid="answer" data-axis=(if it.axis == DeltaAxis::Model { "model" } else { "variant" }) {
                strong { (it.question) } " " (Words(&it.answer))
                @if let Some(caveat) = &it.caveat { " " span.soft { "Caveat: " (Words(caveat)) } }
            }
        }
    }
}

/// Returns the verdict in the form of pages.
pub(super) fn page_verdict(verdict: Decided) -> Verdict {
    match verdict {
        Decided::Pass => Verdict::Pass,
        Decided::Review => Verdict::Review,
        Decided::Undecided => Verdict::Undecided,
        Decided::Fail => Verdict::Fail,
    }
}

/// The answer in figures: the best, the worst, the hardest sample, cells and cost.
fn answer(report: Report<'_>) -> Vec<Stat> {
    let mut stats = Vec::new();
    if let (Some((_, metric)), Some(board)) = (report.primary(), report.findings.primary_board()) {
        let scale = scales::scale_of(&report.findings.plan, metric);
        let level = answer::level(report, board);
        stats.extend(answer::leaders(report).into_iter().map(|it| {
            let estimate = scales::estimate(&scale, it.finding);
            let label = format!("{}: {}", it.label, it.id);
            let note = match it.joined {
                Some(joined) => format!("{}, {joined}", metric.name),
                None => metric.name.clone(),
            };
            let note = level.clone().filter(|_| it.key == "best").unwrap_or(note);
            Stat { key: it.key.to_owned(), label, estimate, scale: scale.clone(), note: Some(note), ..Stat::default() }
        }));
    }
    stats.push(cells(report));
    stats.push(cost(report));
    stats
}

fn cells(report: Report<'_>) -> Stat {
    let tally = report.findings.run.tally;
    let parts = [("failed", tally.errors), ("unscored", tally.unscored), ("skipped", tally.skipped)];
    let parts = parts.into_iter().filter(|(_, n)| *n > 0).map(|(word, n)| format!("{} {word}", count(n)));
    let reused = (!report.context.canonical && tally.reused > 0).then(|| format!("{} reused", count(tally.reused)));
    let mut parts: Vec<String> = parts.chain(reused).collect();
    parts.insert(0, format!("of {} planned", count(report.findings.planned)));
    Stat {
        key: "cells".to_owned(),
        label: "Cells".to_owned(),
        estimate: Estimate::point(tally.cells as f64, 0),
        scale: Scale::of(Unit::Count),
        note: Some(parts.join(", ")),
        ..Stat::default()
    }
}

fn cost(report: Report<'_>) -> Stat {
    let spend = report.findings.run.spend;
    let paid = figures::money(Some(report.amount_paid()));
    let note = match (report.context.canonical, report.is_simulated()) {
        (true, _) => "at list price".to_owned(),
        (false, true) => "simulated models: nothing was billed".to_owned(),
        (false, false) => format!("at list price; {paid} paid in this run"),
    };
    Stat {
        key: "cost".to_owned(),
        label: "Cost".to_owned(),
        words: Some(figures::money(spend.cost())),
        note: Some(note),
        ..Stat::default()
    }
}

fn warnings(report: Report<'_>) -> Markup {
    let warnings: Vec<String> = report.warnings().map(|it| format!("Warning: {it}")).collect();
    remarks(&warnings)
}

fn gate_table(report: Report<'_>) -> Markup {
    let verdicts = &report.context.verdicts;
    let checks = visible_checks(verdicts);
    if checks.is_empty() {
        return html! {};
    }
    let left_out = checks.len().saturating_sub(SHOWN) as u64;
    let rows: Vec<GateRow> = checks
        .iter()
        .take(SHOWN)
        .map(|check| {
            let decision = check.decision;
            let scale = if decision.is_metric {
                scales::scale_named(&report.findings.plan, &decision.subject)
            } else {
                Scale::default()
            };
            GateRow {
                name: check.check_name(),
                verdict: page_verdict(decision.verdict),
                observed: observed_value(decision, &scale),
                change: observed_change(decision),
                threshold: condition_bound(decision, |value| scale.text(value)),
                scale,
                reason: decision.reason.clone(),
            }
        })
        .collect();
    let (first, rest) = rows.split_at(rows.len().min(GATES));
    html! {
        (gates::render(first, if rest.is_empty() { left_out } else { 0 }))
        @if !rest.is_empty() { (disclosure(&format!("{} more checks", rest.len()), &gates::render(rest, left_out))) }
        (remarks(&verdicts.notes))
    }
}

fn observed_value(decision: &Decision, scale: &Scale) -> Estimate {
    let finding = decision.finding.as_ref().filter(|_| !is_of_change(decision));
    match (finding, decision.observed) {
        (Some(finding), _) => scales::estimate(scale, finding),
        (None, Some(observed)) => Estimate::point(observed, 0),
        (None, None) => Estimate::missing("not observed"),
    }
}

/// Returns whether a gate bounds a change.
fn is_of_change(decision: &Decision) -> bool {
    decision.bound.starts_with("max_")
}

fn observed_change(decision: &Decision) -> Option<Estimate> {
    let missing = || Estimate::missing("not observed");
    is_of_change(decision).then(|| decision.finding.as_ref().map_or_else(missing, scales::difference))
}

/// The recommendations, each with its caveat; nothing if there are none.
pub(super) fn recommendations(report: Report<'_>) -> Markup {
    let all = answer::recommendations(report);
    html! {
        @if !all.is_empty() {
            ul.remarks {
                @for it in &all {
                    li {
                        (Words(&it.advice))
                        @if let Some(caveat) = &it.caveat { " " span.soft { "Caveat: " (Words(caveat)) } }
                    }
                }
            }
        }
    }
}
