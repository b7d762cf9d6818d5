//! Scores that the source gave, as `given` scorers.

use std::collections::{HashMap, HashSet};

use karat_text::path::Path;
use serde_json::{Value, json};

use crate::text::names::Names;

/// Path of the outputs of a variant, as the steps and scorers of a suite name it.
pub(super) const OUTPUTS: &str = "data/outputs/{{ variant }}.jsonl";

/// The beginning of the ids of `given` scorers.
const GIVEN: &str = "given_";

/// Name of a row in these files.
pub(super) const BY: &str = "{{ sample.id }}";

/// Names of the source's scores within a suite, in the order in which they are met.
#[derive(Debug, Default)]
pub(super) struct ScoreNames {
    names: Names,
    by_source: HashMap<String, String>,
    order: Vec<String>,
    /// Those that have a reason in some output.
    reasoned: HashSet<String>,
}

impl ScoreNames {
    /// The suite's name of a score.
    pub fn of(&mut self, source: &str) -> String {
        if let Some(known) = self.by_source.get(source) {
            return known.clone();
        }
        // A score that Karat read and wrote has this name already.
        let name = self.names.take(source.strip_prefix(GIVEN).unwrap_or(source), "score");
        self.by_source.insert(source.to_owned(), name.clone());
        self.order.push(name.clone());
        name
    }

    /// The suite's name of a score that has a reason.
    pub fn of_reason(&mut self, source: &str) -> String {
        let name = self.of(source);
        self.reasoned.insert(name.clone());
        name
    }

    /// The suite's name of a score that was met.
    pub fn find(&self, source: &str) -> Option<&str> {
        self.by_source.get(source).map(String::as_str)
    }

    /// The `given` scorers of recorded outputs with this number of trials, by id.
    pub fn scorers(&self, trials: u32) -> impl Iterator<Item = (String, Value)> {
        self.order.iter().map(move |name| {
            let mut with = json!({"from": OUTPUTS, "path": member_path("scores", name), "by": BY});
            if trials > 1 {
                with["trial"] = json!("trial");
            }
            if self.reasoned.contains(name) {
                with["reason"] = json!(member_path("reasons", name));
            }
            (given_id(name), json!({"metric": "given", "with": with}))
        })
    }
}

/// The id of the scorer for a score of this name.
pub(super) fn given_id(name: &str) -> String {
    format!("{GIVEN}{name}")
}

/// The path of a member of an object. Names of scores hold no quotes.
fn member_path(object: &str, name: &str) -> String {
    let quoted = format!("$[\"{name}\"]");
    let plain = Path::parse(&quoted).map_or(quoted, |path| path.to_string());
    format!("{object}{}", plain.trim_start_matches('$'))
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
        assert_eq!(names.scorers(1).count(), 4);
        assert_eq!(names.of("given_hit"), "hit");
        assert!(names.scorers(1).any(|(id, _)| id == "given_hit"));
    }

    #[test]
    fn paths_of_scores_find_them() {
        let row = json!({"scores": {"tone": 1, "judge.fluency": 2, "a#2": 3}});
        for (name, path, score) in [
            ("tone", "scores.tone", 1),
            ("judge.fluency", "scores[\"judge.fluency\"]", 2),
            ("a#2", "scores[\"a#2\"]", 3),
        ] {
            assert_eq!(member_path("scores", name), path);
            assert_eq!(Path::parse(path).unwrap().first(&row), Some(&json!(score)));
        }
    }

    /// IO-01: a scorer reads the reason where some output has one, and the trial where there are several.
    #[test]
    fn scorers_read_what_there_is() {
        let mut names = ScoreNames::default();
        names.of("plain");
        names.of_reason("told");
        let with = |trials| names.scorers(trials).map(|(_, scorer)| scorer["with"].clone()).collect::<Vec<_>>();
        assert_eq!(with(1)[0], json!({"from": OUTPUTS, "path": "scores.plain", "by": BY}));
        assert_eq!(with(2)[1]["trial"], "trial");
        assert_eq!(with(2)[1]["reason"], "reasons.told");
    }
}
