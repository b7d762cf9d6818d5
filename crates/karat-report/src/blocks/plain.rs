//! Any serializable outcome as a table: one row for each value, named by its path. An analysis without a mapping of its own is
//! still shown whole.

use karat_page::block::{Block, Cell, Head};
use serde::Serialize;
use serde_json::Value;

use super::build::{prose, table, texts};

/// Largest number of values shown.
const VALUES: usize = 500;

/// Returns the title of an analysis without one of its own: its name with spaces and a capital letter.
pub(crate) fn title(name: &str) -> String {
    let words = name.replace('_', " ");
    let (first, rest) = words.split_at(words.chars().next().map_or(0, char::len_utf8));
    format!("{}{rest}", first.to_uppercase())
}

/// Returns the table of an outcome.
pub(crate) fn blocks(title: &str, outcome: &impl Serialize) -> Vec<Block> {
    let value = serde_json::to_value(outcome).unwrap_or(Value::Null);
    let mut found = Vec::new();
    flatten(String::new(), &value, &mut found);
    let all = found.len();
    found.truncate(VALUES);
    let head = Head::new(title, "What did the analysis find?");
    let head = if all > VALUES {
        head.with_note(format!("The first {VALUES} of {all} values; report.json has all."))
    } else {
        head
    };
    let rows = found.into_iter().map(|(path, text)| vec![Cell::Text(path), prose(text)]);
    vec![table(head, texts(["Value", "Found"]), rows)]
}

fn flatten(path: String, value: &Value, found: &mut Vec<(String, String)>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path} › {name}") };
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().for_each(|(name, value)| flatten(below(name), value, found));
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(at, item)| flatten(below(&(at + 1).to_string()), item, found));
        }
        Value::Object(_) | Value::Array(_) | Value::Null => found.push((path, "none".to_owned())),
        Value::String(text) => found.push((path, text.clone())),
        other => found.push((path, other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DB-03: an outcome without a mapping of its own is a table of all its values.
    #[test]
    fn every_value_is_a_row() {
        let outcome = serde_json::json!({ "a": { "b": [1, { "c": "x" }] }, "d": null, "e": [] });
        let blocks = blocks("Own", &outcome);
        let [Block::Table(table)] = blocks.as_slice() else { panic!("{blocks:?}") };
        let names: Vec<String> = table
            .rows
            .rows
            .iter()
            .map(|row| match &row.cells[0] {
                Cell::Text(text) => text.clone(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(names, ["a › b › 1", "a › b › 2 › c", "d", "e"]);
    }
}
