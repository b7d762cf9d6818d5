//! The name of a compared metric, as Markdown.

use karat_analysis::compare::ComparedMetric;

use crate::markdown::page::Inline;
use crate::wording::comparison::aggregate_name;

/// Returns the name of a metric, with the kind of its figures unless they are means.
pub(super) fn name(metric: &ComparedMetric) -> Inline {
    let name = Inline::code(&metric.metric);
    match aggregate_name(metric) {
        Some(aggregate) => name.and(" (").and_text(aggregate).and(")"),
        None => name,
    }
}
