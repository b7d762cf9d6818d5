//! Failures, cost and provenance of a run.

use maud::{Markup, html};

use crate::component::{state, table};
use crate::number::{count, usd};
use crate::text::visible::{Line, Words, line};

/// Failures with one code and message.
#[derive(Debug, Clone)]
pub struct FailureGroup {
    /// The code, such as `rate-limit`.
    pub code: String,
    /// The message.
    pub message: String,
    /// Cells that failed so.
    pub cells: u64,
    /// The place where they are listed.
    pub href: Option<String>,
}

/// Renders groups of failures in their order.
pub fn failures(groups: &[FailureGroup]) -> Markup {
    if groups.is_empty() {
        let none =
            crate::block::Empty { reason: Some("No cell failed: each has an output.".to_owned()), command: None };
        return state::empty(&none);
    }
    html! {
        div.wide tabindex="0" role="region" aria-label="Failures" {
            table {
                caption { "Failures by code and message" }
                thead { tr { th scope="col" { "Code" } th.number scope="col" { "Cells" } th.prose scope="col" { "Message" } } }
                tbody {
                    @for group in groups {
                        tr data-testid="failure-group" {
                            th scope="row" { code { (line(&group.code)) } }
                            td.number {
                                @match &group.href {
                                    Some(href) => (table::link(&count(group.cells), href)),
                                    None => (count(group.cells)),
                                }
                            }
                            td.prose { (Words(&group.message)) }
                        }
                    }
                }
            }
        }
    }
}

/// Calls and cost of one payer.
#[derive(Debug, Clone)]
pub struct CostRow {
    /// The model, service or program.
    pub name: String,
    /// The use: `step`, `judge` or another.
    pub kind: String,
    /// Cells or judgments that it made.
    pub calls: u64,
    /// Those of them that were cached, where that is known.
    pub cached: Option<u64>,
    /// Input and output tokens.
    pub tokens: (u64, u64),
    /// Dollars; `None` is unknown.
    pub cost: Option<f64>,
}

/// Renders the cost of a run with its total and its budget.
pub fn cost(rows: &[CostRow], total: Option<f64>, budget: Option<f64>) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label="Cost" {
            table data-testid="cost-table" {
                caption { "Cost by model, judge and kind" }
                thead { tr {
                    th scope="col" { "Name" } th scope="col" { "Kind" } th.number scope="col" { "Made" }
                    th.number scope="col" { "Cached" } th.number scope="col" { "Tokens in" }
                    th.number scope="col" { "Tokens out" } th.number scope="col" { "Cost" }
                } }
                tbody {
                    @for row in rows {
                        tr {
                            th scope="row" { (Line(&row.name)) } td { (line(&row.kind)) }
                            td.number { (count(row.calls)) } td.number { @if let Some(cached) = row.cached { (count(cached)) } }
                            td.number { (count(row.tokens.0)) } td.number { (count(row.tokens.1)) }
                            td.number { (usd(row.cost)) }
                        }
                    }
                    tr.total {
                        th scope="row" colspan="6" {
                            "Total" @if let Some(budget) = budget { span.interval { " of a budget of " (usd(Some(budget))) } }
                        }
                        td.number { (usd(total)) }
                    }
                }
            }
        }
    }
}

/// Renders facts about how a number was made, as names and values.
pub fn provenance(facts: &[(String, String)]) -> Markup {
    html! {
        dl.facts-list data-testid="provenance" {
            @for (name, value) in facts { dt { (line(name)) } dd { bdi { (Words(value)) } } }
        }
    }
}
