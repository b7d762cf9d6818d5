//! The short answer of a run: what to choose, and the figures that a summary names. The same in every format.

use karat_analysis::{Answer, DeltaAxis, Finding, Group, Leaderboard, Recommendation, Verdict};

use karat_types::MetricSpec;

use crate::shared::figures::{self, count, goodness};
use crate::shared::ranking;
use crate::shared::report::Report;
use crate::shared::scales;
use crate::wording::gates::verdict_words;

/// A figure that a summary names.
pub(crate) struct Leader<'a> {
    /// Its key on a page: `system`, `best`, `worst`, `hardest`.
    pub(crate) key: &'static str,
    /// Its label: `Best`, `Last`.
    pub(crate) label: &'static str,
    /// The system, model, variant or sample.
    pub(crate) id: &'a str,
    /// Its figure.
    pub(crate) finding: &'a Finding,
    /// The variants that the figure is a mean over, if it joins several systems; the number of systems that have it, if several do.
    pub(crate) joined: Option<String>,
    /// Value, interval, n and method.
    pub(crate) text: String,
}

/// Returns the answers on the axes of a run: question, answer, caveat.
pub(crate) fn answers(report: Report<'_>) -> &[Answer] {
    if report.leaves_out_answers() { &[] } else { &report.findings.summary.answers }
}

/// Returns the recommendations: what failed checks ask for, then those of the analysis.
pub(crate) fn recommendations(report: Report<'_>) -> Vec<Recommendation> {
    let failed = verdict_words(&report.context.verdicts).filter(|it| it.verdict == Verdict::Fail).map(|it| {
        let more = if it.more > 0 { format!(" and {} more", count(it.more as u64)) } else { String::new() };
        let advice = format!(
            "Do not accept this result before its failed checks are explained ({}{more}): read the worst cells first.",
            it.named.join(", ")
        );
        Recommendation { advice, caveat: None }
    });
    let of_figures = report.findings.recommendations.iter().filter(|_| !report.leaves_out_answers());
    failed.into_iter().chain(of_figures.cloned()).collect()
}

/// Returns the first system, the best and the last of the ranking, and the hardest sample.
pub(crate) fn leaders(report: Report<'_>) -> Vec<Leader<'_>> {
    let (Some((at, metric)), Some(board)) = (report.primary(), report.findings.primary_board()) else {
        return Vec::new();
    };
    let findings = report.findings;
    let scale = &scales::scale_of(&findings.plan, metric);
    let joins = findings.ranked_axis() == DeltaAxis::Model && findings.plan.variants.len() > 1;
    // Variants without a model are not part of a model's mean.
    let variants = findings.models.iter().map(|model| model.systems.len()).max().unwrap_or_default() as u64;
    let joined = joins.then(|| format!("mean of {} variants", count(variants)));
    let n = n_of_board(board);
    let place = |key, label, id, finding, joined: &Option<String>| Leader {
        key,
        label,
        id,
        finding,
        joined: joined.clone(),
        text: figures::value_with_method_of(scale, finding, &n),
    };
    let is_ranked = board.places.len() > 1 && !board.is_level();
    let (first, last) = (board.places.first(), board.places.last().filter(|_| is_ranked));
    let best = match (is_ranked, ranking::is_open(board)) {
        (false, _) => "Score",
        (true, false) => "Best",
        (true, true) => "First, undecided",
    };
    let systems = report.systems_by_rank();
    let system = systems.first().filter(|_| joins && is_ranked && systems.len() > 2);
    let system = system.and_then(|group| {
        let finding = group.metrics.get(at)?.figure()?;
        let text = figures::value_with_method(scale, finding);
        let is_equal = |it: &&&Group| it.metrics.get(at).and_then(|it| it.value()) == Some(finding.value());
        let equal = systems.iter().filter(is_equal).count() as u64;
        let joined = (equal > 1).then(|| format!("{} have this score", figures::count_noun(equal, "system")));
        Some(Leader { key: "system", label: "First of all systems", id: &group.id, finding, joined, text })
    });
    // A hardest sample on which all did as well as they could, or as on every other one, is not a finding.
    let hardest = board.hardest_sample.as_ref().filter(|it| {
        let value = it.finding.value();
        board.shared_samples > 1
            && goodness(metric, value).is_none_or(|share| share < 1.0)
            && !is_every_mean(metric, board, value)
    });
    [
        system,
        first.map(|it| place("best", best, &it.id, &it.finding, &joined)),
        last.map(|it| place("worst", "Last", &it.id, &it.finding, &joined)),
        hardest.map(|it| Leader {
            text: figures::value_with_method(scale, &it.finding),
            ..place("hardest", "Hardest sample", &it.id, &it.finding, &None)
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns whether a sample's mean is that of all samples, so that it is as hard as any other: the worst mean is never above
/// the mean of all, and equals it only if they are all the same.
fn is_every_mean(metric: &MetricSpec, board: &Leaderboard, value: f64) -> bool {
    let all = board.places.iter().map(|place| place.finding.value()).sum::<f64>() / board.places.len().max(1) as f64;
    metric.aggregate == "mean" && (value - all).abs() <= 1e-9 * value.abs().max(1.0)
}

/// Returns the sentence for a ranking in which all are equal.
pub(crate) fn level(report: Report<'_>, board: &Leaderboard) -> Option<String> {
    let kind = if report.findings.ranked_axis() == DeltaAxis::Model { "models" } else { "variants" };
    let partial = if board.shared < board.scored { " on the cells that all have" } else { "" };
    let all = count(board.places.len() as u64);
    let failed = report.findings.run.tally.errors;
    let failed = match failed {
        0 => String::new(),
        some => format!(", where they have one: {} failed", figures::count_noun(some, "cell")),
    };
    board.is_level().then(|| format!("All {all} {kind} have the same score{partial}{failed}."))
}

/// Returns the number of scores behind a place: of `80 samples × 2`, where each sample counts once a variant.
pub(crate) fn n_of_board(board: &Leaderboard) -> String {
    let (scores, samples) = (board.shared, board.shared_samples);
    match samples {
        0 => count(scores),
        _ if scores == samples => count(scores),
        _ if scores % samples == 0 => format!("{} samples × {}", count(samples), count(scores / samples)),
        _ => format!("{} scores of {} samples", count(scores), count(samples)),
    }
}

/// Returns how much of what is scored the ranking compares; `None` if it is all.
pub(crate) fn shared_part(report: Report<'_>, board: &Leaderboard) -> Option<String> {
    let ranked = if report.findings.ranked_axis() == DeltaAxis::Model { "models" } else { "variants" };
    (board.places.len() > 1 && board.shared < board.scored).then(|| {
        format!(
            "Compared on {} of {} scored sample × variant pairs: those that all {ranked} share.",
            count(board.shared),
            count(board.scored)
        )
    })
}

/// Returns the label of a leader with what it joins: `Best (mean of 3 variants)`.
pub(crate) fn label(leader: &Leader<'_>) -> String {
    match &leader.joined {
        Some(joined) => format!("{} ({joined})", leader.label),
        None => leader.label.to_owned(),
    }
}
