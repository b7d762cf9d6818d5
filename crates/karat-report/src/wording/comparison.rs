//! Sentences and figures about a comparison, the same in every format.

use karat_analysis::Finding;
use karat_analysis::compare::{
    ComparedMetric, ComparisonVerdict, Family, Kind, LeftOut, RunComparison, SecondTest, SideSummary,
};
use karat_analysis::planning::{Needed, PLANNED_POWER};

use karat_page::block::verdict::Verdict;

use crate::shared::figures::{self, MOST_DIGITS, NONE, count, percent};
use crate::shared::visible::excerpt;

/// Length of an id or a message on one line, in characters.
const WIDTH: usize = 100;

/// Reasons for a missing score.
const FAILED: &str = "failed";

const UNSCORED: &str = "unscored";

const OPEN: &str = "not finished";

/// Number of ids shown of samples without a partner.
const IDS: usize = 10;

/// Returns for example `paired by id: 400 samples in both`.
pub(crate) fn pairing_line(compared: &RunComparison) -> String {
    format!("paired by id: {} samples in both", count(compared.matched))
}

/// Lists the samples that only this side has, or returns `None`.
pub(crate) fn unmatched_samples(side: &SideSummary) -> Option<String> {
    let what = format!("only in {}", excerpt(&side.label, WIDTH));
    id_list(&what, side.only.iter(), side.n_only)
}

/// Lists the samples whose content differs between the sides, so that they are not pairs, or returns `None`.
pub(crate) fn changed_samples(compared: &RunComparison) -> Option<String> {
    id_list("content differs between the two sides, left out", compared.changed.iter(), compared.changed.len() as u64)
}

/// Returns for example `only in before: q33, q34 and 7 more`; `None` for an empty list.
fn id_list<'a>(what: &str, ids: impl Iterator<Item = &'a String>, all: u64) -> Option<String> {
    let shown = ids.take(IDS).map(|id| excerpt(id, WIDTH / 2)).collect::<Vec<_>>().join(", ");
    let more = all.saturating_sub(IDS as u64);
    let more = if more > 0 { format!(" and {} more", count(more)) } else { String::new() };
    (all > 0).then(|| format!("{what}: {shown}{more}"))
}

/// Returns the kind of a metric's figures, unless they are means.
pub(crate) fn aggregate_name(metric: &ComparedMetric) -> Option<&str> {
    Some(metric.aggregate.as_str()).filter(|aggregate| *aggregate != "mean")
}

/// Returns for example `3 left out: 1 not applicable, 2 failed`, and `40 of 900 pairs of cells left out: 40 failed`
/// if samples are compared on a part of their cells. `None` if nothing is left out.
pub(crate) fn missing_scores(left_out: LeftOut) -> Option<String> {
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
    let worth = left_out.cells.judgments;
    let judgments = (worth > 0.0).then(|| {
        let (worth, due) = (format!("{worth:.1}"), count(left_out.cells.due));
        format!("judgments missing on a side are worth {} of {due} pairs of cells", worth.trim_end_matches(".0"))
    });
    let both: Vec<String> = [samples, cells, judgments].into_iter().flatten().collect();
    (!both.is_empty()).then(|| both.join("; "))
}

/// Returns for example `1 not applicable, 2 failed`.
fn reasons(counted: &[(u64, &str)]) -> String {
    let some = counted.iter().filter(|(n, _)| *n > 0).map(|(n, why)| format!("{} {why}", count(*n)));
    some.collect::<Vec<_>>().join(", ")
}

/// Returns the verdict in the form of pages.
pub(crate) fn page_verdict(verdict: ComparisonVerdict) -> Verdict {
    match verdict {
        ComparisonVerdict::Better => Verdict::Better,
        ComparisonVerdict::Worse => Verdict::Worse,
        ComparisonVerdict::Equivalent => Verdict::Equivalent,
        ComparisonVerdict::Undecided => Verdict::Undecided,
    }
}

/// Returns the word of a verdict.
pub(crate) fn verdict_word(verdict: ComparisonVerdict) -> &'static str {
    match verdict {
        ComparisonVerdict::Better => "better",
        ComparisonVerdict::Worse => "worse",
        ComparisonVerdict::Equivalent => "equivalent",
        ComparisonVerdict::Undecided => "undecided",
    }
}

/// Formats the ends of a difference's interval.
pub(crate) fn bounds(metric: &ComparedMetric, difference: &Finding) -> String {
    match difference.interval() {
        Some((lo, hi)) => format!("{} to {}", signed_difference(metric, lo), signed_difference(metric, hi)),
        None => NONE.to_owned(),
    }
}

