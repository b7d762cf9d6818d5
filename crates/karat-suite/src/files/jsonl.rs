//! JSON and JSONL files of moderate size, with the line of whatever is wrong in them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use karat_text::half_characters;
use karat_types::json;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::diagnostics::Diagnostic;

/// Most problems of one file that are shown.
const SHOWN: usize = 20;

/// A JSON text in which no object has a key twice. `NaN` and infinities are null; half characters become U+FFFD.
///
/// # Errors
/// A syntax error, or the second of two equal keys.
pub(crate) fn parse_strict(text: &str) -> serde_json::Result<Value> {
    let text = json::nan_as_null(text);
    json::parse_strict(&text).or_else(|error| match half_characters::mend(text.as_bytes()) {
        Cow::Owned(whole) => json::parse_strict(&String::from_utf8_lossy(&whole)),
        Cow::Borrowed(_) => Err(error),
    })
}

/// One JSON document.
pub(crate) fn document(path: &str, text: &str) -> Result<Value, Box<Diagnostic>> {
    parse_strict(text.trim_start_matches('\u{feff}')).map_err(|error| Box::new(syntax(path, text, 1, &error)))
}

/// The rows of a JSON list or of a JSONL text.
pub(crate) fn rows(path: &str, text: &str) -> (Vec<Value>, Vec<Diagnostic>) {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('[') {
        return match document(path, text) {
            Ok(Value::Array(rows)) => (rows, Vec::new()),
            Ok(_) => (Vec::new(), vec![Diagnostic::of_line(path, 1, "", 0..0, "expected a list of rows")]),
            Err(problem) => (Vec::new(), vec![*problem]),
        };
    }
    let mut rows = Vec::new();
    let mut problems = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match parse_strict(line) {
            Ok(row) => rows.push(row),
            Err(error) => problems.push(syntax(path, line, index + 1, &error)),
        }
        if problems.len() == SHOWN {
            break;
        }
    }
    (rows, problems)
}

/// Rows that are joined with samples by their ids, in the forms in which they come.
pub enum RowsById {
    /// JSON lines: the byte range of each in the text, its line and the row.
    Lines(Vec<(Range<usize>, usize, Value)>),
    /// The members of a JSON list, or of an object of rows by id: the id where it stands there, and the row.
    Members(Vec<(Option<String>, Value)>),
    /// One document without an id: a row as a whole.
    Single,
}

impl RowsById {
    /// Reads a text. `NaN` and infinities are null; anything else that is not a row is a problem, never an absent row.
    ///
    /// # Errors
    /// The first problems of the text, with their lines and without its content.
    pub fn read(path: &str, text: &str) -> Result<Self, Vec<Diagnostic>> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let problem = |line: usize, message: String| Diagnostic::of_line(path, line, "", 0..0, message);
        let not_a_row = |line| problem(line, "a row must be an object with an `id`".to_owned());
        match parse_strict(text) {
            Ok(Value::Array(items)) => {
                let wrong = items.iter().position(|item| !item.is_object());
                let lines = || members(path, text).unwrap_or_default().into_iter().map(|(line, _)| line);
                match wrong {
                    Some(at) => Err(vec![not_a_row(lines().nth(at).unwrap_or(1))]),
                    None => Ok(Self::Members(items.into_iter().map(|item| (None, item)).collect())),
                }
            }
            Ok(Value::Object(rows)) if !rows.is_empty() && rows.values().all(Value::is_object) => {
                Ok(Self::Members(rows.into_iter().map(|(id, row)| (Some(id), row)).collect()))
            }
            Ok(row) if !["id", "sample"].iter().any(|name| row.get(name).is_some()) => Ok(Self::Single),
            Ok(row) => Ok(Self::Lines(vec![(0..text.trim_end().len(), 1, row)])),
            Err(error) if is_document(text) => {
                let Diagnostic { line, column, message, .. } = syntax(path, text, 1, &error);
                Err(vec![problem(line, format!("{message}, in column {column}"))])
            }
            Err(_) => Self::read_lines(text, |line, error| match error {
                None => not_a_row(line),
                Some(error) => problem(line, format!("invalid JSON: {}, in column {}", reason(&error), error.column())),
            }),
        }
    }

    fn read_lines(
        text: &str,
        problem: impl Fn(usize, Option<serde_json::Error>) -> Diagnostic,
    ) -> Result<Self, Vec<Diagnostic>> {
        let (mut rows, mut problems, mut start) = (Vec::new(), Vec::new(), 0);
        for (at, line) in text.split_inclusive('\n').enumerate() {
            let range = start..start + line.trim_end().len();
            start += line.len();
            if line.trim().is_empty() {
                continue;
            }
            match parse_strict(line.trim_end()) {
                Ok(row) if row.is_object() => rows.push((range, at + 1, row)),
                Ok(_) => problems.push(problem(at + 1, None)),
                Err(error) => problems.push(problem(at + 1, Some(error))),
            }
            if problems.len() == SHOWN {
                break;
            }
        }
        if problems.is_empty() { Ok(Self::Lines(rows)) } else { Err(problems) }
    }
}

