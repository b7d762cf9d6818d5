//! Compares a span snapshot's own figures with those of a run over its rows.

use std::path::Path;

use karat_analysis::Outcome;
use serde_json::Value;

use crate::AppError;
use crate::error::Bug;
use crate::imports::Imports;
use crate::imports::span_snapshot::read;
use crate::stored::findings::findings;

/// The analysis of the preset `spans` that has a snapshot's summary figures.
const FIGURES: &str = "spans";

/// Names that snapshots use for our figures.
const ALIASES: [(&str, &str); 4] = [
    ("confidenceAnalysis", "confidence"),
    ("confidenceCorrelation", "confidence"),
    ("latency", "latencyMs"),
    ("latencyStats", "latencyMs"),
];

/// Lists of common texts in snapshots, and the list of findings that each is made of.
const COMMON: [(&str, &str); 2] =
    [("commonMissedElements", "missedElements"), ("commonIncorrectExtractions", "falsePositives")];

/// Number of common texts that a snapshot lists.
const LISTED: usize = 10;

/// Figures that snapshots define otherwise: the first member of their path, and the two definitions.
const DEFINITIONS: [(&str, &str); 5] = [
    (
        "latency",
        "here percentiles are nearest ranks over results with an output; the snapshot counts failed results too and takes \
         rank ⌊n·p⌋ + 1",
    ),
    (
        "avgCategoryScores",
        "here a score of 0 is not assessed; the snapshot leaves out a category only if all of its scores are 0",
    ),
    ("commonMissedElements", "here upper and lower case are counted together"),
    ("commonIncorrectExtractions", "here upper and lower case are counted together"),
    ("avgScore", "here every result with scores counts; the snapshot leaves out those with a total of 0"),
];

/// The comparison of a snapshot's figures with those of the run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SnapshotCheck {
    /// Number of figures that agree to the digits given in the snapshot.
    pub same: usize,
    /// Descriptions of figures that differ.
    pub differing: Vec<String>,
    /// Paths of figures in the snapshot without a counterpart.
    pub unknown: Vec<String>,
}

impl Imports<'_> {
    /// Compares every number in a snapshot's summary with the run's findings.
    ///
    /// # Errors
    /// A file or a run that cannot be read.
    pub fn check_snapshot(&self, file: &Path, run: &str) -> Result<SnapshotCheck, AppError> {
        let snapshot = read(file)?;
        let findings = findings(&self.app.stored().run(run)?)?;
        let mut found = SnapshotCheck::default();
        for analysed in findings.analyses.iter().filter(|analysed| analysed.id == FIGURES) {
            let Outcome::Diagnostics(figures) = &analysed.outcome else { continue };
            let mut again =
                serde_json::to_value(figures).map_err(|source| Bug::Json { what: "the figures", source })?;
            again["promptCount"] = findings.samples().into();
            for (name, own) in snapshot.as_object().into_iter().flatten() {
                match counterpart(&again, name) {
                    _ if name == "summary" => found.figures("", own, Some(&again)),
                    // Much beside the summary is not a figure.
                    beside => beside.into_iter().for_each(|again| found.figures(name, own, Some(again))),
                }
            }
        }
        Ok(found)
    }
}

impl SnapshotCheck {
    /// Compares objects and lists member by member, following the snapshot. Texts are not figures.
    fn figures(&mut self, place: &str, own: &Value, again: Option<&Value>) {
        match own {
            Value::Object(members) => {
                for (name, value) in members {
                    let inner = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
                    if let Some(listed) = common_texts(again, name)
                        && let Value::Array(items) = value
                    {
                        self.texts(&inner, items, listed);
                        continue;
                    }
                    self.figures(&inner, value, again.and_then(|again| counterpart(again, name)));
                }
            }
            Value::Array(items) if items.iter().all(Value::is_object) => self.named_figures(place, items, again),
            Value::Array(items) => {
                for (at, value) in items.iter().enumerate() {
                    self.figures(&format!("{place}[{at}]"), value, again.and_then(|again| again.get(at)));
                }
            }
            Value::String(_) => {}
            Value::Null | Value::Bool(_) | Value::Number(_) => self.figure(place, own, again),
        }
    }

