//! Diagnostics, failures and corpora of sessions in a few lines each.

use karat_analysis::{
    Cascade, CascadeMetric, CascadeSystem, Cascades, Diagnostics, FailureCategory, Failures, MetricRanking, Outcome,
    SpanFigures, SummaryCorpus,
};
use serde_json::Value;

use crate::shared::cascade::cascade_line;
use crate::shared::figures::{self, NONE, Unscaled, count, percent};
use crate::shared::ranking::{rank_text, strength_text};
use crate::shared::report::Report;
use crate::shared::visible::excerpt;

/// Number of cascades shown.
const CASCADES: usize = 4;
/// Number of systems shown of a tournament.
const SYSTEMS: usize = 10;
/// Number of things named on one line.
const NAMED: usize = 3;
/// Length of an id or a text, in characters.
const TEXT: usize = 40;
/// Length of one line, in characters.
const LINE: usize = 180;

/// Returns the lines of every analysis that the summary shows.
pub(super) fn lines(report: Report<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    for analysed in &report.findings.analyses {
        let (head, parts) = match &analysed.outcome {
            Outcome::Diagnostics(found) => (overview(found), diagnostics(&found.all)),
            Outcome::Cascades(found) => {
                lines.extend(cascades(report, found));
                continue;
            }
            Outcome::Ranking(found) => {
                lines.extend(found.rankings.iter().flat_map(tournament));
                continue;
            }
            Outcome::SummaryCorpus(corpus) => (sessions(corpus), of_sessions(report, corpus)),
            Outcome::Failures(found) if found.worst.iter().any(|it| !it.shown.is_empty()) => {
                (failure_overview(found), failure_categories(found))
            }
            _ => continue,
        };
        lines.push(format!("{}: {head}", excerpt(&analysed.id, TEXT)));
        let width = parts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        lines.extend(parts.into_iter().map(|(name, text)| format!("  {name:width$}  {}", excerpt(&text, LINE))));
    }
    lines
}

/// Returns a line on the games of a tournament, the warning if its judges prefer a place, and a line for each system.
fn tournament(ranking: &MetricRanking) -> Vec<String> {
    let warning = ranking.notes.first().filter(|_| ranking.unreliable);
    let ranks: Vec<String> = ranking.systems.iter().map(rank_text).collect();
    let width = ranks.iter().map(|rank| rank.chars().count()).max().unwrap_or(0);
    let systems = ranking.systems.iter().zip(&ranks).take(SYSTEMS).map(|(system, rank)| {
        let won = system.won.as_ref().map_or_else(|| NONE.to_owned(), |won| percent(won.value()));
        let strength = strength_text(system.strength.as_ref());
        format!("  {rank:width$}  {}: strength {strength}, won {won}", excerpt(&system.system, TEXT))
    });
    let head = format!(
        "ranking {}: {} games on {} samples, {} flips (verdicts that changed with the order)",
        excerpt(&ranking.metric, TEXT),
        count(ranking.games),
        count(ranking.samples),
        count(ranking.order_dependent)
    );
    let warning = warning.map(|note| format!("  warning: {note}"));
    let more = ranking.systems.len().saturating_sub(SYSTEMS);
    let more = (more > 0).then(|| format!("  … and {more} more in the report"));
    std::iter::once(head).chain(warning).chain(systems).chain(more).collect()
}

/// Returns the line of each system in the first metric of each cascade.
fn cascades(report: Report<'_>, found: &Cascades) -> Vec<String> {
    let plan = &report.findings.plan;
    let each = found.scorers.iter().flat_map(|cascade| cascade.systems.iter().map(move |system| (cascade, system)));
    let line = |(cascade, system): (&Cascade, &CascadeSystem)| {
        let it = headline_metric(report, system)?;
        let metric = plan.metrics.get(plan.metric(&it.metric)?)?;
        let of = if cascade.systems.len() > 1 { format!("{}: ", excerpt(&system.system, TEXT)) } else { String::new() };
        Some(format!("cascade: {of}{}", cascade_line(cascade, system, it, metric)))
    };
    each.filter_map(line).take(CASCADES).collect()
}

/// The composite of a scorer if it is the run's primary metric, else its first.
fn headline_metric<'a>(report: Report<'_>, system: &'a CascadeSystem) -> Option<&'a CascadeMetric> {
    let findings = report.findings;
    let primary = findings.primary.and_then(|at| findings.plan.metrics.get(at)).map(|it| it.name.as_str());
    let is_primary = |it: &&CascadeMetric| Some(it.metric.as_str()) == primary;
    system.metrics.iter().find(is_primary).or(system.metrics.first())
}

fn overview(found: &Diagnostics) -> String {
    let all = &found.all;
    format!(
        "{} outputs, {} items on average, {} without a verdict, {} judged in part",
        count(all.evaluated),
        figures::value_or_none(&Unscaled, all.avg_span_count),
        count(all.error_count),
        count(all.degraded)
    )
}

