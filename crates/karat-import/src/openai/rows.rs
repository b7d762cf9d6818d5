//! The dataset of an eval.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::list_at;
use super::objects::Objects;
use crate::recorded::Sample;

/// Names that a suite takes for the input and for the reference of a row.
const INPUT: [&str; 5] = ["input", "inputs", "user_input", "question", "prompt"];
const REFERENCE: [&str; 6] = ["reference", "target", "ideal", "expected", "expected_output", "expectedOutput"];

/// Columns that mean something to a suite.
const RESERVED: [&str; 4] = ["id", "assert", "only", "metadata"];

/// Names of an item's members within a row.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Columns {
    /// True if the items' own `id` is the id of the row.
    keeps_id: bool,
}

impl Columns {
    /// The column of a member of the item.
    pub fn name(self, member: &str) -> String {
        let is_taken = RESERVED.contains(&member) && !(member == "id" && self.keeps_id);
        if is_taken { format!("item_{member}") } else { member.to_owned() }
    }

    /// The properties of an item's schema as those of a row, in which an id is a text.
    pub fn properties(self, properties: Map<String, Value>) -> Map<String, Value> {
        let kept = properties.into_iter().filter(|(key, _)| !(key == "id" && self.keeps_id));
        kept.map(|(key, value)| (self.name(&key), value)).collect()
    }

    /// A path within the item as one within the row.
    pub fn path(self, path: &str) -> String {
        let end = path.find(['.', '[']).unwrap_or(path.len());
        let (first, rest) = path.split_at(end);
        format!("{}{rest}", self.name(first))
    }

    /// The same as an expression of a template.
    pub fn expression(self, path: &str) -> String {
        let path = self.path(path);
        let end = path.find(['.', '[']).unwrap_or(path.len());
        let (first, rest) = path.split_at(end);
        let is_name = first.chars().all(|char| char.is_alphanumeric() || char == '_');
        if is_name { format!("sample.{first}{rest}") } else { format!("sample[\"{first}\"]{rest}") }
    }

    /// The item's members as columns.
    pub fn of(self, item: &Value) -> Map<String, Value> {
        let members = item.as_object().into_iter().flatten();
        members
            .filter(|(key, _)| !(*key == "id" && self.keeps_id))
            .map(|(key, value)| (self.name(key), value.clone()))
            .collect()
    }
}

/// The rows of an eval, each once.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub columns: Columns,
    /// Id and item, in the source's order.
    rows: Vec<(String, Value)>,
    /// Id by the item's text.
    ids: HashMap<String, String>,
}

impl Rows {
    /// The first of: rows of an export, rows within the runs, items of outputs, rows of files. Items of outputs that are not
    /// among them follow.
    pub fn of(objects: &Objects) -> Self {
        let contents = objects.runs.iter().flat_map(|run| {
            let source = run.data_source().get("source").unwrap_or(&Value::Null);
            list_at(source, "content").iter().map(item_of)
        });
        let outputs: Vec<&Value> =
            objects.runs.iter().flat_map(|run| &run.items).filter_map(|item| item.get("datasource_item")).collect();
        let sources: [Vec<&Value>; 4] = [
            objects.rows.iter().map(item_of).collect(),
            contents.collect(),
            outputs.clone(),
            objects.files.iter().map(item_of).collect(),
        ];
        let first = sources.into_iter().find(|items| !items.is_empty()).unwrap_or_default();
        let mut seen = HashSet::new();
        let items: Vec<&Value> =
            first.into_iter().chain(outputs).filter(|item| seen.insert(item.to_string())).collect();
        let own: HashSet<String> = items.iter().filter_map(|item| own_id(item)).collect();
        let columns = Columns { keeps_id: !items.is_empty() && own.len() == items.len() };
        let mut rows = Self { columns, ..Self::default() };
        for (index, item) in items.into_iter().enumerate() {
            let id = own_id(item).filter(|_| columns.keeps_id).unwrap_or_else(|| index.to_string());
            rows.ids.insert(item.to_string(), id.clone());
            rows.rows.push((id, item.clone()));
        }
        rows
    }

