//! What accumulates cell by cell, and the figures of it (SP-05, SP-06).

use std::collections::{BTreeMap, BTreeSet};

use karat_stats::describe::{mean, nearest_rank};
use karat_types::CellStatus;
use serde::Serialize;
use serde_json::{Map, Value};

use super::Reading;
use super::confidence::{Confidence, Stated};
use super::sections::{Sections, Stretch};
use crate::analyses::ScoredCell;
use crate::consensus::united_diagnostics;
use crate::finding::Finding;
use crate::texts::{excerpt, text_of};

/// Evaluations that are listed; all are counted.
const LISTED: usize = 10_000;
/// Texts that are listed as common.
const COMMON: usize = 10;
/// Examples of a confusion.
const EXAMPLES: usize = 3;

/// The figures of one or all systems. Names are those of the published snapshots.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SpanFigures {
    /// Cells with an output.
    pub evaluated: u64,
    /// Cells whose judge's reply was not as it must be, so that only a part of it counts.
    pub degraded: u64,
    /// Cells without an output or without any score.
    pub error_count: u64,
    /// Mean of the rubric's composite; null without any.
    pub avg_score: Option<f64>,
    /// The same with its n and method.
    pub score: Option<Finding>,
    /// Mean number of items.
    pub avg_span_count: Option<f64>,
    /// Cells by band of the composite, the highest band first.
    pub score_distribution: Map<String, Value>,
    /// Mean by category, over the cells in which it was assessed.
    pub avg_category_scores: BTreeMap<String, Category>,
    /// How often each reason was given.
    pub false_positive_reasons: Map<String, Value>,
    /// The most frequent pairs; ties by name.
    pub top_taxonomy_errors: Vec<Confusion>,
    /// Findings by section.
    pub errors_by_section: BTreeMap<String, BTreeMap<String, u64>>,
    /// Items by section.
    pub spans_by_section: BTreeMap<String, u64>,
    /// Findings by list: the texts that were named most often.
    pub common: BTreeMap<String, Vec<Often>>,
    /// Time of the cells; null where none took any.
    pub latency_ms: Option<Latency>,
    /// Whether confidence predicts errors.
    pub confidence: Option<Confidence>,
    /// The first cells, in plan order.
    pub evaluations: Vec<Evaluation>,
}

/// One category: the mean of each of its scores, null where it was never assessed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Category {
    /// By score.
    #[serde(flatten)]
    pub scores: BTreeMap<String, Option<f64>>,
    /// Cells in which any of them was assessed.
    pub n: u64,
}

/// A pair of what was said and what should have been said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Confusion {
    /// The two fields under their own names.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
    /// Whether both fields say the same, so that it is no confusion.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub equal: bool,
    /// How often.
    pub count: u64,
    /// Some of the texts.
    pub examples: Vec<String>,
}

/// A text and how often it was named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Often {
    /// The text as first named.
    pub text: String,
    /// How often, whatever its case.
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

/// What is known of one text (SP-05).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Evaluation {
    /// The sample.
    pub sample: String,
    /// The system, where the run has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The composite.
    pub score: Option<f64>,
    /// Length of the text, in what offsets count.
    pub prompt_length: u64,
    /// Where each section lies; null without a header.
    pub sections: BTreeMap<String, Option<Stretch>>,
    /// Items by section.
    pub spans_by_section: BTreeMap<String, u64>,
    /// Items.
    pub span_count: u64,
    /// Why only a part of the judge's reply counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degraded: Option<String>,
}

/// What accumulates.
#[derive(Default)]
pub(super) struct Tally {
    evaluated: u64,
    degraded: u64,
    errors: u64,
    scores: Vec<f64>,
    spans: Vec<f64>,
    latencies: Vec<f64>,
    /// Category → score → values.
    categories: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
    assessed: BTreeMap<String, u64>,
    reasons: BTreeMap<String, u64>,
    confusions: BTreeMap<(String, String), Confused>,
    by_section: BTreeMap<String, BTreeMap<String, u64>>,
    spans_by_section: BTreeMap<String, u64>,
    /// List → text in lower case.
    common: BTreeMap<String, BTreeMap<String, Often>>,
    stated: Vec<Stated>,
    unstated: u64,
    evaluations: Vec<Evaluation>,
}

