//! Metrics of systems, each as a dot on its interval.

use maud::{Markup, html};

use crate::component::gates;
use crate::draw::axis::Axis;
use crate::draw::dots;
use crate::number::{Estimate, Scale};
use crate::text::visible::{Line, Name, Words, line};

/// A metric of one system.
#[derive(Debug, Clone)]
pub struct MetricRow {
    /// The metric.
    pub metric: String,
    /// The system.
    pub system: String,
    /// The figure.
    pub estimate: Estimate,
    /// Its scale.
    pub scale: Scale,
    /// Cells without a score and the reason, such as `2 unscored`.
    pub note: Option<String>,
}

/// Renders metrics; rows of one metric share an axis.
pub fn render(rows: &[MetricRow]) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label="Metrics" {
            table.centred {
                caption { "Metrics by system: value, interval and number of observations" }
                thead { tr {
                    th scope="col" { "Metric" } th scope="col" { "System" } th scope="col" { "Interval" }
                    th.number scope="col" { "Value" } th scope="col" { "Left out" }
                } }
                tbody {
                    @for (at, row) in rows.iter().enumerate() {
                        @let same = rows.iter().filter(|other| other.metric == row.metric);
                        @let axis = Axis::of(&row.scale, same.flat_map(|other| dots::extent(&other.estimate)));
                        @let is_first = at == 0 || rows.get(at - 1).is_none_or(|before| before.metric != row.metric);
                        tr data-testid="metric-row" data-metric=(line(&row.metric)) data-system=(line(&row.system))
                            data-value=[row.estimate.finite_value().map(|value| value.to_string())] {
                            th scope="row" { span.hidden-text[!is_first] { (Line(&row.metric)) } }
                            td { (Name(&row.system)) }
                            td { (dots::inline(&row.estimate, &axis)) }
                            td.number { (gates::observed_value(&row.estimate, &row.scale)) }
                            td.soft { @if let Some(note) = &row.note { (Words(note)) } }
                        }
                    }
                }
            }
        }
    }
}
