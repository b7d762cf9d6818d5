//! Sentences about changes in diagnostics between two sides.

use karat_analysis::OrderedMap;
use karat_analysis::compare::{DiagnosticsChange, MovedSample, TestedChange};
use serde_json::{Map, Value};

use crate::shared::figures::{self, NONE, Unscaled, count};

/// Number of items shown of one list on a terminal.
const SHOWN: usize = 5;

/// Returns the lists that are not empty, each with its heading.
pub(crate) fn change_lists(found: &DiagnosticsChange) -> Vec<(String, Vec<String>)> {
    let pair = |fields: &Map<String, Value>| fields.values().filter_map(Value::as_str).collect::<Vec<_>>().join(" → ");
    let moved = |moved: &MovedSample| format!("{} {}", moved.sample, signed_or_none(moved.score.change));
    let left_out = (found.left_out > 0).then(|| {
        format!(
            "{} evaluations beyond the first 10,000 of each side, which are in the figures only",
            count(found.left_out)
        )
    });
    let lists: [(String, Vec<String>); 7] = [
        ("New confusions".to_owned(), found.new_confusions.iter().flatten().map(pair).collect()),
        ("Resolved confusions".to_owned(), found.resolved_confusions.iter().flatten().map(pair).collect()),
        (format!("Worse by {} or more", found.notable), found.regressions.iter().map(moved).collect()),
        (format!("Better by {} or more", found.notable), found.improvements.iter().map(moved).collect()),
        ("New errors".to_owned(), found.new_errors.clone()),
        ("Fixed errors".to_owned(), found.fixed_errors.clone()),
        ("Left out of paired differences and lists".to_owned(), left_out.into_iter().collect()),
    ];
    lists.into_iter().filter(|(_, items)| !items.is_empty()).collect()
}

/// Returns group, name and value of every grouped entry.
pub(crate) fn grouped_entries<T>(groups: &OrderedMap<OrderedMap<T>>) -> impl Iterator<Item = (&str, &str, &T)> {
    groups.iter().flat_map(|(group, named)| named.iter().map(move |(name, it)| (group, name, it)))
}

/// Formats a difference with its sign, or returns [`NONE`] if a side has no figure.
pub(crate) fn signed_or_none(change: Option<f64>) -> String {
    change.map_or_else(|| NONE.to_owned(), |change| figures::signed_value(&Unscaled, change))
}

/// Formats the mean difference over shared samples, with its interval.
pub(crate) fn paired_difference(change: &TestedChange) -> String {
    let Some(found) = &change.paired else { return NONE.to_owned() };
    let mean = signed_or_none(Some(found.value()));
    match found.interval() {
        Some((lo, hi)) => format!("{mean} ({} to {})", signed_or_none(Some(lo)), signed_or_none(Some(hi))),
        None => mean,
    }
}

/// Returns the lines for a terminal: significant changes, then the lists.
pub(crate) fn terminal_lines(found: &DiagnosticsChange, level: f64) -> Vec<String> {
    let decided = |it: &TestedChange| it.p_adjusted.is_some_and(|p| p <= 1.0 - level);
    let categories = grouped_entries(&found.categories);
    let sections = grouped_entries(&found.section_error_rates)
        .chain(found.found_rates.iter().map(|(section, it)| (section, "found", it)));
    let moved: Vec<String> = categories
        .chain(sections)
        .filter(|(.., it)| decided(it))
        .map(|(group, name, it)| format!("{group} {name} {}", paired_difference(it)))
        .collect();
    let decided = ("significant".to_owned(), if moved.is_empty() { vec!["nothing".to_owned()] } else { moved });
    let line = |(head, items): (String, Vec<String>)| {
        let more = items.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let head = head.to_lowercase();
        format!("{}, {head}: {}{more}", found.id, items.into_iter().take(SHOWN).collect::<Vec<_>>().join("; "))
    };
    std::iter::once(decided).chain(change_lists(found)).map(line).collect()
}