/// Formats a difference with its sign, in the metric's unit, with as many digits as its precision deserves. An end of an
/// interval that is not 0 never looks like it.
pub(crate) fn signed_difference(metric: &ComparedMetric, difference: f64) -> String {
    let text = match metric.unit {
        Some(_) => figures::value(metric, difference),
        None => figures::to_digits(difference, digits(metric)),
    };
    let is_told = text.chars().any(|c| ('1'..='9').contains(&c));
    // The last digits of a float are no difference.
    let is_zero = figures::to_digits(difference.abs(), MOST_DIGITS) == figures::to_digits(0.0, MOST_DIGITS);
    match is_told || is_zero {
        true => figures::with_sign(&text),
        false if difference > 0.0 => "just above 0".to_owned(),
        false => "just below 0".to_owned(),
    }
}

/// Formats a difference without its sign.
pub(crate) fn magnitude(metric: &ComparedMetric, difference: f64) -> String {
    match metric.unit {
        Some(_) => figures::value(metric, difference.abs()),
        None => figures::to_digits(difference.abs(), digits(metric)),
    }
}

/// Returns the number of decimals: those of the scale, and more if the standard error would vanish or an end of an
/// interval would look equal to the margin it is compared with.
fn digits(metric: &ComparedMetric) -> usize {
    let scale = figures::digits(metric, metric.difference.value());
    let needed = metric.difference.se().filter(|se| *se > 0.0).map_or(0.0, |se| (1.0 - se.log10()).floor());
    let least = scale.max(needed.clamp(0.0, 6.0) as usize);
    let ends = metric.equivalence.as_ref().and_then(Finding::interval).map_or(Vec::new(), |(lo, hi)| vec![lo, hi]);
    let margin = metric.margin.unwrap_or_default();
    (least..MOST_DIGITS)
        .find(|digits| ends.iter().all(|end| figures::look_different((end.abs(), margin), *digits)))
        .unwrap_or(least)
}

/// Formats a p-value with three significant digits, or as below a thousandth.
pub(crate) fn p_value(p: Option<f64>) -> String {
    match p {
        None => NONE.to_owned(),
        Some(p) if p < 0.001 => "< 0.001".to_owned(),
        Some(p) if p < 0.01 => format!("{p:.5}"),
        Some(p) if p < 0.1 => format!("{p:.4}"),
        Some(p) => format!("{p:.3}"),
    }
}

/// Returns whether the candidate is better in the metric that decides: the primary one, else the first that is not a detail.
pub(crate) fn answer(compared: &RunComparison) -> Option<String> {
    let primary = compared.movers.first().map(|it| it.metric.as_str());
    let named = compared.metrics.iter().find(|it| Some(it.metric.as_str()) == primary);
    let metric = named.or_else(|| compared.metrics.iter().find(|it| it.family != Family::Other))?;
    let word = match metric.verdict {
        ComparisonVerdict::Better => "Yes",
        ComparisonVerdict::Worse => "No, it is worse",
        ComparisonVerdict::Equivalent => "They are equivalent",
        ComparisonVerdict::Undecided => "Undecided",
    };
    let (candidate, baseline) = (excerpt(&compared.candidate.label, WIDTH), excerpt(&compared.baseline.label, WIDTH));
    let against = against(compared, metric);
    Some(format!(
        "Is {candidate} better than {baseline}? {word}: {} {}{against}",
        metric.metric,
        conclusion(compared, metric)
    ))
}

/// Returns the other headline metrics that decide against a metric's verdict, or at all where it has none.
fn against(compared: &RunComparison, metric: &ComparedMetric) -> String {
    let speaks = |it: &&ComparedMetric| match (metric.verdict, it.verdict) {
        (_, ComparisonVerdict::Undecided | ComparisonVerdict::Equivalent) => false,
        (own, other) => own != other,
    };
    let others = compared.metrics.iter().filter(|it| it.family != Family::Other && it.metric != metric.metric);
    let said = others.filter(speaks).map(|it| {
        let change = signed_difference(it, it.difference.value());
        format!("{} is {} ({change})", it.metric, verdict_word(it.verdict))
    });
    let said: Vec<String> = said.collect();
    if said.is_empty() { String::new() } else { format!(". But {}", said.join(", ")) }
}

