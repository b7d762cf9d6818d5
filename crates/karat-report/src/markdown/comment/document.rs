//! The part of report.json that a comment needs.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// Version of the reports that are read.
const SCHEMA: &str = "karat.report/1";

/// Largest number of worst cells shown.
pub(super) const WORST: usize = 3;

#[derive(Debug, Deserialize)]
pub(super) struct CommentDocument {
    pub(super) run: Run,
    pub(super) totals: Totals,
    #[serde(default)]
    pub(super) summary: Summary,
    #[serde(default)]
    pub(super) warnings: Vec<String>,
    #[serde(default)]
    pub(super) metrics: BTreeMap<String, Figure>,
    #[serde(default)]
    pub(super) gates: Vec<Gate>,
    #[serde(default)]
    pub(super) gates_left_out: u64,
    #[serde(default)]
    pub(super) verdict: Option<String>,
    #[serde(default)]
    pub(super) verdict_note: Option<String>,
    #[serde(default)]
    pub(super) cost: Cost,
    #[serde(default)]
    analyses: BTreeMap<String, Value>,
}

/// Which variant and which model to choose.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Summary {
    #[serde(default)]
    pub(super) answers: Vec<Answer>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Answer {
    pub(super) question: String,
    pub(super) answer: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Run {
    #[serde(default)]
    pub(super) id: Option<String>,
    pub(super) suite: String,
    pub(super) status: String,
    #[serde(default)]
    pub(super) git_commit: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Totals {
    pub(super) samples: u64,
    pub(super) cells: u64,
    #[serde(default)]
    pub(super) planned: u64,
    #[serde(default)]
    pub(super) errors: u64,
    #[serde(default)]
    pub(super) unscored: u64,
}

/// A figure of a metric over the whole run.
#[derive(Debug, Deserialize)]
pub(super) struct Figure {
    pub(super) n: u64,
    pub(super) value: Option<f64>,
    #[serde(default)]
    pub(super) ci: Option<(f64, f64)>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Gate {
    pub(super) id: String,
    pub(super) metric: String,
    #[serde(default)]
    pub(super) system: Option<String>,
    #[serde(default)]
    pub(super) sample: Option<String>,
    #[serde(default)]
    pub(super) group: Option<Value>,
    pub(super) verdict: String,
    #[serde(default)]
    pub(super) observed: Option<f64>,
    pub(super) bound: String,
    #[serde(default)]
    pub(super) threshold: Option<f64>,
    /// The change from the reference, if the bound is one of a change.
    #[serde(default)]
    pub(super) change: Option<f64>,
    #[serde(default)]
    pub(super) interval: Option<(f64, f64)>,
    #[serde(default)]
    pub(super) level: Option<f64>,
    #[serde(default)]
    pub(super) n: u64,
    #[serde(default)]
    pub(super) reason: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Cost {
    pub(super) actual_cost_usd: Option<f64>,
    pub(super) estimated_cost_usd: Option<f64>,
}

/// A figure of a system beside that of the baseline.
#[derive(Debug, Deserialize)]
pub(super) struct BaselineChange {
    pub(super) system: String,
    pub(super) metric: String,
    pub(super) figure: Point,
    #[serde(default)]
    pub(super) baseline: Option<f64>,
    #[serde(default)]
    pub(super) change: Option<Point>,
}

/// A finding.
#[derive(Debug, Deserialize)]
pub(super) struct Point {
    pub(super) value: f64,
    pub(super) n: u64,
    #[serde(default)]
    pub(super) ci: Option<(f64, f64)>,
}

/// The cells below a threshold.
#[derive(Debug, Deserialize)]
pub(super) struct Failing {
    pub(super) cells: u64,
    pub(super) of: u64,
    pub(super) worst: Vec<WorstCell>,
}

#[derive(Debug, Deserialize)]
pub(super) struct WorstCell {
    pub(super) ordinal: u64,
    pub(super) sample: String,
    pub(super) system: String,
    pub(super) shortfalls: Vec<Shortfall>,
    #[serde(default)]
    pub(super) why: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Shortfall {
    pub(super) metric: String,
    pub(super) value: f64,
    pub(super) threshold: f64,
}

impl CommentDocument {
    /// Reads a report. The error describes the problem.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Named {
            #[serde(default)]
            schema: String,
        }
        let named: Named = serde_json::from_slice(bytes).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => format!("it is not a report: {error}"),
            _ => format!("it is not JSON: {error}"),
        })?;
        match named.schema.as_str() {
            SCHEMA => {}
            "" => return Err("it is not a report: it has no `schema`".to_owned()),
            other => return Err(format!("its schema is `{other}`, and this version reads `{SCHEMA}`")),
        }
        serde_json::from_slice(bytes).map_err(|error| format!("it is not a report: {error}"))
    }

    /// The figures beside those of the baseline, where there is a change.
    pub(super) fn changes(&self) -> Vec<BaselineChange> {
        let all = self.analyses.get("kpis").cloned().unwrap_or_default();
        let all: Vec<BaselineChange> = serde_json::from_value(all).unwrap_or_default();
        all.into_iter().filter(|it| it.change.is_some()).collect()
    }

    /// The failing cells, from the first analysis that lists them.
    pub(super) fn failing(&self) -> Option<Failing> {
        let is_list = |found: &&Value| found.get("worst").is_some() && found.get("below").is_some();
        serde_json::from_value(self.analyses.values().find(is_list)?.clone()).ok()
    }

    /// The ordinals of the worst cells.
    pub(super) fn worst_ordinals(&self) -> Vec<u64> {
        let worst = self.failing().map(|it| it.worst).unwrap_or_default();
        worst.iter().take(WORST).map(|it| it.ordinal).collect()
    }
}
