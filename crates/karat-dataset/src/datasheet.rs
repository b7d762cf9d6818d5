//! The datasheet of a set: what can be counted, and what only its owner can tell.
//!
//! The counted part stands between two marks and is replaced each time. The rest is written by people, and kept. The questions
//! are those of Gebru et al. (2021), the ones that a reader of results asks first.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use karat_types::Sample;
use serde_json::Value;

use crate::manifest::Manifest;
use crate::value_text;
use crate::version::RowsVersion;

/// The mark in place of a text that nobody wrote yet.
pub const TODO: &str = "TODO";

/// The marks around the counted part.
const BEGIN: &str = "<!-- counted by karat: replaced by `karat dataset describe` -->";
const END: &str = "<!-- end of what karat counted; the rest is yours -->";

/// Values of a column that are listed.
const VALUES: usize = 20;

/// Different values from which a column is not a grouping of rows.
const MOST_VALUES: usize = 1_000;

/// Characters of a value in a table.
const CELL: usize = 60;

/// The sections that people write, with what belongs there.
const SECTIONS: [(&str, &str); 5] = [
    ("Motivation", "what the set is to show, and what it is not for"),
    ("Collection", "where the rows are from, who chose them, and who wrote the references"),
    ("Consent and privacy", "whether people behind the rows agreed, and what was removed"),
    ("Known gaps", "what the set lacks: languages, cases, groups of users"),
    ("Licence", "who may use the set, and for what"),
];

/// Lengths of texts, in characters.
#[derive(Debug, Clone, PartialEq, Default)]
struct Lengths(Vec<u32>);

/// The counts of a set, row by row. It keeps eight bytes a row, and the values of the counted columns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SheetCounts {
    rows: u64,
    inputs: Lengths,
    references: Lengths,
    clusters: BTreeMap<String, u64>,
    dates: Option<(String, String)>,
    columns: Vec<(String, BTreeMap<String, u64>)>,
}

/// Everything that a datasheet tells besides the counts.
#[derive(Debug, Clone, PartialEq)]
pub struct SheetFacts<'a> {
    /// The set's name.
    pub name: &'a str,
    /// Its version.
    pub version: &'a RowsVersion,
    /// The version that its suite declares.
    pub declared: Option<&'a str>,
    /// Its manifest.
    pub manifest: Option<&'a Manifest>,
    /// Rows that are equal to another one, that are nearly so, and that fill the same frame.
    pub duplicates: (usize, usize, usize),
    /// Lines on labels of people.
    pub labels: &'a [String],
}

impl SheetCounts {
    /// Starts with no rows; these columns are counted by value.
    pub fn new(columns: impl IntoIterator<Item = String>) -> Self {
        let columns = columns.into_iter().map(|name| (name, BTreeMap::new())).collect();
        Self { columns, ..Self::default() }
    }

    /// Adds a row.
    pub fn add(&mut self, sample: &Sample) {
        self.rows += 1;
        for (lengths, value) in [(&mut self.inputs, &sample.input), (&mut self.references, &sample.reference)] {
            if let Some(value) = value {
                lengths.0.push(value_text(value).chars().count().try_into().unwrap_or(u32::MAX));
            }
        }
        if let Some(cluster) = &sample.cluster {
            *self.clusters.entry(cluster.clone()).or_default() += 1;
        }
        if let Some(date) = &sample.date {
            let (first, last) = self.dates.get_or_insert_with(|| (date.clone(), date.clone()));
            if date < first {
                first.clone_from(date);
            }
            if date > last {
                last.clone_from(date);
            }
        }
        for (name, values) in &mut self.columns {
            let value = sample.columns.get(name).or_else(|| sample.metadata.get(name));
            let value = value.filter(|value| !value.is_null()).map_or_else(|| "(none)".to_owned(), text_of);
            if values.len() < MOST_VALUES || values.contains_key(&value) {
                *values.entry(value).or_default() += 1;
            }
        }
    }
}

/// The datasheet as Markdown. With the text of an earlier one, what people wrote there is kept; `None` if that is no
/// datasheet. The same set gives the same bytes.
pub fn datasheet(counts: &SheetCounts, facts: &SheetFacts<'_>, earlier: Option<&str>) -> Option<String> {
    let counted = counted_part(counts, facts);
    match earlier {
        None => {
            let mut text = format!("# Datasheet of {}\n\n{counted}", cell(facts.name));
            for (title, what) in SECTIONS {
                // Writing to a String cannot fail.
                let _ = write!(text, "\n## {title}\n\n{TODO}: {what}.\n");
            }
            Some(text)
        }
        Some(earlier) => {
            let (before, rest) = earlier.split_once(BEGIN)?;
            let (_, after) = rest.split_once(END)?;
            Some(format!("{before}{counted}{}", after.strip_prefix('\n').unwrap_or(after)))
        }
    }
}

