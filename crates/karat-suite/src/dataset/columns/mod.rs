//! Columns that the source does not have.
//!
//! - here: the kinds of columns, and the value of each for a row
//! - `earlier_values.rs`: `prior`; `resolver.rs`: `resolve`
//! - `file_maker.rs` and `fetch.rs`: files that `karat dataset fetch` creates

pub(crate) mod earlier_values;
pub(crate) mod fetch;
pub(crate) mod file_maker;
pub(crate) mod resolver;

use std::sync::Arc;

use karat_text::path::Path;
use karat_text::template::{Context, Template};
use karat_types::{FilePath, json};
use rustc_hash::FxHashMap;
use serde_json::Value;

use self::earlier_values::EarlierValues;
use self::file_maker::FileMaker;
use self::resolver::ColumnResolver;
use super::DatasetError;
use super::scalar::plain;
use super::source::raw::RowPlace;
use crate::diagnostics::{Diagnostic, Severity};
use crate::files::{Files, RowPath, file_text, is_outside, jsonl};

/// A column that is made, and what an absent value means.
pub(crate) struct Column {
    pub name: String,
    pub kind: ColumnKind,
    /// True if an absent value is null, not an error.
    pub may_be_empty: bool,
    /// True while missing files are fetched: then a file without content counts as missing.
    pub is_fetched: bool,
    /// The way `dataset fetch` creates a file that does not exist yet.
    pub fetch: Option<FileMaker>,
}

/// The source of a column's values.
#[derive(Clone)]
pub(crate) enum ColumnKind {
    /// From the row.
    Value(Template),
    /// The content of a file, by row.
    File(RowPath),
    /// A row of another file, by a key that both have; the index holds rows with their number in that file.
    Lookup { on: Path, key: String, index: Arc<FxHashMap<String, (usize, Value)>>, file: String },
    /// Values of a column in earlier rows.
    Prior(EarlierValues),
    /// From files beside the dataset.
    Resolve(ColumnResolver),
}

/// Side results of making the columns of rows.
pub(crate) struct ColumnEffects<'a> {
    /// Over the files that were read.
    pub contents: &'a mut blake3::Hasher,
    /// Contradictions between rows and files.
    pub mismatches: Vec<String>,
}

impl ColumnEffects<'_> {
    fn file(&mut self, bytes: &[u8]) {
        self.contents.update(&(bytes.len() as u64).to_le_bytes());
        self.contents.update(bytes);
    }
}

impl Column {
    /// The column's value for the row of this number in the source.
    pub fn value(
        &self,
        row: &Value,
        ordinal: u64,
        files: &dyn Files,
        at: &RowPlace,
        seen: &mut ColumnEffects<'_>,
    ) -> Result<Value, DatasetError> {
        match &self.kind {
            ColumnKind::Resolve(resolving) => self.resolver_value(resolving, row, at, seen),
            ColumnKind::Prior(prior) => prior.value(ordinal, row).ok_or_else(|| {
                let hint = "`prior` with `days` needs a date in every row".to_owned();
                at.problem_with_hint("", format!("the column `{}`: this row has no date", self.name), Some(hint))
            }),
            ColumnKind::Value(template) => template.value(&Context::new().with_json("sample", row)).map_err(|error| {
                at.problem_with_hint("", format!("the column `{}`: {}", self.name, error.message), error.hint)
            }),
            ColumnKind::File(template) => self.file(template, row, files, at, seen),
            ColumnKind::Lookup { on, key, index, file } => self.lookup(on, key, index, file, row, at),
        }
    }

    /// Returns the place of the column's value for a row, if that is in another file.
    pub fn place(&self, row: &Value, files: &dyn Files) -> Option<RowPlace> {
        let text = |path: &FilePath| file_text(files.read_path(path).ok()?).ok();
        let (file, span, text) = match &self.kind {
            ColumnKind::File(template) => {
                let path = template.render(&Context::new().with_json("sample", row)).ok()?;
                let text = text(&path)?;
                (path.to_string(), 0..text.len(), text)
            }
            ColumnKind::Lookup { on, index, file, .. } => {
                let (number, _) = index.get(&plain(on.first(row)?))?;
                let text = text(&FilePath::literal(file.as_str()))?;
                (file.clone(), jsonl::places(&text).into_iter().nth(*number)?, text)
            }
            ColumnKind::Value(_) | ColumnKind::Prior(_) | ColumnKind::Resolve(_) => return None,
        };
        let line = text[..span.start].matches('\n').count() + 1;
        Some(RowPlace { file: file.into(), line, text: text[span].to_owned() })
    }

