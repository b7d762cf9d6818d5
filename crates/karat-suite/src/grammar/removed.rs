//! Keys, values and options that earlier versions had, each with the way out. A suite or a flag that names one is refused;
//! a stored run that names one is still read, and its report says what is gone.

use karat_types::{AnalysisSpec, EarlyRule, PlanHeader};

/// Address (`*` matches a name that the author invents, or a position in a list), value (without one: any), and what a user
/// reads. Options of a registered kind stand below its name, as in `analyses.drift.method`.
const REMOVED: &[(&str, Option<&str>, &str)] = &[
    (
        "schedules.*.keep",
        None,
        "`keep` of a schedule is gone: no version deleted runs by it; remove it, runs stay in the store",
    ),
    (
        "schedules.*.budget_month_usd",
        None,
        "`budget_month_usd` is gone: no version kept a budget by the month; use `budget_usd`, which limits each run",
    ),
    ("alerts.*.send", Some("email"), "`send: email` is gone: no version sent mail; use `webhook`, `slack` or `teams`"),
    (
        "run.stop_early.rule",
        Some("asymptotic"),
        "`rule: asymptotic` is gone: it was only shown and decided nothing; use `betting`, or `e_value`",
    ),
    (
        "analyses.drift.method",
        Some("ewma"),
        "drift method `ewma` is gone: it raised false incidents in half of all quiet years; use `cusum` for slow changes, \
         `e_detector` for a promised rate",
    ),
    (
        "analyses.drift.method",
        Some("page_hinkley"),
        "drift method `page_hinkley` is gone: it missed six in ten lasting drops; use `cusum` for slow changes, \
         `e_detector` for a promised rate",
    ),
    ("analyses.drift.lambda", None, "the drift option `lambda` is gone: only the method `ewma` read it; remove it"),
];

/// The sentence about the key at an address, or about its value; `None` if this version has it.
pub fn removal(address: &str, value: Option<&str>) -> Option<&'static str> {
    let named = |(pattern, gone, _): &&(&str, Option<&str>, &str)| {
        let same = |(pattern, part): (&str, &str)| pattern == "*" || pattern == part;
        pattern.split('.').count() == address.split('.').count()
            && pattern.split('.').zip(address.split('.')).all(same)
            && gone.is_none_or(|gone| value == Some(gone))
    };
    REMOVED.iter().find(named).map(|(_, _, sentence)| *sentence)
}

/// The sentences about the options of an analysis.
pub fn removals_of(spec: &AnalysisSpec) -> Vec<&'static str> {
    let of_option = |(option, value): (&String, &serde_json::Value)| {
        removal(&format!("analyses.{}.{option}", spec.analysis), value.as_str())
    };
    spec.with.iter().filter_map(of_option).collect()
}

/// The sentences about everything in the plan of a stored run that this version no longer has.
pub fn removals_in(plan: &PlanHeader) -> Vec<&'static str> {
    let rule = plan.run.stop_early.as_ref().filter(|stop| stop.rule == EarlyRule::Asymptotic);
    let rule = rule.and_then(|_| removal("run.stop_early.rule", Some("asymptotic")));
    let mut found: Vec<&'static str> = Vec::new();
    rule.into_iter().chain(plan.analyses.iter().flat_map(removals_of)).for_each(|sentence| {
        if !found.contains(&sentence) {
            found.push(sentence);
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::{Object, SUITE, Shape};

    /// LI-22: no key or value is in the language and in the table of removed ones.
    #[test]
    fn what_is_removed_is_not_in_the_grammar() {
        fn object_of(shape: Shape) -> Option<&'static Object> {
            match shape {
                Shape::Object(object) | Shape::Open(object) | Shape::Short(object, _) => Some(object),
                Shape::Map(inner) | Shape::List(inner) | Shape::BooleanOr(inner) => object_of(*inner),
                _ => None,
            }
        }
        for (address, value, sentence) in REMOVED {
            assert!(sentence.contains(" is gone: ") && sentence.contains("; "), "{sentence}");
            let (mut object, mut words): (_, &[&str]) = (Some(&SUITE), &[]);
            for name in address.split('.').filter(|name| *name != "*") {
                let Some(key) = object.and_then(|object| object.key(name)) else {
                    (object, words) = (None, &[]);
                    continue;
                };
                object = object_of(key.shape);
                words = if let Shape::Words(words) = key.shape { words } else { &[] };
            }
            assert!(object.is_none() && value.is_none_or(|value| !words.contains(&value)), "{address}");
        }
    }
}
