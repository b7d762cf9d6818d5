//! The figures of a `diagnostics` analysis.

use std::collections::BTreeMap;

use karat_stats::describe::{mean, nearest_rank};
use serde::Serialize;
use serde_json::{Map, Value};

use super::CheckedOptions;
use super::confidence::Confidence;
use super::sections::SectionRange;
use crate::analyses::OrderedMap;
use crate::infer::finding::Finding;

/// Number of common texts listed.
const COMMON: usize = 10;

/// The figures of one or all systems. Field names are those of the published JSON, in which a *span* is an item of the
/// output and an *error* a finding about one.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SpanFigures {
    /// Cells with an output.
    pub evaluated: u64,
    /// Cells whose judge's reply was partly unusable, so that only a part of it counts.
    pub degraded: u64,
    /// Cells without an output or without any score.
    pub error_count: u64,
    /// Mean of the rubric's composite; null without any.
    pub avg_score: Option<f64>,
    /// The mean of the composite with its n, interval and method.
    pub score: Option<Finding>,
    /// Mean number of items, over outputs that have a list of items.
    pub avg_span_count: Option<f64>,
    /// Cells by band of the composite, the highest band first.
    pub score_distribution: Map<String, Value>,
    /// Mean by category, over the cells in which it was assessed.
    pub avg_category_scores: OrderedMap<Category>,
    /// Number of times each reason was given; empty if no verdict has the list.
    pub false_positive_reasons: Map<String, Value>,
    /// The most frequent pairs; ties by name.
    pub top_taxonomy_errors: Vec<Confusion>,
    /// True if any verdict has the list of confusions.
    #[serde(skip)]
    pub confusions_assessed: bool,
    /// Findings by section, for lists that any verdict has.
    pub errors_by_section: OrderedMap<OrderedMap<u64>>,
    /// Items by section, for outputs with a verdict.
    pub spans_by_section: OrderedMap<u64>,
    /// By section and kind of finding: items of outputs whose verdict has the list.
    #[serde(skip)]
    pub assessed_by_section: OrderedMap<OrderedMap<u64>>,
    /// The most frequent texts of each list of findings.
    pub common: OrderedMap<Vec<TextCount>>,
    /// Latency of the cells; null if none was measured.
    pub latency_ms: Option<Latency>,
    /// The relation of confidence and errors.
    pub confidence: Option<Confidence>,
    /// The first cells, in plan order.
    pub evaluations: Vec<Evaluation>,
}

impl SpanFigures {
    /// Number of a section's items assessed for a kind of finding: the base of its rate.
    pub fn count_assessed(&self, section: &str, kind: &str) -> u64 {
        self.assessed_by_section.get(section).and_then(|kinds| kinds.get(kind)).copied().unwrap_or(0)
    }

    /// The evaluations with the lowest composites, the lowest first; ties in plan order.
    pub fn worst(&self, limit: usize) -> Vec<&Evaluation> {
        let mut scored: Vec<(f64, &Evaluation)> =
            self.evaluations.iter().filter_map(|it| Some((it.score?, it))).collect();
        scored.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        scored.into_iter().take(limit).map(|(_, it)| it).collect()
    }
}

/// One category: the mean of each of its scores, null if never assessed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Category {
    /// By score.
    #[serde(flatten)]
    pub scores: OrderedMap<Option<f64>>,
    /// Cells in which any of them was assessed.
    pub n: u64,
}

/// A pair of given and correct label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Confusion {
    /// The two fields under their own names.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
    /// True if both fields are equal, so that it is no confusion.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub equal: bool,
    /// Number of occurrences.
    pub count: u64,
    /// Some of the texts.
    pub examples: Vec<String>,
}

/// A text and its number of occurrences.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TextCount {
    /// The text in its first spelling.
    pub text: String,
    /// Number of occurrences, ignoring case.
    pub count: u64,
}

/// Time in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Latency {
    /// Mean.
    pub avg: f64,
    /// Median, by nearest rank.
    pub p50: f64,
    /// 95th percentile, by nearest rank.
    pub p95: f64,
    /// 99th percentile, by nearest rank.
    pub p99: f64,
}

/// The evaluation of one text.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Evaluation {
    /// The sample.
    pub sample: String,
    /// The system, if the run has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The trial.
    #[serde(skip)]
    pub trial: u32,
    /// The composite.
    pub score: Option<f64>,
    /// Length of the text, in the unit of offsets.
    pub prompt_length: u64,
    /// Range of each section; null without a header.
    pub sections: OrderedMap<Option<SectionRange>>,
    /// Items by section.
    pub spans_by_section: OrderedMap<u64>,
    /// Number of items; null if the output has no list of items.
    pub span_count: Option<u64>,
    /// Section of each item, by its position.
    pub span_sections: Vec<String>,
    /// The findings of each list that the verdict has, each with its `section`.
    pub errors: OrderedMap<Vec<Value>>,
    /// Number of findings by list; lists that the verdict lacks are absent.
    pub findings: OrderedMap<u64>,
    /// By category and score; null if not assessed. Stored with the judgment, too.
    #[serde(skip)]
    pub category_scores: OrderedMap<OrderedMap<Option<f64>>>,
    /// Findings by section, for lists that the verdict has. The figures contain their sums.
    #[serde(skip)]
    pub errors_by_section: OrderedMap<OrderedMap<u64>>,
    /// Correct and missing items by section, where findings say what is wrong and what is missing.
    #[serde(skip)]
    pub found_by_section: OrderedMap<(u64, u64)>,
    /// The reason why only a part of the judge's reply counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degraded: Option<String>,
}

