//! Accumulates the diagnostics cell by cell.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use karat_stats::describe::mean;
use karat_types::{CellRow, CellStatus};
use serde_json::{Map, Value};

use super::CheckedOptions;
use super::confidence::{Stated, Unstated};
use super::figures::{self, Assessed, Confused, Evaluation, SpanFigures, TextCount};
use super::sections::Sections;
use crate::analyses::{OrderedMap, ScoredCell, excerpt};
use crate::figures::finding::Finding;
use crate::score::consensus::{item_text, merge_diagnostics};

/// Number of evaluations listed; all are counted.
const LISTED: usize = 10_000;
/// Number of examples of a confusion.
const EXAMPLES: usize = 3;
/// Length of a listed text.
const EXCERPT: usize = 120;

/// The accumulated counts.
#[derive(Default)]
pub(super) struct DiagnosticsTally {
    evaluated: u64,
    degraded: u64,
    errors: u64,
    scores: Vec<f64>,
    spans: Vec<f64>,
    latencies: Vec<f64>,
    categories: OrderedMap<Assessed>,
    reasons: BTreeMap<String, u64>,
    confusions: BTreeMap<(String, String), Confused>,
    by_section: OrderedMap<OrderedMap<u64>>,
    spans_by_section: OrderedMap<u64>,
    assessed_by_section: OrderedMap<OrderedMap<u64>>,
    /// List → text in lower case.
    common: OrderedMap<BTreeMap<String, TextCount>>,
    stated: Vec<Stated>,
    unstated: Unstated,
    evaluations: Vec<Evaluation>,
}

impl DiagnosticsTally {
    /// Adds the next cell.
    pub fn add(&mut self, reading: &CheckedOptions, cell: &ScoredCell<'_>, system: Option<&str>) {
        let (CellStatus::Ok, Some(output)) = (cell.row.cell.status, cell.output) else {
            self.errors += u64::from(cell.row.cell.status == CellStatus::Error);
            return;
        };
        let case = CellDiagnostics::of(reading, cell, output);
        let score = reading.score.and_then(|at| cell.scores.number(at));
        self.evaluated += 1;
        self.errors += u64::from(!case.is_judged);
        self.scores.extend(score);
        self.latencies.extend((cell.row.cell.latency_ms > 0.0).then_some(cell.row.cell.latency_ms));
        let evaluation = case.evaluation(&cell.row, system.map(str::to_owned), score);
        self.count(&evaluation, case.is_judged);
        if case.is_judged {
            self.count_lists(reading, &case);
            self.count_confidence(reading, &case);
        }
        if self.evaluations.len() < LISTED {
            self.evaluations.push(evaluation);
        }
    }

    /// Adds the numbers of an evaluation. Items without a judgment are no base of a rate.
    fn count(&mut self, evaluation: &Evaluation, is_judged: bool) {
        self.degraded += u64::from(evaluation.degraded.is_some());
        self.spans.extend(evaluation.span_count.map(|count| count as f64));
        for (section, count) in evaluation.spans_by_section.iter() {
            *self.spans_by_section.entry(section) += if is_judged { *count } else { 0 };
        }
        for (section, labels) in evaluation.errors_by_section.iter() {
            let items = evaluation.spans_by_section.get(section).copied().unwrap_or(0);
            let (found, assessed) = (self.by_section.entry(section), self.assessed_by_section.entry(section));
            for (label, count) in labels.iter() {
                *found.entry(label) += count;
                *assessed.entry(label) += items;
            }
        }
        for (category, scores) in evaluation.category_scores.iter() {
            let assessed = self.categories.entry(category);
            assessed.n += u64::from(scores.iter().any(|(_, score)| score.is_some()));
            scores.iter().for_each(|(name, score)| assessed.values.entry(name).extend(*score));
        }
    }

    fn count_lists(&mut self, reading: &CheckedOptions, case: &CellDiagnostics<'_>) {
        for list in reading.shape.lists.iter().filter(|list| case.assesses(&list.name)) {
            let common = self.common.entry(&list.name);
            for text in case.findings(&list.name).iter().map(item_text).filter(|text| !text.is_empty()) {
                let first = || TextCount { text: excerpt(&text, EXCERPT), count: 0 };
                common.entry(text.to_lowercase()).or_insert_with(first).count += 1;
            }
        }
        if let Some((list, field, _)) = &reading.shape.reasons
            && case.assesses(list)
        {
            for word in case.findings(list).iter().filter_map(|item| item.get(field)?.as_str()) {
                *self.reasons.entry(word.to_owned()).or_default() += 1;
            }
        }
        if let Some(pair) = &reading.options.confusions
            && case.assesses(&pair.of)
        {
            for item in case.findings(&pair.of) {
                let side = |field: &str| item.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
                let confused = self.confusions.entry((side(&pair.from), side(&pair.to))).or_default();
                confused.count += 1;
                let text = excerpt(&item_text(item), EXCERPT);
                if confused.examples.len() < EXAMPLES && !confused.examples.contains(&text) {
                    confused.examples.push(text);
                }
            }
        }
    }

