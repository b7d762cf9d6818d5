//! The verdict of a gate of a stopped run, from what was stored with its stop.

use karat_types::{DecidedBy, EarlyVerdict, StopRecord, StoppedClaim};

use crate::analyses::Outcome;
use crate::findings::Findings;
use crate::gate::case::GateCase;
use crate::gate::verdict_text::{Verdict, VerdictText, percent};
use crate::infer::finding::Finding;

/// Name of the intervals of a stopped run.
const METHOD: &str = "betting confidence sequence";

/// The verdict that a stop has for a case.
pub(in crate::gate) enum StoredVerdict<'a> {
    /// Nothing: the figures give the verdict.
    None,
    /// The verdict of its claim.
    Claim(&'a StopRecord, &'a StoppedClaim),
    /// The run stopped without asking: its figures are of a part of the plan.
    NotFollowed(&'a StopRecord),
}

/// The verdict that the stop of a run has for a case; `name` is that of its metric.
pub(in crate::gate) fn stored_verdict<'a>(
    findings: &'a Findings,
    case: &GateCase<'_>,
    name: &str,
) -> StoredVerdict<'a> {
    let Some(stop) = findings.stop.as_deref().filter(|stop| !stop.to_end) else { return StoredVerdict::None };
    let record = &stop.record;
    let group = case.unit.group.as_ref().map(|(_, value)| (&case.gate.per, value));
    let is_of_case = |(at, claim): &(usize, &StoppedClaim)| {
        claim.gate == case.gate.id
            && claim.metric == name
            && claim.bound == case.bound.name()
            && claim.threshold.total_cmp(&case.threshold.value).is_eq()
            && claim.system == case.unit.system
            && claim.group.as_ref().map(|(column, value)| (column, value)) == group
            && record.spans.get(*at).is_some_and(|span| span.condition == case.gate.condition)
    };
    match record.claims.iter().enumerate().find(is_of_case) {
        Some((_, claim)) if claim.verdict.is_some() => StoredVerdict::Claim(record, claim),
        Some(_) => StoredVerdict::None,
        None if !record.is_stopped() => StoredVerdict::None,
        None if record.open.iter().any(|open| open.gate == case.gate.id) => StoredVerdict::None,
        None => StoredVerdict::NotFollowed(record),
    }
}

/// The finding of a claim: the mean of its units with the ends of its sequence. A percentile keeps its value, and has no
/// interval that knows of the stop.
pub(in crate::gate) fn claim_finding(claim: &StoppedClaim, figure: &Finding) -> Option<Finding> {
    if claim.share.is_some() {
        let n = usize::try_from(figure.n()).unwrap_or(usize::MAX);
        return Finding::point(figure.value(), n, figure.method().to_owned());
    }
    let n = usize::try_from(claim.n).unwrap_or(usize::MAX);
    Some(Finding::point(claim.mean?, n, METHOD)?.with_ends((claim.lower, claim.upper), claim.level))
}

/// The verdict of a claim and its reason.
pub(in crate::gate) fn claim_verdict(
    (record, claim): (&StopRecord, &StoppedClaim),
    words: &VerdictText<'_>,
    limit: Option<f64>,
) -> (Verdict, String) {
    let unit = record.unit_name();
    let StoppedClaim { units, population, .. } = claim;
    let course = format!("after {units} of {population} {unit}");
    let (verdict, meets) = match claim.verdict {
        Some(EarlyVerdict::Pass) => (Verdict::Pass, "meets"),
        Some(EarlyVerdict::Fail) => (Verdict::Fail, "does not meet"),
        Some(EarlyVerdict::Undecided) | None => {
            let why = claim.why.as_deref().unwrap_or("no score could give it a verdict");
            return (Verdict::Undecided, format!("stopped {course}: {why}"));
        }
    };
    let number = |value: Option<f64>| match (claim.share, value) {
        (Some(_), Some(share)) => percent(share),
        _ => value.map_or_else(|| "unknown".to_owned(), |value| words.number_text(value, 0)),
    };
    let (mean, lower, upper) = (number(claim.mean), number(Some(claim.lower)), number(Some(claim.upper)));
    let rule = limit.map_or_else(|| claim.bound.clone(), |limit| words.bound_text(limit));
    let level = format!("{:.4}", claim.level * 100.0);
    let level = level.trim_end_matches('0').trim_end_matches('.');
    let share = format!("{:.4}", record.alpha * 100.0);
    let share = share.trim_end_matches('0').trim_end_matches('.');
    let why = match claim.by {
        DecidedBy::Certain => format!("no score of the other {} {unit} could change that", population - units),
        DecidedBy::Bound | DecidedBy::End => format!("at most {share} % of early verdicts like this are wrong"),
    };
    let of = match claim.share {
        Some(share) => format!(" of samples within it, {} needed,", percent(share)),
        None => String::new(),
    };
    (verdict, format!("{mean}{of} {course} ({level} % sequence {lower} to {upper}) {meets} {rule}; {why}"))
}

