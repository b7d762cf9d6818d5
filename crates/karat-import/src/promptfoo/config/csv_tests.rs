//! Tests in a CSV table: a row is a test, columns that begin with `__` have a meaning of their own.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::raw_test::RawTest;
use crate::error::ImportError;
use crate::promptfoo::asserts::{Assert, is_type};
use crate::promptfoo::files;
use crate::promptfoo::refusal::Refusal;
use crate::promptfoo::values::split_values;
use crate::report::ImportReport;
use crate::source::Source;

/// Threshold that promptfoo gives these types in a cell without a number.
const THRESHOLD: f64 = 0.75;

/// Types that have a threshold in a cell.
const LIMITED: [&str; 12] = [
    "answer-relevance",
    "classifier",
    "context-faithfulness",
    "context-recall",
    "context-relevance",
    "cost",
    "latency",
    "levenshtein",
    "perplexity",
    "perplexity-score",
    "rouge-n",
    "similar",
];

/// Beginnings of cells that are code, with the type that they stand for.
const CODE: [(&str, &str); 4] =
    [("javascript:", "javascript"), ("fn:", "javascript"), ("eval:", "javascript"), ("python:", "python")];

/// Reads the tests of a CSV file. `name` is the file as the config names it.
///
/// # Errors
/// A file that is not a CSV table, with the line.
pub(super) fn read(
    source: &Source,
    path: &Path,
    name: &str,
    report: &mut ImportReport,
) -> Result<Vec<RawTest>, ImportError> {
    let text = source.text(path)?;
    let broken = |error: &csv::Error| {
        let line = error.position().map_or(1, |position| position.line() as usize);
        ImportError::new(path.display(), format!("is not a CSV table: {error}")).at_line(line)
    };
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let header: Vec<String> =
        reader.headers().map_err(|error| broken(&error))?.iter().map(|name| name.trim().to_owned()).collect();
    let mut tests = Vec::new();
    let mut lines = Lines { text: &text, byte: 0, line: 1 };
    for (at, record) in reader.records().enumerate() {
        let record = record.map_err(|error| broken(&error))?;
        let line = lines.line_of(record.position().map_or(0, |position| position.byte() as usize));
        let mut row = Row::new(format!("{name}:{}", at + 1), line);
        for (column, cell) in header.iter().zip(&record) {
            row.read_cell(column, cell, name, report);
        }
        tests.push(row.finish());
    }
    Ok(tests)
}

/// Counts the lines up to a row: rows may span several.
struct Lines<'t> {
    text: &'t str,
    byte: usize,
    line: usize,
}

impl Lines<'_> {
    /// The line of the row at a byte, which is behind those asked for before.
    fn line_of(&mut self, byte: usize) -> usize {
        let bytes = self.text.as_bytes();
        let start = byte
            + bytes.get(byte..).unwrap_or_default().iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        self.line += bytes.get(self.byte..start).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count();
        self.byte = start;
        self.line
    }
}

/// A row in the making.
struct Row {
    path: String,
    line: usize,
    test: Map<String, Value>,
    vars: Map<String, Value>,
    metadata: Map<String, Value>,
    options: Map<String, Value>,
    metric: Option<String>,
    /// Asserts by the number of their column.
    asserts: Vec<(usize, Assert)>,
    /// Settings of the asserts by the number of their column.
    settings: Vec<(usize, String, Value)>,
}

impl Row {
    fn new(path: String, line: usize) -> Self {
        Self {
            path,
            line,
            test: Map::new(),
            vars: Map::new(),
            metadata: Map::new(),
            options: Map::new(),
            metric: None,
            asserts: Vec::new(),
            settings: Vec::new(),
        }
    }

