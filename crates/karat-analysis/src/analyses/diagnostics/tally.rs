//! Accumulates the diagnostics cell by cell.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use karat_stats::describe::mean;
use karat_types::{CellRow, CellStatus};
use serde_json::{Map, Value};

use super::CheckedOptions;
use super::confidence::{Stated, Unstated};
use super::figures::{self, CategoryTally, ConfusionTally, Evaluation, SpanFigures, TextCount};
use super::sections::Sections;
use crate::analyses::{OrderedMap, ScoredCell, excerpt};
use crate::infer::finding::Finding;
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
    unjudged_or_failed: u64,
    scores: Vec<f64>,
    /// Number of items of each output that has a list of them.
    item_counts: Vec<f64>,
    latencies: Vec<f64>,
    categories: OrderedMap<CategoryTally>,
    reason_counts: BTreeMap<String, u64>,
    confusions: BTreeMap<(String, String), ConfusionTally>,
    findings_by_section: OrderedMap<OrderedMap<u64>>,
    items_by_section: OrderedMap<u64>,
    assessed_items_by_section: OrderedMap<OrderedMap<u64>>,
    /// List → text in lower case.
    texts_by_list: OrderedMap<BTreeMap<String, TextCount>>,
    stated: Vec<Stated>,
    unstated: Unstated,
    evaluations: Vec<Evaluation>,
    /// Sections that a text has.
    sections: BTreeSet<String>,
}

impl DiagnosticsTally {
    /// Adds the next cell.
    pub fn add(&mut self, options: &CheckedOptions, cell: &ScoredCell<'_>, system: Option<&str>) {
        let (CellStatus::Ok, Some(output)) = (cell.row.cell.status, cell.output) else {
            self.unjudged_or_failed += u64::from(cell.row.cell.status == CellStatus::Error);
            return;
        };
        let case = CellDiagnostics::of(options, cell, output);
        let score = options.score.and_then(|at| cell.scores.number(at));
        self.evaluated += 1;
        self.unjudged_or_failed += u64::from(!case.is_judged);
        self.scores.extend(score);
        self.latencies.extend((cell.row.cell.latency_ms > 0.0).then_some(cell.row.cell.latency_ms));
        let evaluation = case.evaluation(&cell.row, system.map(str::to_owned), score);
        self.count(&evaluation, case.is_judged);
        if case.is_judged {
            self.count_lists(options, &case);
            self.count_confidence(options, &case);
        }
        if self.evaluations.len() < LISTED {
            self.evaluations.push(evaluation);
        }
    }

    /// Adds the numbers of an evaluation. Items without a judgment do not count in the base of a rate.
    fn count(&mut self, evaluation: &Evaluation, is_judged: bool) {
        self.degraded += u64::from(evaluation.degraded.is_some());
        for (section, range) in evaluation.sections.iter() {
            if range.is_some() && !self.sections.contains(section) {
                self.sections.insert(section.to_owned());
            }
        }
        self.item_counts.extend(evaluation.span_count.map(|count| count as f64));
        for (section, count) in evaluation.spans_by_section.iter() {
            *self.items_by_section.entry(section) += if is_judged { *count } else { 0 };
        }
        for (section, labels) in evaluation.errors_by_section.iter() {
            let items = evaluation.spans_by_section.get(section).copied().unwrap_or(0);
            let finding_counts = self.findings_by_section.entry(section);
            let assessed_items = self.assessed_items_by_section.entry(section);
            for (label, count) in labels.iter() {
                *finding_counts.entry(label) += count;
                *assessed_items.entry(label) += items;
            }
        }
        for (category, scores) in evaluation.category_scores.iter() {
            let tally = self.categories.entry(category);
            tally.n += u64::from(scores.iter().any(|(_, score)| score.is_some()));
            scores.iter().for_each(|(name, score)| tally.values.entry(name).extend(*score));
        }
    }