/// The assessments of a category.
#[derive(Default)]
pub(super) struct CategoryTally {
    /// Values by score.
    pub values: OrderedMap<Vec<f64>>,
    /// Cells in which any score was given.
    pub n: u64,
}

/// The occurrences of a confusion.
#[derive(Default)]
pub(super) struct ConfusionTally {
    pub count: u64,
    pub examples: Vec<String>,
}

/// Scores by band; a band is named by its lowest and highest value, `23-25`.
pub(super) fn distribution(scores: &[f64], bands: &[f64], highest: Option<f64>) -> Map<String, Value> {
    let name = |at: usize, edge: f64| match bands.get(at + 1) {
        Some(next) => format!("{edge}-{}", next - 1.0),
        None => highest.map_or_else(|| format!("{edge}+"), |highest| format!("{edge}-{highest}")),
    };
    let inside = |at: usize, score: f64| bands.iter().rposition(|edge| *edge <= score) == Some(at);
    let count = |at: usize| scores.iter().filter(|score| inside(at, **score)).count();
    bands.iter().enumerate().rev().map(|(at, edge)| (name(at, *edge), Value::from(count(at)))).collect()
}

/// The mean of each score of each category.
pub(super) fn categories(assessed: &OrderedMap<CategoryTally>) -> OrderedMap<Category> {
    let category = |(member, tally): (&str, &CategoryTally)| {
        let scores = tally.values.iter().map(|(name, values)| (name.to_owned(), mean(values))).collect();
        (member.to_owned(), Category { scores, n: tally.n })
    };
    assessed.iter().map(category).collect()
}

/// Counts of every word of the rubric, in its order, followed by other words.
pub(super) fn reason_counts(counts: &BTreeMap<String, u64>, declared: &[String]) -> Map<String, Value> {
    let mut all: Map<String, Value> =
        declared.iter().map(|word| (word.clone(), Value::from(counts.get(word).copied().unwrap_or(0)))).collect();
    for (word, count) in counts {
        all.entry(word.clone()).or_insert_with(|| Value::from(*count));
    }
    all
}

pub(super) fn top_confusions(
    confusions: BTreeMap<(String, String), ConfusionTally>,
    options: &CheckedOptions,
) -> Vec<Confusion> {
    let Some(fields) = &options.requested.confusions else { return Vec::new() };
    let mut all: Vec<_> = confusions.into_iter().collect();
    all.sort_by(|(a, left), (b, right)| right.count.cmp(&left.count).then_with(|| a.cmp(b)));
    let confusion = |((from, to), tally): ((String, String), ConfusionTally)| Confusion {
        equal: from == to,
        fields: Map::from_iter([(fields.from.clone(), from.into()), (fields.to.clone(), to.into())]),
        count: tally.count,
        examples: tally.examples,
    };
    all.into_iter().take(fields.top).map(confusion).collect()
}

/// The most frequent texts; ties by text.
pub(super) fn most_frequent_texts(texts: &BTreeMap<String, TextCount>) -> Vec<TextCount> {
    let mut all: Vec<&TextCount> = texts.values().collect();
    all.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.text.cmp(&b.text)));
    all.into_iter().take(COMMON).cloned().collect()
}

pub(super) fn latency(values: &[f64]) -> Option<Latency> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = |share: f64| nearest_rank(&sorted, share);
    Some(Latency { avg: mean(&sorted)?, p50: rank(0.5)?, p95: rank(0.95)?, p99: rank(0.99)? })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// SP-06: 23–25, 18–22, 13–17, 8–12, 0–7, the highest first; a mean of pieces falls into the band below.
    #[test]
    fn scores_fall_into_bands() {
        let bands = [0.0, 8.0, 13.0, 18.0, 23.0];
        let found = distribution(&[25.0, 23.0, 22.5, 18.0, 12.9, 0.0], &bands, Some(25.0));
        assert_eq!(Value::Object(found), json!({"23-25": 2, "18-22": 2, "13-17": 0, "8-12": 1, "0-7": 1}));
        assert!(distribution(&[1.0], &[], None).is_empty());
    }

    /// SP-06: the most frequent texts, ties by text.
    #[test]
    fn common_texts_are_ordered() {
        let often = |text: &str, count| (text.to_owned(), TextCount { text: text.to_owned(), count });
        let found = most_frequent_texts(&BTreeMap::from([often("b", 2), often("a", 2), often("c", 3)]));
        assert_eq!(found.iter().map(|it| it.text.as_str()).collect::<Vec<_>>(), ["c", "a", "b"]);
    }

    /// SP-06: percentiles by nearest rank, none without a time.
    #[test]
    fn latency_by_hand() {
        let found = latency(&[30.0, 10.0, 20.0, 40.0]).unwrap();
        assert_eq!(found, Latency { avg: 25.0, p50: 20.0, p95: 40.0, p99: 40.0 });
        assert_eq!(latency(&[]), None);
    }
}
