//! Columns that the dataset's source does not hold.

use std::sync::Arc;

use karat_text::path::Path;
use karat_text::template::Template;
use rustc_hash::FxHashMap;
use serde_json::Value;

use super::Decoder;
use crate::dataset::columns::{Column, ColumnKind};
use crate::dataset::plain;
use crate::names;
use crate::node::{Entry, Node};

impl Decoder<'_> {
    /// The columns, in the suite's order: a later one may read an earlier one.
    pub fn columns(&mut self, node: Option<&Node>) -> Vec<Column> {
        let entries = node.map(Node::entries).unwrap_or_default();
        entries.iter().filter_map(|entry| self.column(entry)).collect()
    }

    fn column(&mut self, entry: &Entry) -> Option<Column> {
        let node = &entry.node;
        let kind = if let Some(value) = node.main("value") {
            let text = value.text()?;
            let inlined = self.params.inline_template(text, &value.place, &mut self.problems);
            ColumnKind::Value(self.dataset_template(&inlined, value)?)
        } else if let Some(file) = node.given("file") {
            let path = self.row_path(file)?;
            ColumnKind::File(self.dataset_template(&path, file)?)
        } else {
            self.lookup(node)?
        };
        if let Some(on) = node.given("on").filter(|_| !matches!(kind, ColumnKind::Lookup { .. })) {
            self.problems.error(&on.place, "`on` belongs to a `lookup`");
        }
        Some(Column { name: entry.key.clone(), kind, may_be_empty: node.text_of("missing") == Some("empty") })
    }

    fn dataset_template(&mut self, text: &str, node: &Node) -> Option<Template> {
        let template = Template::compile(text).ok()?;
        let written = node.text().unwrap_or(text);
        names::check(template.reads(), written, &node.place, names::DATASET, &mut self.pending, &mut self.problems);
        Some(template)
    }

    fn lookup(&mut self, node: &Node) -> Option<ColumnKind> {
        let file = node.given("lookup")?;
        let Some(on) = node.given("on") else {
            self.problems
                .error(&node.place, "a `lookup` needs `on`")
                .hint("the column that both the row and the file have");
            return None;
        };
        let key = on.text()?.to_owned();
        let path = self.watch(on)?;
        let rows = self.rows(file)?;
        let name = self.path(file)?;
        if let Ok(bytes) = self.files.read(&name) {
            self.digests.insert(blake3::hash(&bytes).to_hex().to_string());
        }
        let index = self.index(rows, &path, file, &name, &key)?;
        Some(ColumnKind::Lookup { on: path, key, index: Arc::new(index), file: name })
    }

    fn index(
        &mut self,
        rows: Vec<Value>,
        on: &Path,
        node: &Node,
        file: &str,
        key: &str,
    ) -> Option<FxHashMap<String, Value>> {
        let mut index = FxHashMap::default();
        let mut without = 0;
        let mut twice = None;
        for row in rows {
            match on.first(&row).filter(|value| !value.is_null()).map(plain) {
                Some(value) if index.contains_key(&value) => twice = twice.or(Some(value)),
                Some(value) => {
                    index.insert(value, row);
                }
                None => without += 1,
            }
        }
        if let Some(value) = &twice {
            self.problems.error(&node.place, format!("{file} has two rows whose `{key}` is {value:?}"));
        }
        if without > 0 {
            self.problems.error(&node.place, format!("{without} rows of {file} have no `{key}`"));
        }
        (twice.is_none() && without == 0).then_some(index)
    }
}