    fn count_lists(&mut self, options: &CheckedOptions, case: &CellDiagnostics<'_>) {
        for list in options.rubric.lists.iter().filter(|list| case.assesses(&list.name)) {
            let texts = self.texts_by_list.entry(&list.name);
            for text in case.findings(&list.name).iter().map(item_text).filter(|text| !text.is_empty()) {
                let first = || TextCount { text: excerpt(&text, EXCERPT), count: 0 };
                texts.entry(text.to_lowercase()).or_insert_with(first).count += 1;
            }
        }
        if let Some(reasons) = &options.rubric.reasons
            && case.assesses(&reasons.list)
        {
            let words = case.findings(&reasons.list).iter().filter_map(|finding| finding.get(&reasons.field)?.as_str());
            for word in words {
                *self.reason_counts.entry(word.to_owned()).or_default() += 1;
            }
        }
        if let Some(pair) = &options.requested.confusions
            && case.assesses(&pair.of)
        {
            for finding in case.findings(&pair.of) {
                let label = |field: &str| finding.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
                let confusion = self.confusions.entry((label(&pair.from), label(&pair.to))).or_default();
                confusion.count += 1;
                let text = excerpt(&item_text(finding), EXCERPT);
                if confusion.examples.len() < EXAMPLES && !confusion.examples.contains(&text) {
                    confusion.examples.push(text);
                }
            }
        }
    }

    fn count_confidence(&mut self, options: &CheckedOptions, case: &CellDiagnostics<'_>) {
        let (Some(path), Some(confidence)) = (&options.confidence, &options.requested.confidence) else { return };
        // Only the first list says that an item is wrong. The others count in `any_error` of a bucket alone.
        let error_list = confidence.errors.first();
        if error_list.is_some_and(|list| !case.assesses(list)) {
            return;
        }
        let positions_in = |list: &String| case.positions(list);
        self.unstated.unlocated += error_list.map_or(0, |list| case.count_unlocated(list));
        let errors = error_list.map(positions_in).unwrap_or_default();
        let any: BTreeSet<usize> = confidence.errors.iter().flat_map(positions_in).collect();
        for (at, item) in case.items().iter().enumerate() {
            let stated = path.first(item).filter(|stated| !stated.is_null());
            match stated.map(|stated| stated.as_f64().filter(|value| (0.0..=1.0).contains(value))) {
                Some(Some(confidence)) => {
                    let (is_error, has_any) = (errors.contains(&at), any.contains(&at));
                    self.stated.push(Stated { confidence, is_error, has_any });
                }
                Some(None) => self.unstated.out_of_range += 1,
                None => self.unstated.missing += 1,
            }
        }
    }

    /// The sections that no text has.
    pub fn absent_sections(&self, options: &CheckedOptions) -> Vec<String> {
        let names = options.headers.names().filter(|name| self.evaluated > 0 && !self.sections.contains(*name));
        names.map(str::to_owned).collect()
    }

    /// The figures. `score` is the composite with its interval.
    pub fn figures(self, options: &CheckedOptions, score: Option<Finding>) -> SpanFigures {
        let requested = &options.requested;
        let confidence =
            requested.confidence.as_ref().map(|confidence| confidence.figures(&self.stated, self.unstated));
        let common =
            self.texts_by_list.iter().map(|(list, texts)| (list.to_owned(), figures::most_frequent_texts(texts)));
        let is_assessed = |list: &str| self.texts_by_list.get(list).is_some();
        let reasons = options.rubric.reasons.as_ref().filter(|reasons| is_assessed(&reasons.list));
        SpanFigures {
            confusions_assessed: requested.confusions.as_ref().is_some_and(|pair| is_assessed(&pair.of)),
            evaluated: self.evaluated,
            degraded: self.degraded,
            error_count: self.unjudged_or_failed,
            avg_score: mean(&self.scores),
            score,
            avg_span_count: mean(&self.item_counts),
            score_distribution: figures::distribution(&self.scores, &requested.bands, options.highest),
            avg_category_scores: figures::categories(&self.categories),
            false_positive_reasons: reasons
                .map(|reasons| figures::reason_counts(&self.reason_counts, &reasons.words))
                .unwrap_or_default(),
            top_taxonomy_errors: figures::top_confusions(self.confusions, options),
            errors_by_section: self.findings_by_section,
            spans_by_section: self.items_by_section,
            assessed_by_section: self.assessed_items_by_section,
            common: common.collect(),
            latency_ms: figures::latency(&self.latencies),
            confidence,
            evaluations: self.evaluations,
        }
    }
}

