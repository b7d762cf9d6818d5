//! Selects metrics of a plan: the primary one, and those that match a pattern.

use karat_types::{PlanHeader, ScorerKind};

/// Index of the primary metric: a rubric's composite, else one named `overall`, else the first that depends on neither
/// time nor price.
pub fn primary_metric(plan: &PlanHeader) -> Option<usize> {
    let composite = plan.scorers.iter().find_map(|scorer| match &scorer.kind {
        ScorerKind::Rubric(rubric) => plan.metric(&format!("{}.{}", scorer.id, rubric.rubric.overall.as_ref()?.id)),
        ScorerKind::Metric { .. } => None,
    });
    let named = || plan.metrics.iter().position(|it| it.name == "overall" || it.name.ends_with(".overall"));
    let steady = || plan.metrics.iter().position(|it| !it.volatile);
    composite.or_else(named).or_else(steady)
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
