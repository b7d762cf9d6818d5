//! Categories of failure: cells below a threshold, by metric, with examples.

use std::collections::BTreeMap;

use karat_text::path::Path;
use karat_types::PlanHeader;
use serde::Serialize;
use serde_json::Value;

use super::shortfall::Shortfall;
use crate::analyses::{ScoredCell, excerpt};
use crate::figures::groups::system_id;

/// Length of a shown part of an output.
const SHOWN: usize = 240;

/// Cells below the threshold of one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailureCategory {
    /// The metric.
    pub metric: String,
    /// Number of cells below its threshold.
    pub cells: u64,
    /// Number of cells with a score in it.
    pub of: u64,
    /// The first few in plan order.
    pub examples: Vec<CategoryExample>,
}

/// A cell of a category.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CategoryExample {
    /// The sample.
    pub sample: String,
    /// The system.
    pub system: String,
    /// The score.
    pub value: f64,
    /// The reason given by the scorer or a judge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Parts of the output by path, cut to 240 characters.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub shown: BTreeMap<String, String>,
}

/// Collects the categories of a run.
pub(super) struct Categories {
    examples: usize,
    show: Vec<(String, Path)>,
    /// By metric index.
    found: Vec<FailureCategory>,
}

impl Categories {
    pub fn new(plan: &PlanHeader, examples: usize, show: Vec<(String, Path)>) -> Self {
        let category = |name: &str| FailureCategory { metric: name.to_owned(), cells: 0, of: 0, examples: Vec::new() };
        Self { examples, show, found: plan.metrics.iter().map(|metric| category(&metric.name)).collect() }
    }

    /// Returns true if outputs are shown.
    pub fn wants_output(&self) -> bool {
        !self.show.is_empty() && self.examples > 0
    }

    /// Adds a cell with its shortfalls, by metric index. Returns true if it became an example.
    pub fn add_cell(&mut self, plan: &PlanHeader, cell: &ScoredCell<'_>, fell: &[(f64, usize, Shortfall)]) -> bool {
        let mut is_example = false;
        for (at, category) in self.found.iter_mut().enumerate() {
            category.of += u64::from(cell.scores.number(at).is_some());
        }
        for (_, at, shortfall) in fell {
            let Some(category) = self.found.get_mut(*at) else { continue };
            category.cells += 1;
            if category.examples.len() < self.examples {
                is_example = true;
                category.examples.push(CategoryExample {
                    sample: cell.row.sample.id.clone(),
                    system: system_id(plan, cell.row.system),
                    value: shortfall.value,
                    why: shortfall.why.clone(),
                    shown: shown_parts(&self.show, cell.output),
                });
            }
        }
        is_example
    }

    /// The shown parts of an output.
    pub fn shown_parts(&self, output: Option<&Value>) -> BTreeMap<String, String> {
        shown_parts(&self.show, output)
    }

    /// The most frequent categories, ties in the plan's order.
    pub fn top(self, limit: usize) -> Vec<FailureCategory> {
        let mut found: Vec<FailureCategory> = self.found.into_iter().filter(|category| category.cells > 0).collect();
        found.sort_by_key(|category| std::cmp::Reverse(category.cells));
        found.truncate(limit);
        found
    }
}

fn shown_parts(paths: &[(String, Path)], output: Option<&Value>) -> BTreeMap<String, String> {
    let Some(output) = output else { return BTreeMap::new() };
    let part = |(name, path): &(String, Path)| {
        let text = match path.first(output)? {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Some((name.clone(), excerpt(&text, SHOWN)))
    };
    paths.iter().filter_map(part).collect()
}