/// The labelled text: that of the output, or of the row if the output has items only.
fn labelled_text<'a>(options: &CheckedOptions, cell: &ScoredCell<'_>, output: &'a Value) -> Cow<'a, str> {
    if let Some(text) = options.text.first(output).and_then(Value::as_str) {
        return text.into();
    }
    let metadata = Value::Object(cell.row.sample.metadata.clone());
    options.text.first(&metadata).and_then(Value::as_str).unwrap_or_default().to_owned().into()
}

/// The lists not assessed according to the row.
fn unassessed_lists(options: &CheckedOptions, cell: &ScoredCell<'_>) -> Vec<String> {
    let Some(path) = &options.unassessed else { return Vec::new() };
    let metadata = Value::Object(cell.row.sample.metadata.clone());
    let lists = path.first(&metadata).and_then(Value::as_array);
    lists.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// One cell, interpreted by the options.
struct CellDiagnostics<'a> {
    options: &'a CheckedOptions,
    text: Cow<'a, str>,
    /// `None` if the output has no list.
    items: Option<&'a [Value]>,
    sections: Sections,
    /// True if any judgment succeeded.
    is_judged: bool,
    /// Lists that were not requested from the judge.
    unassessed: Vec<String>,
    /// The findings of all verdicts, by list.
    diagnostics: Map<String, Value>,
}

impl<'a> CellDiagnostics<'a> {
    fn of(options: &'a CheckedOptions, cell: &ScoredCell<'_>, output: &'a Value) -> Self {
        let of_scorer = cell.row.judgments.iter().filter(|it| usize::from(it.scorer) == options.rubric.scorer);
        let judged: Vec<_> = of_scorer.filter(|judgment| judgment.error.is_none()).cloned().collect();
        let text = labelled_text(options, cell, output);
        let items = options.items.first(output).and_then(Value::as_array).map(Vec::as_slice);
        let (sections, diagnostics) = (options.headers.cut(&text), merge_diagnostics(&judged));
        let unassessed = unassessed_lists(options, cell);
        Self { options, text, items, sections, is_judged: !judged.is_empty(), unassessed, diagnostics }
    }

    /// Returns true if a verdict assesses a list, even with no finding.
    fn assesses(&self, list: &str) -> bool {
        self.is_judged && !self.unassessed.iter().any(|lacking| lacking == list)
    }