    fn file(
        &self,
        template: &RowPath,
        row: &Value,
        files: &dyn Files,
        at: &RowPlace,
        seen: &mut ColumnEffects<'_>,
    ) -> Result<Value, DatasetError> {
        let path = template.render(&Context::new().with_json("sample", row)).map_err(|error| {
            at.problem_with_hint("", format!("the path of the column `{}`: {}", self.name, error.message), error.hint)
        })?;
        let bytes = match files.read_path(&path) {
            Ok(bytes) => bytes,
            Err(error) if is_outside(&error) => {
                let message = format!(
                    "the column `{}` names the file {path} in this row, which lies outside of the folder `{}` or links to \
                     a place outside of it",
                    self.name,
                    template.folder()
                );
                let hint = "a row can only name files beneath the folder that the suite's text begins with \
                            (`file: FOLDER/{{ sample.id }}.json`): move the file there, or name its folder in the suite";
                return Err(at.problem_with_hint("", message, Some(hint.to_owned())));
            }
            Err(_) if self.may_be_empty => return Ok(Value::Null),
            Err(error) => {
                let message = format!("the file {path} of the column `{}` cannot be read: {error}", self.name);
                let hint = self.hint_of_missing("add the file");
                return Err(at.problem_with_hint("", message, Some(hint)));
            }
        };
        if self.is_fetched && has_no_content(&bytes) {
            return Ok(Value::Null);
        }
        seen.file(&bytes);
        let path = path.to_string();
        if bytes.trim_ascii().is_empty() {
            let message = format!("the file {path} of the column `{}` is empty", self.name);
            return match self.may_be_empty {
                true => Ok(Value::Null),
                false => Err(at.problem_with_hint("", message, Some(self.hint_of_missing("fill it")))),
            };
        }
        content(&path, bytes).and_then(|value| match is_empty(&value) && !self.may_be_empty {
            true => {
                let message = format!("the column `{}` of {}:{} is empty", self.name, at.file, at.line);
                Err(DatasetError::new(Diagnostic::of_file(Severity::Error, &path, message)))
            }
            false => Ok(value),
        })
    }

    fn hint_of_missing(&self, remedy: &str) -> String {
        match self.fetch {
            Some(_) => format!("`karat dataset fetch` fetches it; or {remedy}, or set `missing: empty` on the column"),
            None => format!("{remedy}, or set `missing: empty` on the column"),
        }
    }

    fn resolver_value(
        &self,
        resolving: &ColumnResolver,
        row: &Value,
        at: &RowPlace,
        seen: &mut ColumnEffects<'_>,
    ) -> Result<Value, DatasetError> {
        match resolving.resolver.resolve(row) {
            Some(resolved) => {
                seen.mismatches.extend(resolved.mismatches);
                Ok(resolved.value)
            }
            None if self.may_be_empty => Ok(Value::Null),
            None => {
                let hint = Some("add the missing values to the row, or set `missing: empty` on the column".to_owned());
                let message =
                    format!("the column `{}`: `{}` found nothing to resolve in this row", self.name, resolving.name);
                Err(at.problem_with_hint("", message, hint))
            }
        }
    }

    fn lookup(
        &self,
        on: &Path,
        key: &str,
        index: &FxHashMap<String, (usize, Value)>,
        file: &str,
        row: &Value,
        at: &RowPlace,
    ) -> Result<Value, DatasetError> {
        let wanted = on.first(row).map(plain);
        match wanted.as_ref().and_then(|wanted| index.get(wanted)) {
            Some((_, found)) => Ok(found.clone()),
            None if self.may_be_empty => Ok(Value::Null),
            None => {
                let message = match wanted {
                    Some(wanted) => {
                        format!("the column `{}`: {file} has no row whose `{key}` is {wanted:?}", self.name)
                    }
                    None => format!("the column `{}`: this row has no `{key}` to look up", self.name),
                };
                Err(at.problem_with_hint(
                    key,
                    message,
                    Some("add the row, or set `missing: empty` on the column".to_owned()),
                ))
            }
        }
    }
}

/// JSON is parsed, anything else is text.
pub(super) fn content(path: &str, bytes: Vec<u8>) -> Result<Value, DatasetError> {
    let Ok(text) = file_text(bytes) else {
        let message = format!("the file {path} is not UTF-8 text");
        return Err(DatasetError::new(Diagnostic::of_file(Severity::Error, path, message)));
    };
    if path.ends_with(".json") {
        return jsonl::document(path, &text).map_err(|problem| DatasetError::new(*problem));
    }
    Ok(Value::String(text))
}

/// Returns whether a file is blank, or JSON that is empty or has an empty part: what a fetch that found nothing writes.
pub(super) fn has_no_content(bytes: &[u8]) -> bool {
    let is_hollow = |value: &Value| match value {
        Value::Object(members) => members.is_empty() || members.values().any(is_empty),
        value => is_empty(value),
    };
    bytes.trim_ascii().is_empty() || json::parse_slice(bytes).is_ok_and(|value| is_hollow(&value))
}

pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}