/// Returns whether a text that cannot be read is one document over several lines, not JSON lines.
fn is_document(text: &str) -> bool {
    let mut lines = text.trim().lines();
    let first = lines.next().unwrap_or_default();
    let is_open = first.starts_with('{') && parse_strict(first).is_err_and(|error| error.is_eof());
    let is_row = |line: &str| line.starts_with('{') && parse_strict(line).is_ok();
    first.starts_with('[') || is_open && lines.next().is_some_and(|next| !is_row(next)) && !lines.any(is_row)
}

/// Returns whether the first line of a file begins a list of rows, or an object that is written over several lines. A row that is
/// cut off is neither.
pub(crate) fn begins_document(line: &[u8]) -> bool {
    let text = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    text == b"{" || text.starts_with(b"[") && (text == b"[" || text[1..].trim_ascii_start().starts_with(b"{"))
}

/// The problem of a file of JSON lines that holds one JSON value.
pub(crate) fn document_problem(path: &str, line: usize) -> Diagnostic {
    let message = "this file holds one JSON value over several rows or lines, but is read as one object a line";
    let mut problem = Diagnostic::of_line(path, line, "", 0..0, message);
    problem.hint("name it .json, or write `format: json` in `dataset`");
    problem
}

/// Returns the byte range of each row of a text that [`rows`] could read.
pub(crate) fn places(text: &str) -> Vec<Range<usize>> {
    if text.trim_start_matches('\u{feff}').trim_start().starts_with('[') {
        return members("", text.trim_start_matches('\u{feff}')).map_or_else(
            |_| Vec::new(),
            |members| {
                let mark = text.len() - text.trim_start_matches('\u{feff}').len();
                members.into_iter().map(|(_, span)| span.start + mark..span.end + mark).collect()
            },
        );
    }
    let mut from = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        let span = from..from + line.trim_end().len();
        from += line.len();
        span
    });
    lines.filter(|span| !text[span.clone()].trim_matches(['\u{feff}', ' ', '\t', '\r']).is_empty()).collect()
}

/// A problem of a stretch of a text, shown in the line in which it begins.
pub(crate) fn problem_in_row(path: &str, text: &str, span: Range<usize>, message: impl Into<String>) -> Diagnostic {
    let start = text[..span.start].rfind('\n').map_or(0, |end| end + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let shown = span.start - start..(span.end - start).min(line.len());
    Diagnostic::of_line(path, text[..start].matches('\n').count() + 1, line, shown, message)
}

/// Line (from 1) and byte range of each member of a JSON list.
pub(crate) fn members(path: &str, text: &str) -> Result<Vec<(usize, Range<usize>)>, Box<Diagnostic>> {
    let list: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| Box::new(no_list(path, text, &error)))?;
    let mut line = 1;
    let mut done = 0;
    let mut found = Vec::with_capacity(list.len());
    for member in list {
        let start = member.get().as_ptr() as usize - text.as_ptr() as usize;
        line += text[done..start].matches('\n').count();
        done = start;
        found.push((line, start..start + member.get().len()));
    }
    Ok(found)
}

/// The problem of a text that is not a JSON list: valid JSON is called by its kind.
fn no_list(path: &str, text: &str, error: &serde_json::Error) -> Diagnostic {
    match serde_json::from_str::<&RawValue>(text) {
        Ok(value) => {
            let kind = if value.get().starts_with('{') { "one JSON object" } else { "one JSON value" };
            let line = text.lines().next().unwrap_or_default();
            let message = format!("the file holds {kind}, and a list of rows is expected");
            Diagnostic::of_line(path, 1, line, 0..line.len().min(1), message)
        }
        Err(broken) if error.is_data() => syntax(path, text, 1, &broken),
        Err(_) => syntax(path, text, 1, error),
    }
}