    /// The rows as samples.
    pub fn samples(&self) -> impl Iterator<Item = Sample> {
        self.rows.iter().map(|(id, item)| Sample {
            id: id.clone(),
            columns: self.columns.of(item),
            ..Sample::default()
        })
    }

    /// The id of an output's item.
    pub fn id_of(&self, item: &Value) -> Option<&str> {
        self.ids.get(&item.to_string()).map(String::as_str)
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The number of rows without a column.
    pub fn lacking(&self, path: &str) -> usize {
        let member = path.split(['.', '[']).next().unwrap_or(path);
        self.rows.iter().filter(|(_, item)| item.get(member).is_none_or(Value::is_null)).count()
    }

    /// The member that a prompt may send as it is: the first of these that some row has, else of the first row.
    pub fn column_to_send<'n>(&'n self, names: impl Iterator<Item = &'n String>) -> Option<&'n String> {
        let of_first = self.rows.first().and_then(|(_, item)| item.as_object()).into_iter().flat_map(Map::keys);
        let is_other = |name: &&String| *name != "id" && self.lacking(name) < self.len();
        names.chain(of_first).find(is_other)
    }

    /// The keys of `dataset` that say which columns are input and reference.
    pub fn roles(&self) -> Map<String, Value> {
        roles(|name| self.rows.iter().any(|(_, item)| item.get(name).is_some_and(|value| !value.is_null())))
    }
}

/// The usual names of input and reference among the columns that there are.
pub(super) fn roles(has: impl Fn(&str) -> bool) -> Map<String, Value> {
    let role = |role: &str, names: &[&str]| {
        let column = names.iter().find(|name| has(name))?;
        Some((role.to_owned(), json!(column)))
    };
    [role("input", &INPUT), role("reference", &REFERENCE)].into_iter().flatten().collect()
}

/// The item of a row: rows of runs and files stand as `{item, sample?}`.
fn item_of(row: &Value) -> &Value {
    let is_wrapped = row.as_object().is_some_and(|row| row.keys().all(|key| key == "item" || key == "sample"));
    row.get("item").filter(|item| is_wrapped && item.is_object()).unwrap_or(row)
}

/// The id that an item has of its own.
fn own_id(item: &Value) -> Option<String> {
    match item.get("id")? {
        Value::String(id) if !id.is_empty() => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(items: Value) -> Rows {
        let mut objects = Objects::default();
        objects.add(json!({"eval": {"object": "eval"}, "rows": items})).unwrap();
        Rows::of(&objects)
    }

    /// IO-05: rows are counted from 0, each once; items with ids of their own keep them.
    #[test]
    fn rows_have_ids() {
        let numbered = rows(json!([{"q": "a"}, {"q": "a"}, {"q": "b", "id": 7}]));
        let ids: Vec<_> = numbered.samples().map(|sample| sample.id).collect();
        assert_eq!(ids, ["0", "1"]);
        assert_eq!(numbered.id_of(&json!({"q": "b", "id": 7})), Some("1"));
        assert_eq!(numbered.columns.expression("id"), "sample.item_id");
        let named = rows(json!([{"q": "a", "id": "x"}, {"item": {"q": "b", "id": 7}}]));
        let samples: Vec<_> = named.samples().map(|sample| (sample.id, json!(sample.columns))).collect();
        assert_eq!(samples, [("x".to_owned(), json!({"q": "a"})), ("7".to_owned(), json!({"q": "b"}))]);
        assert_eq!(named.columns.expression("id"), "sample.id");
        assert_eq!(named.columns.expression("odd-key.a[0]"), "sample[\"odd-key\"].a[0]");
    }

    /// IO-05: usual names of input and reference are found.
    #[test]
    fn roles_are_found() {
        let roles = rows(json!([{"question": "a", "prompt": "b", "ideal": "c"}])).roles();
        assert_eq!(json!(roles), json!({"input": "question", "reference": "ideal"}));
    }
}
