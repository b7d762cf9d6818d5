//! Marked parts of outputs and of their sources. An output that holds a list of items with texts shows them where they stand;
//! what judges say of an item, or miss, is written beside it. Only the shape of outputs and judgments counts.

use std::collections::{BTreeMap, BTreeSet};

use karat_page::block::Highlight;
use karat_types::JudgmentRow;
use serde_json::{Map, Value};

use crate::page::readable;

/// Fields that name the kind of an item.
const KINDS: [&str; 5] = ["role", "category", "label", "type", "kind"];

/// Number of marked parts of one text.
const MOST: usize = 200;

/// Number of line styles.
const STYLES: usize = 5;

/// An output with its marked parts.
#[derive(Debug, Default)]
pub(super) struct Marked {
    pub text: String,
    pub highlights: Vec<Highlight>,
    /// Texts that the source may hold: what items say of it.
    quotes: BTreeSet<String>,
    /// Texts that judges name and no item has, each with the name of the finding.
    named: BTreeMap<String, BTreeSet<String>>,
}

impl Marked {
    /// Returns the output as a reader sees it.
    pub fn of(output: &Value, judgments: &[JudgmentRow]) -> Self {
        let Some((field, items)) = items_of(output) else {
            return Self { text: readable::text(output), named: named(judgments, &[]), ..Self::default() };
        };
        let remarks = remarks(judgments, &items);
        let named = named(judgments, &items);
        if let Some(base) = base_text(output, &items) {
            let mut marked = within(base, &items, &remarks);
            marked.highlights.extend(missed(base, &named));
            marked.highlights.truncate(MOST);
            return marked;
        }
        if output.as_object().is_some_and(|fields| fields.values().any(Value::is_string)) {
            // The items stand beside a text, such as the sources of an answer.
            return Self { text: readable::text(output), named, ..Self::default() };
        }
        let mut marked = listed(output, field, &items, &remarks);
        marked.quotes = items.iter().filter_map(|item| text_of(item, "quote").or(text_of(item, "text"))).collect();
        marked.named = named;
        marked.highlights.truncate(MOST);
        marked
    }
}

/// Returns the parts of a text that judges name and no item has.
fn missed<'a>(base: &'a str, named: &'a BTreeMap<String, BTreeSet<String>>) -> impl Iterator<Item = Highlight> + 'a {
    named.iter().filter_map(|(text, findings)| {
        let (start, end) = locate(base, text)?;
        let label = findings.iter().cloned().collect::<Vec<_>>().join(", ");
        Some(Highlight { start, end, label, category: STYLES - 1 })
    })
}

/// Returns the first list of objects with a text each, and the name of its field.
fn items_of(output: &Value) -> Option<(&str, Vec<&Map<String, Value>>)> {
    output.as_object()?.iter().find_map(|(name, field)| {
        let items: Option<Vec<&Map<String, Value>>> = field.as_array()?.iter().map(Value::as_object).collect();
        let items = items?;
        let all_have_text = items.iter().all(|item| item.get("text").is_some_and(Value::is_string));
        (!items.is_empty() && all_have_text).then_some((name.as_str(), items))
    })
}

fn text_of(item: &Map<String, Value>, field: &str) -> Option<String> {
    item.get(field)?.as_str().map(str::to_owned).filter(|text| !text.trim().is_empty())
}

/// Returns the text of the output in which at least half of the items stand.
fn base_text<'a>(output: &'a Value, items: &[&Map<String, Value>]) -> Option<&'a str> {
    let texts = output.as_object()?.values().filter_map(Value::as_str);
    let holds = |text: &&str| {
        let found = items.iter().filter(|item| text_of(item, "text").is_some_and(|it| locate(text, &it).is_some()));
        2 * found.count() >= items.len()
    };
    texts.filter(holds).max_by_key(|text| text.len())
}

/// Returns the findings of judges on each item, by its index.
fn remarks(judgments: &[JudgmentRow], items: &[&Map<String, Value>]) -> BTreeMap<usize, BTreeSet<String>> {
    let mut remarks: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for (list, entry) in findings(judgments) {
        if let Some(item) = item_of(entry, items) {
            let reason = entry.get("reason").or_else(|| entry.get("issue")).and_then(Value::as_str);
            let words = reason.map_or_else(|| list.to_owned(), |reason| format!("{list}: {reason}"));
            remarks.entry(item).or_default().insert(words);
        }
    }
    remarks
}

/// Returns every entry of every list of findings, with the name of the list.
fn findings(judgments: &[JudgmentRow]) -> impl Iterator<Item = (&str, &Map<String, Value>)> {
    judgments.iter().flat_map(|judgment| {
        judgment.diagnostics.iter().flat_map(|(list, entries)| {
            let entries = entries.as_array().into_iter().flatten().filter_map(Value::as_object);
            entries.map(move |entry| (list.as_str(), entry))
        })
    })
}

/// Returns the item that an entry names, by its index or by its text.
fn item_of(entry: &Map<String, Value>, items: &[&Map<String, Value>]) -> Option<usize> {
    let index = entry.iter().find(|(name, _)| name.to_lowercase().ends_with("index"));
    let index = index.and_then(|(_, value)| value.as_u64()).map(|index| index as usize);
    let by_text = || {
        let text = text_of(entry, "text")?;
        items.iter().position(|item| text_of(item, "text").is_some_and(|it| it == text))
    };
    index.filter(|index| *index < items.len()).or_else(by_text)
}

