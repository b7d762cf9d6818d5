//! Files that a column wants and that are not there yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_text::template::{Context, Expression};
use karat_types::{FilePath, Request};
use serde_json::Value;

use crate::dataset::columns;
use crate::dataset::columns::ColumnKind;
use crate::dataset::rows::{KeptRow, Rows};
use crate::dataset::source::raw::RowPlace;
use crate::dataset::{Dataset, DatasetError};

/// A condition that no row may meet: fetched content is tested before it is written.
pub(crate) struct ForbiddenCondition {
    pub name: String,
    pub broken_by: Expression,
}

/// A file that is not there, and what makes it.
#[derive(Debug, Clone)]
pub struct Fetch {
    /// Id of the row that wants it.
    pub sample: String,
    /// The column.
    pub column: String,
    /// The path that the file belongs at.
    pub path: FilePath,
    /// The request for its content, or the error of a template that cannot be rendered.
    pub request: Result<Request, String>,
    row: Value,
    at: Arc<RowPlace>,
}

impl Dataset {
    /// The files that are not there or are empty, by row and column. Rows that cannot be read want none.
    pub fn missing_files(self: &Arc<Self>) -> Vec<Fetch> {
        let mut rows = Rows::new(self.clone());
        let mut absent = Vec::new();
        while let Some(row) = rows.next_kept() {
            let Ok(kept) = row else { continue };
            if self.wants(&kept.sample.id) {
                absent.extend(self.missing_files_of_row(&kept));
            }
        }
        absent
    }

    fn missing_files_of_row(&self, KeptRow { sample, at, .. }: &KeptRow) -> Vec<Fetch> {
        let row = Value::Object(sample.columns.clone());
        let context = Context::new().with("sample", &row);
        let wanted = self.columns.iter().filter_map(|column| {
            let (ColumnKind::File(path), Some(maker)) = (&column.kind, &column.fetch) else { return None };
            let path = path.render(&context).ok()?;
            let fetch = Fetch {
                sample: sample.id.to_string(),
                column: column.name.clone(),
                path,
                request: maker.request(&context),
                row: row.clone(),
                at: at.clone(),
            };
            self.is_wanted(&fetch).then_some(fetch)
        });
        wanted.collect()
    }

    /// Returns whether a file is absent, or holds nothing that the suite could use: a fetch that broke off leaves such a
    /// file. One with content that is wrong in another way stays, since a person may have written it.
    fn is_wanted(&self, fetch: &Fetch) -> bool {
        match self.files.read_path(&fetch.path) {
            Err(error) => error.kind() != std::io::ErrorKind::PermissionDenied,
            Ok(bytes) => columns::has_no_content(&bytes) && self.accepts(fetch, &bytes).is_err(),
        }
    }

    /// Checks fetched content against the column, the row schema and the checks that no row may meet. The error completes a
    /// sentence that begins with the file.
    pub fn accepts(&self, fetch: &Fetch, bytes: &[u8]) -> Result<(), String> {
        let message = |error: DatasetError| error.problem().message.clone();
        let mut value = columns::content(&fetch.path.to_string(), bytes.to_vec()).map_err(message)?;
        if value.as_str().is_some_and(is_web_page) && !is_for_web_pages(&fetch.path.path) {
            return Err("it is a web page, most likely an error page".to_owned());
        }
        if columns::is_empty(&value) {
            return Err("it is empty".to_owned());
        }
        if let Some(schema) = &self.row_schema {
            schema.column(&fetch.column, &mut value, &fetch.at, &mut BTreeMap::new()).map_err(message)?;
        }
        let mut row = fetch.row.clone();
        if let Some(columns) = row.as_object_mut() {
            columns.insert(fetch.column.clone(), value);
        }
        let context = Context::new().with("sample", &row);
        let column = format!("sample.{}", fetch.column);
        let reads =
            |name: &String| name.strip_prefix(&column).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        for rule in self.rules.iter().filter(|rule| rule.broken_by.reads().iter().any(reads)) {
            match rule.broken_by.is_true(&context) {
                Ok(false) => {}
                Ok(true) => return Err(format!("it breaks the check \"{}\"", rule.name)),
                Err(error) => {
                    return Err(format!("the check \"{}\" cannot be decided with it: {}", rule.name, error.message));
                }
            }
        }
        Ok(())
    }
}

fn is_web_page(text: &str) -> bool {
    let begin = text.trim_start_matches('\u{feff}').trim_start();
    ["<!doctype html", "<html"].iter().any(|tag| begin.get(..tag.len()).is_some_and(|it| it.eq_ignore_ascii_case(tag)))
}

fn is_for_web_pages(path: &str) -> bool {
    let extension = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    matches!(extension.as_str(), "html" | "htm" | "xhtml")
}
