//! What changed in the diagnostics of two sides.

use karat_analysis::compare::{Change, DiagnosticsChange, Moved};
use serde_json::Value;

use super::page::{Inline, Page, columns};
use crate::figures::NONE;

pub(super) fn write(page: &mut Page, changes: &[DiagnosticsChange]) {
    for found in changes {
        page.heading(2, Inline::plain("Diagnostics: ").and_code(&found.id));
        let score = ("mean score".to_owned(), found.avg_score);
        let categories = found.categories.iter().flat_map(|(category, scores)| {
            scores.iter().map(move |(score, change)| (format!("{category} {score}"), *change))
        });
        let sections = found.section_error_rates.iter().flat_map(|(section, kinds)| {
            kinds.iter().map(move |(kind, change)| (format!("{kind} an item of {section}"), *change))
        });
        let rows = std::iter::once(score).chain(categories).chain(sections).map(|(name, change)| row(&name, change));
        page.table(&columns(&["Figure", "Baseline", "Candidate", "Change"]), rows);
        let pair = |fields: &serde_json::Map<String, Value>| {
            Inline::text(fields.values().filter_map(Value::as_str).collect::<Vec<_>>().join(" → "))
        };
        let moved = |moved: &Moved| Inline::code(&moved.sample).and(" ").and_text(signed(moved.score.change));
        let lists = [
            ("New confusions: ", found.new_confusions.iter().map(pair).collect::<Vec<_>>()),
            ("Resolved confusions: ", found.resolved_confusions.iter().map(pair).collect()),
            ("Worse by 3 or more: ", found.regressions.iter().map(moved).collect()),
            ("Better by 3 or more: ", found.improvements.iter().map(moved).collect()),
            ("New errors: ", found.new_errors.iter().map(Inline::code).collect()),
            ("Fixed errors: ", found.fixed_errors.iter().map(Inline::code).collect()),
        ];
        let filled = lists.into_iter().filter(|(_, items)| !items.is_empty());
        page.list(filled.map(|(head, items)| Inline::plain(head).then(Inline::list(items))));
    }
}

fn row(name: &str, change: Change) -> Vec<Inline> {
    let number =
        |value: Option<f64>| Inline::text(value.map_or_else(|| NONE.to_owned(), |value| format!("{value:.3}")));
    vec![Inline::text(name), number(change.before), number(change.after), Inline::text(signed(change.change))]
}

fn signed(change: Option<f64>) -> String {
    change.map_or_else(|| NONE.to_owned(), |change| format!("{change:+.3}"))
}
