//! JSON and JSONL files of moderate size, with the line of whatever is wrong in them.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::diagnostics::Diagnostic;

/// Most problems of one file that are shown.
const SHOWN: usize = 20;

/// One JSON document.
pub(crate) fn document(path: &str, text: &str) -> Result<Value, Box<Diagnostic>> {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| Box::new(syntax(path, text, 1, &error)))
}

/// The rows of a JSON list or of a JSONL text.
pub(crate) fn rows(path: &str, text: &str) -> (Vec<Value>, Vec<Diagnostic>) {
    if text.trim_start().starts_with('[') {
        return match document(path, text) {
            Ok(Value::Array(rows)) => (rows, Vec::new()),
            Ok(_) => (Vec::new(), vec![Diagnostic::of_line(path, 1, "", 0..0, "a list of rows is wanted here")]),
            Err(problem) => (Vec::new(), vec![*problem]),
        };
    }
    let mut rows = Vec::new();
    let mut problems = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str(line) {
            Ok(row) => rows.push(row),
            Err(error) => problems.push(syntax(path, line, index + 1, &error)),
        }
        if problems.len() == SHOWN {
            break;
        }
    }
    (rows, problems)
}

/// Where each member of a JSON list stands: line from 1, and byte range.
pub(crate) fn members(path: &str, text: &str) -> Result<Vec<(usize, std::ops::Range<usize>)>, Box<Diagnostic>> {
    let list: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| Box::new(syntax(path, text, 1, &error)))?;
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

/// A syntax error at its own line and column; `first` is the line at which the text begins.
pub(crate) fn syntax(path: &str, text: &str, first: usize, error: &serde_json::Error) -> Diagnostic {
    // A text that ends too early is wrong at the end of its last line, not behind it.
    let last = text.lines().count().saturating_sub(1);
    let index = error.line().saturating_sub(1).min(last);
    let line = text.lines().nth(index).unwrap_or_default();
    let at = if error.is_eof() { line.len() } else { error.column().saturating_sub(1).min(line.len()) };
    let reason = error.to_string();
    let reason = reason.split(" at line ").next().unwrap_or(&reason);
    Diagnostic::of_line(
        path,
        first + index,
        line,
        at..(at + 1).min(line.len()),
        format!("this is no valid JSON: {reason}"),
    )
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

    #[test]
    fn every_broken_line_is_named() {
        let (rows, problems) = rows("x.jsonl", "{\"a\": 1}\n{\"a\": }\n\n{oops}\n");
        assert_eq!(rows.len(), 1);
        assert_eq!(problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [2, 4]);
    }
}