    fn items(&self) -> &'a [Value] {
        self.items.unwrap_or_default()
    }

    fn evaluation(&self, row: &CellRow<'_>, system: Option<String>, score: Option<f64>) -> Evaluation {
        let lists = self.options.rubric.lists.iter().filter(|list| self.assesses(&list.name));
        Evaluation {
            sample: row.sample.id.clone(),
            system,
            trial: row.trial,
            score,
            prompt_length: self.sections.length,
            sections: self.options.headers.bounds(&self.sections),
            spans_by_section: self.items_by_section(),
            span_count: self.items.map(|items| items.len() as u64),
            span_sections: self.items().iter().map(|item| self.section_of(item).to_owned()).collect(),
            errors: lists.clone().map(|it| (it.name.clone(), self.locate(&it.name))).collect(),
            findings: lists.map(|it| (it.name.clone(), self.findings(&it.name).len() as u64)).collect(),
            category_scores: self.category_scores(),
            errors_by_section: self.findings_by_section(),
            found_by_section: self.found_by_section(),
            degraded: self.diagnostics.get("degraded").and_then(Value::as_str).map(str::to_owned),
        }
    }

    /// Number of items of every section, including zeros.
    fn items_by_section(&self) -> OrderedMap<u64> {
        let mut counts: OrderedMap<u64> = self.options.headers.names().map(|name| (name.to_owned(), 0)).collect();
        self.items().iter().for_each(|item| *counts.entry(self.section_of(item)) += 1);
        counts
    }

    /// Number of findings of every section and assessed label, including zeros.
    fn findings_by_section(&self) -> OrderedMap<OrderedMap<u64>> {
        let labels = self.options.requested.by_section.iter().filter(|(_, list)| self.assesses(list));
        let none = || labels.clone().map(|(label, _)| (label.clone(), 0)).collect();
        let mut counts: OrderedMap<OrderedMap<u64>> =
            self.options.headers.names().map(|section| (section.to_owned(), none())).collect();
        for (label, list) in labels.clone() {
            for finding in self.findings(list) {
                *counts.entry(&self.section_of_finding(list, finding)).entry(label) += 1;
            }
        }
        counts
    }

    /// Correct and missing items of every section. A list counted by section whose findings name no item holds what is
    /// missing; the others hold wrong items. Empty where a list was not assessed, or none holds what is missing.
    fn found_by_section(&self) -> OrderedMap<(u64, u64)> {
        let lists: Vec<&String> = self.options.requested.by_section.values().collect();
        let names_items = |list: &str| self.options.rubric.list(list).is_some_and(|list| list.index.is_some());
        let (of_items, of_missing): (Vec<&String>, Vec<&String>) = lists.iter().partition(|list| names_items(list));
        if of_missing.is_empty() || !lists.iter().all(|list| self.assesses(list)) {
            return OrderedMap::default();
        }
        let wrong: BTreeSet<usize> = of_items.iter().flat_map(|list| self.positions(list)).collect();
        let mut counts: OrderedMap<(u64, u64)> =
            self.options.headers.names().map(|section| (section.to_owned(), (0, 0))).collect();
        for (_, item) in self.items().iter().enumerate().filter(|(at, _)| !wrong.contains(at)) {
            counts.entry(self.section_of(item)).0 += 1;
        }
        for list in of_missing {
            for finding in self.findings(list) {
                counts.entry(&self.section_of_finding(list, finding)).1 += 1;
            }
        }
        counts
    }

    /// Every category with every score; empty for a cell without a verdict.
    fn category_scores(&self) -> OrderedMap<OrderedMap<Option<f64>>> {
        let table = self.options.requested.breakdown.as_ref().and_then(|name| self.diagnostics.get(name));
        let value = |category: &str, name: &str| table?.get(category)?.get(name)?.as_f64();
        let scores_of = |(category, names): &(String, Vec<String>)| {
            let scores = names.iter().map(|name| (name.clone(), value(category, name))).collect();
            (category.clone(), scores)
        };
        self.options.rubric.categories.iter().map(scores_of).collect()
    }

    fn findings(&self, list: &str) -> &[Value] {
        self.diagnostics.get(list).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// The findings of a list, each with its section.
    fn locate(&self, list: &str) -> Vec<Value> {
        let with_section = |finding: &Value| match finding {
            Value::Object(fields) => {
                let mut fields = fields.clone();
                fields.insert("section".to_owned(), self.section_of_finding(list, finding).into());
                Value::Object(fields)
            }
            other => other.clone(),
        };
        self.findings(list).iter().map(with_section).collect()
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
        let field = self.options.rubric.list(list).and_then(|list| list.index.as_deref());
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
        self.options.headers.locate(&self.sections, &self.text, piece)
    }

    /// The section of a finding: by the item that it names, else by its text.
    fn section_of_finding(&self, list: &str, finding: &Value) -> String {
        let list = self.options.rubric.list(list);
        let position = list.and_then(|list| finding.get(list.index.as_ref()?)?.as_u64());
        let item = position.and_then(|at| self.items().get(usize::try_from(at).ok()?));
        let text = || list.and_then(|list| finding.get(list.text.as_ref()?)?.as_str()).unwrap_or_default();
        item.map_or_else(|| self.section_of_text(text()), |item| self.section_of(item)).to_owned()
    }
}
