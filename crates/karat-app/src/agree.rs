//! How far judges, and people, agree on a stored run. Makes no call.

use std::fs;
use std::path::Path;

use karat_analysis::agree::{Agreed, Options, agree};
use karat_types::Label;

use crate::{App, AppError};

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Agreeing {
    /// The scorer; every one with judges without it.
    pub scorer: Option<String>,
    /// Names of the raters that are compared; all without any.
    pub between: Vec<String>,
    /// A file of labels: JSON lines `{sample, model?, variant?, annotator?, scores{}}`.
    pub labels: Option<String>,
}

/// What was found.
#[derive(Debug, Clone)]
pub struct Agreement(Agreed);

impl Agreement {
    /// For a terminal.
    pub fn terminal(&self) -> String {
        karat_report::agreement::terminal(&self.0)
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        karat_report::markdown::agreement(&self.0)
    }

    /// As JSON.
    pub fn json(&self) -> Result<String, AppError> {
        karat_report::agreement::json(&self.0).map_err(|error| AppError::harness(error.to_string()))
    }
}

impl App {
    /// Says how far the raters of a run agree.
    pub fn agree(&self, run: &str, asked: &Agreeing) -> Result<Agreement, AppError> {
        let labels = asked.labels.as_deref().map_or_else(|| Ok(Vec::new()), |file| labels(Path::new(file)))?;
        let stored = self.stored(run)?;
        let options = Options { scorer: asked.scorer.clone(), between: asked.between.clone(), ..Options::default() };
        let found = agree(&stored, &labels, &options).map_err(|error| AppError::harness(error.to_string()))?;
        if found.metrics.is_empty() {
            return Err(AppError::harness("nothing to compare: no item has two of the raters").hint(format!(
                "raters of this run: {}; run with several `--judges`, or give `--labels FILE`",
                found.raters.join(", ")
            )));
        }
        Ok(Agreement(found))
    }
}

fn labels(file: &Path) -> Result<Vec<Label>, AppError> {
    let failed = |what: String| AppError::harness(format!("reading the labels {}: {what}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let label = |(at, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| {
            AppError::harness(format!("{}:{}: this is no label: {error}", file.display(), at + 1)).hint(
                "a label is a line such as {\"sample\": \"s1\", \"annotator\": \"ann\", \"scores\": {\"accuracy\": 7}}",
            )
        })
    };
    lines.map(label).collect()
}