    fn read_cell(&mut self, column: &str, cell: &str, file: &str, report: &mut ImportReport) {
        let filled = Some(cell).filter(|cell| !cell.trim().is_empty());
        if let Some(number) = column.strip_prefix("__expected").and_then(expected_number) {
            if let Some(cell) = filled {
                let path = format!("{}.{column}", self.path);
                let spec = self.assert_of(cell.trim(), &path, report);
                self.asserts.push((number, Assert { path, line: Some(self.line), spec }));
            }
        } else if let Some(key) = column.strip_prefix("__metadata:") {
            if let Some(cell) = filled {
                let (key, value) = match key.strip_suffix("[]") {
                    Some(key) => (key, json!(split_escaped(cell))),
                    None => (key, json!(cell)),
                };
                self.metadata.insert(key.to_owned(), value);
            }
        } else if let Some(setting) = column.strip_prefix("__config:") {
            self.read_setting(setting, column, filled, file, report);
        } else if let Some(key) = column.strip_prefix("__") {
            match (key, filled) {
                (_, None) => {}
                ("description" | "providerOutput", Some(cell)) => {
                    self.test.insert(key.to_owned(), json!(cell));
                }
                ("prefix" | "suffix", Some(_)) => {
                    self.options.insert(key.to_owned(), json!(cell));
                }
                ("metric", Some(cell)) => self.metric = Some(cell.trim().to_owned()),
                ("threshold", Some(cell)) => match cell.trim().parse::<f64>() {
                    Ok(threshold) => drop(self.test.insert(key.to_owned(), json!(threshold))),
                    Err(_) => report.note(
                        format!("{}.{column}", self.path),
                        format!("`{cell}` is not a number, so there is no threshold"),
                    ),
                },
                _ => {
                    let refusal = Refusal::new("is not a column that this version knows");
                    report.drop(refusal.of_sample(&format!("{file}:1.{column}"), column));
                }
            }
        } else {
            self.vars.insert(column.to_owned(), json!(cell));
        }
    }

    /// `__config:__expectedN:KEY`.
    fn read_setting(&mut self, setting: &str, column: &str, cell: Option<&str>, file: &str, report: &mut ImportReport) {
        let parts = setting
            .split_once(':')
            .and_then(|(expected, key)| Some((expected.strip_prefix("__expected").and_then(expected_number)?, key)));
        match (parts, cell) {
            (Some((number, "threshold")), Some(cell)) => match cell.trim().parse::<f64>() {
                Ok(threshold) => self.settings.push((number, "threshold".to_owned(), json!(threshold))),
                Err(_) => {
                    report.note(format!("{}.{column}", self.path), format!("`{cell}` is not a number and is left out"))
                }
            },
            (Some((_, "threshold")), None) => {
                report
                    .note(format!("{}.{column}", self.path), "an empty cell, an error in promptfoo, sets no threshold");
            }
            _ => {
                let refusal = Refusal::new("is not a setting that this version knows");
                report.drop(refusal.of_sample(&format!("{file}:1.{column}"), column));
            }
        }
    }

    /// The assert that a cell is.
    fn assert_of(&self, cell: &str, path: &str, report: &mut ImportReport) -> Map<String, Value> {
        let spec =
            |kind: &str, value: Value| Map::from_iter([("type".to_owned(), json!(kind)), ("value".to_owned(), value)]);
        if let Some((prefix, kind)) = CODE.iter().find(|(prefix, _)| cell.starts_with(prefix)) {
            return spec(kind, json!(cell[prefix.len()..].trim()));
        }
        if let Some(name) = files::file_name(cell).filter(|name| files::is_code(name)) {
            let kind = if files::ending(name) == "py" { "python" } else { "javascript" };
            return spec(kind, json!(cell));
        }
        if let Some(requirement) = cell.strip_prefix("grade:").or_else(|| cell.strip_prefix("llm-rubric:")) {
            return spec("llm-rubric", json!(requirement));
        }
        let Some(Parsed { kind, number, value }) = parse(cell) else {
            return spec("equals", json!(cell));
        };
        let base = kind.strip_prefix("not-").unwrap_or(kind);
        let value = match base {
            "contains-any" | "contains-all" | "icontains-any" | "icontains-all" => {
                json!(split_values(value.unwrap_or_default()))
            }
            _ => value.map_or(Value::Null, |value| json!(value.trim())),
        };
        let mut spec = spec(kind, value);
        if LIMITED.contains(&base) {
            if number.is_none() && matches!(base, "levenshtein" | "latency") {
                let unit = if base == "latency" { "ms" } else { "edits" };
                report.note(path, format!("`{base}` without a number allows {THRESHOLD} {unit}, as in promptfoo"));
            }
            spec.insert("threshold".to_owned(), json!(number.unwrap_or(THRESHOLD)));
        }
        spec
    }

