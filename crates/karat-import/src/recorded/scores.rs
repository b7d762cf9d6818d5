//! Scores that the source gave, as `given` scorers.

use std::collections::HashMap;

use karat_text::path::Path;
use serde_json::{Value, json};

use crate::names::Names;

/// Path of the outputs of a variant, as the steps and scorers of a suite name it.
pub(super) const OUTPUTS: &str = "data/outputs/{{ variant }}.jsonl";

/// Name of a row in these files.
pub(super) const BY: &str = "{{ sample.id }}";

/// Names of the source's scores within a suite, in the order in which they are met.
#[derive(Debug, Default)]
pub(super) struct ScoreNames {
    names: Names,
    by_source: HashMap<String, String>,
    order: Vec<String>,
}

impl ScoreNames {
    /// The suite's name of a score.
    pub fn of(&mut self, source: &str) -> String {
        if let Some(known) = self.by_source.get(source) {
            return known.clone();
        }
        let name = self.names.take(source, "score");
        self.by_source.insert(source.to_owned(), name.clone());
        self.order.push(name.clone());
        name
    }

    /// The suite's name of a score that was met.
    pub fn known(&self, source: &str) -> Option<&str> {
        self.by_source.get(source).map(String::as_str)
    }

    /// All names.
    pub fn iter(&self) -> impl Iterator<Item = &String> {
        self.order.iter()
    }
}

/// The id of the scorer for a score of this name.
pub(super) fn given_id(name: &str) -> String {
    format!("given_{name}")
}

/// The scorer that reads the score `name` of recorded outputs with this number of trials.
pub(super) fn given_scorer(name: &str, trials: u32) -> Value {
    // Names of scores hold no quotes.
    let quoted = format!("$[\"{name}\"]");
    let plain = Path::parse(&quoted).map_or(quoted, |path| path.to_string());
    let path = format!("scores{}", plain.trim_start_matches('$'));
    let mut with = json!({"from": OUTPUTS, "path": path, "by": BY});
    if trials > 1 {
        with["trial"] = json!("trial");
    }
    json!({"metric": "given", "with": with})
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IO-01: names of scores are made valid and unique, and each keeps its name.
    #[test]
    fn scores_keep_their_names() {
        let mut names = ScoreNames::default();
        let all = ["tone", "String check \"a\"", "String check a", "tone", "judge.fluency"].map(|name| names.of(name));
        assert_eq!(all, ["tone", "String-check-a", "String-check-a#2", "tone", "judge.fluency"]);
        assert_eq!(names.iter().count(), 4);
    }

    #[test]
    fn paths_of_scores_find_them() {
        let row = json!({"scores": {"tone": 1, "judge.fluency": 2, "a#2": 3}});
        for (name, path, score) in [
            ("tone", "scores.tone", 1),
            ("judge.fluency", "scores[\"judge.fluency\"]", 2),
            ("a#2", "scores[\"a#2\"]", 3),
        ] {
            let scorer = given_scorer(name, 1);
            assert_eq!(scorer["with"]["path"], path);
            assert_eq!(Path::parse(path).unwrap().first(&row), Some(&json!(score)));
        }
    }
}
