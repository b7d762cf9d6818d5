//! Addresses of the live dashboard.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::shared::report::Report;

/// Characters of ids that stay as they are.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The places that a page of one run leads to.
#[derive(Debug, Clone, Default)]
pub struct Links {
    run: Option<String>,
}

impl Links {
    /// No links: a file leads nowhere.
    pub fn none() -> Self {
        Self::default()
    }

    /// The pages of a run on the live dashboard.
    pub fn live(run: &str) -> Self {
        Self { run: Some(percent_encode(run)) }
    }

    /// Returns the page of a cell, by its place in the plan.
    pub fn cell(&self, ordinal: u64) -> Option<String> {
        Some(format!("/runs/{}/cell?n={ordinal}", self.run.as_ref()?))
    }

    /// Returns the page of a sample.
    pub fn sample(&self, id: &str) -> Option<String> {
        Some(format!("/runs/{}/sample?id={}", self.run.as_ref()?, percent_encode(id)))
    }

    /// Returns the list of cells that pass these filters.
    pub fn cells(&self, filters: &[(&str, &str)]) -> Option<String> {
        let query: Vec<String> =
            filters.iter().map(|(key, value)| format!("{key}={}", percent_encode(value))).collect();
        Some(format!("/runs/{}/cells?{}", self.run.as_ref()?, query.join("&")))
    }

    /// Returns true if the page leads to the live dashboard.
    pub fn is_live(&self) -> bool {
        self.run.is_some()
    }
}

/// Returns the command that shows everything of a run on the live dashboard.
pub(super) fn view_command(report: Report<'_>) -> String {
    if report.context.canonical { "karat view".to_owned() } else { format!("karat view {}", report.rows.header().id) }
}

fn percent_encode(text: &str) -> String {
    utf8_percent_encode(text, KEPT).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DB-11: links name cells and samples whatever their ids hold; a file has none.
    #[test]
    fn ids_are_encoded() {
        let links = Links::live("2026 a/b");
        assert_eq!(links.cell(7).as_deref(), Some("/runs/2026%20a%2Fb/cell?n=7"));
        assert_eq!(links.sample("q&1=\"").as_deref(), Some("/runs/2026%20a%2Fb/sample?id=q%261%3D%22"));
        let filters = [("status", "error"), ("q", "a b")];
        assert_eq!(links.cells(&filters).as_deref(), Some("/runs/2026%20a%2Fb/cells?status=error&q=a%20b"));
        assert!(Links::none().cell(7).is_none() && !Links::none().is_live());
    }
}