/// Gives the figures of whole systems the ends of their claims, and takes the intervals of all other figures of stopped
/// systems away: one for a fixed number of samples is too narrow where a run stops because of its scores, and may
/// contradict the verdict.
pub(crate) fn apply_ends(findings: &mut Findings) {
    let Some(stop) = findings.stop.clone().filter(|stop| !stop.to_end) else { return };
    let plan = findings.plan.clone();
    drop_fixed_intervals(findings, &stop.record);
    for (claim, span) in stop.record.claims.iter().zip(&stop.record.spans) {
        let is_figure = claim.share.is_none() && claim.group.is_none();
        let is_whole = is_figure && span.condition.is_none() && matches!(&*claim.bound, "min" | "max");
        let Some(metric) = plan.metric(&claim.metric).filter(|_| is_whole && claim.verdict.is_some()) else { continue };
        let [system] = span.systems[..] else { continue };
        let groups = findings.systems.iter_mut().chain(&mut findings.models).chain(&mut findings.variants);
        for group in groups.chain([&mut findings.run]).filter(|group| group.systems == [system]) {
            let figure = group.metrics.get_mut(metric).and_then(|spread| spread.figure.as_mut());
            let is_same = |figure: &&mut Finding| {
                figure.n() == claim.n && claim.mean.is_some_and(|mean| (mean - figure.value()).abs() < 1e-9)
            };
            if let Some(figure) = figure.filter(is_same) {
                *figure = figure.clone().with_ends((claim.lower, claim.upper), claim.level).with_method(METHOD);
            }
        }
    }
    // A place in a ranking that is the figure of a whole system has the same interval.
    let groups: Vec<_> = findings.models.iter().chain(&findings.variants).collect();
    for (metric, board) in findings.leaderboards.iter_mut().enumerate() {
        for place in &mut board.places {
            let own = groups.iter().filter(|group| group.id == place.id);
            let figures = own.filter_map(|group| group.metrics.get(metric)?.figure.as_ref());
            let mut same = figures.filter(|figure| {
                figure.n() == place.finding.n() && (figure.value() - place.finding.value()).abs() < 1e-9
            });
            if let Some(figure) = same.find(|figure| figure.method() == METHOD) {
                place.finding = figure.clone();
            }
        }
    }
}

/// The reason why a figure of a stopped system has no interval.
const NO_INTERVAL: &str = "no interval after an early stop";

/// Takes away the intervals of figures in which a system that stopped has a part.
fn drop_fixed_intervals(findings: &mut Findings, record: &StopRecord) {
    // A system that some purpose needed on every sample has a fixed number of them.
    let is_whole = |system: &usize| {
        let mut spans = record.spans.iter().filter(|span| span.last.is_none());
        spans.any(|span| {
            let is_of_all = span.condition.is_none() && span.group.is_none();
            is_of_all && (span.systems.contains(system) || span.partners.contains(system))
        })
    };
    let has_stopped = |systems: &[usize]| !systems.iter().all(is_whole);
    let drop_interval = |figure: &mut Finding| *figure = figure.clone().without_interval(NO_INTERVAL);
    let groups = findings.systems.iter_mut().chain(&mut findings.models).chain(&mut findings.variants);
    for group in groups.chain([&mut findings.run]).filter(|group| has_stopped(&group.systems)) {
        group.metrics.iter_mut().filter_map(|spread| spread.figure.as_mut()).for_each(drop_interval);
    }
    let all: Vec<usize> = (0..findings.plan.systems.len()).collect();
    if !has_stopped(&all) {
        return;
    }
    for board in &mut findings.leaderboards {
        board.places.iter_mut().map(|place| &mut place.finding).chain(&mut board.lead).for_each(drop_interval);
    }
    for baseline in &mut findings.baselines {
        [&mut baseline.figure].into_iter().chain(&mut baseline.difference).for_each(drop_interval);
    }
    for analysed in &mut findings.analyses {
        match &mut analysed.outcome {
            Outcome::Slices(found) => {
                let figures = found.by.values_mut().flatten().flat_map(|slice| slice.metrics.values_mut());
                figures.for_each(drop_interval);
            }
            Outcome::Cascades(found) => {
                let systems = found.scorers.iter_mut().flat_map(|it| &mut it.systems);
                let metrics = systems.flat_map(|it| &mut it.metrics);
                metrics.filter_map(|it| it.figure.as_mut()).for_each(drop_interval);
            }
            _ => {}
        }
    }
}