    fn count_confidence(&mut self, reading: &CheckedOptions, case: &CellDiagnostics<'_>) {
        let (Some(path), Some(options)) = (&reading.confidence, &reading.options.confidence) else { return };
        let first = options.errors.first();
        if first.is_some_and(|list| !case.assesses(list)) {
            return;
        }
        let named = |list: &String| case.positions(list);
        self.unstated.unlocated += first.map_or(0, |list| case.count_unlocated(list));
        let errors = first.map(named).unwrap_or_default();
        let any: BTreeSet<usize> = options.errors.iter().flat_map(named).collect();
        for (at, item) in case.items().iter().enumerate() {
            let said = path.first(item).filter(|said| !said.is_null());
            match said.map(|said| said.as_f64().filter(|value| (0.0..=1.0).contains(value))) {
                Some(Some(confidence)) => {
                    let (is_error, has_any) = (errors.contains(&at), any.contains(&at));
                    self.stated.push(Stated { confidence, is_error, has_any });
                }
                Some(None) => self.unstated.out_of_range += 1,
                None => self.unstated.missing += 1,
            }
        }
    }

    /// The figures. `score` is the composite with its interval.
    pub fn figures(self, reading: &CheckedOptions, score: Option<Finding>) -> SpanFigures {
        let options = &reading.options;
        let confidence = options.confidence.as_ref().map(|it| it.figures(&self.stated, self.unstated));
        let common = self.common.iter().map(|(list, texts)| (list.to_owned(), figures::most_frequent_texts(texts)));
        let is_assessed = |list: &str| self.common.get(list).is_some();
        let reasons = reading.shape.reasons.as_ref().filter(|(list, ..)| is_assessed(list));
        SpanFigures {
            confusions_assessed: options.confusions.as_ref().is_some_and(|pair| is_assessed(&pair.of)),
            evaluated: self.evaluated,
            degraded: self.degraded,
            error_count: self.errors,
            avg_score: mean(&self.scores),
            score,
            avg_span_count: mean(&self.spans),
            score_distribution: figures::distribution(&self.scores, &options.bands, reading.highest),
            avg_category_scores: figures::categories(&self.categories),
            false_positive_reasons: reasons
                .map(|(.., words)| figures::reason_counts(&self.reasons, words))
                .unwrap_or_default(),
            top_taxonomy_errors: figures::top_confusions(self.confusions, reading),
            errors_by_section: self.by_section,
            spans_by_section: self.spans_by_section,
            assessed_by_section: self.assessed_by_section,
            common: common.collect(),
            latency_ms: figures::latency(&self.latencies),
            confidence,
            evaluations: self.evaluations,
        }
    }
}

/// The labelled text: that of the output, or of the row if the output has items only.
fn labelled_text<'a>(reading: &CheckedOptions, cell: &ScoredCell<'_>, output: &'a Value) -> Cow<'a, str> {
    if let Some(text) = reading.text.first(output).and_then(Value::as_str) {
        return text.into();
    }
    let metadata = Value::Object(cell.row.sample.metadata.clone());
    reading.text.first(&metadata).and_then(Value::as_str).unwrap_or_default().to_owned().into()
}

/// The lists not assessed according to the row.
fn unassessed_lists(reading: &CheckedOptions, cell: &ScoredCell<'_>) -> Vec<String> {
    let Some(path) = &reading.unassessed else { return Vec::new() };
    let metadata = Value::Object(cell.row.sample.metadata.clone());
    let lists = path.first(&metadata).and_then(Value::as_array);
    lists.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// One cell, interpreted by the options.
struct CellDiagnostics<'a> {
    reading: &'a CheckedOptions,
    text: Cow<'a, str>,
    /// `None` if the output has no list.
    items: Option<&'a [Value]>,
    sections: Sections,
    /// True if any judgment succeeded.
    is_judged: bool,
    /// Lists that were not requested from the judge.
    unassessed: Vec<String>,
    found: Map<String, Value>,
}

impl<'a> CellDiagnostics<'a> {
    fn of(reading: &'a CheckedOptions, cell: &ScoredCell<'_>, output: &'a Value) -> Self {
        let own = cell.row.judgments.iter().filter(|it| usize::from(it.scorer) == reading.shape.scorer);
        let judged: Vec<_> = own.filter(|judgment| judgment.error.is_none()).cloned().collect();
        let text = labelled_text(reading, cell, output);
        let items = reading.items.first(output).and_then(Value::as_array).map(Vec::as_slice);
        let (sections, found) = (reading.headers.cut(&text), merge_diagnostics(&judged));
        let unassessed = unassessed_lists(reading, cell);
        Self { reading, text, items, sections, is_judged: !judged.is_empty(), unassessed, found }
    }