/// The same of the one list of objects that an object holds.
///
/// # Errors
/// The reason, where there are several; nothing where the text is no such object.
pub(crate) fn wrapped_members(text: &str) -> Result<Vec<(usize, Range<usize>)>, Option<String>> {
    let parts: BTreeMap<String, &RawValue> = serde_json::from_str(text).map_err(|_| None::<String>)?;
    let is_list =
        |part: &&RawValue| part.get().strip_prefix('[').is_some_and(|list| list.trim_start().starts_with('{'));
    let lists: Vec<(&String, &RawValue)> =
        parts.iter().map(|(name, part)| (name, *part)).filter(|(_, part)| is_list(part)).collect();
    match lists.as_slice() {
        [] => Err(None),
        [(_, list)] => {
            let start = list.get().as_ptr() as usize - text.as_ptr() as usize;
            let before = text[..start].matches('\n').count();
            let members = members("", list.get()).map_err(|_| None::<String>)?;
            Ok(members.into_iter().map(|(line, span)| (line + before, span.start + start..span.end + start)).collect())
        }
        several => {
            let names: Vec<String> = several.iter().map(|(name, _)| format!("`{name}`")).collect();
            Err(Some(format!("the file holds several lists of rows: {}", names.join(", "))))
        }
    }
}

/// Returns true of a text whose first line is an object of its own and is followed by another.
pub(crate) fn begins_as_lines(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let is_row = |line: &str| line.trim_start().starts_with('{') && parse_strict(line).is_ok();
    lines.next().is_some_and(is_row) && lines.next().is_some_and(|line| line.trim_start().starts_with('{'))
}

/// A syntax error at its own line and column; `first` is the line at which the text begins.
pub(crate) fn syntax(path: &str, text: &str, first: usize, error: &serde_json::Error) -> Diagnostic {
    // A text that ends too early is wrong at the end of its last line, not behind it.
    let last = text.lines().count().saturating_sub(1);
    let index = error.line().saturating_sub(1).min(last);
    let line = text.lines().nth(index).unwrap_or_default();
    let at = if error.is_eof() { line.len() } else { error.column().saturating_sub(1).min(line.len()) };
    let message = format!("invalid JSON: {}", reason(error));
    Diagnostic::of_line(path, first + index, line, at..(at + 1).min(line.len()), message)
}

/// The reason of a syntax error without its place.
fn reason(error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "it ends too early: a quote, bracket or brace is not closed, or a value is missing".to_owned();
    }
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_know_their_lines() {
        let text = "[\n  {\"a\": 1},\n\n  {\"a\": 2}\n]";
        let found = members("x.json", text).unwrap();
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 4]);
        assert_eq!(&text[found[1].1.clone()], "{\"a\": 2}");
    }

    /// F97: valid JSON that is not a list is not called invalid, and a broken object is broken.
    #[test]
    fn other_json_than_a_list_is_called_by_its_kind() {
        for (text, expected) in [
            ("{\"a\": 1}", "holds one JSON object, and a list of rows is expected"),
            ("5", "holds one JSON value"),
            ("{\"a\": ", "invalid JSON: it ends too early"),
            ("[1,", "invalid JSON: it ends too early"),
        ] {
            let problem = members("x.json", text).unwrap_err().to_string();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }

    /// F7: half a character in a row is replaced; what is wrong otherwise keeps its place.
    #[test]
    fn half_characters_in_rows_are_replaced() {
        let (rows, problems) = rows("x.jsonl", "{\"a\": \"\\ud83d!\"}\n{\"a\": \"\\ud83d\", }\n");
        assert_eq!(rows, [serde_json::json!({"a": "\u{fffd}!"})]);
        assert!(problems.len() == 1 && problems[0].to_string().contains("x.jsonl:2"), "{problems:?}");
    }

    #[test]
    fn every_broken_line_is_named() {
        let (rows, problems) = rows("x.jsonl", "{\"a\": 1}\n{\"a\": }\n\n{oops}\n");
        assert_eq!(rows.len(), 1);
        assert_eq!(problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [2, 4]);
    }
}
