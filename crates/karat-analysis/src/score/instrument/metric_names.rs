//! Selects metrics of a plan: the primary one, and those that match a pattern.

use karat_types::{Gate, MetricSpec, PlanHeader, ScorerKind, Subject};

/// Index of the primary metric: the first that the suite names under `headline`, else a rubric's composite, else one named
/// `overall`, else the first. It depends on neither time nor price, unless the suite measures nothing else, and one that finds
/// texts by their words ranks no system.
pub fn primary_metric(plan: &PlanHeader) -> Option<usize> {
    let composite = plan.scorers.iter().find_map(|scorer| match &scorer.kind {
        ScorerKind::Rubric(rubric) => plan.metric(&format!("{}.{}", scorer.id, rubric.rubric.overall.as_ref()?.id)),
        ScorerKind::Metric { .. } => None,
    });
    let is_usable = |it: &MetricSpec| !it.volatile && !it.by_words;
    let of_name = |name: &String| plan.metrics.iter().position(|it| matches_pattern(name, &it.name) && is_usable(it));
    let headline = plan.headline.iter().find_map(of_name);
    let is_named = |it: &MetricSpec| it.name == "overall" || it.name.ends_with(".overall");
    let named = || plan.metrics.iter().position(|it| is_named(it) && !it.by_words);
    let steady = || plan.metrics.iter().position(is_usable);
    let measured = || plan.metrics.iter().position(|it| !it.by_words);
    headline.or(composite).or_else(named).or_else(steady).or_else(measured)
}

/// Index of the metric that decides a run: the primary one. Where that is only the first of the suite, and no gate is on it, the
/// first that a gate is on.
pub(crate) fn deciding_metric(plan: &PlanHeader, gates: &[Gate]) -> Option<usize> {
    let primary = primary_metric(plan)?;
    let is_gated = |metric: &MetricSpec| gates.iter().any(|gate| is_on(plan, gate, metric));
    let is_steady = |it: &MetricSpec| !it.volatile && !it.by_words;
    let is_first = plan.headline.is_empty() && plan.metrics.iter().position(is_steady) == Some(primary);
    let is_named = plan.metrics.get(primary).is_some_and(|it| it.name.ends_with("overall") || is_gated(it));
    if !is_first || is_named {
        return Some(primary);
    }
    plan.metrics.iter().position(|it| is_steady(it) && is_gated(it)).or(Some(primary))
}

/// Returns true if a gate is on a metric.
pub(crate) fn is_on(plan: &PlanHeader, gate: &Gate, metric: &MetricSpec) -> bool {
    matches!(&gate.subject, Subject::Metric(pattern) if names_metric(plan, pattern, metric))
}

/// The note on what figures that find texts by their words leave out.
pub const BY_WORDS: &str = "matched by words: a paraphrase counts as missing";

/// The warning about metrics that find texts by their words.
pub(crate) fn by_words_warning(plan: &PlanHeader) -> Option<String> {
    let names = plan.metrics.iter().filter(|metric| metric.by_words).map(|metric| format!("`{}`", metric.name));
    let names: Vec<String> = names.collect();
    let verb = if names.len() == 1 { "is" } else { "are" };
    let names = (!names.is_empty()).then(|| names.join(", "))?;
    Some(format!("{names} {verb} {BY_WORDS}. No leaderboard and no recommendation rests on it."))
}

/// Number of metrics that a summary shows unless the suite names them.
const HEADLINE: usize = 6;

/// Indices of the metrics that summaries show: those that the suite names under `headline`, in that order. Without any,
/// the primary metric, then the others that depend on neither time nor price; of many, the main one of each scorer,
/// judges first.
pub fn headline_metrics(plan: &PlanHeader) -> Vec<usize> {
    let mut shown: Vec<usize> = Vec::new();
    for name in &plan.headline {
        let fits = plan.metrics.iter().enumerate().filter(|(_, metric)| matches_pattern(name, &metric.name));
        let fits: Vec<usize> = fits.map(|(at, _)| at).filter(|at| !shown.contains(at)).collect();
        shown.extend(fits);
    }
    if !shown.is_empty() {
        return shown;
    }
    shown.extend(primary_metric(plan));
    // `pass` belongs to no scorer: it repeats the others.
    let is_own = |metric: &MetricSpec| {
        !metric.volatile && plan.scorers.get(metric.scorer).is_some_and(|scorer| !scorer.is_first_judge)
    };
    let steady = || plan.metrics.iter().enumerate().filter(|(_, metric)| is_own(metric));
    let main = |scorer: usize| {
        let own = || steady().filter(move |(_, metric)| metric.scorer == scorer);
        let primary = shown.first().copied().filter(|at| own().any(|(own, _)| own == *at));
        let whole = own().find(|(_, metric)| !metric.name.contains('.') || metric.name.ends_with(".overall"));
        primary.or_else(|| whole.or_else(|| own().next()).map(|(at, _)| at))
    };
    let is_judged =
        |scorer: &usize| matches!(plan.scorers.get(*scorer), Some(it) if matches!(it.kind, ScorerKind::Rubric(_)));
    let (judged, plain): (Vec<usize>, Vec<usize>) = (0..plan.scorers.len()).partition(is_judged);
    let all: Vec<usize> = if steady().count() <= HEADLINE {
        steady().map(|(at, _)| at).collect()
    } else {
        judged.into_iter().chain(plain).filter_map(main).collect()
    };
    for at in all {
        if shown.len() < HEADLINE && !shown.contains(&at) {
            shown.push(at);
        }
    }
    shown
}