#[derive(Default)]
struct Confused {
    count: u64,
    examples: Vec<String>,
}

/// One cell, read by the options.
struct Case<'a> {
    text: &'a str,
    items: &'a [Value],
    sections: Sections,
    found: Map<String, Value>,
}

impl Tally {
    /// Takes the next cell.
    pub fn add(&mut self, reading: &Reading, cell: &ScoredCell<'_>, system: Option<&str>) {
        let score = reading.score.and_then(|at| cell.scores.number(at));
        let own = cell.row.judgments.iter().filter(|it| usize::from(it.scorer) == reading.shape.scorer);
        let judged: Vec<_> = own.filter(|judgment| judgment.error.is_none()).cloned().collect();
        let (CellStatus::Ok, Some(output)) = (cell.row.cell.status, cell.output) else {
            self.errors += u64::from(cell.row.cell.status == CellStatus::Error);
            return;
        };
        self.evaluated += 1;
        self.errors += u64::from(judged.is_empty());
        self.scores.extend(score);
        self.latencies.extend((cell.row.cell.latency_ms > 0.0).then_some(cell.row.cell.latency_ms));
        let text = reading.text.first(output).and_then(Value::as_str).unwrap_or_default();
        let items = reading.items.first(output).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let case = Case { text, items, sections: reading.headers.cut(text), found: united_diagnostics(&judged) };
        let degraded = case.found.get("degraded").and_then(Value::as_str).map(str::to_owned);
        self.degraded += u64::from(degraded.is_some());
        let spans_by_section = self.place(reading, &case);
        if !judged.is_empty() {
            self.categories(reading, &case.found);
            self.lists(reading, &case);
            self.confidence(reading, &case);
        }
        if self.evaluations.len() < LISTED {
            self.evaluations.push(Evaluation {
                sample: cell.row.sample.id.clone(),
                system: system.map(str::to_owned),
                score,
                prompt_length: case.sections.length,
                sections: reading.headers.bounds(&case.sections),
                spans_by_section,
                span_count: items.len() as u64,
                degraded,
            });
        }
    }

    /// Counts the items by section.
    fn place(&mut self, reading: &Reading, case: &Case<'_>) -> BTreeMap<String, u64> {
        let mut counts: BTreeMap<String, u64> = reading.headers.names().map(|name| (name.to_owned(), 0)).collect();
        for item in case.items {
            *counts.entry(case.section_of(item).to_owned()).or_default() += 1;
        }
        self.spans.push(case.items.len() as f64);
        for (section, count) in &counts {
            *self.spans_by_section.entry(section.clone()).or_default() += count;
        }
        counts
    }

    fn categories(&mut self, reading: &Reading, found: &Map<String, Value>) {
        let table = reading.options.breakdown.as_ref().and_then(|name| found.get(name));
        for (member, names) in &reading.shape.categories {
            let mut is_assessed = false;
            for name in names {
                let value = table.and_then(|table| table.get(member)?.get(name)?.as_f64());
                is_assessed |= value.is_some();
                let values = self.categories.entry(member.clone()).or_default().entry(name.clone()).or_default();
                values.extend(value);
            }
            *self.assessed.entry(member.clone()).or_default() += u64::from(is_assessed);
        }
    }