    /// Returns true if a verdict assesses a list, even with no finding.
    fn assesses(&self, list: &str) -> bool {
        self.is_judged && !self.unassessed.iter().any(|lacking| lacking == list)
    }

    fn items(&self) -> &'a [Value] {
        self.items.unwrap_or_default()
    }

    fn evaluation(&self, row: &CellRow<'_>, system: Option<String>, score: Option<f64>) -> Evaluation {
        let lists = self.reading.shape.lists.iter().filter(|list| self.assesses(&list.name));
        Evaluation {
            sample: row.sample.id.clone(),
            system,
            trial: row.trial,
            score,
            prompt_length: self.sections.length,
            sections: self.reading.headers.bounds(&self.sections),
            spans_by_section: self.items_by_section(),
            span_count: self.items.map(|items| items.len() as u64),
            findings: lists.map(|it| (it.name.clone(), self.findings(&it.name).len() as u64)).collect(),
            category_scores: self.category_scores(),
            errors_by_section: self.findings_by_section(),
            degraded: self.found.get("degraded").and_then(Value::as_str).map(str::to_owned),
        }
    }

    /// Number of items of every section, including zeros.
    fn items_by_section(&self) -> OrderedMap<u64> {
        let mut counts: OrderedMap<u64> = self.reading.headers.names().map(|name| (name.to_owned(), 0)).collect();
        self.items().iter().for_each(|item| *counts.entry(self.section_of(item)) += 1);
        counts
    }

    /// Number of findings of every section and assessed label, including zeros.
    fn findings_by_section(&self) -> OrderedMap<OrderedMap<u64>> {
        let labels = self.reading.options.by_section.iter().filter(|(_, list)| self.assesses(list));
        let none = || labels.clone().map(|(label, _)| (label.clone(), 0)).collect();
        let mut counts: OrderedMap<OrderedMap<u64>> =
            self.reading.headers.names().map(|section| (section.to_owned(), none())).collect();
        for (label, list) in labels.clone() {
            for finding in self.findings(list) {
                *counts.entry(&self.section_of_finding(list, finding)).entry(label) += 1;
            }
        }
        counts
    }

    /// Every category with every score; empty for a cell without a verdict.
    fn category_scores(&self) -> OrderedMap<OrderedMap<Option<f64>>> {
        let table = self.reading.options.breakdown.as_ref().and_then(|name| self.found.get(name));
        let value = |category: &str, name: &str| table?.get(category)?.get(name)?.as_f64();
        let of = |(category, names): &(String, Vec<String>)| {
            let scores = names.iter().map(|name| (name.clone(), value(category, name))).collect();
            (category.clone(), scores)
        };
        self.reading.shape.categories.iter().map(of).collect()
    }

    fn findings(&self, list: &str) -> &[Value] {
        self.found.get(list).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// The distinct positions named by a list.
    fn positions(&self, list: &str) -> BTreeSet<usize> {
        self.located_findings(list).collect()
    }

    /// Number of findings of a list without an item.
    fn count_unlocated(&self, list: &str) -> u64 {
        (self.findings(list).len() - self.located_findings(list).count()) as u64
    }

    /// The position of each finding that names an item.
    fn located_findings<'s>(&'s self, list: &str) -> impl Iterator<Item = usize> + 's {
        let field = self.reading.shape.list(list).and_then(|list| list.index.as_deref());
        let position = move |item: &Value| usize::try_from(item.get(field?)?.as_i64()?).ok();
        self.findings(list).iter().filter_map(position).filter(|at| *at < self.items().len())
    }

    /// The section of an item: by its start, else by its text.
    fn section_of(&self, item: &Value) -> &str {
        match item.get("start").and_then(Value::as_f64) {
            Some(start) => self.sections.at(start.max(0.0) as u64),
            None => self.section_of_text(item.get("text").and_then(Value::as_str).unwrap_or_default()),
        }
    }

    fn section_of_text(&self, piece: &str) -> &str {
        self.reading.headers.locate(&self.sections, &self.text, piece)
    }

    /// The section of a finding: by the item that it names, else by its text.
    fn section_of_finding(&self, list: &str, finding: &Value) -> String {
        let list = self.reading.shape.list(list);
        let position = list.and_then(|list| finding.get(list.index.as_ref()?)?.as_u64());
        let item = position.and_then(|at| self.items().get(usize::try_from(at).ok()?));
        let text = || list.and_then(|list| finding.get(list.text.as_ref()?)?.as_str()).unwrap_or_default();
        item.map_or_else(|| self.section_of_text(text()), |item| self.section_of(item)).to_owned()
    }
}