/// Returns true if a pattern names a metric. The first judge of a cascade has metrics that the suite did not ask for: they
/// are named in full.
pub(crate) fn names_metric(plan: &PlanHeader, pattern: &str, metric: &MetricSpec) -> bool {
    let is_first = plan.scorers.get(metric.scorer).is_some_and(|scorer| scorer.is_first_judge);
    pattern == metric.name || !is_first && matches_pattern(pattern, &metric.name)
}

/// Returns true if `name` matches a pattern in which `*` stands for any text.
pub(crate) fn matches_pattern(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = left.find(part) else { return false };
        left = left.get(at + part.len()..).unwrap_or_default();
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F13: a metric that finds texts by their words is never the primary one, and a warning names it.
    #[test]
    fn figures_matched_by_words_lead_nothing() {
        let mut plan = crate::testing::example().header.plan.as_ref().clone();
        assert_eq!(by_words_warning(&plan), None);
        let primary = |plan: &PlanHeader| primary_metric(plan).map(|at| plan.metrics[at].name.clone());
        plan.scorers.iter_mut().for_each(|scorer| {
            if let ScorerKind::Rubric(rubric) = &mut scorer.kind {
                rubric.rubric.overall = None;
            }
        });
        plan.metrics.retain(|metric| !metric.name.starts_with("quality"));
        assert_eq!(primary(&plan).as_deref(), Some("recall_of_ideal"));
        plan.metrics[0].by_words = true;
        assert_eq!(primary(&plan).as_deref(), Some("mentions"));
        let warning = by_words_warning(&plan).unwrap();
        assert!(warning.contains("`recall_of_ideal` is matched by words: a paraphrase counts as missing"), "{warning}");
    }

    /// F64: a suite that measures nothing but time has a primary metric; beside anything else, time leads nothing.
    #[test]
    fn time_leads_where_nothing_else_is_measured() {
        let mut plan = crate::testing::example().header.plan.as_ref().clone();
        let steady = primary_metric(&plan).map(|at| plan.metrics[at].volatile);
        assert_eq!(steady, Some(false));
        plan.metrics.retain(|metric| metric.volatile);
        if plan.metrics.is_empty() {
            let only = MetricSpec { volatile: true, ..crate::testing::example().header.plan.metrics[0].clone() };
            plan.metrics.push(only);
        }
        plan.scorers.clear();
        assert_eq!(primary_metric(&plan), Some(0));
    }

    /// Field test C12: a summary shows the metrics that the suite names, else the main one of each scorer.
    #[test]
    fn a_summary_shows_the_main_metrics() {
        let mut plan = crate::testing::example().header.plan.as_ref().clone();
        let names = |plan: &PlanHeader| {
            let shown = headline_metrics(plan).into_iter();
            shown.map(|at| plan.metrics[at].name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(&plan), ["quality.overallScore", "recall_of_ideal", "mentions"]);
        plan.headline = ["mentions", "quality.acc*"].map(str::to_owned).to_vec();
        assert_eq!(names(&plan), ["mentions", "quality.accuracy"]);
        plan.headline = vec!["nothing".to_owned()];
        assert_eq!(names(&plan).len(), 3);
    }

    #[test]
    fn a_star_matches_any_text() {
        for name in ["quality.accuracy", "quality.", "quality.a.b"] {
            assert!(matches_pattern("quality.*", name), "{name}");
        }
        assert!(
            matches_pattern("*", "x")
                && matches_pattern("quality", "quality")
                && matches_pattern("*.a*y", "quality.accuracy")
        );
        for name in ["quality", "other.accuracy"] {
            assert!(!matches_pattern("quality.*", name), "{name}");
        }
        assert!(!matches_pattern("quality", "quality.accuracy") && !matches_pattern("*.b*y", "quality.accuracy"));
    }
}