    fn lists(&mut self, reading: &Reading, case: &Case<'_>) {
        for list in &reading.shape.lists {
            let common = self.common.entry(list.name.clone()).or_default();
            for text in case.findings(&list.name).iter().map(text_of).filter(|text| !text.is_empty()) {
                let often =
                    common.entry(text.to_lowercase()).or_insert_with(|| Often { text: excerpt(&text, 120), count: 0 });
                often.count += 1;
            }
        }
        if let Some((list, field, _)) = &reading.shape.reasons {
            for word in case.findings(list).iter().filter_map(|item| item.get(field)?.as_str()) {
                *self.reasons.entry(word.to_owned()).or_default() += 1;
            }
        }
        if let Some(pair) = &reading.options.confusions {
            for item in case.findings(&pair.of) {
                let side = |field: &str| item.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
                let confused = self.confusions.entry((side(&pair.from), side(&pair.to))).or_default();
                confused.count += 1;
                let text = excerpt(&text_of(item), 120);
                if confused.examples.len() < EXAMPLES && !confused.examples.contains(&text) {
                    confused.examples.push(text);
                }
            }
        }
        for (label, list) in &reading.options.by_section {
            for item in case.findings(list) {
                let section = case.section_of_finding(reading, list, item);
                *self.by_section.entry(section).or_default().entry(label.clone()).or_default() += 1;
            }
        }
    }

    fn confidence(&mut self, reading: &Reading, case: &Case<'_>) {
        let (Some(path), Some(options)) = (&reading.confidence, &reading.options.confidence) else { return };
        let named = |list: &String| case.positions(reading, list);
        let errors = options.errors.first().map(named).unwrap_or_default();
        let any: BTreeSet<usize> = options.errors.iter().flat_map(named).collect();
        for (at, item) in case.items.iter().enumerate() {
            match path.first(item).and_then(Value::as_f64).filter(|value| (0.0..=1.0).contains(value)) {
                Some(confidence) => {
                    let (is_error, has_any) = (errors.contains(&at), any.contains(&at));
                    self.stated.push(Stated { confidence, is_error, has_any });
                }
                None => self.unstated += 1,
            }
        }
    }

    /// The figures.
    pub fn figures(self, reading: &Reading) -> SpanFigures {
        let options = &reading.options;
        let confidence = options.confidence.as_ref().map(|it| it.figures(&self.stated, self.unstated));
        SpanFigures {
            evaluated: self.evaluated,
            degraded: self.degraded,
            error_count: self.errors,
            avg_score: mean(&self.scores),
            score: mean(&self.scores).and_then(|value| Finding::point(value, self.scores.len(), "mean")),
            avg_span_count: mean(&self.spans),
            score_distribution: distribution(&self.scores, &options.bands, reading.highest),
            avg_category_scores: categories(&self.categories, &self.assessed),
            false_positive_reasons: reasons(&self.reasons, reading),
            top_taxonomy_errors: top_confusions(self.confusions, reading),
            errors_by_section: by_section(&self.by_section, reading),
            spans_by_section: self.spans_by_section,
            common: self.common.into_iter().map(|(list, texts)| (list, most_often(texts))).collect(),
            latency_ms: latency(&self.latencies),
            confidence,
            evaluations: self.evaluations,
        }
    }
}

