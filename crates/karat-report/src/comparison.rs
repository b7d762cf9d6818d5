//! A comparison for a terminal and as JSON; its Markdown is [`markdown::comparison`](crate::markdown::comparison).

use std::fmt::Write as _;

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use karat_analysis::Finding;
use karat_analysis::compare::{ComparedMetric, ComparisonVerdict, LeftOut, RunComparison, SecondTest, SideSummary};
use karat_analysis::planning::{Needed, PLANNED_POWER};
use serde::Serialize;

use crate::RenderError;
use crate::figures::{self, MOST_DIGITS, NONE, count, percent};
use crate::visible::brief;

/// Characters of an id or a message on one line.
const WIDTH: usize = 100;

/// Why a cell has no score, in words.
const FAILED: &str = "failed";
const UNSCORED: &str = "unscored";
const OPEN: &str = "without a result yet";

/// Ids shown of samples without a partner.
const IDS: usize = 10;

/// The comparison for a terminal. Nothing in it can act on one.
pub fn terminal(compared: &RunComparison) -> String {
    let mut text = String::new();
    let mut line = |line: String| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", line.trim_end());
    };
    for (label, side) in [("candidate", &compared.candidate), ("baseline ", &compared.baseline)] {
        line(format!("{label}  {} ({})", brief(&side.label, WIDTH), brief(&side.systems.join(", "), WIDTH)));
    }
    line(matched(compared));
    for side in [&compared.baseline, &compared.candidate] {
        unmatched(side).into_iter().for_each(&mut line);
    }
    changed(compared).into_iter().for_each(&mut line);
    line(String::new());
    table(compared).lines().for_each(|it| line(it.to_owned()));
    line(String::new());
    for metric in &compared.metrics {
        line(format!("{}: {}", brief(&name(metric), WIDTH), conclusion(metric)));
    }
    for it in &compared.not_compared {
        line(format!("{}: not compared; {}", brief(&it.metric, WIDTH), it.reason));
    }
    let changes = compared.diagnostics.iter().flat_map(|found| crate::changes::lines(found, compared.level));
    changes.for_each(|it| line(brief(&it, 3 * WIDTH)));
    compared.warnings.iter().for_each(|it| line(format!("warning: {}", brief(it, 2 * WIDTH))));
    line(format!("how these numbers were made: {}", how_made(compared)));
    text
}

fn table(compared: &RunComparison) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let right = |text: String| Cell::new_owned(text).set_alignment(CellAlignment::Right);
    let heads = ["metric", "baseline", "candidate", "change", "interval", "p", "verdict"];
    let head = |(at, head): (usize, &&str)| {
        if matches!(at, 1..=5) { right((*head).to_owned()) } else { Cell::new(head) }
    };
    table.set_header(heads.iter().enumerate().map(head));
    for metric in &compared.metrics {
        table.add_row([
            Cell::new_owned(brief(&name(metric), WIDTH / 2)),
            right(figures::value(metric, metric.baseline.value())),
            right(figures::value(metric, metric.candidate.value())),
            right(change(metric, metric.difference.value())),
            right(labelled(metric, deciding(metric))),
            right(p_value(metric.p_adjusted)),
            Cell::new(verdict(metric.verdict)),
        ]);
    }
    table
}

/// The comparison as JSON (`karat.compare/1`).
///
/// # Errors
/// Never for a comparison that [`compare`](karat_analysis::compare::compare) made.
pub fn json(compared: &RunComparison) -> Result<String, RenderError> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: &'static str,
        #[serde(flatten)]
        compared: &'a RunComparison,
    }
    let document = Document { schema: "karat.compare/1", compared };
    let mut text = serde_json::to_string_pretty(&document).map_err(std::io::Error::from)?;
    text.push('\n');
    Ok(text)
}

/// `400 samples in both`.
pub(crate) fn matched(compared: &RunComparison) -> String {
    format!("paired by id: {} samples in both", count(compared.matched))
}