/// The sections of a datasheet that nobody wrote yet.
pub fn unwritten_sections(datasheet: &str) -> Vec<String> {
    let mut title = "";
    let mut open = Vec::new();
    for line in datasheet.lines() {
        match line.strip_prefix("## ") {
            Some(found) => title = found.trim(),
            None if line.trim_start().starts_with(TODO) && !open.iter().any(|known| known == title) => {
                open.push(title.to_owned());
            }
            None => {}
        }
    }
    open
}

fn counted_part(counts: &SheetCounts, facts: &SheetFacts<'_>) -> String {
    let mut text = format!("{BEGIN}\n\n## Rows\n\n| | |\n|---|---:|\n");
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "| {name} | {value} |");
    };
    row("rows", counts.rows.to_string());
    row("with an input", counts.inputs.0.len().to_string());
    row("with a reference", counts.references.0.len().to_string());
    if !counts.clusters.is_empty() {
        let largest = counts.clusters.values().max().copied().unwrap_or_default();
        row("clusters", format!("{}, the largest of {largest} rows", counts.clusters.len()));
    }
    if let Some((first, last)) = &counts.dates {
        row("dates", format!("{} to {}", cell(first), cell(last)));
    }
    let (exact, near, framed) = facts.duplicates;
    row("equal to another row", exact.to_string());
    row("nearly equal to another row", near.to_string());
    row("of the same frame as another row", framed.to_string());
    text.push_str(
        "\n## Lengths\n\nIn characters.\n\n| | shortest | median | 95 % | longest |\n|---|---:|---:|---:|---:|\n",
    );
    for (name, lengths) in [("input", &counts.inputs), ("reference", &counts.references)] {
        if let Some([least, median, high, most]) = lengths.figures() {
            let _ = writeln!(text, "| {name} | {least} | {median} | {high} | {most} |");
        }
    }
    for (name, values) in &counts.columns {
        text.push_str(&column(name, values, counts.rows));
    }
    text.push_str("\n## Labels of people\n\n");
    match facts.labels {
        [] => text.push_str("No annotation task has rows of this set.\n"),
        lines => lines.iter().for_each(|line| {
            let _ = writeln!(text, "- {}", plain(line));
        }),
    }
    text.push_str(&provenance(facts));
    let _ = writeln!(text, "\n{END}");
    text
}

impl Lengths {
    /// The shortest, the median, the 95th percentile and the longest.
    fn figures(&self) -> Option<[u32; 4]> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let at = |share: f64| sorted.get((share * (sorted.len().checked_sub(1)?) as f64).round() as usize).copied();
        Some([at(0.0)?, at(0.5)?, at(0.95)?, at(1.0)?])
    }
}

fn column(name: &str, values: &BTreeMap<String, u64>, rows: u64) -> String {
    let mut text = format!("\n## Values of {}\n\n| value | rows | share |\n|---|---:|---:|\n", cell(name));
    let mut sorted: Vec<(&String, &u64)> = values.iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
    for (value, n) in sorted.iter().take(VALUES) {
        let _ = writeln!(text, "| {} | {n} | {:.1} % |", cell(value), 100.0 * **n as f64 / rows.max(1) as f64);
    }
    let more = values.len().saturating_sub(VALUES);
    if more > 0 {
        let at_least = if values.len() == MOST_VALUES { "at least " } else { "" };
        let _ = writeln!(text, "\n{at_least}{more} more values.");
    }
    text
}

