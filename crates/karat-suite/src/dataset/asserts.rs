//! The checks that rows hold for themselves (role `assert`): found wrong while the suite is loaded, not in the run.

use std::collections::BTreeMap;

use karat_text::path::Path;
use serde_json::{Map, Value};

use crate::catalog::Catalog;
use crate::nearest::nearest;
use crate::unavailable;

/// The column that holds them where the suite names none.
pub(crate) const COLUMN: &str = "assert";

const KEYS: &[&str] = &["id", "metric", "with", "output", "reference", "value", "min", "max", "not"];

/// What is wrong, and what to do.
type Wrong = (String, Option<String>);

/// Where a dataset's rows hold checks, and what may stand there.
#[derive(Debug, Clone)]
pub(crate) struct Asserts {
    /// Their place in the row.
    pub path: Path,
    /// By metric: whether it is pass/fail of itself.
    metrics: BTreeMap<String, bool>,
}

impl Asserts {
    pub fn new(path: Path, catalog: &Catalog) -> Self {
        let metrics = catalog.metrics.iter().map(|(name, entry)| (name.clone(), entry.binary));
        Self { path, metrics: metrics.collect() }
    }

    /// Whether a row has any.
    pub fn are_in(&self, row: &Value) -> bool {
        self.path.first(row).and_then(Value::as_array).is_some_and(|checks| !checks.is_empty())
    }

    /// Checks a row's own.
    pub fn check(&self, row: &Value) -> Result<(), Wrong> {
        match self.path.first(row) {
            None | Some(Value::Null) => Ok(()),
            Some(Value::Array(items)) => items.iter().try_for_each(|item| self.item(item)),
            Some(_) => {
                Err(("`assert` is no list of scorers".to_owned(), Some("write `assert: [ { metric: … } ]`".to_owned())))
            }
        }
    }

    fn item(&self, item: &Value) -> Result<(), Wrong> {
        let Value::Object(check) = item else {
            return Err((
                "a check of `assert` is no mapping".to_owned(),
                Some("write `{ metric: …, value: … }`".to_owned()),
            ));
        };
        if check.contains_key("rubric") {
            let hint = "make it a scorer of the suite, with its own `judges`".to_owned();
            return Err((unavailable::message("a `rubric` in `assert`"), Some(hint)));
        }
        if let Some(key) = check.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err((format!("a check of `assert` has no key `{key}`"), did_you_mean(key, KEYS.iter().copied())));
        }
        let Some(metric) = check.get("metric").and_then(Value::as_str) else {
            return Err(("a check of `assert` names no `metric`".to_owned(), None));
        };
        let Some(binary) = self.metrics.get(metric) else {
            let known = self.metrics.keys().map(String::as_str);
            return Err((format!("there is no metric `{metric}`"), did_you_mean(metric, known)));
        };
        decides(metric, *binary, check)
    }
}

/// A metric that is no pass/fail needs a bound that makes it one.
fn decides(metric: &str, binary: bool, check: &Map<String, Value>) -> Result<(), Wrong> {
    if binary || check.contains_key("min") || check.contains_key("max") {
        return Ok(());
    }
    Err((format!("`{metric}` in `assert` is neither passed nor failed"), Some("give it a `min` or a `max`".to_owned())))
}

fn did_you_mean<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    nearest(word, known).map(|near| format!("did you mean `{near}`?"))
}