/// The samples of a side that the other one lacks; `None` where there are none.
pub(crate) fn unmatched(side: &SideSummary) -> Option<String> {
    let what = format!("only in {}", brief(&side.label, WIDTH));
    listed(&what, side.only.iter(), side.n_only)
}

/// The samples of both sides whose content is not the same, so that they are no pairs; `None` where there are none.
pub(crate) fn changed(compared: &RunComparison) -> Option<String> {
    listed("changed between the two, and left out", compared.changed.iter(), compared.changed.len() as u64)
}

/// `only in before: q33, q34 and 7 more`; `None` for none.
fn listed<'a>(what: &str, ids: impl Iterator<Item = &'a String>, all: u64) -> Option<String> {
    let shown = ids.take(IDS).map(|id| brief(id, WIDTH / 2)).collect::<Vec<_>>().join(", ");
    let more = all.saturating_sub(IDS as u64);
    let more = if more > 0 { format!(" and {} more", count(more)) } else { String::new() };
    (all > 0).then(|| format!("{what}: {shown}{more}"))
}

/// A metric with what its figures are, where they are no means: `latency (p95)`.
fn name(metric: &ComparedMetric) -> String {
    match figure_of(metric) {
        Some(aggregate) => format!("{} ({aggregate})", metric.metric),
        None => metric.metric.clone(),
    }
}

/// What the figures of a metric are, where they are no means.
pub(crate) fn figure_of(metric: &ComparedMetric) -> Option<&str> {
    Some(metric.aggregate.as_str()).filter(|aggregate| *aggregate != "mean")
}

/// `3 left out: 1 not applicable, 2 failed`, and where samples are compared on a part of their cells `40 of 900 pairs of
/// cells left out: 40 failed`; `None` for none.
pub(crate) fn left_out(left_out: LeftOut) -> Option<String> {
    let LeftOut { n, not_applicable, errors, unscored, open, cells } = left_out;
    let samples = (n > 0).then(|| {
        let absent = (not_applicable, "not applicable");
        format!("{} left out: {}", count(n), reasons(&[absent, (errors, FAILED), (unscored, UNSCORED), (open, OPEN)]))
    });
    let cells = left_out.is_partial().then(|| {
        let (lost, due) = (count(cells.missing()), count(cells.due));
        let why = reasons(&[(cells.errors, FAILED), (cells.unscored, UNSCORED), (cells.open, OPEN)]);
        format!("{lost} of {due} pairs of cells left out: {why}")
    });
    let both: Vec<String> = [samples, cells].into_iter().flatten().collect();
    (!both.is_empty()).then(|| both.join("; "))
}

/// `1 not applicable, 2 failed`.
fn reasons(counted: &[(u64, &str)]) -> String {
    let some = counted.iter().filter(|(n, _)| *n > 0).map(|(n, why)| format!("{} {why}", count(*n)));
    some.collect::<Vec<_>>().join(", ")
}

/// What stands in a table for samples that are left out, and for a part of their cells.
pub(crate) fn left_out_short(left_out: LeftOut) -> String {
    let samples = count(left_out.n);
    match left_out.is_partial() {
        true => format!("{samples} ({} of {} cells)", count(left_out.cells.missing()), count(left_out.cells.due)),
        false => samples,
    }
}

/// The word of a verdict.
pub(crate) fn verdict(verdict: ComparisonVerdict) -> &'static str {
    match verdict {
        ComparisonVerdict::Better => "better",
        ComparisonVerdict::Worse => "worse",
        ComparisonVerdict::Equivalent => "equivalent",
        ComparisonVerdict::Undecided => "undecided",
    }
}

/// The ends of a difference's interval.
pub(crate) fn bounds(metric: &ComparedMetric, difference: &Finding) -> String {
    match difference.interval() {
        Some((lo, hi)) => format!("{} to {}", change(metric, lo), change(metric, hi)),
        None => NONE.to_owned(),
    }
}

/// The same with its level, and marked where it has collapsed.
fn labelled(metric: &ComparedMetric, difference: &Finding) -> String {
    let level = difference.level().map_or_else(String::new, |level| format!(" ({})", percent(level)));
    let collapsed = if difference.is_degenerate() { " collapsed" } else { "" };
    format!("{}{level}{collapsed}", bounds(metric, difference))
}

