//! MarkedOutput parts of outputs and of their sources. An output that holds a list of items with texts shows them where they stand;
//! what judges say of an item, or miss, is written beside it. Only the shape of outputs and judgments counts.

use std::collections::{BTreeMap, BTreeSet};

use karat_page::block::{Answer, Highlight};
use serde_json::{Map, Value};

use crate::shared::readable;
use crate::shared::visible::excerpt;

/// Fields that name the kind of an item.
const KINDS: [&str; 5] = ["role", "category", "label", "type", "kind"];

/// Fields that name an item that has no kind, and the longest name.
const NAMES: [&str; 3] = ["name", "title", "id"];
const NAME: usize = 28;

/// Number of marked parts of one text.
const MOST: usize = 200;

/// Number of line styles.
const STYLES: usize = 5;

/// The state of an item that has no kind and that no judge remarks on.
const FOUND: &str = "found";

/// Findings of a judge: lists of objects by name.
type Diagnostics<'a> = &'a Map<String, Value>;

/// An output as its reader sees it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MarkedOutput {
    /// The text.
    pub text: String,
    /// Its marked parts.
    pub highlights: Vec<Highlight>,
    /// Parts that the source may hold, as items name them.
    quotes: BTreeSet<Quote>,
    /// Texts that judges name and no item has, each with the name of the finding.
    named: BTreeMap<String, BTreeSet<String>>,
}

/// A part of a source that an item stands for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Quote {
    text: String,
    /// The offsets that the item states, in UTF-16 units.
    at: Option<(u64, u64)>,
    /// Its kind and the remarks of judges, or [`FOUND`].
    state: String,
}

