//! What changed in the diagnostics of two sides, in words.

use karat_analysis::OrderedMap;
use karat_analysis::compare::{DiagnosticsChange, MovedSample, TestedChange};
use serde_json::{Map, Value};

use crate::figures::{self, NONE, Unscaled, count};

/// Items shown of one list on a terminal.
const SHOWN: usize = 5;

/// The lists that are not empty, each with its heading.
pub(crate) fn lists(found: &DiagnosticsChange) -> Vec<(String, Vec<String>)> {
    let pair = |fields: &Map<String, Value>| fields.values().filter_map(Value::as_str).collect::<Vec<_>>().join(" → ");
    let moved = |moved: &MovedSample| format!("{} {}", moved.sample, signed(moved.score.change));
    let left_out = (found.left_out > 0).then(|| {
        format!(
            "{} evaluations beyond the first 10,000 of each side, which are in the figures alone",
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

/// Group, name and value of everything that is grouped.
pub(crate) fn each<T>(groups: &OrderedMap<OrderedMap<T>>) -> impl Iterator<Item = (&str, &str, &T)> {
    groups.iter().flat_map(|(group, named)| named.iter().map(move |(name, it)| (group, name, it)))
}

/// A difference with its sign; [`NONE`] where a side has no figure.
pub(crate) fn signed(change: Option<f64>) -> String {
    change.map_or_else(|| NONE.to_owned(), |change| figures::change(&Unscaled, change))
}

/// The mean difference of the shared samples with its interval.
pub(crate) fn paired(change: &TestedChange) -> String {
    let Some(found) = &change.paired else { return NONE.to_owned() };
    let mean = signed(Some(found.value()));
    match found.interval() {
        Some((lo, hi)) => format!("{mean} ({} to {})", signed(Some(lo)), signed(Some(hi))),
        None => mean,
    }
}

/// The lines of a terminal: what is decided, and the lists.
pub(crate) fn lines(found: &DiagnosticsChange, level: f64) -> Vec<String> {
    let decided = |it: &TestedChange| it.p_adjusted.is_some_and(|p| p <= 1.0 - level);
    let categories = each(&found.categories);
    let sections = each(&found.section_error_rates).map(|(section, kind, it)| (section, kind, &it.rate));
    let moved: Vec<String> = categories
        .chain(sections)
        .filter(|(.., it)| decided(it))
        .map(|(group, name, it)| format!("{group} {name} {}", paired(it)))
        .collect();
    let decided = ("more than chance".to_owned(), if moved.is_empty() { vec!["nothing".to_owned()] } else { moved });
    let line = |(head, items): (String, Vec<String>)| {
        let more = items.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let head = head.to_lowercase();
        format!("{}, {head}: {}{more}", found.id, items.into_iter().take(SHOWN).collect::<Vec<_>>().join("; "))
    };
    std::iter::once(decided).chain(lists(found)).map(line).collect()
}