/// A difference with its sign, in as many digits as its precision deserves.
pub(crate) fn change(metric: &ComparedMetric, difference: f64) -> String {
    figures::signed(&figures::to_digits(difference, digits(metric)))
}

/// A difference without its direction.
pub(crate) fn size(metric: &ComparedMetric, difference: f64) -> String {
    figures::to_digits(difference.abs(), digits(metric))
}

/// Digits behind the point: those of the scale, and more where the standard error would vanish in them, or where an end
/// of an interval could not be told from what it is held against.
fn digits(metric: &ComparedMetric) -> usize {
    let scale = figures::digits(metric, metric.difference.value());
    let needed = metric.difference.se().filter(|se| *se > 0.0).map_or(0.0, |se| (1.0 - se.log10()).floor());
    let least = scale.max(needed.clamp(0.0, 6.0) as usize);
    (least..MOST_DIGITS)
        .find(|digits| limits(metric).iter().all(|pair| figures::differ(*pair, *digits)))
        .unwrap_or(least)
}

/// The ends of the metric's intervals, each with the limit that it is held against.
fn limits(metric: &ComparedMetric) -> Vec<(f64, f64)> {
    let ends =
        |finding: Option<&Finding>| finding.and_then(Finding::interval).map_or(Vec::new(), |(lo, hi)| vec![lo, hi]);
    let margin = metric.margin.unwrap_or_default();
    let of_margin = ends(metric.equivalence.as_ref()).into_iter().map(|end| (end.abs(), margin));
    ends(Some(&metric.difference)).into_iter().map(|end| (end, 0.0)).chain(of_margin).collect()
}

/// Three significant digits; below a thousandth only that.
pub(crate) fn p_value(p: Option<f64>) -> String {
    match p {
        None => NONE.to_owned(),
        Some(p) if p < 0.001 => "< 0.001".to_owned(),
        Some(p) if p < 0.01 => format!("{p:.5}"),
        Some(p) if p < 0.1 => format!("{p:.4}"),
        Some(p) => format!("{p:.3}"),
    }
}

/// A metric's result in one sentence.
pub(crate) fn conclusion(metric: &ComparedMetric) -> String {
    let difference = &metric.difference;
    let p = metric.p_adjusted.map(|p| format!("p = {}", p_value(Some(p))).replace("= <", "<"));
    let paired = match left_out(metric.left_out) {
        Some(lost) => format!("n = {} paired, {lost}", count(difference.n())),
        None => format!("n = {} paired", count(difference.n())),
    };
    let seed = difference.seed().map(|seed| format!("seed {seed}"));
    let how = [Some(interval(metric, difference)), p, Some(paired), Some(metric.test.to_owned()), seed];
    let how: Vec<String> = how.into_iter().flatten().collect();
    let needed = metric.needed.as_ref().map(|needed| take(metric, needed));
    let facts =
        [metric.impossible.clone(), collapsed(metric), certain(metric), at_worst(metric), margin(metric), needed];
    let facts = facts.into_iter().flatten().map(|fact| format!("; {fact}")).collect::<String>();
    format!("{} ({}): {}{facts}", change(metric, difference.value()), how.join(", "), verdict(metric.verdict))
}

/// That a difference is no chance although it does not matter.
fn certain(metric: &ComparedMetric) -> Option<String> {
    let (lo, hi) = metric.difference.interval()?;
    let is_certain = metric.verdict == ComparisonVerdict::Equivalent && (lo > 0.0 || hi < 0.0);
    is_certain.then(|| "the difference is no chance, and smaller than what matters".to_owned())
}

/// `95 % CI −0.4 to +4.6`.
fn interval(metric: &ComparedMetric, difference: &Finding) -> String {
    match difference.level() {
        Some(level) => format!("{} CI {}", percent(level), bounds(metric, difference)),
        None => "no interval".to_owned(),
    }
}

