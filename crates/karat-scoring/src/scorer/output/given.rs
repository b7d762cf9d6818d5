//! `given`: the score that another tool gave the same output.

use karat_text::path::Path;
use karat_types::Score;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::scorer::RowJoin;
use crate::scorer::metric::{Metric, MetricInput, Needs, Options, applies_if_scored};

/// Options of `given`. Rows are found as those of a `recorded` step are.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Given {
    /// Path of a JSONL or JSON file with a row for each cell, or of one JSON file for each.
    from: String,
    /// Path of the score within the row: a number, or true or false.
    path: String,
    /// Id of the row. Default: the sample's id.
    by: Option<String>,
    /// Path of the trial's number within the row, counted from 1, where the file has a row for each trial.
    trial: Option<String>,
    /// Path of the reason for the score within the row.
    reason: Option<String>,
}

struct GivenMetric {
    join: RowJoin,
    path: Path,
    reason: Option<Path>,
}

impl Options for Given {
    const NEEDS: Needs = Needs::Nothing;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        let path = |key: &str, text: &str| Path::parse(text).map_err(|error| format!("`{key}`: {error}"));
        self.trial.iter().try_for_each(|trial| path("trial", trial).map(drop))?;
        Ok(Box::new(GivenMetric {
            path: path("path", &self.path)?,
            reason: self.reason.as_deref().map(|text| path("reason", text)).transpose()?,
            join: RowJoin { from: self.from, by: self.by, trial: self.trial },
        }))
    }
}

impl Metric for GivenMetric {
    fn applies(&self, given: &MetricInput<'_>) -> Result<(), Score> {
        applies_if_scored(self.score(given))
    }

    /// The score as it stands in the file; *unscored* where the file has no row, or the score is null: the tool failed to
    /// give it. A row without the member was not scored by this name at all: the score does not apply to it.
    fn score(&self, given: &MetricInput<'_>) -> Score {
        let Some(rows) = given.cell.joined else {
            return Score::unscored("this score stands in a file, and no files are read here");
        };
        let row = match rows.row(&self.join) {
            Ok(row) => row,
            Err(why) => return Score::unscored(why),
        };
        let score = match self.path.first(&row) {
            None => return Score::NotApplicable { na: format!("the row has nothing at `{}`", self.path).into() },
            Some(Value::Null) => return Score::unscored(format!("the score at `{}` is null", self.path)),
            Some(Value::Bool(passed)) => Score::verdict(*passed),
            Some(other) => match other.as_f64() {
                Some(number) => Score::value(number),
                None => {
                    let shown: String = other.to_string().chars().take(80).collect();
                    return Score::unscored(format!("`{}` is {shown}, not a number, true or false", self.path));
                }
            },
        };
        let reason = self.reason.as_ref().and_then(|path| path.first(&row)).and_then(Value::as_str);
        score.with_reason(reason.filter(|reason| !reason.trim().is_empty()).map(str::to_owned))
    }

    fn joins(&self) -> Vec<RowJoin> {
        vec![self.join.clone()]
    }
}
