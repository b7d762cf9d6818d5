//! Metrics of systems, each as a dot on its interval, and leaderboards.

use maud::{Markup, html};

use crate::chart::draw::axis::Axis;
use crate::chart::rows::dots;
use crate::component::verdict::{self, Verdict};
use crate::component::{gates, table};
use crate::number::{Estimate, Scale};
use crate::text::visible::{Line, Name, line};

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
                            td.soft { @if let Some(note) = &row.note { (line(note)) } }
                        }
                    }
                }
            }
        }
    }
}

/// A place on a leaderboard.
#[derive(Debug, Clone)]
pub struct Place {
    /// The range of ranks that the data allow, such as `1–2`.
    pub rank: String,
    /// The system.
    pub system: String,
    /// The figure.
    pub estimate: Estimate,
    /// The difference to the first.
    pub behind: Option<Estimate>,
    /// The verdict of that difference.
    pub verdict: Option<Verdict>,
}

/// Renders the leaderboard of a metric.
pub fn leaderboard(metric: &str, scale: &Scale, places: &[Place]) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label={"Leaderboard of " (line(metric))} {
            table data-testid="leaderboard" {
                caption { "Leaderboard of " (Line(metric)) }
                thead { tr {
                    th.number scope="col" { "Rank" } th scope="col" { "System" } th.number scope="col" { "Value" }
                    th.number scope="col" { "Behind the first" } th scope="col" { "Verdict" }
                } }
                tbody {
                    @for place in places {
                        tr {
                            td.number { (line(&place.rank)) }
                            th scope="row" { (Name(&place.system)) }
                            td.number { (gates::observed_value(&place.estimate, scale)) }
                            td.number { @if let Some(behind) = &place.behind {
                                (table::content(&crate::block::Cell::Difference(behind.clone(), scale.clone())))
                            } }
                            td { @if let Some(verdict) = place.verdict { (verdict::mark(verdict)) } }
                        }
                    }
                }
            }
        }
    }
}