/// What a reader must know of an interval that is only a point; the test's name says where no sample differs.
fn collapsed(metric: &ComparedMetric) -> Option<String> {
    let why = if metric.difference.value().abs() > 0.0 { "all differ by the same amount: " } else { "" };
    let what = format!("{why}the interval has collapsed and says nothing of other samples");
    metric.difference.is_degenerate().then_some(what)
}

/// Between what the difference lies, whatever the scores that are missing.
fn at_worst(metric: &ComparedMetric) -> Option<String> {
    let (lo, hi) = metric.bounds?;
    let turned = match metric.verdict {
        ComparisonVerdict::Better | ComparisonVerdict::Worse if lo <= 0.0 && hi >= 0.0 => ", which could turn it",
        _ => "",
    };
    Some(format!("between {} and {}, whatever the missing scores{turned}", change(metric, lo), change(metric, hi)))
}

/// What the declared margin comes to.
fn margin(metric: &ComparedMetric) -> Option<String> {
    let (margin, tested) = (metric.margin?, metric.equivalence.as_ref()?);
    let (lo, hi) = tested.interval()?;
    let is = if lo > -margin && hi < margin { "is" } else { "is not" };
    Some(format!("{} {is} within the margin of ±{}", interval(metric, tested), size(metric, margin)))
}

/// The difference whose interval the verdict follows from.
pub(crate) fn deciding(metric: &ComparedMetric) -> &Finding {
    match (metric.verdict, &metric.equivalence) {
        (ComparisonVerdict::Equivalent, Some(tested)) => tested,
        _ => &metric.difference,
    }
}

/// What it would take.
fn take(metric: &ComparedMetric, needed: &Needed) -> String {
    let (power, size) = (percent(needed.power), size(metric, needed.difference));
    let goal = match metric.margin {
        Some(_) => format!("show with {power} power that two which do not differ are equivalent within ±{size}"),
        None => format!("detect a difference like this one of {size} with {power} power"),
    };
    if needed.more == 0 {
        return format!("its samples would already {goal}");
    }
    let cost = match needed.cost_usd {
        Some(cost) if cost > 0.0 => format!(", about {}", figures::usd(Some(cost))),
        Some(_) => String::new(),
        None => ", at an unknown price".to_owned(),
    };
    let clusters = needed.clusters.map_or_else(String::new, |clusters| format!(" in {} clusters", count(clusters)));
    let (samples, more) = (count(needed.samples), count(needed.more));
    let pairs = needed.pairs.map_or_else(String::new, |pairs| format!(", {} of them with a score", count(pairs)));
    format!("about {samples} samples{clusters}{pairs} ({more} more{cost}) would {goal}")
}

/// Another test in a few words.
pub(crate) fn second(metric: &ComparedMetric, second: &SecondTest) -> String {
    let p = second.p.map(|p| format!("p = {}", p_value(Some(p))).replace("= <", "<"));
    let interval = second.ci.map(|(lo, hi)| format!("{} to {}", change(metric, lo), change(metric, hi)));
    let seed = second.seed.map(|seed| format!("seed {seed}"));
    let facts: Vec<String> = [p, interval, seed].into_iter().flatten().collect();
    format!("{} {}", second.test, facts.join(", "))
}

/// How the numbers came about.
pub(crate) fn how_made(compared: &RunComparison) -> String {
    let correction = match compared.correction {
        _ if compared.family < 2 => "one metric".to_owned(),
        "holm" => format!("p-values corrected by Holm over {} metrics", compared.family),
        "bh" => format!("p-values corrected by Benjamini-Hochberg over {} metrics", compared.family),
        _ => "p-values not corrected".to_owned(),
    };
    let corrected = compared.family > 1 && compared.correction != "none";
    let each = if corrected { ", each interval at the level its metric is decided at" } else { "" };
    format!(
        "candidate − baseline, trials first, as each scorer reduces them; {} overall, {correction}{each}; planned for {} power",
        percent(compared.level),
        percent(PLANNED_POWER)
    )
}