fn provenance(facts: &SheetFacts<'_>) -> String {
    let mut text = format!("\n## Provenance\n\n- content {}\n", facts.version.hash);
    if let Some(declared) = facts.declared {
        let _ = writeln!(text, "- version {} as the suite declares it", cell(declared));
    }
    let Some(manifest) = facts.manifest else {
        text.push_str("- nothing is recorded of where the rows are from\n");
        return text;
    };
    if let Some(made) = &manifest.made_by {
        let seed = made.seed.map(|seed| format!(", seed {seed}")).unwrap_or_default();
        let _ = writeln!(text, "- made by `karat {}`{seed}", made.command.replace('`', ""));
    }
    for parent in &manifest.parents {
        let _ = writeln!(text, "- from {}: {} rows, content {}", cell(&parent.path), parent.rows, parent.hash);
    }
    for change in manifest.changelog.iter().rev() {
        let date = change.date.as_deref().map(|date| format!(" ({})", cell(date))).unwrap_or_default();
        let _ = writeln!(text, "- version {}{date}: {}", cell(&change.version), plain(&change.line));
    }
    text
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A text from outside on one line, without anything that Markdown or HTML takes for more than a text.
fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '!' | '~' => {
                shown.push('\\');
                shown.push(letter);
            }
            '&' => shown.push_str("&amp;"),
            it if it.is_control() => shown.push(' '),
            it => shown.push(it),
        }
    }
    shown
}

/// The beginning of a text from outside, for a table.
fn cell(text: &str) -> String {
    let cut: String = text.chars().take(CELL).collect();
    let dots = if text.chars().count() > CELL { "…" } else { "" };
    let shown = format!("{}{dots}", plain(&cut));
    if shown.trim().is_empty() { "(empty)".to_owned() } else { shown }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::version::{ApartColumns, RowsHasher};

    fn samples(rows: &[Value]) -> Vec<Sample> {
        let sample = |row: &Value| {
            let columns = row.as_object().unwrap().clone();
            let mut sample = Sample::new(row["id"].as_str().unwrap(), row.get("reference").cloned());
            sample.input = row.get("input").cloned();
            sample.cluster = row.get("user").and_then(Value::as_str).map(str::to_owned);
            sample.columns = columns;
            sample
        };
        rows.iter().map(sample).collect()
    }

    fn sheet(rows: &[Value], earlier: Option<&str>) -> Option<String> {
        let mut counts = SheetCounts::new(["topic".to_owned()]);
        let mut hasher = RowsHasher::new();
        for sample in samples(rows) {
            counts.add(&sample);
            hasher.add(&sample.id, &sample.columns, &ApartColumns::default());
        }
        let version = hasher.finish();
        let facts = SheetFacts {
            name: "tickets",
            version: &version,
            declared: Some("2"),
            manifest: None,
            duplicates: (1, 0, 0),
            labels: &[],
        };
        datasheet(&counts, &facts, earlier)
    }

    fn rows() -> Vec<Value> {
        vec![
            json!({"id": "a", "input": "four", "reference": "x", "topic": "b|<i>", "user": "u"}),
            json!({"id": "b", "input": "sixsix", "topic": "a", "user": "u"}),
            json!({"id": "c", "input": "sixsix"}),
        ]
    }

    /// BC-07: the same set has the same bytes, and its counts are those of its rows.
    #[test]
    fn a_datasheet_is_stable() {
        let first = sheet(&rows(), None).unwrap();
        assert_eq!(first, sheet(&rows(), None).unwrap());
        for line in [
            "| rows | 3 |",
            "| with a reference | 1 |",
            "| clusters | 1, the largest of 2 rows |",
            "| input | 4 | 6 | 6 | 6 |",
            "| (none) | 1 | 33.3 % |",
            "| b\\|\\<i\\> | 1 | 33.3 % |",
            "- version 2 as the suite declares it",
        ] {
            assert!(first.contains(line), "{line}\n{first}");
        }
    }

    /// BC-07: what nobody wrote stays to do, and is counted; what people wrote is kept when the counts are new.
    #[test]
    fn what_people_wrote_is_kept() {
        let first = sheet(&rows(), None).unwrap();
        assert_eq!(unwritten_sections(&first).len(), SECTIONS.len());
        let written =
            first.replacen("TODO: what the set is to show, and what it is not for.", "Routing of tickets.", 1);
        assert!(!unwritten_sections(&written).contains(&"Motivation".to_owned()));
        let later = sheet(&rows()[..2], Some(&written)).unwrap();
        assert!(
            later.contains("Routing of tickets.") && later.contains("| rows | 2 |") && !later.contains("| rows | 3 |")
        );
        assert_eq!(sheet(&rows()[..2], Some(&later)).unwrap(), later);
        assert_eq!(sheet(&rows(), Some("# Another document")), None);
    }

    /// BC-07: an empty set has a datasheet, too.
    #[test]
    fn an_empty_set_has_a_datasheet() {
        assert!(sheet(&[], None).unwrap().contains("| rows | 0 |"));
    }
}