impl<'a> Case<'a> {
    fn findings(&self, list: &str) -> &[Value] {
        self.found.get(list).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// The positions that a list names, each once.
    fn positions(&self, reading: &Reading, list: &str) -> BTreeSet<usize> {
        let field = reading.shape.list(list).and_then(|list| list.index.as_deref());
        let position = |item: &Value| usize::try_from(item.get(field?)?.as_i64()?).ok();
        self.findings(list).iter().filter_map(position).filter(|at| *at < self.items.len()).collect()
    }

    fn section_of(&self, item: &Value) -> &str {
        self.sections.at(item.get("start").and_then(Value::as_u64).unwrap_or(0))
    }

    /// Through the item that a finding names; else where its text stands.
    fn section_of_finding(&self, reading: &Reading, list: &str, finding: &Value) -> String {
        let list = reading.shape.list(list);
        let position = list.and_then(|list| finding.get(list.index.as_ref()?)?.as_u64());
        if let Some(item) = position.and_then(|at| self.items.get(usize::try_from(at).ok()?)) {
            return self.section_of(item).to_owned();
        }
        let piece = list.and_then(|list| finding.get(list.text.as_ref()?)?.as_str()).unwrap_or_default();
        reading.headers.locate(&self.sections, self.text, piece).to_owned()
    }
}

/// Scores by band; a band is named by its lowest and highest value, `23-25`.
fn distribution(scores: &[f64], bands: &[f64], highest: Option<f64>) -> Map<String, Value> {
    let name = |at: usize, edge: f64| match bands.get(at + 1) {
        Some(next) => format!("{edge}-{}", next - 1.0),
        None => highest.map_or_else(|| format!("{edge}+"), |highest| format!("{edge}-{highest}")),
    };
    let inside = |at: usize, score: f64| bands.iter().rposition(|edge| *edge <= score) == Some(at);
    let count = |at: usize| scores.iter().filter(|score| inside(at, **score)).count();
    bands.iter().enumerate().rev().map(|(at, edge)| (name(at, *edge), Value::from(count(at)))).collect()
}

fn categories(
    values: &BTreeMap<String, BTreeMap<String, Vec<f64>>>,
    assessed: &BTreeMap<String, u64>,
) -> BTreeMap<String, Category> {
    let category = |(member, scores): (&String, &BTreeMap<String, Vec<f64>>)| {
        let scores = scores.iter().map(|(name, values)| (name.clone(), mean(values))).collect();
        (member.clone(), Category { scores, n: assessed.get(member).copied().unwrap_or(0) })
    };
    values.iter().map(category).collect()
}

/// Every word that the rubric has, in its order, then words that it does not have.
fn reasons(counts: &BTreeMap<String, u64>, reading: &Reading) -> Map<String, Value> {
    let declared = reading.shape.reasons.iter().flat_map(|(_, _, words)| words);
    let mut all: Map<String, Value> =
        declared.map(|word| (word.clone(), Value::from(counts.get(word).copied().unwrap_or(0)))).collect();
    for (word, count) in counts {
        all.entry(word.clone()).or_insert_with(|| Value::from(*count));
    }
    all
}

fn top_confusions(confusions: BTreeMap<(String, String), Confused>, reading: &Reading) -> Vec<Confusion> {
    let Some(options) = &reading.options.confusions else { return Vec::new() };
    let mut all: Vec<_> = confusions.into_iter().collect();
    all.sort_by(|(a, left), (b, right)| right.count.cmp(&left.count).then_with(|| a.cmp(b)));
    let confusion = |((from, to), confused): ((String, String), Confused)| Confusion {
        equal: from == to,
        fields: Map::from_iter([(options.from.clone(), from.into()), (options.to.clone(), to.into())]),
        count: confused.count,
        examples: confused.examples,
    };
    all.into_iter().take(options.top).map(confusion).collect()
}

/// Every section with every label, zeros too.
fn by_section(
    counts: &BTreeMap<String, BTreeMap<String, u64>>,
    reading: &Reading,
) -> BTreeMap<String, BTreeMap<String, u64>> {
    let count = |section: &str, label: &String| counts.get(section).and_then(|of| of.get(label)).copied().unwrap_or(0);
    let labels =
        |section: &str| reading.options.by_section.keys().map(|label| (label.clone(), count(section, label))).collect();
    reading.headers.names().map(|section| (section.to_owned(), labels(section))).collect()
}

/// The most frequent texts; ties by text.
fn most_often(texts: BTreeMap<String, Often>) -> Vec<Often> {
    let mut all: Vec<Often> = texts.into_values().collect();
    all.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.text.cmp(&b.text)));
    all.truncate(COMMON);
    all
}

fn latency(values: &[f64]) -> Option<Latency> {
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
        let often = |text: &str, count| (text.to_owned(), Often { text: text.to_owned(), count });
        let found = most_often(BTreeMap::from([often("b", 2), often("a", 2), often("c", 3)]));
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