    /// Compares lists of objects that are told apart by their texts, in any order: `{assignedRole, expectedRole,
    /// count}`.
    fn named_figures(&mut self, place: &str, own: &[Value], again: Option<&Value>) {
        let listed = again.and_then(Value::as_array).map(Vec::as_slice);
        for (at, item) in own.iter().enumerate() {
            let texts: Vec<(&String, &Value)> =
                item.as_object().into_iter().flatten().filter(|(_, value)| value.is_string()).collect();
            let says = |other: &&Value| texts.iter().all(|(name, text)| other.get(name) == Some(text));
            let name = texts.iter().filter_map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(" → ");
            let place = if name.is_empty() { format!("{place}[{at}]") } else { format!("{place}[{name}]") };
            match (listed, listed.and_then(|listed| listed.iter().find(says))) {
                (Some(listed), None) if !is_beyond(item, listed) => {
                    self.differing.push(format!("{place} is in the snapshot and not here"));
                }
                (_, found) => self.figures(&place, item, found),
            }
        }
        if let Some(more) = listed.and_then(|listed| listed.len().checked_sub(own.len())).filter(|more| *more > 0) {
            self.differing.push(format!("{place} has {} entries in the snapshot and {more} more here", own.len()));
        }
    }

    /// Compares a list of common texts, such as `["dog (4x)"]`, with ours: by text, in any order, ignoring case.
    fn texts(&mut self, place: &str, own: &[Value], listed: &[Value]) {
        let mut counts: Vec<(String, Option<u64>)> = Vec::new();
        for (text, count) in own.iter().filter_map(text_count) {
            match counts.iter_mut().find(|(known, _)| known.to_lowercase() == text.to_lowercase()) {
                Some((_, known)) => *known = known.zip(count).map(|(known, count)| known + count),
                None => counts.push((text, count)),
            }
        }
        let says = |item: &&Value, text: &str| {
            item.get("text").and_then(Value::as_str).is_some_and(|own| own.to_lowercase() == text.to_lowercase())
        };
        let is_full = listed.len() >= LISTED;
        let lowest = listed.iter().filter_map(|item| item.get("count")?.as_u64()).min();
        for (text, count) in &counts {
            let place = format!("{place}[{text}]");
            let here = listed.iter().find(|item| says(item, text)).and_then(|item| item.get("count")?.as_u64());
            match (count, here) {
                (Some(count), Some(here)) if *count != here => {
                    self.differing.push(describe(&place, &count.to_string(), &here.to_string()));
                }
                (_, Some(_)) => self.same += 1,
                // It may have lost a tie for the last place.
                (_, None) if is_full && count.zip(lowest).is_none_or(|(count, lowest)| count <= lowest) => {
                    self.unknown.push(place);
                }
                (_, None) => self.differing.push(format!("{place} is in the snapshot and not here")),
            }
        }
        if own.len() < LISTED {
            let is_known = |item: &&Value| counts.iter().any(|(text, _)| says(item, text));
            let texts = listed.iter().filter(|item| !is_known(item)).filter_map(|item| item.get("text")?.as_str());
            self.differing.extend(texts.map(|text| format!("{place}[{text}] is here and not in the snapshot")));
        }
    }

    fn figure(&mut self, place: &str, own: &Value, again: Option<&Value>) {
        match again {
            Some(again) if are_equal(own, again) => self.same += 1,
            // A null figure in a snapshot says nothing.
            _ if own.is_null() && again.is_none_or(|again| again.is_object() || again.is_array()) => {}
            Some(again) if !again.is_object() && !again.is_array() => {
                self.differing.push(describe(place, &own.to_string(), &again.to_string()));
            }
            _ => self.unknown.push(place.to_owned()),
        }
    }
}

/// Describes a difference, with both definitions if they are known to differ.
fn describe(place: &str, own: &str, again: &str) -> String {
    let first = place.split(['.', '[']).next().unwrap_or_default();
    let definition =
        DEFINITIONS.iter().find(|(name, _)| first == *name || first.starts_with("latency") && *name == "latency");
    let why = definition.map_or_else(String::new, |(_, why)| format!(" ({why})"));
    format!("{place} is {own} in the snapshot and {again} here{why}")
}

/// Our list of the common texts that a snapshot lists under `name`; empty if no verdict has the findings.
fn common_texts<'a>(again: Option<&'a Value>, name: &str) -> Option<&'a [Value]> {
    let (_, list) = COMMON.iter().find(|(known, _)| *known == name)?;
    let all = again?.get("common")?;
    Some(all.get(list).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default())
}

