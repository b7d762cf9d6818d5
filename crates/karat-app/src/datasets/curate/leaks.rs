//! `dataset check --leaks`: test rows that prompts, examples or another corpus hold.

use std::fmt::Write as _;

use karat_dataset::leaks::{HeldSide, LeakField, LeakFinder, LeakHit, LeakKind, LeakText, Leaks};
use karat_dataset::{row_text, value_text};
use karat_report::count_noun;
use karat_suite::Plan;
use karat_types::Sample;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::dedup::cut;
use super::sample::bad_option;
use super::suite_texts::SuiteTexts;
use crate::AppError;
use crate::datasets::Datasets;
use crate::datasets::source::{DatasetRequest, DatasetRows};

/// Hits that a summary shows.
const SHOWN: usize = 20;

/// Leaks of a set, with the names of their rows and texts.
#[derive(Debug, Clone, Serialize)]
pub struct LeakReport {
    /// The test rows as they were named.
    pub source: String,
    /// The source of the texts that they were compared with.
    pub against: String,
    /// Test rows.
    pub rows: u64,
    /// Texts that they were compared with: rows, or parts of the suite.
    pub others: u64,
    /// Test rows that leaked.
    pub leaked_rows: u64,
    /// The hits.
    pub hits: Vec<NamedHit>,
    /// Phrases that were ignored because more than 5 % of the test rows hold them.
    pub boilerplate: Vec<karat_dataset::leaks::Boilerplate>,
    /// Matches that were not looked at, because there were too many.
    pub left_out: u64,
}

/// A hit with names.
#[derive(Debug, Clone, Serialize)]
pub struct NamedHit {
    /// Id of the test row.
    pub row: String,
    /// The text that holds it: a part of the suite, or the id of a row.
    pub other: String,
    /// The hit.
    #[serde(flatten)]
    pub hit: LeakHit,
}

/// Looks the test rows of a suite up in its own prompts and examples.
///
/// # Errors
/// A row that cannot be read.
pub fn suite_leaks(source: &str, plan: &Plan) -> Result<LeakReport, AppError> {
    leaks_of(&DatasetRows::of_plan(source, plan), plan)
}

/// The leaks of some rows of a suite.
pub(super) fn leaks_of(rows: &DatasetRows, plan: &Plan) -> Result<LeakReport, AppError> {
    let suite = SuiteTexts::of(&plan.header);
    let mut finder = LeakFinder::new(HeldSide::Others, suite.texts.clone());
    rows.for_each(&mut |row| {
        test_texts(&row.sample).into_iter().for_each(|text| finder.add(text));
        Ok(())
    })?;
    let mut leaks = finder.finish();
    let ids = ids_of(rows, leaks.hits.iter().map(|hit| hit.row))?;
    let sample_of = |hit: &LeakHit| suite.samples.get(hit.other as usize).and_then(Option::as_deref);
    // What an example says after its own row says nothing of another row that has the same sentence.
    let mut shared = FxHashSet::default();
    let examples: FxHashSet<&str> = leaks.hits.iter().filter_map(sample_of).collect();
    if !examples.is_empty() {
        rows.for_each(&mut |row| {
            let id: &str = &row.sample.id;
            if let Some(text) = row_text(&row.sample).filter(|_| examples.contains(id)) {
                let words = folded_words(&text);
                let passages = leaks.hits.iter().enumerate().filter(|(_, hit)| sample_of(hit) == Some(id));
                shared.extend(passages.filter(|(_, hit)| has_passage(&words, &hit.passage)).map(|(at, _)| at));
            }
            Ok(())
        })?;
    }
    let mut at = 0;
    leaks.hits.retain(|hit| {
        let is_shared = shared.contains(&at);
        at += 1;
        !is_shared && sample_of(hit).is_none_or(|sample| ids.get(&hit.row).map(String::as_str) != Some(sample))
    });
    let name = |other: u32| suite.names.get(other as usize).cloned().unwrap_or_default();
    Ok(LeakReport::of(rows, "its own prompts, examples and rubrics", leaks, &ids, name))
}

impl Datasets<'_> {
    /// Looks test rows up in another corpus, such as a training set.
    ///
    /// # Errors
    /// Rows of either that cannot be read; the same source twice.
    pub fn leaks_against(&self, tests: &DatasetRows, against: &DatasetRequest) -> Result<LeakReport, AppError> {
        if tests.source == against.source {
            let hint = "name the corpus that the test must not be in";
            return Err(bad_option("--against", &against.source, "these are the test rows themselves", hint));
        }
        let corpus = self.rows(against)?;
        let mut held = Vec::new();
        let count = tests.for_each(&mut |row| {
            held.extend(test_texts(&row.sample));
            Ok(())
        })?;
        if count == 0 {
            return Err(tests.empty());
        }
        let mut finder = LeakFinder::new(HeldSide::Tests, held);
        let count = corpus.for_each(&mut |row| {
            test_texts(&row.sample).into_iter().for_each(|text| finder.add(text));
            Ok(())
        })?;
        if count == 0 {
            return Err(corpus.empty());
        }
        let leaks = finder.finish();
        let ids = ids_of(tests, leaks.hits.iter().map(|hit| hit.row))?;
        let others = ids_of(&corpus, leaks.hits.iter().map(|hit| hit.other))?;
        let name = |other: u32| others.get(&other).cloned().unwrap_or_default();
        Ok(LeakReport::of(tests, &corpus.source, leaks, &ids, name))
    }
}

