//! Checks that metrics have something to compare with: a reference in at least one row, or the scorer's own.

use karat_types::{ScorerKind, ScorerSpec};

use crate::dataset::aliases::{LIKELY_REFERENCE, REFERENCE};
use crate::dataset::checks::row_checks::COLUMN;
use crate::diagnostics::Problems;
use crate::syntax::names::{AvailableNames, PendingName};
use crate::syntax::node::Node;

/// Most columns that are listed.
const SHOWN: usize = 24;

/// Returns whether a scorer names nothing to compare with: neither a place nor a literal, nor an option in their place.
pub(crate) fn is_left_to_rows(scorer: &Node, options: &[&str]) -> bool {
    let stands_in = |with: &Node, option: &str| {
        with.field(option).is_some_and(|given| given.text().is_some() || !given.items().is_empty())
    };
    let has_option = scorer.field("with").is_some_and(|with| options.iter().any(|option| stands_in(with, option)));
    scorer.field("reference").or_else(|| scorer.field("value")).is_none() && !has_option
}

/// Refuses metrics that need a reference where no row has one: every score of them would be *not applicable*. Where
/// judges score the same outputs, who can do so without a reference, it is a warning.
pub(crate) fn settle(
    pending: &[PendingName],
    held: &AvailableNames<'_>,
    scorers: &[ScorerSpec],
    problems: &mut Problems,
) {
    let is_judged =
        scorers.iter().any(|scorer| matches!(&scorer.kind, ScorerKind::Rubric(rubric) if !rubric.judges.is_empty()));
    for waiting in pending.iter().filter(|waiting| !held.has(waiting)) {
        let Some(metric) = &waiting.metric else { continue };
        if metric == COLUMN {
            let message = format!("`{metric}` scores the checks that rows hold for themselves, and no row has any");
            let hint = "write checks into the rows, such as `\"assert\": [{\"metric\": \"contains\", \"value\": \"refund\"}]`, \
                        which need no scorer here; to check every output alike, name its metric, such as `metric: contains`";
            problems.error(&waiting.place, message).hint(hint);
            continue;
        }
        let message = format!("`{metric}` has nothing to compare with: no row of the dataset has a reference");
        let problem = match is_judged {
            true => problems.warn(&waiting.place, message),
            false => problems.error(&waiting.place, message),
        };
        problem.hint(hint(held));
    }
}

/// The hint: a column that looks like a reference, or the reason why the recognised one does not count.
fn hint(held: &AvailableNames<'_>) -> String {
    if let Some(unfilled) = REFERENCE.iter().find(|name| held.unfilled.contains(**name)) {
        return format!("`{unfilled}` is null in every row: fill it in, or set `value` on the scorer");
    }
    let is_likely = |column: &&String| LIKELY_REFERENCE.contains(&column.to_lowercase().as_str());
    let likely = held.columns.iter().filter(is_likely).find(|column| !held.unfilled.contains(*column));
    let column = likely.map_or("COLUMN", String::as_str);
    let hint =
        format!("add `reference: {column}` to `dataset`, or give the scorer a `reference` or `value` of its own");
    if likely.is_some() || held.columns.len() > SHOWN {
        return hint;
    }
    let columns: Vec<&str> = held.columns.iter().map(String::as_str).collect();
    format!("{hint}; columns: {}", columns.join(", "))
}