impl MarkedOutput {
    /// Returns an output with what judges say of its parts.
    pub fn of(output: &Value, judgments: &[Diagnostics<'_>]) -> Self {
        let Some((field, items)) = items_of(output) else {
            return Self { text: readable::text(output), named: named_texts(judgments, &[]), ..Self::default() };
        };
        let remarks = remarks(judgments, &items);
        let named = named_texts(judgments, &items);
        if let Some(base) = base_text(output, &items) {
            let mut marked = within(base, &items, &remarks);
            marked.highlights.extend(missed_parts(base, &named));
            marked.highlights.truncate(MOST);
            return marked;
        }
        if output.as_object().is_some_and(|fields| fields.values().any(Value::is_string)) {
            // The items stand beside a text, such as the sources of an answer.
            return Self { text: readable::text(output), named, ..Self::default() };
        }
        let mut marked = list_items(output, field, &items, &remarks);
        marked.quotes = items.iter().enumerate().filter_map(|(at, item)| quote(item, remarks.get(&at))).collect();
        marked.named = named;
        marked.highlights.truncate(MOST);
        marked
    }

    /// Returns the answer of an output that has lists of objects beside it, such as what it cites.
    pub fn of_answer(output: &Value) -> Option<Self> {
        let answer = Answer::of_output(output)?;
        Some(Self { text: answer.text.to_owned(), ..Self::default() })
    }

    /// Marks the parts of the text that the reason of a score quotes, such as the number that matched; `words` say what the
    /// score is.
    pub fn add_reason(&mut self, words: &str, reason: &str) {
        let pieces: Vec<&str> = reason.split('"').collect();
        let [before, quoted, after] = pieces.as_slice() else { return self.add_last_quote(words, &pieces) };
        let Some((start, end)) = locate(&self.text, quoted).filter(|_| !quoted.trim().is_empty()) else { return };
        let after = after.trim_start();
        // Offsets are for programs.
        let after =
            after.strip_prefix("at byte ").map_or(after, |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
        let said =
            [before.trim(), after.trim()].into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" … ");
        let label = if said.is_empty() { words.to_owned() } else { format!("{words}: {said}") };
        self.label(start, end, label);
    }

    /// Marks the last quoted text that the output has: a reason with several names what was expected first. What stands
    /// between the quotes says nothing without them, so `words` are the label.
    fn add_last_quote(&mut self, words: &str, pieces: &[&str]) {
        let closed = pieces.len().saturating_sub(1);
        let mut quoted = pieces.iter().take(closed).skip(1).step_by(2).rev().filter(|it| !it.trim().is_empty());
        if let Some((start, end)) = quoted.find_map(|it| locate(&self.text, it)) {
            self.label(start, end, words.to_owned());
        }
    }

    fn label(&mut self, start: usize, end: usize, label: String) {
        match self.highlights.iter_mut().find(|it| (it.start, it.end) == (start, end)) {
            Some(known) => known.label = format!("{}; {label}", known.label),
            None => self.highlights.push(Highlight { start, end, label, category: 0 }),
        }
    }
}

fn quote(item: &Map<String, Value>, remarks: Option<&BTreeSet<String>>) -> Option<Quote> {
    let offset = |field: &str| item.get(field).and_then(Value::as_u64);
    let at = offset("start").zip(offset("end"));
    let kind = kind_of(item);
    let lists = remarks.into_iter().flatten().filter_map(|words| words.split(':').next());
    let lists: BTreeSet<String> = lists.map(|list| format!("✕ {list}")).collect();
    let state: Vec<String> = kind.into_iter().chain(lists).collect();
    let state = if state.is_empty() { FOUND.to_owned() } else { state.join(", ") };
    let text = text_of(item, "quote").or(text_of(item, "text"))?;
    Some(Quote { text, at, state })
}

fn kind_of(item: &Map<String, Value>) -> Option<String> {
    KINDS.iter().find_map(|field| text_of(item, field))
}

/// The name of an item that has no kind.
fn name_of(item: &Map<String, Value>) -> Option<String> {
    NAMES.iter().find_map(|field| text_of(item, field)).map(|name| excerpt(&name, NAME))
}

/// Positions of groups in the order in which they are met: the line under a part follows from them.
#[derive(Default)]
struct Groups(Vec<String>);

impl Groups {
    fn style(&mut self, label: &str) -> usize {
        let group = label.split(['.', ',', ':']).next().unwrap_or_default();
        let known = self.0.iter().position(|known| known == group);
        let at = known.unwrap_or_else(|| {
            self.0.push(group.to_owned());
            self.0.len() - 1
        });
        at % STYLES
    }
}

/// Returns the parts of a text that judges name and no item has.
fn missed_parts<'a>(
    base: &'a str,
    named: &'a BTreeMap<String, BTreeSet<String>>,
) -> impl Iterator<Item = Highlight> + 'a {
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
fn remarks(judgments: &[Diagnostics<'_>], items: &[&Map<String, Value>]) -> BTreeMap<usize, BTreeSet<String>> {
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
fn findings<'a>(judgments: &[Diagnostics<'a>]) -> impl Iterator<Item = (&'a str, &'a Map<String, Value>)> {
    judgments.iter().flat_map(|judgment| {
        judgment.iter().flat_map(|(list, entries)| {
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
fn named_texts(judgments: &[Diagnostics<'_>], items: &[&Map<String, Value>]) -> BTreeMap<String, BTreeSet<String>> {
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
fn within(base: &str, items: &[&Map<String, Value>], remarks: &BTreeMap<usize, BTreeSet<String>>) -> MarkedOutput {
    let mut groups = Groups::default();
    let mut highlights = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let Some((start, end)) = place(base, item) else { continue };
        let kind = kind_of(item).or_else(|| name_of(item)).unwrap_or_else(|| format!("item {}", at + 1));
        // Items without a kind are one group, whatever their names.
        let category = groups.style(kind_of(item).as_deref().unwrap_or("item"));
        let said = remarks.get(&at).into_iter().flatten().map(|words| format!("✕ {words}"));
        let label = std::iter::once(kind).chain(said).collect::<Vec<_>>().join(", ");
        highlights.push(Highlight { start, end, label, category });
    }
    MarkedOutput { text: base.to_owned(), highlights, ..MarkedOutput::default() }
}

/// Items as a numbered list; those that have a kind or that judges name are marked.
fn list_items(
    output: &Value,
    field: &str,
    items: &[&Map<String, Value>],
    remarks: &BTreeMap<usize, BTreeSet<String>>,
) -> MarkedOutput {
    let (mut text, mut highlights) = (String::new(), Vec::new());
    let mut groups = Groups::default();
    for (at, item) in items.iter().enumerate() {
        text.push_str(&format!("{}. ", at + 1));
        let start = text.len();
        text.push_str(&text_of(item, "text").unwrap_or_default());
        let said = remarks.get(&at).into_iter().flatten().map(|words| format!("✕ {words}"));
        let label = kind_of(item).into_iter().chain(said).collect::<Vec<_>>().join(", ");
        if !label.is_empty() {
            let category = groups.style(&label);
            highlights.push(Highlight { start, end: text.len(), label, category });
        }
        text.push('\n');
    }
    let mut rest = output.as_object().cloned().unwrap_or_default();
    rest.remove(field);
    if !rest.is_empty() {
        text.push_str(&format!("\n{}", readable::text(&Value::Object(rest))));
    }
    MarkedOutput { text: text.trim_end().to_owned(), highlights, ..MarkedOutput::default() }
}

/// Returns the place of an item: by its offsets in UTF-16 units if they hold its text, else where its text stands first.
fn place(base: &str, item: &Map<String, Value>) -> Option<(usize, usize)> {
    let offset = |field: &str| item.get(field).and_then(Value::as_u64);
    place_of(base, &text_of(item, "text")?, offset("start").zip(offset("end")))
}

fn place_of(base: &str, text: &str, at: Option<(u64, u64)>) -> Option<(usize, usize)> {
    let stated = at.and_then(|(start, end)| {
        let (start, end) = (byte_at(base, start)?, byte_at(base, end)?);
        (base.get(start..end)? == text).then_some((start, end))
    });
    stated.or_else(|| locate(base, text))
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

/// The parts of a sample's texts that outputs and judges refer to.
#[derive(Debug, Clone, Default)]
pub struct MarkedSources {
    systems: BTreeSet<String>,
    /// Systems by state of each quoted part.
    quotes: BTreeMap<(String, Option<(u64, u64)>), SystemsBy>,
    /// Systems by finding of each part that judges name.
    named: BTreeMap<String, SystemsBy>,
}

type SystemsBy = BTreeMap<String, BTreeSet<String>>;

impl MarkedSources {
    /// Adds the output of a system.
    pub fn add(&mut self, system: &str, marked: &MarkedOutput) {
        self.systems.insert(system.to_owned());
        for Quote { text, at, state } in &marked.quotes {
            let states = self.quotes.entry((text.clone(), *at)).or_default();
            states.entry(state.clone()).or_default().insert(system.to_owned());
        }
        for (text, findings) in &marked.named {
            let of_text = self.named.entry(text.clone()).or_default();
            for finding in findings {
                of_text.entry(finding.clone()).or_default().insert(system.to_owned());
            }
        }
    }

    /// Returns a text of the sample as its reader sees it, JSON as lines, with the parts that outputs have and those that
    /// judges miss.
    pub fn mark(&self, text: &str) -> (String, Vec<Highlight>) {
        let shown = readable::of_text(text);
        let highlights = self.highlights(&shown);
        (shown, highlights)
    }

    /// Returns the parts of a source that outputs have, and those that judges miss.
    pub(super) fn highlights(&self, source: &str) -> Vec<Highlight> {
        let all = self.systems.len();
        let label = |by: &SystemsBy| {
            let of = |systems: usize| if all > 1 { format!(" ({systems} of {all})") } else { String::new() };
            let words = by.iter().map(|(words, systems)| format!("{words}{}", of(systems.len())));
            words.collect::<Vec<_>>().join(", ")
        };
        let mut groups = Groups::default();
        groups.style(FOUND);
        let mut highlights: Vec<Highlight> = Vec::new();
        let quoted = self.quotes.iter().map(|((text, at), by)| (text, *at, by));
        for (text, at, by) in quoted.chain(self.named.iter().map(|(text, by)| (text, None, by))).take(MOST) {
            if let Some((start, end)) = place_of(source, text, at) {
                // Anything but a plain match decides the line.
                let state = by.keys().find(|state| *state != FOUND).map_or(FOUND, String::as_str);
                highlights.push(Highlight { start, end, label: label(by), category: groups.style(state) });
            }
        }
        highlights.sort_by_key(|it| (it.start, it.end));
        highlights
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// F70: a reason that quotes several texts marks the one that the output has, labelled by its metric alone; words without
    /// their quotes say nothing.
    #[test]
    fn a_reason_with_two_quotes_is_no_label() {
        let marked = |reason: &str| {
            let mut marked = MarkedOutput::of(&json!({ "category": "billing", "reply": "Sorry." }), &[]);
            marked.add_reason("category", reason);
            let shown = |it: &Highlight| (marked.text[it.start..it.end].to_owned(), it.label.clone());
            marked.highlights.iter().map(shown).collect::<Vec<_>>()
        };
        let of = |part: &str, label: &str| vec![(part.to_owned(), label.to_owned())];
        assert_eq!(marked(r#"expected "bug", found "billing""#), of("billing", "category"));
        assert_eq!(marked(r#""billing" is the category"#), of("billing", "category: is the category"));
        assert_eq!(marked(r#"expected "bug", found """#), vec![]);
        assert_eq!(marked(r#"expected "bug", found "neither""#), vec![]);
    }
}