fn folded_words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// Returns whether a text has the words of a passage in their order; a passage that was cut is compared as far as it goes.
fn has_passage(words: &[String], passage: &str) -> bool {
    // The last word of a passage that was cut may be a part of one.
    let whole = passage.strip_suffix('…').map_or(passage, |cut| cut.rsplit_once(' ').map_or(cut, |(whole, _)| whole));
    let passage = folded_words(whole);
    !passage.is_empty() && words.windows(passage.len()).any(|part| part == passage.as_slice())
}

/// The texts of a row that may leak.
fn test_texts(sample: &Sample) -> Vec<LeakText> {
    let number = sample.row as u32;
    let input = row_text(sample).map(|text| LeakText::new(number, LeakField::Input, text));
    let reference = sample.reference.as_ref().map(value_text).filter(|text| !text.trim().is_empty());
    let reference = reference.map(|text| LeakText::new(number, LeakField::Reference, text));
    input.into_iter().chain(reference).collect()
}

/// The ids of some rows.
fn ids_of(rows: &DatasetRows, wanted: impl Iterator<Item = u32>) -> Result<FxHashMap<u32, String>, AppError> {
    let mut ids: FxHashMap<u32, String> = wanted.map(|row| (row, String::new())).collect();
    if ids.is_empty() {
        return Ok(ids);
    }
    rows.for_each(&mut |row| {
        if let Some(id) = ids.get_mut(&(row.sample.row as u32)) {
            *id = row.sample.id.to_string();
        }
        Ok(())
    })?;
    Ok(ids)
}

impl LeakReport {
    fn of(
        rows: &DatasetRows,
        against: &str,
        leaks: Leaks,
        ids: &FxHashMap<u32, String>,
        name: impl Fn(u32) -> String,
    ) -> Self {
        let leaked_rows = leaks.leaked_rows() as u64;
        let named = |hit: LeakHit| NamedHit {
            row: ids.get(&hit.row).cloned().unwrap_or_default(),
            other: name(hit.other),
            hit,
        };
        Self {
            source: rows.source.clone(),
            against: against.to_owned(),
            rows: u64::from(leaks.rows),
            others: u64::from(leaks.others),
            leaked_rows,
            hits: leaks.hits.into_iter().map(named).collect(),
            boilerplate: leaks.boilerplate,
            left_out: leaks.left_out,
        }
    }

    /// Returns whether nothing leaked.
    pub fn is_clean(&self) -> bool {
        self.hits.is_empty()
    }

    /// The number of hits of a kind.
    pub fn count(&self, kind: LeakKind) -> usize {
        self.hits.iter().filter(|hit| hit.hit.kind == kind).count()
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        // Writing to a String cannot fail.
        let mut text = String::new();
        let _ = writeln!(
            text,
            "{}: {} of {} found in {}",
            self.source,
            self.leaked_rows,
            count_noun(self.rows, "row"),
            self.against
        );
        let kinds = [
            (LeakKind::Exact, "exact"),
            (LeakKind::Answer, "answer stated in a prompt"),
            (LeakKind::Near, "near"),
            (LeakKind::Passage, "shared passage"),
        ];
        let counted: Vec<String> = kinds
            .iter()
            .filter(|(kind, _)| self.count(*kind) > 0)
            .map(|(kind, name)| format!("{} {name}", self.count(*kind)))
            .collect();
        if !counted.is_empty() {
            let _ = writeln!(text, "{}", counted.join(", "));
        }
        for NamedHit { row, other, hit } in self.hits.iter().take(SHOWN) {
            let kind = kinds.iter().find(|(kind, _)| *kind == hit.kind).map_or("", |(_, name)| name);
            let field = if hit.field == LeakField::Reference { "reference" } else { "input" };
            let _ = writeln!(
                text,
                "{}  {field} in {}: {kind}, {}",
                cut(row),
                cut(other),
                count_noun(u64::from(hit.words), "word")
            );
            let _ = writeln!(text, "    row    {}", line(&hit.passage));
            let _ = writeln!(text, "    there  {}", line(&hit.other_passage));
        }
        if self.hits.len() > SHOWN {
            let _ = writeln!(text, "and {} more: `--json` prints them", self.hits.len() - SHOWN);
        }
        for common in self.boilerplate.iter().take(5) {
            let count = count_noun(u64::from(common.rows), "row");
            let _ = writeln!(text, "ignored as boilerplate of {count}: {}", line(&common.passage));
        }
        if self.left_out > 0 {
            let _ = writeln!(text, "note: {} further matches were not looked at", self.left_out);
        }
        let _ = write!(text, "note: karat compares texts; it cannot know what a model was trained on");
        text
    }
}

/// A passage in one line.
fn line(passage: &str) -> String {
    cut(&passage.split_whitespace().collect::<Vec<_>>().join(" "))
}