/// Returns what a cell costs and how long it takes on both sides. What is free, or was not timed, is left out.
pub(crate) fn costs(compared: &RunComparison) -> Vec<String> {
    let (before, after) = (&compared.baseline, &compared.candidate);
    let money = (before.cost_per_cell_usd, after.cost_per_cell_usd);
    let is_free = [money.0, money.1].iter().all(|cost| cost.is_some_and(|cost| cost <= 0.0));
    let time = (before.latency_ms, after.latency_ms);
    let millis = |time: Option<f64>| time.map_or_else(|| "unknown".to_owned(), karat_page::number::millis);
    let cost = (!is_free).then(|| both_sides("cost of a cell", money, figures::usd));
    let time = (time != (None, None)).then(|| both_sides("time of a cell", time, millis));
    cost.into_iter().chain(time).collect()
}

/// Returns for example `cost of a cell: baseline $0.01, candidate $0.02 (+100 %)`.
fn both_sides(what: &str, (before, after): (Option<f64>, Option<f64>), text: impl Fn(Option<f64>) -> String) -> String {
    let change = match (before, after) {
        (Some(before), Some(after)) if before > 0.0 => {
            format!(" ({})", figures::with_sign(&percent_change(after / before - 1.0)))
        }
        _ => String::new(),
    };
    format!("{what}: baseline {}, candidate {}{change}", text(before), text(after))
}

/// Formats a relative change: `12 %`, `−3 %`.
fn percent_change(share: f64) -> String {
    format!("{} %", figures::to_digits(100.0 * share, 0))
}

/// Returns a metric's result in one sentence.
pub(crate) fn conclusion(compared: &RunComparison, metric: &ComparedMetric) -> String {
    if let Some(sentence) = no_difference(compared, metric) {
        return sentence;
    }
    let difference = &metric.difference;
    let p = metric.p_adjusted.map(|p| format!("p = {}", p_value(Some(p))).replace("= <", "<"));
    let paired = match missing_scores(metric.left_out) {
        Some(lost) => format!("n = {} paired, {lost}", count(difference.n())),
        None => format!("n = {} paired", count(difference.n())),
    };
    let seed = difference.seed().map(|seed| format!("seed {seed}"));
    let how = [Some(interval(metric, difference)), p, Some(paired), Some(metric.test.to_owned()), seed];
    let how: Vec<String> = how.into_iter().flatten().collect();
    let needed = metric.needed.as_ref().map(|needed| sample_size_note(metric, needed));
    let facts = [
        metric.impossible.clone(),
        limits_note(metric),
        significance_note(metric),
        worst_case_note(metric),
        margin_note(metric),
        needed,
    ];
    let facts = facts.into_iter().flatten().map(|fact| format!("; {fact}")).collect::<String>();
    format!(
        "{} ({}): {}{facts}",
        signed_difference(metric, difference.value()),
        how.join(", "),
        verdict_word(metric.verdict)
    )
}

/// Returns a note if a difference is significant but smaller than the margin.
fn significance_note(metric: &ComparedMetric) -> Option<String> {
    let (lo, hi) = metric.difference.interval()?;
    let is_certain = metric.verdict == ComparisonVerdict::Equivalent && (lo > 0.0 || hi < 0.0);
    is_certain.then(|| "the difference is significant, but smaller than the margin".to_owned())
}

/// Returns for example `95 % CI −0.4 to +4.6`.
fn interval(metric: &ComparedMetric, difference: &Finding) -> String {
    match difference.level() {
        Some(level) => format!("{} CI {}", percent(level), bounds(metric, difference)),
        None => "no interval".to_owned(),
    }
}

/// Returns a note on an interval that decides nothing, or that comes from the ends of the scale.
fn limits_note(metric: &ComparedMetric) -> Option<String> {
    let difference = &metric.difference;
    if let Some(why) = difference.open() {
        return Some(why.to_owned());
    }
    let few = "few samples differ, so the interval takes the ends of the scale as one more sample";
    let same = "all resamples changed by the same amount, so the interval says nothing about other samples";
    let degenerate = difference.is_degenerate().then_some(same);
    degenerate.or_else(|| (difference.few_vary() && difference.interval().is_some()).then_some(few)).map(str::to_owned)
}

/// Returns the sentence for a metric in which no sample differs and no margin decides.
fn no_difference(compared: &RunComparison, metric: &ComparedMetric) -> Option<String> {
    let is_equal = metric.p == Some(1.0) && metric.difference.se().is_none_or(|se| se <= 0.0);
    if !is_equal || metric.difference.value().abs() > 0.0 || metric.margin.is_some() {
        return None;
    }
    let lost = missing_scores(metric.left_out).map_or_else(String::new, |lost| format!(" ({lost})"));
    let sides = if compared.of_one_run { "on both sides" } else { "in both runs" };
    Some(format!(
        "no difference: all {} samples scored the same {sides}{lost}; this does not prove equality, set a margin to \
         test for it",
        count(metric.difference.n())
    ))
}