/// A text with its count: `{text, count}`, `dog (4x)`, or a text alone.
fn text_count(item: &Value) -> Option<(String, Option<u64>)> {
    if let Some(text) = item.get("text").and_then(Value::as_str) {
        return Some((text.to_owned(), item.get("count").and_then(Value::as_u64)));
    }
    let whole = item.as_str()?;
    let counted = whole.strip_suffix(')').and_then(|rest| {
        let (text, count) = rest.rsplit_once(" (")?;
        Some((text.to_owned(), count.strip_suffix('x').unwrap_or(count).parse().ok()?))
    });
    Some(counted.map_or_else(|| (whole.to_owned(), None), |(text, count): (String, u64)| (text, Some(count))))
}

/// Returns whether an entry may have lost a tie for the last place of a list sorted by count.
fn is_beyond(item: &Value, listed: &[Value]) -> bool {
    let count = |item: &Value| item.get("count").and_then(Value::as_u64);
    let lowest = listed.iter().filter_map(count).min();
    count(item).zip(lowest).is_some_and(|(count, lowest)| count <= lowest)
}

/// The member with a snapshot's name: the same name, a known alias, or the only one with the same numbers in its name,
/// because bands of scores are called `23-25` and `excellent (23–25)`.
fn counterpart<'a>(again: &'a Value, name: &str) -> Option<&'a Value> {
    let members = again.as_object()?;
    let alias = ALIASES.iter().find(|(known, _)| *known == name).map(|(_, ours)| *ours);
    let named = members.get(name).or_else(|| members.get(alias?));
    named.or_else(|| {
        let numbers = numbers(name)?;
        let mut alike = members.iter().filter(|(key, _)| self::numbers(key).as_ref() == Some(&numbers));
        alike.next().filter(|_| alike.next().is_none()).map(|(_, value)| value)
    })
}

/// The numbers in a name; `None` if there are none.
fn numbers(name: &str) -> Option<Vec<&str>> {
    let numbers: Vec<&str> = name.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty()).collect();
    (!numbers.is_empty()).then_some(numbers)
}