/// Returns the texts that judges name and no item has.
fn named(judgments: &[JudgmentRow], items: &[&Map<String, Value>]) -> BTreeMap<String, BTreeSet<String>> {
    let mut named: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (list, entry) in findings(judgments) {
        if item_of(entry, items).is_none()
            && let Some(text) = text_of(entry, "text")
        {
            named.entry(text).or_default().insert(list.to_owned());
        }
    }
    named
}

/// Items within the text that they were taken from.
fn within(base: &str, items: &[&Map<String, Value>], remarks: &BTreeMap<usize, BTreeSet<String>>) -> Marked {
    let mut kinds: Vec<String> = Vec::new();
    let mut highlights = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let Some((start, end)) = place(base, item) else { continue };
        let kind = KINDS.iter().find_map(|field| text_of(item, field)).unwrap_or_else(|| format!("item {}", at + 1));
        let group = kind.split('.').next().unwrap_or_default().to_owned();
        let category = kinds.iter().position(|known| *known == group).unwrap_or_else(|| {
            kinds.push(group);
            kinds.len() - 1
        });
        let said = remarks.get(&at).into_iter().flatten().map(|words| format!("✕ {words}"));
        let label = std::iter::once(kind).chain(said).collect::<Vec<_>>().join(", ");
        highlights.push(Highlight { start, end, label, category: category % STYLES });
    }
    Marked { text: base.to_owned(), highlights, ..Marked::default() }
}

/// Items as a numbered list; those that judges name are marked.
fn listed(
    output: &Value,
    field: &str,
    items: &[&Map<String, Value>],
    remarks: &BTreeMap<usize, BTreeSet<String>>,
) -> Marked {
    let (mut text, mut highlights) = (String::new(), Vec::new());
    let mut findings: Vec<&str> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        text.push_str(&format!("{}. ", at + 1));
        let start = text.len();
        text.push_str(&text_of(item, "text").unwrap_or_default());
        if let Some(said) = remarks.get(&at) {
            let first = said.first().map_or("", String::as_str).split(':').next().unwrap_or_default();
            let category = findings.iter().position(|known| *known == first).unwrap_or_else(|| {
                findings.push(first);
                findings.len() - 1
            });
            let label = said.iter().map(|words| format!("✕ {words}")).collect::<Vec<_>>().join(", ");
            highlights.push(Highlight { start, end: text.len(), label, category: category % STYLES });
        }
        text.push('\n');
    }
    let mut rest = output.as_object().cloned().unwrap_or_default();
    rest.remove(field);
    if !rest.is_empty() {
        text.push_str(&format!("\n{}", readable::text(&Value::Object(rest))));
    }
    Marked { text: text.trim_end().to_owned(), highlights, ..Marked::default() }
}

/// Returns the place of an item: by its offsets in UTF-16 units if they hold its text, else where its text stands first.
fn place(base: &str, item: &Map<String, Value>) -> Option<(usize, usize)> {
    let text = text_of(item, "text")?;
    let offset = |field: &str| item.get(field).and_then(Value::as_u64);
    let stated = offset("start").zip(offset("end")).and_then(|(start, end)| {
        let (start, end) = (byte_at(base, start)?, byte_at(base, end)?);
        (base.get(start..end)? == text).then_some((start, end))
    });
    stated.or_else(|| locate(base, &text))
}

/// Returns the byte at a number of UTF-16 units.
fn byte_at(text: &str, units: u64) -> Option<usize> {
    let mut before = 0;
    for (byte, c) in text.char_indices() {
        if before >= units {
            return Some(byte);
        }
        before += c.len_utf16() as u64;
    }
    (before >= units).then_some(text.len())
}

/// Returns the first place of a text in another, whatever the case of its ASCII letters.
fn locate(text: &str, wanted: &str) -> Option<(usize, usize)> {
    let exact = text.find(wanted);
    let start = exact.or_else(|| text.to_ascii_lowercase().find(&wanted.to_ascii_lowercase()))?;
    Some((start, start + wanted.len()))
}

/// What the outputs of one sample say about its texts.
#[derive(Debug, Default)]
pub(super) struct Sources {
    systems: BTreeSet<String>,
    quotes: BTreeMap<String, BTreeSet<String>>,
    named: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
}

impl Sources {
    /// Adds the output of a system.
    pub fn add(&mut self, system: &str, marked: &Marked) {
        self.systems.insert(system.to_owned());
        for quote in &marked.quotes {
            self.quotes.entry(quote.clone()).or_default().insert(system.to_owned());
        }
        for (text, findings) in &marked.named {
            let of_text = self.named.entry(text.clone()).or_default();
            for finding in findings {
                of_text.entry(finding.clone()).or_default().insert(system.to_owned());
            }
        }
    }

    /// Returns the parts of a source that outputs have, and those that judges miss.
    pub fn highlights(&self, source: &str) -> Vec<Highlight> {
        let all = self.systems.len();
        let of = |systems: usize| if all > 1 { format!(" ({systems} of {all})") } else { String::new() };
        let quoted = self.quotes.iter().filter_map(|(text, systems)| {
            let (start, end) = locate(source, text)?;
            Some(Highlight { start, end, label: format!("found{}", of(systems.len())), category: 0 })
        });
        let named = self.named.iter().filter_map(|(text, findings)| {
            let (start, end) = locate(source, text)?;
            let labels = findings.iter().map(|(finding, systems)| format!("{finding}{}", of(systems.len())));
            Some(Highlight { start, end, label: labels.collect::<Vec<_>>().join(", "), category: 1 })
        });
        let mut highlights: Vec<Highlight> = quoted.chain(named).take(MOST).collect();
        highlights.sort_by_key(|it| (it.start, it.end));
        highlights
    }
}