/// Returns the range of the difference over all possible missing scores.
fn worst_case_note(metric: &ComparedMetric) -> Option<String> {
    let (lo, hi) = metric.bounds?;
    let turned = match metric.verdict {
        ComparisonVerdict::Better | ComparisonVerdict::Worse if lo <= 0.0 && hi >= 0.0 => {
            ", which could reverse the verdict"
        }
        _ => "",
    };
    Some(format!(
        "between {} and {} for any values of the missing scores{turned}",
        signed_difference(metric, lo),
        signed_difference(metric, hi)
    ))
}

/// Returns the result of the test against the declared margin.
fn margin_note(metric: &ComparedMetric) -> Option<String> {
    let (margin, tested) = (metric.margin?, metric.equivalence.as_ref()?);
    let (lo, hi) = tested.interval()?;
    let is = if lo > -margin && hi < margin { "is" } else { "is not" };
    Some(format!("{} {is} within the margin of ±{}", interval(metric, tested), magnitude(metric, margin)))
}

/// Returns the difference whose interval decides the verdict.
pub(crate) fn deciding_difference(metric: &ComparedMetric) -> &Finding {
    match (metric.verdict, &metric.equivalence) {
        (ComparisonVerdict::Equivalent, Some(tested)) => tested,
        _ => &metric.difference,
    }
}

/// Returns the number of samples that a decision would take.
fn sample_size_note(metric: &ComparedMetric, needed: &Needed) -> String {
    let (power, size) = (percent(needed.power), magnitude(metric, needed.difference));
    let is_same = |other: f64| (needed.difference - other).abs() <= 1e-9 * other.abs();
    let scale = if metric.kind == Kind::Binary { Some((0.0, 1.0)) } else { metric.range };
    let goal = match metric.margin {
        Some(margin) if is_same(margin) => {
            format!("show equivalence within ±{size} with {power} power if there is no difference")
        }
        _ if scale.is_some_and(|(lo, hi)| is_same((hi - lo) / 20.0)) => {
            format!("detect a difference of {size}, 5 % of the scale, with {power} power")
        }
        _ => format!("detect a difference of {size} with {power} power"),
    };
    if needed.more == 0 {
        return format!("these samples are enough to {goal}");
    }
    let cost = match needed.cost_usd {
        Some(cost) if cost > 0.0 => format!(", about {}", figures::usd(Some(cost))),
        Some(_) => String::new(),
        None => ", at an unknown price".to_owned(),
    };
    let clusters = needed.clusters.map_or_else(String::new, |clusters| format!(" in {} clusters", count(clusters)));
    let (samples, more) = (count(needed.samples), count(needed.more));
    let pairs = needed.pairs.map_or_else(String::new, |pairs| format!(", {} of them with a score", count(pairs)));
    format!("about {samples} samples{clusters}{pairs} ({more} more{cost}) are needed to {goal}")
}

/// Returns the result of another test in a few words.
pub(crate) fn second_test(metric: &ComparedMetric, second: &SecondTest) -> String {
    let p = second.p.map(|p| format!("p = {}", p_value(Some(p))).replace("= <", "<"));
    let interval =
        second.ci.map(|(lo, hi)| format!("{} to {}", signed_difference(metric, lo), signed_difference(metric, hi)));
    let seed = second.seed.map(|seed| format!("seed {seed}"));
    let facts: Vec<String> = [p, interval, seed].into_iter().flatten().collect();
    format!("{} {}", second.test, facts.join(", "))
}

/// Returns how the numbers were made.
pub(crate) fn how_made(compared: &RunComparison) -> String {
    let correction = match compared.correction {
        _ if compared.family < 2 => "one test".to_owned(),
        "holm" => format!("p-values corrected by Holm over {} tests", compared.family),
        "bh" => format!("p-values corrected by Benjamini-Hochberg over {} tests", compared.family),
        _ => "p-values not corrected".to_owned(),
    };
    let corrected = compared.family > 1 && compared.correction != "none";
    let each = if corrected { ", each interval at the corrected level of its metric" } else { "" };
    format!(
        "candidate − baseline, after combining trials as each scorer specifies; {} overall, {correction}{each}; sample sizes for {} power",
        percent(compared.level),
        percent(PLANNED_POWER)
    )
}