/// Returns whether two values agree to the digits of the first. An unassessed figure is 0 in a snapshot and missing
/// here.
fn are_equal(own: &Value, again: &Value) -> bool {
    match (own.as_f64(), again.as_f64()) {
        (Some(own_number), Some(again)) => {
            let decimals = own.to_string().split_once('.').map_or(0, |(_, decimals)| decimals.len().min(12) as i32);
            (own_number - again).abs() <= 0.5 * 10_f64.powi(-decimals) + 1e-9
        }
        (Some(own), None) if again.is_null() => own <= 0.0,
        _ => own == again,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn compare_figure(own: &Value, again: &Value) -> SnapshotCheck {
        let mut found = SnapshotCheck::default();
        found.figures("", own, Some(again));
        found
    }

    /// SP-09: figures agree to the digits in the snapshot; every one is compared, and those without a counterpart are
    /// listed.
    #[test]
    fn figures_agree_to_the_digits_given() {
        let own = json!({
            "avgScore": 20.23, "errorCount": 1, "old": 3, "text": "no figure", "open": null,
            "avgCategoryScores": {"audio": {"coverage": 0}, "shot": {"coverage": 4.5}, "mood": {"coverage": 3}},
            "scoreDistribution": {"excellent (23–25)": 2, "18-22": 1, "0-7": 0},
        });
        let again = json!({
            "avgScore": 20.2272, "errorCount": 2, "new": 1,
            "avgCategoryScores": {"audio": {"coverage": null}, "shot": {"coverage": 4.4}},
            "scoreDistribution": {"23-25": 2, "18-22": 3, "0-7": 0},
        });
        let found = compare_figure(&own, &again);
        assert_eq!(found.same, 4);
        let differing = [
            "errorCount is 1 in the snapshot and 2 here",
            "avgCategoryScores.shot.coverage is 4.5 in the snapshot and 4.4 here (here a score of 0 is not assessed; the snapshot \
             leaves out a category only if all of its scores are 0)",
            "scoreDistribution.18-22 is 1 in the snapshot and 3 here",
        ];
        assert_eq!(found.differing, differing);
        assert_eq!(found.unknown, ["old", "avgCategoryScores.mood.coverage"]);
    }

    /// SP-09: confusions are found by their roles in any order; missing ones are reported, except one that may have
    /// lost a tie for the last place.
    #[test]
    fn confusions_agree_by_role() {
        let confusion = |from: &str, count: u64| json!({"assignedRole": from, "expectedRole": "x", "count": count});
        let own = json!({"top": [confusion("b", 1), confusion("a", 3), confusion("c", 2), confusion("d", 1)]});
        let again = json!({"top": [confusion("a", 3), confusion("b", 2), confusion("e", 1)]});
        let found = compare_figure(&own, &again);
        assert_eq!(found.same, 1);
        let differing =
            ["top[b → x].count is 1 in the snapshot and 2 here", "top[c → x] is in the snapshot and not here"];
        assert_eq!(found.differing, differing);
        assert_eq!(found.unknown, ["top[d → x].count"]);
        let longer = compare_figure(&json!({"top": []}), &again);
        assert_eq!(longer.differing, ["top has 0 entries in the snapshot and 3 more here"]);
    }

    /// SP-09: common texts and latencies are compared under the names that snapshots use, and differences are named.
    #[test]
    fn common_texts_and_latencies_are_compared() {
        let own = json!({
            "latencyStats": {"avg": 12_000, "p50": 13_225},
            "commonMissedElements": ["Dog (3x)", "dog (1x)", "a cat (fat) (2x)", "mouse (1x)"],
            "commonIncorrectExtractions": ["wide", "shot (5x)"],
        });
        let again = json!({
            "latencyMs": {"avg": 12_000.2, "p50": 13_340.0},
            "common": {
                "missedElements": [{"text": "dog", "count": 3}, {"text": "a cat (fat)", "count": 2}, {"text": "owl", "count": 1}],
                "falsePositives": [{"text": "Wide", "count": 7}, {"text": "shot", "count": 5}],
            },
        });
        let found = compare_figure(&own, &again);
        assert_eq!((found.same, found.unknown.len()), (4, 0), "{found:?}");
        let parts = [
            "commonMissedElements[Dog] is 4 in the snapshot and 3 here (here upper and lower case",
            "commonMissedElements[mouse] is in the snapshot and not here",
            "commonMissedElements[owl] is here and not in the snapshot",
            "latencyStats.p50 is 13225 in the snapshot and 13340.0 here (here percentiles are nearest ranks",
        ];
        assert_eq!(found.differing.len(), parts.len(), "{:?}", found.differing);
        for part in parts {
            assert!(found.differing.iter().any(|it| it.starts_with(part)), "{part}: {:?}", found.differing);
        }
    }

    /// SP-09: a common text that may have lost a tie for the tenth place is not compared.
    #[test]
    fn a_text_beyond_the_list_is_not_a_difference() {
        let listed: Vec<Value> = (0..10).map(|at| json!({"text": format!("t{at}"), "count": 2})).collect();
        let again = json!({"common": {"missedElements": listed}});
        let found = compare_figure(&json!({"commonMissedElements": vec!["u (2x)"; 10]}), &again);
        assert_eq!(found.differing, ["commonMissedElements[u] is in the snapshot and not here"]);
        let mut own: Vec<String> = (0..9).map(|at| format!("t{at} (2x)")).collect();
        own.push("u (2x)".to_owned());
        let found = compare_figure(&json!({"commonMissedElements": own}), &again);
        assert_eq!((found.same, found.unknown.as_slice()), (9, &["commonMissedElements[u]".to_owned()][..]));
    }

    /// SP-09: an average that leaves out zeros names both rules.
    #[test]
    fn a_category_average_names_both_rules() {
        let found = compare_figure(
            &json!({"avgCategoryScores": {"camera": {"coverage": 3.5}}}),
            &json!({"avgCategoryScores": {"camera": {"coverage": 4.0}}}),
        );
        assert!(found.differing[0].contains("a score of 0 is not assessed"), "{:?}", found.differing);
    }

    /// SP-09: figures of old formats have other names; numbers in lists are compared by position.
    #[test]
    fn figures_have_other_names() {
        let own = json!({"confidenceAnalysis": {"range": [0.8, 1.0], "recommendedThreshold": null}});
        let again = json!({"confidence": {"range": [0.8, 1.0], "recommendedThreshold": 0.6}});
        let found = compare_figure(&own, &again);
        assert_eq!((found.same, found.differing.len()), (2, 1));
        assert_eq!(compare_figure(&json!({"confidence": null}), &again), SnapshotCheck::default());
    }
}