/// Returns labels and texts of the lines that are not empty.
fn diagnostics(all: &SpanFigures) -> Vec<(&'static str, String)> {
    let parts = [
        ("scores", distribution(all)),
        ("confused", confusions(all)),
        ("sections", sections(all)),
        ("confidence", confidence(all)),
        ("advice", all.confidence.as_ref().map(|it| it.notes.clone()).unwrap_or_default()),
        ("worst", worst(all)),
    ];
    parts.into_iter().filter(|(_, text)| !text.is_empty()).collect()
}

fn failure_overview(found: &Failures) -> String {
    format!("{} of {} cells are below a threshold", count(found.cells), count(found.of))
}

/// Returns the most frequent categories, each with its first example.
fn failure_categories(found: &Failures) -> Vec<(&str, String)> {
    let line = |category: &FailureCategory| {
        let example = category.examples.first();
        let example = example.map(|it| {
            let why = it.why.as_deref().map(|why| format!(": {}", excerpt(why, 2 * TEXT))).unwrap_or_default();
            let shown = it.shown.values().map(|text| format!(" · {}", excerpt(text, 2 * TEXT))).collect::<String>();
            format!(", {}{why}{shown}", excerpt(&it.sample, TEXT))
        });
        format!("{} of {}{}", count(category.cells), count(category.of), example.unwrap_or_default())
    };
    found.categories.iter().take(NAMED + 1).map(|category| (category.metric.as_str(), line(category))).collect()
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(" · ")
}

fn distribution(all: &SpanFigures) -> String {
    join(all.score_distribution.iter().map(|(band, n)| format!("{band}: {n}")))
}

fn confusions(all: &SpanFigures) -> String {
    join(all.top_taxonomy_errors.iter().take(NAMED).map(|it| {
        let label = it.fields.values().filter_map(Value::as_str).collect::<Vec<_>>().join(" → ");
        let label = if it.equal { format!("{label} (the same)") } else { label };
        let example = it.examples.first().map(|text| format!(" ({})", excerpt(text, TEXT / 2))).unwrap_or_default();
        format!("{} × {}{example}", count(it.count), excerpt(&label, 2 * TEXT))
    }))
}

fn sections(all: &SpanFigures) -> String {
    let assessed = all.errors_by_section.iter().filter(|(_, errors)| !errors.is_empty());
    join(assessed.map(|(section, errors)| {
        let items = all.spans_by_section.get(section).copied().unwrap_or(0);
        let errors: Vec<String> = errors.iter().map(|(label, n)| format!("{} {label}", count(*n))).collect();
        format!("{section}: {} of {} items", errors.join(", "), count(items))
    }))
}

fn confidence(all: &SpanFigures) -> String {
    let Some(confidence) = &all.confidence else { return String::new() };
    let buckets = confidence.buckets.by_name().map(|(name, bucket)| {
        let rate = bucket.error_rate.map_or_else(|| NONE.to_owned(), percent);
        format!("{name}: {} of {} wrong ({rate})", count(bucket.errors), count(bucket.total))
    });
    let unusable = [
        (confidence.missing, "without a confidence"),
        (confidence.out_of_range, "outside 0 to 1"),
        (confidence.unlocated, "errors that match no item"),
    ];
    let unusable = unusable.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", count(n)));
    join(buckets.into_iter().chain(unusable))
}

fn worst(all: &SpanFigures) -> String {
    join(all.worst(NAMED).into_iter().map(|it| {
        let findings: u64 = it.findings.iter().map(|(_, n)| n).sum();
        let score = figures::value_or_none(&Unscaled, it.score);
        format!("{} {score} (findings: {})", excerpt(&it.sample, TEXT), count(findings))
    }))
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| NONE.to_owned(), |value| format!("{value:.3}"))
}

fn sessions(corpus: &SummaryCorpus) -> String {
    format!(
        "{} sessions, overall mean {}, lowest {}, highest {}, {} failed, {} not curated",
        count(corpus.corpus_size),
        number(corpus.overall_mean),
        number(corpus.overall_min),
        number(corpus.overall_max),
        count(corpus.failed),
        count(corpus.not_curated)
    )
}

fn of_sessions(report: Report<'_>, corpus: &SummaryCorpus) -> Vec<(&'static str, String)> {
    let means = corpus.dimension_means.iter().map(|(name, mean)| format!("{name} {}", number(*mean)));
    let worst = corpus.worst(NAMED).into_iter();
    let worst = worst.map(|session| {
        let reason = session.reason().map(|reason| format!(" ({})", excerpt(reason, TEXT))).unwrap_or_default();
        let system = session.system.as_ref().map(|system| format!(" × {}", excerpt(system, TEXT))).unwrap_or_default();
        format!("{}{system} {}{reason}", excerpt(&session.name, TEXT), number(session.overall))
    });
    let failed = crate::wording::session_gates::failed_gates(report, corpus);
    let systems = corpus.systems.iter().map(|it| format!("{} {}", excerpt(&it.system, TEXT), number(it.overall_mean)));
    let parts = [
        ("systems", join(systems)),
        ("means", join(means)),
        ("worst", join(worst)),
        ("gates", join(failed.into_iter())),
    ];
    parts.into_iter().filter(|(_, text)| !text.is_empty()).collect()
}