    fn finish(mut self) -> RawTest {
        for (number, key, value) in self.settings {
            for (_, assert) in self.asserts.iter_mut().filter(|(column, _)| *column == number) {
                assert.spec.insert(key.clone(), value.clone());
            }
        }
        if let Some(metric) = &self.metric {
            self.asserts
                .iter_mut()
                .for_each(|(_, assert)| drop(assert.spec.insert("metric".to_owned(), json!(metric))));
        }
        let parts = [("vars", self.vars), ("metadata", self.metadata), ("options", self.options)];
        let parts = parts.into_iter().filter(|(_, part)| !part.is_empty());
        self.test.extend(parts.map(|(key, part)| (key.to_owned(), Value::Object(part))));
        let asserts = self.asserts.into_iter().map(|(_, assert)| assert).collect();
        RawTest { path: self.path, test: self.test, asserts: Some(asserts) }
    }
}

/// The number of a column behind `__expected`; the first may have none.
fn expected_number(behind: &str) -> Option<usize> {
    if behind.is_empty() { Some(1) } else { behind.parse().ok() }
}

/// A cell of the form `TYPE`, `TYPE(NUMBER)`, `TYPE:VALUE` or `TYPE(NUMBER):VALUE`.
struct Parsed<'c> {
    kind: &'c str,
    number: Option<f64>,
    value: Option<&'c str>,
}

fn parse(cell: &str) -> Option<Parsed<'_>> {
    let (head, value) = match cell.split_once(':') {
        Some((head, _)) if !is_kind(head) && !head.ends_with(')') => {
            // Types such as `similar:cosine` have a colon of their own.
            let known =
                cell.match_indices(':').map(|(at, _)| at).chain([cell.len()]).find(|at| is_kind(&cell[..*at]))?;
            (&cell[..known], cell.get(known + 1..))
        }
        Some((head, value)) => (head, Some(value)),
        None => (cell, None),
    };
    let (kind, number) = match head.strip_suffix(')').and_then(|head| head.rsplit_once('(')) {
        Some((kind, number)) => (kind, Some(number.parse::<f64>().ok().filter(|number| *number >= 0.0)?)),
        None => (head, None),
    };
    is_kind(kind).then_some(Parsed { kind, number, value })
}

fn is_kind(kind: &str) -> bool {
    is_type(kind.strip_prefix("not-").unwrap_or(kind))
}

/// Values that are separated by commas; `\,` is a comma within one.
fn split_escaped(text: &str) -> Vec<String> {
    let mut values = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match (char, values.last_mut()) {
            (',', _) => values.push(String::new()),
            ('\\', Some(value)) if chars.next_if_eq(&',').is_some() => value.push(','),
            (char, Some(value)) => value.push(char),
            (_, None) => {}
        }
    }
    values.into_iter().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IO-02: `\,` is a comma within a value of `__metadata:K[]`.
    #[test]
    fn commas_in_metadata_are_escaped() {
        assert_eq!(split_escaped(r"eu, a\,b ,"), ["eu", "a,b"]);
    }

    /// IO-02: the grammar of a cell; everything else is compared with the output.
    #[test]
    fn cells_are_types_or_texts() {
        let parsed = |cell| parse(cell).map(|it| (it.kind, it.number, it.value));
        assert_eq!(parsed("contains:Paris"), Some(("contains", None, Some("Paris"))));
        assert_eq!(parsed("not-contains:a:b"), Some(("not-contains", None, Some("a:b"))));
        assert_eq!(parsed("levenshtein(3):x"), Some(("levenshtein", Some(3.0), Some("x"))));
        assert_eq!(parsed("similar:cosine:x"), Some(("similar", None, Some("cosine:x"))));
        assert_eq!(parsed("is-json"), Some(("is-json", None, None)));
        assert_eq!(parsed("trajectory:tool-used:search"), Some(("trajectory:tool-used", None, Some("search"))));
        for text in ["Q: Exact? A: yes", "contains", "unknown(3):x", "https://example.com", "similar(x):y"] {
            let is_text = parsed(text).is_none() || text == "contains";
            assert!(is_text, "{text}");
        }
    }
}
